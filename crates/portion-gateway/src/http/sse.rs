//! Server-sent events, byte for byte: what is not changed passes as it came, ids, comments and line ends included.
//!
//! The format is WHATWG HTML, 9.2: fields on lines, an event ends with an empty line; lines end with LF, CRLF or CR.

use std::time::Duration;

use memchr::memchr2;

use crate::frame::replace_line_breaks;

/// A part of a stream, each as the bytes that came: joined they are the stream.
#[derive(Debug, PartialEq, Eq)]
pub enum SseSegment {
    /// Lines that lead to no event: comments, empty lines, and fields without data.
    NonEvent(Vec<u8>),
    /// An event with data.
    Event(SseEvent),
    /// An event over the limit, which was dropped. It had this many bytes.
    TooLarge(u64),
}

/// An event with its data.
#[derive(Debug, PartialEq, Eq)]
pub struct SseEvent {
    raw: Vec<u8>,
    data: Vec<u8>,
}

/// Reads a stream of events.
#[derive(Debug)]
pub struct SseParser {
    /// The lines of the event that is coming.
    buffer: Vec<u8>,
    /// Where in `coming` the line begins that is coming.
    line_start: usize,
    /// Where in `coming` no end of line has been looked for.
    scanned: usize,
    has_data: bool,
    has_fields: bool,
    /// The event is too large; so many of its bytes were dropped.
    dropped_bytes: u64,
    /// The last line ended with a CR: a LF that comes now belongs to it.
    after_cr: bool,
    max_event_bytes: usize,
}

impl SseSegment {
    /// From here on the stream can be resumed after this id; an empty one means that it cannot.
    pub fn id(&self) -> Option<&[u8]> {
        self.field(b"id").filter(|id| !id.contains(&0))
    }

    /// How long a client shall wait before it connects anew.
    pub fn retry(&self) -> Option<Duration> {
        let digits = self.field(b"retry").filter(|value| value.iter().all(u8::is_ascii_digit))?;
        std::str::from_utf8(digits).ok()?.parse().ok().map(Duration::from_millis)
    }

    fn field(&self, wanted: &[u8]) -> Option<&[u8]> {
        match self {
            Self::NonEvent(raw) => last_field(raw, wanted),
            Self::Event(event) => event.field(wanted),
            Self::TooLarge(_) => None,
        }
    }
}

/// What says on a stream that it lives; no client sees it.
pub const PING: &[u8] = b": ping\n\n";

/// An event without data, by whose id a client can come back that has heard nothing yet, after waiting so long.
pub fn encode_priming_event(id: &str, retry: Duration) -> Vec<u8> {
    format!("id: {id}\nretry: {}\ndata: \n\n", retry.as_millis()).into_bytes()
}

/// An event of our own with these data on one line, white space at their end left out.
pub fn encode_event(id: Option<&str>, data: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(data.len() + 64);
    if let Some(id) = id {
        out.extend_from_slice(b"id: ");
        out.extend_from_slice(id.as_bytes());
        out.push(b'\n');
    }
    out.extend_from_slice(b"event: message\n");
    push_data_line(&mut out, data);
    out.extend_from_slice(b"\n\n");
    out
}

/// Appends JSON as one `data` line, its end left out. A client must not have to join lines, and a carriage return
/// would end one.
fn push_data_line(out: &mut Vec<u8>, data: &[u8]) {
    out.extend_from_slice(b"data: ");
    let start = out.len();
    out.extend_from_slice(data.trim_ascii_end());
    replace_line_breaks(&mut out[start..]);
}

impl SseEvent {
    /// What it is an event of: `message` where it does not say.
    pub fn event_type(&self) -> &[u8] {
        self.field(b"event").filter(|kind| !kind.is_empty()).unwrap_or(b"message")
    }

    /// Its data: the values of all its data lines.
    pub fn data(&self) -> &[u8] {
        &self.data
    }

    /// Its id, from which a client may have the stream resumed.
    pub fn id(&self) -> Option<&[u8]> {
        self.field(b"id")
    }

    /// Its data alone.
    pub fn into_data(self) -> Vec<u8> {
        self.data
    }

