//! Fuzz target: no cursor is valid that was not issued.

use portion_core::cursor::{CursorTarget, Keyring, PartOffset, Position, Scope};

/// Input: nine bytes of a position, then a cursor.
pub(crate) fn check(input: &[u8]) {
    let Some(([p0, p1, n0, n1, o0, o1, o2, o3, unit], cursor)) = input.split_first_chunk() else { return };
    let Ok(cursor) = str::from_utf8(cursor) else { return };
    let (keyring, scope) = (Keyring::new(&[7; 32]), Scope::from_principal("caller"));
    assert!(keyring.verify(cursor, &scope).is_err());
    let offset = u32::from_le_bytes([*o0, *o1, *o2, *o3]);
    let offset = if unit % 2 == 1 { PartOffset::Byte(offset) } else { PartOffset::Item(offset) };
    let (part, ordinal) = (u16::from_le_bytes([*p0, *p1]), u16::from_le_bytes([*n0, *n1]) & 0x7fff);
    let target =
        CursorTarget { snapshot: *b"a shot", view: *b"aview", position: Position { part, ordinal, offset } };
    let signed = keyring.sign(&target, &scope);
    assert_eq!(keyring.verify(signed.as_str(), &scope), Ok(target));
    assert!(keyring.verify(signed.as_str(), &Scope::from_principal(cursor)).is_err() || cursor == "caller");
}
