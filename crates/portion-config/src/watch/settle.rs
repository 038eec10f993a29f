//! When a file that is being changed may be believed: what was noticed and when, and what a look at it found, decide
//! when to look next and whether to tell. Time is an argument (since any beginning), so that tests own it.

#[cfg(test)]
mod laws;

use std::time::Duration;

/// How long a file has to be left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settle {
    /// After the last sign of a change: several of them are one, and are told once.
    pub quiet: Duration,
    /// The same for what looks cut off: nothing in it, no end to its last line, or the beginning of what was there
    /// before. Files that are written in two goes look so in between.
    pub doubtful: Duration,
    /// After the last write of a writer that has not closed the file: some never do. Ten times as long for what looks
    /// cut off.
    pub unclosed: Duration,
    /// How long a change has to last that nothing told of, found by looking: who makes it may be at it still.
    pub untold: Duration,
    /// How often a file that is watched is looked at all the same, for changes that nothing tells of.
    pub glance: Duration,
}

/// A sign that the file may be another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Notice {
    /// Somebody writes in it, and it will be told when the file is closed.
    Writing,
    /// A writer has closed it.
    Closed,
    /// Another file stands in its place, or none; who writes in the old one is nobody's business.
    Replaced,
    /// Something else, as its permissions or its times.
    Touched,
    /// It is in another state than at the last look, and nothing told of that.
    Found,
}

/// What a look at the file found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// What was told last.
    Same,
    /// It was changed during the look.
    Torn,
    /// Something that looks cut off, or nothing to read.
    Doubtful,
    /// A text that looks complete.
    Whole,
}

/// What is known of a change that has not been told.
#[derive(Clone, Copy, Debug)]
struct Pending {
    /// When the first sign came since which nobody is known to write.
    first: Duration,
    last: Duration,
    writing: bool,
    /// Nothing tells of what happens to the file.
    blind: bool,
    /// A look has been taken since the last sign, and it was not convincing.
    doubtful: bool,
}

/// Follows one file from sign to sign.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settling {
    settle: Settle,
    pending: Option<Pending>,
}

impl Default for Settle {
    /// Text that looks complete is told 15 ms after its writer is done, other text after 50 ms: within the 100 ms
    /// that a change may take, with room for a busy machine.
    fn default() -> Self {
        Self {
            quiet: Duration::from_millis(15),
            doubtful: Duration::from_millis(50),
            unclosed: Duration::from_secs(2),
            untold: Duration::from_millis(250),
            glance: Duration::from_secs(2),
        }
    }
}

impl Settling {
    pub(super) fn new(settle: Settle) -> Self {
        Self { settle, pending: None }
    }

    /// Whether nothing is under way.
    pub(super) fn idle(&self) -> bool {
        self.pending.is_none()
    }

    /// Whether a look has to find the file as the last one did, for nothing else tells that it is left alone.
    pub(super) fn blind(&self) -> bool {
        self.pending.is_some_and(|pending| pending.blind)
    }

    /// How long ago the last sign was.
    pub(super) fn calm(&self, now: Duration) -> Duration {
        self.pending.map_or(Duration::ZERO, |pending| now.saturating_sub(pending.last))
    }

    /// Takes a sign in.
    pub(super) fn notice(&mut self, notice: Notice, now: Duration) {
        let before = self.pending;
        let writing = match notice {
            Notice::Writing => true,
            Notice::Closed | Notice::Replaced => false,
            Notice::Touched | Notice::Found => before.is_some_and(|pending| pending.writing),
        };
        let first = match before {
            Some(pending) if !pending.writing && !pending.doubtful => pending.first,
            _ => now,
        };
        let last = before.map_or(now, |pending| pending.last.max(now));
        let blind = notice == Notice::Found;
        self.pending = Some(Pending { first, last, writing, blind, doubtful: false });
    }

    /// When to look at the file next; never, where nothing is under way.
    pub(super) fn due(&self) -> Option<Duration> {
        self.pending.map(|pending| pending.due(&self.settle))
    }

    /// Takes in what a look found. Whether that is to be told; if not, [`due`](Self::due) says when to look again.
    pub(super) fn look(&mut self, found: Look, now: Duration) -> bool {
        let Some(pending) = &mut self.pending else { return false };
        match found {
            Look::Same => {
                self.pending = None;
                return false;
            }
            Look::Torn => {
                (pending.first, pending.last, pending.doubtful) = (now, now, false);
                return false;
            }
            Look::Doubtful => pending.doubtful = true,
            Look::Whole => pending.doubtful = false,
        }
        let settled = pending.due(&self.settle) <= now;
        if settled {
            self.pending = None;
        }
        settled
    }
}

impl Pending {
    fn due(&self, settle: &Settle) -> Duration {
        let wait = match (self.writing, self.blind, self.doubtful) {
            (true, _, false) => settle.unclosed,
            (true, _, true) => settle.unclosed.saturating_mul(10),
            (false, true, _) => settle.untold,
            (false, false, true) => settle.doubtful,
            (false, false, false) => {
                // One change after the other, each of them whole, must not keep all of them from being told.
                let patience = self.first.saturating_add(settle.quiet.saturating_mul(3));
                return patience.min(self.last.saturating_add(settle.quiet));
            }
        };
        self.last.saturating_add(wait)
    }
}
