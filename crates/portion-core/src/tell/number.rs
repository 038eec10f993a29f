//! Numbers as they are written, compared without losing a digit.

use std::cmp::Ordering;

/// A number in JSON.
#[derive(Clone, Copy, Debug)]
pub(super) enum Number {
    /// `digits / 10^places`, without trailing zeros.
    Decimal { digits: i64, places: u8 },
    /// One of more digits, or with an exponent: its nearest double.
    Other(f64),
}

/// Characters of a number without its sign that fit 64 bits.
const FITS: usize = 19;

impl Number {
    /// Reads a number that is valid JSON.
    pub(super) fn of(text: &str) -> Self {
        let bytes = text.as_bytes();
        let (negative, rest) = match bytes.split_first() {
            Some((b'-', rest)) => (true, rest),
            _ => (false, bytes),
        };
        if rest.len() <= FITS
            && let Some((mut digits, mut places)) = decimal(rest)
        {
            while places > 0 && digits % 10 == 0 {
                digits /= 10;
                places -= 1;
            }
            if let Ok(digits) = i64::try_from(digits) {
                return Self::Decimal { digits: if negative { -digits } else { digits }, places };
            }
        }
        Self::Other(text.parse().unwrap_or(f64::NAN))
    }

    /// Its nearest double.
    pub(super) fn float(self) -> f64 {
        match self {
            Self::Decimal { digits, places } => digits as f64 / power(places) as f64,
            Self::Other(float) => float,
        }
    }

    /// By size, exactly where both are decimal.
    pub(super) fn order(self, other: Self) -> Ordering {
        match (self, other) {
            (Self::Decimal { digits: a, places: p }, Self::Decimal { digits: b, places: q }) if p == q => {
                a.cmp(&b)
            }
            (Self::Decimal { digits: a, places: p }, Self::Decimal { digits: b, places: q }) => {
                // 63 bits times 10^19 fit 127.
                (i128::from(a) * power(q.saturating_sub(p)))
                    .cmp(&(i128::from(b) * power(p.saturating_sub(q))))
            }
            _ => self.float().total_cmp(&other.float()),
        }
    }
}

/// Digits and the places after the point; `None` where there is an exponent.
#[inline]
fn decimal(bytes: &[u8]) -> Option<(u64, u8)> {
    let (mut digits, mut places, mut fraction) = (0_u64, 0_u8, 0_u8);
    for byte in bytes {
        match byte {
            b'0'..=b'9' => {
                digits = digits.wrapping_mul(10).wrapping_add(u64::from(byte - b'0'));
                places += fraction;
            }
            b'.' => fraction = 1,
            _ => return None,
        }
    }
    Some((digits, places))
}

/// 10 to the power of at most [`FITS`].
pub(super) fn power(places: u8) -> i128 {
    POWERS.get(usize::from(places)).copied().unwrap_or(i128::MAX)
}

const POWERS: [i128; FITS + 1] = {
    let mut powers = [1; FITS + 1];
    let mut i = 1;
    while i <= FITS {
        powers[i] = powers[i - 1] * 10;
        i += 1;
    }
    powers
};
