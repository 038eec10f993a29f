//! Adds proposals to a configuration file. All other bytes of the file stay.

use portion_text::display::yaml_scalar;
use serde_json::{Map, Value};
use thiserror::Error;

/// Indentation of endpoints in a file that has none.
const INDENT: usize = 2;
const SECTION: &str = "endpoints:";

/// A changed configuration file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The text of the file.
    pub text: String,
    /// Tools that were added.
    pub added: Vec<String>,
    /// Tools that the file has already; they stay as they are.
    pub kept: Vec<String>,
}

/// The error for a file that cannot be changed.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum WriteError {
    /// The endpoints are in one line, or have no indentation.
    #[error("its endpoints are not written one per line below `endpoints:`; add the proposals by hand")]
    UnknownLayout,
    /// The file is no mapping with one key per line, or has several documents.
    #[error("it is not written with one key per line from the first column; add the proposals by hand")]
    NotBlockStyle,
    /// A server has endpoints of its own.
    #[error(
        "a server below `upstreams:` has `endpoints` of its own, which take precedence; add the proposals there by hand"
    )]
    ServerEndpoints,
}

/// Adds proposals to the text of a YAML file, which may be empty. Each comes with a comment line.
///
/// # Errors
/// Returns [`WriteError`] if the endpoints of the file are written in a way that this does not read.
///
/// ```
/// use portion_client::check::{Proposal, write::add_to_yaml};
///
/// let proposal = Proposal { tool: "list".into(), redact_secrets: true, ..Proposal::default() };
/// let written = add_to_yaml("logLevel: info\n", &[(proposal, "12 items".into())])?;
/// assert_eq!(written.text, "logLevel: info\nendpoints:\n  # 12 items\n  list:\n    redact: secrets\n");
/// # Ok::<(), portion_client::check::write::WriteError>(())
/// ```
pub fn add_to_yaml(file: &str, proposals: &[(Proposal, String)]) -> Result<Written, WriteError> {
    let lines: Vec<&str> = file.lines().collect();
    check_style(&lines)?;
    let section = lines.iter().position(|line| line.starts_with(SECTION));
    let (mut indent, mut known) = (INDENT, Vec::new());
    if let Some(at) = section {
        let rest = lines[at][SECTION.len()..].trim();
        if !rest.is_empty() && !rest.starts_with('#') {
            return Err(WriteError::UnknownLayout);
        }
        let block = lines[at + 1..].iter().take_while(|line| is_inside(line));
        let block: Vec<&&str> = block.filter(|line| !is_blank(line)).collect();
        if let Some(first) = block.first() {
            indent = leading_spaces(first);
        }
        if block.iter().any(|line| leading_spaces(line) < indent || line.trim_start().starts_with(['{', '?']))
        {
            return Err(WriteError::UnknownLayout);
        }
        known = block.iter().filter(|line| leading_spaces(line) == indent).map(|line| key_of(line)).collect();
    }
    let (mut added, mut kept, mut new_lines) = (Vec::new(), Vec::new(), Vec::new());
    for (proposal, comment) in proposals.iter().filter(|(proposal, _)| !proposal.is_empty()) {
        if known.contains(&proposal.tool) {
            kept.push(proposal.tool.clone());
            continue;
        }
        new_lines.push(format!("{}# {}", " ".repeat(indent), comment.replace(['\n', '\r'], " ")));
        new_lines.extend(proposal.to_yaml(indent));
        added.push(proposal.tool.clone());
    }
    if added.is_empty() {
        return Ok(Written { text: file.to_owned(), added, kept });
    }
    let (before, after) = match section {
        Some(at) => (lines[..=at].to_vec(), lines[at + 1..].to_vec()),
        None => (lines.iter().copied().chain([SECTION]).collect(), Vec::new()),
    };
    // The file keeps its line ends.
    let end = if file.contains("\r\n") { "\r\n" } else { "\n" };
    let new_lines = new_lines.iter().map(String::as_str);
    let text = before.into_iter().chain(new_lines).chain(after).collect::<Vec<_>>().join(end) + end;
    Ok(Written { text, added, kept })
}

