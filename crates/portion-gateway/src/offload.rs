//! Moves long computations off the event loop: indexing 100 MB takes longer than a relay may block.

use std::future::pending;
use std::panic::resume_unwind;

use tokio::runtime::Handle;
use tokio::task::spawn_blocking;

/// Largest payload, in bytes, for which moving work to another thread costs more than it saves.
const INLINE_MAX_BYTES: usize = 128 << 10;

/// Runs work on a payload of `bytes` bytes: inline if it is small, else on a blocking thread.
pub(crate) async fn offload<T: Send + 'static>(bytes: usize, work: impl FnOnce() -> T + Send + 'static) -> T {
    if bytes <= INLINE_MAX_BYTES || Handle::try_current().is_err() {
        return work();
    }
    match spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            // The runtime is shutting down, together with this task.
            Err(_) => pending().await,
        },
    }
}
