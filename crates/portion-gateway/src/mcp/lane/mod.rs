//! Between one client and one server: what is answered, what is rewritten, what is relayed.
//!
//! [`method`] is the table from a method to what is done with it. Requests that wait for their answers are in
//! [`pending`]; [`downstream`] deals with what the client says, [`upstream`] with what the server says,
//! [`describe`] with one of our own tools, [`answer`] writes what neither said.
//!
//! A message that is not reshaped leaves as the bytes that came.

mod answer;
mod describe;
mod downstream;
mod line;
mod method;
mod pending;
mod upstream;

use std::fmt::Display;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use portion_core::cursor::Scope;

use super::catalogue::{Catalogue, Listing};
use super::mirrored::Mirrored;
use crate::call::{Caller, Endpoint, EndpointKind};
use crate::client::Client;
use crate::frame::Frame;
use crate::gateway::Gateway;
use crate::relay::{Lane, Outgoing};
pub(super) use method::row as row_of;
use pending::Pending;

/// The MCP lane between one client and one server.
pub struct McpLane {
    gateway: Arc<Gateway>,
    /// Whom the cursors that pass here belong to.
    scope: Scope,
    /// Bytes of the largest message that is read, for telling it.
    message_limit: usize,
    /// Who said `initialize`, where that is known.
    client: OnceLock<&'static Client>,
    /// Requests under way.
    waiting: Mutex<Pending>,
    /// What this lane and its siblings have learnt of the server.
    known: Arc<Mutex<Known>>,
}

/// What a server has said about itself.
struct Known {
    catalogue: Catalogue,
    /// It has said that it has no tools: then `tools/list` is ours alone.
    toolless: bool,
}

impl McpLane {
    /// A lane that makes its replies through `gateway`, for one principal, and lists the server's tools as `listing`
    /// says.
    pub fn new(gateway: Arc<Gateway>, scope: Scope, listing: &Listing, message_limit: usize) -> Self {
        let known = Arc::new(Mutex::new(Known { catalogue: Catalogue::new(listing), toolless: false }));
        let (client, waiting) = (OnceLock::new(), Mutex::default());
        Self { gateway, scope, message_limit, client, waiting, known }
    }

    /// A lane for other requests of the same principal to the same server: it knows what this one knows, but its
    /// requests may have the ids of this one's. For clients that have no session, and so share no ids.
    #[must_use]
    pub fn sibling(&self) -> Self {
        let (gateway, known) = (Arc::clone(&self.gateway), Arc::clone(&self.known));
        let (scope, message_limit, client) = (self.scope, self.message_limit, self.client.clone());
        Self { gateway, scope, message_limit, client, waiting: Mutex::default(), known }
    }

    /// The lane for whoever asks: where there is no session, `initialize` says nothing of who asks next.
    #[must_use]
    pub fn for_anybody(self) -> Self {
        Self { client: OnceLock::new(), ..self }
    }

    /// Which arguments of a tool are repeated in header fields, as far as it is known.
    pub fn mirrored(&self, tool: &str) -> Vec<Mirrored> {
        self.known().catalogue.tool(tool).map(|tool| tool.mirrored.clone()).unwrap_or_default()
    }

    /// Whether it waits for an answer with this id.
    pub fn awaits(&self, raw_id: &str) -> bool {
        self.waiting().has(raw_id)
    }

    /// Forgets a request, by its id as it was written: no answer to it will come this way.
    pub fn abandon(&self, raw_id: &str) {
        self.waiting().take(raw_id);
    }

    /// Nothing that was sent has come to the server: one answer for every pending request.
    pub fn server_unreached(&self, why: &dyn Display) -> Vec<Outgoing> {
        let waiting = self.waiting().take_all();
        waiting.iter().map(|asked| Outgoing::ToClient(answer::unreached(asked, why).into_bytes())).collect()
    }

    /// Whom a reply of an endpoint is for: one of our own where there is none.
    fn caller(&self, client: Option<&'static Client>, endpoint: Option<&Endpoint>) -> Caller {
        let rules = self.gateway.rules();
        let known = self.known();
        let tool = endpoint.filter(|endpoint| endpoint.kind == EndpointKind::Tool);
        let tool = tool.and_then(|endpoint| known.catalogue.tool(&endpoint.name));
        let terms = match (client, tool.and_then(|tool| tool.characters)) {
            (Some(client), Some(characters)) => rules.terms_for_tool(client, characters),
            _ => Arc::clone(rules.terms(client)),
        };
        let (read_tool, query_tool) = (known.catalogue.read_tool(), known.catalogue.query_tool());
        Caller { scope: self.scope, terms, read_tool, query_tool, read_uri: None }
    }

    fn waiting(&self) -> MutexGuard<'_, Pending> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lane for McpLane {
    async fn from_client(&self, frame: Frame) -> Vec<Outgoing> {
        match frame {
            Frame::Message(line) => self.client_says(line).await,
            Frame::TooLarge { id, has_method, .. } => self.client_said_too_much(id.as_deref(), has_method),
        }
    }

    fn takes_long(&self, frame: &Frame) -> bool {
        matches!(frame, Frame::Message(line) if self.is_question(line))
    }

    async fn from_server(&self, frame: Frame) -> Vec<Outgoing> {
        match frame {
            Frame::Message(line) => self.server_says(line).await,
            Frame::TooLarge { id, has_method, .. } => self.server_said_too_much(id.as_deref(), has_method),
        }
    }

    fn server_gone(&self, how: &dyn Display) -> Vec<Outgoing> {
        let waiting = self.waiting().take_all();
        waiting.iter().map(|asked| Outgoing::ToClient(answer::gone(asked, how).into_bytes())).collect()
    }

    fn pending(&self) -> usize {
        self.waiting().len()
    }

    fn holds_back(&self) -> bool {
        self.waiting().holds_back()
    }
}

#[cfg(test)]
mod tests;
