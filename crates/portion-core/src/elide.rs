//! Shortens long strings to their first sentences, and long lists of strings to their first items, with a mark that gives the number
//! of missing characters or items and the path to them. Strings stay strings, and lists of strings stay lists of strings. Other lists
//! are shortened only where nothing else fits.

use portion_json::path::step_from_quoted;
use portion_json::scan::{JsonKind, JsonReader, quote, unescape};
use portion_json::span::Span;

/// Characters kept of long strings, in the order of attempts.
pub(crate) const ELISION_LIMITS: [usize; 3] = [240, 100, 40];

/// One container on the path to the current value. It is small, because a document may consist of a million levels.
enum PathFrame {
    Array { index: u32 },
    Object { key_start: u32 },
}

/// The part of a list of strings that is left out.
struct LeftOutItems {
    /// End of the items that are kept.
    kept_end: usize,
    count: usize,
    /// End of the last item.
    end: usize,
}

/// Smallest part of a list that is left out. It is longer than the mark; the strings of a shorter one are shortened themselves.
const MIN_LEFT_OUT_BYTES: usize = 100;
const MIN_LEFT_OUT_ITEMS: usize = 3;
/// Levels of containers in which lists other than of strings are shortened.
const MAX_SHORTENED_DEPTH: usize = 16;

/// Appends the JSON with strings above `above` characters and lists of strings above as many bytes shortened, and returns the number
/// of these. `pointer` is the pointer of the value, used in the marks. White space between tokens is kept.
pub(crate) fn elide(json: &str, above: usize, pointer: &str, out: &mut String) -> usize {
    elide_lists(json, (above, None), pointer, out)
}

/// Does the same, and shortens each list of more than `max_items` items to these, unless it is nested too deep.
pub(crate) fn elide_lists(
    json: &str,
    (above, max_items): (usize, Option<usize>),
    pointer: &str,
    out: &mut String,
) -> usize {
    let bytes = json.as_bytes();
    let mut frames: Vec<PathFrame> = Vec::new();
    let mut elided = 0;
    let mut done = 0;
    let mut at = 0;
    let mut expects_key = false;
    let mut left_out: Vec<LeftOutItems> = Vec::new();
    while at < bytes.len() {
        if let Some(LeftOutItems { count, end, .. }) = left_out.pop_if(|items| items.kept_end == at) {
            let around = frames.split_last().map_or(&[][..], |(_, around)| around);
            let mark = format!("… [+{count} items, path={}]", pointer_at(json, pointer, around));
            out.extend([&json[done..at], ",", &quote(&mark)]);
            (at, done) = (end, end);
            elided += 1;
        }
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
                // Each level is read whole, so a document of nothing but levels would be read once for each.
                let max_items = max_items.filter(|_| frames.len() <= MAX_SHORTENED_DEPTH);
                left_out.extend(LeftOutItems::of_list(json, at, (above, max_items)));
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

impl LeftOutItems {
    /// Returns the items that a list of strings leaves out if it is kept to `above` bytes, but at least to one item; any list, if
    /// it is kept to `max_items`. Returns `None` for other lists, and if that is too little.
    fn of_list(json: &str, start: usize, (above, max_items): (usize, Option<usize>)) -> Option<Self> {
        let mut reader = JsonReader::resume(json, start);
        reader.enter_array().ok()?;
        let mut items = Self { kept_end: start, count: 0, end: start };
        let mut read = 0;
        while reader.next_item().ok()? {
            if max_items.is_none() && reader.peek() != Ok(JsonKind::String) {
                return None;
            }
            items.end = reader.skip().ok()?.end as usize;
            read += 1;
            let fits = max_items.map_or(items.end - start <= above, |max| read <= max);
            let is_kept = items.kept_end == start || items.count == 0 && fits;
            if is_kept {
                items.kept_end = items.end;
            } else {
                items.count += 1;
            }
        }
        let is_long = items.count >= MIN_LEFT_OUT_ITEMS && items.end - items.kept_end >= MIN_LEFT_OUT_BYTES;
        is_long.then_some(items)
    }
}

/// Returns true for a string, and for a list of strings of which a part is left out where strings are shortened.
pub(crate) fn is_shortened(json: &str) -> bool {
    json.starts_with('"') || LeftOutItems::of_list(json, 0, (ELISION_LIMITS[0], None)).is_some()
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

#[cfg(test)]
mod tests {
    use super::{elide, elide_lists};

    /// Compares a JSON text shortened to 40 characters or bytes, and the number of what was shortened in it.
    fn check(json: &str, expect: &str, expected_count: usize) {
        let mut out = String::new();
        let count = elide(json, 40, "/rows/3", &mut out);
        assert_eq!((out.as_str(), count), (expect, expected_count), "{json}");
        assert!(portion_json::scan::is_json(&out), "{out}");
    }

    #[test]
    fn lists_of_lists_keep_their_first_items() {
        let ring = format!("[{}]", vec!["[1.25,2.5]"; 40].join(","));
        let mut out = String::new();
        let count = elide_lists(&format!("[{ring},{ring}]"), (40, Some(2)), "/c", &mut out);
        let cut = |at: usize| format!(r#"[[1.25,2.5],[1.25,2.5],"… [+38 items, path=/c/{at}]"]"#);
        assert_eq!((out, count), (format!("[{},{}]", cut(0), cut(1)), 2));
        // A document of levels alone is read a few times.
        let levels = format!("{}1{}", "[".repeat(200_000), "]".repeat(200_000));
        let mut out = String::new();
        assert_eq!((elide_lists(&levels, (40, Some(1)), "", &mut out), out), (0, levels));
        let (mut out, records) =
            (String::new(), format!("[{}]", vec![r#"{"n":[1,2],"t":"a record"}"#; 40].join(",")));
        assert_eq!(elide_lists(&records, (40, Some(1)), "", &mut out), 1);
        assert_eq!(out, r#"[{"n":[1,2],"t":"a record"},"… [+39 items, path=]"]"#);
    }

    #[test]
    fn long_lists_of_strings_keep_their_first_items() {
        let words = |count: usize| vec![r#""a line of a log""#; count].join(",");
        let cut = |pointer: &str, count: usize| {
            format!(r#"["a line of a log","a line of a log","… [+{count} items, path={pointer}]"]"#)
        };
        let lists =
            |one: &str, two: &str| format!(r#"{{"id":7,"log":{one},"b/c":[{{"own":{two}}}],"end":[]}}"#);
        let long = format!("[{}]", words(40));
        check(&long, &cut("/rows/3", 38), 1);
        check(&lists(&long, &long), &lists(&cut("/rows/3/log", 38), &cut("/rows/3/b~1c/0/own", 38)), 2);
        // The first item is kept in part, the mark of a short list would be longer than what it stands for.
        let text = "0123456789 ".repeat(9);
        let (one, short) = (format!(r#"["{text}",{}]"#, words(20)), format!("[{}]", words(7)));
        let marks = r#"["0123456789 0123456789 0123456789 … [+67 chars, path=/rows/3/0]","… [+20 items, path=/rows/3]"]"#;
        check(&one, marks, 2);
        for other in
            [short, format!("[{},1]", words(40)), format!("[1,{}]", words(40)), format!("[[{}]", words(2))]
        {
            let mut out = String::new();
            assert_eq!((elide(&other, 40, "", &mut out), out), (0, other));
        }
    }
}
