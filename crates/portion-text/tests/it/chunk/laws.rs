//! Properties of chunks for every text and all limits.

use portion_text::chunk::{CHUNKERS, ChunkLimits, Chunker, cut};
use portion_tokens::TokenCounter;
use proptest::prelude::*;

use super::{Chars, chunks};

/// Returns the bytes of a piece inside a JSON string.
fn escaped(piece: &str) -> usize {
    serde_json::to_string(piece).map_or(usize::MAX, |json| json.len() - 2)
}

/// Checks that the chunks join to the text, and that each is within the limits or a single character.
fn check(text: &str, from: usize, to: usize, chunker: &dyn Chunker, limits: &ChunkLimits) {
    let mut at = from;
    while at < to {
        let end = cut(text, at, to, chunker, limits);
        assert!(at < end && end <= to && text.is_char_boundary(end), "{at} {end} {to}");
        assert_eq!(end, cut(text, at, to, chunker, limits));
        let chunk = &text[at..end];
        let fits = limits.counter.count(chunk) <= limits.max_tokens
            && chunk.split_inclusive('\n').count() <= limits.max_lines
            && escaped(chunk) <= limits.max_bytes;
        assert!(fits || chunk.chars().count() == 1, "{} beyond the limits: {chunk:?}", chunker.name());
        at = end;
    }
}

/// A counter that sometimes counts more tokens for a shorter text, as real ones do.
struct Uneven;

impl TokenCounter for Uneven {
    fn name(&self) -> &'static str {
        "uneven"
    }

    fn count(&self, text: &str) -> usize {
        text.chars().count() / 2 + 2 * usize::from(text.len() % 3 == 1)
    }

    fn prefix_within(&self, text: &str, limit: usize) -> usize {
        let ends = text.char_indices().map(|(at, c)| at + c.len_utf8()).take(2 * limit + 2);
        ends.filter(|end| self.count(&text[..*end]) <= limit).last().unwrap_or(0)
    }
}

/// Generates text from pieces that chunkers recognise.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        2 => prop::sample::select(vec![
            "\n", "\n\n", "\r\n", "# ", "## T\n", "```", "```\n", "~~~", "- ", "  - ", "1. ", "| a | b |\n", "|---|---|\n",
            "> ", "<!--", "-->", "---\n", "===\n", "\t", "    ", "2024-05-01 10:00:00 ", "INFO ", "{\"a\":1}\n", "{", "}\n",
            "at a.b(C:1)\n", "Caused by: ", "#0 ", "Traceback (", ". ", "! ", "。", "？", "؟ ", "Dr. ", "\u{c}", "[Page 1]\n",
            "👨‍👩‍👧‍👦", "🇩🇪🇫🇷", "e\u{301}", "\u{feff}", "\u{1b}[0m", "\u{0}", "\"", "\\", "def f():\n", "1.1 Terms\n\n",
        ]).prop_map(str::to_owned),
        1 => "[a-zA-Z ,]{0,40}",
        1 => any::<String>(),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn chunks_are_the_text_and_within_the_limits(
        text in text(), tokens in 0..60usize, lines in 0..12usize, bytes in 0..300usize, kind in 0..CHUNKERS.len(),
        from in 0.0..1.0f64, to in 0.0..=1.0f64,
    ) {
        let at = |share: f64| text.floor_char_boundary((text.len() as f64 * share) as usize);
        let (from, to) = (at(from * to), at(to));
        for counter in [&Chars(1) as &dyn TokenCounter, &Chars(4), &Uneven] {
            check(&text, from, to, CHUNKERS[kind], &ChunkLimits { counter, max_tokens: tokens, max_lines: lines, max_bytes: bytes });
        }
    }

    #[test]
    fn any_offsets_are_accepted(text in any::<String>(), from in any::<usize>(), to in any::<usize>(), kind in 0..CHUNKERS.len()) {
        let limits = ChunkLimits { counter: &Chars(4), max_tokens: 3, max_lines: 2, max_bytes: 100 };
        let (from, to) = (from % (text.len() + 2), to % (text.len() + 2));
        let end = cut(&text, from, to, CHUNKERS[kind], &limits);
        prop_assert!(text.is_char_boundary(end) && end <= text.len());
    }

    #[test]
    fn a_stamped_entry_that_fits_is_whole(entries in prop::collection::vec(0..6usize, 3..60)) {
        let entry = |(index, frames): (usize, &usize)| {
            format!("2024-05-01 10:00:{:02} ERROR oh\n", index % 60) + &"\tat a.b.C(D.java:1)\n".repeat(*frames)
        };
        let text: String = entries.iter().enumerate().map(entry).collect();
        let limits = ChunkLimits { counter: &Chars(4), max_tokens: 60, max_lines: 200, max_bytes: 65_536 };
        prop_assert!(chunks(&text, &limits).iter().all(|chunk| chunk.starts_with("2024")));
    }

    #[test]
    fn a_paragraph_that_fits_is_whole(lengths in prop::collection::vec(1..12usize, 2..40)) {
        let paragraph = |words: &usize| format!("There were {}.\n\n", "a great many ".repeat(*words).trim_end());
        let text: String = lengths.iter().map(paragraph).collect();
        let limits = ChunkLimits { counter: &Chars(4), max_tokens: 50, max_lines: 200, max_bytes: 65_536 };
        prop_assert!(chunks(&text, &limits).iter().all(|chunk| chunk.starts_with("There")));
    }
}

/// Texts on which a scanner with unbounded look-back or look-ahead does not finish.
#[test]
fn hostile_texts_are_cut() {
    let units = [
        " ",
        "\n",
        "\r",
        "`",
        "```\n",
        "# \n",
        "- ",
        "a",
        ".",
        ". ",
        "。",
        "\u{301}",
        "\u{200d}",
        "🇩",
        "\u{0}",
        "<!--",
        "\u{c}\n",
        "2024-05-01 ",
        "10:00:00\n",
        "{\"",
        "|",
        "> ",
        "\t\n",
        "Caused by",
        "((((",
        "a.b.",
        "\u{1b}[0m",
        "…",
        "1.\n",
    ];
    for unit in units {
        let text = unit.repeat((1 << 18) / unit.len());
        for chunker in CHUNKERS {
            let limits =
                ChunkLimits { counter: &Chars(4), max_tokens: 2000, max_lines: 200, max_bytes: 65_536 };
            let (mut from, mut cuts) = (0, 0);
            while from < text.len() && cuts < 20 {
                let end = cut(&text, from, text.len(), *chunker, &limits);
                assert!(end > from);
                (from, cuts) = (end, cuts + 1);
            }
            // A single chunk may be as large as the token and line limits allow.
            let limits =
                ChunkLimits { max_tokens: 60_000, max_lines: usize::MAX, max_bytes: usize::MAX, ..limits };
            assert!(cut(&text, 3 * unit.len(), text.len(), *chunker, &limits) > 3 * unit.len());
        }
        assert!(!portion_text::chunk::chunker_for(&text).name().is_empty());
    }
}
