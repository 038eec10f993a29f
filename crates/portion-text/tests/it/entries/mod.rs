//! Tests of log entries: boundaries, times and levels.

use portion_text::chunk::chunker_for;
use portion_text::log_entry::{LogEntry, LogLevel, entries};

mod laws;
mod stamps;

/// Returns the entries of a text, or none if it is no log.
fn read(text: &str) -> Vec<LogEntry> {
    entries(text, chunker_for(text)).map(Iterator::collect).unwrap_or_default()
}

#[test]
fn an_entry_includes_its_continuation_lines() {
    let text = "# made by hand\n2024-05-01 10:00:00 INFO up\n\n2024-05-01 10:00:01 ERROR down\njava.lang.Oh: no\n\tat a.b(C.java:1)\n\
                2024-05-01 10:00:02 WARN still\n";
    let entries_read: Vec<_> = read(text)
        .into_iter()
        .map(|entry| {
            let shown = |span: Option<portion_json::span::Span>| span.map(|span| span.slice(text));
            (
                entry.number,
                entry.start_line,
                shown(entry.time),
                shown(entry.level),
                entry.span.slice(text).lines().count(),
            )
        })
        .collect();
    let expect = [
        (1, 1, None, None, 1),
        (2, 2, Some("2024-05-01 10:00:00"), Some("INFO"), 2),
        (3, 4, Some("2024-05-01 10:00:01"), Some("ERROR"), 3),
        (4, 7, Some("2024-05-01 10:00:02"), Some("WARN"), 1),
    ];
    assert_eq!(entries_read, expect);
}

#[test]
fn leading_blank_lines_are_not_an_entry() {
    let entries = read("\n\n10:00:00 a\n10:00:01 b\n10:00:02 c");
    assert_eq!(entries.len(), 3);
    assert_eq!(
        (entries[0].start_line, entries[0].span.start, entries[0].time.map(|time| time.start)),
        (1, 0, Some(2))
    );
}

#[test]
fn other_text_has_no_entries() {
    for text in
        ["", "\n\n", "# Title\n\nSome words, and some more of them.\n", "fn main() {\n}\n\nfn a() {\n}\n"]
    {
        assert!(entries(text, chunker_for(text)).is_none(), "{text}");
    }
}

#[test]
fn levels_have_many_names() {
    for (word, level) in [
        ("error", Some(LogLevel::Error)),
        ("Warning", Some(LogLevel::Warn)),
        ("E", Some(LogLevel::Error)),
        ("60", Some(LogLevel::Fatal)),
        ("emerg", Some(LogLevel::Fatal)),
        ("errors", None),
        ("", None),
    ] {
        assert_eq!(LogLevel::from_word(word), level, "{word}");
    }
    assert!(
        LogLevel::Fatal > LogLevel::Error
            && LogLevel::Error > LogLevel::Warn
            && LogLevel::Debug > LogLevel::Trace
    );
}
