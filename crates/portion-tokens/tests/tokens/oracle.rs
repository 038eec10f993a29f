//! Compares two implementations of the same vocabularies.

use portion_tokens::Tokenizer;
use proptest::prelude::*;

use crate::texts::text;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn another_implementation_counts_the_same(text in text()) {
        // The other implementation does not take `'ſ` for the contraction `'s`, as the published patterns do.
        let text = text.replace('ſ', "s");
        // Short enough that no text is split.
        let text = &text[..text.floor_char_boundary(4_000)];
        prop_assert_eq!(Tokenizer::O200k.counter().count(text), bpe_openai::o200k_base().count(text));
        prop_assert_eq!(Tokenizer::Cl100k.counter().count(text), bpe_openai::cl100k_base().count(text));
    }
}
