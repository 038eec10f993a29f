//! Shortens long strings to their first sentences, with a mark that gives the number of missing characters
//! and the path to them. Strings stay strings.

use portion_json::path::step_from_quoted;
use portion_json::scan::{quote, unescape};
use portion_json::span::Span;

/// Characters kept of long strings, in the order of attempts.
pub(crate) const ELISION_LIMITS: [usize; 3] = [240, 100, 40];

/// One container on the path to the current value. It is small, because a document may consist of a million levels.
enum PathFrame {
    Array { index: u32 },
    Object { key_start: u32 },
}

/// Appends the JSON with strings above `above` characters shortened, and returns the number of shortened
/// strings. `pointer` is the pointer of the value, used in the marks. White space between tokens is kept.
pub(crate) fn elide(json: &str, above: usize, pointer: &str, out: &mut String) -> usize {
    let bytes = json.as_bytes();
    let mut frames: Vec<PathFrame> = Vec::new();
    let mut elided = 0;
    let mut done = 0;
    let mut at = 0;
    let mut expects_key = false;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => {
                let end = portion_json::scan::string_end(bytes, at);
                let span = Span::new(at, end);
                if expects_key {
                    if let Some(PathFrame::Object { key_start }) = frames.last_mut() {
                        *key_start = span.start;
                    }
                    expects_key = false;
                } else if end - at > above + 2 {
                    // The byte length is an upper bound of the character count, so only these are counted.
                    let place = || pointer_at(json, pointer, &frames);
                    if let Some(short) = elide_string(&unescape(span.slice(json)), above, place) {
                        out.push_str(&json[done..at]);
                        out.push_str(&quote(&short));
                        done = end;
                        elided += 1;
                    }
                }
                at = end;
                continue;
            }
            b'{' => {
                frames.push(PathFrame::Object { key_start: 0 });
                expects_key = true;
            }
            b'[' => {
                frames.push(PathFrame::Array { index: 0 });
                expects_key = false;
            }
            b'}' | b']' => {
                frames.pop();
                expects_key = false;
            }
            b',' => match frames.last_mut() {
                Some(PathFrame::Array { index }) => *index += 1,
                Some(PathFrame::Object { .. }) => expects_key = true,
                None => {}
            },
            _ => {}
        }
        at += 1;
    }
    out.push_str(&json[done..]);
    elided
}

/// Returns the pointer of the current value.
fn pointer_at(json: &str, pointer: &str, frames: &[PathFrame]) -> String {
    let mut place = pointer.to_owned();
    for frame in frames {
        place.push('/');
        match frame {
            PathFrame::Array { index } => place.push_str(&index.to_string()),
            PathFrame::Object { key_start } => {
                let start = *key_start as usize;
                let end = portion_json::scan::string_end(json.as_bytes(), start);
                place.push_str(&step_from_quoted(&json[start..end]));
            }
        }
    }
    place
}

/// Shortens a text of more than `above` characters and marks it. Returns `None` if it is short enough, or if
/// the result would not be shorter.
pub(crate) fn elide_string(text: &str, above: usize, place: impl Fn() -> String) -> Option<String> {
    let (limit, _) = text.char_indices().nth(above)?;
    let encoded = is_encoded(text);
    let kept = if encoded { text.floor_char_boundary(limit.min(16)) } else { first_sentences(text, limit) };
    let missing = text[kept..].chars().count();
    let what = if encoded { "base64 chars" } else { "chars" };
    let short = format!("{} … [+{missing} {what}, path={}]", text[..kept].trim_end(), place());
    (short.len() < text.len()).then_some(short)
}

/// Returns the end of the last sentence within `limit` bytes, otherwise of the last word.
fn first_sentences(text: &str, limit: usize) -> usize {
    let head = &text[..limit];
    let ends = |(i, c): (usize, char)| {
        let end = i + c.len_utf8();
        let next = text[end..].chars().next();
        let full = matches!(c, '。' | '！' | '？' | '\n');
        let stop = matches!(c, '.' | '!' | '?') && next.is_none_or(char::is_whitespace);
        (full || stop).then_some(end)
    };
    let sentence = head.char_indices().filter_map(ends).next_back().filter(|end| *end * 3 >= limit);
    let word = || head.char_indices().rev().find(|(_, c)| c.is_whitespace()).map(|(i, _)| i);
    sentence.or_else(|| word().filter(|end| *end * 2 >= limit)).unwrap_or(limit)
}

/// Returns true if a text looks like base64 or hexadecimal data.
fn is_encoded(text: &str) -> bool {
    let head = &text.as_bytes()[..text.len().min(512)];
    let alphabet =
        |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=' | b'-' | b'_' | b'\n' | b'\r');
    let body = text.strip_prefix("data:").and_then(|rest| rest.split_once("base64,"));
    body.is_some() || (head.len() >= 64 && head.iter().all(alphabet) && head.iter().any(u8::is_ascii_digit))
}
