//! The counters an operator can choose between, by name.

use std::fmt;
use std::str::FromStr;

use super::TokenCounter;
use super::length::{CHARS4, LEN4};
use super::vocabulary::{AUTO, CL100K, CLAUDE, O200K};

/// Which counter decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Tokenizer {
    /// The costlier of `o200k` and `claude`: fits whichever model reads it.
    #[default]
    Auto,
    /// Exact for models of the GPT-4o family and later.
    O200k,
    /// Exact for models of the GPT-4 family.
    Cl100k,
    /// Estimated for Claude, 10 % upwards; its vocabulary is not published.
    Claude,
    /// Characters / 4, and 20 % on top.
    Chars4,
    /// Characters / 4.
    Len4,
}

/// A name that is no tokenizer's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown tokenizer `{given}`: use {}", Tokenizer::names())]
pub struct UnknownTokenizer {
    /// What was given.
    pub given: String,
}

impl Tokenizer {
    /// Every tokenizer, the default one first.
    pub const ALL: [Self; 6] =
        [Self::Auto, Self::O200k, Self::Cl100k, Self::Claude, Self::Chars4, Self::Len4];

    /// Its counter, shared by the whole process.
    ///
    /// A vocabulary is unpacked when it first counts; [`warm`](Self::warm) does so ahead of time.
    pub fn counter(self) -> &'static dyn TokenCounter {
        match self {
            Self::Auto => &AUTO,
            Self::O200k => &O200K,
            Self::Cl100k => &CL100K,
            Self::Claude => &CLAUDE,
            Self::Chars4 => &CHARS4,
            Self::Len4 => &LEN4,
        }
    }

    /// What can catch this tokenizer where it is badly wrong: an exact counter, for those that look at the length alone.
    pub fn auditor(self) -> Option<&'static dyn TokenCounter> {
        matches!(self, Self::Chars4 | Self::Len4).then(|| Self::O200k.counter())
    }

    /// Unpacks the vocabulary, so that the first request need not wait for it.
    pub fn warm(self) {
        self.counter().count("warm");
    }

    fn names() -> String {
        Self::ALL.map(|t| t.to_string()).join(", ")
    }
}

impl fmt::Display for Tokenizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.counter().name())
    }
}

impl FromStr for Tokenizer {
    type Err = UnknownTokenizer;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let named = Self::ALL.into_iter().find(|t| t.counter().name() == name);
        named.ok_or_else(|| UnknownTokenizer { given: name.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::Tokenizer;

    #[test]
    fn names_are_read_as_they_are_written() {
        for tokenizer in Tokenizer::ALL {
            assert_eq!(tokenizer.to_string().parse(), Ok(tokenizer));
        }
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_known_ones() {
        let error = "gpt-4".parse::<Tokenizer>().expect_err("no tokenizer");
        assert_eq!(
            error.to_string(),
            "unknown tokenizer `gpt-4`: use auto, o200k, cl100k, claude, chars4, len4"
        );
    }
}