    /// As it came.
    pub fn into_raw(self) -> Vec<u8> {
        self.raw
    }

    /// The same without data: nothing is heard of it, and its id and `retry` count all the same.
    pub fn without_data(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(64);
        for (line, end) in lines(&self.raw) {
            if parse_field(line).is_none_or(|(name, _)| matches!(name, b"id" | b"retry" | b"")) {
                out.extend_from_slice(line);
                out.extend_from_slice(end);
            }
        }
        out
    }

    /// The same with other data, JSON, on one line; everything else as it came.
    pub fn with_data(&self, data: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(data.len() + 64);
        let mut written = false;
        for (line, end) in lines(&self.raw) {
            if parse_field(line).is_none_or(|(name, _)| name != b"data") {
                out.extend_from_slice(line);
                out.extend_from_slice(end);
            } else if !written {
                written = true;
                push_data_line(&mut out, data);
                out.extend_from_slice(end);
            }
        }
        out
    }

    fn field(&self, wanted: &[u8]) -> Option<&[u8]> {
        last_field(&self.raw, wanted)
    }
}

impl SseParser {
    /// Events of at most `limit` bytes each.
    pub fn new(limit: usize) -> Self {
        Self {
            buffer: Vec::new(),
            line_start: 0,
            scanned: 0,
            has_data: false,
            has_fields: false,
            dropped_bytes: 0,
            after_cr: false,
            max_event_bytes: limit,
        }
    }

    /// Takes what came, and returns what is complete by it.
    pub fn push(&mut self, mut bytes: &[u8]) -> Vec<SseSegment> {
        let mut pieces = Vec::new();
        if self.after_cr && !bytes.is_empty() {
            self.after_cr = false;
            if let Some(rest) = bytes.strip_prefix(b"\n") {
                // It is the second half of an end that was taken for whole.
                bytes = rest;
                if self.buffer.is_empty() && self.dropped_bytes == 0 {
                    pieces.push(SseSegment::NonEvent(b"\n".to_vec()));
                } else if self.dropped_bytes == 0 {
                    self.buffer.push(b'\n');
                    self.line_start = self.buffer.len();
                    self.scanned = self.line_start;
                }
            }
        }
        self.buffer.extend_from_slice(bytes);
        while let Some(at) = memchr2(b'\n', b'\r', &self.buffer[self.scanned..]) {
            let at = self.scanned + at;
            let mut end = at + 1;
            if self.buffer[at] == b'\r' {
                match self.buffer.get(end) {
                    Some(b'\n') => end += 1,
                    Some(_) => {}
                    None => self.after_cr = true,
                }
            }
            pieces.extend(self.end_line(at, end));
        }
        self.scanned = self.buffer.len();
        if self.buffer.len() > self.max_event_bytes {
            self.discard_buffer();
        }
        pieces
    }

    /// What is left where the stream has ended: no event, for none has ended.
    pub fn into_remainder(self) -> Vec<u8> {
        self.buffer
    }

    fn end_line(&mut self, at: usize, end: usize) -> Option<SseSegment> {
        let line = &self.buffer[self.line_start..at];
        let is_empty = line.is_empty() && self.line_start == at;
        if let Some((name, _)) = parse_field(line) {
            self.has_data |= name == b"data";
            self.has_fields = true;
        }
        self.line_start = end;
        self.scanned = end;
        if self.dropped_bytes > 0 {
            let dropped = self.dropped_bytes + end as u64;
            if !is_empty {
                return None;
            }
            self.take_segment(end);
            return Some(SseSegment::TooLarge(dropped));
        }
        // What is no part of an event need not wait for one.
        if !is_empty && self.has_fields {
            return None;
        }
        let has_data = self.has_data;
        let raw = self.take_segment(end);
        Some(if has_data { SseSegment::Event(parse_event(raw)) } else { SseSegment::NonEvent(raw) })
    }

    /// The lines up to `end`; the next event begins there.
    fn take_segment(&mut self, end: usize) -> Vec<u8> {
        let next = self.buffer.split_off(end);
        let raw = std::mem::replace(&mut self.buffer, next);
        (self.line_start, self.scanned, self.has_data, self.has_fields, self.dropped_bytes) =
            (0, 0, false, false, 0);
        raw
    }

