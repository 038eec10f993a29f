//! Resolves paths into a payload: JSON Pointers (RFC 6901) and the dotted form that people type.

use crate::json_pointer::escape_step;
use crate::scan::{JsonKind, JsonReader, unescape};
use crate::snapshot::{IndexedText, Layout, Structure};
use crate::span::Span;
use crate::spelling::closest_name;

/// The value that a path leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedPath {
    /// Span of the value.
    pub span: Span,
    /// The path as a JSON Pointer.
    pub pointer: String,
}

/// The part of a path that could be followed, where the whole path leads nowhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnresolvedPath {
    /// Pointer of the last value that exists on the path.
    pub resolved_pointer: String,
    /// First step that does not exist.
    pub missing_step: String,
    /// Existing step most similar to the missing one.
    pub closest_step: Option<String>,
    /// Steps that exist at that value, at most 100.
    pub available_steps: Vec<String>,
}

/// Follows a path from the root of a text.
///
/// `/a/0/b` is a JSON Pointer; `a.0.b` and `a[0].b` are the dotted form, which also finds keys that
/// contain dots. Of duplicate keys, the first one counts.
///
/// # Errors
/// [`UnresolvedPath`] where the path leads nowhere.
pub fn resolve_path(subject: &IndexedText, path: &str) -> Result<ResolvedPath, UnresolvedPath> {
    let text: &str = &subject.text;
    let mut at = trimmed_span(text);
    let mut pointer = String::new();
    let mut rest = PathSteps::parse(path);
    if let Structure::List(list) = &subject.structure
        && let Some(index) = rest.index_after(&list.pointer)
        && !matches!(list.layout, Layout::Map)
    {
        // The index of the list finds an item directly, however long the list is.
        let Some(item) = list.iter_from(text, index.value).next() else {
            return Err(UnresolvedPath {
                resolved_pointer: display_pointer(&list.pointer),
                missing_step: index.value.to_string(),
                closest_step: list.len().checked_sub(1).map(|last| last.to_string()),
                available_steps: Vec::new(),
            });
        };
        at = item.value;
        pointer = list.pointer_to(text, &item);
        rest = index.rest;
    }
    if let Structure::List(list) = &subject.structure
        && list.layout == Layout::Lines
        && pointer.is_empty()
        && !rest.is_empty()
    {
        // Lines have no enclosing value with members to step into.
        let missing = rest.next_candidates().pop().map_or_else(String::new, |step| step.name);
        let available = index_range_label(list.len());
        return Err(UnresolvedPath {
            resolved_pointer: display_pointer(""),
            missing_step: missing,
            closest_step: None,
            available_steps: available,
        });
    }
    while !rest.is_empty() {
        let Some((value, step)) = find_child(text, at, rest) else {
            return Err(unresolved_path(text, at, &pointer, rest));
        };
        pointer.push('/');
        pointer.push_str(&escape_step(&step.name));
        at = value;
        rest = step.rest;
    }
    Ok(ResolvedPath { span: at, pointer })
}

/// The unread rest of a path.
#[derive(Clone, Copy)]
pub(crate) enum PathSteps<'a> {
    /// `a/0/b`, each step escaped.
    Pointer(Option<&'a str>),
    /// `a.0.b`
    Dotted(&'a str),
}

/// A step of a path, and the rest of the path after it.
pub(crate) struct PathStep<'a> {
    pub name: String,
    pub rest: PathSteps<'a>,
}

/// A numeric step of a path, and the rest of the path after it.
struct IndexStep<'a> {
    value: usize,
    rest: PathSteps<'a>,
}

impl<'a> PathSteps<'a> {
    pub(crate) fn parse(path: &'a str) -> Self {
        if let Some(steps) = path.strip_prefix('/') {
            // A key may end in white space, so a pointer is not trimmed.
            return Self::Pointer(Some(steps));
        }
        match path.trim() {
            path if path.is_empty() || path == "$" => Self::Pointer(None),
            path => Self::Dotted(path.strip_prefix("$.").unwrap_or(path)),
        }
    }

    pub(crate) fn is_empty(self) -> bool {
        matches!(self, Self::Pointer(None) | Self::Dotted(""))
    }

    /// Returns the possible readings of the next step, the longest name first.
    pub(crate) fn next_candidates(self) -> Vec<PathStep<'a>> {
        match self {
            Self::Pointer(None) => Vec::new(),
            Self::Pointer(Some(steps)) => {
                let (head, rest) = steps.split_once('/').map_or((steps, None), |(h, r)| (h, Some(r)));
                let name = head.replace("~1", "/").replace("~0", "~");
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
    fn index_after(self, pointer: &str) -> Option<IndexStep<'a>> {
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

fn display_pointer(pointer: &str) -> String {
    if pointer.is_empty() { "the root".to_owned() } else { pointer.to_owned() }
}

/// Returns the span of a text without surrounding white space.
fn trimmed_span(text: &str) -> Span {
    let lead = text.len() - text.trim_start().len();
    Span::new(lead, text.trim_end().len().max(lead))
}

/// Finds the value one step below the value at a span.
fn find_child<'a>(text: &str, at: Span, steps: PathSteps<'a>) -> Option<(Span, PathStep<'a>)> {
    let mut reader = JsonReader::resume(text, at.start as usize);
    match reader.peek().ok()? {
        JsonKind::Object => {
            let mut candidates = steps.next_candidates();
            let mut best: Option<(Span, usize)> = None;
            reader.enter_object().ok()?;
            while let Some(key) = reader.next_key().ok()? {
                let value = reader.skip().ok()?;
                let longer = best.map_or(candidates.len(), |(_, candidate)| candidate);
                let found = candidates[..longer]
                    .iter()
                    .position(|candidate| crate::snapshot::key_matches(text, key, &candidate.name));
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

fn unresolved_path(text: &str, at: Span, pointer: &str, rest: PathSteps<'_>) -> UnresolvedPath {
    let missing = rest.next_candidates().pop().map_or_else(String::new, |step| step.name);
    let available = list_child_steps(text, at);
    let nearest = closest_name(&missing, available.iter().map(String::as_str));
    UnresolvedPath {
        resolved_pointer: display_pointer(pointer),
        missing_step: missing,
        closest_step: nearest,
        available_steps: available,
    }
}

/// Lists the steps below a value: the first 100 keys, or the range of indices.
fn list_child_steps(text: &str, at: Span) -> Vec<String> {
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
fn index_range_label(len: usize) -> Vec<String> {
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
pub(crate) fn value_at(text: &str, record: Span, dotted: &str) -> Option<Span> {
    let mut at = record;
    let mut rest = PathSteps::Dotted(dotted);
    while !rest.is_empty() {
        let (value, step) = find_child(text, at, rest)?;
        (at, rest) = (value, step.rest);
    }
    Some(at)
}
