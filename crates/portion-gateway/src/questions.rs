//! Questions under way: how many a session may have at once, and how one ends before it is answered.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::sync::{Semaphore, SemaphorePermit};

/// Questions of one session that are answered at the same time.
pub(crate) const AT_ONCE: usize = 4;
/// Questions of one session that wait for their turn. Further ones are refused.
pub(crate) const WAITING: usize = 60;

/// Ends a question: shared by who asks and who answers.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Nobody waits for the answer any more.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether nobody waits for the answer any more.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// The flag itself, for those who answer.
    pub(crate) fn flag(&self) -> &Arc<AtomicBool> {
        &self.0
    }

    /// Sets it when the result is dropped: work on another thread ends with the future that waits for it.
    pub(crate) fn when_dropped(&self) -> SetWhenDropped {
        SetWhenDropped(self.clone())
    }
}

/// Sets a [`Stop`] when it is dropped.
pub(crate) struct SetWhenDropped(Stop);

impl SetWhenDropped {
    /// Lets it be as it is: the work has ended.
    pub(crate) fn defuse(mut self) {
        self.0 = Stop::default();
    }
}

impl Drop for SetWhenDropped {
    fn drop(&mut self) {
        self.0.set();
    }
}

/// The questions of one session.
#[derive(Debug)]
pub(crate) struct Questions {
    room: Semaphore,
    entered: AtomicUsize,
}

/// A place among the questions of a session, until it is dropped.
pub(crate) struct Place<'a> {
    _permit: SemaphorePermit<'a>,
    _entered: Entered<'a>,
}

struct Entered<'a>(&'a AtomicUsize);

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Default for Questions {
    fn default() -> Self {
        Self { room: Semaphore::new(AT_ONCE), entered: AtomicUsize::new(0) }
    }
}

impl Questions {
    /// Waits for a place. `None` where too many wait already.
    pub(crate) async fn enter(&self) -> Option<Place<'_>> {
        let before = self.entered.fetch_add(1, Ordering::Relaxed);
        let entered = Entered(&self.entered);
        if before >= AT_ONCE + WAITING {
            return None;
        }
        let permit = self.room.acquire().await.ok()?;
        Some(Place { _permit: permit, _entered: entered })
    }
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Waker};

    use super::{AT_ONCE, Questions, Stop, WAITING};

    #[tokio::test]
    async fn so_many_are_answered_so_many_wait_and_further_ones_are_refused() {
        let questions = Questions::default();
        let mut places = Vec::new();
        for _ in 0..AT_ONCE {
            places.push(questions.enter().await.expect("there is room"));
        }
        let mut waiting: Vec<_> = (0..WAITING).map(|_| Box::pin(questions.enter())).collect();
        for next in &mut waiting {
            let mut context = Context::from_waker(Waker::noop());
            assert!(next.as_mut().poll(&mut context).is_pending());
        }
        assert!(questions.enter().await.is_none());
        places.pop();
        assert!(waiting.remove(0).await.is_some());
        drop(waiting);
        assert!(questions.enter().await.is_some(), "who waits no longer takes no place");
    }

    #[test]
    fn work_ends_with_who_waits_for_it() {
        let stop = Stop::default();
        let guard = stop.when_dropped();
        assert!(!stop.is_set());
        drop(guard);
        assert!(stop.is_set());
    }
}
