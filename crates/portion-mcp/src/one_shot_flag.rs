//! A flag that is set once, by a thread, and awaited by tasks.
//!
//! ```
//! use portion_mcp::one_shot_flag::OneShotFlag;
//!
//! let flag = OneShotFlag::default();
//! assert!(!flag.is_set());
//! flag.set();
//! assert!(flag.is_set());
//! ```

use tokio::sync::watch;

/// A flag that is set once and stays set.
#[derive(Debug)]
pub struct OneShotFlag(watch::Sender<bool>);

impl Default for OneShotFlag {
    fn default() -> Self {
        Self(watch::Sender::new(false))
    }
}

impl OneShotFlag {
    /// Sets the flag.
    pub fn set(&self) {
        self.0.send_replace(true);
    }

    /// Returns true if the flag is set.
    pub fn is_set(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until the flag is set; returns at once if it already is.
    pub async fn wait(&self) {
        // The sender lives as long as this borrow, so there is no error.
        let _ = self.0.subscribe().wait_for(|set| *set).await;
    }
}
