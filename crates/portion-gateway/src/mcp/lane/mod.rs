//! Between one client and one server: what is answered, what is rewritten, what is relayed.
//!
//! [`method`] is the table from a method to what is done with it. Requests that wait for their answers are in
//! [`pending`]; [`downstream`] deals with what the client says, [`upstream`] with what the server says ([`reshape`] with its
//! answers, [`unasked`] with its notifications and its own requests),
//! [`timeouts`] knows how long requests may wait, [`questions`] which questions are under way, [`describe`] deals with one of our own tools, [`who`] tells who asks and in which trace, [`answer`] writes what neither said.
//!
//! A message that is not reshaped leaves as the bytes that came.

mod answer;
mod describe;
mod downstream;
mod line;
mod method;
mod pending;
mod questions;
mod reshape;
mod timeouts;
mod unasked;
mod upstream;
mod who;

use std::fmt::Display;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use portion_core::cursor::Scope;
use portion_core::policy::Structured;
use portion_core::view::Request;
use tokio::sync::Notify;

use super::catalogue::{Catalogue, Offer};
use super::lanes::Lanes;
use super::mirrored::Mirrored;
use crate::book::Target;
use crate::call::{Caller, Endpoint, EndpointKind, Fault};
use crate::client::Client;
use crate::frame::Frame;
use crate::gateway::Gateway;
use crate::questions::Stop;
use crate::relay::{Lane, Outgoing};
use crate::rules::Rules;
use crate::session::Session;
use pending::{Asked, Pending, What};
use questions::Underway;
use timeouts::Timeouts;
use who::Who;

/// The MCP lane between one client and one server.
pub struct McpLane {
    gateway: Arc<Gateway>,
    /// Whom the cursors that pass here belong to.
    scope: Scope,
    /// Whether the scope is that of one caller, so that earlier results may answer later calls without a cursor.
    reuses: bool,
    /// The conversation.
    session: Arc<Session>,
    /// The name of the server, where there are several.
    upstream: Option<Arc<str>>,
    /// Whether the server's spans are to hang below ours.
    traces: bool,
    /// Bytes of the largest message that is read, for telling it.
    message_limit: usize,
    /// Bytes of the largest message that is read from the client, for error messages.
    client_limit: usize,
    /// Who said `initialize`, where that is known.
    client: OnceLock<&'static Client>,
    /// Requests under way.
    waiting: Mutex<Pending>,
    /// How long they may wait.
    timeouts: Arc<Timeouts>,
    /// Notified when a request waits whose time is over before that of all others.
    timed: Notify,
    /// Questions under way, which are answered here.
    questions: Arc<Underway>,
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
    /// A lane for a session of one principal.
    pub(super) fn new(lanes: &Lanes, scope: Scope, session: Arc<Session>) -> Self {
        let Lanes { gateway, listing, message_limit, client_limit, upstream, traces } = lanes;
        let known = Arc::new(Mutex::new(Known { catalogue: Catalogue::new(listing), toolless: false }));
        Self {
            gateway: Arc::clone(gateway),
            scope,
            reuses: true,
            session,
            upstream: upstream.clone(),
            traces: *traces,
            message_limit: *message_limit,
            client_limit: *client_limit,
            client: OnceLock::new(),
            waiting: Mutex::default(),
            timeouts: Arc::default(),
            timed: Notify::new(),
            questions: Arc::default(),
            known,
        }
    }

    /// A lane for other requests of the same principal to the same server: it knows what this one knows, but its
    /// requests may have the ids of this one's. For clients that have no session, and so share no ids.
    #[must_use]
    pub fn sibling(&self) -> Self {
        Self {
            gateway: Arc::clone(&self.gateway),
            scope: self.scope,
            reuses: self.reuses,
            session: Arc::clone(&self.session),
            upstream: self.upstream.clone(),
            traces: self.traces,
            message_limit: self.message_limit,
            client_limit: self.client_limit,
            client: self.client.clone(),
            waiting: Mutex::default(),
            timeouts: Arc::default(),
            timed: Notify::new(),
            questions: Arc::default(),
            known: Arc::clone(&self.known),
        }
    }

    /// A [sibling](Self::sibling) in the same session, where ids are the session's: its questions can be cancelled by this one,
    /// and progress that this one hears of is heeded by both.
    #[must_use]
    pub fn partner(&self) -> Self {
        let (questions, timeouts) = (Arc::clone(&self.questions), Arc::clone(&self.timeouts));
        Self { timeouts, questions, ..self.sibling() }
    }

    /// The lane in another session, where cursors belong to this scope.
    #[must_use]
    pub fn in_session(self, scope: Scope, session: Arc<Session>) -> Self {
        Self { scope, session, ..self }
    }

