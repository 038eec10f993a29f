//! Hides the data of Kubernetes secrets: the values below `data` and `stringData` beside `kind: Secret`, in the lines and the
//! braces of YAML.
//!
//! The same in JSON is in [`json`](super::json). Format: <https://kubernetes.io/docs/concepts/configuration/secret/>.

use std::ops::Range;

use memchr::{memchr3_iter, memmem};

use super::edit::REDACTED_STRING;
use super::text_value::{item_len, line_end};
use super::{Findings, REDACTED};

/// Maximum braces that are open at once. Those of source code may never be closed.
const MAX_DEPTH: usize = 64;
/// Values that are no secrets.
const NULLS: [&str; 5] = ["", "null", "~", REDACTED, REDACTED_STRING];

/// Returns true for a member of a secret whose values are secret.
pub(super) fn is_data_key(key: &str) -> bool {
    matches!(key, "data" | "stringData")
}

/// Hides the data of the secrets in a text.
pub(super) fn redact(text: &str, found: &mut Findings) {
    if memmem::find(text.as_bytes(), b"Secret").is_none() {
        return;
    }
    let (mut braces, mut done) = (Vec::new(), 0);
    for at in memchr3_iter(b'{', b'}', b'k', text.as_bytes()) {
        match text.as_bytes()[at] {
            b'{' => braces.push(at),
            b'}' => drop(braces.pop()),
            _ if at < done => {}
            _ => {
                let Some(is_list) = is_list_of_secrets(text, at) else { continue };
                if let Some(brace) = braces.last() {
                    done = redact_braces(text, brace + 1, is_list, found);
                }
                let line_start = text[..at].rfind('\n').map_or(0, |feed| feed + 1);
                if text[line_start..at].trim_matches([' ', '-', '"', '\'']).is_empty() {
                    done = redact_lines(text, (line_start, done), is_list, found).max(done);
                }
            }
        }
        if braces.len() > MAX_DEPTH {
            braces.clear();
        }
    }
}

/// Returns true if the kind at an offset is that of a list, whose items have no kind of their own; `None` if it is no kind of
/// secrets.
fn is_list_of_secrets(text: &str, at: usize) -> Option<bool> {
    let rest = text[at..].strip_prefix("kind")?.trim_start_matches(['"', '\'', ' ']).strip_prefix(':')?;
    let value = &rest[..rest.find([',', '}', '\n']).unwrap_or(rest.len())];
    // Without the comment after it.
    let comment = value.match_indices('#').find(|(at, _)| value[..*at].ends_with([' ', '\t']));
    match value[..comment.map_or(value.len(), |(at, _)| at)].trim().trim_matches(['"', '\'']) {
        "Secret" => Some(false),
        "SecretList" => Some(true),
        _ => None,
    }
}

/// Yields the items in braces or brackets, from the offset after the opening one.
fn items(text: &str, mut at: usize) -> impl Iterator<Item = Range<usize>> {
    let mut is_open = true;
    std::iter::from_fn(move || {
        let rest = text.get(at..).filter(|_| is_open)?;
        let len = item_len(rest);
        is_open = len.is_some_and(|len| rest[len..].starts_with(','));
        let item = &rest[..len.unwrap_or(rest.len())];
        let mut content = item.trim_start();
        while content.starts_with('#') {
            content = content.split_once('\n').map_or("", |(_, below)| below.trim_start());
        }
        let start = at + item.len() - content.len();
        at += item.len() + 1;
        Some(start..start + content.trim_end().len())
    })
}

/// Returns the key and the value of a member in braces.
fn key_and_value(text: &str, item: Range<usize>) -> Option<(&str, Range<usize>)> {
    let member = &text[item.clone()];
    let after_quote =
        ["\":", "':"].iter().filter(|end| member.starts_with(&end[..1])).find_map(|end| member.find(end));
    let colon = after_quote.map(|at| at + 1).or_else(|| member.find(':'))?;
    let value = member[colon + 1..].trim_start();
    Some((member[..colon].trim().trim_matches(['"', '\'']), item.end - value.len()..item.end))
}

/// Hides the data of the secret, or of the list of secrets, whose members begin at an offset. Returns the end of what was read.
fn redact_braces(text: &str, from: usize, is_list: bool, found: &mut Findings) -> usize {
    let mut end = from;
    for (key, value) in items(text, from).filter_map(|item| key_and_value(text, item)) {
        end = value.end;
        if !is_list && is_data_key(key) && text[value.clone()].starts_with('{') {
            redact_data(text, value.start + 1, found);
        } else if is_list && key == "items" && text[value.clone()].starts_with('[') {
            for item in items(text, value.start + 1).filter(|item| text[item.clone()].starts_with('{')) {
                redact_braces(text, item.start + 1, false, found);
            }
        }
    }
    end
}

