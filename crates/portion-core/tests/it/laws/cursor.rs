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
        let in_url = token.clone().as_base64url();
        prop_assert!(in_url.as_str().len().is_multiple_of(4) && in_url.as_str().len() <= MAX_CURSOR_CHARS);
        prop_assert_eq!(keyring.verify(in_url.as_str(), &scope), Ok(pointer));
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

/// Instances of several versions share a store, and files outlive an update: the form of cursors stays.
#[test]
fn a_cursor_of_another_version_is_read() {
    let (keyring, scope) = (Keyring::new(&[7; 32]), Scope::from_principal("ada"));
    let position = Position { part: 3, ordinal: 20, offset: PartOffset::Byte(70_000) };
    let target = CursorTarget { snapshot: *b"a snap", view: *b"views", position };
    let check = |target: CursorTarget, token: &str| {
        assert_eq!(keyring.sign(&target, &scope).as_str(), token);
        assert_eq!(keyring.verify(token, &scope), Ok(target));
    };
    check(target, "bjhlwejnsmtjzpbnehrptxwqzitbykxfbadtozlk");
    check(
        CursorTarget { view: ViewId::default(), position: Position::default(), ..target },
        "ajeitmrktqfpnjglduqbq",
    );
    assert_eq!(MAX_CURSOR_CHARS, 48);
}

#[test]
fn cursors_of_one_snapshot_have_nothing_in_common() {
    let target = CursorTarget { snapshot: [0; 6], view: ViewId::default(), position: Position::default() };
    let start = |caller: usize| {
        let scope = Scope::from_principal(&caller.to_string());
        Keyring::new(&[1; 32]).sign(&target, &scope).as_str()[..5].to_owned()
    };
    let starts: std::collections::BTreeSet<String> = (0..100).map(start).collect();
    assert!(starts.len() > 95, "{} different", starts.len());
}

#[test]
fn scopes_are_equal_in_all_bytes_or_not() {
    let scope = Scope::from_principal("ada");
    assert!(scope.constant_time_eq(&Scope::from_principal("ada")));
    for (at, bit) in (0..32).flat_map(|at| (0..8).map(move |bit| (at, bit))) {
        let mut bytes = *scope.as_bytes();
        bytes[at] ^= 1 << bit;
        let other = Scope::from_bytes(&bytes).expect("32 bytes");
        assert!(!scope.constant_time_eq(&other) && other.as_bytes() == &bytes, "bit {bit} of byte {at}");
    }
    assert_eq!(Scope::from_bytes(&scope.as_bytes()[..31]), None);
}

#[test]
fn a_scope_is_read_from_its_digits() {
    let scope = Scope::from_principal("ada");
    let digits = scope.as_bytes().iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
    assert_eq!(Scope::from_hex(&digits), Some(scope));
    let upper = digits.to_uppercase();
    assert_eq!(Scope::from_hex(&upper), Some(scope));
    for wrong in [
        &digits[..63],
        &digits[..62],
        "",
        &format!("{digits}0"),
        &format!("{digits}00"),
        &digits.replace(&digits[..1], "g"),
        &format!("+{}", &digits[1..]),
    ] {
        assert_eq!(Scope::from_hex(wrong), None, "{wrong}");
    }
}

#[test]
fn scopes_of_different_parts_differ() {
    let of =
        |key: u8, parts: &[&str]| Scope::from_parts(&[key; 32], parts.iter().map(|part| part.as_bytes()));
    let scope = of(1, &["a", "bc"]);
    assert_eq!(scope, of(1, &["a", "bc"]));
    for other in [
        of(2, &["a", "bc"]),
        of(1, &["ab", "c"]),
        of(1, &["abc"]),
        of(1, &["a", "bc", ""]),
        of(1, &["", "a", "bc"]),
        of(1, &["bc", "a"]),
        of(1, &[]),
    ] {
        assert_ne!(scope, other);
    }
    let ada = Scope::from_principal("ada");
    assert_eq!(ada.derive("x"), ada.derive("x"));
    for other in [
        ada,
        ada.derive("y"),
        ada.derive(""),
        Scope::from_principal("bob").derive("x"),
        Scope::from_principal("x"),
    ] {
        assert_ne!(ada.derive("x"), other);
    }
}

#[test]
fn white_space_around_a_cursor_does_not_count() {
    let (keyring, scope) = (Keyring::new(&[1; 32]), Scope::from_principal("caller"));
    let target = CursorTarget { snapshot: [7; 6], view: ViewId::default(), position: Position::default() };
    let token = keyring.sign(&target, &scope);
    assert_eq!(token.to_string(), token.as_str());
    assert_eq!(keyring.verify(&format!(" {token}\r\n"), &scope), Ok(target));
    let (start, end) = token.as_str().split_at(9);
    for other in [
        format!("{start} {end}"),
        format!("{start}\n{end}"),
        format!("\"{token}\""),
        token.to_string().to_uppercase(),
    ] {
        assert_eq!(keyring.verify(&other, &scope), Err(InvalidCursor), "{other}");
    }
}

#[test]
fn characters_beside_the_letters_are_no_letters() {
    let (keyring, scope) = (Keyring::new(&[1; 32]), Scope::from_principal("caller"));
    for id in 0..50 {
        let target =
            CursorTarget { snapshot: [id; 6], view: ViewId::default(), position: Position::default() };
        let token = keyring.sign(&target, &scope);
        for (letter, other) in [('a', '{'), ('z', '`'), ('a', 'A')] {
            let bent = token.as_str().replacen(letter, &other.to_string(), 1);
            let expect = if bent == token.as_str() { Ok(target) } else { Err(InvalidCursor) };
            assert_eq!(keyring.verify(&bent, &scope), expect, "{bent}");
        }
    }
}

#[test]
fn all_earlier_keys_verify_and_none_is_shown() {
    let scope = Scope::from_principal("caller");
    let target = CursorTarget { snapshot: [7; 6], view: *b"views", position: Position::default() };
    let keyring = Keyring::new(&[1; 32]).with_earlier(&[[2; 32], [3; 32]]);
    for (key, expect) in [(1, Ok(target)), (2, Ok(target)), (3, Ok(target)), (4, Err(InvalidCursor))] {
        let token = Keyring::new(&[key; 32]).sign(&target, &scope);
        assert_eq!(keyring.verify(token.as_str(), &scope), expect, "key {key}");
    }
    assert_eq!(format!("{keyring:?}"), "Keyring");
}

#[test]
fn only_offset_zero_is_a_start() {
    for (offset, expect) in [
        (PartOffset::Item(0), true),
        (PartOffset::Byte(0), true),
        (PartOffset::Item(1), false),
        (PartOffset::Byte(1), false),
    ] {
        assert_eq!(offset.is_start(), expect, "{offset:?}");
    }
}

#[test]
fn an_ordinal_has_15_bits_and_saturates() {
    let (keyring, scope) = (Keyring::new(&[1; 32]), Scope::from_principal("caller"));
    let largest = (1 << 15) - 1;
    for (ordinal, expect) in
        [(largest - 1, largest - 1), (largest, largest), (1 << 15, largest), (u16::MAX, largest)]
    {
        let position = Position { ordinal, ..Position::default() };
        let token =
            keyring.sign(&CursorTarget { snapshot: [7; 6], view: ViewId::default(), position }, &scope);
        assert_eq!(keyring.verify(token.as_str(), &scope).map(|target| target.position.ordinal), Ok(expect));
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
