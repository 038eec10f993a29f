//! Reads the bodies of requests, within bytes and time, and within what all of them may hold together.
//!
//! Memory follows what arrives, never what a request claims. The first [`UNCOUNTED_BYTES`] bytes of each body are not counted, so that
//! ordinary calls pass while others fill the budget.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::Body;
use thiserror::Error;
use tokio::time::{Instant, timeout_at};

use super::limits::HttpLimits;
use crate::http::body::TruncatedBody;

/// Bytes of each body that are not counted.
const UNCOUNTED_BYTES: usize = 16 << 10;

/// Bytes that the bodies of requests may hold together.
#[derive(Clone, Debug)]
pub(super) struct BodyBudget {
    available_bytes: Arc<AtomicUsize>,
    total_bytes: usize,
}

/// What one body holds of a budget; given back when this is dropped.
#[derive(Debug)]
pub(super) struct BodyReservation {
    budget: BodyBudget,
    reserved_bytes: usize,
}

/// Why a body was not read.
#[derive(Debug, Error)]
pub(super) enum RequestBodyError {
    /// It is longer than this many bytes.
    #[error("the body has more than {0} bytes; send less, or have clientMessageLimit raised")]
    TooLarge(usize),
    /// Others hold what all bodies may have together.
    #[error(
        "unanswered requests hold all of the {0} bytes that their bodies may have; try again in a moment"
    )]
    BudgetExhausted(usize),
    /// It does not arrive fast enough.
    #[error("the body arrives too slowly: {bytes} bytes in {seconds} s")]
    TooSlow { bytes: usize, seconds: u64 },
    /// It ended before its time.
    #[error(transparent)]
    Truncated(#[from] TruncatedBody),
}

impl BodyBudget {
    /// A budget of so many bytes.
    pub(super) fn new(bytes: usize) -> Self {
        Self { available_bytes: Arc::new(AtomicUsize::new(bytes)), total_bytes: bytes }
    }

    fn reserve(&self) -> BodyReservation {
        BodyReservation { budget: self.clone(), reserved_bytes: 0 }
    }
}

impl BodyReservation {
    /// Grows to what a body of `bytes` bytes needs. Returns false where there is no room for that.
    fn grow(&mut self, bytes: usize) -> bool {
        let more = bytes.saturating_sub(UNCOUNTED_BYTES).saturating_sub(self.reserved_bytes);
        let taken = self
            .budget
            .available_bytes
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |left| left.checked_sub(more));
        self.reserved_bytes += if taken.is_ok() { more } else { 0 };
        taken.is_ok()
    }
}

impl Drop for BodyReservation {
    fn drop(&mut self) {
        self.budget.available_bytes.fetch_add(self.reserved_bytes, Ordering::AcqRel);
    }
}

/// Reads a body. What it holds of the budget is to be kept for as long as the bytes are.
///
/// # Errors
/// [`RequestBodyError`] where it is too large, too slow, broken off, or where others hold the budget.
pub(super) async fn read_body<B>(
    mut body: B,
    limits: &HttpLimits,
    budget: &BodyBudget,
) -> Result<(Vec<u8>, BodyReservation), RequestBodyError>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let promised = body.size_hint().lower();
    if promised > limits.max_body_bytes as u64 {
        return Err(RequestBodyError::TooLarge(limits.max_body_bytes));
    }
    let began = Instant::now();
    let mut share = budget.reserve();
    let mut all = Vec::with_capacity((promised as usize).min(UNCOUNTED_BYTES));
    loop {
        let now = Instant::now();
        let deadline = (now + limits.stall_timeout).min(began + limits.transfer_timeout(all.len()));
        let Ok(frame) = timeout_at(deadline, body.frame()).await else {
            return Err(RequestBodyError::TooSlow { bytes: all.len(), seconds: began.elapsed().as_secs() });
        };
        let Some(frame) = frame else { return Ok((all, share)) };
        let frame = frame.map_err(|error| TruncatedBody(error.into()))?;
        let Some(bytes) = frame.data_ref() else { continue };
        if bytes.len() > limits.max_body_bytes - all.len() {
            return Err(RequestBodyError::TooLarge(limits.max_body_bytes));
        }
        if !share.grow(all.len() + bytes.len()) {
            return Err(RequestBodyError::BudgetExhausted(budget.total_bytes));
        }
        all.extend_from_slice(bytes);
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::time::Duration;

    use futures_util::stream;
    use http_body_util::StreamBody;
    use hyper::body::Frame;

    use super::*;

    const LIMITS: HttpLimits = HttpLimits {
        max_connections: 1,
        max_body_bytes: 1 << 20,
        max_total_body_bytes: 100 << 10,
        max_head_bytes: 1 << 10,
        stall_timeout: Duration::from_secs(1),
        idle_timeout: Duration::from_secs(90),
        body_timeout: Duration::from_mins(2),
        drain_timeout: Duration::ZERO,
        reserved_descriptors: 0,
    };

    fn body(pieces: Vec<usize>) -> impl Body<Data = Bytes, Error = Infallible> + Unpin {
        let piece = |bytes| Ok::<_, Infallible>(Frame::data(Bytes::from(vec![b'x'; bytes])));
        StreamBody::new(stream::iter(pieces.into_iter().map(piece)))
    }

    #[tokio::test]
    async fn bodies_together_stay_within_the_budget() {
        let budget = BodyBudget::new(LIMITS.max_total_body_bytes);
        let read =
            async |bytes: usize| read_body(body(vec![bytes / 2, bytes - bytes / 2]), &LIMITS, &budget).await;
        let (first, held) = read(80 << 10).await.expect("there is room");
        assert_eq!(first.len(), 80 << 10);
        assert!(
            matches!(read(80 << 10).await, Err(RequestBodyError::BudgetExhausted(_))),
            "64 of 100 KiB are held"
        );
        let small = read(UNCOUNTED_BYTES).await.expect("a small one is not counted");
        drop((small, held));
        assert!(read(80 << 10).await.is_ok(), "what was held is given back, refused bodies' shares too");
        let small = HttpLimits { max_body_bytes: 50 << 10, ..LIMITS };
        let read = read_body(body(vec![30 << 10, 30 << 10]), &small, &budget).await;
        assert!(matches!(read, Err(RequestBodyError::TooLarge(_))));
        assert_eq!(budget.available_bytes.load(Ordering::Acquire), LIMITS.max_total_body_bytes);
    }

    #[tokio::test]
    async fn a_body_that_stalls_or_drips_is_given_up() {
        let budget = BodyBudget::new(LIMITS.max_total_body_bytes);
        let every = async |pause: Duration, bytes: usize| {
            let drip = stream::unfold((), move |()| async move {
                tokio::time::sleep(pause).await;
                Some((Ok::<_, Infallible>(Frame::data(Bytes::from(vec![b'x'; bytes]))), ()))
            });
            read_body(StreamBody::new(Box::pin(drip)), &LIMITS, &budget).await.err()
        };
        let error = every(Duration::from_hours(1), 1).await;
        assert!(matches!(error, Some(RequestBodyError::TooSlow { bytes: 0, .. })), "{error:?}");
        let error = every(Duration::from_millis(20), 1).await;
        assert!(matches!(error, Some(RequestBodyError::TooSlow { .. })), "{error:?}");
        // One that is only slow gets its time.
        let error = every(Duration::from_millis(200), 16 << 10).await;
        assert!(matches!(error, Some(RequestBodyError::BudgetExhausted(_))), "{error:?}");
    }
}
