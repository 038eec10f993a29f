//! Measures of an arm, and verdicts on their differences.

use super::MIN_SESSIONS;
use crate::statistics::Estimate;

/// A measure of an arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Measure {
    /// Tokens per reply.
    Tokens,
    /// Tokens per first call, follow-ups included: the cost of a task.
    TokensPerCall,
    /// Bytes per reply.
    Bytes,
    /// Time from a request to its reply, in milliseconds.
    Latency,
    /// Time added by Portion, in milliseconds.
    Overhead,
    /// Follow-ups per first call.
    FollowUps,
    /// Share of requests that ended in an error, from Portion or from the upstream.
    Errors,
    /// Share of sessions that finished, **as far as a proxy can see**: their last request to the endpoint was not an
    /// error, and no follow-up found its snapshot gone. A session that gave up without an error counts as finished.
    Finished,
}

/// One measure of both arms. Values are means or shares over sessions.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The measure.
    pub measure: Measure,
    /// Value of the arm that is shaped, or would have been.
    pub shaped: Option<Estimate>,
    /// Value of the arm that is not shaped.
    pub unshaped: Option<Estimate>,
    /// Shaped minus unshaped.
    pub difference: Option<Estimate>,
    /// Verdict on the difference.
    pub verdict: Verdict,
}

/// Verdict on a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Lower when shaped: the whole interval is below zero.
    Lower,
    /// Higher when shaped: the whole interval is above zero.
    Higher,
    /// The interval contains zero.
    NoDifference,
    /// An arm has fewer than [`MIN_SESSIONS`] sessions.
    TooFew,
}

impl Measure {
    /// All measures, in the order in which they are shown.
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

    /// Returns the name used in JSON and CSV.
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

    /// Returns the name shown to people.
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

    /// Returns true if the values are shares, 0 to 1.
    pub fn is_share(self) -> bool {
        matches!(self, Self::Errors | Self::Finished)
    }
}

impl Verdict {
    /// Derives the verdict from a difference; `sessions` is the size of the smaller arm.
    pub(super) fn on(difference: Option<Estimate>, sessions: usize) -> Self {
        match difference.and_then(|difference| difference.range) {
            Some(_) if sessions < MIN_SESSIONS => Self::TooFew,
            Some((_, high)) if high < 0.0 => Self::Lower,
            Some((low, _)) if low > 0.0 => Self::Higher,
            Some(_) => Self::NoDifference,
            None => Self::TooFew,
        }
    }

    /// Returns the verdict in one to three words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lower => "lower",
            Self::Higher => "higher",
            Self::NoDifference => "no difference seen",
            Self::TooFew => "too few",
        }
    }
}
