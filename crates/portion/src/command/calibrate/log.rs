//! Reads a log of any length entry by entry: JSON Lines, or one JSON array.

use std::fmt;
use std::io::{self, BufRead, Read as _};

use serde::Deserializer as _;
use serde::de::{SeqAccess, Visitor};
use serde_json::Value;

use super::entry::UnusableReason;

/// Longest line, in bytes.
const MAX_LINE_BYTES: u64 = 64 << 20;
/// Most bytes skipped of a longer line.
const MAX_SKIPPED_BYTES: u64 = 256 << 20;

/// Passes each entry with its place to a function: its line, or its position in the array, from 1.
///
/// # Errors
/// Returns an error if the log cannot be read, or is an invalid array.
pub(super) fn for_each_entry(
    log: impl BufRead,
    mut show: impl FnMut(u64, Result<Value, UnusableReason>),
) -> io::Result<()> {
    let mut log = log;
    match first_byte(&mut log)? {
        Some(b'[') => Ok(serde_json::Deserializer::from_reader(log).deserialize_seq(EntryVisitor(show))?),
        Some(_) => for_each_line(log, &mut show),
        None => Ok(()),
    }
}

/// Returns the first byte after white space and a byte order mark.
fn first_byte(log: &mut impl BufRead) -> io::Result<Option<u8>> {
    loop {
        let seen = log.fill_buf()?;
        let Some(first) = seen.first().copied() else { return Ok(None) };
        if !first.is_ascii_whitespace() && !b"\xEF\xBB\xBF".contains(&first) {
            return Ok(Some(first));
        }
        log.consume(1);
    }
}

fn for_each_line(
    mut log: impl BufRead,
    show: &mut impl FnMut(u64, Result<Value, UnusableReason>),
) -> io::Result<()> {
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let read = log.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line)? as u64;
        if read == 0 {
            break;
        }
        if read == MAX_LINE_BYTES && line.last() != Some(&b'\n') {
            skip_line(&mut log)?;
            show(number, Err(UnusableReason::TooLong));
        } else if !line.trim_ascii().is_empty() {
            show(number, serde_json::from_slice(&line).map_err(|_| UnusableReason::NotJson));
        }
    }
    Ok(())
}

/// Skips the rest of a line.
///
/// # Errors
/// Returns an error if the line does not end, as that of a device.
fn skip_line(log: &mut impl BufRead) -> io::Result<()> {
    let mut rest = log.take(MAX_SKIPPED_BYTES);
    rest.skip_until(b'\n')?;
    if rest.limit() > 0 {
        return Ok(());
    }
    Err(io::Error::other(format!("a line is longer than {MAX_SKIPPED_BYTES} bytes")))
}

/// Passes the entries of an array to a function.
struct EntryVisitor<F>(F);

impl<'de, F: FnMut(u64, Result<Value, UnusableReason>)> Visitor<'de> for EntryVisitor<F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of entries")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut entries: A) -> Result<(), A::Error> {
        let mut number = 0;
        while let Some(entry) = entries.next_element()? {
            number += 1;
            (self.0)(number, Ok(entry));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::entry::UnusableReason;
    use super::for_each_entry;

    fn check(log: &str, expect: &[(u64, Result<Value, UnusableReason>)]) {
        let mut seen = Vec::new();
        for_each_entry(log.as_bytes(), |at, entry| seen.push((at, entry))).expect("readable");
        assert_eq!(seen, expect, "{log}");
    }

    #[test]
    fn lines_and_arrays_are_read() {
        check("", &[]);
        check(" \n", &[]);
        check("{}\n{\"a\":1}", &[(1, Ok(json!({}))), (2, Ok(json!({"a": 1})))]);
        check("{}\n\nnot\n5\n", &[(1, Ok(json!({}))), (3, Err(UnusableReason::NotJson)), (4, Ok(json!(5)))]);
        check("\u{feff}[{}, {\"a\":\n1}]", &[(1, Ok(json!({}))), (2, Ok(json!({"a": 1})))]);
    }

    #[test]
    fn a_broken_array_is_told_with_what_was_read() {
        let mut seen = 0;
        let error = for_each_entry(&b"[{},{},oh"[..], |_, _| seen += 1).expect_err("broken");
        assert_eq!(seen, 2);
        assert!(error.to_string().contains("line 1"), "{error}");
    }
}
