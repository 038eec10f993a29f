//! Finds and parses the level of a log entry.

use std::ops::Range;

/// The severity of an entry; more severe is greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// Below debug: `TRACE`, `VERBOSE`, `FINEST`.
    Trace,
    /// `DEBUG`, `FINE`.
    Debug,
    /// `INFO`, `LOG`.
    Info,
    /// `NOTICE`, `NOTE`.
    Notice,
    /// `WARN`, `WARNING`.
    Warn,
    /// `ERROR`, `SEVERE`.
    Error,
    /// Above error: `FATAL`, `CRITICAL`, `PANIC`, `ALERT`, `EMERG`.
    Fatal,
}

impl LogLevel {
    /// Parses a level in any case, as written by syslog, Java, Python, PHP and .NET, including the letters of
    /// Android (`E`) and the numbers of Node (`50`).
    pub fn from_word(word: &str) -> Option<Self> {
        let names: &[(&str, Self)] = match word.as_bytes().first()?.to_ascii_uppercase() {
            b'A' => &[("ALERT", Self::Fatal)],
            b'C' => &[("CRITICAL", Self::Fatal), ("CRIT", Self::Fatal)],
            b'D' => {
                &[("DEBUG", Self::Debug), ("D", Self::Debug), ("DBUG", Self::Debug), ("DBG", Self::Debug)]
            }
            b'E' => &[
                ("ERROR", Self::Error),
                ("ERR", Self::Error),
                ("E", Self::Error),
                ("EMERG", Self::Fatal),
                ("EMERGENCY", Self::Fatal),
            ],
            b'F' => &[
                ("FATAL", Self::Fatal),
                ("F", Self::Fatal),
                ("FTL", Self::Fatal),
                ("FAIL", Self::Error),
                ("FINE", Self::Debug),
                ("FINER", Self::Trace),
                ("FINEST", Self::Trace),
            ],
            b'I' => {
                &[("INFO", Self::Info), ("I", Self::Info), ("INF", Self::Info), ("INFORMATION", Self::Info)]
            }
            b'L' => &[("LOG", Self::Info)],
            b'N' => &[("NOTICE", Self::Notice), ("NOTE", Self::Notice)],
            b'P' => &[("PANIC", Self::Fatal)],
            b'S' => &[("SEVERE", Self::Error)],
            b'T' => &[("TRACE", Self::Trace), ("TRCE", Self::Trace)],
            b'V' => &[("VERBOSE", Self::Trace), ("V", Self::Trace), ("VRB", Self::Trace)],
            b'W' => &[("WARN", Self::Warn), ("WARNING", Self::Warn), ("W", Self::Warn), ("WRN", Self::Warn)],
            b'1'..=b'6' => &[
                ("10", Self::Trace),
                ("20", Self::Debug),
                ("30", Self::Info),
                ("40", Self::Warn),
                ("50", Self::Error),
                ("60", Self::Fatal),
            ],
            _ => &[],
        };
        names.iter().find(|(name, _)| name.eq_ignore_ascii_case(word)).map(|(_, level)| *level)
    }
}

const KEYS: &[&str] = &["level", "lvl", "severity", "levelname", "log.level", "loglevel", "severity_text"];
/// Bytes after the time that are searched for a level.
const MAX_DISTANCE_BYTES: usize = 120;

/// Finds the level of a line, given the range of its time.
pub(super) fn find(line: &str, time: Option<&Range<usize>>) -> Option<Range<usize>> {
    if line.starts_with('{') || is_keyed(line, time) {
        let keyed =
            find_value(line, KEYS).filter(|value| LogLevel::from_word(&line[value.clone()]).is_some());
        if keyed.is_some() || line.starts_with('{') {
            return keyed;
        }
    }
    // In an access log the words come from clients.
    if time.is_some_and(|time| is_access_log_time(&line[time.clone()])) {
        return None;
    }
    time.and_then(|time| level_before_time(line, time.start))
        .or_else(|| level_after_time(line, time.map_or(0, |time| time.end)))
}

/// Returns true if a key is at the start of the line or after its time: `level=warn …`,
/// `ts=… level=warn`.
fn is_keyed(line: &str, time: Option<&Range<usize>>) -> bool {
    let begins = |rest: &str| {
        let rest = rest.trim_start_matches([' ', '"', ']', '\t']);
        rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_').starts_with('=')
    };
    begins(line) || time.is_some_and(|time| begins(&line[time.end..]))
}

/// Matches `22/Jan/2019:03:56:14 +0330`.
fn is_access_log_time(time: &str) -> bool {
    matches!(time.as_bytes(), [_, _, b'/', b'A'..=b'Z', _, _, b'/', _, _, _, _, b':', ..])
}

/// Finds a level before the time: `ERROR 2024-05-01 …`, `[E 10:00:00 …`, `E0503 10:00:00 …`.
fn level_before_time(line: &str, time: usize) -> Option<Range<usize>> {
    let ahead = line.get(..time)?;
    let mut words = letter_runs(ahead, 0);
    let word = words.next().filter(|word| LogLevel::from_word(&ahead[word.clone()]).is_some())?;
    let is_sole = words.next().is_none() && !ahead.contains(|c: char| c.is_ascii_digit());
    is_sole.then_some(word)
}

