//! Reads the scalars of JSON with their paths, and finds the matches in a record.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use portion_json::path;
use portion_json::scan::{string_end, unescape, unescape_into};
use portion_json::span::Span;

use super::FindError;
use super::candidates::Candidates;
use super::error::Fuel;
use super::pattern::Matcher;

/// Largest number of steps of a path. For deeper values, the path is that of a container.
const MAX_POINTER_STEPS: usize = 48;
/// Largest length of a path in bytes. Longer paths end at a container.
const MAX_PATH_BYTES: usize = 400;

/// Iterates over the scalars and keys of valid JSON, without recursion.
#[derive(Debug)]
pub(super) struct LeafTokens<'a> {
    text: &'a str,
    position: usize,
    end: usize,
    frames: Vec<OpenContainer>,
    /// Number of arrays among the frames.
    array_depth: usize,
    /// Containers to skip.
    skipped: &'a [Span],
}

#[derive(Clone, Copy, Debug)]
struct OpenContainer {
    /// Offset of the container.
    start: u32,
    is_object: bool,
    /// True if a key comes next, in an object.
    expects_key: bool,
    /// Key of the current member, quotes included, in an object.
    key: Span,
    /// Index of the current item, in an array.
    index: u32,
}

/// A token of the walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A key, quotes included.
    Key(Span),
    /// A string, a number, `true`, `false` or `null`.
    Value(Span),
}

impl<'a> LeafTokens<'a> {
    /// Creates an iterator over the value at a span.
    pub(super) fn new(text: &'a str, value: Span, skips: &'a [Span]) -> Self {
        let end = (value.end as usize).min(text.len());
        Self { text, position: value.start as usize, end, frames: Vec::new(), array_depth: 0, skipped: skips }
    }

    /// Returns the start of the innermost container.
    pub(super) fn container_start(&self) -> Option<u32> {
        self.frames.last().map(|frame| frame.start)
    }

    /// Returns the starts of the objects in arrays around the innermost container, the outermost first.
    pub(super) fn outer_records(&self) -> impl Iterator<Item = u32> {
        let outer = self.frames.split_last().map_or(&[][..], |(_, outer)| outer);
        let pairs = outer.iter().zip(outer.iter().skip(1));
        pairs.filter(|(around, frame)| !around.is_object && frame.is_object).map(|(_, frame)| frame.start)
    }

    /// Returns the current offset.
    pub(super) fn at(&self) -> usize {
        self.position
    }

    /// Returns the names of the members on the path, separated by dots, as in `fields`. Its length is
    /// bounded.
    pub(super) fn field_path(&self) -> String {
        let mut field = String::new();
        for frame in self.frames.iter().take(MAX_POINTER_STEPS).filter(|frame| frame.is_object) {
            if frame.key.len() > MAX_PATH_BYTES {
                break;
            }
            if !field.is_empty() {
                field.push('.');
            }
            unescape_into(frame.key.slice(self.text), &mut field);
            if field.len() > MAX_PATH_BYTES {
                field.truncate(field.floor_char_boundary(MAX_PATH_BYTES));
                break;
            }
        }
        field
    }

    /// Returns the JSON Pointer of the current position without its last `without` steps. Its length is
    /// bounded.
    pub(super) fn pointer(&self, without: usize) -> String {
        let mut path = String::new();
        for frame in self.frames.iter().take(self.frames.len().saturating_sub(without).min(MAX_POINTER_STEPS))
        {
            if frame.key.len() > MAX_PATH_BYTES {
                break;
            }
            let step = if frame.is_object {
                path::step_from_quoted(frame.key.slice(self.text))
            } else {
                frame.index.to_string()
            };
            if path.len() + step.len() > MAX_PATH_BYTES {
                break;
            }
            path.push('/');
            path.push_str(&step);
        }
        path
    }

    /// Returns the number of enclosing containers.
    pub(super) fn depth(&self) -> usize {
        self.frames.len()
    }

    /// Returns the index in the outermost container, if that is an array.
    pub(super) fn outermost_index(&self) -> Option<u32> {
        self.frames.first().filter(|frame| !frame.is_object).map(|frame| frame.index)
    }

    /// Returns the start of the innermost part of a record that is one of several: the object in an array, or the scalar at
    /// `start`. A row is one part. `None` for a value in no array.
    fn element_start(&self, start: u32) -> Option<u32> {
        let innermost = self.frames.last()?;
        if !innermost.is_object {
            return Some(if self.frames.len() > 1 { start } else { innermost.start });
        }
        self.frames.windows(2).rev().find(|pair| !pair[0].is_object).map(|pair| pair[1].start)
    }

    /// Returns the JSON Pointer of that part of a record.
    fn element_pointer(&self) -> String {
        let is_scalar =
            self.frames.len() > 1 && self.frames.last().is_some_and(|innermost| !innermost.is_object);
        self.pointer(usize::from(!is_scalar))
    }

    /// Returns true if any enclosing container is an array.
    pub(super) fn in_array(&self) -> bool {
        self.array_depth > 0
    }
}