/// Proposed settings of a tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proposal {
    /// Name of the tool.
    pub tool: String,
    /// True if the tool is to be declared as one that only reads.
    pub read: bool,
    /// Settings of `pushdown`.
    pub pushdown: Vec<(&'static str, String)>,
    /// True if secrets are to be hidden.
    pub redact_secrets: bool,
    /// Fields that summaries keep first.
    pub summary_fields: Vec<String>,
}

impl Proposal {
    /// Returns true if nothing is proposed.
    pub fn is_empty(&self) -> bool {
        !self.read && self.pushdown.is_empty() && !self.redact_secrets && self.summary_fields.is_empty()
    }

    /// Returns the settings of the endpoint.
    pub fn settings(&self) -> Map<String, Value> {
        let pushdown = self.pushdown.iter().map(|(key, text)| {
            let number = text.parse::<u64>().ok().filter(|_| matches!(*key, "pageSize" | "pageStart"));
            ((*key).to_owned(), number.map_or_else(|| Value::from(text.as_str()), Value::from))
        });
        let settings = [
            ("read", self.read.then_some(Value::Bool(true))),
            ("pushdown", (!self.pushdown.is_empty()).then(|| pushdown.collect())),
            ("redact", self.redact_secrets.then(|| "secrets".into())),
            ("summaryFields", (!self.summary_fields.is_empty()).then(|| self.summary_fields.clone().into())),
        ];
        settings.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
    }

    /// Returns the lines of the endpoint below `endpoints`, indented by `indent` spaces.
    pub fn to_yaml(&self, indent: usize) -> Vec<String> {
        let [outer, inner, third] = [0, 2, 4].map(|more| " ".repeat(indent + more));
        let scalar = |value: &Value| value.as_str().map_or_else(|| value.to_string(), yaml_scalar);
        let mut lines = vec![format!("{outer}{}:", yaml_scalar(&self.tool))];
        for (key, value) in self.settings() {
            match &value {
                Value::Object(members) => {
                    lines.push(format!("{inner}{key}:"));
                    lines.extend(members.iter().map(|(key, text)| format!("{third}{key}: {}", scalar(text))));
                }
                Value::Array(names) => {
                    let names: Vec<String> = names.iter().map(scalar).collect();
                    lines.push(format!("{inner}{key}: [{}]", names.join(", ")));
                }
                value => lines.push(format!("{inner}{key}: {}", scalar(value))),
            }
        }
        lines
    }
}

/// Checks that endpoints can be added to a file as lines of text.
fn check_style(lines: &[&str]) -> Result<(), WriteError> {
    let first = lines.iter().find(|line| !is_blank(line) && !line.starts_with("---"));
    let is_key = |line: &&str| line.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let ends = lines.iter().any(|line| line.starts_with("..."));
    let documents = lines.iter().filter(|line| line.starts_with("---")).count();
    let has_quoted_section = lines.iter().any(|line| {
        line.starts_with("\"endpoints\"")
            || line.starts_with("'endpoints'")
            || line.starts_with("endpoints :")
    });
    if first.is_some_and(|line| !is_key(line)) || ends || documents > 1 || has_quoted_section {
        return Err(WriteError::NotBlockStyle);
    }
    let servers = lines.iter().skip_while(|line| !line.starts_with("upstreams:"));
    let mut servers = servers.enumerate().take_while(|(at, line)| *at == 0 || is_inside(line));
    let names_endpoints = |line: &str| {
        let text = line.split('#').next().unwrap_or_default();
        let keys = text.split(['{', ',']).map(|part| part.split(':').next().unwrap_or_default());
        text.contains(':')
            && keys.map(|key| key.trim().trim_matches(['"', '\''])).any(|key| key == "endpoints")
    };
    if servers.any(|(_, line)| names_endpoints(line)) { Err(WriteError::ServerEndpoints) } else { Ok(()) }
}

/// Returns true for a line of the section: indented, or without content.
fn is_inside(line: &str) -> bool {
    line.starts_with(' ') || is_blank(line)
}

fn is_blank(line: &str) -> bool {
    let line = line.trim_start();
    line.is_empty() || line.starts_with('#')
}