/// Hides the values of the data whose members begin at an offset. Returns the end of the last one.
fn redact_data(text: &str, from: usize, found: &mut Findings) -> usize {
    let mut done = from;
    for (key, value) in items(text, from).filter_map(|item| key_and_value(text, item)) {
        let written = &text[value.clone()];
        let in_quotes = |quote| written.strip_prefix(quote)?.strip_suffix(quote);
        let inside = in_quotes('"').or_else(|| in_quotes('\''));
        let start = value.start + usize::from(inside.is_some());
        let inside = inside.unwrap_or(written);
        if !NULLS.contains(&inside) {
            found.hide(key, start..start + inside.len());
        }
        done = value.end;
    }
    done
}

/// A line of YAML, taken apart.
struct Line<'t> {
    start: usize,
    /// Offset after its content.
    end: usize,
    /// Columns before the key. The dash of an item counts as indentation.
    indent: usize,
    is_item: bool,
    is_comment: bool,
    begins_document: bool,
    content: &'t str,
}

impl<'t> Line<'t> {
    fn read(text: &'t str, start: usize) -> Self {
        let line = text[start..line_end(text, start)].trim_end();
        let content = line.trim_start_matches([' ', '-']);
        let (indent, end) = (line.len() - content.len(), start + line.len());
        let (is_item, begins_document) = (line[..indent].contains('-'), line.starts_with("---"));
        let is_comment = !is_item && content.starts_with('#');
        Self { start, end, indent, is_item, is_comment, begins_document, content }
    }

    fn key_and_value(&self) -> (&'t str, &'t str) {
        let (key, value) = self.content.split_once(':').unwrap_or((self.content, ""));
        (key.trim_matches(['"', '\'']), value.trim())
    }

    /// Returns true for a line outside of the mapping whose keys have this indentation. Comments may have any indentation.
    fn ends_mapping(&self, indent: usize) -> bool {
        self.begins_document || !self.is_comment && !self.content.is_empty() && self.indent < indent
    }
}

/// Returns the start of the mapping that contains a line, not before `from`.
fn mapping_start(text: &str, from: usize, line: &Line<'_>) -> usize {
    let mut start = line.start;
    let mut is_first = line.is_item;
    while start > from && !is_first {
        let before = Line::read(text, text[..start - 1].rfind('\n').map_or(0, |feed| feed + 1));
        if before.start < from || before.ends_mapping(line.indent) {
            break;
        }
        start = before.start;
        is_first = before.indent == line.indent && before.is_item;
    }
    start
}

/// Hides the data of the secret, or of the list of secrets, whose kind is on the line at `at`, and which does not begin before `from`.
/// Returns its end.
fn redact_lines(text: &str, (at, from): (usize, usize), is_list: bool, found: &mut Findings) -> usize {
    let kind = Line::read(text, at);
    let start = mapping_start(text, from.min(at), &kind);
    let (mut at, mut name, mut is_in_items) = (start, "", false);
    // The indentation of the data that is being read, and of its members.
    let (mut data, mut members) = (None, None);
    while at < text.len() {
        let line = Line::read(text, at);
        if at > start && (line.ends_mapping(kind.indent) || line.indent == kind.indent && line.is_item) {
            break;
        }
        at = line_end(text, line.end) + 1;
        let (key, value) = line.key_and_value();
        // A comment in the data may be a line of a block, or a member that is not used.
        let is_inside = data.is_some_and(|data| line.indent > data);
        if line.content.is_empty() || line.is_comment && !is_inside {
            continue;
        }
        if is_inside {
            let is_member = if line.is_comment {
                members.is_none_or(|indent| line.indent <= indent)
            } else {
                line.indent <= *members.get_or_insert(line.indent)
            };
            if is_member && !line.is_comment {
                name = key;
            }
            // The lines of a block after `key: |` have no key of their own.
            let value = if is_member { value } else { line.content };
            if !(NULLS.contains(&value) || is_member && value.starts_with(['|', '>'])) {
                found.hide(name, line.end - value.len()..line.end);
            }
            continue;
        }
        (data, members, name) = (None, None, key);
        if line.indent <= kind.indent && !line.is_item {
            is_in_items = key == "items";
        }
        let is_own = if is_list { is_in_items } else { line.indent == kind.indent };
        if is_own && is_data_key(key) {
            data = Some(line.indent);
            if let Some(inside) = value.strip_prefix('{') {
                let end = redact_data(text, line.end - inside.len(), found);
                at = at.max(line_end(text, end) + 1);
            }
        }
    }
    at.min(text.len())
}
