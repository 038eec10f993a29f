//! Writes bytes as lower-case letters, never the same letter twice in a row.
//!
//! Models copy such a text reliably: it has no runs, no case, no digits that could be read as a number, and no character
//! that a URL or a shell treats specially. Tokenizers of models split it into fewer tokens than base64 with as many bits.
//!
//! The bytes are one big-endian number, written in base 25. Each digit selects one of the 25 letters that differ from the
//! letter before it.

const ALPHABET: &[u8; 26] = b"abcdefghijklmnopqrstuvwxyz";
const BASE: u32 = 25;
/// Bits per letter, log2(25), in thousandths, rounded down.
const MILLIBITS_PER_LETTER: usize = 4_643;

/// Returns the number of letters of this many bytes.
pub(super) const fn encoded_len(bytes: usize) -> usize {
    (bytes * 8_000).div_ceil(MILLIBITS_PER_LETTER)
}

/// Writes bytes as letters.
pub(super) fn encode(bytes: &[u8]) -> String {
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
pub(super) fn decode(letters: &str) -> Option<Vec<u8>> {
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
    use super::{decode, encode, encoded_len};
    use proptest::collection::vec;
    use proptest::prelude::*;

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
            assert_eq!(encode(bytes), letters, "{bytes:?}");
            assert_eq!(decode(letters).as_deref(), Some(bytes), "{letters}");
        }
    }

    #[test]
    fn other_texts_are_no_bytes() {
        // Lengths of no bytes, a letter twice, numbers over 255, and other characters.
        for text in ["a", "aba", "bb", "za", "kr", "yx", "AB", "a{", "{b", "`b", "a`", "aé", "a ", "12"] {
            assert_eq!(decode(text), None, "{text}");
        }
        // Longer than any cursor.
        assert_eq!(decode(&encode(&[1; 27])), None);
    }

    proptest! {
        #[test]
        fn letters_are_read_back(bytes in vec(any::<u8>(), 0..27)) {
            let letters = encode(&bytes);
            prop_assert_eq!(letters.len(), encoded_len(bytes.len()));
            prop_assert!(letters.bytes().all(|letter| letter.is_ascii_lowercase()));
            prop_assert!(letters.as_bytes().windows(2).all(|pair| pair[0] != pair[1]), "{}", letters);
            prop_assert_eq!(decode(&letters), Some(bytes));
        }

        #[test]
        fn bytes_have_one_spelling(letters in "[a-z]{0,48}") {
            if let Some(bytes) = decode(&letters) {
                prop_assert_eq!(encode(&bytes), letters);
            }
        }
    }
}
