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
mod measure;

use std::collections::BTreeMap;

pub use measure::{Measure, Measured, Verdict};

use crate::record::{Endpoint, Record};
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
