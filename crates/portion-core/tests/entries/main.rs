//! The entries of logs: what they say of their time and level, and where they begin.

use portion_core::entry::{Entry, Level, entries};
use portion_core::snapshot::Text;

mod laws;
mod stamps;

/// The entries of a text, none where it is no log.
fn read(text: &str) -> Vec<Entry> {
    entries(text, &Text::index(text)).map(Iterator::collect).unwrap_or_default()
}

#[test]
fn an_entry_has_all_that_follows_it() {
    let text = "# made by hand\n2024-05-01 10:00:00 INFO up\n\n2024-05-01 10:00:01 ERROR down\njava.lang.Oh: no\n\tat a.b(C.java:1)\n\
                2024-05-01 10:00:02 WARN still\n";
    let told: Vec<_> = read(text)
        .into_iter()
        .map(|entry| {
            let said = |span: Option<portion_core::span::Span>| span.map(|span| span.of(text));
            (
                entry.number,
                entry.start_line,
                said(entry.time),
                said(entry.level),
                entry.span.of(text).lines().count(),
            )
        })
        .collect();
    let expect = [
        (1, 1, None, None, 1),
        (2, 2, Some("2024-05-01 10:00:00"), Some("INFO"), 2),
        (3, 4, Some("2024-05-01 10:00:01"), Some("ERROR"), 3),
        (4, 7, Some("2024-05-01 10:00:02"), Some("WARN"), 1),
    ];
    assert_eq!(told, expect);
}

#[test]
fn blank_lines_at_the_beginning_are_no_entry() {
    let entries = read("\n\n10:00:00 a\n10:00:01 b\n10:00:02 c");
    assert_eq!(entries.len(), 3);
    assert_eq!(
        (entries[0].start_line, entries[0].span.start, entries[0].time.map(|time| time.start)),
        (1, 0, Some(2))
    );
}

#[test]
fn what_is_no_log_has_no_entries() {
    for text in
        ["", "\n\n", "# Title\n\nSome words, and some more of them.\n", "fn main() {\n}\n\nfn a() {\n}\n"]
    {
        assert!(entries(text, &Text::index(text)).is_none(), "{text}");
    }
}

#[test]
fn levels_are_known_by_many_names() {
    for (word, level) in [
        ("error", Some(Level::Error)),
        ("Warning", Some(Level::Warn)),
        ("E", Some(Level::Error)),
        ("60", Some(Level::Fatal)),
        ("emerg", Some(Level::Fatal)),
        ("errors", None),
        ("", None),
    ] {
        assert_eq!(Level::of(word), level, "{word}");
    }
    assert!(Level::Fatal > Level::Error && Level::Error > Level::Warn && Level::Debug > Level::Trace);
}
