//! Packs fields for a store: compressed with LZ4 where that saves space, and with a checksum.
//!
//! A packed field is one byte for the form, four bytes with the CRC-32 of the plain bytes, four bytes with
//! their number (both little-endian), then the bytes.

use lz4_flex::block;

const HEADER_BYTES: usize = 9;
const PLAIN: u8 = 0;
const LZ4: u8 = 1;
/// A hundredth of the plain bytes must be saved, otherwise they are stored as they are.
const MIN_SAVED_FRACTION: usize = 100;
/// LZ4 compresses to one byte in 255 at best: a larger claim is invalid, and reserves no memory.
const MAX_RATIO: usize = 255;

/// Packs a field.
pub(crate) fn pack(plain: &[u8]) -> Vec<u8> {
    let compressed = block::compress(plain);
    let saves = compressed.len() + plain.len() / MIN_SAVED_FRACTION < plain.len();
    let (form, bytes) = if saves { (LZ4, &*compressed) } else { (PLAIN, plain) };
    let mut packed = Vec::with_capacity(HEADER_BYTES + bytes.len());
    packed.push(form);
    packed.extend_from_slice(&crc32fast::hash(plain).to_le_bytes());
    packed.extend_from_slice(&(plain.len() as u32).to_le_bytes());
    packed.extend_from_slice(bytes);
    packed
}

/// Unpacks a field; `None` if it is damaged.
pub(crate) fn unpack(packed: &[u8]) -> Option<Vec<u8>> {
    let (header, bytes) = packed.split_first_chunk::<HEADER_BYTES>()?;
    let [form, c0, c1, c2, c3, l0, l1, l2, l3] = *header;
    let len = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
    let plain = match form {
        PLAIN => bytes.to_vec(),
        LZ4 if len <= bytes.len().saturating_mul(MAX_RATIO) => block::decompress(bytes, len).ok()?,
        _ => return None,
    };
    let is_intact = plain.len() == len && crc32fast::hash(&plain) == u32::from_le_bytes([c0, c1, c2, c3]);
    is_intact.then_some(plain)
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::{pack, unpack};

    proptest! {
        #[test]
        fn what_was_packed_is_unpacked(plain in vec(any::<u8>(), 0..2_000), again in 1..40_usize) {
            let plain = plain.repeat(again);
            prop_assert_eq!(unpack(&pack(&plain)), Some(plain));
        }

        #[test]
        fn damage_is_noticed(plain in vec(any::<u8>(), 1..300), at in any::<prop::sample::Index>(), to in any::<u8>()) {
            let plain = plain.repeat(3);
            let mut packed = pack(&plain);
            let at = at.index(packed.len());
            packed[at] = to;
            let unpacked = unpack(&packed);
            prop_assert!(unpacked.is_none() || unpacked == Some(plain));
        }

        #[test]
        fn any_bytes_unpack_or_fail(bytes in vec(any::<u8>(), 0..200)) {
            let _ = unpack(&bytes);
        }
    }
}
