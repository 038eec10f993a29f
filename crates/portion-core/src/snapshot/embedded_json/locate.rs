//! Locates the JSON that makes up most of a text.

use portion_json::scan::JsonReader;
use portion_json::span::Span;

use crate::snapshot::list_detection;

/// Maximum bytes before and after the JSON.
const MAX_SURROUNDING_BYTES: usize = 4 << 10;
/// Maximum offsets that are tried.
const MAX_CANDIDATES: usize = 6;
/// Minimum share of the text that is JSON, in per cent.
pub(super) const MIN_SHARE_PERCENT: usize = 50;
/// Numbers that Python and JavaScript write and JSON does not allow, the longest first, each with a valid
/// number of the same length.
const NON_FINITE: [(&str, &str); 3] = [("-Infinity", "-0.000000"), ("Infinity", "0.000000"), ("NaN", "0.0")];

/// JSON found in a text.
pub(crate) struct LocatedJson {
    /// Span of the JSON.
    pub span: Span,
    /// Offset and name of each non-finite number in it.
    non_finite: Vec<(u32, &'static str)>,
}

impl LocatedJson {
    /// Returns the count of non-finite numbers.
    pub(crate) fn non_finite_count(&self) -> usize {
        self.non_finite.len()
    }

    /// Returns the JSON with `null` in place of each non-finite number, `None` if there are none; and the
    /// offsets where `null` is longer than the name it replaces.
    pub(crate) fn with_nulls(&self, text: &str) -> (Option<String>, Vec<u32>) {
        if self.non_finite.is_empty() {
            return (None, Vec::new());
        }
        let json = self.span.slice(text);
        let (mut out, mut shorter) = (String::with_capacity(json.len() + self.non_finite.len()), Vec::new());
        let mut done = 0;
        for (at, name) in &self.non_finite {
            out.push_str(&json[done..*at as usize]);
            out.push_str("null");
            match name.len().checked_sub(4) {
                Some(more) => out.extend(std::iter::repeat_n(' ', more)),
                None => shorter.push(out.len() as u32 - 1),
            }
            done = *at as usize + name.len();
        }
        out.push_str(&json[done..]);
        (Some(out), shorter)
    }
}

/// Locates the JSON that makes up most of a text.
pub(crate) fn locate_json(text: &str) -> Option<LocatedJson> {
    let mut lines = true;
    candidate_offsets(text).find_map(|at| {
        let read = read_value(text, at).filter(|read| is_self_contained(text, read.span));
        read.or_else(|| {
            // Words, followed by newline-delimited JSON.
            let tried = std::mem::take(&mut lines) && at > 0 && text[..at].ends_with('\n');
            let rest = || list_detection::detect_lines(&text[at..]).map(|_| Span::new(at, text.len()));
            let span = tried.then(rest).flatten().filter(|span| is_majority(text, *span))?;
            Some(LocatedJson { span, non_finite: Vec::new() })
        })
    })
}

/// Reads the value that begins at a byte.
fn read_value(text: &str, at: usize) -> Option<LocatedJson> {
    let error = match JsonReader::resume(text, at).skip() {
        Ok(span) => return Some(LocatedJson { span, non_finite: Vec::new() }),
        Err(error) => error,
    };
    // The sign of `-Infinity` is read as that of a number.
    let sign = error.offset.checked_sub(1).filter(|sign| text.as_bytes().get(*sign) == Some(&b'-'));
    sign.into_iter().chain([error.offset]).find_map(|at| non_finite_prefix(text.get(at..)?))?;
    let mut names = find_non_finite(&text[at..]);
    let end = JsonReader::new(&replace_non_finite(&text[at..], &names)).skip().ok()?.end;
    names.truncate(names.partition_point(|(name, _)| *name < end));
    Some(LocatedJson { span: Span::new(at, at + end as usize), non_finite: names })
}

/// Yields the offsets where JSON may begin: after white space, or after punctuation that separates it
/// from a word.
fn candidate_offsets(text: &str) -> impl Iterator<Item = usize> + '_ {
    let head = &text[..text.floor_char_boundary(MAX_SURROUNDING_BYTES)];
    let begins = move |at: &usize| {
        let before = &head[..*at];
        let opens = before.is_empty()
            || before.ends_with(|c: char| c.is_whitespace() || "\u{feff}:=>(`;,".contains(c));
        let opener = text.as_bytes()[*at];
        let next = text[*at + 1..].trim_start().bytes().next();
        let fits = match opener {
            b'{' => matches!(next, Some(b'"')),
            // Skips most brackets of prose, such as `[INFO]`, which hold no JSON value.
            _ => matches!(
                next,
                Some(b'{' | b'[' | b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n' | b'N' | b'I')
            ),
        };
        opens && fits
    };
    let bytes = head.bytes().enumerate();
    bytes.filter(|(_, b)| matches!(b, b'{' | b'[')).map(|(at, _)| at).filter(begins).take(MAX_CANDIDATES)
}

/// Returns true if the JSON is most of the text and the text after it does not continue it.
fn is_self_contained(text: &str, span: Span) -> bool {
    let after = &text[span.end as usize..];
    let begins_line = after.trim_start_matches([' ', '\t', '\r']).starts_with('\n');
    is_majority(text, span)
        && (!after.trim_start().starts_with([',', ':', '[', ']', '{', '}', '"'])
            || begins_line && list_detection::is_note(span.slice(text), after))
}

fn is_majority(text: &str, span: Span) -> bool {
    span.len() * 100 >= text.len() * MIN_SHARE_PERCENT
        && text.len() - span.end as usize <= MAX_SURROUNDING_BYTES
}

/// Returns the non-finite number at the start of a text, and a valid number of the same length.
fn non_finite_prefix(text: &str) -> Option<(&'static str, &'static str)> {
    NON_FINITE.into_iter().find(|(name, _)| text.starts_with(name))
}

/// Returns the non-finite numbers outside of strings.
fn find_non_finite(text: &str) -> Vec<(u32, &'static str)> {
    let (mut names, mut at, mut quoted) = (Vec::new(), 0, false);
    let bytes = text.as_bytes();
    while let Some(b) = bytes.get(at) {
        match b {
            b'\\' if quoted => at += 1,
            b'"' => quoted = !quoted,
            b'N' | b'I' | b'-' if !quoted => {
                if let Some((name, _)) = non_finite_prefix(&text[at..]) {
                    names.push((at as u32, name));
                    at += name.len() - 1;
                }
            }
            _ => {}
        }
        at += 1;
    }
    names
}

/// Replaces each non-finite number by a valid number of the same length.
fn replace_non_finite(text: &str, names: &[(u32, &'static str)]) -> String {
    let (mut out, mut done) = (String::with_capacity(text.len()), 0);
    for (at, name) in names {
        out.push_str(&text[done..*at as usize]);
        out.push_str(non_finite_prefix(name).map_or(name, |(_, number)| number));
        done = *at as usize + name.len();
    }
    out.push_str(&text[done..]);
    out
}
