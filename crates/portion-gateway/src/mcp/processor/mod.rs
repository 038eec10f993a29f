//! Between one client and one server: what is answered, what is rewritten, what is relayed.
//!
//! [`method`] is the table of methods and their handling. [`pending`] keeps the requests that wait for a response.
//! [`downstream`] handles messages of the client, [`upstream`] messages of the server: [`reshape`] its responses,
//! [`server_messages`] its notifications and requests. [`timeouts`] limits how long a request waits, [`queries`] keeps
//! the queries that run, [`describe`] answers for a built-in tool, [`caller_identity`] finds the client and the trace,
//! and [`responses`] writes responses of our own.
//!
//! A message that is not reshaped leaves as the bytes that came.

mod caller_identity;
mod describe;
mod downstream;
mod line_outcome;
mod method;
mod pending;
mod queries;
mod reshape;
mod responses;
mod server_messages;
mod timeouts;
mod upstream;

use std::fmt::Display;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use portion_core::cursor::Scope;
use portion_core::policy::StructuredMode;
use portion_core::view::Request;
use tokio::sync::Notify;

use super::catalog::{ToolCatalog, ToolListingPolicy};
use super::header_params::HeaderParam;
use super::processor_factory::McpProcessorFactory;
use crate::call::{Caller, Endpoint, EndpointKind, Fault};
use crate::client::ClientProfile;
use crate::frame::Frame;
use crate::gateway::Gateway;
use crate::policy_source::EndpointTarget;
use crate::query_limiter::CancelFlag;
use crate::relay::{MessageProcessor, OutgoingMessage};
use crate::rules::EndpointRules;
use crate::session::ClientSession;
use caller_identity::CallerIdentity;
use pending::{PendingKind, PendingRequest, PendingRequests};
use queries::ActiveQueries;
use timeouts::Timeouts;

/// The MCP lane between one client and one server.
pub struct McpProcessor {
    gateway: Arc<Gateway>,
    /// Whom the cursors that pass here belong to.
    scope: Scope,
    /// Whether the scope is that of one caller, so that earlier results may answer later calls without a cursor.
    allows_reuse: bool,
    /// The conversation.
    session: Arc<ClientSession>,
    /// The name of the server, where there are several.
    upstream: Option<Arc<str>>,
    /// Whether the server's spans are to hang below ours.
    exports_traces: bool,
    /// Bytes of the largest message that is read, for telling it.
    max_server_message_bytes: usize,
    /// Bytes of the largest message that is read from the client, for error messages.
    max_client_message_bytes: usize,
    /// Who said `initialize`, where that is known.
    client: OnceLock<&'static ClientProfile>,
    /// Requests under way.
    pending_requests: Mutex<PendingRequests>,
    /// How long they may wait.
    timeouts: Arc<Timeouts>,
    /// Notified when a request waits whose time is over before that of all others.
    deadline_changed: Notify,
    /// Questions under way, which are answered here.
    active_queries: Arc<ActiveQueries>,
    /// What this lane and its siblings have learnt of the server.
    server_info: Arc<Mutex<ServerInfo>>,
}

/// What a server has said about itself.
struct ServerInfo {
    catalog: ToolCatalog,
    /// It has said that it has no tools: then `tools/list` is ours alone.
    has_no_tools: bool,
}

impl McpProcessor {
    /// A lane for a session of one principal.
    pub(super) fn new(lanes: &McpProcessorFactory, scope: Scope, session: Arc<ClientSession>) -> Self {
        let McpProcessorFactory {
            gateway,
            listing,
            max_server_message_bytes: message_limit,
            max_client_message_bytes: client_limit,
            upstream,
            exports_traces: traces,
        } = lanes;
        let known =
            Arc::new(Mutex::new(ServerInfo { catalog: ToolCatalog::new(listing), has_no_tools: false }));
        Self {
            gateway: Arc::clone(gateway),
            scope,
            allows_reuse: true,
            session,
            upstream: upstream.clone(),
            exports_traces: *traces,
            max_server_message_bytes: *message_limit,
            max_client_message_bytes: *client_limit,
            client: OnceLock::new(),
            pending_requests: Mutex::default(),
            timeouts: Arc::default(),
            deadline_changed: Notify::new(),
            active_queries: Arc::default(),
            server_info: known,
        }
    }

