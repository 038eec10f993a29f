//! The answer to a post: JSON where the answer is what comes first, else a stream of events.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use hyper::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use tokio::time::{Instant, sleep, sleep_until};

use crate::front::http::batch::joined;
use crate::front::http::refusal::Refusal;
use crate::http::body::{self, Body, Broken};
use crate::http::event;
use crate::mcp::code::INVALID_REQUEST;

/// How long a post may wait in silence before its answer begins as a stream, so that nobody between takes it for dead.
const SILENCE: Duration = Duration::from_secs(10);
/// How often a silent stream says that it lives.
const PING: Duration = Duration::from_secs(15);
/// How long a client whose stream broke should wait before it comes back: as SDKs do that are not told.
const RETURN: Duration = Duration::from_secs(1);

/// Where the messages for one client come from.
pub(super) trait Source: Send + 'static {
    /// Waits until something can be taken. May be given up at any time.
    fn wait(&mut self) -> impl Future<Output = ()> + Send;

    /// Takes what there is. Once begun it is carried through.
    fn take(&mut self) -> impl Future<Output = Taken> + Send;

    /// From now on the client can tell what it has got.
    fn is_streamed(&mut self) {}
}

/// What was taken.
#[derive(Debug)]
pub(super) enum Taken {
    Piece(Piece),
    /// Nothing yet.
    Nothing,
    /// Every answer has been given.
    End,
    /// The rest is lost.
    Broken(&'static str),
}

/// A message for the client.
#[derive(Debug)]
pub(super) struct Piece {
    /// By which it may ask for what came after it.
    pub id: Option<String>,
    pub data: Bytes,
    /// It answers what was posted.
    pub answer: bool,
}

/// What a client takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Accept {
    pub json: bool,
    pub stream: bool,
    /// It names the stream before JSON.
    stream_first: bool,
}

/// What an answer has become.
pub(super) enum Reply {
    /// All of it, JSON.
    Json(Vec<u8>),
    /// A stream that goes on.
    Stream(Response<Body>),
    Lost(&'static str),
}

impl Accept {
    /// What the client says it takes; everything, where it does not say.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let mut accept = Self { json: false, stream: false, stream_first: false };
        let mut said = false;
        for range in headers
            .get_all(ACCEPT)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','))
        {
            said = true;
            let mut parts = range.split(';').map(str::trim);
            let kind = parts.next().unwrap_or_default().to_ascii_lowercase();
            let refused = parts.any(|part| {
                part.strip_prefix("q=").is_some_and(|q| q.parse::<f32>().is_ok_and(|q| q <= 0.0))
            });
            if !refused {
                accept.json |= matches!(&*kind, "application/json" | "application/*" | "*/*");
                accept.stream |= matches!(&*kind, "text/event-stream" | "text/*" | "*/*");
                accept.stream_first |= accept.stream && !accept.json;
            }
        }
        if said { accept } else { Self { json: true, stream: true, stream_first: false } }
    }

    /// Only the stream, if that is what the client names first: nothing else says what it would rather have.
    pub(super) fn as_listed(self) -> Self {
        Self { json: self.json && !self.stream_first, ..self }
    }

    /// # Errors
    /// Where it takes neither form of an answer.
    pub(super) fn check(self) -> Result<Self, Refusal> {
        if self.json || self.stream {
            return Ok(self);
        }
        let message = "answers are application/json or text/event-stream; send Accept with both";
        Err(Refusal::new(StatusCode::NOT_ACCEPTABLE, INVALID_REQUEST, message))
    }
}

/// The answer to a post, in the form that fits. `batch`: an array was posted, and so is answered. `priming`: the id
/// with which a stream begins, for clients that know such events.
pub(super) async fn reply<S: Source>(
    mut source: S,
    accept: Accept,
    batch: bool,
    priming: Option<String>,
) -> Reply {
    let mut first = Vec::new();
    if accept.json {
        let mut silence = pin!(sleep(SILENCE));
        loop {
            tokio::select! {
                biased;
                () = source.wait() => {}
                () = &mut silence, if accept.stream => break,
            }
            match source.take().await {
                Taken::Piece(piece) => {
                    let is_answer = piece.answer;
                    first.push(piece);
                    if !is_answer {
                        break;
                    }
                }
                Taken::Nothing => {}
                Taken::End if first.is_empty() => return Reply::Lost("there is no answer"),
                Taken::End => return Reply::Json(joined(first.iter().map(|piece| &piece.data[..]), batch)),
                Taken::Broken(why) => return Reply::Lost(why),
            }
        }
    }
    source.is_streamed();
    Reply::Stream(events(source, &first, priming))
}

/// A stream of events: `first`, then what comes.
pub(super) fn events<S: Source>(source: S, first: &[Piece], priming: Option<String>) -> Response<Body> {
    let primed = priming.map(|id| event::priming(&id, RETURN));
    let first: Vec<u8> = primed.into_iter().chain(first.iter().map(written)).flatten().collect();
    let begun = (!first.is_empty()).then(|| first.into());
    let chunks = stream::unfold(Some((source, begun)), |state| async move {
        let (mut source, begun) = state?;
        if let Some(begun) = begun {
            return Some((Ok(begun), Some((source, None))));
        }
        let ping = Instant::now() + PING;
        loop {
            tokio::select! {
                biased;
                () = source.wait() => {}
                () = sleep_until(ping) => return Some((Ok(Bytes::from_static(event::PING)), Some((source, None)))),
            }
            match source.take().await {
                Taken::Piece(piece) => return Some((Ok(written(&piece).into()), Some((source, None)))),
                Taken::Nothing => {}
                Taken::End => return None,
                Taken::Broken(why) => return Some((Err(Broken(why.into())), None)),
            }
        }
    });
    let mut response = Response::new(body::streamed(chunks));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    // Asks proxies of the nginx family to pass events at once.
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response
}

fn written(piece: &Piece) -> Vec<u8> {
    event::written(piece.id.as_deref(), &piece.data)
}

#[cfg(test)]
mod tests {
    use hyper::HeaderMap;
    use hyper::header::{ACCEPT, HeaderValue};

    use super::Accept;

    #[test]
    fn reads_what_a_client_takes() {
        let check = |said: &[&'static str], json: bool, stream: bool| {
            let mut headers = HeaderMap::new();
            said.iter().for_each(|value| {
                headers.append(ACCEPT, HeaderValue::from_static(value));
            });
            let accept = Accept::of(&headers);
            assert_eq!((accept.json, accept.stream), (json, stream), "{said:?}");
            accept.as_listed()
        };
        assert!(check(&[], true, true).json);
        assert!(check(&["*/*"], true, true).json);
        assert!(check(&["application/json, text/event-stream"], true, true).json);
        assert!(check(&["application/json", "TEXT/event-stream; q=0.5"], true, true).json);
        assert!(!check(&["text/event-stream, application/json"], true, true).json);
        check(&["application/json"], true, false);
        check(&["text/event-stream;q=1, */*;q=0"], false, true);
        check(&["text/html, image/*"], false, false);
    }
}
