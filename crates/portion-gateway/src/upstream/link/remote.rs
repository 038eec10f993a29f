//! A link to a server over HTTP, whichever way it speaks.
//!
//! Servers of 2024-11-05 have a stream at their URL and refuse what is posted there. So the first message is posted, and
//! where it is refused in such a way, the stream is asked for (as the specification of 2025-03-26 has it); a URL that
//! ends in `/sse` is tried the other way round.

use bytes::Bytes;
use hyper::StatusCode;
use tokio::task::JoinHandle;

use super::sse::Sse;
use super::streamable::Streamable;
use super::{Carrier, Dial, Dialling, Link, NoLink};
use crate::mcp::Heard;
use crate::upstream::http::{Client, Target, Trouble, Wire};

/// How a server over HTTP speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transport {
    /// To be found out.
    #[default]
    Auto,
    /// Streamable HTTP, from 2025-03-26 on.
    Http,
    /// HTTP with server-sent events, as 2024-11-05 had it.
    Sse,
}

/// Makes links to a server over HTTP.
#[derive(Clone)]
pub struct Remote {
    /// Where it is.
    pub target: Target,
    /// Connects to it.
    pub client: Client,
    /// Bytes of the largest message that is taken.
    pub message_limit: usize,
    /// How it speaks.
    pub transport: Transport,
}

impl Dial for Remote {
    fn dial(&self) -> Dialling<'_> {
        Box::pin(async { self.start().await.map(|(link, _)| link) })
    }
}

impl Remote {
    /// A link, and the task that carries its messages: it ends when the server has been told that the link is no more.
    ///
    /// # Errors
    /// [`NoLink`] where the server has a stream and cannot be reached. Other servers hear of us with the first message.
    pub async fn start(&self) -> Result<(Link, JoinHandle<()>), NoLink> {
        let (link, carrier) = Link::new();
        let task = match self.transport {
            Transport::Sse => {
                let sse = Sse::open(self.wire()).await.map_err(|trouble| NoLink(trouble.to_string()))?;
                tokio::spawn(sse.carry(carrier, None))
            }
            Transport::Http | Transport::Auto => tokio::spawn(self.clone().carry(carrier)),
        };
        Ok((link, task))
    }

    async fn carry(self, mut carrier: Carrier) {
        let streamable = Streamable::new(self.wire(), carrier.incoming.clone());
        let listener = carrier.incoming.clone();
        let found = tokio::select! {
            () = listener.closed() => None,
            found = async {
                let found = match self.transport {
                    Transport::Auto => self.find(&streamable, &mut carrier).await,
                    Transport::Http | Transport::Sse => None,
                };
                if found.is_none() {
                    streamable.carry(&mut carrier.outgoing).await;
                }
                found
            } => found,
        };
        match found {
            Some((sse, first)) => sse.carry(carrier, Some(first)).await,
            None => streamable.leave().await,
        }
    }

    /// Finds out how the server speaks, by the first messages. Returns the stream and the message to begin with where it
    /// has one; otherwise the messages have been dealt with.
    async fn find(&self, streamable: &Streamable, carrier: &mut Carrier) -> Option<(Sse, Bytes)> {
        let stream_first = self.target.url().path().ends_with("/sse");
        while let Some(message) = carrier.outgoing.recv().await {
            let message = Bytes::from(message);
            if !is_probe(&message) {
                // Whoever begins with a request of its own speaks a revision that has no such streams.
                streamable.say(message).await;
                return None;
            }
            let mut refused = None;
            if stream_first {
                match Sse::open(self.wire()).await {
                    Ok(sse) => return Some((sse, message)),
                    Err(trouble) => refused = Some(trouble),
                }
            }
            let mut first = streamable.try_first(&message).await;
            if refused.is_none() && first.trouble().is_some_and(has_no_post) {
                match Sse::open(self.wire()).await {
                    Ok(sse) => return Some((sse, message)),
                    Err(trouble) => refused = Some(trouble),
                }
            }
            let unknown = matches!(first.trouble(), Some(Trouble::Unreachable(_)));
            if first.trouble().is_some_and(has_no_post)
                && let Some(refused) = refused.filter(wants_proof)
            {
                first = first.because(refused);
            }
            streamable.take_first(first).await;
            if !unknown {
                return None;
            }
        }
        None
    }

    fn wire(&self) -> Wire {
        Wire::new(self.target.clone(), self.client.clone(), self.message_limit)
    }
}

/// Whether it is what a client of any revision begins with.
fn is_probe(message: &[u8]) -> bool {
    let text = String::from_utf8_lossy(message);
    Heard::read(&text).is_ok_and(|heard| {
        heard.requests().any(|note| matches!(&*note.method(), "initialize" | "server/discover"))
    })
}

/// Whether nothing is taken at the URL, so that there may be a stream.
fn has_no_post(trouble: &Trouble) -> bool {
    const REFUSALS: [StatusCode; 6] = [
        StatusCode::BAD_REQUEST,
        StatusCode::NOT_FOUND,
        StatusCode::METHOD_NOT_ALLOWED,
        StatusCode::NOT_ACCEPTABLE,
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        StatusCode::NOT_IMPLEMENTED,
    ];
    trouble.status().is_some_and(|status| REFUSALS.contains(&status))
}

/// Whether there is a stream, but not for everybody.
fn wants_proof(trouble: &Trouble) -> bool {
    matches!(trouble.status(), Some(StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN))
}
