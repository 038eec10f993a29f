//! No token is good that was not issued.
#![no_main]

use libfuzzer_sys::fuzz_target;
use portion_core::cursor::{CursorTarget, Keyring, PartOffset, Position, Scope};

fuzz_target!(|input: (&str, u16, u16, u32, bool)| {
    let (token, part, ordinal, offset, byte) = input;
    let (keyring, scope) = (Keyring::new(&[7; 32]), Scope::from_principal("caller"));
    assert!(keyring.verify(token, &scope).is_err());
    let offset = if byte { PartOffset::Byte(offset) } else { PartOffset::Item(offset) };
    let position = Position { part, ordinal: ordinal & 0x7fff, offset };
    let target = CursorTarget { snapshot: *b"a shot", view: *b"aview", position };
    let signed = keyring.sign(&target, &scope);
    assert_eq!(keyring.verify(signed.as_str(), &scope), Ok(target));
    assert!(keyring.verify(signed.as_str(), &Scope::from_principal(token)).is_err() || token == "caller");
});
