//! Finds special bytes in many bytes of a string at once.
//!
//! Short strings are scanned in blocks of 16 bytes, which a run between two escapes of JSON inside JSON
//! seldom exceeds; long ones in blocks of 64, each byte becoming a bit, so that all escapes are known
//! before the first is followed. Both use plain arithmetic on words, which compilers turn into SIMD
//! instructions.

/// Bytes that [`plain_prefix_len`] examines.
pub(super) const BLOCK_BYTES: usize = 16;
/// Bytes that [`byte_mask`] examines.
pub(super) const WIDE_BLOCK_BYTES: usize = 64;

const LOW_BITS: u64 = 0x0101_0101_0101_0101;
const HIGH_BITS: u64 = LOW_BITS << 7;

/// Counts the bytes of a block before the first byte that ends a run of plain string text: a quote, a
/// backslash, or a control character.
#[inline]
pub(super) fn plain_prefix_len(block: &[u8]) -> usize {
    let (Some((low, rest)), true) = (block.split_first_chunk::<8>(), block.len() == BLOCK_BYTES) else {
        return 0;
    };
    let high: [u8; 8] = rest.try_into().unwrap_or_default();
    let (low, high) =
        (special_byte_mask(u64::from_le_bytes(*low)), special_byte_mask(u64::from_le_bytes(high)));
    let at = if low != 0 { low.trailing_zeros() } else { 64 + high.trailing_zeros() };
    at as usize / 8
}

/// Sets the high bit of each byte that is a quote, a backslash, or a control character. Only the lowest
/// set bit is exact.
#[inline]
fn special_byte_mask(word: u64) -> u64 {
    let zero = |word: u64| word.wrapping_sub(LOW_BITS) & !word;
    let quote = zero(word ^ (LOW_BITS * u64::from(b'"')));
    let backslash = zero(word ^ (LOW_BITS * u64::from(b'\\')));
    let control = word.wrapping_sub(LOW_BITS * 0x20) & !word;
    (quote | backslash | control) & HIGH_BITS
}

/// Counts the bytes before the first that is not a digit.
#[inline]
pub(super) fn digit_prefix_len(block: [u8; 8]) -> usize {
    // The high half of a digit is 3, and adding 6 does not carry into it.
    let word = u64::from_le_bytes(block);
    let high = LOW_BITS * 0xf0;
    let three = LOW_BITS * 0x30;
    let others = ((word & high) ^ three) | ((word.wrapping_add(LOW_BITS * 6) & high) ^ three);
    others.trailing_zeros() as usize / 8
}

/// Returns a mask with one bit per byte, the first byte being the lowest bit: set where `is` holds.
#[inline]
pub(super) fn byte_mask(bytes: &[u8; WIDE_BLOCK_BYTES], is: impl Fn(u8) -> bool) -> u64 {
    // Multiplying by this gathers eight bytes that are 0 or 1 into the bits of the highest byte.
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let found = bytes.map(|byte| u8::from(is(byte)));
    let (words, _) = found.as_chunks::<8>();
    let bits = |word: &[u8; 8]| u64::from_le_bytes(*word).wrapping_mul(GATHER) >> 56;
    words.iter().rev().fold(0, |mask, word| mask << 8 | bits(word))
}

/// Skips, inside a string, whole blocks of plain text and valid escapes. Stops at most two blocks before
/// the end of the string or before a malformed byte.
pub(super) fn skip_plain_blocks(bytes: &[u8], from: usize) -> usize {
    let mut at = from;
    // 1 if the last byte of the previous block is a backslash that escapes the first byte of this one.
    let mut carried = 0;
    while let Some(block) = bytes.get(at..).and_then(|rest| rest.first_chunk::<WIDE_BLOCK_BYTES>()) {
        let (escaped, carry) = escaped_byte_mask(byte_mask(block, |b| b == b'\\'), carried);
        let ends = byte_mask(block, |b| b == b'"' || b < 0x20) & !escaped;
        if ends != 0 || !has_valid_escapes(bytes, at, block, escaped) {
            break;
        }
        (at, carried) = (at + WIDE_BLOCK_BYTES, carry);
    }
    at - carried as usize
}

/// Returns the mask of escaped bytes, given the mask of backslashes, and 1 if the first byte of the next
/// block is escaped.
///
/// A run of backslashes is added to itself where it begins at an odd place: the carry at its end tells if
/// its length is odd. The method is that of simdjson (Langdale and Lemire, 2019).
#[inline]
fn escaped_byte_mask(backslashes: u64, carried: u64) -> (u64, u64) {
    const EVEN: u64 = 0x5555_5555_5555_5555;
    let backslashes = backslashes & !carried;
    let follows = backslashes << 1 | carried;
    let odd_starts = backslashes & !EVEN & !follows;
    let (even_runs, carry) = odd_starts.overflowing_add(backslashes);
    ((EVEN ^ (even_runs << 1)) & follows, u64::from(carry))
}

/// Returns true if all escapes of the block at offset `at` are valid.
#[inline]
fn has_valid_escapes(bytes: &[u8], at: usize, block: &[u8; WIDE_BLOCK_BYTES], mut escaped: u64) -> bool {
    while escaped != 0 {
        let place = escaped.trailing_zeros() as usize;
        escaped &= escaped - 1;
        match block[place] {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => {}
            b'u' => {
                let digits = bytes.get(at + place + 1..at + place + 5);
                if !digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)) {
                    return false;
                }
            }
            _ => return false,
        }
    }
    true
}
