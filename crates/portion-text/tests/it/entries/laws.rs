//! Properties of log entries for any text.

use portion_text::chunk::{BoundaryLevel, CHUNKERS, ChunkWindow};
use portion_text::log_entry::entries;
use portion_text::timestamp::Timestamp;
use proptest::prelude::*;

use super::read;

/// Checks that the entries of a text that is treated as a log join to the text.
fn check(text: &str) {
    let chunker = *CHUNKERS.iter().find(|chunker| chunker.name() == "log").expect("a log chunker");
    let (mut at, mut count, mut lines) = (0, 0, 1);
    let mut starts = Vec::new();
    for entry in entries(text, chunker).expect("a log") {
        count += 1;
        let entry_text = entry.span.slice(text);
        assert_eq!((entry.number, entry.span.start as usize), (count, at));
        assert_eq!(entry.start_line, lines);
        lines += entry_text.matches('\n').count();
        assert!(!entry_text.is_empty());
        for inner in [entry.time, entry.level].into_iter().flatten() {
            assert!(!inner.slice(text).is_empty() && !inner.slice(text).contains('\n'));
            assert!(inner.start >= entry.span.start && inner.end <= entry.span.end);
        }
        starts.push(at);
        at = entry.span.end as usize;
    }
    assert_eq!(at, text.len());
    // A chunk begins where an entry begins, or with the blank lines before it. Words above a blank line are in the first entry.
    let marks = chunker.boundaries(&ChunkWindow { text, from: 0, to: text.len() });
    let head = text.len() - text.trim_start().len();
    let is_head =
        |at: &usize| *at > head && text[*at..].lines().next().is_some_and(|line| !line.trim().is_empty());
    let units = marks.iter().filter(|mark| mark.level == BoundaryLevel::Unit).map(|mark| mark.offset);
    let mut units: Vec<_> = units.filter(is_head).collect();
    let second = starts.get(1).copied().unwrap_or(text.len());
    if let Some(first) = units.first().copied().filter(|first| *first < second)
        && let Some((words, _)) = text[..first].trim_start().split_once('\n')
        && text[..first].trim_start()[words.len()..].trim().is_empty()
    {
        units.remove(0);
    }
    assert_eq!(units, starts.into_iter().filter(|at| *at > head).collect::<Vec<_>>());
}

fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => prop::sample::select(vec![
            "\n", "\n\n", "\r\n", "2024-05-01 10:00:00 ", "INFO ", "[ERROR] ", "{\"level\":\"info\",\"a\":1}\n", "level=warn ",
            "\tat a.b(C:1)\n", "Caused by: x\n", "10.0.0.1 - - [22/Jan/2019:03:56:14 +0330] ", "Jun 14 15:16:01 host a: ",
            "D", "E/", "I0503 10:00:00 ", "[ 1.2] ", "\u{feff}", "\u{1b}[32m", "\"", "=", ":", "ts=", "é", " ", "\"level\":\"",
        ]).prop_map(str::to_owned),
        1 => "[a-zA-Z0-9 :=\\[\\]./-]{0,30}",
        1 => any::<String>(),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn entries_are_the_text(text in text()) {
        check(&text);
    }

    /// The recognisers of log lines find each time that the parser writes, and the parser reads what they find.
    #[test]
    fn recognisers_of_times_agree(timestamp in timestamp()) {
        let written = timestamp.write();
        let text = format!("{written} INFO up\n").repeat(3);
        let entries = read(&text);
        prop_assert_eq!(entries.len(), 3);
        for entry in entries {
            let found = entry.time.map(|time| time.slice(&text));
            prop_assert_eq!(found, Some(written.as_str()));
            prop_assert_eq!(found.and_then(Timestamp::parse), Some(timestamp));
        }
    }
}

/// Returns a time from 1970 to 2099.
fn timestamp() -> impl Strategy<Value = Timestamp> {
    let separator = prop::sample::select(vec![' ', 'T']);
    (0..4_102_444_800_i64, 0..1_000_u32, separator, any::<bool>()).prop_map(
        |(seconds, millis, separator, is_zoned)| Timestamp {
            seconds,
            nanos: millis * 1_000_000,
            is_date: false,
            separator,
            is_zoned,
        },
    )
}

#[test]
fn hostile_texts_have_entries() {
    for unit in [
        "\n",
        " ",
        "1",
        "1:",
        "10:00:00 ",
        "10:00:00\n",
        "Jun ",
        "{\"",
        "a=",
        "\"level\":",
        "\u{1b}[",
        "m",
        "é",
        "[",
        "-",
    ] {
        check(&unit.repeat((1 << 18) / unit.len()));
    }
}
