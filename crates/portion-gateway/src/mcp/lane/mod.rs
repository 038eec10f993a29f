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

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use portion_core::cursor::Scope;

use super::catalogue::{Catalogue, Listing};
use crate::frame::Frame;
use crate::gateway::Gateway;
use crate::relay::{Lane, Outgoing};
use crate::upstream::stdio::Ended;
use pending::Pending;

/// The MCP lane between one client and one server.
pub struct McpLane {
    gateway: Arc<Gateway>,
    /// Whom the cursors that pass here belong to.
    scope: Scope,
    /// Bytes of the largest message that is read, for telling it.
    message_limit: usize,
    state: Mutex<State>,
}

/// What has to be remembered from one message to another.
struct State {
    pending: Pending,
    catalogue: Catalogue,
    /// The server has said that it has no tools: then `tools/list` is ours alone.
    toolless: bool,
}

impl McpLane {
    /// A lane that makes its replies through `gateway`, for one principal, and lists the server's tools as `listing`
    /// says.
    pub fn new(gateway: Arc<Gateway>, scope: Scope, listing: &Listing, message_limit: usize) -> Self {
        let state =
            State { pending: Pending::default(), catalogue: Catalogue::new(listing), toolless: false };
        Self { gateway, scope, message_limit, state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lane for McpLane {
    async fn from_client(&self, frame: Frame) -> Vec<Outgoing> {
        match frame {
            Frame::Message(line) => self.client_says(line).await,
            Frame::TooLarge { id, has_method, .. } => self.client_said_too_much(id.as_deref(), has_method),
        }
    }

    async fn from_server(&self, frame: Frame) -> Vec<Outgoing> {
        match frame {
            Frame::Message(line) => self.server_says(line).await,
            Frame::TooLarge { id, has_method, .. } => self.server_said_too_much(id.as_deref(), has_method),
        }
    }

    fn server_gone(&self, how: &Ended) -> Vec<Outgoing> {
        let waiting = self.state().pending.take_all();
        waiting.iter().map(|asked| Outgoing::ToClient(answer::gone(asked, *how).into_bytes())).collect()
    }

    fn pending(&self) -> usize {
        self.state().pending.len()
    }

    fn holds_back(&self) -> bool {
        self.state().pending.holds_back()
    }
}

#[cfg(test)]
mod tests;
