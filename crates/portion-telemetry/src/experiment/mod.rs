//! Arms of an experiment, held against each other.
//!
//! Who is compared are **sessions**, not requests: the requests of one are alike, and counting each of them would make
//! intervals narrower than what is known. A mean is one of the sessions' means; a share counts requests for as many as
//! they are worth ([`Share::of`](crate::statistics::Share::of)).
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

/// Compares what is compared in these records; their order is of no matter. All endpoints together come first.
pub fn compare(records: &[Record]) -> Vec<Comparison> {
    let mut found: BTreeMap<(Option<&Endpoint>, Design), Sessions> = BTreeMap::new();
    for record in records {
        let design = match (&record.shadow, &record.arm) {
            (Some(_), _) => Design::Shadow,
            (None, Some(_)) => Design::Split,
            (None, None) => continue,
        };
        for endpoint in [None, Some(&record.endpoint)] {
            found.entry((endpoint, design)).or_default().add(record);
        }
    }
    let compared = |((endpoint, design), sessions): ((Option<&Endpoint>, Design), Sessions)| {
        let (shaped, unshaped) = sessions.sizes(design);
        Comparison {
            endpoint: endpoint.cloned(),
            design,
            shaped,
            unshaped,
            measures: sessions.measures(design),
        }
    };
    found.into_iter().map(compared).collect()
}