    /// Lets go of an event that is too large, but for the line that is coming, as far as it may be an empty one.
    fn discard_buffer(&mut self) {
        self.dropped_bytes += self.buffer.len() as u64;
        let at_start = self.line_start == self.buffer.len();
        self.buffer.clear();
        if !at_start {
            // The line has begun: it is not empty, whatever comes.
            self.buffer.push(b'x');
            self.dropped_bytes -= 1;
        }
        self.line_start = 0;
        self.scanned = self.buffer.len();
    }
}

fn parse_event(raw: Vec<u8>) -> SseEvent {
    let mut data = Vec::new();
    let values = lines(&raw).filter_map(|(line, _)| parse_field(line)).filter(|(name, _)| *name == b"data");
    for (i, (_, value)) in values.enumerate() {
        if i > 0 {
            data.push(b'\n');
        }
        data.extend_from_slice(value);
    }
    SseEvent { raw, data }
}

/// The value of the last field of that name.
fn last_field<'a>(raw: &'a [u8], wanted: &[u8]) -> Option<&'a [u8]> {
    let fields = lines(raw).filter_map(|(line, _)| parse_field(line));
    fields.filter(|(name, _)| *name == wanted).map(|(_, value)| value).last()
}

/// The field of a line; none in comments and empty lines.
fn parse_field(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
    let Some(colon) = memchr::memchr(b':', line) else { return (!line.is_empty()).then_some((line, b"")) };
    let value = &line[colon + 1..];
    (colon > 0).then(|| (&line[..colon], value.strip_prefix(b" ").unwrap_or(value)))
}

