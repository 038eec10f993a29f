//! When a file that is being changed may be believed: what was noticed and when, and what a look at it found, decide
//! when to look next and whether to tell. Time is an argument (since any beginning), so that tests own it.

#[cfg(test)]
mod laws;

use std::time::Duration;

/// How long a file has to be left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DebounceOptions {
    /// After the last sign of a change: several of them are one, and are told once.
    pub quiet_interval: Duration,
    /// The same for what looks cut off: nothing in it, no end to its last line, or the beginning of what was there
    /// before. Files that are written in two goes look so in between.
    pub incomplete_interval: Duration,
    /// After the last write of a writer that has not closed the file: some never do. Ten times as long for what looks
    /// cut off.
    pub open_writer_timeout: Duration,
    /// How long a change has to last that nothing told of, found by looking: who makes it may be at it still.
    pub polled_change_interval: Duration,
    /// How often a file that is watched is looked at all the same, for changes that nothing tells of.
    pub poll_interval: Duration,
}

/// A sign that the file may be another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileChange {
    /// Somebody writes in it, and it will be told when the file is closed.
    Writing,
    /// A writer has closed it.
    Closed,
    /// Another file stands in its place, or none; who writes in the old one is nobody's business.
    Replaced,
    /// Something else, as its permissions or its times.
    MetadataChanged,
    /// It is in another state than at the last look, and nothing told of that.
    FoundByPolling,
}

/// What a look at the file found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReadAssessment {
    /// What was told last.
    Unchanged,
    /// It was changed during the look.
    Torn,
    /// Something that looks cut off, or nothing to read.
    Incomplete,
    /// A text that looks complete.
    Complete,
}

/// What is known of a change that has not been told.
#[derive(Clone, Copy, Debug)]
struct PendingChange {
    /// When the first sign came since which nobody is known to write.
    first_at: Duration,
    last_at: Duration,
    is_being_written: bool,
    /// Nothing tells of what happens to the file.
    is_polled: bool,
    /// A look has been taken since the last sign, and it was not convincing.
    looked_incomplete: bool,
}

/// Follows one file from sign to sign.
#[derive(Clone, Copy, Debug)]
pub(super) struct Debouncer {
    options: DebounceOptions,
    pending: Option<PendingChange>,
}

impl Default for DebounceOptions {
    /// Text that looks complete is told 15 ms after its writer is done, other text after 50 ms: within the 100 ms
    /// that a change may take, with room for a busy machine.
    fn default() -> Self {
        Self {
            quiet_interval: Duration::from_millis(15),
            incomplete_interval: Duration::from_millis(50),
            open_writer_timeout: Duration::from_secs(2),
            polled_change_interval: Duration::from_millis(250),
            poll_interval: Duration::from_secs(2),
        }
    }
}

impl Debouncer {
    pub(super) fn new(settle: DebounceOptions) -> Self {
        Self { options: settle, pending: None }
    }

    /// Whether nothing is under way.
    pub(super) fn is_idle(&self) -> bool {
        self.pending.is_none()
    }

    /// Whether a look has to find the file as the last one did, for nothing else tells that it is left alone.
    pub(super) fn is_polled(&self) -> bool {
        self.pending.is_some_and(|pending| pending.is_polled)
    }

    /// How long ago the last sign was.
    pub(super) fn time_since_change(&self, now: Duration) -> Duration {
        self.pending.map_or(Duration::ZERO, |pending| now.saturating_sub(pending.last_at))
    }

    /// Takes a sign in.
    pub(super) fn record_change(&mut self, notice: FileChange, now: Duration) {
        let before = self.pending;
        let writing = match notice {
            FileChange::Writing => true,
            FileChange::Closed | FileChange::Replaced => false,
            FileChange::MetadataChanged | FileChange::FoundByPolling => {
                before.is_some_and(|pending| pending.is_being_written)
            }
        };
        let first = match before {
            Some(pending) if !pending.is_being_written && !pending.looked_incomplete => pending.first_at,
            _ => now,
        };
        let last = before.map_or(now, |pending| pending.last_at.max(now));
        let blind = notice == FileChange::FoundByPolling;
        self.pending = Some(PendingChange {
            first_at: first,
            last_at: last,
            is_being_written: writing,
            is_polled: blind,
            looked_incomplete: false,
        });
    }

    /// When to look at the file next; never, where nothing is under way.
    pub(super) fn next_read_at(&self) -> Option<Duration> {
        self.pending.map(|pending| pending.next_read_at(&self.options))
    }

    /// Takes in what a look found. Whether that is to be told; if not, [`due`](Self::due) says when to look again.
    pub(super) fn record_read(&mut self, found: ReadAssessment, now: Duration) -> bool {
        let Some(pending) = &mut self.pending else { return false };
        match found {
            ReadAssessment::Unchanged => {
                self.pending = None;
                return false;
            }
            ReadAssessment::Torn => {
                (pending.first_at, pending.last_at, pending.looked_incomplete) = (now, now, false);
                return false;
            }
            ReadAssessment::Incomplete => pending.looked_incomplete = true,
            ReadAssessment::Complete => pending.looked_incomplete = false,
        }
        let settled = pending.next_read_at(&self.options) <= now;
        if settled {
            self.pending = None;
        }
        settled
    }
}

impl PendingChange {
    fn next_read_at(&self, settle: &DebounceOptions) -> Duration {
        let wait = match (self.is_being_written, self.is_polled, self.looked_incomplete) {
            (true, _, false) => settle.open_writer_timeout,
            (true, _, true) => settle.open_writer_timeout.saturating_mul(10),
            (false, true, _) => settle.polled_change_interval,
            (false, false, true) => settle.incomplete_interval,
            (false, false, false) => {
                // One change after the other, each of them whole, must not keep all of them from being told.
                let patience = self.first_at.saturating_add(settle.quiet_interval.saturating_mul(3));
                return patience.min(self.last_at.saturating_add(settle.quiet_interval));
            }
        };
        self.last_at.saturating_add(wait)
    }
}
