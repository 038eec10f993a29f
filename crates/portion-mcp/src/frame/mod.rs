//! Splits byte streams into messages by newlines, as MCP over stdio does.
//!
//! A message keeps its bytes. One over the limit is dropped while it arrives: only its id is kept, or those of a batch, so that each
//! request can be answered with an error, and the stream continues with the next line. Reading is blocking on purpose: a thread that blocks in `read` forwards a small
//! message without waking another thread, which keeps the added latency in microseconds.
//!
//! ```
//! use portion_mcp::frame::{Frame, FrameReader};
//!
//! let mut frames = FrameReader::new(&b"{\"id\":1}\n{\"id\":2}\n"[..], 1024);
//! assert_eq!(frames.next().transpose()?, Some(Frame::Message(b"{\"id\":1}".to_vec())));
//! # Ok::<(), std::io::Error>(())
//! ```

mod id_scanner;
#[cfg(test)]
mod tests;

use std::io::{self, Read};

use id_scanner::IdScanner;
use memchr::{memchr, memchr2};

/// Bytes read at once. Measured best between 256 and 512 KiB: large enough for few calls on a 1 MiB pipe, small
/// enough to stay in the second-level cache.
const DEFAULT_READ_CHUNK: usize = 256 * 1024;

/// Largest number of messages in a batch: each is answered by itself, and the responses form one message again.
pub(crate) const MAX_BATCH_MESSAGES: usize = 1000;

/// Byte order mark that some programs write before UTF-8; it is not part of a message.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// One line of the stream.
#[derive(Debug, PartialEq, Eq)]
pub enum Frame {
    /// A message within the limit, without its newline (a `\r` before it stays). The vector has spare capacity for the
    /// newline, so that appending it does not reallocate.
    Message(Vec<u8>),
    /// A line over the limit, which was dropped except for what responses need.
    TooLarge(DroppedLine),
}

/// A message over the limit, or a batch, without its content.
#[derive(Debug, PartialEq, Eq)]
pub struct DroppedLine {
    /// Its requests and responses whose ids were found and not too long, as far as there was room for them.
    pub messages: Vec<DroppedMessage>,
    /// True if there may be a request that is not among `messages`.
    pub has_unidentified: bool,
    /// True if the line is an array.
    pub is_batch: bool,
    /// Length without the newline.
    pub bytes: u64,
}

/// A request or a response of a dropped line.
#[derive(Debug, PartialEq, Eq)]
pub struct DroppedMessage {
    /// Raw JSON text of its `id`.
    pub id: Box<str>,
    /// True if it has a `method`: it is a request, not a response.
    pub has_method: bool,
}

impl DroppedLine {
    /// Returns a line of responses to the requests with these raw ids.
    pub fn of_responses(ids: impl IntoIterator<Item = Box<str>>, bytes: u64) -> Self {
        let messages: Vec<_> = ids.into_iter().map(|id| DroppedMessage { id, has_method: false }).collect();
        let is_batch = messages.len() > 1;
        Self { messages, has_unidentified: false, is_batch, bytes }
    }

    /// Returns true if the line has a response to the request with this id, in the same spelling.
    pub fn has_response_to(&self, raw_id: &str) -> bool {
        self.messages.iter().any(|message| !message.has_method && *message.id == *raw_id)
    }
}

/// Iterator over the lines of a byte stream. Blank lines are skipped, a last line without newline counts, and the
/// first error ends the stream.
pub struct FrameReader<R> {
    source: R,
    max_frame_bytes: usize,
    /// Allocated at the first read.
    buffer: Vec<u8>,
    read_chunk: usize,
    /// Part of `buffer` that has been read and not yet been returned.
    unread_range: std::ops::Range<usize>,
    is_over: bool,
}

impl<R: Read> FrameReader<R> {
    /// Creates a reader of frames of at most `limit` bytes.
    pub fn new(source: R, limit: usize) -> Self {
        let (buffer, read_chunk) = (Vec::new(), DEFAULT_READ_CHUNK);
        Self { source, max_frame_bytes: limit, buffer, read_chunk, unread_range: 0..0, is_over: false }
    }

    /// Reads at most `bytes` at once: saves memory if there are many streams and most are idle.
    #[must_use]
    pub fn with_read_chunk(self, bytes: usize) -> Self {
        Self { read_chunk: bytes, ..self }
    }

    fn read_frame(&mut self) -> io::Result<Option<Frame>> {
        let mut line = PartialLine::Buffered(Vec::new());
        while !self.is_over {
            let fresh = &self.buffer[self.unread_range.clone()];
            if let Some(at) = memchr(b'\n', fresh) {
                line = line.append(&fresh[..at], self.max_frame_bytes);
                self.unread_range.start += at + 1;
                if let Some(frame) = line.finish() {
                    return Ok(Some(frame));
                }
                line = PartialLine::Buffered(Vec::new());
            } else {
                line = line.append(fresh, self.max_frame_bytes);
                self.refill()?;
            }
        }
        Ok(line.finish())
    }