    /// A lane for other requests of the same principal to the same server: it knows what this one knows, but its
    /// requests may have the ids of this one's. For clients that have no session, and so share no ids.
    #[must_use]
    pub fn fork(&self) -> Self {
        Self {
            gateway: Arc::clone(&self.gateway),
            scope: self.scope,
            allows_reuse: self.allows_reuse,
            session: Arc::clone(&self.session),
            upstream: self.upstream.clone(),
            exports_traces: self.exports_traces,
            max_server_message_bytes: self.max_server_message_bytes,
            max_client_message_bytes: self.max_client_message_bytes,
            client: self.client.clone(),
            pending_requests: Mutex::default(),
            timeouts: Arc::default(),
            deadline_changed: Notify::new(),
            active_queries: Arc::default(),
            server_info: Arc::clone(&self.server_info),
        }
    }

    /// A [fork](Self::fork) in the same session, where ids are the session's: its questions can be cancelled by this one,
    /// and progress that this one hears of is heeded by both.
    #[must_use]
    pub fn fork_in_session(&self) -> Self {
        let (questions, timeouts) = (Arc::clone(&self.active_queries), Arc::clone(&self.timeouts));
        Self { timeouts, active_queries: questions, ..self.fork() }
    }

    /// The lane in another session, where cursors belong to this scope.
    #[must_use]
    pub fn with_session(self, scope: Scope, session: Arc<ClientSession>) -> Self {
        Self { scope, session, ..self }
    }

    /// The lane where the scope is that of one caller, or of many who cannot be told apart: these share nothing without a
    /// cursor.
    #[must_use]
    pub fn with_reuse(self, reuses: bool) -> Self {
        Self { allows_reuse: reuses, ..self }
    }

    /// The lane for whoever asks: where there is no session, `initialize` says nothing of who asks next.
    #[must_use]
    pub fn without_client(self) -> Self {
        Self { client: OnceLock::new(), ..self }
    }

    /// Which arguments of a tool are repeated in header fields, as far as it is known.
    pub fn header_params(&self, tool: &str) -> Vec<HeaderParam> {
        self.server_info().catalog.tool(tool).map(|tool| tool.header_params.clone()).unwrap_or_default()
    }

    /// Whether it waits for an answer with this id.
    pub fn is_awaiting(&self, raw_id: &str) -> bool {
        self.pending_requests().contains(raw_id)
    }

    /// Forgets a request, by its id as it was written: no answer to it will come this way.
    pub fn forget_request(&self, raw_id: &str) {
        self.pending_requests().take(raw_id);
    }

    /// The server has ended a stream on which answers were due, as if all was said: a JSON-RPC error for each, for it was the
    /// transport that failed and no tool.
    pub fn fail_all_pending(&self, why: &dyn Display) -> Vec<OutgoingMessage> {
        let waiting = self.pending_requests().take_all();
        let reason = responses::server_gone_fault(why);
        let error = |asked: &PendingRequest| {
            if let PendingKind::Content { caller, endpoint, .. } = &asked.kind {
                self.gateway.report_upstream_failure(caller, endpoint, 0);
            }
            OutgoingMessage::ToClient(responses::fault_response(&asked.id, &reason).into_bytes())
        };
        waiting.iter().map(error).collect()
    }

    /// What becomes of a message on a stream that a client has resumed, which may answer what this process has not been asked.
    pub async fn process_resumed_frame(&self, frame: Frame) -> Vec<OutgoingMessage> {
        match frame {
            Frame::Message(line) => self.process_resumed_line(line).await,
            frame @ Frame::TooLarge { .. } => self.process_server_frame(frame).await,
        }
    }

    /// The server has answered with what is no answer, in so many bytes as far as that is known, and that passes as it came:
    /// nothing waits any more.
    pub fn discard_all_pending(&self, bytes: usize) {
        let waiting = self.pending_requests().take_all();
        for asked in &waiting {
            if let PendingKind::Content { caller, endpoint, .. } = &asked.kind {
                self.gateway.report_upstream_failure(caller, endpoint, bytes);
            }
        }
    }

    fn refuse_all_pending(&self, reason: &Fault) -> Vec<OutgoingMessage> {
        let waiting = self.pending_requests().take_all();
        let refusal = |asked: &PendingRequest| {
            OutgoingMessage::ToClient(self.refusal_response(asked, reason.clone()).into_bytes())
        };
        waiting.iter().map(refusal).collect()
    }

    /// The answer to a request that the server leaves without one. In place of content it is a reply like any other.
    fn refusal_response(&self, asked: &PendingRequest, reason: Fault) -> String {
        let PendingKind::Content { caller, endpoint, request, .. } = &asked.kind else {
            return responses::refusal_response(asked, &reason);
        };
        let request = Request { max_tokens: request.max_tokens, ..Request::default() };
        responses::refusal_response(asked, &self.gateway.report_fault(reason, caller, &request, endpoint))
    }

