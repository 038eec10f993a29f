//! Decides when a changing file has settled: from the changes observed, their times, and the results of
//! reads, it derives when to read next and whether to report. Time is an argument (relative to any
//! start), so that tests control it.

#[cfg(test)]
mod laws;

use std::time::Duration;

/// Intervals for which a file must be left alone before it is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DebounceOptions {
    /// Interval after the last change: several changes within it are reported as one.
    pub quiet_interval: Duration,
    /// Interval after the last change for text that looks incomplete: empty, without a final newline, or
    /// a prefix of the previous text. Files that are written in two steps look like that in between.
    pub incomplete_interval: Duration,
    /// Interval after the last write by a writer that has not closed the file, because some never do. Ten
    /// times as long for text that looks incomplete.
    pub open_writer_timeout: Duration,
    /// Interval after a change that was found by polling, because its writer may not have finished.
    pub polled_change_interval: Duration,
    /// Interval between polls of a watched file, for changes that cause no event.
    pub poll_interval: Duration,
}

/// An observation that the file may have changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileChange {
    /// A writer is writing to it; an event will follow when it closes the file.
    Writing,
    /// A writer has closed it.
    Closed,
    /// Another file, or none, is in its place; writes to the old file are irrelevant.
    Replaced,
    /// Another change, such as of its permissions or times.
    MetadataChanged,
    /// A poll found it in another state, and no event was received.
    FoundByPolling,
}

/// The result of reading the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReadAssessment {
    /// The content that was reported last.
    Unchanged,
    /// The file changed during the read.
    Torn,
    /// Content that looks incomplete, or no readable content.
    Incomplete,
    /// Content that looks complete.
    Complete,
}

/// A change that has not been reported yet.
#[derive(Clone, Copy, Debug)]
struct PendingChange {
    /// Time of the first change since the file was last being written.
    first_at: Duration,
    last_at: Duration,
    is_being_written: bool,
    /// True if no events are received for the file.
    is_polled: bool,
    /// True if the file looked incomplete when it was read after the last change.
    looked_incomplete: bool,
}

/// Tracks the changes of one file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Debouncer {
    options: DebounceOptions,
    pending: Option<PendingChange>,
}

impl Default for DebounceOptions {
    /// Text that looks complete is reported 15 ms after its writer has finished, other text after 50 ms:
    /// within the 100 ms that a change may take, with a margin for a busy machine.
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
    pub(super) fn new(options: DebounceOptions) -> Self {
        Self { options, pending: None }
    }

    /// Returns true if no change is pending.
    pub(super) fn is_idle(&self) -> bool {
        self.pending.is_none()
    }

    /// Returns true if the next read must find the file as the last one did, because no events are
    /// received.
    pub(super) fn is_polled(&self) -> bool {
        self.pending.is_some_and(|pending| pending.is_polled)
    }

    /// Returns the time since the last change.
    pub(super) fn time_since_change(&self, now: Duration) -> Duration {
        self.pending.map_or(Duration::ZERO, |pending| now.saturating_sub(pending.last_at))
    }

    /// Records a change.
    pub(super) fn record_change(&mut self, change: FileChange, now: Duration) {
        let before = self.pending;
        let writing = match change {
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
        let blind = change == FileChange::FoundByPolling;
        self.pending = Some(PendingChange {
            first_at: first,
            last_at: last,
            is_being_written: writing,
            is_polled: blind,
            looked_incomplete: false,
        });
    }

    /// Returns when to read the file next; `None` if no change is pending.
    pub(super) fn next_read_at(&self) -> Option<Duration> {
        self.pending.map(|pending| pending.next_read_at(&self.options))
    }

    /// Records the result of a read. Returns true if the content is to be reported; otherwise
    /// [`next_read_at`](Self::next_read_at) gives the next read.
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
    fn next_read_at(&self, options: &DebounceOptions) -> Duration {
        let wait = match (self.is_being_written, self.is_polled, self.looked_incomplete) {
            (true, _, false) => options.open_writer_timeout,
            (true, _, true) => options.open_writer_timeout.saturating_mul(10),
            (false, true, _) => options.polled_change_interval,
            (false, false, true) => options.incomplete_interval,
            (false, false, false) => {
                // A sequence of complete changes must not delay the report forever.
                let patience = self.first_at.saturating_add(options.quiet_interval.saturating_mul(3));
                return patience.min(self.last_at.saturating_add(options.quiet_interval));
            }
        };
        self.last_at.saturating_add(wait)
    }
}
