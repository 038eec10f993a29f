//! The body of a cursor: the id of the snapshot, and what differs from the start of the whole result.
//!
//! After the id comes one byte of flags, then the part, the ordinal and the view as far as they are not zero, and the
//! offset as the rest. A number has no leading zero bytes.

use super::{CursorTarget, PartOffset, Position, SnapshotId, ViewId};

/// Bytes of a snapshot's id.
const ID_BYTES: usize = size_of::<SnapshotId>();
/// Bytes of a view's id.
const VIEW_BYTES: usize = size_of::<ViewId>();
/// Most bytes of a body: id, flags, part, view, ordinal and offset.
pub(super) const MAX_BODY_BYTES: usize = ID_BYTES + 1 + 2 + VIEW_BYTES + 2 + 4;

/// Flag of a cursor to a view other than the whole result.
const HAS_VIEW: u8 = 1;
/// Flag of an offset in bytes.
const IS_BYTE: u8 = 2;
/// Lowest bit of the two that count the bytes of the part.
const PART_BIT: u32 = 2;
/// Lowest bit of the four with the ordinal, or with the number of its bytes.
const ORDINAL_BIT: u32 = 4;
/// Smallest ordinal that the flags do not hold.
const MIN_LONG_ORDINAL: u16 = 14;
/// Largest ordinal.
const MAX_ORDINAL: u16 = (1 << 15) - 1;

/// Writes a target.
pub(super) fn encode(target: &CursorTarget) -> Vec<u8> {
    let CursorTarget { snapshot, view, position: Position { part, ordinal, offset } } = target;
    let mut bytes = snapshot.to_vec();
    let (has_view, ordinal) = (*view != ViewId::default(), (*ordinal).min(MAX_ORDINAL));
    let (byte_flag, offset) = match *offset {
        PartOffset::Item(at) => (0, at),
        PartOffset::Byte(at) => (IS_BYTE, at),
    };
    if !has_view && byte_flag == 0 && (*part, ordinal, offset) == (0, 0, 0) {
        return bytes;
    }
    let (part, long_ordinal) = (significant(u32::from(*part)), significant(u32::from(ordinal)));
    let ordinal_flags = match ordinal {
        ..MIN_LONG_ORDINAL => ordinal as u8,
        _ => (MIN_LONG_ORDINAL - 1) as u8 + long_ordinal.len() as u8,
    };
    let view_flag = if has_view { HAS_VIEW } else { 0 };
    bytes.push(view_flag | byte_flag | (part.len() as u8) << PART_BIT | ordinal_flags << ORDINAL_BIT);
    bytes.extend(part);
    if ordinal >= MIN_LONG_ORDINAL {
        bytes.extend(long_ordinal);
    }
    if has_view {
        bytes.extend_from_slice(view);
    }
    bytes.extend(significant(offset));
    bytes
}

/// Reads what [`encode`] wrote; `None` for other bytes.
pub(super) fn decode(body: &[u8]) -> Option<CursorTarget> {
    let (snapshot, mut rest) = body.split_first_chunk::<ID_BYTES>()?;
    let target = CursorTarget { snapshot: *snapshot, view: ViewId::default(), position: Position::default() };
    let Some(flags) = rest.split_off_first() else { return Some(target) };
    let part = number(rest.split_off(..usize::from(flags >> PART_BIT & 3))?)?;
    let ordinal = match u16::from(flags >> ORDINAL_BIT) {
        short @ ..MIN_LONG_ORDINAL => u32::from(short),
        long => number(rest.split_off(..=usize::from(long - MIN_LONG_ORDINAL))?)?,
    };
    let view = match flags & HAS_VIEW {
        0 => ViewId::default(),
        _ => ViewId::try_from(rest.split_off(..VIEW_BYTES)?).ok()?,
    };
    let offset = number(rest)?;
    let offset = if flags & IS_BYTE == 0 { PartOffset::Item(offset) } else { PartOffset::Byte(offset) };
    let position = Position { part: part.try_into().ok()?, ordinal: ordinal.try_into().ok()?, offset };
    Some(CursorTarget { view, position, ..target })
}

