//! Finds boundaries in JSON lines, and in JSON that is invalid because of surrounding text or a missing
//! end. A unit is a line; a line too long for one chunk is split between its values.

use std::ops::Range;

use super::{Boundary, BoundaryLevel, ChunkWindow, Chunker, TextKind, TextSample};

/// Minimum share of lines that are one value each, in per cent.
const MIN_VALUES_PERCENT: usize = 90;
/// Length in bytes from which a line need not end like a value, because its end may be missing.
const LONG_LINE_BYTES: usize = 400;
/// Keys of log entries, which have a chunker of their own.
const LOG_KEYS: &[&str] = &["ts", "t", "time", "timestamp", "@timestamp", "date", "level", "lvl", "severity"];
/// Bytes of a line that are searched for those keys.
const MAX_SCANNED_BYTES: usize = 300;

/// Cuts between values.
#[derive(Debug)]
pub(super) struct JsonChunker;

impl Chunker for JsonChunker {
    fn kind(&self) -> TextKind {
        TextKind::Json
    }

    fn matches(&self, sample: &TextSample) -> bool {
        let count = |is: fn(&str) -> bool| sample.lines().filter(|line| is(line.trimmed())).count();
        let lines = sample.lines().count();
        lines > 0 && count(begins_value) * 100 >= lines * MIN_VALUES_PERCENT && count(is_stamped) * 2 < lines
    }

    fn boundaries(&self, window: &ChunkWindow) -> Vec<Boundary> {
        let mut boundaries = Vec::new();
        for line in window.lines() {
            if !line.is_blank() {
                boundaries.push(Boundary { offset: line.start, level: BoundaryLevel::Unit });
            }
            mark_values(window.text, line.start..line.start + line.text.len(), &mut boundaries);
        }
        boundaries
    }
}

/// Matches the start of a container: closed on the line, or longer than [`LONG_LINE_BYTES`].
fn begins_value(content: &str) -> bool {
    let inner = content.strip_prefix(['{', '[']).map(str::trim_start);
    let begun =
        inner.is_some_and(|inner| inner.starts_with(['"', '{', '[', ']', '}', '-']) || starts_number(inner));
    begun && (content.ends_with(['}', ']', ',']) || content.len() > LONG_LINE_BYTES)
}

fn starts_number(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit()) && text.contains(',')
}

fn is_stamped(content: &str) -> bool {
    let head = &content[..content.floor_char_boundary(MAX_SCANNED_BYTES)];
    head.split(['{', ','])
        .filter_map(|member| member.trim_start().strip_prefix('"')?.split_once('"'))
        .any(|(key, rest)| LOG_KEYS.contains(&key) && rest.trim_start().starts_with(':'))
}

/// Adds a boundary after each comma of a line; outer ones are coarser.
fn mark_values(text: &str, range: Range<usize>, boundaries: &mut Vec<Boundary>) {
    let bytes = &text.as_bytes()[range.clone()];
    let (mut depth, mut quoted, mut escaped) = (0usize, false, false);
    for (index, byte) in bytes.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b',' => {
                let gap = bytes[index + 1..].iter().take_while(|b| matches!(b, b' ' | b'\t')).count();
                boundaries.push(Boundary {
                    offset: range.start + index + 1 + gap,
                    level: BoundaryLevel::part(depth),
                });
            }
            _ => {}
        }
    }
}
