//! Steps of paths into a document: JSON Pointers (RFC 6901) and the dotted form that people type.
//!
//! ```
//! use portion_json::path::value_at;
//! use portion_json::span::Span;
//!
//! let text = r#"{"guest": {"name": "Ada"}, "guest.id": 7}"#;
//! let record = Span::new(0, text.len());
//! assert_eq!(value_at(text, record, "guest.name").map(|found| found.slice(text)), Some("\"Ada\""));
//! assert_eq!(value_at(text, record, "guest.id").map(|found| found.slice(text)), Some("7"));
//! assert_eq!(value_at(text, record, "guest.age"), None);
//! ```

use std::fmt::Write as _;

use crate::scan::{JsonKind, JsonReader, minify, unescape};
use crate::span::Span;

/// The unread rest of a path.
#[derive(Clone, Copy, Debug)]
pub enum PathSteps<'a> {
    /// `a/0/b`, each step escaped.
    Pointer(Option<&'a str>),
    /// `a.0.b`
    Dotted(&'a str),
}

/// A step of a path, and the rest of the path after it.
#[derive(Clone, Debug)]
pub struct PathStep<'a> {
    /// Name of the step, unescaped.
    pub name: String,
    /// The rest of the path.
    pub rest: PathSteps<'a>,
}

/// A numeric step of a path, and the rest of the path after it.
#[derive(Clone, Copy, Debug)]
pub struct IndexStep<'a> {
    /// The number.
    pub value: usize,
    /// The rest of the path.
    pub rest: PathSteps<'a>,
}

impl<'a> PathSteps<'a> {
    /// Parses a path: a JSON Pointer if it begins with `/`, else the dotted form.
    pub fn parse(path: &'a str) -> Self {
        if let Some(steps) = path.strip_prefix('/') {
            // A key may end in white space, so a pointer is not trimmed.
            return Self::Pointer(Some(steps));
        }
        match path.trim() {
            path if path.is_empty() || path == "$" => Self::Pointer(None),
            path => Self::Dotted(path.strip_prefix("$.").unwrap_or(path)),
        }
    }

    /// Returns true if no step is left.
    pub fn is_empty(self) -> bool {
        matches!(self, Self::Pointer(None) | Self::Dotted(""))
    }

    /// Returns the possible readings of the next step, the longest name first.
    pub fn next_candidates(self) -> Vec<PathStep<'a>> {
        match self {
            Self::Pointer(None) => Vec::new(),
            Self::Pointer(Some(steps)) => {
                let (head, rest) = steps.split_once('/').map_or((steps, None), |(h, r)| (h, Some(r)));
                let name = unescape_step(head);
                vec![PathStep { name, rest: Self::Pointer(rest) }]
            }
            Self::Dotted(steps) => {
                // `[3]` is a step of its own; a dot may be part of a key.
                if let Some((index, rest)) = steps.strip_prefix('[').and_then(|s| s.split_once(']')) {
                    let name = index.trim_matches(['"', '\'']).to_owned();
                    return vec![PathStep {
                        name,
                        rest: Self::Dotted(rest.strip_prefix('.').unwrap_or(rest)),
                    }];
                }
                let ends = steps.char_indices().filter(|(i, c)| *i > 0 && matches!(c, '.' | '['));
                let mut ends: Vec<usize> = ends.map(|(i, _)| i).take(64).collect();
                ends.push(steps.len());
                let take = |end: usize| PathStep {
                    name: steps[..end].to_owned(),
                    rest: Self::Dotted(steps[end..].strip_prefix('.').unwrap_or(&steps[end..])),
                };
                ends.into_iter().rev().map(take).collect()
            }
        }
    }

    /// Returns the number that follows `pointer` in this path, if there is one.
    pub fn index_after(self, pointer: &str) -> Option<IndexStep<'a>> {
        let mut rest = self;
        for wanted in pointer.split('/').skip(1) {
            let step = rest.next_candidates().into_iter().find(|step| escape_step(&step.name) == wanted)?;
            rest = step.rest;
        }
        let number =
            |step: PathStep<'a>| Some(IndexStep { value: parse_index(&step.name)?, rest: step.rest });
        rest.next_candidates().into_iter().find_map(number)
    }
}

