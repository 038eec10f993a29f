//! Newline framing, the way MCP speaks over stdio: one message, one line.
//!
//! A message is kept as the bytes that came. One that outgrows the limit is let go while it is still
//! arriving: only its id is remembered, so that whoever waits for it can be told, and the stream goes
//! on with the next line. Reading is blocking on purpose: a thread that sleeps in `read` hands a small
//! message on without waking anybody else, which is what keeps the added latency in microseconds.

mod line;
mod sniff;

use std::io::{self, Read};

use memchr::memchr;

pub(crate) use line::unbreak;
use sniff::Sniffer;

/// How much is read at once. Measured best between 256 and 512 KiB: large enough for few calls on a
/// 1 MiB pipe, small enough to stay in the second-level cache.
const SCRATCH_BYTES: usize = 256 * 1024;

/// What some programs write before UTF-8, which is none of a message.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// One line of the stream.
#[derive(Debug, PartialEq, Eq)]
pub enum Frame {
    /// A message within the limit, without its newline (a `\r` before it stays). There is room for
    /// the newline in the vector, so that relaying it does not move it.
    Message(Vec<u8>),
    /// A message over the limit: dropped, but for what an answer needs.
    TooLarge {
        /// The raw JSON text of the top-level `id`, if there was one of sane length.
        id: Option<Box<str>>,
        /// Whether there was a top-level `method`, so a request or notification, not an answer.
        has_method: bool,
        /// Its length without the newline.
        bytes: u64,
    },
}

/// The lines of a byte stream, blank ones skipped. A last line without newline counts. The first
/// error ends the stream.
pub struct Frames<R> {
    source: R,
    limit: usize,
    /// Made when it is needed first.
    scratch: Vec<u8>,
    scratch_bytes: usize,
    /// What of `scratch` has been read and not yet been handed out.
    fresh: std::ops::Range<usize>,
    over: bool,
}

impl<R: Read> Frames<R> {
    /// Frames of at most `limit` bytes each.
    pub fn new(source: R, limit: usize) -> Self {
        let (scratch, scratch_bytes) = (Vec::new(), SCRATCH_BYTES);
        Self { source, limit, scratch, scratch_bytes, fresh: 0..0, over: false }
    }

    /// The same, reading at most `bytes` at once: for one of many streams that are idle most of the time.
    #[must_use]
    pub fn in_sips_of(self, bytes: usize) -> Self {
        Self { scratch_bytes: bytes, ..self }
    }

    fn frame(&mut self) -> io::Result<Option<Frame>> {
        let mut line = Line::Kept(Vec::new());
        while !self.over {
            let fresh = &self.scratch[self.fresh.clone()];
            if let Some(at) = memchr(b'\n', fresh) {
                line = line.grown(&fresh[..at], self.limit);
                self.fresh.start += at + 1;
                if let Some(frame) = line.ended() {
                    return Ok(Some(frame));
                }
                line = Line::Kept(Vec::new());
            } else {
                line = line.grown(fresh, self.limit);
                self.refill()?;
            }
        }
        Ok(line.ended())
    }

    fn refill(&mut self) -> io::Result<()> {
        self.fresh = 0..0;
        if self.scratch.is_empty() {
            self.scratch = vec![0; self.scratch_bytes];
        }
        loop {
            match self.source.read(&mut self.scratch) {
                Ok(read) => {
                    self.fresh.end = read;
                    self.over = read == 0;
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.over = true;
                    return Err(error);
                }
            }
        }
    }
}

impl<R: Read> Iterator for Frames<R> {
    type Item = io::Result<Frame>;

    fn next(&mut self) -> Option<Self::Item> {
        self.frame().transpose()
    }
}

/// Takes a byte order mark off the beginning of a message.
pub(crate) fn without_byte_order_mark(line: &mut Vec<u8>) {
    if line.starts_with(BYTE_ORDER_MARK) {
        line.drain(..BYTE_ORDER_MARK.len());
    }
}

/// The id of a message that may be no JSON, and whether it has a method.
pub(crate) fn sniffed(line: &[u8]) -> (Option<Box<str>>, bool) {
    let mut sniffer = Sniffer::default();
    sniffer.feed(line);
    sniffer.found()
}

/// A line under way.
enum Line {
    Kept(Vec<u8>),
    Dropped { sniffer: Box<Sniffer>, bytes: u64 },
}

