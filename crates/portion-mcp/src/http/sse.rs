//! Parses and writes server-sent events. Unchanged parts keep their bytes, including ids, comments and line ends.
//!
//! Format: WHATWG HTML, 9.2. Each field is a line, an empty line ends an event; lines end with LF, CRLF or CR.
//!
//! ```
//! use portion_mcp::http::sse::{SseParser, SseSegment};
//!
//! let segments = SseParser::new(1024).push(b"id: 1\ndata: {}\n\n");
//! let [SseSegment::Event(event)] = segments.as_slice() else { panic!("one event") };
//! assert_eq!((event.id(), &*event.data), (Some(&b"1"[..]), &b"{}"[..]));
//! ```

use std::time::Duration;

use memchr::memchr2;

use crate::frame::replace_line_breaks;

/// Segment of a stream with its original bytes; all segments joined are the stream.
#[derive(Debug, PartialEq, Eq)]
pub enum SseSegment {
    /// Lines that dispatch no event: comments, empty lines, and fields without data.
    NonEvent(Vec<u8>),
    /// An event with data.
    Event(SseEvent),
    /// An event over the limit, which was dropped; its length in bytes.
    TooLarge(u64),
}

/// An event with data.
#[derive(Debug, PartialEq, Eq)]
pub struct SseEvent {
    /// Its original bytes.
    pub raw: Vec<u8>,
    /// The values of all its data lines, joined by line feeds.
    pub data: Vec<u8>,
}

/// Parser of a stream of events.
#[derive(Default, Debug)]
pub struct SseParser {
    /// Bytes of the current event.
    buffer: Vec<u8>,
    /// Offset of the current line in `buffer`.
    line_start: usize,
    /// Offset in `buffer` up to which line ends have been searched.
    scanned: usize,
    has_data: bool,
    has_fields: bool,
    /// Bytes dropped of the current event, which is too large; 0 otherwise.
    dropped_bytes: u64,
    /// True if the last line ended with a CR: an LF that follows belongs to it.
    after_cr: bool,
    max_event_bytes: usize,
}

impl SseSegment {
    /// Returns the id after which the stream can be resumed from here; an empty id means that it cannot.
    pub fn id(&self) -> Option<&[u8]> {
        self.field(b"id").filter(|id| !id.contains(&0))
    }

    /// Returns the delay before a client reconnects.
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

/// Bytes of a field besides `data`, and of a comment.
const MAX_FIELD_BYTES: usize = 1 << 10;

/// Comment that keeps a stream alive; clients ignore it.
pub const PING: &[u8] = b": ping\n\n";

/// Returns an event without data. Its id and retry delay let a client resume that has received no other event.
pub fn encode_priming_event(id: &str, retry: Duration) -> Vec<u8> {
    format!("id: {id}\nretry: {}\ndata: \n\n", retry.as_millis()).into_bytes()
}

/// Returns an event with this data on one line, without white space at its end.
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

/// Appends JSON as one `data` line, without the line end. Clients need not join lines then; a carriage return inside
/// would end the line.
fn push_data_line(out: &mut Vec<u8>, data: &[u8]) {
    out.extend_from_slice(b"data: ");
    let start = out.len();
    out.extend_from_slice(data.trim_ascii_end());
    replace_line_breaks(&mut out[start..]);
}

impl SseEvent {
    /// Returns the event type; `message` if there is none.
    pub fn event_type(&self) -> &[u8] {
        self.field(b"event").filter(|kind| !kind.is_empty()).unwrap_or(b"message")
    }

    /// Returns its id, after which a client can resume the stream.
    pub fn id(&self) -> Option<&[u8]> {
        self.field(b"id")
    }

    /// Returns the event without what could hide content besides its data; see [`without_content`].
    #[must_use]
    pub fn without_other_content(self, is_shown: impl Fn(&str) -> bool) -> Self {
        Self { raw: without_content(&self.raw, is_shown), ..self }
    }

    /// Returns the event without data: clients dispatch no event, but use its id and `retry`.
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

    /// Returns the event with other data (JSON, on one line); all other bytes stay unchanged.
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
    /// Creates a parser of events of at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self { max_event_bytes: limit, ..Self::default() }
    }