/// Finds the value one step below the value at a span.
pub fn find_child<'a>(text: &str, at: Span, steps: PathSteps<'a>) -> Option<(Span, PathStep<'a>)> {
    let mut reader = JsonReader::resume(text, at.start as usize);
    match reader.peek().ok()? {
        JsonKind::Object => {
            let mut candidates = steps.next_candidates();
            let mut best: Option<(Span, usize)> = None;
            reader.enter_object().ok()?;
            while let Some(key) = reader.next_key().ok()? {
                let value = reader.skip().ok()?;
                let longer = best.map_or(candidates.len(), |(_, candidate)| candidate);
                let found =
                    candidates[..longer].iter().position(|candidate| key_matches(text, key, &candidate.name));
                if let Some(candidate) = found {
                    best = Some((value, candidate));
                    if candidate == 0 {
                        break;
                    }
                }
            }
            best.map(|(value, candidate)| (value, candidates.swap_remove(candidate)))
        }
        JsonKind::Array => {
            let (index, step) = steps
                .next_candidates()
                .into_iter()
                .find_map(|step| Some((parse_index(&step.name)?, step)))?;
            reader.enter_array().ok()?;
            for i in 0..=index {
                if !reader.next_item().ok()? {
                    return None;
                }
                let value = reader.skip().ok()?;
                if i == index {
                    return Some((value, step));
                }
            }
            None
        }
        _ => None,
    }
}

/// Lists the steps below a value: the first 100 keys, or the range of indices.
pub fn child_steps(text: &str, at: Span) -> Vec<String> {
    let mut reader = JsonReader::resume(text, at.start as usize);
    let mut steps = Vec::new();
    match reader.peek() {
        Ok(JsonKind::Object) if reader.enter_object().is_ok() => {
            while steps.len() < 100
                && let Ok(Some(key)) = reader.next_key()
            {
                steps.push(unescape(reader.text(key)));
                if reader.skip().is_err() {
                    break;
                }
            }
        }
        Ok(JsonKind::Array) if reader.enter_array().is_ok() => {
            let mut len = 0usize;
            while reader.next_item() == Ok(true) && reader.skip().is_ok() {
                len += 1;
            }
            steps = index_range_label(len);
        }
        _ => {}
    }
    steps
}

/// Describes the valid indices of a list of length `len`.
pub fn index_range_label(len: usize) -> Vec<String> {
    match len {
        0 => Vec::new(),
        1 => vec!["0".into()],
        _ => vec![format!("0 to {}", len - 1)],
    }
}

/// Parses a step as an item index: digits without a sign or leading zeros (RFC 6901).
fn parse_index(step: &str) -> Option<usize> {
    let plain = step.bytes().all(|b| b.is_ascii_digit()) && (step == "0" || !step.starts_with('0'));
    step.parse().ok().filter(|_| plain)
}

/// Finds the value at a dotted path inside a record, in JSON that is known to be valid.
pub fn value_at(text: &str, record: Span, dotted: &str) -> Option<Span> {
    value_below(text, record, PathSteps::Dotted(dotted))
}

/// Finds the value below another one, in JSON that is known to be valid.
pub fn value_below(text: &str, from: Span, steps: PathSteps<'_>) -> Option<Span> {
    let (mut at, mut rest) = (from, steps);
    while !rest.is_empty() {
        let (value, step) = find_child(text, at, rest)?;
        (at, rest) = (value, step.rest);
    }
    Some(at)
}

/// Returns true if the key at a span is `name`.
pub fn key_matches(text: &str, key: Span, name: &str) -> bool {
    let quoted = key.slice(text);
    let inner = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default();
    inner == name || (inner.contains('\\') && unescape(quoted) == name)
}