fn leading_spaces(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// Returns the key of a line, without quotes.
fn key_of(line: &str) -> String {
    let line = line.trim_start();
    match line.chars().next() {
        Some(quote @ ('"' | '\'')) => line[1..].split(quote).next().unwrap_or_default().to_owned(),
        _ => line.split(": ").next().unwrap_or_default().trim_end().trim_end_matches(':').to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Proposal, WriteError, add_to_yaml};

    fn check(file: &str, expect: Result<(&str, &[&str]), WriteError>) {
        let proposal = |tool: &str| {
            let proposal = Proposal { tool: tool.into(), redact_secrets: true, ..Proposal::default() };
            (proposal, format!("about {tool}"))
        };
        let written = add_to_yaml(file, &[proposal("a"), proposal("b c")]);
        let written = written.as_ref().map(|written| {
            (written.text.as_str(), written.kept.iter().map(String::as_str).collect::<Vec<_>>())
        });
        let expect = expect.map(|(text, kept)| (text, kept.to_vec()));
        assert_eq!(written, expect.as_ref().map(|(text, kept)| (*text, kept.clone())), "{file}");
    }

    #[test]
    fn proposals_are_added_and_all_else_stays() {
        check(
            "",
            Ok((
                "endpoints:\n  # about a\n  a:\n    redact: secrets\n  # about b c\n  \"b c\":\n    redact: secrets\n",
                &[],
            )),
        );
        check(
            "# mine\nendpoints: # all\n\n    a: {read: true}\n    x:\n        read: true\nlogLevel: info\n",
            Ok((
                "# mine\nendpoints: # all\n    # about b c\n    \"b c\":\n      redact: secrets\n\n    a: {read: true}\n    \
                 x:\n        read: true\nlogLevel: info\n",
                &["a"],
            )),
        );
        check(
            "endpoints:\n  a:\n    read: true\n  'b c': {}\n",
            Ok(("endpoints:\n  a:\n    read: true\n  'b c': {}\n", &["a", "b c"])),
        );
    }

    #[test]
    fn line_ends_stay() {
        check(
            "# mine\r\nendpoints:\r\n  a: {}\r\n",
            Ok((
                "# mine\r\nendpoints:\r\n  # about b c\r\n  \"b c\":\r\n    redact: secrets\r\n  a: {}\r\n",
                &["a"],
            )),
        );
    }

    #[test]
    fn unknown_layouts_are_refused() {
        check("endpoints: {a: {}}\n", Err(WriteError::UnknownLayout));
        check("endpoints:\n  {a: {}}\n", Err(WriteError::UnknownLayout));
        check("{logLevel: info}\n", Err(WriteError::NotBlockStyle));
        check("  logLevel: info\n", Err(WriteError::NotBlockStyle));
        check("\"endpoints\":\n  a: {}\n", Err(WriteError::NotBlockStyle));
        check("logLevel: info\n---\nlogLevel: info\n---\n", Err(WriteError::NotBlockStyle));
    }

    #[test]
    fn endpoints_of_a_server_are_not_overlooked() {
        let refused = Err(WriteError::ServerEndpoints);
        check("upstreams:\n  one:\n    command: a\n    endpoints:\n      a: {read: true}\n", refused);
        check(
            "upstreams:\n  one: {command: a, endpoints: {a: {read: true}}}\n",
            Err(WriteError::ServerEndpoints),
        );
        check(
            "upstreams:\n  one:\n    command: a # endpoints: below\nendpoints:\n  a: {}\n  b c: {}\n",
            Ok((
                "upstreams:\n  one:\n    command: a # endpoints: below\nendpoints:\n  a: {}\n  b c: {}\n",
                &["a", "b c"],
            )),
        );
    }

    #[test]
    fn an_endpoint_is_written_as_yaml() {
        let proposal = Proposal {
            tool: "GET /bookings/{id}".into(),
            read: true,
            pushdown: vec![("preset", "page".into()), ("pageSize", "100".into()), ("page", "no".into())],
            redact_secrets: true,
            summary_fields: vec!["id".into(), "price.total".into(), "a b".into()],
        };
        let expect = "  \"GET /bookings/{id}\":\n    read: true\n    pushdown:\n      preset: page\n      pageSize: 100\n      \
                      page: \"no\"\n    redact: secrets\n    summaryFields: [id, price.total, \"a b\"]";
        assert_eq!(proposal.to_yaml(2).join("\n"), expect);
    }
}