    /// Parses the next bytes and returns the segments that they complete.
    pub fn push(&mut self, mut bytes: &[u8]) -> Vec<SseSegment> {
        let mut segments = Vec::new();
        if self.after_cr && !bytes.is_empty() {
            self.after_cr = false;
            if let Some(rest) = bytes.strip_prefix(b"\n") {
                // The LF of a CRLF whose CR was already handled as a line end.
                bytes = rest;
                if self.buffer.is_empty() && self.dropped_bytes == 0 {
                    segments.push(SseSegment::NonEvent(b"\n".to_vec()));
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
            segments.extend(self.end_line(at, end));
        }
        self.scanned = self.buffer.len();
        if self.buffer.len() > self.max_event_bytes {
            self.discard_buffer();
        }
        segments
    }

    /// Returns the bytes of the incomplete event at the end of the stream.
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
        // Lines outside of an event are returned at once.
        if !is_empty && self.has_fields {
            return None;
        }
        let has_data = self.has_data;
        let raw = self.take_segment(end);
        Some(if has_data { SseSegment::Event(parse_event(raw)) } else { SseSegment::NonEvent(raw) })
    }

    /// Takes the lines up to `end`, where the next event begins.
    fn take_segment(&mut self, end: usize) -> Vec<u8> {
        let next = self.buffer.split_off(end);
        let raw = std::mem::replace(&mut self.buffer, next);
        (self.line_start, self.scanned, self.has_data, self.has_fields, self.dropped_bytes) =
            (0, 0, false, false, 0);
        raw
    }

    /// Drops the bytes of an event that is too large. Only keeps track of whether the current line is empty so far.
    fn discard_buffer(&mut self) {
        self.dropped_bytes += self.buffer.len() as u64;
        let at_start = self.line_start == self.buffer.len();
        self.buffer.clear();
        if !at_start {
            // One byte stands for the bytes of the current line, which is not empty.
            self.buffer.push(b'x');
            self.dropped_bytes -= 1;
        }
        self.line_start = 0;
        self.scanned = self.buffer.len();
    }
}

/// Returns lines without content other than `data`: unknown fields are left out, as clients do, and so are ids, types and
/// comments that are long or that `is_shown` refuses. The sign of a comment stays, which keeps a stream alive.
pub fn without_content(raw: &[u8], is_shown: impl Fn(&str) -> bool) -> Vec<u8> {
    let is_kept =
        |value: &[u8]| value.len() <= MAX_FIELD_BYTES && std::str::from_utf8(value).is_ok_and(&is_shown);
    let mut out = Vec::with_capacity(raw.len());
    for (line, end) in lines(raw) {
        match parse_field(line) {
            Some((b"data", _)) => out.extend_from_slice(line),
            Some((b"id" | b"event" | b"retry", value)) if is_kept(value) => out.extend_from_slice(line),
            Some(_) => continue,
            None if is_kept(line) => out.extend_from_slice(line),
            None => out.push(b':'),
        }
        out.extend_from_slice(end);
    }
    out
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

/// Returns the value of the last field of that name.
fn last_field<'a>(raw: &'a [u8], wanted: &[u8]) -> Option<&'a [u8]> {
    let fields = lines(raw).filter_map(|(line, _)| parse_field(line));
    fields.filter(|(name, _)| *name == wanted).map(|(_, value)| value).last()
}

/// Returns name and value of the field of a line; `None` for comments and empty lines.
fn parse_field(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
    let Some(colon) = memchr::memchr(b':', line) else { return (!line.is_empty()).then_some((line, b"")) };
    let value = &line[colon + 1..];
    (colon > 0).then(|| (&line[..colon], value.strip_prefix(b" ").unwrap_or(value)))
}

