//! Names the counters that an operator can choose.

use std::fmt;
use std::str::FromStr;

use super::bpe::Bpe;
use super::factor::Factor;
use super::length::{CHARS4, LEN4};
use super::vocabulary::{AUTO, CL100K, CLAUDE, O200K};
use super::{TokenCounter, factor};
use crate::accuracy::{ReferenceCounter, ReferenceKind};

/// The counter to use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Tokenizer {
    /// `o200k` plus 10 %, where the model is not known.
    #[default]
    Auto,
    /// Exact for models of the GPT-4o family and later.
    O200k,
    /// Exact for models of the GPT-4 family.
    Cl100k,
    /// Estimate for Claude plus 10 %; its vocabulary is not published.
    Claude,
    /// Characters / 4, plus 20 %.
    Chars4,
    /// Characters / 4.
    Len4,
}

/// The error for an unknown name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown tokenizer `{given}`: use {}", Tokenizer::names())]
pub struct UnknownTokenizer {
    /// The given name.
    pub given: String,
}

impl Tokenizer {
    /// All tokenizers, the default one first.
    pub const ALL: [Self; 6] =
        [Self::Auto, Self::O200k, Self::Cl100k, Self::Claude, Self::Chars4, Self::Len4];

    /// The counter of sizes that commands report: exact, and the same for every client.
    pub const MEASURE: Self = Self::O200k;

    /// Returns the counter, which the whole process shares.
    ///
    /// The tables of a vocabulary are built at the first count, or by [`prepare`](Self::prepare).
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

    /// Builds the tables of the vocabulary, in some milliseconds, so that no later count takes these.
    pub fn prepare(self) {
        self.counter().count(" ");
    }

    /// Returns the shared counter that multiplies every count by a factor.
    pub fn scaled_counter(self, factor: Factor) -> &'static dyn TokenCounter {
        factor::scaled_counter(self, factor)
    }

    /// Returns the counter that the counts of this one, times a factor, are compared with.
    ///
    /// - For `o200k`, `cl100k` and `auto`: exact for models of `o200k` and `cl100k`, the text encoded in one
    ///   piece. Counters split text that has no boundary, and then err upwards. For other models, the
    ///   operator's factor makes it the best available estimate.
    /// - For `claude`: the estimate without its margin of 10 %, times the factor. This cannot show the
    ///   error of the estimate itself; the usage that a model reports can.
    /// - For `chars4` and `len4`, which belong to no family: exact `o200k`. There a factor corrects the
    ///   rule, and the reference stays the same.
    pub fn reference_counter(self, factor: Factor) -> ReferenceCounter {
        match self {
            Self::Auto | Self::O200k => ReferenceCounter::new(ReferenceKind::Exact(Bpe::O200k), factor),
            Self::Cl100k => ReferenceCounter::new(ReferenceKind::Exact(Bpe::Cl100k), factor),
            Self::Claude => ReferenceCounter::new(ReferenceKind::Claude, factor),
            Self::Chars4 | Self::Len4 => ReferenceCounter::new(ReferenceKind::Exact(Bpe::O200k), Factor::ONE),
        }
    }

    /// Returns true if it uses only the length, and can be wrong by any factor: replies that it lets
    /// through are counted again before they are sent.
    pub fn is_length_based(self) -> bool {
        matches!(self, Self::Chars4 | Self::Len4)
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
    fn names_round_trip() {
        for tokenizer in Tokenizer::ALL {
            assert_eq!(tokenizer.to_string().parse(), Ok(tokenizer));
        }
    }

    #[test]
    fn the_error_lists_the_known_names() {
        let error = "gpt-4".parse::<Tokenizer>().expect_err("no tokenizer");
        assert_eq!(
            error.to_string(),
            "unknown tokenizer `gpt-4`: use auto, o200k, cl100k, claude, chars4, len4"
        );
    }
}
