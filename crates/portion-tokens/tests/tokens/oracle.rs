//! Compares two implementations of the same vocabularies.

use portion_tokens::{Factor, Tokenizer};
use proptest::prelude::*;

use crate::texts::text;

const VOCABULARIES: [(Tokenizer, &str); 2] =
    [(Tokenizer::O200k, "o200k_base"), (Tokenizer::Cl100k, "cl100k_base")];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn another_implementation_counts_the_same(text in text()) {
        // The other implementation does not take `'ſ` for the contraction `'s`, as the published patterns do.
        let text = text.replace('ſ', "s");
        // Short enough that no text is split.
        let text = &text[..text.floor_char_boundary(4_000)];
        for (tokenizer, name) in VOCABULARIES {
            prop_assert_eq!(tokenizer.counter().count(text), other(name).count(text));
        }
    }
}

/// Puts characters after a letter, before one, beside themselves and among spaces, 64 of them a text: all of the first
/// two planes of Unicode, and each sixteenth of the others.
#[test]
fn characters_count_as_in_another_implementation() {
    let characters: Vec<char> = ('\0'..'\u{20000}').chain(('\u{20000}'..=char::MAX).step_by(16)).collect();
    for some in characters.chunks(64) {
        let text: String =
            some.iter().flat_map(|c| ['x', *c, ' ', *c, 'B', *c, *c, '7', *c, '\n', '\'', *c]).collect();
        for (tokenizer, name) in VOCABULARIES {
            let expect = other(name).count(&text);
            assert_eq!(tokenizer.reference_counter(Factor::ONE).count(&text), expect, "{name}: {some:?}");
        }
    }
}

fn other(name: &str) -> &'static tiktoken::CoreBpe {
    tiktoken::get_encoding(name).expect("built in")
}