/// Splits into lines, each with its line end.
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

    fn read(stream: &[u8], chunk_bytes: usize, limit: usize) -> Vec<SseSegment> {
        let mut parser = SseParser::new(limit);
        let mut segments: Vec<SseSegment> =
            stream.chunks(chunk_bytes.max(1)).flat_map(|chunk| parser.push(chunk)).collect();
        segments.push(SseSegment::NonEvent(parser.into_remainder()));
        segments
    }

    /// Checks the type, id and data of each event.
    fn check(stream: &str, expect: &[(&str, Option<&str>, &str)]) {
        for chunk_bytes in [1, 2, 3, 7, stream.len()] {
            let segments = read(stream.as_bytes(), chunk_bytes, 1000);
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let events: Vec<_> = segments
                .iter()
                .filter_map(|segment| match segment {
                    SseSegment::Event(event) => {
                        Some((text(event.event_type()), event.id().map(text), text(&event.data)))
                    }
                    _ => None,
                })
                .collect();
            let events: Vec<_> =
                events.iter().map(|(kind, id, data)| (&**kind, id.as_deref(), &**data)).collect();
            assert_eq!(events, expect, "{stream:?} cut every {chunk_bytes}");
        }
    }

    #[test]
    fn events_are_parsed() {
        check("data: a\n\n", &[("message", None, "a")]);
        check("id: 1\r\nevent: x\r\ndata:a\r\ndata: b\r\n\r\n", &[("x", Some("1"), "a\nb")]);
        check("data: a\r\rdata: b\r\r", &[("message", None, "a"), ("message", None, "b")]);
        check(": ping\n\nid: 7\ndata: \n\n", &[("message", Some("7"), "")]);
        check("\u{feff}data: a\n\nretry: 5\n\ndata\n\n", &[("message", None, "a"), ("message", None, "")]);
        check("data: never ends\n", &[]);
        check("id: 1\nid: 2\ndata: a\n\n", &[("message", Some("2"), "a")]);
    }

    #[test]
    fn id_and_retry_are_read_with_and_without_data() {
        let check = |stream: &str, id: Option<&str>, retry: Option<u64>| {
            let segments = read(stream.as_bytes(), 100, 1000);
            assert_eq!(segments[0].id(), id.map(str::as_bytes), "{stream:?}");
            assert_eq!(segments[0].retry(), retry.map(Duration::from_millis), "{stream:?}");
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
    fn written_events_are_parsed_again() {
        let check = |id: Option<&str>, data: &str, expect: &str| {
            let stream = super::encode_event(id, data.as_bytes());
            let Some(SseSegment::Event(event)) = read(&stream, stream.len(), 1000).into_iter().next() else {
                panic!("{data:?} is no event")
            };
            assert_eq!((event.event_type(), event.id()), (&b"message"[..], id.map(str::as_bytes)));
            assert_eq!(String::from_utf8_lossy(&event.data), expect);
        };
        check(None, "{}\r", "{}");
        check(Some("3-1"), "{\r\n\"a\":\r1\n}", "{  \"a\": 1 }");
        check(Some("3-0"), "", "");
    }

    #[test]
    fn a_comment_is_returned_at_once() {
        assert_eq!(SseParser::new(100).push(b": ping\r\n"), [SseSegment::NonEvent(b": ping\r\n".to_vec())]);
    }

    #[test]
    fn replaced_data_leaves_the_rest_unchanged() {
        let stream = b": c\r\nid:  1\r\ndata: a\r\nx: y\r\ndata: b\r\nretry: 3\r\n\r\n";
        let segments = read(stream, 100, 1000);
        let SseSegment::Event(event) = &segments[1] else { panic!("{segments:?}") };
        let expect = "id:  1\r\ndata: new line\r\nx: y\r\nretry: 3\r\n\r\n";
        assert_eq!(String::from_utf8_lossy(&event.with_data(b"new\nline")), expect);
    }

    #[test]
    fn content_is_in_data_only() {
        let check = |raw: &str, expect: &str| {
            let kept = super::without_content(raw.as_bytes(), |text| !text.contains("secret"));
            assert_eq!(String::from_utf8_lossy(&kept), expect, "{raw:?}");
        };
        check(": ping\r\n\r\n", ": ping\r\n\r\n");
        check(": a secret\n\n", ":\n\n");
        check(
            "id: 7\nfoo: x\nbar\nevent: e\nretry: 5\ndata: a secret\n\n",
            "id: 7\nevent: e\nretry: 5\ndata: a secret\n\n",
        );
        check("id: secret\ndata: a\n\n", "data: a\n\n");
        let long = "x".repeat(2_000);
        check(&format!("id: {long}\n:{long}\ndata: {long}\n\n"), &format!(":\ndata: {long}\n\n"));
    }

    #[test]
    fn an_event_over_the_limit_is_dropped_and_the_next_one_read() {
        let stream = format!("data: {}\nid: 3\n\ndata: b\n\n", "a".repeat(500));
        for chunk_bytes in [1, 2, 3, 50, 99] {
            let segments = read(stream.as_bytes(), chunk_bytes, 100);
            let dropped = stream.len() - "data: b\n\n".len();
            assert_eq!(segments[0], SseSegment::TooLarge(dropped as u64), "{chunk_bytes}");
            assert!(matches!(&segments[1], SseSegment::Event(event) if event.data == b"b"), "{segments:?}");
        }
    }

    proptest! {
            #[test]
        fn segments_joined_are_the_stream(stream in "(data|id|:|a|\n|\r|\r\n| |é){0,60}", chunk_bytes in 1..9usize) {
            let mut joined = Vec::new();
            for segment in read(stream.as_bytes(), chunk_bytes, 1000) {
                match segment {
                    SseSegment::NonEvent(raw) => joined.extend(raw),
                    SseSegment::Event(event) => joined.extend(event.raw),
                    SseSegment::TooLarge(_) => prop_assert!(false, "nothing is that large"),
                }
            }
            prop_assert_eq!(joined, stream.as_bytes());
        }

        #[test]
        fn chunk_boundaries_make_no_difference(stream in "(data:a|data|id:1|:c|\n|\r\n){0,40}", chunk_bytes in 1..9usize) {
            let events = |chunk_bytes| {
                let segments = read(stream.as_bytes(), chunk_bytes, 1000).into_iter();
                let events = segments.filter_map(|segment| match segment {
                    SseSegment::Event(event) => Some((event.id().map(<[u8]>::to_vec), event.data.clone())),
                    _ => None,
                });
                events.collect::<Vec<_>>()
            };
            prop_assert_eq!(events(chunk_bytes), events(1000));
        }
    }
}