impl Line {
    fn grown(self, piece: &[u8], limit: usize) -> Self {
        match self {
            Self::Kept(mut line) if line.len() + piece.len() <= limit => {
                make_room(&mut line, piece.len(), limit);
                line.extend_from_slice(piece);
                Self::Kept(line)
            }
            Self::Kept(line) => {
                let mut sniffer = Box::new(Sniffer::default());
                sniffer.feed(&line);
                sniffer.feed(piece);
                Self::Dropped { sniffer, bytes: (line.len() + piece.len()) as u64 }
            }
            Self::Dropped { mut sniffer, bytes } => {
                sniffer.feed(piece);
                Self::Dropped { sniffer, bytes: bytes + piece.len() as u64 }
            }
        }
    }

    fn ended(self) -> Option<Frame> {
        match self {
            Self::Kept(line) if line.iter().all(u8::is_ascii_whitespace) => None,
            Self::Kept(mut line) => {
                without_byte_order_mark(&mut line);
                line.shrink_to(line.len() + 1);
                Some(Frame::Message(line))
            }
            Self::Dropped { sniffer, bytes } => {
                let (id, has_method) = sniffer.found();
                Some(Frame::TooLarge { id, has_method, bytes })
            }
        }
    }
}

/// Doubles, as a vector would, but never past the limit, and leaves a place for the newline.
fn make_room(line: &mut Vec<u8>, more: usize, limit: usize) {
    let need = line.len() + more + 1;
    if line.capacity() < need {
        let want = (2 * line.len()).min(limit + 1).max(need);
        line.reserve_exact(want - line.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Hands out at most `step` bytes a read, so that every boundary is met.
    struct Drip<'a>(&'a [u8], usize);

    impl Read for Drip<'_> {
        fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
            let n = self.0.len().min(self.1).min(buf.len());
            buf[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(n)
        }
    }

    fn frames(input: &[u8], step: usize, limit: usize) -> Vec<Frame> {
        Frames::new(Drip(input, step), limit).map(|frame| frame.expect("drip never fails")).collect()
    }

    fn message(text: &str) -> Frame {
        Frame::Message(text.as_bytes().to_vec())
    }

    fn too_large(id: Option<&str>, has_method: bool, bytes: u64) -> Frame {
        Frame::TooLarge { id: id.map(Into::into), has_method, bytes }
    }

    fn check(input: &str, expect: &[Frame]) {
        for step in 1..=input.len().max(1) {
            assert_eq!(frames(input.as_bytes(), step, 16), expect, "{input:?} in steps of {step}");
        }
    }

    #[test]
    fn lines() {
        check("", &[]);
        check("\n \r\n\n", &[]);
        check("{}\n{}\n", &[message("{}"), message("{}")]);
        check("{}\r\n\n[]", &[message("{}\r"), message("[]")]);
        check("\u{feff}{}\n\u{feff}[]", &[message("{}"), message("[]")]);
        check("0123456789abcdef\nx", &[message("0123456789abcdef"), message("x")]);
    }

    #[test]
    fn too_large_lines_are_let_go_and_the_stream_lives_on() {
        check("0123456789abcdefg\nx\n", &[too_large(None, false, 17), message("x")]);
        check("{\"result\":\"xxxxxxxx\",\"id\":7}\n{}\n", &[too_large(Some("7"), false, 28), message("{}")]);
        check("{\"method\":\"m\",\"id\":\"a\\\"b\"}", &[too_large(Some("\"a\\\"b\""), true, 26)]);
        check("{\"id\":1,\"result\":\"cut off", &[too_large(Some("1"), false, 25)]);
    }

    #[test]
    fn a_message_has_room_for_its_newline() {
        for length in [1, 16, SCRATCH_BYTES, 3 * SCRATCH_BYTES + 1] {
            let mut input = vec![b'x'; length];
            input.push(b'\n');
            let Some(Frame::Message(line)) = frames(&input, usize::MAX, 1 << 20).pop() else {
                panic!("{length} bytes are within the limit")
            };
            assert!(line.len() == length && line.capacity() > length);
        }
    }

    proptest! {
        #[test]
        fn lines_joined_are_the_stream(
            lines in prop::collection::vec("[ -~]{1,40}x", 0..20), step in 1_usize..50
        ) {
            let input: String = lines.iter().flat_map(|line| [line, "\n"]).collect();
            let expect: Vec<_> = lines.iter().map(|line| message(line)).collect();
            prop_assert_eq!(frames(input.as_bytes(), step, 41), expect);
        }

        #[test]
        fn any_bytes_in_any_steps_give_the_same_frames(
            input in prop::collection::vec(prop_oneof![Just(b'\n'), Just(b'"'), Just(b'{'), any::<u8>()], 0..400),
            step in 1_usize..50, limit in 0_usize..60,
        ) {
            prop_assert_eq!(frames(&input, step, limit), frames(&input, usize::MAX, limit));
        }
    }
}
