//! Something that happens once, set by a thread and awaited by a task.

use tokio::sync::watch;

/// Set once, for good.
pub struct OneShotFlag(watch::Sender<bool>);

impl Default for OneShotFlag {
    fn default() -> Self {
        Self(watch::Sender::new(false))
    }
}

impl OneShotFlag {
    /// Sets it.
    pub fn set(&self) {
        self.0.send_replace(true);
    }

    /// Whether it is set.
    pub fn is_set(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until it is set; returns at once if it is already.
    pub async fn wait(&self) {
        // The sender lives as long as this borrow, so there is no error.
        let _ = self.0.subscribe().wait_for(|set| *set).await;
    }
}
