//! Waits for a condition.

use std::thread::sleep;
use std::time::{Duration, Instant};

/// Far longer than any step takes, even on a busy machine: reaching it means a hang.
const HANG: Duration = Duration::from_mins(1);

/// Waits until a condition is met, and panics after a timeout.
pub(crate) fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < HANG, "hangs: {what}");
        sleep(Duration::from_millis(5));
    }
}
