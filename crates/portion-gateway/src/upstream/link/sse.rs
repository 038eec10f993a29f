//! A link to a server of 2024-11-05: one stream of events on which it speaks, and a place to post to, which the first
//! event names.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::Uri;
use hyper::header::HeaderMap;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::flights::Flights;
use super::message::{failure, on_one_line};
use super::{Carrier, Dial, Dialling, Link, NoLink, Said};
use crate::frame::Frame;
use crate::latch::Latch;
use crate::mcp::{Heard, Role};
use crate::upstream::http::{
    Client, Item, Resume, Stream, Target, Trouble, Wire, named, resolve, same_origin,
};

/// How long a server may take to name the place.
const NAMING: Duration = Duration::from_secs(10);
/// How long the next message waits for one to be taken.
const TAKEN: Duration = Duration::from_secs(5);

/// Makes links to a server of 2024-11-05.
pub struct SseDial {
    /// Where its stream is.
    pub target: Target,
    /// Connects to it.
    pub client: Client,
    /// Bytes of the largest message that is taken.
    pub message_limit: usize,
}

impl Dial for SseDial {
    fn dial(&self) -> Dialling<'_> {
        Box::pin(async {
            let wire = Wire::new(self.target.clone(), self.client.clone(), self.message_limit);
            let sse = Sse::open(wire).await.map_err(|trouble| NoLink(trouble.to_string()))?;
            let (link, carrier) = Link::new();
            tokio::spawn(sse.carry(carrier, None));
            Ok(link)
        })
    }
}

/// A stream that is open.
pub(super) struct Sse {
    poster: Arc<Poster>,
    stream: Stream,
}

/// Posts messages.
struct Poster {
    wire: Wire,
    endpoint: Uri,
    flights: Flights,
    /// Set when the link has ended.
    over: Latch,
}

impl Sse {
    /// Opens the stream.
    ///
    /// # Errors
    /// [`Trouble`] where there is none, or where it does not begin with a place of the same server.
    pub(super) async fn open(wire: Wire) -> Result<Self, Trouble> {
        let mut stream = wire.get(HeaderMap::new(), Resume::default()).await?;
        let url = wire.url();
        let first = timeout(NAMING, stream.next()).await;
        let endpoint = match first {
            Ok(Some(Item::Event(event))) if event.kind() == b"endpoint" => {
                resolve(&url, &String::from_utf8_lossy(event.data()))
            }
            _ => return Err(Trouble::NoEndpoint(named(&url))),
        };
        let Some(endpoint) = endpoint.filter(|endpoint| same_origin(endpoint, &url)) else {
            return Err(Trouble::Elsewhere(named(&url)));
        };
        let poster = Poster { wire, endpoint, flights: Flights::default(), over: Latch::default() };
        Ok(Self { poster: Arc::new(poster), stream })
    }

    /// Carries messages, `first` before all others, until one of both ends has left.
    pub(super) async fn carry(self, carrier: Carrier, first: Option<Bytes>) {
        let Self { poster, stream } = self;
        let Carrier { outgoing, incoming } = carrier;
        let gone = tokio::select! {
            () = incoming.closed() => false,
            () = write(&poster, first, outgoing, &incoming) => false,
            () = read(&poster, stream, &incoming) => true,
        };
        poster.over.set();
        if gone {
            let why = format!("{} has closed its event stream", named(&poster.wire.url()));
            let _ = incoming.send(Said::Gone(why)).await;
        }
    }
}

/// What the server says, until it says no more.
async fn read(poster: &Poster, mut stream: Stream, incoming: &mpsc::Sender<Said>) {
    while let Some(item) = stream.next().await {
        let frame = match item {
            Item::Event(event) if event.kind() == b"message" => {
                let said = event.into_data();
                if let Ok(heard) = Heard::read(&String::from_utf8_lossy(&said)) {
                    let answers = heard.messages.iter().filter(|note| note.role() == Role::Response);
                    answers.for_each(|answer| drop(poster.flights.land(answer.id())));
                }
                Frame::Message(on_one_line(said))
            }
            Item::Event(_) => continue,
            Item::TooLarge(bytes) => {
                // Which request it answers stood in it; where there is but one, it is that.
                tracing::warn!(bytes, "dropped a message of the server that is too large");
                let id = poster.flights.sole();
                id.iter().for_each(|id| drop(poster.flights.land(id)));
                Frame::TooLarge { id: id.map(Into::into), has_method: false, bytes }
            }
        };
        if incoming.send(Said::Frame(frame)).await.is_err() {
            return;
        }
    }
}

/// What the client says, until it says no more and has its answers.
async fn write(
    poster: &Arc<Poster>,
    first: Option<Bytes>,
    mut outgoing: mpsc::Receiver<Vec<u8>>,
    incoming: &mpsc::Sender<Said>,
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
        let (poster, incoming, taken) = (Arc::clone(poster), incoming.clone(), Arc::new(Latch::default()));
        let told = Arc::clone(&taken);
        tokio::spawn(async move {
            tokio::select! {
                () = poster.over.wait() => {}
                () = poster.post(message, &incoming) => told.set(),
            }
        });
        let _ = timeout(TAKEN, taken.wait()).await;
    }
    poster.flights.settled().await;
}

impl Poster {
    async fn post(&self, message: Bytes, incoming: &mpsc::Sender<Said>) {
        let ids: Vec<String> = {
            let text = String::from_utf8_lossy(&message);
            let heard = Heard::read(&text).ok();
            let requests = heard.iter().flat_map(Heard::requests);
            requests
                .inspect(|request| self.flights.start(request, &Arc::default()))
                .map(|r| r.id().to_owned())
                .collect()
        };
        let trouble = match self.wire.post(Some(&self.endpoint), HeaderMap::new(), message).await {
            Ok(answered) if answered.status.is_success() => return,
            Ok(answered) => answered.refusal().into(),
            // Whatever stands in the body of a success: the answer comes on the stream.
            Err(Trouble::Foreign { .. }) => return,
            Err(trouble) => trouble,
        };
        tracing::debug!(%trouble, "the server did not take a message");
        for id in ids.iter().filter(|id| self.flights.land(id).is_some()) {
            let _ = incoming.send(Said::Frame(Frame::Message(failure(id, &trouble)))).await;
        }
    }
}
