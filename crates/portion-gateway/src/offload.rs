//! Work that would hold up everyone else goes aside: indexing 100 MB takes longer than a relay may stand still.

use std::future::pending;
use std::panic::resume_unwind;

use tokio::runtime::Handle;
use tokio::task::spawn_blocking;

/// Payload bytes up to which handing work to another thread costs more than it saves others.
const INLINE_MAX_BYTES: usize = 128 << 10;

/// Does work on a payload of `bytes`: here if it is small, else where it holds nobody up.
pub(crate) async fn offload<T: Send + 'static>(bytes: usize, work: impl FnOnce() -> T + Send + 'static) -> T {
    if bytes <= INLINE_MAX_BYTES || Handle::try_current().is_err() {
        return work();
    }
    match spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            // The runtime is being shut down, and who waits here with it.
            Err(_) => pending().await,
        },
    }
}
