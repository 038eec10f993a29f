//! Link to a server over HTTP; detects which transport it speaks.
//!
//! Servers of 2024-11-05 have a stream at their URL and reject posts to it. So the first message is posted, and if it is
//! rejected, the stream is opened (backwards compatibility in the specification of 2025-03-26). For a URL that ends in
//! `/sse` the order is reversed.
//!
//! While a person logs in, requests wait. Pings of the client are answered, because a client that gets no response to a ping
//! ends the connection.

use std::sync::Arc;

use bytes::Bytes;
use hyper::StatusCode;
use portion_policy::upstream::{Transport, UpstreamTarget};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::sse::SseLink;
use super::streamable::StreamableLink;
use super::{CHANNEL_CAPACITY, ConnectError, ConnectFuture, Connector, Link, LinkEvent, LinkTransport};
use crate::frame::Frame;
use crate::mcp::{MessageView, ParsedBatch};
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
            if refused.is_none() && first.posted.as_ref().is_err_and(rejects_post) {
                match SseLink::open(self.server_client()).await {
                    Ok(sse) => return Some((sse, message)),
                    Err(trouble) => refused = Some(trouble),
                }
            }
            let is_unreachable = matches!(first.posted, Err(RequestError::NoResponse(_)));
            if first.posted.as_ref().is_err_and(rejects_post)
                && let Some(refused) = refused.filter(requires_credentials)
            {
                first.posted = Err(refused);
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
    let opens = |request: &MessageView<'_>| matches!(&*request.method(), "initialize" | "server/discover");
    ParsedBatch::read(message, |batch| batch.requests().any(opens)) == Some(true)
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

/// Returns a transport without the pings that are answered here.
fn answer_pings(transport: LinkTransport, authorizer: Arc<dyn Authorizer>) -> LinkTransport {
    let LinkTransport { mut outgoing, incoming } = transport;
    let (sender, receiver) = mpsc::channel(CHANNEL_CAPACITY);
    let answers = incoming.clone();
    tokio::spawn(async move {
        while let Some(message) = outgoing.recv().await {
            let answer = authorizer.is_pending().then(|| ping_response(&message)).flatten();
            let is_open = match answer {
                Some(answer) => answers.send(LinkEvent::Frame(Frame::Message(answer))).await.is_ok(),
                None => sender.send(message).await.is_ok(),
            };
            if !is_open {
                return;
            }
        }
    });
    LinkTransport { outgoing: receiver, incoming }
}

/// Returns the response if the message is a ping.
fn ping_response(message: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(message).ok()?;
    let batch = ParsedBatch::parse(text).ok()?;
    let [request] = batch.messages.as_slice() else { return None };
    let is_ping =
        batch.requests().any(|request| &*request.method() == "ping") && !text.trim_start().starts_with('[');
    is_ping.then(|| format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{}}}}"#, request.id()).into_bytes())
}

#[cfg(test)]
mod tests {
    use super::ping_response;

    #[test]
    fn only_pings_are_answered() {
        let check = |message: &str, expect: Option<&str>| {
            let found =
                ping_response(message.as_bytes()).map(|bytes| String::from_utf8(bytes).expect("UTF-8"));
            assert_eq!(found.as_deref(), expect, "{message}");
        };
        check(
            r#"{"jsonrpc":"2.0","id":"a\u0062","method":"ping"}"#,
            Some(r#"{"jsonrpc":"2.0","id":"a\u0062","result":{}}"#),
        );
        check(r#"{"jsonrpc":"2.0","method":"ping"}"#, None);
        check(r#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#, None);
        check(r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, None);
        check(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, None);
        check("ping", None);
    }
}
