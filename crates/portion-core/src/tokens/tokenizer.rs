//! The counters an operator can choose between, by name.

use std::fmt;
use std::str::FromStr;

use super::TokenCounter;
use super::bpe::Bpe;
use super::factor::{self, Factor};
use super::length::{CHARS4, LEN4};
use super::reference::{ReferenceCounter, ReferenceKind};
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
    /// A vocabulary is unpacked when it first counts; [`warm`](Self::preload) does so ahead of time.
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

    /// The same with every count times a factor, shared as well.
    pub fn scaled_counter(self, factor: Factor) -> &'static dyn TokenCounter {
        factor::scaled_counter(self, factor)
    }

    /// What its counts, times a factor, are held against.
    ///
    /// - For `o200k` and `cl100k` the truth of their models, the text encoded in one piece: counters cut where a text
    ///   offers no seam, and then err upwards. Where the models are others, the operator's factor makes it the best known.
    /// - For `claude` only the best that is known: the estimate without its margin of 10 %, times the factor. It cannot
    ///   tell by how much that estimate itself is off; the usage that a model reports can.
    /// - For `auto` the costlier of exact `o200k` and that.
    /// - For `chars4` and `len4`, which know of no family, exact `o200k`. A factor corrects the rule there, and what
    ///   it is held against stays.
    pub fn reference_counter(self, factor: Factor) -> ReferenceCounter {
        match self {
            Self::Auto => ReferenceCounter::new(ReferenceKind::Costlier, factor),
            Self::O200k => ReferenceCounter::new(ReferenceKind::Exact(Bpe::O200k), factor),
            Self::Cl100k => ReferenceCounter::new(ReferenceKind::Exact(Bpe::Cl100k), factor),
            Self::Claude => ReferenceCounter::new(ReferenceKind::Claude, factor),
            Self::Chars4 | Self::Len4 => ReferenceCounter::new(ReferenceKind::Exact(Bpe::O200k), Factor::ONE),
        }
    }

    /// Whether it looks at the length alone, and can be wrong by any factor: what it let through is counted anew before it
    /// is sent.
    pub fn is_length_based(self) -> bool {
        matches!(self, Self::Chars4 | Self::Len4)
    }

    /// Unpacks the vocabularies that it and its reference need, so that the first request need not wait for them.
    pub fn preload(self) {
        self.counter().count("warm");
        self.reference_counter(Factor::ONE).count("warm");
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