/// Finds the first word after the time that looks like a level.
fn level_after_time(line: &str, from: usize) -> Option<Range<usize>> {
    let near = &line[..line.floor_char_boundary(from.saturating_add(MAX_DISTANCE_BYTES))];
    let mut is_first = true;
    letter_runs(near, from).find(|word| {
        let first = std::mem::take(&mut is_first);
        let ahead = &near[from..word.start];
        LogLevel::from_word(&near[word.clone()]).is_some() && is_level(near, ahead, word, first)
    })
}

fn is_level(near: &str, ahead: &str, word: &Range<usize>, first: bool) -> bool {
    let level = &near[word.clone()];
    let last = ahead.bytes().next_back().unwrap_or(b' ');
    let mut rest = near.as_bytes()[word.end..].iter().copied();
    let (next, beyond) = (rest.next().unwrap_or(b' '), rest.next().unwrap_or(b' '));
    if level.len() == 1 {
        let is_column = || {
            let column = ahead.trim_end_matches(' ');
            column.len() < ahead.len() && column.bytes().next_back().is_none_or(|b| b.is_ascii_digit())
        };
        return level.bytes().all(|b| b.is_ascii_uppercase())
            && match next {
                b'/' => beyond.is_ascii_alphabetic() && matches!(last, b' ' | b'\t'),
                b' ' => beyond.is_ascii_alphabetic() && !ahead.contains(char::is_alphabetic) && is_column(),
                _ => false,
            };
    }
    let is_leading = first && !ahead.contains(|c: char| c.is_ascii_alphanumeric());
    if level.eq_ignore_ascii_case("fail") {
        return is_leading && level == "fail" && next == b':';
    }
    let is_bracketed = matches!(last, b'[' | b'(' | b'<' | b'|' | b':' | b'/')
        && matches!(next, b']' | b')' | b'>' | b'|' | b'/');
    // Words that messages have, too.
    if ["log", "note"].iter().any(|word| level.eq_ignore_ascii_case(word)) {
        let is_upper = level.bytes().all(|b| b.is_ascii_uppercase());
        return is_bracketed && first
            || next == b':' && (is_leading || is_upper && matches!(last, b' ' | b'\t'));
    }
    let is_tied = matches!(last, b'_' | b'-' | b'"' | b'\'' | b'$')
        || matches!(next, b'_' | b'=' | b'.' | b'(' | b'"' | b'\'')
        || next == b'-' && beyond.is_ascii_alphanumeric()
        || !last.is_ascii()
        || !next.is_ascii();
    let is_upper = level.bytes().all(|b| b.is_ascii_uppercase());
    let is_prefix = matches!(last, b' ' | b'\t') && next == b':';
    !is_tied && (is_upper || is_bracketed || is_leading || is_prefix)
}

/// Yields runs of ASCII letters without adjacent digits; colour codes (`ESC [ 32 m`) are skipped.
fn letter_runs(text: &str, from: usize) -> impl Iterator<Item = Range<usize>> {
    let bytes = text.as_bytes();
    let mut at = from;
    std::iter::from_fn(move || {
        loop {
            let start = at + bytes.get(at..)?.iter().position(u8::is_ascii_alphabetic)?;
            let length = bytes[start..].iter().position(|b| !b.is_ascii_alphabetic());
            let end = length.map_or(bytes.len(), |length| start + length);
            let colour = bytes[start] == b'm' && ends_in_color_code(&bytes[from..start]);
            at = if colour { start + 1 } else { end };
            let by_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
            if !colour && !by_digit(end) && (start == from || !by_digit(start - 1)) {
                return Some(start..end);
            }
        }
    })
}

/// Returns true if the bytes end with a colour code without its `m`.
fn ends_in_color_code(bytes: &[u8]) -> bool {
    let signs = bytes.iter().rev().take_while(|b| b.is_ascii_digit() || **b == b';').count();
    bytes[..bytes.len() - signs].ends_with(b"\x1b[")
}

/// Maximum bytes of a line that are searched.
const MAX_SCANNED_BYTES: usize = 1024;

/// Returns the value of the first of these keys that has one, without its quotes.
///
/// Text inside a string may be taken for a key, so the caller must check the value.
pub(super) fn find_value(line: &str, keys: &[&str]) -> Option<Range<usize>> {
    let head = &line[..line.floor_char_boundary(MAX_SCANNED_BYTES)];
    memchr::memchr2_iter(b':', b'=', head.as_bytes()).find_map(|at| {
        let is_json = head.as_bytes()[at] == b':';
        let before = if is_json { head[..at].strip_suffix('"')? } else { &head[..at] };
        let key =
            &before[before.rfind(|c: char| !is_key(c)).map_or(0, |end| before.ceil_char_boundary(end + 1))..];
        keys.contains(&key).then(|| read_value(head, at + 1)).flatten()
    })
}

fn is_key(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '@' | '.')
}

/// Returns the value that begins at `at`.
fn read_value(head: &str, at: usize) -> Option<Range<usize>> {
    let start = at + head[at..].len() - head[at..].trim_start_matches(' ').len();
    let rest = &head[start..];
    let (start, length) = match rest.strip_prefix('"') {
        Some(inside) => (start + 1, inside.find('"')?),
        None => (start, rest.find([' ', ',', '}', '\t']).unwrap_or(rest.len())),
    };
    (length > 0).then_some(start..start + length)
}
