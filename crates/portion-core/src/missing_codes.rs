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

use portion_text::names;
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
    /// Word in the names of columns in which it is a value.
    pub except: Option<String>,
}

/// Separator of the meaning of a code and the word in the names of columns in which it is a value.
const EXCEPT: &str = " except ";

/// An entry that is not a code.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("`{0}` is not a whole number with a meaning")]
pub struct InvalidCode(pub String);

impl MissingCodes {
    /// Parses entries such as `-1=missing`, or `-1=missing except grade`: in a column `lowest_grade`, -1 is a value.
    ///
    /// # Errors
    /// The first entry that is not a whole number with a meaning.
    pub fn parse<'a>(entries: impl IntoIterator<Item = &'a str>) -> Result<Self, InvalidCode> {
        let parse = |entry: &str| {
            let (number, meaning) = entry.split_once('=')?;
            let (number, meaning) = (number.trim().parse().ok()?, meaning.trim());
            let (meaning, except) =
                meaning.split_once(EXCEPT).map_or((meaning, None), |(meaning, word)| (meaning, Some(word)));
            let except = except.map(|word| word.trim().to_lowercase());
            (!meaning.is_empty()).then(|| MissingCode { number, meaning: meaning.to_owned(), except })
        };
        let codes =
            entries.into_iter().map(|entry| parse(entry).ok_or_else(|| InvalidCode(entry.to_owned())));
        codes.collect::<Result<Vec<_>, _>>().map(|codes| Self(codes.into()))
    }

    /// Returns the entries from which [`parse`](Self::parse) makes the same codes.
    pub fn to_entries(&self) -> Vec<String> {
        let entry = |code: &MissingCode| {
            let except = code.except.as_ref().map_or_else(String::new, |word| format!("{EXCEPT}{word}"));
            format!("{}={}{except}", code.number, code.meaning)
        };
        self.0.iter().map(entry).collect()
    }

    /// Returns the codes of a column.
    #[must_use]
    pub fn of_column(&self, name: &str) -> Self {
        if self.0.iter().all(|code| code.except.is_none()) {
            return self.clone();
        }
        Self(self.0.iter().filter(|code| code.is_of(name)).cloned().collect())
    }

    /// Returns true if a number stands for a missing value in a column.
    pub fn has(&self, number: i64, name: &str) -> bool {
        self.0.iter().any(|code| code.number == number && code.is_of(name))
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

impl MissingCode {
    fn is_of(&self, column: &str) -> bool {
        let is_word = |word: &String| names::split_name(column).contains(word);
        !self.except.as_ref().is_some_and(is_word)
    }
}

impl fmt::Display for MissingCodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, MissingCode { number, meaning, .. }) in self.0.iter().enumerate() {
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
        let codes = MissingCodes::parse(["-1=missing except grade", "-3=suppressed"]).expect("codes");
        assert_eq!(codes.to_entries(), ["-1=missing except grade", "-3=suppressed"]);
        assert_eq!(codes.of_column("lowest_grade_offered").to_entries(), ["-3=suppressed"]);
        assert!(codes.has(-1, "enrollment") && codes.has(-3, "grade") && !codes.has(-1, "grade"));
        for wrong in ["-1", "x=y", "1.5=y", "-1=", "=y"] {
            assert_eq!(MissingCodes::parse([wrong]), Err(InvalidCode(wrong.into())), "{wrong}");
        }
    }
}
