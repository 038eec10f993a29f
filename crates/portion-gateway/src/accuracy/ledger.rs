//! How far off counts were of late, endpoint by endpoint: where that is badly, it is told once, and where they are too
//! low, the byte limit decides until they are not.

mod recent;
mod window;

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use portion_core::event::Served;
use portion_core::tokens::TokenCounter;

use super::{Figures, Sample};
use recent::{Recent, Standing};
use window::Window;

/// Endpoints that are known at once. Names of resources may be without end.
const KEPT: usize = 4_096;

/// Tokens up to which a reply does not tell whether counts are near again.
const SMALL: usize = 100;

/// What counts are of: an endpoint, and what counted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Subject {
    upstream: Option<Arc<str>>,
    kind: &'static str,
    endpoint: Arc<str>,
    /// Its name, and where it is: each factor has a counter of its own.
    counter: (&'static str, usize),
}

/// Takes note of samples.
#[derive(Default)]
pub(crate) struct Ledger {
    pages: Mutex<Pages>,
    /// How many endpoints are too low, so that nothing is looked up while there are none.
    fallen: AtomicUsize,
}

#[derive(Default)]
struct Pages {
    endpoints: HashMap<Subject, Recent>,
    /// Whatever the endpoint.
    window: Window,
}

impl Subject {
    pub(crate) fn new(
        upstream: Option<Arc<str>>,
        kind: &'static str,
        endpoint: Arc<str>,
        counter: &'static dyn TokenCounter,
    ) -> Self {
        let place = std::ptr::from_ref(counter).cast::<()>().addr();
        Self { upstream, kind, endpoint, counter: (counter.name(), place) }
    }

    /// What a reply is of.
    pub(crate) fn of(served: &Served, counter: &'static dyn TokenCounter) -> Self {
        Self::new(served.upstream.clone(), served.kind, Arc::clone(&served.endpoint), counter)
    }
}

impl Ledger {
    /// Takes note of a reply. One that costs at most `least` passes whatever it costs: that its count is wrong has no
    /// consequence for its endpoint.
    pub(crate) fn note(&self, subject: &Subject, sample: Sample, least: usize) {
        let mut pages = self.pages();
        let low = pages.window.note(sample.is_near());
        let turn = pages.turn(subject, sample, least);
        if turn.is_some() {
            self.fallen.store(pages.standing(Standing::TooLow), Ordering::Relaxed);
        }
        drop(pages);
        if let Some((is_low, share)) = low {
            tell_share(is_low, share);
        }
        if let Some((standing, error)) = turn {
            tell(subject, standing, error);
        }
    }

    /// Whether the counts of something are too low for now.
    pub(crate) fn is_too_low(&self, subject: impl FnOnce() -> Subject) -> bool {
        let is = |recent: &Recent| recent.standing == Standing::TooLow;
        self.fallen.load(Ordering::Relaxed) > 0 && self.pages().endpoints.get(&subject()).is_some_and(is)
    }

    /// Forgets what is known of endpoints: other counters count from now on.
    pub(crate) fn forget(&self) {
        self.pages().endpoints.clear();
        self.fallen.store(0, Ordering::Relaxed);
    }

    pub(crate) fn figures(&self) -> Figures {
        let pages = self.pages();
        let (in_fallback, too_high) = (pages.standing(Standing::TooLow), pages.standing(Standing::TooHigh));
        Figures { in_fallback, too_high, ..pages.window.figures() }
    }

    fn pages(&self) -> MutexGuard<'_, Pages> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pages {
    /// How an endpoint stands from now on and by how much its counts were off, where that is another standing than before.
    fn turn(&mut self, subject: &Subject, sample: Sample, least: usize) -> Option<(Standing, f64)> {
        let known = self.endpoints.get_mut(subject);
        // Within the byte limit, replies are smaller.
        let least = match &known {
            Some(recent) if recent.standing != Standing::Near => least.min(SMALL),
            _ => least,
        };
        if sample.size() <= least {
            return None;
        }
        if let Some(recent) = known {
            return recent.turn(sample);
        }
        if self.endpoints.len() >= KEPT {
            self.endpoints.retain(|_, recent| recent.standing != Standing::Near);
        }
        // Where thousands are badly wrong, another one is told of when there is room for it.
        let is_known = self.endpoints.len() < KEPT;
        is_known.then(|| self.endpoints.entry(subject.clone()).or_default().turn(sample)).flatten()
    }

