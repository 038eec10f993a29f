//! Every plain value inside a JSON value, with the way to it, however deep.

use crate::pointer;
use crate::scan::{after_string, decode};
use crate::span::Span;

/// Steps of a path that are told; what lies deeper is told of by what it lies in.
const STEPS: usize = 48;
/// Bytes of a path that are told, likewise.
const PATH: usize = 400;

/// A walk over the plain values and the keys of valid JSON, without recursion.
#[derive(Debug)]
pub(super) struct Leaves<'a> {
    text: &'a str,
    at: usize,
    end: usize,
    frames: Vec<Frame>,
    /// How many of those are arrays.
    arrays: usize,
    /// Containers that are passed over.
    skips: &'a [Span],
}

#[derive(Clone, Copy, Debug)]
struct Frame {
    /// Where the container begins.
    start: u32,
    object: bool,
    /// Whether a key comes next, in an object.
    key_next: bool,
    /// The key of the member, quotes included, in an object.
    key: Span,
    /// The index of the item, in an array.
    index: u32,
}

/// What a walk comes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A key, quotes included.
    Key(Span),
    /// A string, a number, `true`, `false` or `null`.
    Value(Span),
}

impl<'a> Leaves<'a> {
    /// A walk over the value at a span.
    pub(super) fn of(text: &'a str, value: Span, skips: &'a [Span]) -> Self {
        let end = (value.end as usize).min(text.len());
        Self { text, at: value.start as usize, end, frames: Vec::new(), arrays: 0, skips }
    }

    /// Where the innermost container begins.
    pub(super) fn container(&self) -> Option<u32> {
        self.frames.last().map(|frame| frame.start)
    }

    /// Where the walk is.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// Names of members on the way to here, dots between, as `fields` takes them; told no further than bounded.
    pub(super) fn field(&self) -> String {
        let mut field = String::new();
        for frame in self.frames.iter().take(STEPS).filter(|frame| frame.object) {
            if frame.key.len() > PATH {
                break;
            }
            if !field.is_empty() {
                field.push('.');
            }
            decode(frame.key.of(self.text), &mut field);
            if field.len() > PATH {
                field.truncate(field.floor_char_boundary(PATH));
                break;
            }
        }
        field
    }

    /// The way to here, a JSON Pointer, without the last so many steps, and no further than bounded.
    pub(super) fn pointer(&self, without: usize) -> String {
        let mut path = String::new();
        for frame in self.frames.iter().take(self.frames.len().saturating_sub(without).min(STEPS)) {
            if frame.key.len() > PATH {
                break;
            }
            let step =
                if frame.object { pointer::step(frame.key.of(self.text)) } else { frame.index.to_string() };
            if path.len() + step.len() > PATH {
                break;
            }
            path.push('/');
            path.push_str(&step);
        }
        path
    }

    /// How many containers there are around here.
    pub(super) fn depth(&self) -> usize {
        self.frames.len()
    }

    /// The item of the outermost array this is in, where that is outermost of all.
    pub(super) fn first_index(&self) -> Option<u32> {
        self.frames.first().filter(|frame| !frame.object).map(|frame| frame.index)
    }

    /// Whether some of the containers around here are arrays.
    pub(super) fn in_array(&self) -> bool {
        self.arrays > 0
    }
}

impl Iterator for Leaves<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        let bytes = self.text.as_bytes();
        while self.at < self.end {
            let start = self.at;
            let last = self.frames.last_mut();
            self.at += 1;
            match bytes[start] {
                b'{' | b'[' => {
                    if let Some(skip) = self.skips.iter().find(|skip| skip.start as usize == start) {
                        self.at = (skip.end as usize).max(self.at);
                        continue;
                    }
                    let object = bytes[start] == b'{';
                    let key = Span::default();
                    self.arrays += usize::from(!object);
                    self.frames.push(Frame { start: start as u32, object, key_next: object, key, index: 0 });
                }
                b'}' | b']' => {
                    let object = self.frames.pop().is_none_or(|frame| frame.object);
                    self.arrays -= usize::from(!object);
                }
                b',' => {
                    if let Some(frame) = last {
                        frame.key_next = frame.object;
                        frame.index += u32::from(!frame.object);
                    }
                }
                b'"' => {
                    self.at = after_string(bytes, start);
                    let span = Span::new(start, self.at);
                    if let Some(frame) = last.filter(|frame| frame.key_next) {
                        (frame.key, frame.key_next) = (span, false);
                        return Some(Token::Key(span));
                    }
                    return Some(Token::Value(span));
                }
                b':' | b' ' | b'\n' | b'\r' | b'\t' => {}
                _ => {
                    let scalar =
                        |b: &u8| matches!(b, b'-' | b'+' | b'.' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z');
                    self.at += bytes[self.at..self.end].iter().take_while(|b| scalar(b)).count();
                    return Some(Token::Value(Span::new(start, self.at)));
                }
            }
        }
        None
    }
}
