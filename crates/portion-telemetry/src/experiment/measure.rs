//! What is measured of an arm, and what a difference is called.

use super::LEAST_SESSIONS;
use crate::statistics::Estimate;

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Measure {
    /// Tokens of a reply.
    Tokens,
    /// Tokens for each first call, those of its follow-ups included: what a task costs.
    TokensPerCall,
    /// Bytes of a reply.
    Bytes,
    /// From a request to its reply, in milliseconds.
    Latency,
    /// What of that was ours, in milliseconds.
    Overhead,
    /// Follow-ups for each first call.
    FollowUps,
    /// Share of requests that ended in an error, ours or the upstream's.
    Errors,
    /// Share of sessions that finished, **as far as can be seen**: their last request of the endpoint did not end in an
    /// error, and no follow-up found its snapshot gone. Whether a task was solved is not known here: this is a proxy,
    /// and blind to what gave up without an error.
    Finished,
}

/// A measure of both arms. Values are means or shares over sessions.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// What was measured.
    pub measure: Measure,
    /// Of the arm that is shaped, or would have been.
    pub shaped: Option<Estimate>,
    /// Of the arm that is not.
    pub unshaped: Option<Estimate>,
    /// By how much it is higher where shaped.
    pub difference: Option<Estimate>,
    /// What that is to be called.
    pub verdict: Verdict,
}

/// What a difference is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// It is lower where shaped: all of the interval is below zero.
    Lower,
    /// It is higher where shaped: all of the interval is above zero.
    Higher,
    /// The interval holds zero.
    NoDifference,
    /// There are fewer sessions than [`LEAST_SESSIONS`].
    TooFew,
}

impl Measure {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Tokens,
        Self::TokensPerCall,
        Self::Bytes,
        Self::Latency,
        Self::Overhead,
        Self::FollowUps,
        Self::Errors,
        Self::Finished,
    ];

    /// Its name for programs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tokens => "tokens",
            Self::TokensPerCall => "tokensPerCall",
            Self::Bytes => "bytes",
            Self::Latency => "latencyMs",
            Self::Overhead => "overheadMs",
            Self::FollowUps => "followUpsPerCall",
            Self::Errors => "errorRate",
            Self::Finished => "finishedRate",
        }
    }

    /// Its name for people.
    pub fn title(self) -> &'static str {
        match self {
            Self::Tokens => "tokens a reply",
            Self::TokensPerCall => "tokens a call, with follow-ups",
            Self::Bytes => "bytes a reply",
            Self::Latency => "latency, ms",
            Self::Overhead => "added latency, ms",
            Self::FollowUps => "follow-ups a call",
            Self::Errors => "requests with errors",
            Self::Finished => "sessions finished (proxy)",
        }
    }

    /// Whether its values are shares, 0 to 1.
    pub fn is_share(self) -> bool {
        matches!(self, Self::Errors | Self::Finished)
    }
}

impl Verdict {
    /// On a difference between arms, the smaller of which has so many sessions.
    pub(super) fn on(difference: Option<Estimate>, sessions: usize) -> Self {
        match difference.and_then(|difference| difference.range) {
            Some(_) if sessions < LEAST_SESSIONS => Self::TooFew,
            Some((_, high)) if high < 0.0 => Self::Lower,
            Some((low, _)) if low > 0.0 => Self::Higher,
            Some(_) => Self::NoDifference,
            None => Self::TooFew,
        }
    }

    /// In a word or three.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lower => "lower",
            Self::Higher => "higher",
            Self::NoDifference => "no difference seen",
            Self::TooFew => "too few",
        }
    }
}
