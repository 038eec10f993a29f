//! A link to a server over HTTP, whichever way it speaks.
//!
//! Servers of 2024-11-05 have a stream at their URL and refuse what is posted there. So the first message is posted, and
//! where it is refused in such a way, the stream is asked for (as the specification of 2025-03-26 has it); a URL that
//! ends in `/sse` is tried the other way round.

use bytes::Bytes;
use hyper::StatusCode;
use tokio::task::JoinHandle;

use super::sse::SseLink;
use super::streamable::StreamableLink;
use super::{ConnectError, ConnectFuture, Connector, Link, LinkTransport};
use crate::mcp::ParsedBatch;
use crate::upstream::http::{HttpClient, RequestError, ServerClient, UpstreamTarget};

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
pub struct RemoteConnector {
    /// Where it is.
    pub target: UpstreamTarget,
    /// Connects to it.
    pub client: HttpClient,
    /// Bytes of the largest message that is taken.
    pub message_limit: usize,
    /// How it speaks.
    pub transport: Transport,
}

impl Connector for RemoteConnector {
    fn connect(&self) -> ConnectFuture<'_> {
        Box::pin(async { self.connect_with_task().await.map(|(link, _)| link) })
    }
}

impl RemoteConnector {
    /// A link, and the task that carries its messages: it ends when the server has been told that the link is no more.
    ///
    /// # Errors
    /// [`ConnectError`] where the server has a stream and cannot be reached. Other servers hear of us with the first message.
    pub async fn connect_with_task(&self) -> Result<(Link, JoinHandle<()>), ConnectError> {
        let (link, carrier) = Link::new();
        let task = match self.transport {
            Transport::Sse => {
                let sse = SseLink::open(self.server_client())
                    .await
                    .map_err(|trouble| ConnectError(trouble.to_string()))?;
                tokio::spawn(sse.run(carrier, None))
            }
            Transport::Http | Transport::Auto => tokio::spawn(self.clone().run(carrier)),
        };
        Ok((link, task))
    }

    async fn run(self, mut carrier: LinkTransport) {
        let streamable = StreamableLink::new(self.server_client(), carrier.incoming.clone());
        let listener = carrier.incoming.clone();
        let found = tokio::select! {
            () = listener.closed() => None,
            found = async {
                let found = match self.transport {
                    Transport::Auto => self.detect_transport(&streamable, &mut carrier).await,
                    Transport::Http | Transport::Sse => None,
                };
                if found.is_none() {
                    streamable.run(&mut carrier.outgoing).await;
                }
                found
            } => found,
        };
        match found {
            Some((sse, first)) => sse.run(carrier, Some(first)).await,
            None => streamable.close().await,
        }
    }

    /// Finds out how the server speaks, by the first messages. Returns the stream and the message to begin with where it
    /// has one; otherwise the messages have been dealt with.
    async fn detect_transport(
        &self,
        streamable: &StreamableLink,
        carrier: &mut LinkTransport,
    ) -> Option<(SseLink, Bytes)> {
        let stream_first = self.target.url().path().ends_with("/sse");
        while let Some(message) = carrier.outgoing.recv().await {
            let message = Bytes::from(message);
            if !is_opening_request(&message) {
                // Whoever begins with a request of its own speaks a revision that has no such streams.
                streamable.send(message).await;
                return None;
            }
            let mut refused = None;
            if stream_first {
                match SseLink::open(self.server_client()).await {
                    Ok(sse) => return Some((sse, message)),
                    Err(trouble) => refused = Some(trouble),
                }
            }
            let mut first = streamable.post_first(&message).await;
            if refused.is_none() && first.error().is_some_and(rejects_post) {
                match SseLink::open(self.server_client()).await {
                    Ok(sse) => return Some((sse, message)),
                    Err(trouble) => refused = Some(trouble),
                }
            }
            let unknown = matches!(first.error(), Some(RequestError::NoResponse(_)));
            if first.error().is_some_and(rejects_post)
                && let Some(refused) = refused.filter(requires_credentials)
            {
                first = first.with_error(refused);
            }
            streamable.continue_first(first).await;
            if !unknown {
                return None;
            }
        }
        None
    }

    fn server_client(&self) -> ServerClient {
        ServerClient::new(self.target.clone(), self.client.clone(), self.message_limit)
    }
}

/// Whether it is what a client of any revision begins with.
fn is_opening_request(message: &[u8]) -> bool {
    let text = String::from_utf8_lossy(message);
    ParsedBatch::parse(&text).is_ok_and(|heard| {
        heard.requests().any(|note| matches!(&*note.method(), "initialize" | "server/discover"))
    })
}

/// Whether nothing is taken at the URL, so that there may be a stream.
fn rejects_post(trouble: &RequestError) -> bool {
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
fn requires_credentials(trouble: &RequestError) -> bool {
    matches!(trouble.status(), Some(StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN))
}