    fn refill(&mut self) -> io::Result<()> {
        self.unread_range = 0..0;
        if self.buffer.is_empty() {
            self.buffer = vec![0; self.read_chunk];
        }
        loop {
            match self.source.read(&mut self.buffer) {
                Ok(read) => {
                    self.unread_range.end = read;
                    self.is_over = read == 0;
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.is_over = true;
                    return Err(error);
                }
            }
        }
    }
}

impl<R: Read> Iterator for FrameReader<R> {
    type Item = io::Result<Frame>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read_frame().transpose()
    }
}

/// Removes a byte order mark from the beginning of a message.
pub(crate) fn strip_byte_order_mark(line: &mut Vec<u8>) {
    if line.starts_with(BYTE_ORDER_MARK) {
        line.drain(..BYTE_ORDER_MARK.len());
    }
}

/// Replaces raw line breaks by spaces, in place, and returns their number.
pub(crate) fn replace_line_breaks(mut message: &mut [u8]) -> usize {
    let mut breaks = 0;
    while let Some(at) = memchr2(b'\n', b'\r', message) {
        message[at] = b' ';
        breaks += 1;
        message = &mut message[at + 1..];
    }
    breaks
}

/// Returns the raw id of a message that may not be JSON, and true if it has a method.
pub(crate) fn scan_id(line: &[u8]) -> (Option<Box<str>>, bool) {
    let mut scanner = IdScanner::default();
    scanner.feed(line);
    scanner.finish_single()
}

/// Returns all raw ids of a message that may not be JSON, in order, and true if it has a method.
fn scan_ids(line: &[u8]) -> (Vec<Box<str>>, bool) {
    let mut scanner = IdScanner::default();
    scanner.feed(line);
    scanner.finish_single_with_all_ids()
}

/// A line that is still being read.
enum PartialLine {
    Buffered(Vec<u8>),
    TooLarge { id_scanner: Box<IdScanner>, bytes: u64 },
}

impl PartialLine {
    /// Appends a piece, and drops a line that exceeds `limit` bytes.
    fn append(self, piece: &[u8], limit: usize) -> Self {
        match self {
            Self::Buffered(mut line) if line.len() + piece.len() <= limit => {
                reserve_line(&mut line, piece.len(), limit);
                line.extend_from_slice(piece);
                Self::Buffered(line)
            }
            Self::Buffered(line) => {
                let mut id_scanner = Box::<IdScanner>::default();
                id_scanner.feed(&line);
                id_scanner.feed(piece);
                Self::TooLarge { id_scanner, bytes: (line.len() + piece.len()) as u64 }
            }
            Self::TooLarge { mut id_scanner, bytes } => {
                id_scanner.feed(piece);
                Self::TooLarge { id_scanner, bytes: bytes + piece.len() as u64 }
            }
        }
    }

    fn finish(self) -> Option<Frame> {
        let mut line = match self {
            Self::Buffered(line) => line,
            Self::TooLarge { id_scanner, bytes } => return Some(Frame::TooLarge(id_scanner.finish(bytes))),
        };
        if line.iter().all(u8::is_ascii_whitespace) {
            return None;
        }
        strip_byte_order_mark(&mut line);
        line.shrink_to(line.len() + 1);
        Some(Frame::Message(line))
    }
}

/// Doubles the capacity, as a vector would, but never past the limit, and reserves a byte for the newline.
fn reserve_line(line: &mut Vec<u8>, more: usize, limit: usize) {
    let need = line.len() + more + 1;
    if line.capacity() < need {
        let want = (2 * line.len()).min(limit + 1).max(need);
        line.reserve_exact(want - line.len());
    }
}

/// Yields the ids of each member of a line that may be a response, the last id first. Of several ids, the last that is
/// pending counts. The line is read as [`batch_members`] reads it.
pub(crate) fn response_ids(line: &[u8]) -> impl Iterator<Item = Vec<Box<str>>> {
    batch_members(line).filter_map(|member| match scan_ids(member) {
        (mut ids, false) => {
            ids.reverse();
            Some(ids)
        }
        _ => None,
    })
}

/// Yields the objects of a line that is an array, or the line itself if it is not. Text that is not JSON is read as far as
/// possible, in time proportional to the line.
pub(super) fn batch_members(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    let content = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line).trim_ascii_start();
    let items = content.strip_prefix(b"[");
    let mut rest = items.unwrap_or_default();
    let single = if items.is_none() { Some(line) } else { None };
    single.into_iter().chain(std::iter::from_fn(move || next_object(&mut rest)))
}

/// Returns the next object among the items of an array, and removes it with all before it.
fn next_object<'l>(items: &mut &'l [u8]) -> Option<&'l [u8]> {
    loop {
        let text = *items;
        let start = text.iter().position(|byte| matches!(byte, b'{' | b'[' | b'"' | b']'))?;
        let value = &text[start..];
        if value[0] == b']' {
            return None;
        }
        let (value, after) = value.split_at(value_len(value));
        *items = after;
        if value[0] == b'{' {
            return Some(value);
        }
    }
}

