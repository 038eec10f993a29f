//! Redacts the text of XML elements: `<password>hunter2</password>`, `<property name="password">hunter2</property>`.

use memchr::memchr_iter;

use super::text_pair::names_in;
use super::{REDACTED, RedactedNames, RedactionRules, TextEdit};

/// Maximum bytes of a start tag.
const MAX_TAG_BYTES: usize = 512;
const CDATA_START: &str = "<![CDATA[";
const CDATA_END: &str = "]]>";

/// Adds the edits for the elements of a text whose names are hidden. Only an element with text alone and its end tag is
/// one: `Vec<Password>` is not.
pub(super) fn collect_edits(
    redact: &RedactionRules,
    text: &str,
    edits: &mut Vec<TextEdit>,
    names: &mut RedactedNames,
) {
    let bytes = text.as_bytes();
    let (mut tag_start, mut done) = (0, 0);
    for at in memchr_iter(b'>', bytes) {
        let from = text.ceil_char_boundary(at.saturating_sub(MAX_TAG_BYTES).max(tag_start)).min(at);
        tag_start = at;
        if at < done {
            continue;
        }
        let Some(start) = text[from..at].rfind('<').map(|found| from + found) else { continue };
        let tag = &text[start + 1..at];
        let len = tag.find(|c: char| c.is_whitespace()).unwrap_or(tag.len());
        let element = &tag[..len];
        if tag.ends_with('/') || !element.starts_with(|c: char| c.is_alphabetic() || c == '_') {
            continue;
        }
        let Some((value_start, value_end)) = element_text(text, at + 1, element, &mut done) else { continue };
        let local = element.rsplit(':').next().unwrap_or_default();
        let is_hidden = |name: &&str| redact.match_pair_name(name).is_hidden();
        let attributes = names_in(text, (start + 1 + len, at));
        let name = [local].into_iter().chain(attributes.map(|(_, name)| name)).find(is_hidden);
        let value = &text[value_start..value_end];
        if let Some(name) = name.filter(|_| !matches!(value, "" | REDACTED | "true" | "false" | "null")) {
            edits.push(TextEdit { start: value_start, end: value_end, replacement: REDACTED.into() });
            names.add(name.to_owned());
        }
    }
}

/// Returns the range of the text of an element, which begins at `from` and contains no other element. Sets `done` to the
/// end of a CDATA section, in which there are no elements.
fn element_text(text: &str, from: usize, element: &str, done: &mut usize) -> Option<(usize, usize)> {
    let rest = &text[from..];
    let lead = rest.len() - rest.trim_start().len();
    let (skip, end_mark) = if rest[lead..].starts_with(CDATA_START) {
        (lead + CDATA_START.len(), CDATA_END)
    } else {
        (lead, "<")
    };
    let len = rest[skip..].find(end_mark);
    if end_mark == CDATA_END {
        *done = len.map_or(text.len(), |len| from + skip + len);
    }
    let len = len?;
    let value = rest[skip..skip + len].trim_end();
    let after = rest[skip + len..].trim_start_matches(CDATA_END).trim_start().strip_prefix("</")?;
    let is_end_tag = after.strip_prefix(element)?.trim_start().starts_with('>');
    is_end_tag.then_some((from + skip, from + skip + value.len()))
}
