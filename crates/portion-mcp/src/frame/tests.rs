//! Tests of lines as frames: limits, and reads of any size.

use proptest::prelude::*;

use super::*;

/// Returns at most `step` bytes per read, so that every boundary is tested.
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
    FrameReader::new(Drip(input, step), limit).map(|frame| frame.expect("drip never fails")).collect()
}

fn message(text: &str) -> Frame {
    Frame::Message(text.as_bytes().to_vec())
}

/// `messages`: the ids, and true for those with a method.
fn too_large(messages: &[(&str, bool)], bytes: u64) -> Frame {
    let message =
        |(id, has_method): &(&str, bool)| DroppedMessage { id: (*id).into(), has_method: *has_method };
    let messages: Vec<_> = messages.iter().map(message).collect();
    let (has_unidentified, is_batch) = (messages.is_empty(), messages.len() > 1);
    Frame::TooLarge(DroppedLine { messages, has_unidentified, is_batch, bytes })
}

fn check(input: &str, expect: &[Frame]) {
    for step in 1..=input.len().max(1) {
        assert_eq!(frames(input.as_bytes(), step, 16), expect, "{input:?} in steps of {step}");
    }
}

#[test]
fn lines_become_frames() {
    check("", &[]);
    check("\n \r\n\n", &[]);
    check("{}\n{}\n", &[message("{}"), message("{}")]);
    check("{}\r\n\n[]", &[message("{}\r"), message("[]")]);
    check("\u{feff}{}\n\u{feff}[]", &[message("{}"), message("[]")]);
    check("0123456789abcdef\nx", &[message("0123456789abcdef"), message("x")]);
}

#[test]
fn too_large_lines_are_dropped_and_the_stream_continues() {
    check("0123456789abcdefg\nx\n", &[too_large(&[], 17), message("x")]);
    check("{\"result\":\"xxxxxxxx\",\"id\":7}\n{}\n", &[too_large(&[("7", false)], 28), message("{}")]);
    check("{\"method\":\"m\",\"id\":\"a\\\"b\"}", &[too_large(&[("\"a\\\"b\"", true)], 26)]);
    check("{\"id\":1,\"result\":\"cut off", &[too_large(&[("1", false)], 25)]);
    let batch = "[{\"id\":1,\"method\":\"m\"},{\"id\":2}]\n{}";
    check(batch, &[too_large(&[("1", true), ("2", false)], 32), message("{}")]);
}

#[test]
fn a_message_has_capacity_for_its_newline() {
    for length in [1, 16, DEFAULT_READ_CHUNK, 3 * DEFAULT_READ_CHUNK + 1] {
        let mut input = vec![b'x'; length];
        input.push(b'\n');
        let Some(Frame::Message(line)) = frames(&input, usize::MAX, 1 << 20).pop() else {
            panic!("{length} bytes are within the limit")
        };
        assert_eq!((line.len(), line.capacity()), (length, length + 1));
    }
}

#[test]
fn the_capacity_of_a_line_doubles_up_to_the_limit() {
    let (mut line, mut capacities) = (Vec::new(), std::collections::BTreeSet::new());
    for _ in 0..1_000 {
        reserve_line(&mut line, 1, 1_000);
        line.push(b'x');
        assert!(line.capacity() > line.len());
        capacities.insert(line.capacity());
    }
    assert!(capacities.len() <= 12, "{capacities:?}");
    assert_eq!(line.capacity(), 1_001);
    // There is room already.
    let mut line = Vec::with_capacity(64);
    reserve_line(&mut line, 63, 1_000);
    assert_eq!(line.capacity(), 64);
}

#[test]
fn an_id_is_found_in_what_is_not_json() {
    assert_eq!(scan_id(br#"{"id":7,"method":"m","params":NaN}"#), (Some("7".into()), true));
    assert_eq!(scan_id(br#"{"id":"a","result":"#), (Some("\"a\"".into()), false));
    assert_eq!(scan_id(b"garbage"), (None, false));
}

/// Yields one result per read, and records the sizes of the buffers.
struct Steps<'a>(Vec<io::Result<&'a [u8]>>, Vec<usize>);

impl Read for &mut Steps<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.1.push(buf.len());
        let step = if self.0.is_empty() { Ok(&b""[..]) } else { self.0.remove(0) }?;
        buf[..step.len()].copy_from_slice(step);
        Ok(step.len())
    }
}

#[test]
fn an_interrupted_read_is_repeated_and_the_first_error_ends_the_stream() {
    let error = |kind: io::ErrorKind| Err(io::Error::from(kind));
    let mut steps = Steps(
        vec![
            Ok(b"{}\n{".as_slice()),
            error(io::ErrorKind::Interrupted),
            error(io::ErrorKind::Interrupted),
            Ok(b"}\n[".as_slice()),
            error(io::ErrorKind::ConnectionReset),
            Ok(b"]\n".as_slice()),
        ],
        Vec::new(),
    );
    let mut frames = FrameReader::new(&mut steps, 1024);
    for _ in 0..2 {
        assert_eq!(frames.next().transpose().expect("is read"), Some(message("{}")));
    }
    let failure = frames.next().and_then(Result::err).map(|error| error.kind());
    assert_eq!(failure, Some(io::ErrorKind::ConnectionReset));
    assert!(frames.next().is_none(), "the stream is over");
    drop(frames);
    assert_eq!(steps.0.len(), 1, "nothing is read after an error");
}

#[test]
fn no_more_is_read_at_once_than_configured() {
    for chunk in [None, Some(7)] {
        let mut steps = Steps(vec![Ok(b"{}\n".as_slice())], Vec::new());
        let frames = FrameReader::new(&mut steps, 1024);
        let frames = match chunk {
            Some(bytes) => frames.with_read_chunk(bytes),
            None => frames,
        };
        assert_eq!(frames.map(|frame| frame.expect("is read")).collect::<Vec<_>>(), [message("{}")]);
        assert_eq!(steps.1, [chunk.unwrap_or(256 << 10); 2]);
    }
}

/// Bytes of lines and of JSON, and any other.
fn byte() -> impl Strategy<Value = u8> {
    prop_oneof![prop::sample::select(b"\n\"{}[]:,".to_vec()), any::<u8>()]
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
        input in prop::collection::vec(byte(), 0..400),
        step in 1_usize..50, limit in 0_usize..60,
    ) {
        prop_assert_eq!(frames(&input, step, limit), frames(&input, usize::MAX, limit));
    }
}

fn check_line_breaks(message: &str, expect: &str, breaks: usize) {
    let mut bytes = message.as_bytes().to_vec();
    assert_eq!(replace_line_breaks(&mut bytes), breaks);
    assert_eq!(String::from_utf8_lossy(&bytes), expect);
}

#[test]
fn line_breaks_become_spaces() {
    check_line_breaks("{\"a\":\"\\n\"}", "{\"a\":\"\\n\"}", 0);
    check_line_breaks("{\r\n \"a\": 1\n}\n", "{   \"a\": 1 } ", 4);
    check_line_breaks("\n\r[]", "  []", 2);
    check_line_breaks("", "", 0);
}