    /// The lane where the scope is that of one caller, or of many who cannot be told apart: these share nothing without a
    /// cursor.
    #[must_use]
    pub fn reusing(self, reuses: bool) -> Self {
        Self { reuses, ..self }
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

    /// The server has ended a stream on which answers were due, as if all was said: a JSON-RPC error for each, for it was the
    /// transport that failed and no tool.
    pub fn server_fell_silent(&self, why: &dyn Display) -> Vec<Outgoing> {
        let waiting = self.waiting().take_all();
        let reason = answer::gone(why);
        let error = |asked: &Asked| {
            if let What::Content { caller, endpoint, .. } = &asked.what {
                self.gateway.failed(caller, endpoint, 0);
            }
            Outgoing::ToClient(answer::fault(&asked.id, &reason).into_bytes())
        };
        waiting.iter().map(error).collect()
    }

    /// What becomes of a message on a stream that a client has resumed, which may answer what this process has not been asked.
    pub async fn from_resumed(&self, frame: Frame) -> Vec<Outgoing> {
        match frame {
            Frame::Message(line) => self.server_resumes(line).await,
            frame @ Frame::TooLarge { .. } => self.from_server(frame).await,
        }
    }

    /// The server has answered with what is no answer, in so many bytes as far as that is known, and that passes as it came:
    /// nothing waits any more.
    pub fn server_failed(&self, bytes: usize) {
        let waiting = self.waiting().take_all();
        for asked in &waiting {
            if let What::Content { caller, endpoint, .. } = &asked.what {
                self.gateway.failed(caller, endpoint, bytes);
            }
        }
    }

    fn refuse_all(&self, reason: &Fault) -> Vec<Outgoing> {
        let waiting = self.waiting().take_all();
        let refusal = |asked: &Asked| Outgoing::ToClient(self.refusal(asked, reason.clone()).into_bytes());
        waiting.iter().map(refusal).collect()
    }

    /// The answer to a request that the server leaves without one. In place of content it is a reply like any other.
    fn refusal(&self, asked: &Asked, reason: Fault) -> String {
        let What::Content { caller, endpoint, request, .. } = &asked.what else {
            return answer::refusal(asked, &reason);
        };
        let request = Request { max_tokens: request.max_tokens, ..Request::default() };
        answer::refusal(asked, &self.gateway.refuse(reason, caller, &request, endpoint))
    }

    /// Whom a reply of an endpoint is for, and how it is served: by what is decided now. `None`: one of our own.
    fn caller(&self, who: Who, endpoint: Option<&Endpoint>) -> Caller {
        let Who { client, trace } = who;
        let rules = self.gateway.rules();
        let rule = match endpoint {
            Some(Endpoint { name, kind, .. }) => rules.rule(self.target(*kind, name)),
            None => Arc::clone(rules.general()),
        };
        let known = self.known();
        let tool = endpoint.filter(|endpoint| endpoint.kind == EndpointKind::Tool);
        let tool = tool.and_then(|endpoint| known.catalogue.tool(&endpoint.name));
        let mut terms = match (client, tool.and_then(|tool| tool.characters)) {
            (Some(client), Some(characters)) => rule.terms_for_tool(client, characters),
            _ => Arc::clone(rule.terms(client)),
        };
        if tool.is_some_and(|tool| tool.is_bounded) {
            let mut policy = terms.policy.clone();
            policy.manner.structured = Structured::AsCame;
            terms = Arc::new(terms.with_policy(policy));
        }
        Caller {
            scope: self.scope,
            session: Arc::clone(&self.session),
            client,
            treatment: rule.treatment(&self.session),
            rule,
            terms,
            upstream: self.upstream.clone(),
            read_tool: known.catalogue.read_tool(),
            query_tool: known.catalogue.query_tool(),
            read_uri: None,
            since: self.gateway.now(),
            arguments: Vec::new(),
            trace,
            stop: Stop::default(),
        }
    }

    fn target<'a>(&'a self, kind: EndpointKind, name: &'a str) -> Target<'a> {
        Target { upstream: self.upstream.as_deref(), kind, name }
    }

    /// How a tool is to be listed, by what is decided now.
    fn offer(&self, rules: &Rules, name: &str) -> Offer {
        let rule = rules.rule(self.target(EndpointKind::Tool, name));
        let controls = rule.controls(rule.treatment(&self.session));
        let policy = &rule.terms(None).policy;
        Offer {
            controls,
            max_page_size: policy.max_page_size,
            manner: policy.manner.clone(),
            summarize_above: policy.summarize_above.min(policy.token_budget_threshold),
            redact: rule.written().redact.clone(),
        }
    }

    /// Whether the server's list of tools is relayed as it comes.
    fn lists_as_it_came(&self) -> bool {
        self.gateway.rules().general().written().dry_run
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
            Frame::Message(line) => self.client_says(line, None).await,
            Frame::TooLarge { id, has_method, .. } => self.client_said_too_much(id.as_deref(), has_method),
        }
    }

    fn takes_long(&self, frame: &Frame) -> bool {
        matches!(frame, Frame::Message(line) if self.is_question(line))
    }

    async fn beside(&self, frame: Frame) -> Vec<Outgoing> {
        match frame {
            Frame::Message(line) => self.answer_question(line).await,
            frame @ Frame::TooLarge { .. } => self.from_client(frame).await,
        }
    }

    fn refuse(&self, frame: &Frame) -> Vec<Outgoing> {
        match frame {
            Frame::Message(line) => self.refuse_question(line),
            Frame::TooLarge { .. } => Vec::new(),
        }
    }

    async fn from_server(&self, frame: Frame) -> Vec<Outgoing> {
        match frame {
            Frame::Message(line) => self.server_says(line).await,
            Frame::TooLarge { id, has_method, bytes } => {
                self.server_said_too_much(id.as_deref(), has_method, bytes).await
            }
        }
    }

    async fn expired(&self) -> Vec<Outgoing> {
        self.until_expired().await
    }

    fn server_gone(&self, how: &dyn Display) -> Vec<Outgoing> {
        self.refuse_all(&answer::gone(how))
    }

    fn server_unreached(&self, why: &dyn Display) -> Vec<Outgoing> {
        self.refuse_all(&answer::unreached(why))
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
