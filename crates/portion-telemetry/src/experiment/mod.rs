//! Compares the arms of an experiment.
//!
//! The units of comparison are **sessions**, not requests. Requests of one session resemble each other, so counting
//! each of them would make the intervals too narrow. A mean is the mean of session means. A share weights the requests
//! of a session by their effective number ([`Share::of`](crate::statistics::Share::of)).
//!
//! A session may be in one arm at one endpoint and in the other arm at another. In the comparison over all endpoints
//! it is then in both arms, and the interval is slightly too wide or too narrow. Comparisons of single endpoints have
//! no such overlap.
//!
//! Without any real difference, one verdict in twenty is still wrong. A reader of many verdicts will see some of
//! these.

mod design;

use std::collections::BTreeMap;

use crate::record::{Endpoint, Record};
use crate::statistics::Estimate;
use design::Sessions;

/// Minimum sessions of an arm for a verdict. Request figures are skewed, so intervals of means are too narrow for
/// fewer.
pub const MIN_SESSIONS: usize = 20;

/// Assignment of requests to arms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Design {
    /// Some sessions are shaped, the others are not.
    Split,
    /// No session is shaped. Each reply is compared with the reply that shaping would have produced.
    Shadow,
}

/// Size of an arm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArmSize {
    /// Requests of the arm.
    pub requests: u64,
    /// Sessions of the arm.
    pub sessions: u64,
}

/// Comparison of the two arms of an experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The endpoint. `None` for all endpoints of such an experiment together.
    pub endpoint: Option<Endpoint>,
    /// Assignment of requests to arms.
    pub design: Design,
    /// Size of the arm that is shaped, or in a shadow experiment would have been.
    pub shaped: ArmSize,
    /// Size of the arm that is not shaped.
    pub unshaped: ArmSize,
    /// Measures of both arms, in the order of [`Measure::ALL`]. Measures that a shadow experiment cannot observe are
    /// left out.
    pub measures: Vec<Measured>,
}

impl Design {
    /// Returns the name of the design.
    pub fn name(self) -> &'static str {
        match self {
            Self::Split => "split",
            Self::Shadow => "shadow",
        }
    }
}

/// Sums of requests by endpoint, arm and session. Memory grows with sessions, not with requests.
#[derive(Debug, Default)]
pub struct Arms {
    all: Designs,
    endpoints: BTreeMap<Endpoint, Designs>,
}

/// Sessions by design.
#[derive(Debug, Default)]
struct Designs {
    split: Sessions,
    shadow: Sessions,
}

impl Arms {
    /// Adds a record, in any order. Records outside experiments are ignored.
    pub fn add(&mut self, record: &Record) {
        if record.arm.is_none() && record.shadow.is_none() {
            return;
        }
        self.all.add(record);
        match self.endpoints.get_mut(&record.endpoint) {
            Some(designs) => designs.add(record),
            None => self.endpoints.entry(record.endpoint.clone()).or_default().add(record),
        }
    }

    /// Returns the comparisons: all endpoints together first, then each endpoint.
    pub fn compare(&self) -> Vec<Comparison> {
        let endpoints = self.endpoints.iter().map(|(endpoint, designs)| (Some(endpoint), designs));
        std::iter::once((None, &self.all))
            .chain(endpoints)
            .flat_map(|(endpoint, designs)| designs.compare(endpoint))
            .collect()
    }
}

impl Designs {
    fn add(&mut self, record: &Record) {
        if record.shadow.is_some() { &mut self.shadow } else { &mut self.split }.add(record);
    }

    fn compare(&self, endpoint: Option<&Endpoint>) -> impl Iterator<Item = Comparison> {
        let designs = [(Design::Split, &self.split), (Design::Shadow, &self.shadow)];
        designs.into_iter().filter(|(_, sessions)| !sessions.is_empty()).map(move |(design, sessions)| {
            let (shaped, unshaped) = sessions.sizes(design);
            let measures = sessions.measures(design);
            Comparison { endpoint: endpoint.cloned(), design, shaped, unshaped, measures }
        })
    }
}

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
