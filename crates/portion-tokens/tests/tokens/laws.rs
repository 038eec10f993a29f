//! Properties of every counter for every text.

use portion_tokens::{BYTE_COUNTER, Factor, TokenCounter, Tokenizer};
use proptest::prelude::*;

use crate::texts::text;

/// Number of characters by which a prefix may be shorter than the longest that fits: those of the longest
/// token.
const SLACK: usize = 128;

/// Returns every counter, and some with the smallest, the largest and an odd factor.
fn counters() -> impl Iterator<Item = &'static dyn TokenCounter> {
    let factors = [(Tokenizer::Len4, 0.25), (Tokenizer::Claude, 4.0), (Tokenizer::Auto, 1.237)];
    let scaled = factors
        .map(|(tokenizer, factor)| tokenizer.scaled_counter(Factor::from_f64(factor).expect("a factor")));
    Tokenizer::ALL.into_iter().map(Tokenizer::counter).chain(scaled).chain([BYTE_COUNTER])
}

/// Returns the byte lengths of ever longer prefixes beyond `at`.
fn longer(text: &str, at: usize) -> impl Iterator<Item = usize> + '_ {
    text[at..].char_indices().map(move |(offset, c)| at + offset + c.len_utf8())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn the_exact_counters_are_exact(text in text()) {
        // The other implementation takes `'ſ` for the contraction `'s` only after some letters, the published pattern always.
        let text = text.replace('ſ', "s");
        for (tokenizer, encoding) in [(Tokenizer::O200k, "o200k_base"), (Tokenizer::Cl100k, "cl100k_base")] {
            let whole = tiktoken::get_encoding(encoding).expect("built in").count(&text);
            let counted = tokenizer.counter().count(&text);
            // The count may be too high only if a text has no seam for 4,096 bytes and is split.
            let torn = text.len() / 4_000;
            prop_assert!(whole <= counted && counted <= whole + 4 * torn, "{tokenizer}: {counted}, whole {whole}");
        }
    }

    #[test]
    fn auto_is_o200k_plus_a_tenth(text in text()) {
        let count = |tokenizer: Tokenizer| tokenizer.counter().count(&text);
        prop_assert_eq!(count(Tokenizer::Auto), (11 * count(Tokenizer::O200k)).div_ceil(10));
    }

    #[test]
    fn a_factor_multiplies_every_count(text in text(), factor in 0.25..4.0_f64) {
        let factor = Factor::from_f64(factor).expect("a factor");
        for tokenizer in Tokenizer::ALL {
            let (plain, scaled) = (tokenizer.counter().count(&text), tokenizer.scaled_counter(factor).count(&text));
            let expect = plain as f64 * factor.as_f64();
            prop_assert!((expect - 1e-6..expect + 1.0).contains(&(scaled as f64)), "{tokenizer}: {plain}, {scaled}");
        }
    }

    #[test]
    fn no_count_is_below_its_reference(text in text()) {
        for tokenizer in Tokenizer::ALL.into_iter().filter(|tokenizer| !tokenizer.is_length_based()) {
            let (counted, reference) = (tokenizer.counter().count(&text), tokenizer.reference_counter(Factor::ONE));
            prop_assert!(reference.count(&text) <= counted, "{tokenizer}");
        }
    }

    #[test]
    fn no_repeated_text_is_counted_below_its_reference(
        unit in "[{};:,.!-]{1,3}[a-zψé]{1,3}|[{};:ψ漢👍a'/]{1,6}",
        bytes in 4_000..14_000_usize,
    ) {
        let text = unit.repeat(bytes / unit.len());
        for tokenizer in [Tokenizer::O200k, Tokenizer::Cl100k] {
            let (counted, reference) = (tokenizer.counter().count(&text), tokenizer.reference_counter(Factor::ONE));
            prop_assert!(reference.count(&text) <= counted, "{tokenizer}");
        }
    }

    #[test]
    fn the_costs_of_parts_add_up_to_the_count(text in text(), cuts in prop::collection::vec(0.0..1.0_f64, 0..9)) {
        let at = |share: f64| text.floor_char_boundary((text.len() as f64 * share) as usize);
        let mut ends: Vec<usize> = cuts.into_iter().map(at).collect();
        ends.sort_unstable();
        ends.push(text.len());
        for counter in counters() {
            let costs = counter.part_costs(&text, &ends);
            let (count, sum) = (counter.count(&text), costs.iter().map(|cost| *cost as usize).sum::<usize>());
            prop_assert_eq!(costs.len(), ends.len());
            // Text that is torn every 4,096 bytes may be charged twice for it; one by length is rounded down as a whole.
            let max = count + 2 + count / 50 + 8 * (text.len() / 4_000);
            // A factor multiplies a count that was rounded up.
            prop_assert!(count <= sum.div_ceil(1000) + 4 && sum / 1000 <= max, "{}: {sum} for {count}", counter.name());
        }
    }

    #[test]
    fn early_exits_agree_with_the_count(text in text(), near in -3_isize..=3, share in 0.0..1.5) {
        for counter in counters() {
            let count = counter.count(&text);

            for limit in [count.saturating_add_signed(near), (count as f64 * share) as usize, text.len()] {
                let within = (count <= limit).then_some(count);
                prop_assert_eq!(counter.count_within(&text, limit), within, "{} within {}", counter.name(), limit);
                prop_assert_eq!(counter.fits(&text, limit), within.is_some());
            }
        }
    }

    #[test]
    fn a_prefix_fits_and_is_nearly_the_longest(text in text(), share in 0.0..1.2, more in 0_usize..50) {
        for counter in counters() {
            let limit = (counter.count(&text) as f64 * share) as usize;
            let end = counter.prefix_within(&text, limit);
            prop_assert!(counter.count(&text[..end]) <= limit, "{} within {}", counter.name(), limit);
            prop_assert_eq!(counter.prefix_within(&text[..end], limit), end);
            let further = counter.prefix_within(&text, limit + more);
            let short = text.get(further..end).map_or(0, |missing| missing.chars().count());
            prop_assert!(short <= SLACK, "{}: {} within {} more", counter.name(), further, more);
            let mut longer = longer(&text, end);
            if let Some(next) = longer.next() {
                prop_assert!(counter.count(&text[..next]) > limit, "{} within {}", counter.name(), limit);
            }
            for end in longer.skip(SLACK).step_by(17).take(8) {
                prop_assert!(counter.count(&text[..end]) > limit, "{} within {}", counter.name(), limit);
            }
        }
    }
}
