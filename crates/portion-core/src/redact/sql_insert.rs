//! Redacts the values of SQL statements that name their columns: `INSERT INTO users (name, password) VALUES ('ann', 'x')`.

use memchr::memmem;

use super::delimited::{holds_secret, match_column_name};
use super::edit::REDACTED;
use super::{NameMatch, RedactedNames, RedactionRules, TextEdit};

/// Maximum bytes of a list of columns.
const MAX_COLUMNS_BYTES: usize = 16 << 10;
/// Maximum bytes of a value.
const MAX_VALUE_BYTES: usize = 64 << 10;
const KEYWORDS: [&[u8]; 2] = [b"VALUES", b"values"];

/// Adds the edits for the rows of `INSERT` statements.
pub(super) fn collect_edits(
    redact: &RedactionRules,
    text: &str,
    edits: &mut Vec<TextEdit>,
    names: &mut RedactedNames,
) {
    for keyword in KEYWORDS {
        let mut done = 0;
        for at in memmem::find_iter(text.as_bytes(), keyword) {
            let Some(columns) = (at >= done).then(|| columns_before(text, at)).flatten() else { continue };
            let verdicts: Vec<_> = columns.iter().map(|column| match_column_name(redact, column)).collect();
            if !verdicts.iter().any(|verdict| verdict.is_hidden()) {
                continue;
            }
            done = at + keyword.len();
            while let Some(end) = collect_row_edits(text, done, (&columns, &verdicts), edits, names) {
                done = end;
            }
        }
    }
}

/// Returns the names of the columns in the parentheses before the keyword at `at`.
fn columns_before(text: &str, at: usize) -> Option<Vec<&str>> {
    let near = &text[text.ceil_char_boundary(at.saturating_sub(MAX_COLUMNS_BYTES)).min(at)..at];
    let list = near.trim_end().strip_suffix(')')?;
    let list = &list[list.rfind('(')? + 1..];
    let names = list.split(',').map(|column| column.trim().trim_matches(['"', '`', '[', ']', '\'']));
    let names: Vec<&str> = names.collect();
    names.iter().all(|name| !name.is_empty()).then_some(names)
}

/// Adds the edits for the row that begins after `from`. Returns the end of the row, or `None` if there is none.
fn collect_row_edits(
    text: &str,
    from: usize,
    (columns, verdicts): (&[&str], &[NameMatch]),
    edits: &mut Vec<TextEdit>,
    names: &mut RedactedNames,
) -> Option<usize> {
    let lead = text[from..].find(|c: char| !c.is_whitespace() && c != ',')?;
    let mut at = from + lead;
    if !text[at..].starts_with('(') {
        return None;
    }
    for index in 0.. {
        let start = at + 1;
        let len = value_len(&text[start..]);
        // A value that does not end is hidden up to the end of its line.
        at = start + len.unwrap_or_else(|| text[start..].find('\n').unwrap_or(text.len() - start));
        let value = text[start..at].trim();
        let verdict = verdicts.get(index).copied().unwrap_or_default();
        if verdict.is_hidden() && holds_secret(value, verdict) {
            let start = start + (text[start..at].len() - text[start..at].trim_start().len());
            names.add((*columns.get(index)?).to_owned());
            edits.push(TextEdit {
                start,
                end: start + value.len(),
                replacement: format!("'{REDACTED}'").into(),
            });
        }
        len?;
        if text[at..].starts_with(')') {
            break;
        }
    }
    Some(at + 1)
}

/// Returns the bytes of a value of a row, up to the comma or the parenthesis after it, or `None` if it does not end.
fn value_len(text: &str) -> Option<usize> {
    let (mut depth, mut quote) = (0_usize, None);
    let mut bytes = text.bytes().take(MAX_VALUE_BYTES).enumerate();
    while let Some((at, byte)) = bytes.next() {
        match (quote, byte) {
            (Some(_), b'\\') => drop(bytes.next()),
            (Some(open), _) if byte == open => quote = None,
            (None, b'\'' | b'"' | b'`') => quote = Some(byte),
            (None, b'(') => depth += 1,
            (None, b',' | b')') if depth == 0 => return Some(at),
            (None, b')') => depth -= 1,
            _ => {}
        }
    }
    None
}