    fn standing(&self, standing: Standing) -> usize {
        self.endpoints.values().filter(|recent| recent.standing == standing).count()
    }
}

/// Says how counts of an endpoint stand from now on, what follows, and what to do.
fn tell(subject: &Subject, standing: Standing, error: f64) {
    let Subject { upstream, endpoint, counter: (counter, _), .. } = subject;
    let (upstream, endpoint) = (upstream.as_deref(), &**endpoint);
    let error = format_args!("{:+.0} %", 100.0 * error).to_string();
    match standing {
        Standing::TooLow => tracing::warn!(
            endpoint,
            upstream,
            counter,
            error,
            "token counts are badly too low: until they are not, replies stay within fallbackByteLimit; fit a \
             tokenizerFactor with `portion calibrate`, or name another tokenizer"
        ),
        Standing::TooHigh => tracing::warn!(
            endpoint,
            upstream,
            counter,
            error,
            "token counts are badly too high: replies are smaller than they need be; fit a tokenizerFactor with \
             `portion calibrate`, or name another tokenizer"
        ),
        Standing::Near => {
            tracing::warn!(endpoint, upstream, counter, error, "token counts are near again");
        }
    }
}

fn tell_share(is_low: bool, share: f64) {
    let near = format_args!("{:.0} %", 100.0 * share).to_string();
    if is_low {
        tracing::warn!(
            near,
            "too few token counts are within 20 %; fit a tokenizerFactor with `portion calibrate`, or name another \
             tokenizer"
        );
    } else {
        tracing::warn!(near, "enough token counts are within 20 % again");
    }
}

#[cfg(test)]
mod tests {
    use portion_core::tokens::{Factor, Tokenizer};

    use super::{KEPT, Ledger, Sample, Subject};

    fn subject(endpoint: &str) -> Subject {
        Subject::new(None, "tool", endpoint.into(), Tokenizer::Chars4.counter())
    }

    fn low(ledger: &Ledger, endpoint: &str) -> bool {
        ledger.is_too_low(|| subject(endpoint))
    }

    const FAR: Sample = Sample { estimated: 1_000, actual: 2_000 };

    #[test]
    fn each_endpoint_stands_for_itself_and_each_counter() {
        let ledger = Ledger::default();
        ledger.note(&subject("a"), FAR, 500);
        assert!(low(&ledger, "a") && !low(&ledger, "b"));
        let factor = Factor::of(1.5).expect("a factor");
        let scaled = || Subject { counter: subject_of(factor), ..subject("a") };
        assert!(!ledger.is_too_low(scaled), "what another counter is off says nothing of this one");
        assert!(!ledger.is_too_low(|| Subject { kind: "prompt", ..subject("a") }));
        assert!(!ledger.is_too_low(|| Subject { upstream: Some("x".into()), ..subject("a") }));
        assert_eq!(ledger.figures().in_fallback, 1);
        ledger.forget();
        assert!(!low(&ledger, "a") && ledger.figures().in_fallback == 0);
    }

    fn subject_of(factor: Factor) -> (&'static str, usize) {
        Subject::new(None, "", "".into(), Tokenizer::Chars4.scaled(factor)).counter
    }

    #[test]
    fn of_small_replies_nothing_follows_but_a_figure() {
        let ledger = Ledger::default();
        ledger.note(&subject("a"), Sample { estimated: 1, actual: 400 }, 500);
        assert!(!low(&ledger, "a"));
        assert_eq!((ledger.figures().sampled, ledger.figures().near_share), (1, Some(0.0)));
    }

    #[test]
    fn names_without_end_take_no_memory_without_end_and_what_is_wrong_is_kept() {
        let ledger = Ledger::default();
        ledger.note(&subject("wrong"), FAR, 0);
        for n in 0..2 * KEPT {
            ledger.note(&subject(&format!("file:///{n}")), Sample { estimated: 600, actual: 600 }, 0);
        }
        assert!(ledger.pages().endpoints.len() <= KEPT && low(&ledger, "wrong"));
    }
}