/// Encodes a quoted key as a step of a JSON Pointer.
pub fn step_from_quoted(quoted: &str) -> String {
    escape_step(&unescape(quoted))
}

/// Returns the key that a step of a JSON Pointer encodes.
pub fn unescape_step(step: &str) -> String {
    step.replace("~1", "/").replace("~0", "~")
}

/// Encodes a key as a step of a JSON Pointer.
pub fn escape_step(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// Maximum bytes of a value that is shown whole.
const MAX_SHORT_BYTES: usize = 120;
/// Maximum members that are examined per object.
const MAX_MEMBERS: usize = 64;
/// Maximum levels of nested objects that are examined.
const MAX_LEVELS: usize = 8;

/// The part of an object that is shown.
enum Preview {
    /// A member with its value.
    ShortMember(Span, Span),
    /// A member that is an object with members of its own.
    NestedObject(Span, Span),
    /// Only long members, so none is shown.
    OnlyLong,
}

/// Appends an object with only its first short member, which may be in a nested object, or with a marker
/// that gives the number of characters inside. An object without members stays as it is.
pub(crate) fn write_object_preview(object: &str, out: &mut String) {
    let mut closing = String::new();
    let mut inside = object;
    for _ in 0..MAX_LEVELS {
        match preview_member(inside) {
            None => {
                out.push_str("{}");
                out.push_str(&closing);
                return;
            }
            Some(Preview::ShortMember(key, value)) => {
                out.push('{');
                out.push_str(key.slice(inside));
                out.push(':');
                minify(value.slice(inside), out);
                out.push('}');
                out.push_str(&closing);
                return;
            }
            Some(Preview::NestedObject(key, value)) => {
                out.push('{');
                out.push_str(key.slice(inside));
                out.push(':');
                closing.push('}');
                inside = value.slice(inside);
            }
            Some(Preview::OnlyLong) => break,
        }
    }
    let _ = write!(out, "{{\"…\":\"[+{} chars]\"}}", inside.chars().count());
    out.push_str(&closing);
}

/// Chooses the member to show; `None` where the object has no members.
fn preview_member(object: &str) -> Option<Preview> {
    let mut reader = JsonReader::new(object);
    reader.enter_object().ok()?;
    let (mut empty, mut container, mut any) = (None, None, false);
    for _ in 0..MAX_MEMBERS {
        let Some(key) = reader.next_key().ok()? else { break };
        any = true;
        let kind = reader.peek().ok()?;
        let value = reader.skip().ok()?;
        let says_nothing = matches!(value.slice(object), "null" | "\"\"" | "[]" | "{}");
        if kind == JsonKind::Object && !says_nothing {
            container.get_or_insert((key, value));
        } else if value.len() <= MAX_SHORT_BYTES {
            if !says_nothing {
                return Some(Preview::ShortMember(key, value));
            }
            empty.get_or_insert((key, value));
        }
    }
    match (container, empty) {
        (Some((key, value)), _) => Some(Preview::NestedObject(key, value)),
        (None, Some((key, value))) => Some(Preview::ShortMember(key, value)),
        (None, None) => any.then_some(Preview::OnlyLong),
    }
}

#[cfg(test)]
mod tests {
    use super::write_object_preview;

    fn check(object: &str, expect: &str) {
        let mut out = String::new();
        write_object_preview(object, &mut out);
        assert_eq!(out, expect);
    }

    #[test]
    fn an_object_with_members_never_looks_empty() {
        check("{ }", "{}");
        check(r#"{"a": null, "b": 1, "c": 2}"#, r#"{"b":1}"#);
        check(r#"{"get": {"tags": [ "x" ], "description": "y"}}"#, r#"{"get":{"tags":["x"]}}"#);
        check(r#"{"a": {}, "b": null}"#, r#"{"a":{}}"#);
        let long = format!(r#"{{"a": {{"text": "{}"}}}}"#, "x".repeat(200));
        check(&long, r#"{"a":{"…":"[+212 chars]"}}"#);
    }
}
