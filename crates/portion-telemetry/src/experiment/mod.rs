//! Arms of an experiment, held against each other.
//!
//! Who is compared are **sessions**, not requests: the requests of one are alike, and counting each of them would make
//! intervals narrower than what is known. A mean is one of the sessions' means; a share counts requests for as many as
//! they are worth ([`Share::of`](crate::statistics::Share::of)).
//!
//! A session may be of one arm at one endpoint and of the other at another. In the comparison of all endpoints it is then
//! in both, and the interval is a little too wide or too narrow; single endpoints have no such overlap.
//!
//! One verdict in twenty is wrong where there is no difference at all: whoever looks at many will see some.

mod design;
mod measure;
mod session;

use std::collections::BTreeMap;

pub use measure::{Measure, Measured, Verdict};

use crate::read::{Endpoint, Record};
use design::Sessions;

/// Sessions of an arm from which there is a verdict: figures of requests are skewed, and the intervals of means too
/// narrow for few of them.
pub const LEAST_SESSIONS: usize = 20;

/// How arms are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Design {
    /// Some sessions are shaped, the others are not.
    Split,
    /// None is shaped; what shaping would have served is compared with what was, request by request.
    Shadow,
}

/// How many an arm has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// Its requests.
    pub requests: u64,
    /// The sessions that they are of.
    pub sessions: u64,
}

/// The arms of an experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// What was asked; `None`: all endpoints with such an experiment together.
    pub endpoint: Option<Endpoint>,
    /// How the arms are made.
    pub design: Design,
    /// The arm that is shaped; in a shadow, that would have been.
    pub shaped: Size,
    /// The arm that is not.
    pub unshaped: Size,
    /// What was measured of both, in the order of [`Measure::ALL`]; what cannot be seen is left out.
    pub measures: Vec<Measured>,
}

impl Design {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Split => "split",
            Self::Shadow => "shadow",
        }
    }
}

/// Requests by endpoint and arm: as many as there are pass through, sessions stay.
#[derive(Debug, Default)]
pub struct Arms {
    all: Designs,
    endpoints: BTreeMap<Endpoint, Designs>,
}

/// Sessions by how their arms are made.
#[derive(Debug, Default)]
struct Designs {
    split: Sessions,
    shadow: Sessions,
}

impl Arms {
    /// Takes a record, in any order; one that is of no experiment is left out.
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

    /// Compares them: all endpoints together first, then each.
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
