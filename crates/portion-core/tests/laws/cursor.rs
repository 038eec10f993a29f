//! A cursor is valid only for the caller it was issued to, and only unchanged.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use portion_core::cursor::{CursorTarget, InvalidCursor, Keyring, PartOffset, Position, Scope};
use proptest::prelude::*;

use super::cases;

fn pointer() -> impl Strategy<Value = CursorTarget> {
    let place = prop_oneof![any::<u32>().prop_map(PartOffset::Item), any::<u32>().prop_map(PartOffset::Byte)];
    (any::<[u8; 8]>(), any::<[u8; 6]>(), any::<u16>(), 0..1_u16 << 15, place).prop_map(
        |(snapshot, view, part, ordinal, place)| {
            let position = Position { part, ordinal, offset: place };
            CursorTarget { snapshot, view, position }
        },
    )
}

proptest! {
    #![proptest_config(cases(10_000))]
    #[test]
    fn a_verified_token_has_its_target(pointer in pointer(), secret in any::<[u8; 32]>(), who in "[a-z]{0,4}") {
        let (keyring, scope) = (Keyring::new(&secret), Scope::from_principal(&who));
        let token = keyring.sign(&pointer, &scope);
        prop_assert_eq!(token.as_str().len(), 48);
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
    fn anything_else_is_refused(token in any::<String>(), like in "[A-Za-z0-9_-]{48}") {
        let (keyring, scope) = (Keyring::new(&[1; 32]), Scope::from_principal("caller"));
        prop_assert_eq!(keyring.verify(&token, &scope), Err(InvalidCursor));
        prop_assert_eq!(keyring.verify(&like, &scope), Err(InvalidCursor));
    }
}

proptest! {
    #![proptest_config(cases(100))]
    #[test]
    fn every_bit_counts(pointer in pointer()) {
        let (keyring, scope) = (Keyring::new(&[1; 32]), Scope::from_principal("caller"));
        let token = keyring.sign(&pointer, &scope);
        let bytes = URL_SAFE_NO_PAD.decode(token.as_str()).expect("base64");
        for bit in 0..bytes.len() * 8 {
            let mut bent = bytes.clone();
            bent[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(keyring.verify(&URL_SAFE_NO_PAD.encode(bent), &scope), Err(InvalidCursor));
        }
        for end in 0..48 {
            prop_assert_eq!(keyring.verify(&token.as_str()[..end], &scope), Err(InvalidCursor));
        }
        prop_assert_eq!(keyring.verify(&format!("{token}A"), &scope), Err(InvalidCursor));
        prop_assert_eq!(keyring.verify(&format!("{token}AAAA"), &scope), Err(InvalidCursor));
    }
}
