//! What this process served since it started, added up in memory: for metrics and health, with or without a file.
//!
//! Labels are bounded, whatever is asked: the first [`NAMED`] endpoints have one of their own each, all later ones share
//! `other`; resources, whose URIs can be without end, share `*`.

mod cell;
mod families;
mod histogram;
mod totals;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use portion_core::event::{Event, Observer, Served};
use portion_core::tokens::accuracy::{self, Accuracy};

pub use families::{Family, Point, Value};
pub use histogram::Histogram;
pub use totals::Totals;

use crate::names;
use cell::Cell;

/// Endpoints that have labels of their own.
pub const NAMED: usize = 200;

/// Adds up what is served. A request pays for one short lock and, unless its endpoint is a new one, for no memory.
#[derive(Debug)]
pub struct Meter {
    sums: Mutex<Sums>,
}

/// What an endpoint is called in labels.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Labels {
    upstream: Option<Arc<str>>,
    kind: &'static str,
    endpoint: Arc<str>,
}

#[derive(Debug)]
struct Sums {
    /// Where the cell of what is called so is.
    places: HashMap<Labels, usize, foldhash::fast::RandomState>,
    cells: Vec<Cell>,
    /// How many of them are of a named endpoint.
    named: usize,
    overhead: Histogram,
    /// How near estimates are, by what counts: few.
    estimates: Vec<(&'static str, Estimates)>,
    /// Alerts that were raised, by name: few.
    raised: Vec<(Cow<'static, str>, u64)>,
    /// What many endpoints share.
    any: Arc<str>,
    other: Arc<str>,
    none: Arc<str>,
}

#[derive(Clone, Debug)]
struct Estimates {
    accuracy: Accuracy,
    errors: Histogram,
}

impl Default for Meter {
    fn default() -> Self {
        let sums = Sums {
            places: HashMap::default(),
            cells: Vec::new(),
            named: 0,
            overhead: Histogram::of(&names::OVERHEAD),
            estimates: Vec::new(),
            raised: Vec::new(),
            any: Arc::from("*"),
            other: Arc::from("other"),
            none: Arc::from("none"),
        };
        Self { sums: Mutex::new(sums) }
    }
}

impl Meter {
    fn sums(&self) -> MutexGuard<'_, Sums> {
        self.sums.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Meter {
    fn hear(&self, event: Event) {
        match event {
            Event::Served(served) => self.sums().add(&served),
            Event::Alerted(alerted) if alerted.raised => {
                *entry(&mut self.sums().raised, alerted.alert.clone(), || 0) += 1;
            }
            _ => {}
        }
    }
}

impl Sums {
    fn add(&mut self, served: &Served) {
        self.cell(served).add(served);
        self.overhead.add(served.overhead.as_secs_f64());
        if let (Some(estimated), Some(actual)) = (served.estimated_tokens, served.actual_tokens) {
            let start =
                || Estimates { accuracy: Accuracy::default(), errors: Histogram::of(&names::ESTIMATE_ERROR) };
            let estimates = entry(&mut self.estimates, served.counter, start);
            estimates.accuracy.add(estimated, actual);
            estimates.errors.add(accuracy::error(estimated, actual).abs());
        }
    }

    fn cell(&mut self, served: &Served) -> &mut Cell {
        let labels = self.labels(served);
        let at = self.places.get(&labels).copied().unwrap_or_else(|| {
            self.named += usize::from(Arc::ptr_eq(&labels.endpoint, &served.endpoint));
            self.places.insert(labels, self.cells.len());
            self.cells.push(Cell::default());
            self.cells.len() - 1
        });
        &mut self.cells[at]
    }

    /// What the endpoint of a request is called.
    fn labels(&self, served: &Served) -> Labels {
        let called = |endpoint: &Arc<str>| Labels {
            upstream: served.upstream.clone(),
            kind: served.kind,
            endpoint: Arc::clone(endpoint),
        };
        match (served.kind, &*served.endpoint) {
            ("resource", _) => called(&self.any),
            (_, "") => called(&self.none),
            _ => {
                let own = called(&served.endpoint);
                let is_known = self.named < NAMED || self.places.contains_key(&own);
                if is_known { own } else { called(&self.other) }
            }
        }
    }
}

/// The one of that key, which may be a new one: for keys that are few.
fn entry<K: PartialEq, T>(all: &mut Vec<(K, T)>, key: K, start: impl FnOnce() -> T) -> &mut T {
    let at = all.iter().position(|(known, _)| *known == key).unwrap_or_else(|| {
        all.push((key, start()));
        all.len() - 1
    });
    &mut all[at].1
}
