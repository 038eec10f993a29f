//! Sums of one session within an arm.

use portion_core::error_code::ErrorCode;
use portion_core::event::Outcome;

use crate::record::Record;

/// Sums of one session within an arm.
#[derive(Clone, Debug, Default)]
pub(super) struct Session {
    pub(super) requests: u64,
    pub(super) follow_ups: u64,
    pub(super) errors: u64,
    pub(super) tokens: Sum,
    pub(super) bytes: Sum,
    pub(super) latency: Sum,
    pub(super) overhead: Sum,
    /// Recorded and shadow replies of the same requests.
    pub(super) shadow: ShadowSums,
    /// Time of the last request, and true if it ended in an error.
    last: Option<(u64, bool)>,
    /// A follow-up found its snapshot gone.
    lost_snapshot: bool,
}

/// Sums over requests with a shadow reply.
#[derive(Clone, Debug, Default)]
pub(super) struct ShadowSums {
    pub(super) tokens: PairedSums,
    pub(super) bytes: PairedSums,
    pub(super) overhead: PairedSums,
}

/// Sums of the recorded replies and of their shadow replies.
#[derive(Clone, Debug, Default)]
pub(super) struct PairedSums {
    pub(super) served: Sum,
    pub(super) tried: Sum,
}

/// A sum and the number of its terms.
#[derive(Clone, Debug, Default)]
pub(super) struct Sum {
    pub(super) count: u64,
    pub(super) total: f64,
}

impl Session {
    pub(super) fn add(&mut self, record: &Record) {
        let failed = record.error.is_some();
        self.requests += 1;
        self.follow_ups += u64::from(record.follow_up);
        self.errors += u64::from(failed);
        let served = record.served_tokens();
        self.tokens.add(served.map(|tokens| tokens as f64));
        self.bytes.add(Some(record.response_bytes as f64));
        self.latency.add(Some(millis(record.latency)));
        self.overhead.add(Some(millis(record.overhead)));
        if let Some(shadow) = &record.shadow {
            self.shadow.tokens.add(served.map(|served| (served as f64, shadow.tokens as f64)));
            self.shadow.bytes.add(Some((record.response_bytes as f64, shadow.bytes as f64)));
            // In a real experiment, shaping adds to the time spent without it.
            let (without, making) = (millis(record.overhead), millis(shadow.overhead));
            self.shadow.overhead.add(Some((without, without + making)));
        }
        self.last = self.last.max(Some((record.at, failed)));
        let gone = [ErrorCode::CursorExpired, ErrorCode::CursorInvalid]
            .iter()
            .any(|code| record.error.as_deref() == Some(code.name()));
        self.lost_snapshot |= gone || record.outcome == Outcome::Expired.name();
    }

    /// Returns the number of first calls.
    pub(super) fn first(&self) -> u64 {
        self.requests.saturating_sub(self.follow_ups)
    }

    /// Returns true if the session finished, as far as a proxy can see: the last request was not an error, and no
    /// follow-up found its snapshot gone. A session that gave up without an error also counts as finished.
    pub(super) fn finished(&self) -> bool {
        !self.lost_snapshot && !self.last.is_some_and(|(_, failed)| failed)
    }
}

impl Sum {
    fn add(&mut self, value: Option<f64>) {
        if let Some(value) = value {
            self.count += 1;
            self.total += value;
        }
    }

    pub(super) fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.total / self.count as f64)
    }
}

impl PairedSums {
    fn add(&mut self, pair: Option<(f64, f64)>) {
        self.served.add(pair.map(|(served, _)| served));
        self.tried.add(pair.map(|(_, tried)| tried));
    }
}

fn millis(time: std::time::Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
