//! Parses numbers and compares them without loss of digits.

use std::cmp::Ordering;

use super::equal::Decimal;

/// A JSON number.
#[derive(Clone, Debug)]
pub enum ParsedNumber {
    /// `digits / 10^places`, without trailing zeros.
    Decimal {
        /// The number times `10^places`.
        digits: i64,
        /// Decimal places.
        places: u8,
    },
    /// A number with more digits, or with an exponent, and its nearest double.
    Big(Box<Decimal>, f64),
}

/// Longest number without its sign that is parsed as a decimal.
const MAX_DECIMAL_DIGITS: usize = 19;

impl ParsedNumber {
    /// Parses a number that is valid JSON.
    pub fn parse(text: &str) -> Self {
        let bytes = text.as_bytes();
        let (negative, rest) = match bytes.split_first() {
            Some((b'-', rest)) => (true, rest),
            _ => (false, bytes),
        };
        if rest.len() <= MAX_DECIMAL_DIGITS
            && let Some((mut digits, mut places)) = parse_decimal(rest)
        {
            while places > 0 && digits % 10 == 0 {
                digits /= 10;
                places -= 1;
            }
            if let Ok(digits) = i64::try_from(digits) {
                return Self::Decimal { digits: if negative { -digits } else { digits }, places };
            }
        }
        let nearest = text.parse().unwrap_or(f64::NAN);
        Self::Big(Box::new(Decimal::parse_saturating(text)), nearest)
    }

    /// Returns the nearest double.
    pub fn to_f64(&self) -> f64 {
        match self {
            Self::Decimal { digits, places } => *digits as f64 / power_of_ten(*places) as f64,
            Self::Big(_, nearest) => *nearest,
        }
    }

    /// Compares by size, exactly. Exponents beyond 64 bits are equal.
    pub fn compare(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Decimal { digits: a, places: p }, Self::Decimal { digits: b, places: q }) if p == q => {
                a.cmp(b)
            }
            (Self::Decimal { digits: a, places: p }, Self::Decimal { digits: b, places: q }) => {
                // 63 bits times 10^19 fit 127.
                (i128::from(*a) * power_of_ten(q.saturating_sub(*p)))
                    .cmp(&(i128::from(*b) * power_of_ten(p.saturating_sub(*q))))
            }
            (Self::Big(a, _), Self::Big(b, _)) => a.cmp(b),
            (Self::Big(a, _), Self::Decimal { digits, places }) => {
                (**a).cmp(&Decimal::from_digits(*digits, *places))
            }
            (Self::Decimal { digits, places }, Self::Big(b, _)) => {
                Decimal::from_digits(*digits, *places).cmp(b)
            }
        }
    }
}

/// Returns the digits and the number of decimal places, or `None` for a number with an exponent.
#[inline]
fn parse_decimal(bytes: &[u8]) -> Option<(u64, u8)> {
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

/// Returns 10 to the power of at most `MAX_DECIMAL_DIGITS`.
pub fn power_of_ten(places: u8) -> i128 {
    POWERS_OF_TEN.get(usize::from(places)).copied().unwrap_or(i128::MAX)
}

const POWERS_OF_TEN: [i128; MAX_DECIMAL_DIGITS + 1] = {
    let mut powers = [1; MAX_DECIMAL_DIGITS + 1];
    let mut i = 1;
    while i <= MAX_DECIMAL_DIGITS {
        powers[i] = powers[i - 1] * 10;
        i += 1;
    }
    powers
};
