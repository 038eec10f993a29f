//! Charges each cursor a token count that does not depend on its random letters.
//!
//! The token count of a cursor varies with its random letters. If a page were measured with them, it would hold
//! more records in one call than in an equal one. Decisions about content therefore count a text in which each
//! cursor is replaced by the most expensive text of its length. So they do not depend on chance, and no cursor
//! costs more than its charge.
//!
//! The most expensive text has letters that no vocabulary joins, so that each of them is one token; no text has more
//! tokens than bytes. A digit begins it, because vocabularies join no digit to the text before it. A cursor to the start
//! of a result is charged 21 tokens by `o200k`, `cl100k` and `claude`, and 24 by `auto`. Counters by length charge all cursors alike.

use std::borrow::Cow;

use memchr::memmem;

use super::{CursorTarget, CursorToken, TAG_BYTES, body, letters};

/// Most expensive characters, one token each.
const MOST_EXPENSIVE: &str = "0qjzqjzqjzqjzqjzqjzqjzqjzqjzqjzqjzqjzqjzqjzqjzqjz";

/// Returns the text with each of these cursors replaced by the most expensive text of its length.
///
/// The length in bytes and on the wire does not change.
pub fn charged<'t>(text: &'t str, cursors: &[CursorToken]) -> Cow<'t, str> {
    let mut text = Cow::Borrowed(text);
    for cursor in cursors {
        let found: Vec<usize> = memmem::find_iter(text.as_bytes(), cursor.as_str()).collect();
        for at in found {
            text.to_mut().replace_range(at..at + cursor.as_str().len(), most_expensive(cursor));
        }
    }
    text
}

/// Returns a text that is charged like the cursor to `target`, for a draft of a reply that nobody receives.
pub(crate) fn stand_in(target: &CursorTarget) -> CursorToken {
    let len = letters::encoded_len(body::encode(target).len() + TAG_BYTES);
    CursorToken(MOST_EXPENSIVE[..len.min(MOST_EXPENSIVE.len())].to_owned())
}

/// Returns the most expensive text of a cursor's length.
fn most_expensive(cursor: &CursorToken) -> &'static str {
    MOST_EXPENSIVE.get(..cursor.as_str().len()).unwrap_or(MOST_EXPENSIVE)
}

#[cfg(test)]
mod tests {
    use super::{charged, most_expensive, stand_in};
    use crate::cursor::{CursorTarget, CursorToken, Keyring, PartOffset, Position, Scope, ViewId};
    use portion_tokens::{BYTE_COUNTER, TokenCounter, Tokenizer};

    /// Text around cursors in notices, envelopes, structured content, faults and URIs.
    const AROUND: [(&str, &str); 8] = [
        ("{\"nextCursor\":\"", "\",\"totalCount\":500}"),
        ("{\"meta\":{\"cursor\":\"", "\"}}"),
        ("{\"arguments\":{\"cursor\":\"", "\",\"section\":\"lines\"}}"),
        ("{\"notShown\":{\"items\":3,\"cursor\":\"", "\"},\"nextCursor\":\"x\"}"),
        ("[{\"nextCursor\": \"", "\" }]"),
        ("{\"nextUri\":\"portion://read/", "\"}"),
        ("[image/png; resources/read portion://read/", "?path=/content/0/data reads it]"),
        ("cursor=", ""),
    ];

    fn counters() -> Vec<&'static dyn TokenCounter> {
        Tokenizer::ALL.iter().map(|tokenizer| tokenizer.counter()).chain([BYTE_COUNTER]).collect()
    }

    /// Returns the next number of the generator `SplitMix64`.
    fn random(state: &mut u64) -> u64 {
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = *state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn cursor_to(state: &mut u64, view: ViewId, position: Position) -> CursorToken {
        let secret = std::array::from_fn(|_| random(state) as u8);
        let snapshot = std::array::from_fn(|_| random(state) as u8);
        Keyring::new(&secret)
            .sign(&CursorTarget { snapshot, view, position }, &Scope::from_principal("caller"))
    }

    fn cursor(state: &mut u64, position: Position) -> CursorToken {
        let view: ViewId = std::array::from_fn(|_| random(state) as u8);
        let is_whole = view[0].is_multiple_of(2);
        cursor_to(state, if is_whole { ViewId::default() } else { view }, position)
    }

    fn positions(state: &mut u64) -> [Position; 4] {
        let at = random(state);
        let (part, ordinal, offset) = (at as u16, (at >> 16) as u16, (at >> 32) as u32);
        let some = Position { part: part % 9, ordinal: ordinal % 30, offset: PartOffset::Item(offset % 900) };
        [
            Position::default(),
            some,
            Position { offset: PartOffset::Byte(offset % 5_000_000), ..some },
            Position { part, ordinal, offset: PartOffset::Byte(offset) },
        ]
    }

    #[test]
    fn no_cursor_costs_more_than_its_charge() {
        let mut state = 7;
        for _ in 0..300 {
            for position in positions(&mut state) {
                let cursor = cursor(&mut state, position);
                for ((before, after), counter) in
                    AROUND.iter().flat_map(|a| counters().into_iter().map(move |c| (a, c)))
                {
                    let text = format!("{before}{cursor}{after}");
                    let (cost, charge) =
                        (counter.count(&text), counter.count(&charged(&text, std::slice::from_ref(&cursor))));
                    assert!(cost <= charge, "{}: {cost} of {charge}: {text}", counter.name());
                }
            }
        }
    }

    #[test]
    fn cursors_to_one_position_are_charged_alike() {
        let mut state = 9;
        let check = |tokenizer: Tokenizer, state: &mut u64, expect| {
            let cursor = cursor_to(state, ViewId::default(), Position::default());
            assert_eq!(
                tokenizer.counter().count(&charged(cursor.as_str(), std::slice::from_ref(&cursor))),
                expect,
                "{tokenizer}"
            );
        };
        for _ in 0..10 {
            check(Tokenizer::O200k, &mut state, 21);
            check(Tokenizer::Cl100k, &mut state, 21);
            check(Tokenizer::Claude, &mut state, 21);
            check(Tokenizer::Auto, &mut state, 24);
        }
    }

    #[test]
    fn a_stand_in_is_charged_like_its_cursor() {
        let mut state = 5;
        for position in positions(&mut state) {
            for view in [ViewId::default(), [1; 5]] {
                let target = CursorTarget { snapshot: [7; 6], view, position };
                let cursor = Keyring::new(&[1; 32]).sign(&target, &Scope::from_principal("caller"));
                assert_eq!(stand_in(&target).as_str(), most_expensive(&cursor), "{target:?}");
                assert_eq!(stand_in(&target).as_str().len(), cursor.as_str().len(), "{target:?}");
            }
        }
    }

    #[test]
    fn cursors_are_replaced_wherever_they_stand() {
        let mut state = 3;
        let next = Position { offset: PartOffset::Item(50), ..Position::default() };
        let (here, next) = (cursor(&mut state, Position::default()), cursor(&mut state, next));
        let other = "a".repeat(here.as_str().len());
        let text = format!("{here} {next} {here}, not {other}");
        let (first, second) = (most_expensive(&here), most_expensive(&next));
        assert_eq!((first.len(), second.len()), (here.as_str().len(), next.as_str().len()));
        assert_eq!(charged(&text, &[here, next]), format!("{first} {second} {first}, not {other}"));
        assert_eq!(charged(&text, &[]), text);
    }
}
