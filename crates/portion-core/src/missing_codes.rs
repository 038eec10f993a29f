//! Numbers that stand for missing values, such as -1 for missing and -3 for suppressed.
//!
//! Facts about columns and SQL treat them as missing. Views show them as they are.
//!
//! ```
//! use portion_core::missing_codes::MissingCodes;
//!
//! let codes = MissingCodes::parse(["-1=missing", "-3=suppressed"])?;
//! assert_eq!(codes.position(-3), Some(1));
//! assert_eq!(codes.to_string(), "-1 missing, -3 suppressed");
//! # Ok::<(), portion_core::missing_codes::InvalidCode>(())
//! ```

use std::fmt;
use std::sync::Arc;

use thiserror::Error;

/// Numbers that stand for missing values. Cheap to clone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MissingCodes(Arc<[MissingCode]>);

/// A number that stands for a missing value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingCode {
    /// The number.
    pub number: i64,
    /// Its meaning: `suppressed`.
    pub meaning: String,
}

/// An entry that is not a code.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("`{0}` is not a whole number with a meaning")]
pub struct InvalidCode(pub String);

impl MissingCodes {
    /// Parses entries such as `-1=missing`.
    ///
    /// # Errors
    /// The first entry that is not a whole number with a meaning.
    pub fn parse<'a>(entries: impl IntoIterator<Item = &'a str>) -> Result<Self, InvalidCode> {
        let parse = |entry: &str| {
            let (number, meaning) = entry.split_once('=')?;
            let (number, meaning) = (number.trim().parse().ok()?, meaning.trim());
            (!meaning.is_empty()).then(|| MissingCode { number, meaning: meaning.to_owned() })
        };
        let codes =
            entries.into_iter().map(|entry| parse(entry).ok_or_else(|| InvalidCode(entry.to_owned())));
        codes.collect::<Result<Vec<_>, _>>().map(|codes| Self(codes.into()))
    }

    /// Returns the entries from which [`parse`](Self::parse) makes the same codes.
    pub fn to_entries(&self) -> Vec<String> {
        self.0.iter().map(|code| format!("{}={}", code.number, code.meaning)).collect()
    }

    /// Returns the codes, in order.
    pub fn as_slice(&self) -> &[MissingCode] {
        &self.0
    }

    /// Returns true if there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the index of the code with this number.
    pub fn position(&self, number: i64) -> Option<usize> {
        self.0.iter().position(|code| code.number == number)
    }
}

impl fmt::Display for MissingCodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, MissingCode { number, meaning }) in self.0.iter().enumerate() {
            let comma = if at > 0 { ", " } else { "" };
            write!(f, "{comma}{number} {meaning}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{InvalidCode, MissingCodes};

    #[test]
    fn entries_are_numbers_with_meanings() {
        let codes = MissingCodes::parse([" -1 = missing ", "-2=not applicable"]).expect("codes");
        assert_eq!(codes.to_entries(), ["-1=missing", "-2=not applicable"]);
        for wrong in ["-1", "x=y", "1.5=y", "-1=", "=y"] {
            assert_eq!(MissingCodes::parse([wrong]), Err(InvalidCode(wrong.into())), "{wrong}");
        }
    }
}