    /// Whom a reply of an endpoint is for, and how it is served: by what is decided now. `None`: one of our own.
    fn caller(&self, who: CallerIdentity, endpoint: Option<&Endpoint>) -> Caller {
        let CallerIdentity { client, trace } = who;
        let rules = self.gateway.rules();
        let rule = match endpoint {
            Some(Endpoint { name, kind, .. }) => rules.rule_for(self.target(*kind, name)),
            None => Arc::clone(rules.default_rule()),
        };
        let known = self.server_info();
        let tool = endpoint.filter(|endpoint| endpoint.kind == EndpointKind::Tool);
        let tool = tool.and_then(|endpoint| known.catalog.tool(&endpoint.name));
        let mut terms = match (client, tool.and_then(|tool| tool.max_result_chars)) {
            (Some(client), Some(characters)) => rule.policy_for_tool(client, characters),
            _ => Arc::clone(rule.policy_for_client(client)),
        };
        if tool.is_some_and(|tool| tool.is_bounded) {
            let mut policy = terms.policy.clone();
            policy.render_options.structured = StructuredMode::AsReceived;
            terms = Arc::new(terms.with_policy(policy));
        }
        Caller {
            scope: self.scope,
            session: Arc::clone(&self.session),
            client,
            shaping_mode: rule.shaping_mode(&self.session),
            rule,
            effective_policy: terms,
            upstream: self.upstream.clone(),
            read_tool: known.catalog.read_tool(),
            query_tool: known.catalog.query_tool(),
            read_uri: None,
            received_at: self.gateway.now(),
            argument_names: Vec::new(),
            trace,
            cancel_flag: CancelFlag::default(),
        }
    }

    fn target<'a>(&'a self, kind: EndpointKind, name: &'a str) -> EndpointTarget<'a> {
        EndpointTarget { upstream: self.upstream.as_deref(), kind, name }
    }

    /// How a tool is to be listed, by what is decided now.
    fn listing_policy(&self, rules: &EndpointRules, name: &str) -> ToolListingPolicy {
        let rule = rules.rule_for(self.target(EndpointKind::Tool, name));
        let controls = rule.controls(rule.shaping_mode(&self.session));
        let policy = &rule.policy_for_client(None).policy;
        ToolListingPolicy {
            adds_controls: controls,
            max_page_size: policy.max_page_size,
            render_options: policy.render_options.clone(),
            summarize_above: policy.summarize_above.min(policy.token_budget_threshold),
            redact: rule.config().redact.clone(),
        }
    }

    /// Whether the server's list of tools is relayed as it comes.
    fn relays_tool_list(&self) -> bool {
        self.gateway.rules().default_rule().config().dry_run
    }

    fn pending_requests(&self) -> MutexGuard<'_, PendingRequests> {
        self.pending_requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn server_info(&self) -> MutexGuard<'_, ServerInfo> {
        self.server_info.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MessageProcessor for McpProcessor {
    async fn process_client_frame(&self, frame: Frame) -> Vec<OutgoingMessage> {
        match frame {
            Frame::Message(line) => self.process_client_line(line, None).await,
            Frame::TooLarge { id, has_method, .. } => {
                self.reject_oversized_client_message(id.as_deref(), has_method)
            }
        }
    }

    fn is_deferred(&self, frame: &Frame) -> bool {
        matches!(frame, Frame::Message(line) if self.begin_query(line))
    }

    async fn process_deferred(&self, frame: Frame) -> Vec<OutgoingMessage> {
        match frame {
            Frame::Message(line) => self.process_query(line).await,
            frame @ Frame::TooLarge { .. } => self.process_client_frame(frame).await,
        }
    }

    fn reject_overload(&self, frame: &Frame) -> Vec<OutgoingMessage> {
        match frame {
            Frame::Message(line) => self.refuse_query(line),
            Frame::TooLarge { .. } => Vec::new(),
        }
    }

    async fn process_server_frame(&self, frame: Frame) -> Vec<OutgoingMessage> {
        match frame {
            Frame::Message(line) => self.process_server_line(line).await,
            Frame::TooLarge { id, has_method, bytes } => {
                self.reject_oversized_server_message(id.as_deref(), has_method, bytes).await
            }
        }
    }

    async fn next_timeout(&self) -> Vec<OutgoingMessage> {
        self.until_expired().await
    }

    fn on_server_gone(&self, how: &dyn Display) -> Vec<OutgoingMessage> {
        self.refuse_all_pending(&responses::server_gone_fault(how))
    }

    fn on_server_unreachable(&self, why: &dyn Display) -> Vec<OutgoingMessage> {
        self.refuse_all_pending(&responses::server_unreachable_fault(why))
    }

    fn pending_count(&self) -> usize {
        self.pending_requests().len()
    }

    fn has_held_messages(&self) -> bool {
        self.pending_requests().has_queued()
    }
}

#[cfg(test)]
mod tests;