impl Iterator for LeafTokens<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        let bytes = self.text.as_bytes();
        while self.position < self.end {
            let start = self.position;
            let last = self.frames.last_mut();
            self.position += 1;
            match bytes[start] {
                b'{' | b'[' => {
                    if let Some(skip) = self.skipped.iter().find(|skip| skip.start as usize == start) {
                        self.position = (skip.end as usize).max(self.position);
                        continue;
                    }
                    let object = bytes[start] == b'{';
                    let key = Span::default();
                    self.array_depth += usize::from(!object);
                    self.frames.push(OpenContainer {
                        start: start as u32,
                        is_object: object,
                        expects_key: object,
                        key,
                        index: 0,
                    });
                }
                b'}' | b']' => {
                    let object = self.frames.pop().is_none_or(|frame| frame.is_object);
                    self.array_depth -= usize::from(!object);
                }
                b',' => {
                    if let Some(frame) = last {
                        frame.expects_key = frame.is_object;
                        frame.index += u32::from(!frame.is_object);
                    }
                }
                b'"' => {
                    self.position = string_end(bytes, start);
                    let span = Span::new(start, self.position);
                    if let Some(frame) = last.filter(|frame| frame.expects_key) {
                        (frame.key, frame.expects_key) = (span, false);
                        return Some(Token::Key(span));
                    }
                    return Some(Token::Value(span));
                }
                b':' | b' ' | b'\n' | b'\r' | b'\t' => {}
                _ => {
                    let scalar =
                        |b: &u8| matches!(b, b'-' | b'+' | b'.' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z');
                    self.position += bytes[self.position..self.end].iter().take_while(|b| scalar(b)).count();
                    return Some(Token::Value(Span::new(start, self.position)));
                }
            }
        }
        None
    }
}

/// Returns the text of a scalar: a string without escapes, other values as written, and empty text for
/// `null`.
pub(super) fn value_text(value: &str) -> Cow<'_, str> {
    match value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(inside) if !inside.contains('\\') => Cow::Borrowed(inside),
        Some(_) => Cow::Owned(unescape(value)),
        None if value == "null" => Cow::Borrowed(""),
        None => Cow::Borrowed(value),
    }
}

/// A match in a record.
#[derive(Debug)]
pub(super) struct RecordMatch {
    /// Dotted path of the field; empty if the record is not an object.
    pub field_path: String,
    /// Column of the match, if the record is an array.
    pub column: Option<u32>,
    /// True if the value is in an array.
    pub in_array: bool,
    /// Pointer from the record to the object or array around the value, if it is in an array.
    pub container_pointer: String,
    /// The value.
    pub value: Span,
    /// Range of the match in the text of the value.
    pub match_range: Range<usize>,
    /// True if the whole value matches.
    pub is_exact: bool,
}

/// The matches in a record.
#[derive(Debug, Default)]
pub(super) struct RecordMatches {
    /// The first of them.
    pub found: Vec<RecordMatch>,
    /// Number of those that are not kept.
    pub further_count: usize,
}

/// Returns the matches in a record: one for what is in no array, and one for each object or scalar in an array. It is the first
/// exact one, or the first. `max`: matches that are kept.
pub(super) fn record_matches(
    text: &str,
    record: Span,
    matcher: &mut Matcher,
    (candidates, max): (&mut Candidates, usize),
    fuel: &mut Fuel<'_>,
) -> Result<RecordMatches, FindError> {
    let mut leaves = LeafTokens::new(text, record, &[]);
    let RecordMatches { mut found, mut further_count } = RecordMatches::default();
    let mut by_element: HashMap<Option<u32>, usize> = HashMap::new();
    let mut last_further = None;
    while let Some(token) = leaves.next() {
        let Token::Value(value) = token else { continue };
        let Some(next) = candidates.next_from(text, value.start as usize, fuel)? else { break };
        if next >= value.end as usize {
            if next >= record.end as usize {
                break;
            }
            continue;
        }
        let element = leaves.element_start(value.start);
        let known = by_element.get(&element).copied();
        if known.is_some_and(|at| found[at].is_exact) || last_further == Some(element) {
            continue;
        }
        let content = value_text(value.slice(text));
        let Some(match_range) = matcher.find(&content, 0, fuel)? else { continue };
        let is_exact = matcher.matches_whole(&content);
        if known.is_none() && found.len() >= max {
            (further_count, last_further) = (further_count + 1, Some(element));
            continue;
        }
        if known.is_some() && !is_exact {
            continue;
        }
        let new = RecordMatch {
            field_path: leaves.field_path(),
            column: leaves.outermost_index(),
            in_array: leaves.in_array(),
            container_pointer: if leaves.in_array() { leaves.element_pointer() } else { String::new() },
            value,
            match_range,
            is_exact,
        };
        if let Some(at) = known {
            found[at] = new;
        } else {
            by_element.insert(element, found.len());
            found.push(new);
        }
    }
    fuel.burn(leaves.at().saturating_sub(record.start as usize) / 2 + 16)?;
    Ok(RecordMatches { found, further_count })
}