/// Returns the bytes of a number, big-endian, without leading zeros.
fn significant(number: u32) -> impl ExactSizeIterator<Item = u8> {
    let zeros = number.leading_zeros() as usize / 8;
    number.to_be_bytes().into_iter().skip(zeros)
}

/// Reads a big-endian number of at most four bytes.
fn number(bytes: &[u8]) -> Option<u32> {
    (bytes.len() <= 4).then(|| bytes.iter().fold(0, |number, byte| number << 8 | u32::from(*byte)))
}

const ALPHABET: &[u8; 26] = b"abcdefghijklmnopqrstuvwxyz";
const BASE: u32 = 25;
/// Bits per letter, log2(25), in thousandths, rounded down.
const MILLIBITS_PER_LETTER: usize = 4_643;

/// Returns the number of letters of this many bytes.
pub(super) const fn encoded_len(bytes: usize) -> usize {
    (bytes * 8_000).div_ceil(MILLIBITS_PER_LETTER)
}

/// Writes bytes as letters.
pub(super) fn write_letters(bytes: &[u8]) -> String {
    let mut number = bytes.to_vec();
    let mut digits: Vec<u8> = (0..encoded_len(bytes.len())).map(|_| divide(&mut number)).collect();
    digits.reverse();
    let mut last = ALPHABET.len() - 1;
    let letter = |digit: &u8| {
        last = (last + 1 + usize::from(*digit)) % ALPHABET.len();
        char::from(ALPHABET[last])
    };
    digits.iter().map(letter).collect()
}

/// Reads what [`encode`] wrote; `None` for every other text.
pub(super) fn read_letters(letters: &str) -> Option<Vec<u8>> {
    let len = letters.len() * MILLIBITS_PER_LETTER / 8_000;
    if letters.len() > super::MAX_LETTERS || encoded_len(len) != letters.len() {
        return None;
    }
    let mut number = vec![0; len];
    let mut last = ALPHABET.len() - 1;
    for letter in letters.bytes() {
        let at = usize::from(letter.checked_sub(b'a')?);
        if at >= ALPHABET.len() {
            return None;
        }
        let digit = (at + 2 * ALPHABET.len() - last - 1) % ALPHABET.len();
        multiply_add(&mut number, u32::try_from(digit).ok().filter(|digit| *digit < BASE)?)?;
        last = at;
    }
    Some(number)
}

/// Divides a number by the base, and returns the remainder.
fn divide(number: &mut [u8]) -> u8 {
    let mut rest = 0;
    for byte in number {
        let value = rest << 8 | u32::from(*byte);
        *byte = (value / BASE) as u8;
        rest = value % BASE;
    }
    rest as u8
}

