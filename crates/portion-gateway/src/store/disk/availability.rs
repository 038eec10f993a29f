//! Records if the files can be read and written.
//!
//! A failed read or write makes the store unavailable, until an operation of the same kind succeeds: reading goes on while
//! the disk is full.

use parking_lot::Mutex;

use super::super::{BackendStatus, StoreReadError, StoreWriteError, WriteResult};

/// Largest number of bytes that a probe writes.
const MAX_PROBE_BYTES: usize = 4 << 20;

/// The state of the files, as the last operations left it.
pub(super) struct Availability {
    is_temporary: bool,
    problems: Mutex<Problems>,
}

#[derive(Default)]
struct Problems {
    /// Error of the last read, if it failed.
    read: Option<String>,
    /// Error of the last write, if it failed.
    write: Option<String>,
    /// Bytes of the largest write that has failed since one succeeded.
    unwritten_bytes: usize,
    failure_count: u64,
}

impl Availability {
    pub(super) fn new(is_temporary: bool) -> Self {
        Self { is_temporary, problems: Mutex::default() }
    }

    pub(super) fn status(&self) -> BackendStatus {
        let problems = self.problems.lock();
        let problem = problems.current().cloned();
        BackendStatus { is_available: problem.is_none(), problem, failure_count: problems.failure_count }
    }

    /// Records the outcome of a read.
    pub(super) fn record_read<T>(&self, outcome: &Result<T, StoreReadError>) {
        let problem = match outcome {
            Err(StoreReadError::Unreachable(why)) => Some(why.clone()),
            _ => None,
        };
        self.change(|problems| {
            problems.failure_count += u64::from(problem.is_some());
            problems.read = problem;
        });
    }

    /// Records the outcome of writing a snapshot of so many bytes.
    pub(super) fn record_write(&self, bytes: usize, outcome: &WriteResult) {
        match outcome {
            Ok(()) => self.change(Problems::set_written),
            Err(StoreWriteError::Unreachable(why)) => self.change(|problems| {
                problems.failure_count += 1;
                problems.write = Some(why.clone());
                problems.unwritten_bytes = problems.unwritten_bytes.max(bytes);
            }),
            // Nothing was written.
            Err(
                StoreWriteError::NoCapacity { .. } | StoreWriteError::SnapshotGone | StoreWriteError::Claimed,
            ) => {}
        }
    }

    /// Records the outcome of writing something small. If it was written, there may still be no room for a snapshot.
    pub(super) fn record_small_write(&self, outcome: &WriteResult) {
        if outcome.is_err() {
            self.record_write(0, outcome);
        }
    }

    /// Returns the number of bytes that a probe has to write; `None` if the files are available.
    pub(super) fn probe_bytes(&self) -> Option<usize> {
        let problems = self.problems.lock();
        problems.current()?;
        Some(problems.unwritten_bytes.clamp(1, MAX_PROBE_BYTES))
    }

    /// Records the outcome of a probe.
    pub(super) fn record_probe(&self, outcome: Result<(), String>) {
        self.change(|problems| match outcome {
            Ok(()) => {
                problems.set_written();
                problems.read = None;
            }
            Err(error) => problems.write = Some(error),
        });
    }

    /// Changes the problems, and logs if the store is lost or found by that.
    fn change(&self, change: impl FnOnce(&mut Problems)) {
        let mut problems = self.problems.lock();
        let was_available = problems.current().is_none();
        change(&mut problems);
        let problem = problems.current().cloned();
        drop(problems);
        match problem {
            Some(problem) if was_available && self.is_temporary => tracing::warn!(
                problem,
                "results cannot be moved to disk; while the memory is full, replies are served without cursors"
            ),
            Some(problem) if was_available => tracing::warn!(
                problem,
                "the files of the snapshot store are not available; results are kept in this process only"
            ),
            None if !was_available => tracing::info!("the files of the snapshot store are available"),
            _ => {}
        }
    }
}

impl Problems {
    fn current(&self) -> Option<&String> {
        self.write.as_ref().or(self.read.as_ref())
    }

    fn set_written(&mut self) {
        self.write = None;
        self.unwritten_bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::{Availability, MAX_PROBE_BYTES};
    use crate::store::{StoreReadError, StoreWriteError};

    fn unwritable(why: &str) -> Result<(), StoreWriteError> {
        Err(StoreWriteError::Unreachable(why.to_owned()))
    }

    fn unreadable() -> Result<(), StoreReadError> {
        Err(StoreReadError::Unreachable("input/output error".to_owned()))
    }

    fn problem(state: &Availability) -> Option<String> {
        let status = state.status();
        assert_eq!(status.is_available, status.problem.is_none());
        status.problem
    }

    #[test]
    fn a_failure_lasts_until_the_same_succeeds() {
        let state = Availability::new(false);
        assert_eq!((problem(&state), state.probe_bytes()), (None, None));
        state.record_write(10, &unwritable("no space"));
        for outcome in [Ok(()), Err(StoreReadError::Unknown)] {
            state.record_read(&outcome);
            assert_eq!(problem(&state).as_deref(), Some("no space"), "reading is no writing");
        }
        for outcome in [
            Err(StoreWriteError::SnapshotGone),
            Err(StoreWriteError::NoCapacity { bytes: 2, room: 1 }),
            unwritable("read-only"),
        ] {
            state.record_write(1, &outcome);
            assert!(problem(&state).is_some(), "{outcome:?}");
        }
        state.record_small_write(&Ok(()));
        assert_eq!(problem(&state).as_deref(), Some("read-only"));
        state.record_read(&unreadable());
        state.record_write(1, &Ok(()));
        assert_eq!(problem(&state).as_deref(), Some("input/output error"));
        state.record_read(&Ok(()));
        assert_eq!(problem(&state), None);
        assert_eq!(state.status().failure_count, 3);
        state.record_small_write(&unwritable("no space for a view"));
        assert_eq!(problem(&state).as_deref(), Some("no space for a view"));
        assert_eq!(state.status().failure_count, 4);
    }

    #[test]
    fn a_probe_writes_as_much_as_could_not_be_written() {
        let state = Availability::new(false);
        state.record_read(&unreadable());
        assert_eq!(state.probe_bytes(), Some(1));
        for (bytes, expect) in [(10, 10), (7, 10), (usize::MAX, MAX_PROBE_BYTES)] {
            state.record_write(bytes, &unwritable("no space"));
            assert_eq!(state.probe_bytes(), Some(expect));
        }
        let count = state.status().failure_count;
        state.record_probe(Err("still no space".to_owned()));
        assert_eq!(problem(&state).as_deref(), Some("still no space"));
        state.record_probe(Ok(()));
        assert_eq!((problem(&state), state.probe_bytes()), (None, None));
        assert_eq!(state.status().failure_count, count, "a probe is no operation");
    }
}
