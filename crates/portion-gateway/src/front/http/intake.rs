//! Reads the bodies of requests, within bytes and time, and within what all of them may hold together.
//!
//! Memory follows what arrives, never what a request claims. The first [`FREE`] bytes of each body are not counted, so that
//! ordinary calls pass while others fill the budget.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::Body;
use thiserror::Error;
use tokio::time::{Instant, timeout_at};

use super::limits::Limits;
use crate::http::body::Broken;

/// Bytes of each body that are not counted.
const FREE: usize = 16 << 10;

/// Bytes that the bodies of requests may hold together.
#[derive(Clone, Debug)]
pub(super) struct Budget {
    left: Arc<AtomicUsize>,
    all: usize,
}

/// What one body holds of a budget; given back when this is dropped.
#[derive(Debug)]
pub(super) struct Share {
    budget: Budget,
    counted: usize,
}

/// Why a body was not read.
#[derive(Debug, Error)]
pub(super) enum Unread {
    /// It is longer than this many bytes.
    #[error("the body has more than {0} bytes; send less, or have clientMessageLimit raised")]
    TooLarge(usize),
    /// Others hold what all bodies may have together.
    #[error(
        "unanswered requests hold all of the {0} bytes that their bodies may have; try again in a moment"
    )]
    NoRoom(usize),
    /// It does not arrive fast enough.
    #[error("the body arrives too slowly: {bytes} bytes in {seconds} s")]
    Slow { bytes: usize, seconds: u64 },
    /// It ended before its time.
    #[error(transparent)]
    Broken(#[from] Broken),
}

impl Budget {
    /// A budget of so many bytes.
    pub(super) fn new(bytes: usize) -> Self {
        Self { left: Arc::new(AtomicUsize::new(bytes)), all: bytes }
    }

    fn share(&self) -> Share {
        Share { budget: self.clone(), counted: 0 }
    }
}

impl Share {
    /// Grows to what a body of `bytes` bytes needs. Returns false where there is no room for that.
    fn grow(&mut self, bytes: usize) -> bool {
        let more = bytes.saturating_sub(FREE).saturating_sub(self.counted);
        let taken =
            self.budget.left.fetch_update(Ordering::AcqRel, Ordering::Acquire, |left| left.checked_sub(more));
        self.counted += if taken.is_ok() { more } else { 0 };
        taken.is_ok()
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.budget.left.fetch_add(self.counted, Ordering::AcqRel);
    }
}

/// Reads a body. What it holds of the budget is to be kept for as long as the bytes are.
///
/// # Errors
/// [`Unread`] where it is too large, too slow, broken off, or where others hold the budget.
pub(super) async fn whole<B>(
    mut body: B,
    limits: &Limits,
    budget: &Budget,
) -> Result<(Vec<u8>, Share), Unread>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let promised = body.size_hint().lower();
    if promised > limits.body as u64 {
        return Err(Unread::TooLarge(limits.body));
    }
    let began = Instant::now();
    let mut share = budget.share();
    let mut all = Vec::with_capacity((promised as usize).min(FREE));
    loop {
        let now = Instant::now();
        let deadline = (now + limits.slow).min(began + limits.time_for(all.len()));
        let Ok(frame) = timeout_at(deadline, body.frame()).await else {
            return Err(Unread::Slow { bytes: all.len(), seconds: began.elapsed().as_secs() });
        };
        let Some(frame) = frame else { return Ok((all, share)) };
        let frame = frame.map_err(|error| Broken(error.into()))?;
        let Some(bytes) = frame.data_ref() else { continue };
        if bytes.len() > limits.body - all.len() {
            return Err(Unread::TooLarge(limits.body));
        }
        if !share.grow(all.len() + bytes.len()) {
            return Err(Unread::NoRoom(budget.all));
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

    const LIMITS: Limits = Limits {
        connections: 1,
        body: 1 << 20,
        bodies: 100 << 10,
        head: 1 << 10,
        slow: Duration::from_secs(1),
        idle: Duration::from_secs(90),
        sending: Duration::from_mins(2),
        drain: Duration::ZERO,
        reserve: 0,
    };

    fn body(pieces: Vec<usize>) -> impl Body<Data = Bytes, Error = Infallible> + Unpin {
        let piece = |bytes| Ok::<_, Infallible>(Frame::data(Bytes::from(vec![b'x'; bytes])));
        StreamBody::new(stream::iter(pieces.into_iter().map(piece)))
    }

    #[tokio::test]
    async fn bodies_together_stay_within_the_budget() {
        let budget = Budget::new(LIMITS.bodies);
        let read =
            async |bytes: usize| whole(body(vec![bytes / 2, bytes - bytes / 2]), &LIMITS, &budget).await;
        let (first, held) = read(80 << 10).await.expect("there is room");
        assert_eq!(first.len(), 80 << 10);
        assert!(matches!(read(80 << 10).await, Err(Unread::NoRoom(_))), "64 of 100 KiB are held");
        let small = read(FREE).await.expect("a small one is not counted");
        drop((small, held));
        assert!(read(80 << 10).await.is_ok(), "what was held is given back, refused bodies' shares too");
        let small = Limits { body: 50 << 10, ..LIMITS };
        let read = whole(body(vec![30 << 10, 30 << 10]), &small, &budget).await;
        assert!(matches!(read, Err(Unread::TooLarge(_))));
        assert_eq!(budget.left.load(Ordering::Acquire), LIMITS.bodies);
    }

    #[tokio::test]
    async fn a_body_that_stalls_or_drips_is_given_up() {
        let budget = Budget::new(LIMITS.bodies);
        let every = async |pause: Duration, bytes: usize| {
            let drip = stream::unfold((), move |()| async move {
                tokio::time::sleep(pause).await;
                Some((Ok::<_, Infallible>(Frame::data(Bytes::from(vec![b'x'; bytes]))), ()))
            });
            whole(StreamBody::new(Box::pin(drip)), &LIMITS, &budget).await.err()
        };
        let error = every(Duration::from_hours(1), 1).await;
        assert!(matches!(error, Some(Unread::Slow { bytes: 0, .. })), "{error:?}");
        let error = every(Duration::from_millis(20), 1).await;
        assert!(matches!(error, Some(Unread::Slow { .. })), "{error:?}");
        // One that is only slow gets its time.
        let error = every(Duration::from_millis(200), 16 << 10).await;
        assert!(matches!(error, Some(Unread::NoRoom(_))), "{error:?}");
    }
}
