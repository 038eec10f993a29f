//! A cursor is valid only for the caller it was issued to, and only unchanged.

use portion_core::cursor::{
    CursorTarget, InvalidCursor, Keyring, MAX_CURSOR_CHARS, PartOffset, Position, Scope, ViewId,
};
use proptest::prelude::*;

use super::cases;

/// Letters of a cursor to the start of a whole result.
const WHOLE: usize = 21;

fn pointer() -> impl Strategy<Value = CursorTarget> {
    let place = prop_oneof![any::<u32>().prop_map(PartOffset::Item), any::<u32>().prop_map(PartOffset::Byte)];
    let small = prop_oneof![(0..300_u32).prop_map(PartOffset::Item), Just(PartOffset::Item(0))];
    let view = prop_oneof![Just(ViewId::default()), any::<ViewId>()];
    let part = prop_oneof![0..3_u16, any::<u16>()];
    let ordinal = prop_oneof![0..20_u16, 0..1_u16 << 15];
    (any::<[u8; 6]>(), view, part, ordinal, prop_oneof![place, small]).prop_map(
        |(snapshot, view, part, ordinal, offset)| CursorTarget {
            snapshot,
            view,
            position: Position { part, ordinal, offset },
        },
    )
}

proptest! {
    #![proptest_config(cases(10_000))]
    #[test]
    fn a_verified_token_has_its_target(pointer in pointer(), secret in any::<[u8; 32]>(), who in "[a-z]{0,4}") {
        let (keyring, scope) = (Keyring::new(&secret), Scope::from_principal(&who));
        let token = keyring.sign(&pointer, &scope);
        prop_assert!(token.as_str().len() <= MAX_CURSOR_CHARS);
        prop_assert_eq!(keyring.verify(token.as_str(), &scope), Ok(pointer));
        prop_assert_eq!(keyring.verify(token.as_str(), &Scope::from_principal(&format!("{who}x"))), Err(InvalidCursor));
        let mut other = secret;
        other[31] ^= 1;
        prop_assert_eq!(Keyring::new(&other).verify(token.as_str(), &scope), Err(InvalidCursor));
        // A key that signed earlier still verifies, and no longer signs.
        let rotated = Keyring::new(&other).with_earlier(&[secret]);
        prop_assert_eq!(rotated.verify(token.as_str(), &scope), Ok(pointer));
        prop_assert_eq!(keyring.verify(rotated.sign(&pointer, &scope).as_str(), &scope), Err(InvalidCursor));
    }

    #[test]
    fn a_cursor_of_a_whole_result_is_short(snapshot in any::<[u8; 6]>(), secret in any::<[u8; 32]>()) {
        let target = CursorTarget { snapshot, view: ViewId::default(), position: Position::default() };
        let token = Keyring::new(&secret).sign(&target, &Scope::from_principal("caller"));
        prop_assert_eq!(token.as_str().len(), WHOLE);
        prop_assert!(token.as_str().as_bytes().windows(2).all(|pair| pair[0] != pair[1]));
    }

    #[test]
    fn anything_else_is_refused(token in any::<String>(), like in "[a-z]{21,45}") {
        let (keyring, scope) = (Keyring::new(&[1; 32]), Scope::from_principal("caller"));
        prop_assert_eq!(keyring.verify(&token, &scope), Err(InvalidCursor));
        prop_assert_eq!(keyring.verify(&like, &scope), Err(InvalidCursor));
    }
}

proptest! {
    #![proptest_config(cases(100))]
    #[test]
    fn every_letter_counts(pointer in pointer()) {
        let (keyring, scope) = (Keyring::new(&[1; 32]), Scope::from_principal("caller"));
        let token = keyring.sign(&pointer, &scope);
        let token = token.as_str();
        for at in 0..token.len() {
            for letter in ('a'..='z').filter(|letter| !token[at..].starts_with(*letter)) {
                let bent = format!("{}{letter}{}", &token[..at], &token[at + 1..]);
                prop_assert_eq!(keyring.verify(&bent, &scope), Err(InvalidCursor));
            }
            prop_assert_eq!(keyring.verify(&token[..at], &scope), Err(InvalidCursor));
        }
        prop_assert_eq!(keyring.verify(&format!("{token}a"), &scope), Err(InvalidCursor));
        prop_assert_eq!(keyring.verify(&format!("{token}abab"), &scope), Err(InvalidCursor));
    }
}
