//! Reads request bodies within a size, a time and a memory budget shared by all requests.
//!
//! Memory grows with the bytes received, not with the announced length. The first [`UNCOUNTED_BYTES`] bytes of each
//! body are not counted, so that ordinary calls pass while large ones exhaust the budget.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::Body;
use portion_net::request_body::{SlowBody, TimedBody};
use thiserror::Error;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

use super::limits::HttpLimits;
use crate::http::body::TruncatedBody;

/// Bytes of each body that do not count towards the budget.
const UNCOUNTED_BYTES: usize = 16 << 10;
/// Timeout for a whole body.
const BODY_TIMEOUT: Duration = Duration::from_mins(2);

/// Memory budget shared by all request bodies; a permit is a byte.
#[derive(Clone, Debug)]
pub(super) struct BodyBudget {
    available: Arc<Semaphore>,
    total_bytes: usize,
}

/// Part of the budget held by one body; returned when this is dropped.
pub(super) type BodyReservation = OwnedSemaphorePermit;

/// Error of reading a request body.
#[derive(Debug, Error)]
pub(super) enum RequestBodyError {
    /// The body is longer than this limit in bytes.
    #[error("the body exceeds {0} bytes; send less, or raise clientMessageLimit")]
    TooLarge(usize),
    /// Other requests hold the budget of this many bytes.
    #[error("pending requests use all {0} bytes allowed for bodies; retry in a moment")]
    BudgetExhausted(usize),
    /// The body arrives too slowly.
    #[error(transparent)]
    TooSlow(#[from] SlowBody),
    /// The body ended too early.
    #[error(transparent)]
    Truncated(#[from] TruncatedBody),
}

impl BodyBudget {
    /// Creates a budget of this many bytes.
    pub(super) fn new(total_bytes: usize) -> Self {
        Self { available: Arc::new(Semaphore::new(total_bytes)), total_bytes }
    }

    fn reserve(&self, bytes: usize) -> Result<BodyReservation, RequestBodyError> {
        let bytes = u32::try_from(bytes).ok();
        let reserved = bytes.and_then(|bytes| Arc::clone(&self.available).try_acquire_many_owned(bytes).ok());
        reserved.ok_or(RequestBodyError::BudgetExhausted(self.total_bytes))
    }
}

/// Reads a body. The reservation must be kept as long as the bytes.
///
/// # Errors
/// Returns [`RequestBodyError`] if the body is too large, too slow or truncated, or the budget is exhausted.
pub(super) async fn read_body<B>(
    body: B,
    limits: &HttpLimits,
    budget: &BodyBudget,
) -> Result<(Vec<u8>, BodyReservation), RequestBodyError>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let announced_bytes = body.size_hint().lower();
    if announced_bytes > limits.max_body_bytes as u64 {
        return Err(RequestBodyError::TooLarge(limits.max_body_bytes));
    }
    let mut body = TimedBody::new(body, limits.connections.stall_timeout);
    let deadline = Instant::now() + BODY_TIMEOUT;
    let mut reservation = budget.reserve(0)?;
    let mut all = Vec::with_capacity((announced_bytes as usize).min(UNCOUNTED_BYTES));
    while let Some(frame) = timeout_at(deadline, body.frame()).await.map_err(|_| SlowBody)? {
        let frame = frame.map_err(|error| match error.downcast::<SlowBody>() {
            Ok(slow) => RequestBodyError::TooSlow(*slow),
            Err(other) => TruncatedBody::from_error(other).into(),
        })?;
        let Some(bytes) = frame.data_ref() else { continue };
        if bytes.len() > limits.max_body_bytes - all.len() {
            return Err(RequestBodyError::TooLarge(limits.max_body_bytes));
        }
        let counted = (all.len() + bytes.len()).saturating_sub(UNCOUNTED_BYTES);
        reservation.merge(budget.reserve(counted.saturating_sub(reservation.num_permits()))?);
        all.extend_from_slice(bytes);
    }
    Ok((all, reservation))
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures_util::stream;
    use http_body_util::StreamBody;
    use hyper::body::Frame;
    use portion_net::serve::ServeLimits;

    use super::*;

    fn limits() -> HttpLimits {
        let connections = ServeLimits { stall_timeout: Duration::from_secs(1), ..ServeLimits::default() };
        HttpLimits { connections, max_body_bytes: 1 << 20, max_total_body_bytes: TOTAL_BYTES, overload: None }
    }

    const TOTAL_BYTES: usize = 100 << 10;

    fn body(pieces: Vec<usize>) -> impl Body<Data = Bytes, Error = Infallible> + Unpin {
        let piece = |bytes| Ok::<_, Infallible>(Frame::data(Bytes::from(vec![b'x'; bytes])));
        StreamBody::new(stream::iter(pieces.into_iter().map(piece)))
    }

    #[tokio::test]
    async fn bodies_together_stay_within_the_budget() {
        let budget = BodyBudget::new(TOTAL_BYTES);
        let read = async |bytes: usize| {
            read_body(body(vec![bytes / 2, bytes - bytes / 2]), &limits(), &budget).await
        };
        let (first, held) = read(80 << 10).await.expect("there is room");
        assert_eq!(first.len(), 80 << 10);
        assert!(
            matches!(read(80 << 10).await, Err(RequestBodyError::BudgetExhausted(_))),
            "64 of 100 KiB are held"
        );
        let small = read(UNCOUNTED_BYTES).await.expect("a small one is not counted");
        drop((small, held));
        assert!(read(80 << 10).await.is_ok(), "what was held is given back, refused bodies' shares too");
        let small = HttpLimits { max_body_bytes: 50 << 10, ..limits() };
        let read = read_body(body(vec![30 << 10, 30 << 10]), &small, &budget).await;
        assert!(matches!(read, Err(RequestBodyError::TooLarge(_))));
        assert_eq!(budget.available.available_permits(), TOTAL_BYTES);
    }

    #[tokio::test]
    async fn a_body_that_stalls_or_is_too_slow_is_rejected() {
        let budget = BodyBudget::new(TOTAL_BYTES);
        let every = async |pause: Duration, bytes: usize| {
            let drip = stream::unfold((), move |()| async move {
                tokio::time::sleep(pause).await;
                Some((Ok::<_, Infallible>(Frame::data(Bytes::from(vec![b'x'; bytes]))), ()))
            });
            read_body(StreamBody::new(Box::pin(drip)), &limits(), &budget).await.err()
        };
        let error = every(Duration::from_hours(1), 1).await;
        assert!(matches!(error, Some(RequestBodyError::TooSlow(_))), "{error:?}");
        let error = every(Duration::from_millis(20), 1).await;
        assert!(matches!(error, Some(RequestBodyError::TooSlow(_))), "{error:?}");
        // A slow body is read to its end.
        let error = every(Duration::from_millis(200), 16 << 10).await;
        assert!(matches!(error, Some(RequestBodyError::BudgetExhausted(_))), "{error:?}");
    }
}
