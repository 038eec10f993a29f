//! Long repetitions of one unit, which have crashed other counters.

use portion_tokens::{BYTE_COUNTER, Tokenizer};

const SIZE: usize = 1 << 20;

fn check(unit: &str) {
    let text = unit.repeat(SIZE / unit.len());
    for counter in Tokenizer::ALL.map(Tokenizer::counter).into_iter().chain([BYTE_COUNTER]) {
        let end = counter.prefix_within(&text, 4_000);
        let within = counter.count_within(&text[..end], 4_000);
        assert!(within.is_some_and(|n| n >= 3_990), "{} of {unit:?}: {within:?}", counter.name());
        assert!(!counter.fits(&text, 4_000), "{} of {unit:?}", counter.name());
    }
    assert!(Tokenizer::O200k.counter().count(&text) <= text.len());
}

#[test]
fn long_repetitions_are_counted() {
    for unit in
        [" ", "\n", "\t", "\r\n", " \n", "\0", "a", "A", "=", "0", "'s", "\\\"", "/\n", "\u{a0}\u{a0}x"]
    {
        check(unit);
    }
    for unit in [
        "👍",
        "👩‍👩‍👧",
        "\u{301}",
        "e\u{301}",
        "漢字仮名",
        "\u{3000}\u{3000}!",
        "\u{F0000}",
        "\u{200b}",
        "ー",
        "ไทย",
    ] {
        check(unit);
    }
}
