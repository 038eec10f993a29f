//! No token is good that was not issued.
#![no_main]

use libfuzzer_sys::fuzz_target;
use portion_core::cursor::{Keyring, Place, Pointer, Position, Scope};

fuzz_target!(|input: (&str, u16, u16, u32, bool)| {
    let (token, part, ordinal, offset, byte) = input;
    let (keyring, scope) = (Keyring::new(&[7; 32]), Scope::of("caller"));
    assert!(keyring.verify(token, &scope).is_err());
    let place = if byte { Place::Byte(offset) } else { Place::Item(offset) };
    let position = Position { part, ordinal: ordinal & 0x7fff, place };
    let pointer = Pointer { snapshot: *b"snapshot", view: *b"a view", position };
    let signed = keyring.sign(&pointer, &scope);
    assert_eq!(keyring.verify(signed.as_str(), &scope), Ok(pointer));
    assert!(keyring.verify(signed.as_str(), &Scope::of(token)).is_err() || token == "caller");
});
