//! Charges each cursor a token count that does not depend on its random bytes.
//!
//! The token count of a cursor varies with its random bytes. If a page were measured with them, it would hold
//! more records in one call than in an equal one. Decisions about content therefore count a text in which each
//! cursor is replaced by the most expensive one to the same position. So they do not depend on chance, and no
//! cursor costs more than its charge.
//!
//! Of the 48 characters of a cursor, 38 are random and 10 encode the position. The most expensive cursor has
//! digits, capitals and hyphens in turn in place of the random characters. Byte-level vocabularies split a text
//! there, so each of these characters is one token, and no text has more tokens than bytes. A cursor to the
//! start of a payload costs 40 tokens by `o200k` and `cl100k`, and 57 by `claude`. Counters by length charge all
//! cursors alike.

use std::borrow::Cow;

use memchr::memmem;

use super::CursorToken;

/// Returns the text with each of these cursors replaced by the most expensive one to the same position.
///
/// The length in bytes and on the wire does not change.
pub fn charged<'t>(text: &'t str, cursors: &[CursorToken]) -> Cow<'t, str> {
    let mut text = Cow::Borrowed(text);
    for cursor in cursors {
        let found: Vec<usize> = memmem::find_iter(text.as_bytes(), cursor.as_str()).collect();
        for at in found {
            text.to_mut().replace_range(at..at + cursor.as_str().len(), &cursor.most_expensive());
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::charged;
    use crate::cursor::{CursorTarget, CursorToken, Keyring, PartOffset, Position, Scope};
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

    fn cursor(state: &mut u64, position: Position) -> CursorToken {
        let secret = std::array::from_fn(|_| random(state) as u8);
        let view = std::array::from_fn(|_| random(state) as u8);
        let target = CursorTarget { snapshot: random(state).to_be_bytes(), view, position };
        Keyring::new(&secret).sign(&target, &Scope::from_principal("caller"))
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
            let cursor = cursor(state, Position::default());
            assert_eq!(
                tokenizer.counter().count(&charged(cursor.as_str(), std::slice::from_ref(&cursor))),
                expect,
                "{tokenizer}"
            );
        };
        for _ in 0..10 {
            check(Tokenizer::O200k, &mut state, 40);
            check(Tokenizer::Cl100k, &mut state, 40);
            check(Tokenizer::Claude, &mut state, 57);
            check(Tokenizer::Auto, &mut state, 57);
        }
    }

    #[test]
    fn cursors_are_replaced_wherever_they_stand() {
        let mut state = 3;
        let next = Position { offset: PartOffset::Item(50), ..Position::default() };
        let (here, next) = (cursor(&mut state, Position::default()), cursor(&mut state, next));
        let other = "A".repeat(48);
        let text = format!("{here} {next} {here}, not {other}");
        let (first, second) = (here.most_expensive(), next.most_expensive());
        assert_eq!((first.len(), second.len()), (48, 48));
        assert_eq!(charged(&text, &[here, next]), format!("{first} {second} {first}, not {other}"));
        assert_eq!(charged(&text, &[]), text);
    }
}
