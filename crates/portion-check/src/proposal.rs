//! Proposed settings of an endpoint, as YAML.

use std::fmt::Write as _;

use portion_text::printable::is_printable;

/// Words that YAML reads as other values than texts.
const YAML_WORDS: &[&str] = &["null", "true", "false", "yes", "no", "on", "off", "y", "n"];

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

    /// Returns the lines of the endpoint below `endpoints`, indented by `indent` spaces.
    pub fn to_yaml(&self, indent: usize) -> Vec<String> {
        let (outer, inner, third) = (" ".repeat(indent), " ".repeat(indent + 2), " ".repeat(indent + 4));
        let mut lines = vec![format!("{outer}{}:", scalar(&self.tool))];
        if self.read {
            lines.push(format!("{inner}read: true"));
        }
        if !self.pushdown.is_empty() {
            lines.push(format!("{inner}pushdown:"));
            let settings = self.pushdown.iter();
            lines.extend(settings.map(|(key, text)| {
                let is_number = matches!(*key, "pageSize" | "pageStart");
                format!("{third}{key}: {}", if is_number { text.clone() } else { scalar(text) })
            }));
        }
        if self.redact_secrets {
            lines.push(format!("{inner}redact: secrets"));
        }
        if !self.summary_fields.is_empty() {
            let names: Vec<String> = self.summary_fields.iter().map(|name| scalar(name)).collect();
            lines.push(format!("{inner}summaryFields: [{}]", names.join(", ")));
        }
        lines
    }
}

/// Writes a text as a YAML scalar: plain if nothing else can be meant.
fn scalar(text: &str) -> String {
    let is_plain = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_' || c == '/')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/'))
        && !YAML_WORDS.contains(&text.to_ascii_lowercase().as_str());
    if is_plain { text.to_owned() } else { quoted(text) }
}

/// Writes a text as a JSON string, which is a YAML string, with escapes for all that is not printable.
fn quoted(text: &str) -> String {
    let mut quoted = String::new();
    for c in serde_json::Value::from(text).to_string().chars() {
        if is_printable(c) {
            quoted.push(c);
        } else {
            let _ = write!(quoted, "\\u{:04x}", u32::from(c));
        }
    }
    quoted
}

#[cfg(test)]
mod tests {
    use super::{Proposal, scalar};

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
        assert_eq!(scalar("9x"), "\"9x\"");
        assert_eq!(scalar("/result"), "/result");
        assert_eq!(scalar("a\u{202e}\u{7f}b"), "\"a\\u202e\\u007fb\"");
    }
}
