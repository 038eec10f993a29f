//! Recognizes the lines that begin log entries, and those that continue them.

/// The kind of stamp at the start of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryStamp {
    /// A date, a time of day, an epoch, seconds since boot.
    Time,
    /// A level: `INFO`, `[error]`; or a key of a log: `level=warn`, `time=`, `ts=`.
    Level,
    /// An IPv4 address, or a date in brackets after a name: an access log.
    Address,
    /// A time after at most three words: a host, a file, a container.
    InnerTime,
    /// A whole JSON object on one line.
    JsonObject,
}

/// Patterns for times at the start of a line. `d` is a digit, `-` any of `-/.`, `_` any of ` T_-:`, `m`
/// the short name of a month, `w` that of a weekday; every other character stands for itself.
const TIME_PATTERNS: &[&str] = &[
    "dddd-dd-dd",
    "dddd-d-d",
    "dd-dd-dddd",
    "d-d-dddd",
    "dd-dd-dd_dd:dd",
    "dd-dd_dd:dd",
    "dd-dd dd:dd",
    "dddddddd_dd:dd",
    "dddddddd_dddddd",
    "dddddddd_d:d",
    "dddddd dddddd ",
    "dddddd dd:dd:dd",
    "dddddd  d:dd:dd",
    "dd:dd:dd",
    "d:dd:dd",
    "dd:dd ",
    "dd:dd]",
    "m dd dd:dd",
    "m  d dd:dd",
    "m d dd:dd",
    "m dd, dddd",
    "m d, dddd",
    "m dd dddd",
    "w m ",
    "w, d",
    "dd/m/dddd",
    "dd m dddd",
    "d m dddd",
    "dd-m-dddd",
    "dddddddddd ",
    "dddddddddd.d",
    "dddddddddd]",
    "ddddddddddddd ",
    "Idddd dd:dd:",
    "Wdddd dd:dd:",
    "Edddd dd:dd:",
    "Fdddd dd:dd:",
];
/// Patterns that are specific enough to be recognized after other words.
const INNER_TIME_PATTERNS: &[&str] = &[
    "dddd-dd-dd",
    "dd:dd:dd",
    "dddddddddd ",
    "dddddddddd.d",
    "dd/m/dddd",
    "dd-dd_dd:dd:dd",
    "m dd dd:dd:dd",
    "m  d dd:dd:dd",
];
/// Maximum words before an inner time.
const MAX_WORDS_BEFORE: usize = 3;
const MONTHS: &[&str] = &["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const WEEKDAYS: &[&str] = &["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const LEVELS: &[&str] = &[
    "TRACE", "DEBUG", "INFO", "NOTICE", "WARN", "WARNING", "ERROR", "ERR", "CRITICAL", "CRIT", "FATAL",
    "SEVERE", "ALERT", "EMERG", "PANIC", "VERBOSE", "FINE", "FINER", "FINEST",
];
const KEY_PREFIXES: &[&str] = &["level=", "time=", "ts=", "lvl=", "severity=", "timestamp=", "date=", "t="];
/// Levels that the console of .NET writes before a colon.
const CONSOLE_LEVELS: &[&str] = &["fail:", "dbug:", "trce:"];
/// Starts of unindented lines that continue an entry.
const CONTINUATION_PREFIXES: &[&str] = &[
    "at ",
    "Caused by",
    "Suppressed: ",
    "... ",
    "[stacktrace]",
    "[previous exception]",
    "Stack trace:",
    "Traceback (",
    "During handling of",
    "The above exception",
    "--- End of",
    "goroutine ",
    "}",
    "]",
    ")",
];

/// Returns the stamp of a line, if it has one.
pub(super) fn find_stamp(line: &str) -> Option<EntryStamp> {
    let line = strip_color_codes(line.trim_start_matches('\u{feff}'));
    if line.starts_with(char::is_whitespace) {
        return None;
    }
    let bare = line.trim_start_matches(['[', '(', '<', '"']);
    if bare.is_empty() || is_subtitle_cue(line) {
        None
    } else if line.starts_with("{\"") || line.starts_with("{ \"") {
        line.trim_end().ends_with('}').then_some(EntryStamp::JsonObject)
    } else if matches_any_pattern(bare, TIME_PATTERNS) || line.starts_with('[') && is_uptime(bare) {
        Some(EntryStamp::Time)
    } else if is_level(bare) {
        Some(EntryStamp::Level)
    } else if is_access_log(line) {
        Some(EntryStamp::Address)
    } else {
        has_inner_time(line).then_some(EntryStamp::InnerTime)
    }
}

/// Returns true if the line has the arrow of a subtitle cue: `00:01:02,000 --> 00:01:04,000`. No entry begins with it.
pub(crate) fn is_subtitle_cue(line: &str) -> bool {
    memchr::memchr(b'>', line.as_bytes()).is_some() && line.contains("-->")
}

/// Returns true if a line without a stamp continues the entry above it.
pub(super) fn continues_entry(line: &str) -> bool {
    line.starts_with(char::is_whitespace)
        || CONTINUATION_PREFIXES.iter().any(|beginning| line.starts_with(beginning))
        || line.strip_prefix('#').is_some_and(|frame| frame.starts_with(|c: char| c.is_ascii_digit()))
        || is_exception_line(line)
}

/// Matches an exception on a line of its own: `java.net.SocketException: …`, `ValueError`.
fn is_exception_line(line: &str) -> bool {
    let name = line.split(':').next().unwrap_or_default().trim_end();
    name.len() <= 200
        && ["Error", "Exception", "Throwable", "Warning"]
            .iter()
            .any(|end| name.len() > end.len() && name.ends_with(end))
        && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '_' | '$' | '\\'))
}