/// Multiplies a number by the base and adds a digit; `None` if the result has more bytes.
fn multiply_add(number: &mut [u8], digit: u32) -> Option<()> {
    let mut carry = digit;
    for byte in number.iter_mut().rev() {
        let value = u32::from(*byte) * BASE + carry;
        *byte = (value & 0xff) as u8;
        carry = value >> 8;
    }
    (carry == 0).then_some(())
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::{decode, encode, encoded_len, read_letters, write_letters};
    use crate::cursor::{CursorTarget, PartOffset, Position, ViewId};

    const ID: [u8; 6] = [1, 2, 3, 4, 5, 6];
    const VIEW: ViewId = [9, 0, 0, 0, 0];

    /// `rest`: the bytes after the id.
    fn check(part: u16, ordinal: u16, offset: PartOffset, view: ViewId, rest: &[u8]) {
        let target = CursorTarget { snapshot: ID, view, position: Position { part, ordinal, offset } };
        let body = [&ID[..], rest].concat();
        assert_eq!(encode(&target), body, "{target:?}");
        let ordinal = ordinal.min(32_767);
        let read = CursorTarget { position: Position { ordinal, ..target.position }, ..target };
        assert_eq!(decode(&body), Some(read), "{target:?}");
    }

    #[test]
    fn only_what_is_not_zero_is_written() {
        use PartOffset::{Byte, Item};
        let whole = ViewId::default();
        check(0, 0, Item(0), whole, &[]);
        check(0, 0, Byte(0), whole, &[2]);
        check(0, 0, Item(1), whole, &[0, 1]);
        check(0, 0, Item(255), whole, &[0, 255]);
        check(0, 0, Byte(256), whole, &[2, 1, 0]);
        check(0, 0, Item(1 << 16), whole, &[0, 1, 0, 0]);
        check(0, 0, Item(u32::MAX), whole, &[0, 255, 255, 255, 255]);
        check(1, 0, Item(0), whole, &[4, 1]);
        check(255, 0, Item(0), whole, &[4, 255]);
        check(256, 0, Item(0), whole, &[8, 1, 0]);
        check(0, 0, Item(0), VIEW, &[1, 9, 0, 0, 0, 0]);
        check(256, 15, Byte(u32::MAX), VIEW, &[235, 1, 0, 15, 9, 0, 0, 0, 0, 255, 255, 255, 255]);
    }

    #[test]
    fn small_ordinals_are_part_of_the_flags() {
        let cases: [(u16, &[u8]); 7] = [
            (1, &[16]),
            (13, &[208]),
            (14, &[224, 14]),
            (255, &[224, 255]),
            (256, &[240, 1, 0]),
            (32_767, &[240, 127, 255]),
            (40_000, &[240, 127, 255]),
        ];
        for (ordinal, rest) in cases {
            check(0, ordinal, PartOffset::Item(0), ViewId::default(), rest);
        }
    }

    #[test]
    fn other_bytes_are_no_body() {
        for rest in
            [&[4][..], &[8, 1], &[12, 1, 0, 0], &[224], &[240, 1], &[1, 9, 0, 0, 0], &[0, 1, 0, 0, 0, 0]]
        {
            assert_eq!(decode(&[&ID[..], rest].concat()), None, "{rest:?}");
        }
        assert_eq!(decode(&ID[..5]), None);
        assert_eq!(decode(&[]), None);
    }

    #[test]
    fn bytes_have_a_fixed_spelling() {
        let cases: [(&[u8], &str); 7] = [
            (&[], ""),
            (&[0], "ab"),
            (&[1], "ac"),
            (&[255], "kq"),
            (&[0, 0], "abcd"),
            (&[1, 2, 3], "abgmeg"),
            (&[255; 26], "mfnsakncdwctmvaypiklumrpefjpojirotanvcikdgzpv"),
        ];
        for (bytes, letters) in cases {
            assert_eq!(write_letters(bytes), letters, "{bytes:?}");
            assert_eq!(read_letters(letters).as_deref(), Some(bytes), "{letters}");
        }
    }

    #[test]
    fn other_texts_are_no_bytes() {
        // Lengths of no bytes, a letter twice, numbers over 255, and other characters.
        for text in ["a", "aba", "bb", "za", "kr", "yx", "AB", "a{", "{b", "`b", "a`", "aé", "a ", "12"] {
            assert_eq!(read_letters(text), None, "{text}");
        }
        // Longer than any cursor.
        assert_eq!(read_letters(&write_letters(&[1; 27])), None);
    }

    proptest! {
        #[test]
        fn letters_are_read_back(bytes in vec(any::<u8>(), 0..27)) {
            let letters = write_letters(&bytes);
            prop_assert_eq!(letters.len(), encoded_len(bytes.len()));
            prop_assert!(letters.bytes().all(|letter| letter.is_ascii_lowercase()));
            prop_assert!(letters.as_bytes().windows(2).all(|pair| pair[0] != pair[1]), "{}", letters);
            prop_assert_eq!(read_letters(&letters), Some(bytes));
        }

        #[test]
        fn bytes_have_one_spelling(letters in "[a-z]{0,48}") {
            if let Some(bytes) = read_letters(&letters) {
                prop_assert_eq!(write_letters(&bytes), letters);
            }
        }
    }
}
