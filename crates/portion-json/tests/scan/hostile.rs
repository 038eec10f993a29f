//! Hostile input for a parser: depth, size, and texts that are not JSON.

use portion_json::scan::{ExpectedKey, JsonKind, JsonReader, is_equivalent_json, minify, unescape_into};
use portion_json::span::Span;
use proptest::prelude::*;

use crate::json::near_json;
use crate::scan;

const DEEP: usize = 1_000_000;

#[test]
fn a_million_levels_are_accepted() {
    let arrays = format!("{}{}", "[".repeat(DEEP), "]".repeat(DEEP));
    let objects = format!("{}1{}", "{\"a\":".repeat(DEEP), "}".repeat(DEEP));
    let mixed = format!("{}{}", "[{\"a\":".repeat(DEEP / 2), "0".to_owned() + &"}]".repeat(DEEP / 2));
    for text in [arrays, objects, mixed] {
        assert_eq!(scan(&text).map(Span::len), Ok(text.len()));
        let mut out = String::new();
        minify(&text, &mut out);
        assert!(out == text && is_equivalent_json(&out, &text));
    }
}

#[test]
fn a_million_levels_that_do_not_close_are_refused() {
    for (open, at) in [("[", 1), ("{\"a\":", 5), ("[{\"a\":", 6)] {
        let text = open.repeat(DEEP);
        assert_eq!(scan(&text).map_err(|error| error.offset), Err(DEEP * at));
    }
    let crossed = format!("{}}}{}", "[".repeat(DEEP), "]".repeat(DEEP - 1));
    assert_eq!(scan(&crossed).map_err(|error| error.offset), Err(DEEP));
}

#[test]
fn the_wrong_bracket_is_found_at_every_depth_around_a_word_of_the_stack() {
    for depth in 1..200 {
        let text = format!("{}{{}}{}}}", "[".repeat(depth), "]".repeat(depth - 1));
        assert_eq!(scan(&text).map_err(|error| error.offset), Err(depth * 2 + 1), "{depth}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    /// From every offset, every step of a reader ends without a panic and moves forward.
    #[test]
    fn no_step_panics_wherever_it_begins(text in near_json(), at in any::<prop::sample::Index>(), steps in prop::collection::vec(0..10_u8, 1..12)) {
        let at = text.floor_char_boundary(at.index(text.len() + 1));
        let mut reader = JsonReader::resume(&text, at);
        for step in steps {
            let before = reader.at();
            let went = match step {
                0 => reader.skip().is_ok_and(|span| scan(reader.text(span)).is_ok()),
                1 => reader.skip_string().is_ok_and(|span| JsonKind::of_value(reader.text(span)) == JsonKind::String),
                2 => reader.next_key().is_ok_and(|key| key.is_none_or(|key| scan(reader.text(key)).is_ok())),
                3 => reader.next_item().is_ok(),
                4 => reader.enter_object().is_ok(),
                5 => reader.enter_array().is_ok(),
                6 => reader.try_read_integer().is_some(),
                7 => reader.skip_literal().is_ok_and(|word| scan(reader.text(word)).is_ok()),
                8 => reader.try_skip_key(&ExpectedKey::new("\"a\"")),
                _ => reader.peek().is_ok(),
            };
            prop_assert!(reader.at() >= before && reader.at() <= text.len());
            if !went {
                break;
            }
        }
    }

    /// Writers for valid JSON must only end for other input.
    #[test]
    fn no_writer_panics_on_invalid_json(text in near_json(), other in near_json()) {
        let mut out = String::new();
        minify(&text, &mut out);
        unescape_into(&text, &mut out);
        is_equivalent_json(&text, &other);
    }
}
