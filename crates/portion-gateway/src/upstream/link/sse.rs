//! A link to a server of 2024-11-05: one stream of events on which it speaks, and a place to post to, which the first
//! event names.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::Uri;
use hyper::header::HeaderMap;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::in_flight::InFlight;
use super::message::{failure_message, to_single_line};
use super::{ConnectError, ConnectFuture, Connector, Link, LinkEvent, LinkTransport};
use crate::frame::Frame;
use crate::mcp::{MessageKind, ParsedBatch};
use crate::one_shot_flag::OneShotFlag;
use crate::upstream::http::{
    EventStream, HttpClient, RequestError, ResumePoint, ServerClient, StreamItem, UpstreamTarget,
    display_uri, resolve, same_origin,
};

/// How long a server may take to name the place.
const ENDPOINT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the next message waits for one to be taken.
const POST_TIMEOUT: Duration = Duration::from_secs(5);

/// Makes links to a server of 2024-11-05.
pub struct SseConnector {
    /// Where its stream is.
    pub target: UpstreamTarget,
    /// Connects to it.
    pub client: HttpClient,
    /// Bytes of the largest message that is taken.
    pub message_limit: usize,
}

impl Connector for SseConnector {
    fn connect(&self) -> ConnectFuture<'_> {
        Box::pin(async {
            let wire = ServerClient::new(self.target.clone(), self.client.clone(), self.message_limit);
            let sse = SseLink::open(wire).await.map_err(|trouble| ConnectError(trouble.to_string()))?;
            let (link, carrier) = Link::new();
            tokio::spawn(sse.run(carrier, None));
            Ok(link)
        })
    }
}

/// A stream that is open.
pub(super) struct SseLink {
    poster: Arc<Poster>,
    stream: EventStream,
}

/// Posts messages.
struct Poster {
    client: ServerClient,
    endpoint: Uri,
    in_flight: InFlight,
    /// Set when the link has ended.
    is_closed: OneShotFlag,
}

impl SseLink {
    /// Opens the stream.
    ///
    /// # Errors
    /// [`RequestError`] where there is none, or where it does not begin with a place of the same server.
    pub(super) async fn open(wire: ServerClient) -> Result<Self, RequestError> {
        let mut stream = wire.get(HeaderMap::new(), ResumePoint::default()).await?;
        let url = wire.url();
        let first = timeout(ENDPOINT_TIMEOUT, stream.next()).await;
        let endpoint = match first {
            Ok(Some(StreamItem::Event(event))) if event.event_type() == b"endpoint" => {
                resolve(&url, &String::from_utf8_lossy(event.data()))
            }
            _ => return Err(RequestError::NoEndpoint(display_uri(&url))),
        };
        let Some(endpoint) = endpoint.filter(|endpoint| same_origin(endpoint, &url)) else {
            return Err(RequestError::ForeignEndpoint(display_uri(&url)));
        };
        let poster = Poster {
            client: wire,
            endpoint,
            in_flight: InFlight::default(),
            is_closed: OneShotFlag::default(),
        };
        Ok(Self { poster: Arc::new(poster), stream })
    }

    /// Carries messages, `first` before all others, until one of both ends has left.
    pub(super) async fn run(self, carrier: LinkTransport, first: Option<Bytes>) {
        let Self { poster, stream } = self;
        let LinkTransport { outgoing, incoming } = carrier;
        let gone = tokio::select! {
            () = incoming.closed() => false,
            () = post_messages(&poster, first, outgoing, &incoming) => false,
            () = forward_events(&poster, stream, &incoming) => true,
        };
        poster.is_closed.set();
        if gone {
            let why = format!("{} has closed its event stream", display_uri(&poster.client.url()));
            let _ = incoming.send(LinkEvent::Closed(why)).await;
        }
    }
}

/// What the server says, until it says no more.
async fn forward_events(poster: &Poster, mut stream: EventStream, incoming: &mpsc::Sender<LinkEvent>) {
    while let Some(item) = stream.next().await {
        let frame = match item {
            StreamItem::Event(event) if event.event_type() == b"message" => {
                let said = event.into_data();
                if let Ok(heard) = ParsedBatch::parse(&String::from_utf8_lossy(&said)) {
                    let answers = heard.messages.iter().filter(|note| note.kind() == MessageKind::Response);
                    answers.for_each(|answer| drop(poster.in_flight.complete(answer.id())));
                }
                Frame::Message(to_single_line(said))
            }
            StreamItem::Event(_) => continue,
            StreamItem::TooLarge(bytes) => {
                // Which request it answers stood in it; where there is but one, it is that.
                tracing::warn!(bytes, "dropped a message of the server that is too large");
                let id = poster.in_flight.only_id();
                id.iter().for_each(|id| drop(poster.in_flight.complete(id)));
                Frame::TooLarge { id: id.map(Into::into), has_method: false, bytes }
            }
        };
        if incoming.send(LinkEvent::Frame(frame)).await.is_err() {
            return;
        }
    }
}

/// What the client says, until it says no more and has its answers.
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
        let told = Arc::clone(&taken);
        tokio::spawn(async move {
            tokio::select! {
                () = poster.is_closed.wait() => {}
                () = poster.post(message, &incoming) => told.set(),
            }
        });
        let _ = timeout(POST_TIMEOUT, taken.wait()).await;
    }
    poster.in_flight.wait_until_complete().await;
}

impl Poster {
    async fn post(&self, message: Bytes, incoming: &mpsc::Sender<LinkEvent>) {
        let ids: Vec<String> = {
            let text = String::from_utf8_lossy(&message);
            let heard = ParsedBatch::parse(&text).ok();
            let requests = heard.iter().flat_map(ParsedBatch::requests);
            requests
                .inspect(|request| self.in_flight.register(request, &Arc::default()))
                .map(|r| r.id().to_owned())
                .collect()
        };
        let trouble = match self.client.post(Some(&self.endpoint), HeaderMap::new(), message).await {
            Ok(answered) if answered.status.is_success() => return,
            Ok(answered) => answered.to_error_status().into(),
            // Whatever stands in the body of a success: the answer comes on the stream.
            Err(RequestError::NotMcp { .. }) => return,
            Err(trouble) => trouble,
        };
        tracing::debug!(%trouble, "the server did not take a message");
        for id in ids.iter().filter(|id| self.in_flight.complete(id).is_some()) {
            let _ = incoming.send(LinkEvent::Frame(Frame::Message(failure_message(id, &trouble)))).await;
        }
    }
}
