//! Link to a server of 2024-11-05: one stream of events from the server, whose first event names the endpoint for posts.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::Uri;
use hyper::header::HeaderMap;
use portion_net::link_header::{display_uri, resolve, same_origin};
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::{
    CloseReason, InFlight, LinkEvent, LinkTransport, failure_message, to_single_line, with_missing_id,
};
use crate::frame::{DroppedLine, Frame};
use crate::mcp::{MessageKind, ParsedBatch};
use crate::once::OneShotFlag;
use crate::upstream::http::{EventStream, RequestError, ResumePoint, ServerClient, StreamItem};

/// Timeout for the response and its first event, which names the endpoint.
const ENDPOINT_TIMEOUT: Duration = Duration::from_secs(10);
/// Longest delay of the next message until the previous one has been posted.
const POST_TIMEOUT: Duration = Duration::from_secs(5);

/// A link whose stream is open.
pub(super) struct SseLink {
    poster: Arc<Poster>,
    stream: EventStream,
}

/// Posts messages to the endpoint.
struct Poster {
    client: ServerClient,
    endpoint: Uri,
    in_flight: InFlight,
    /// Set when the link is closed.
    is_closed: OneShotFlag,
}

impl SseLink {
    /// Opens the stream.
    ///
    /// # Errors
    /// Returns [`RequestError`] if it cannot be opened, or does not begin with an endpoint of the same origin.
    pub(super) async fn open(client: ServerClient) -> Result<Self, RequestError> {
        Self::open_within(client, ENDPOINT_TIMEOUT).await
    }

    async fn open_within(client: ServerClient, limit: Duration) -> Result<Self, RequestError> {
        let url = client.url();
        let opened = timeout(limit, async {
            let mut stream = client.get(HeaderMap::new(), ResumePoint::default()).await?;
            let first = stream.next().await;
            Ok::<_, RequestError>((stream, first))
        });
        let Ok(opened) = opened.await else { return Err(RequestError::NoEndpoint(display_uri(&url))) };
        let (stream, first) = opened?;
        let endpoint = match first {
            Some(StreamItem::Event(event)) if event.event_type() == b"endpoint" => {
                resolve(&url, &String::from_utf8_lossy(&event.data))
            }
            _ => return Err(RequestError::NoEndpoint(display_uri(&url))),
        };
        let Some(endpoint) = endpoint.filter(|endpoint| same_origin(endpoint, &url)) else {
            return Err(RequestError::ForeignEndpoint(display_uri(&url)));
        };
        let poster =
            Poster { client, endpoint, in_flight: InFlight::default(), is_closed: OneShotFlag::default() };
        Ok(Self { poster: Arc::new(poster), stream })
    }

    /// Carries messages, `first` before all others, until either side closes the link.
    pub(super) async fn run(self, transport: LinkTransport, first: Option<Bytes>) {
        let Self { poster, stream } = self;
        let LinkTransport { outgoing, incoming } = transport;
        let stream_ended = tokio::select! {
            () = incoming.closed() => false,
            () = post_messages(&poster, first, outgoing, &incoming) => false,
            () = forward_events(&poster, stream, &incoming) => true,
        };
        poster.is_closed.set();
        if stream_ended {
            let reason = format!("{} has closed its event stream", display_uri(&poster.client.url()));
            let _ = incoming.send(LinkEvent::Closed(CloseReason::new(reason))).await;
        }
    }
}

/// Forwards the messages of the server until the stream ends.
async fn forward_events(poster: &Poster, mut stream: EventStream, incoming: &mpsc::Sender<LinkEvent>) {
    while let Some(item) = stream.next().await {
        let frame = match item {
            StreamItem::Event(event) if event.event_type() == b"message" => {
                let frame = with_missing_id(Frame::Message(event.data), || poster.in_flight.only_id());
                let Frame::Message(bytes) = frame else { continue };
                ParsedBatch::read(&bytes, |batch| {
                    let messages = batch.messages.iter();
                    let responses = messages.filter(|message| message.kind() == MessageKind::Response);
                    responses.for_each(|response| drop(poster.in_flight.complete(response.id())));
                });
                Frame::Message(to_single_line(bytes))
            }
            StreamItem::Event(_) => continue,
            StreamItem::TooLarge(bytes) => {
                // The id is lost with the message; a single pending request must be the answered one.
                tracing::warn!(bytes, "dropped an oversized server message");
                let id = poster.in_flight.only_id();
                id.iter().for_each(|id| drop(poster.in_flight.complete(id)));
                Frame::TooLarge(DroppedLine::of_responses(id.map(String::into_boxed_str), bytes))
            }
        };
        if incoming.send(LinkEvent::Frame(frame)).await.is_err() {
            return;
        }
    }
}

/// Posts the messages of the client until the channel is closed, and waits for the pending requests.
async fn post_messages(
    poster: &Arc<Poster>,
    first: Option<Bytes>,
    mut outgoing: mpsc::Receiver<Vec<u8>>,
    incoming: &mpsc::Sender<LinkEvent>,
) {
    let mut next = first;
    loop {
        let message = match next.take() {
            Some(message) => message,
            None => match outgoing.recv().await {
                Some(message) => message.into(),
                None => break,
            },
        };
        let (poster, incoming, taken) =
            (Arc::clone(poster), incoming.clone(), Arc::new(OneShotFlag::default()));
        let done = Arc::clone(&taken);
        tokio::spawn(async move {
            tokio::select! {
                () = poster.is_closed.wait() => {}
                () = poster.post(message, &incoming) => done.set(),
            }
        });
        let _ = timeout(POST_TIMEOUT, taken.wait()).await;
    }
    poster.in_flight.wait_until_complete().await;
}

impl Poster {
    async fn post(&self, message: Bytes, incoming: &mpsc::Sender<LinkEvent>) {
        let ids: Option<Vec<String>> = ParsedBatch::read(&message, |batch| {
            let registered =
                batch.requests().inspect(|request| self.in_flight.register(request, &Arc::default()));
            registered.map(|request| request.id().to_owned()).collect()
        });
        let trouble = match self.client.post(Some(&self.endpoint), HeaderMap::new(), message).await {
            Ok(response) if response.status.is_success() => return,
            Ok(response) => response.to_error_status().into(),
            // The body of a success is ignored: the response comes on the stream.
            Err(RequestError::NotMcp { .. }) => return,
            Err(trouble) => trouble,
        };
        tracing::debug!(%trouble, "the server did not accept a message");
        for id in ids.iter().flatten().filter(|id| self.in_flight.complete(id).is_some()) {
            let _ = incoming.send(LinkEvent::Frame(Frame::Message(failure_message(id, &trouble)))).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use portion_policy::upstream::UpstreamTarget;

    use super::SseLink;
    use crate::upstream::http::{HttpClient, ServerClient};

    #[tokio::test]
    async fn a_server_without_a_response_is_given_up() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}/sse", listener.local_addr().expect("an address"));
        let target = UpstreamTarget::new(&url).expect("a URL");
        let client = ServerClient::new(target, HttpClient::new(false).expect("no TLS"), 1 << 20);
        let opened = SseLink::open_within(client, Duration::from_millis(50)).await;
        let error = opened.err().expect("no link").to_string();
        assert!(error.contains("without an endpoint event"), "{error}");
    }
}
