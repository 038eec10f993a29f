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

mod batch_members;
mod id_scanner;
#[cfg(test)]
mod tests;

use std::io::{self, Read};

pub(crate) use batch_members::response_ids;
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
    pub(crate) fn of_responses(ids: impl IntoIterator<Item = Box<str>>, bytes: u64) -> Self {
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
