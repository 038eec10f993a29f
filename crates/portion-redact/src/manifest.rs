//! Hides the data of Kubernetes secrets: the values below `data` and `stringData` beside `kind: Secret`, in YAML. Manifests
//! in braces are in `flow`.
//!
//! The same in JSON is in [`json`](super::json). Format: <https://kubernetes.io/docs/concepts/configuration/secret/>.

mod flow;

use memchr::memmem;

use super::{REDACTED, RedactedNames, TextEdit};

pub(super) const KIND_KEY: &str = "kind";
pub(super) const SECRET_KIND: &str = "Secret";
/// A list whose items have no kind of their own.
pub(super) const SECRET_LIST_KIND: &str = "SecretList";
pub(super) const ITEMS_KEY: &str = "items";

/// Returns true for a member of a secret whose values are secret.
pub(super) fn is_data_key(key: &str) -> bool {
    matches!(key, "data" | "stringData")
}

/// Adds the edits for the manifests of secrets in a text. Each line is read at most once as a part of a manifest in lines.
pub(super) fn collect_edits(text: &str, edits: &mut Vec<TextEdit>, names: &mut RedactedNames) {
    let mut done = 0;
    for at in memmem::find_iter(text.as_bytes(), SECRET_KIND) {
        let line_start = text[..at].rfind('\n').map_or(0, |feed| feed + 1);
        if line_start < done {
            continue;
        }
        let line = Line::read(text, line_start);
        let kind = without_comment(line.value).trim_matches(['"', '\'']);
        if line.key == KIND_KEY && (kind == SECRET_KIND || kind == SECRET_LIST_KIND) {
            let start = manifest_start(text, done, &line);
            let mapping = Mapping { start, indent: line.indent, is_list: kind == SECRET_LIST_KIND };
            done = redact_manifest(text, mapping, edits, names);
        }
    }
    if memmem::find(text.as_bytes(), SECRET_KIND.as_bytes()).is_some() {
        flow::collect_edits(text, edits, names);
    }
}

/// A line of YAML, taken apart.
struct Line<'t> {
    start: usize,
    end: usize,
    /// Columns before the key. The dash of an item counts as indentation.
    indent: usize,
    is_item: bool,
    is_comment: bool,
    key: &'t str,
    value: &'t str,
}

impl<'t> Line<'t> {
    fn read(text: &'t str, start: usize) -> Self {
        let end = memchr::memchr(b'\n', &text.as_bytes()[start..]).map_or(text.len(), |len| start + len);
        let line = text[start..end].trim_end();
        let content = line.trim_start_matches([' ', '-']);
        let indent = line.len() - content.len();
        let (key, value) = content.split_once(':').unwrap_or((content, ""));
        let is_item = line[..indent].contains('-');
        let is_comment = !is_item && content.starts_with('#');
        let (key, value) = (key.trim_matches(['"', '\'']), value.trim());
        Self { start, end, indent, is_item, is_comment, key, value }
    }

    fn is_empty(&self, text: &str) -> bool {
        text[self.start..self.end].trim().is_empty()
    }

    /// Returns true for a line outside of the mapping whose keys have this indentation. Comments may have any indentation.
    fn ends_mapping(&self, text: &str, indent: usize) -> bool {
        !self.is_comment
            && !self.is_empty(text)
            && (self.indent < indent || text[self.start..self.end].starts_with("---"))
    }
}

/// Returns a value in one line without the comment after it.
fn without_comment(value: &str) -> &str {
    let comment = value.match_indices('#').find(|(at, _)| value[..*at].ends_with([' ', '\t']));
    comment.map_or(value, |(at, _)| value[..at].trim_end())
}

/// Returns the start of the mapping that contains a line, not before `from`.
fn manifest_start(text: &str, from: usize, line: &Line<'_>) -> usize {
    let mut start = line.start;
    if line.is_item {
        return start;
    }
    while start > from {
        let before = Line::read(text, text[..start - 1].rfind('\n').map_or(0, |feed| feed + 1));
        if before.start < from || before.ends_mapping(text, line.indent) {
            break;
        }
        start = before.start;
        if before.indent == line.indent && before.is_item {
            break;
        }
    }
    start
}

/// The mapping of a secret, or of a list of secrets.
#[derive(Clone, Copy)]
struct Mapping {
    start: usize,
    indent: usize,
    is_list: bool,
}

/// Redacts a mapping and returns its end.
fn redact_manifest(
    text: &str,
    mapping: Mapping,
    edits: &mut Vec<TextEdit>,
    names: &mut RedactedNames,
) -> usize {
    let Mapping { start, mut indent, is_list } = mapping;
    let (mut at, mut is_in_data, mut member_indent) = (start, false, None::<usize>);
    // The items of a list are at the margin of the list, or further in. Their keys have one indentation.
    let (margin, mut is_in_items) = (indent, !is_list);
    while at < text.len() {
        let line = Line::read(text, at);
        let is_item_of_list = is_list && is_in_items && line.is_item;
        let is_next = line.indent == margin && line.is_item;
        if at > start && (line.ends_mapping(text, margin) || is_next) {
            break;
        }
        at = line.end + 1;
        // A comment further in may be a line of a block, or a member that is not used.
        let is_outer_comment = line.is_comment && (!is_in_data || line.indent <= indent);
        if line.is_empty(text) || is_outer_comment {
            continue;
        }
        if is_list && line.indent <= margin && !line.is_item {
            (is_in_items, is_in_data, indent) = (line.key == ITEMS_KEY, false, usize::MAX);
            continue;
        }
        if !is_in_items {
            continue;
        }
        if is_item_of_list && (indent == usize::MAX || line.indent <= indent) {
            indent = line.indent;
        }
        if line.indent <= indent {
            (is_in_data, member_indent) = (is_data_key(line.key), None);
        }
        if is_in_data && line.indent <= indent {
            at = at.max(redact_flow_mapping(text, &line, edits, names));
        }
        if !is_in_data || line.indent <= indent {
            continue;
        }
        let is_member = if line.is_comment {
            member_indent.is_none_or(|indent| line.indent <= indent)
        } else {
            line.indent <= *member_indent.get_or_insert(line.indent)
        };
        // The lines of a block after `key: |` have no key of their own.
        let value = if is_member { line.value } else { text[line.start..line.end].trim() };
        if is_member && !line.is_comment {
            names.add(line.key.to_owned());
        }
        if !(value.is_empty() || is_member && value.starts_with(['|', '>'])) {
            let end = line.start + text[line.start..line.end].trim_end().len();
            edits.push(TextEdit { start: end - value.len(), end, replacement: REDACTED.into() });
        }
    }
    at.min(text.len())
}

/// Redacts the values of a mapping in braces, and returns the end of its last line: `data: {db: aHVudGVyMg==}`.
fn redact_flow_mapping(
    text: &str,
    line: &Line<'_>,
    edits: &mut Vec<TextEdit>,
    names: &mut RedactedNames,
) -> usize {
    let Some(inside) = line.value.strip_prefix('{') else { return line.end };
    let start = line.start + text[line.start..line.end].trim_end().len() - inside.len();
    let end = flow::collect_data_edits(text, start, edits, names);
    text[end..].find('\n').map_or(text.len(), |len| end + len + 1)
}