/// The lines of whole lines, and the end of each.
fn lines(mut raw: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    std::iter::from_fn(move || {
        if raw.is_empty() {
            return None;
        }
        let at = memchr2(b'\n', b'\r', raw).unwrap_or(raw.len());
        let end = if raw[at..].starts_with(b"\r\n") { at + 2 } else { raw.len().min(at + 1) };
        let (line, rest) = raw.split_at(end);
        raw = rest;
        Some(line.split_at(at))
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::{SseParser, SseSegment};

    fn read(stream: &[u8], cuts: usize, limit: usize) -> Vec<SseSegment> {
        let mut events = SseParser::new(limit);
        let mut pieces: Vec<SseSegment> =
            stream.chunks(cuts.max(1)).flat_map(|part| events.push(part)).collect();
        pieces.push(SseSegment::NonEvent(events.into_remainder()));
        pieces
    }

    /// `expect`: the kind, id and data of each event.
    fn check(stream: &str, expect: &[(&str, Option<&str>, &str)]) {
        for cuts in [1, 2, 3, 7, stream.len()] {
            let pieces = read(stream.as_bytes(), cuts, 1000);
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let events: Vec<_> = pieces
                .iter()
                .filter_map(|piece| match piece {
                    SseSegment::Event(event) => {
                        Some((text(event.event_type()), event.id().map(text), text(event.data())))
                    }
                    _ => None,
                })
                .collect();
            let events: Vec<_> =
                events.iter().map(|(kind, id, data)| (&**kind, id.as_deref(), &**data)).collect();
            assert_eq!(events, expect, "{stream:?} cut every {cuts}");
        }
    }

    #[test]
    fn reads_events() {
        check("data: a\n\n", &[("message", None, "a")]);
        check("id: 1\r\nevent: x\r\ndata:a\r\ndata: b\r\n\r\n", &[("x", Some("1"), "a\nb")]);
        check("data: a\r\rdata: b\r\r", &[("message", None, "a"), ("message", None, "b")]);
        check(": ping\n\nid: 7\ndata: \n\n", &[("message", Some("7"), "")]);
        check("\u{feff}data: a\n\nretry: 5\n\ndata\n\n", &[("message", None, "a"), ("message", None, "")]);
        check("data: never ends\n", &[]);
        check("id: 1\nid: 2\ndata: a\n\n", &[("message", Some("2"), "a")]);
    }

    #[test]
    fn what_resuming_needs_stands_beside_the_data_or_alone() {
        let check = |stream: &str, id: Option<&str>, retry: Option<u64>| {
            let pieces = read(stream.as_bytes(), 100, 1000);
            assert_eq!(pieces[0].id(), id.map(str::as_bytes), "{stream:?}");
            assert_eq!(pieces[0].retry(), retry.map(Duration::from_millis), "{stream:?}");
        };
        check("id: 7\ndata: a\n\n", Some("7"), None);
        check("id: 7\nretry: 250\n\n", Some("7"), Some(250));
        check("retry:0\n\n", None, Some(0));
        check("retry: 1.5\nid\n\n", Some(""), None);
        check("retry: -1\nid: a\0b\n\n", None, None);
        check("retry: \n\n", None, None);
        check("retry: 99999999999999999999\n\n", None, None);
        check(": comment\n", None, None);
    }

    #[test]
    fn what_is_written_is_read_again() {
        let check = |id: Option<&str>, data: &str, expect: &str| {
            let stream = super::encode_event(id, data.as_bytes());
            let Some(SseSegment::Event(event)) = read(&stream, stream.len(), 1000).into_iter().next() else {
                panic!("{data:?} is no event")
            };
            assert_eq!((event.event_type(), event.id()), (&b"message"[..], id.map(str::as_bytes)));
            assert_eq!(String::from_utf8_lossy(event.data()), expect);
        };
        check(None, "{}\r", "{}");
        check(Some("3-1"), "{\r\n\"a\":\r1\n}", "{  \"a\": 1 }");
        check(Some("3-0"), "", "");
    }

    #[test]
    fn a_comment_does_not_wait_for_an_event() {
        assert_eq!(SseParser::new(100).push(b": ping\r\n"), [SseSegment::NonEvent(b": ping\r\n".to_vec())]);
    }

    #[test]
    fn other_data_leave_the_rest_as_it_was() {
        let stream = b": c\r\nid:  1\r\ndata: a\r\nx: y\r\ndata: b\r\nretry: 3\r\n\r\n";
        let pieces = read(stream, 100, 1000);
        let SseSegment::Event(event) = &pieces[1] else { panic!("{pieces:?}") };
        let expect = "id:  1\r\ndata: new line\r\nx: y\r\nretry: 3\r\n\r\n";
        assert_eq!(String::from_utf8_lossy(&event.with_data(b"new\nline")), expect);
    }

    #[test]
    fn an_event_over_the_limit_is_dropped_and_the_next_one_read() {
        let stream = format!("data: {}\nid: 3\n\ndata: b\n\n", "a".repeat(500));
        for cuts in [1, 2, 3, 50, 99] {
            let pieces = read(stream.as_bytes(), cuts, 100);
            let dropped = stream.len() - "data: b\n\n".len();
            assert_eq!(pieces[0], SseSegment::TooLarge(dropped as u64), "{cuts}");
            assert!(matches!(&pieces[1], SseSegment::Event(event) if event.data() == b"b"), "{pieces:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn pieces_joined_are_the_stream(stream in "(data|id|:|a|\n|\r|\r\n| |é){0,60}", cuts in 1..9usize) {
            let mut joined = Vec::new();
            for piece in read(stream.as_bytes(), cuts, 1000) {
                match piece {
                    SseSegment::NonEvent(raw) => joined.extend(raw),
                    SseSegment::Event(event) => joined.extend(event.into_raw()),
                    SseSegment::TooLarge(_) => prop_assert!(false, "nothing is that large"),
                }
            }
            prop_assert_eq!(joined, stream.as_bytes());
        }

        #[test]
        fn cuts_make_no_difference(stream in "(data:a|data|id:1|:c|\n|\r\n){0,40}", cuts in 1..9usize) {
            let events = |cuts| {
                let pieces = read(stream.as_bytes(), cuts, 1000).into_iter();
                let events = pieces.filter_map(|piece| match piece {
                    SseSegment::Event(event) => Some((event.id().map(<[u8]>::to_vec), event.data().to_vec())),
                    _ => None,
                });
                events.collect::<Vec<_>>()
            };
            prop_assert_eq!(events(cuts), events(1000));
        }
    }
}