/// Returns the line without leading colour codes (`ESC [ … m`).
fn strip_color_codes(mut line: &str) -> &str {
    while let Some(code) = line.strip_prefix("\u{1b}[") {
        let rest = code.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
        let Some(rest) = rest.strip_prefix('m') else { break };
        line = rest;
    }
    line
}

/// Returns true if a text begins with one of these patterns, each of which begins with a digit or a capital.
fn matches_any_pattern(text: &str, patterns: &[&str]) -> bool {
    let begins = |first: &u8| first.is_ascii_digit() || first.is_ascii_uppercase();
    text.as_bytes().first().is_some_and(begins)
        && patterns.iter().any(|pattern| matches_pattern(text.as_bytes(), pattern))
}

fn matches_pattern(text: &[u8], pattern: &str) -> bool {
    let is_named = |names: &[&str], rest: &[u8]| names.iter().any(|name| rest.starts_with(name.as_bytes()));
    let mut at = 0;
    pattern.bytes().all(|sign| {
        let Some(byte) = text.get(at) else { return false };
        let length = match sign {
            b'd' => usize::from(byte.is_ascii_digit()),
            b'-' => usize::from(matches!(byte, b'-' | b'/' | b'.')),
            b'_' => usize::from(matches!(byte, b' ' | b'T' | b'_' | b'-' | b':')),
            b'm' => 3 * usize::from(is_named(MONTHS, &text[at..])),
            b'w' => 3 * usize::from(is_named(WEEKDAYS, &text[at..])),
            _ => usize::from(*byte == sign),
        };
        at += length;
        length > 0
    })
}

/// Matches `12.345678]` after its bracket: seconds since boot.
fn is_uptime(bare: &str) -> bool {
    let rest = bare.trim_start().trim_start_matches(|c: char| c.is_ascii_digit());
    let tail = rest.strip_prefix('.').unwrap_or_default().trim_start_matches(|c: char| c.is_ascii_digit());
    rest.len() > tail.len() + 1 && tail.starts_with(']')
}

/// Recognizes levels: upper-case ones may stand alone, others need punctuation around them.
fn is_level(bare: &str) -> bool {
    let word = &bare[..bare.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(bare.len())];
    let next = bare[word.len()..].chars().next();
    let known = LEVELS.iter().any(|level| level.eq_ignore_ascii_case(word));
    let upper = word.bytes().all(|b| b.is_ascii_uppercase());
    let tied = matches!(next, Some(']' | '[' | ':' | '=' | '|' | '>'));
    let apart = matches!(next, Some(' ' | '\t' | ')' | '/' | ',' | '-' | '\u{1b}'));
    let letter = matches!(
        bare.as_bytes(),
        [b'V' | b'D' | b'I' | b'W' | b'E' | b'F', b'/', b'A'..=b'Z' | b'a'..=b'z', ..]
    );
    let is_start = |starts: &[&str]| starts.iter().any(|start| bare.starts_with(start));
    // A word that messages begin with, too.
    let is_log = word.eq_ignore_ascii_case("log") && matches!(next, Some(']' | ':'));
    is_log
        || known && (tied || upper && apart)
        || letter
        || is_start(CONSOLE_LEVELS)
        || is_start(KEY_PREFIXES)
}

/// Matches an IPv4 address followed by something else, or a time in brackets after a name.
fn is_access_log(line: &str) -> bool {
    let address = &line[..line.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(line.len())];
    let is_ip = address.split('.').count() == 4 && address.split('.').all(|part| matches!(part.len(), 1..=3));
    let head = &line[..line.floor_char_boundary(160)];
    let dated =
        || head.find(" [").is_some_and(|at| matches_pattern(&head.as_bytes()[at + 2..], "dd/m/dddd:"));
    is_ip && line[address.len()..].starts_with([' ', '\t', ':', ',']) || dated()
}

fn has_inner_time(line: &str) -> bool {
    let head = &line[..line.floor_char_boundary(200)];
    let first = head.split_whitespace().next().unwrap_or_default();
    let is_epoch_only = first == "-";
    let is_tag = first.starts_with('<')
        && first.contains('>')
        && first[1..].starts_with(|c: char| c.is_ascii_alphabetic());
    if first.ends_with(':')
        || matches!(first, "*" | "+" | ">" | "|" | "--")
        || first.starts_with('#')
        || is_tag
    {
        return false;
    }
    let mut rest = head;
    for _ in 0..MAX_WORDS_BEFORE {
        let Some(space) = rest.find(char::is_whitespace) else { return false };
        rest = rest[space..].trim_start();
        let bare = rest.trim_start_matches(['[', '(', '"']);
        if matches_any_pattern(bare, if is_epoch_only { &["dddddddddd "] } else { INNER_TIME_PATTERNS }) {
            return true;
        }
    }
    false
}