/// Returns the length of the string, object or array at the start of a text. One that is cut off ends with the text.
fn value_len(text: &[u8]) -> usize {
    let (mut at, mut depth) = (0, 0_usize);
    while let Some(byte) = text.get(at) {
        at += if *byte == b'"' { string_len(&text[at..]) } else { 1 };
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

/// Returns the length of the string at the start of a text, with its quotes.
fn string_len(text: &[u8]) -> usize {
    let mut at = 1;
    while let Some(len) = memchr2(b'"', b'\\', &text[at..]) {
        at += len;
        if text[at] == b'"' {
            return at + 1;
        }
        at = (at + 2).min(text.len());
    }
    text.len()
}

#[cfg(test)]
mod batch_members_tests {
    use proptest::prelude::*;

    use super::{batch_members, response_ids};

    fn check(line: &str, expect: &[&str]) {
        let members: Vec<_> = batch_members(line.as_bytes()).map(String::from_utf8_lossy).collect();
        assert_eq!(members, expect, "{line}");
    }

    #[test]
    fn a_line_that_is_no_array_is_its_only_member() {
        for line in ["", "{}", r#"{"a":[{"b":1}]}"#, "garbage [{}]", "\u{feff}{}", "7"] {
            check(line, &[line]);
        }
    }

    #[test]
    fn members_without_a_method_are_responses_by_their_ids() {
        let check_ids = |line: &str, expect: &[&[&str]]| {
            let ids: Vec<Vec<String>> = response_ids(line.as_bytes())
                .map(|ids| ids.iter().map(ToString::to_string).collect())
                .collect();
            assert_eq!(ids, expect, "{line}");
        };
        check_ids("garbage", &[&[]]);
        check_ids("[]", &[]);
        check_ids(r#"{"id":7,"method":"ping"}"#, &[]);
        check_ids(r#"{"id":1,"result":NaN,"id":"b"}"#, &[&["\"b\"", "1"]]);
        check_ids(r#"[{"id":1},{"id":2,"method":"ping"},{"id":3,"id":4},5]"#, &[&["1"], &["4", "3"]]);
    }

    #[test]
    fn objects_of_arrays_are_members() {
        check("[]", &[]);
        check("[{}]", &["{}"]);
        check(r#" [ {"a":1} , 5, {"b":[{"c":{}}]},null ] "#, &[r#"{"a":1}"#, r#"{"b":[{"c":{}}]}"#]);
        check("\u{feff}[{\"a\":1}]", &["{\"a\":1}"]);
        // Brackets in strings and in other arrays do not count.
        check(r#"["{", "\"{", [{"a":1}], {"a":"}\"]\\"},{}]"#, &[r#"{"a":"}\"]\\"}"#, "{}"]);
        check(r#"[{"a":1}] {"b":1}"#, &[r#"{"a":1}"#]);
    }

    #[test]
    fn arrays_that_are_not_json_are_read_as_far_as_possible() {
        check(r#"[{"a":NaN},{"b":1}"#, &[r#"{"a":NaN}"#, r#"{"b":1}"#]);
        check(r#"[{"a":1}{"b":{"#, &[r#"{"a":1}"#, r#"{"b":{"#]);
        check(r#"[{"a":"x"#, &[r#"{"a":"x"#]);
        check(r#"[{"a":"x\"#, &[r#"{"a":"x\"#]);
        check(r#"["x\"#, &[]);
        check("[}{}", &["{}"]);
        check("[", &[]);
    }

    #[test]
    fn deep_and_long_lines_need_no_stack() {
        let deep = "[".repeat(1_000_000);
        assert_eq!(batch_members(deep.as_bytes()).count(), 0);
        let long = format!("[{}", "{},".repeat(300_000));
        assert_eq!(batch_members(long.as_bytes()).count(), 300_000);
        let cut = format!("[{}", "{".repeat(1_000_000));
        assert_eq!(batch_members(cut.as_bytes()).count(), 1);
    }

    proptest! {
        #[test]
        fn members_of_a_batch_are_found(
            texts in prop::collection::vec("[ -~é]{0,12}", 0..8), gap in prop::sample::select(vec![",", " , ", ",5,", ",\"{\","]),
        ) {
            let objects: Vec<String> =
                texts.iter().map(|text| serde_json::json!({ "a": text, "b": [{ "c": text }] }).to_string()).collect();
            let line = format!("[{}]", objects.join(gap));
            let members: Vec<_> = batch_members(line.as_bytes()).map(String::from_utf8_lossy).collect();
            prop_assert_eq!(members, objects);
        }

        #[test]
        fn members_are_parts_of_the_line(line in prop::collection::vec(prop::sample::select(b"[]{}\",\\a".to_vec()), 0..60)) {
            let members: Vec<&[u8]> = batch_members(&line).collect();
            prop_assert!(members.iter().map(|member| member.len()).sum::<usize>() <= line.len());
            let is_batch = line.trim_ascii_start().starts_with(b"[");
            let are_objects = members.iter().all(|member| member.starts_with(b"{"));
            prop_assert!(!is_batch || are_objects);
        }
    }
}
