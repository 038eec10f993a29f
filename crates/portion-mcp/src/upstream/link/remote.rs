//! Link to a server over HTTP; detects which transport it speaks.
//!
//! Servers of 2024-11-05 have a stream at their URL and reject posts to it. So the first message is posted, and if it is
//! rejected, the stream is opened (backwards compatibility in the specification of 2025-03-26). For a URL that ends in
//! `/sse` the order is reversed.

use std::sync::Arc;

use bytes::Bytes;
use hyper::StatusCode;
use portion_policy::upstream::{Transport, UpstreamTarget};
use tokio::task::JoinHandle;

use super::ping_responder::answer_pings;
use super::sse::SseLink;
use super::streamable::StreamableLink;
use super::{ConnectError, ConnectFuture, Connector, Link, LinkTransport};
use crate::mcp::ParsedBatch;
use crate::upstream::http::{Authorizer, HttpClient, RequestError, ServerClient};

/// Connects to a server over HTTP.
#[derive(Clone)]
pub struct RemoteConnector {
    /// URL and headers.
    pub target: UpstreamTarget,
    /// HTTP client.
    pub client: HttpClient,
    /// Largest message accepted, in bytes.
    pub message_limit: usize,
    /// Transport of the server.
    pub transport: Transport,
    /// Component that has the credentials of the server, if they are not headers of `target`.
    pub authorizer: Option<Arc<dyn Authorizer>>,
}

impl Connector for RemoteConnector {
    fn connect(&self) -> ConnectFuture<'_> {
        Box::pin(async { self.connect_with_task().await.map(|(link, _)| link) })
    }
}

impl RemoteConnector {
    /// Returns a link and its transport task, which ends after the session at the server has been ended.
    ///
    /// # Errors
    /// Returns [`ConnectError`] if the transport is SSE and the stream cannot be opened. With other transports the first
    /// message connects.
    pub async fn connect_with_task(&self) -> Result<(Link, JoinHandle<()>), ConnectError> {
        let (link, transport) = Link::new();
        let transport = match &self.authorizer {
            Some(authorizer) => answer_pings(transport, Arc::clone(authorizer)),
            None => transport,
        };
        let task = match self.transport {
            Transport::Sse => {
                let sse = SseLink::open(self.server_client())
                    .await
                    .map_err(|trouble| ConnectError(trouble.to_string()))?;
                tokio::spawn(sse.run(transport, None))
            }
            Transport::Http | Transport::Auto => tokio::spawn(self.clone().run(transport)),
        };
        Ok((link, task))
    }

    async fn run(self, mut transport: LinkTransport) {
        let streamable = StreamableLink::new(self.server_client(), transport.incoming.clone());
        let listener = transport.incoming.clone();
        let detected = tokio::select! {
            () = listener.closed() => None,
            detected = async {
                let detected = match self.transport {
                    Transport::Auto => self.detect_transport(&streamable, &mut transport).await,
                    Transport::Http | Transport::Sse => None,
                };
                if detected.is_none() {
                    streamable.run(&mut transport.outgoing).await;
                }
                detected
            } => detected,
        };
        match detected {
            Some((sse, first)) => sse.run(transport, Some(first)).await,
            None => streamable.close().await,
        }
    }

    /// Detects the transport by the first messages. Returns the stream and the message to post first if the server speaks
    /// SSE; otherwise the messages have been processed.
    async fn detect_transport(
        &self,
        streamable: &StreamableLink,
        transport: &mut LinkTransport,
    ) -> Option<(SseLink, Bytes)> {
        let stream_first = self.target.url().path().ends_with("/sse");
        while let Some(message) = transport.outgoing.recv().await {
            let message = Bytes::from(message);
            if !is_opening_request(&message) {
                // A client that begins with another request speaks a revision without such streams.
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
            let is_unreachable = matches!(first.error(), Some(RequestError::NoResponse(_)));
            if first.error().is_some_and(rejects_post)
                && let Some(refused) = refused.filter(requires_credentials)
            {
                first = first.with_error(refused);
            }
            streamable.continue_first(first).await;
            if !is_unreachable {
                return None;
            }
        }
        None
    }

    fn server_client(&self) -> ServerClient {
        ServerClient::new(self.target.clone(), self.client.clone(), self.message_limit)
            .with_authorizer(self.authorizer.clone())
    }
}

/// Returns true for a request that opens a conversation, in any revision.
fn is_opening_request(message: &[u8]) -> bool {
    let text = String::from_utf8_lossy(message);
    ParsedBatch::parse(&text).is_ok_and(|batch| {
        batch.requests().any(|message| matches!(&*message.method(), "initialize" | "server/discover"))
    })
}

/// Returns true if the URL rejects posts, so that it may be that of a stream.
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

/// Returns true if the stream exists but requires credentials.
fn requires_credentials(trouble: &RequestError) -> bool {
    matches!(trouble.status(), Some(StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN))
}
