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

    use super::{HEADER_BYTES, pack, unpack};

    #[test]
    fn only_what_compresses_well_is_compressed() {
        let mut state = 7_u64;
        let noise: Vec<u8> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 40) as u8
        })
        .take(1_000)
        .collect();
        for (plain, is_compressed) in [
            (noise.clone(), false),
            (noise[..1].to_vec(), false),
            (Vec::new(), false),
            (noise.repeat(9), true),
            // Less than a hundredth is saved.
            ([vec![0; 25], noise.clone(), noise.iter().rev().skip(25).copied().collect()].concat(), false),
        ] {
            let packed = pack(&plain);
            assert_eq!(packed[0], u8::from(is_compressed), "{} bytes", plain.len());
            assert_eq!(packed.len() == HEADER_BYTES + plain.len(), !is_compressed);
            assert_eq!(unpack(&packed), Some(plain));
        }
        // The best ratio there is.
        let zeros = vec![0_u8; 4 << 20];
        let packed = pack(&zeros);
        assert!(packed.len() < zeros.len() / 200, "{} bytes", packed.len());
        assert_eq!(unpack(&packed), Some(zeros));
    }

    #[test]
    fn another_form_or_length_is_damage() {
        for plain in [b"plain".to_vec(), b"compressed ".repeat(50)] {
            let packed = pack(&plain);
            let changed = |at: usize, to: u8| {
                let mut changed = packed.clone();
                changed[at] = to;
                unpack(&changed)
            };
            assert_eq!(changed(0, 2), None);
            assert_eq!(changed(0, 1 - packed[0]), None);
            assert_eq!(changed(5, packed[5] + 1), None);
            assert_eq!(changed(5, packed[5] - 1), None);
            assert_eq!(changed(8, 0xff), None, "more bytes than it can have");
            assert_eq!(unpack(&packed[..HEADER_BYTES - 1]), None);
            assert_eq!(unpack(&packed[..packed.len() - 1]), None);
        }
    }

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
