//! Something that happens once, set by a thread and awaited by a task.

use tokio::sync::watch;

pub(super) struct Latch(watch::Sender<bool>);

impl Default for Latch {
    fn default() -> Self {
        Self(watch::Sender::new(false))
    }
}

impl Latch {
    pub(super) fn set(&self) {
        self.0.send_replace(true);
    }

    /// Returns at once if it is set already.
    pub(super) async fn wait(&self) {
        // The sender lives as long as this borrow, so there is no error.
        let _ = self.0.subscribe().wait_for(|set| *set).await;
    }
}
