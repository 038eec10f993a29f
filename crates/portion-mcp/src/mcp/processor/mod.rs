//! Processes the messages between one client and one server: answers, rewrites or relays each.
//!
//! [`method`] is the table of methods and their handling. [`pending`] keeps the requests that wait for a response.
//! [`downstream`] handles messages of the client: [`tool_calls`] prepares calls of tools, [`builtin_tools`] answers without
//! the server. [`upstream`] handles messages of the server: [`reshape`] its responses, [`server_messages`] its
//! notifications and requests. [`tool_list`] joins the pages of the list of tools. [`request_timer`] limits how long a
//! request waits, [`failures`] ends requests without a response,
//! [`caller_identity`] finds the client, the trace and `_meta`, and [`responses`] writes the gateway's own responses and
//! joins the outcomes of a line. [`paged_calls`] answers calls of tools that page their results: [`page_source`] translates
//! their arguments, [`call_paging`] those of other tools, and both [`page_source`] and [`internal_calls`] request further
//! pages. [`factory`] creates processors, and keeps a session in which nothing is pending.
//!
//! A message that is not reshaped is forwarded byte for byte.

mod builtin_tools;
mod call_paging;
mod caller_identity;
mod downstream;
mod factory;
mod failures;
mod internal_calls;
mod method;
mod page_source;
mod paged_calls;
mod pending;
mod relayed;
mod request_timer;
mod reshape;
mod responses;
mod server_messages;
mod tool_calls;
mod tool_list;
mod upstream;

use std::fmt::Display;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use portion_core::cursor::Scope;
use portion_gateway::call::{Caller, Fault, ReadCall, Reply};
use portion_gateway::gateway::{Gateway, NestedPortion};
use portion_gateway::query_limiter::{CancelFlag, MAX_CONCURRENT_QUERIES, MAX_WAITING_QUERIES};
use portion_gateway::rules::{EndpointRules, ToolLimits};
use portion_gateway::session::ClientSession;
use portion_policy::client::ClientProfile;
use portion_policy::endpoint::{Endpoint, EndpointKind, EndpointTarget};
use tokio::sync::Notify;

use super::argument_names::has_query;
use super::catalog::{BuiltinTool, ServerInfo, ToolListingPolicy, ToolOwner};
use super::envelope::{Envelope, MessageKind, RequestIdMap};
use super::parsed_batch::{ClientMessage, OwnedBatch};
use super::request_headers::HeaderParam;
use super::result::StructuredForm;
use crate::frame::Frame;
use crate::message_processor::{MessageProcessor, OutgoingMessage};
use caller_identity::CallerIdentity;
use internal_calls::InternalCalls;
use method::{MethodHandling, method_handling};
use pending::{PendingRequests, UnsolicitedPolicy};
use request_timer::Timeouts;

pub(crate) use factory::DormantProcessor;
pub use factory::McpProcessorFactory;
pub use internal_calls::{ResponseFuture, UpstreamCaller};

/// Processor of the messages between one client and one server.
pub struct McpProcessor {
    gateway: Arc<Gateway>,
    /// Scope of the cursors that are issued and accepted.
    scope: Scope,
    /// True if the scope belongs to one caller, so that earlier results may answer later calls without a
    /// cursor.
    allows_reuse: bool,
    /// Session of the client.
    session: Arc<ClientSession>,
    /// Name of the server, if there are several.
    upstream: Option<Arc<str>>,
    /// True if the gateway's spans become parents of the server's spans.
    exports_traces: bool,
    /// Largest server message, in bytes, for error messages.
    max_server_message_bytes: usize,
    /// Largest client message, in bytes, for error messages.
    max_client_message_bytes: usize,
    /// Client that sent `initialize`, if it is known.
    client: OnceLock<&'static ClientProfile>,
    /// Pending requests.
    pending_requests: Mutex<PendingRequests>,
    /// Ids that requests must not have, because requests of other processors in the session have them.
    taken_ids: RequestIdMap<()>,
    /// State shared by the timers of the session.
    timeouts: Arc<Timeouts>,
    /// Notified when a request is added whose deadline is earlier than all others.
    deadline_changed: Notify,
    /// Running queries, which are answered without the server.
    active_queries: Arc<ActiveQueries>,
    /// Facts about the server, shared with forks of this processor.
    server_info: Arc<Mutex<ServerInfo>>,
    /// The gateway's own calls on this message stream, and responses that are made in tasks.
    internal_calls: Arc<InternalCalls>,
    /// Sends the gateway's own calls, if the transport has another way than this message stream.
    upstream_caller: Option<Arc<dyn UpstreamCaller>>,
    /// True after the list of the tools has timed out, until the queued calls are sent.
    releases_queue: AtomicBool,
    /// Another Portion behind this one; shared by all sessions.
    nested_portion: NestedPortion,
}

impl McpProcessor {
    /// Returns the arguments of a tool that header fields repeat, if the tool is known.
    pub fn header_params(&self, tool: &str) -> Vec<HeaderParam> {
        self.server_info.lock().catalog.tool(tool).map(|tool| tool.header_params.clone()).unwrap_or_default()
    }

    /// Processes messages of the client. Returns the messages to send, in order.
    pub async fn process_client_batch(&self, batch: OwnedBatch) -> Vec<OutgoingMessage> {
        self.process_client_messages(batch, None).await
    }

    /// Returns true if the message is [deferred](MessageProcessor::is_deferred), and registers it.
    pub fn defers_batch(&self, batch: &OwnedBatch) -> bool {
        batch.single().is_some_and(|envelope| self.begin_query(&batch.text, envelope))
    }

    /// Processes a message of a resumed stream, which may answer requests that this process never received.
    pub async fn process_resumed_frame(&self, frame: Frame) -> Vec<OutgoingMessage> {
        match frame {
            Frame::Message(line) => self.process_server_line(line, UnsolicitedPolicy::Shape).await,
            frame @ Frame::TooLarge(_) => self.process_server_frame(frame).await,
        }
    }

    /// Returns the caller of an endpoint with the current policy. `None`: a built-in endpoint.
    fn caller(&self, identity: CallerIdentity, endpoint: Option<&Endpoint>) -> Caller {
        let CallerIdentity { client, trace } = identity;
        let rules = self.gateway.rules();
        let rule = match endpoint {
            Some(Endpoint { name, kind, .. }) => rules.rule_for(self.target(*kind, name)),
            None => Arc::clone(rules.default_rule()),
        };
        let server_info = self.server_info.lock();
        let tool = endpoint.filter(|endpoint| endpoint.kind == EndpointKind::Tool);
        let tool = tool.and_then(|endpoint| server_info.catalog.tool(&endpoint.name));
        let tool_limits = tool.map_or_else(ToolLimits::default, |tool| ToolLimits {
            max_result_chars: tool.max_result_chars,
            keeps_structured: tool.is_bounded,
            has_optional_structured: !tool.has_output_schema,
        });
        Caller {
            owns_scope: self.allows_reuse,
            client,
            effective_policy: rule.policy_for(client, tool_limits),
            tool_limits,
            upstream: self.upstream.clone(),
            read_call: ReadCall::Tool(server_info.catalog.builtin_names.read_tool()),
            query_tool: server_info.catalog.builtin_names.query_tool(),
            received_at: self.gateway.now(),
            trace,
            page_source: Some(self.page_source(String::new())),
            ..Caller::new(self.scope, Arc::clone(&self.session), rule)
        }
    }

    fn target<'a>(&'a self, kind: EndpointKind, name: &'a str) -> EndpointTarget<'a> {
        EndpointTarget { upstream: self.upstream.as_deref(), kind, name }
    }

    /// Returns how a tool is listed under the current policy.
    fn listing_policy(&self, rules: &EndpointRules, name: &str) -> ToolListingPolicy {
        let rule = rules.rule_for(self.target(EndpointKind::Tool, name));
        let controls = rule.controls(rule.shaping_mode(&self.session));
        let policy = &rule.policy_for_client(None).policy;
        let refuses_large_limit =
            rule.config().pushdown.as_ref().is_some_and(|pushdown| pushdown.refuses_large_limit);
        ToolListingPolicy {
            adds_controls: controls,
            default_page_size: policy.default_page_size,
            max_page_size: policy.max_page_size,
            token_budget: policy.reply_target,
            max_own_limit: refuses_large_limit.then_some(policy.max_page_size),
            render_options: policy.render_options.clone(),
            summarize_above: policy.summarize_above.min(policy.token_budget_threshold),
            redact: rule.config().redact.clone(),
        }
    }

    /// Returns true if the server's tool list is relayed unchanged.
    fn relays_tool_list(&self) -> bool {
        self.gateway.rules().default_rule().config().dry_run
    }

    /// Returns true if the message is a query, and registers it.
    fn begin_query(&self, text: &str, envelope: &Envelope) -> bool {
        let called = || envelope.string_param(text, "name").unwrap_or_default();
        let id = envelope.raw_id(text);
        let is_slow = |name: &str| match self.tool_owner(name) {
            ToolOwner::Builtin(BuiltinTool::Query) => true,
            // A page of a list may have to be fetched first.
            ToolOwner::Builtin(BuiltinTool::Read) => {
                self.gateway.fetches_pages() || has_query(text, envelope.arguments(text))
            }
            _ => false,
        };
        // Arguments may be large; most calls are of other tools, and this search finds that without a walk through them.
        let may_be_slow = || {
            let catalog = &self.server_info.lock().catalog;
            catalog
                .builtin_names
                .query_tool()
                .into_iter()
                .chain([catalog.builtin_names.read_tool()])
                .any(|name| text.contains(&*name))
        };
        envelope.kind() == Some(MessageKind::Request)
            && method_handling(&envelope.method(text)) == MethodHandling::CallTool
            && may_be_slow()
            && is_slow(&called())
            && !self.pending_requests.lock().contains(id)
            && self.active_queries.register(id)
    }

    /// Answers a registered query; returns nothing if it was cancelled.
    pub async fn process_deferred_batch(&self, batch: OwnedBatch) -> Vec<OutgoingMessage> {
        match self.active_query(&batch) {
            Some(query) if query.cancel_flag.is_cancelled() => Vec::new(),
            query => {
                self.process_client_messages(batch, query.as_ref().map(|query| &query.cancel_flag)).await
            }
        }
    }

    /// Refuses a query because too many are queued.
    fn refuse_query(&self, batch: &OwnedBatch) -> Vec<OutgoingMessage> {
        let Some(query) = self.active_query(batch) else { return Vec::new() };
        let fault = Fault::too_many_queries(MAX_CONCURRENT_QUERIES + MAX_WAITING_QUERIES);
        let answer = responses::tool_response(&query.id, &Reply::Fault(fault), StructuredForm::None, false);
        vec![OutgoingMessage::ToClient(answer.into_bytes())]
    }

    fn active_query(&self, batch: &OwnedBatch) -> Option<ActiveQuery> {
        self.active_queries.get(batch.single()?.raw_id(&batch.text))
    }
}

impl MessageProcessor for McpProcessor {
    type ClientMessage = ClientMessage;

    fn parse_client_frame(&self, frame: Frame) -> ClientMessage {
        ClientMessage::parse(frame)
    }

    async fn process_client_message(&self, message: ClientMessage) -> Vec<OutgoingMessage> {
        match message {
            ClientMessage::Valid(batch) => self.process_client_batch(batch).await,
            ClientMessage::Invalid { text, cause } => vec![self.refuse_invalid_message(&text, cause)],
            ClientMessage::TooLarge(dropped) => self.reject_oversized_client_line(&dropped),
        }
    }

    fn is_deferred(&self, message: &ClientMessage) -> bool {
        matches!(message, ClientMessage::Valid(batch) if self.defers_batch(batch))
    }

    async fn process_deferred(&self, message: ClientMessage) -> Vec<OutgoingMessage> {
        match message {
            ClientMessage::Valid(batch) => self.process_deferred_batch(batch).await,
            other => self.process_client_message(other).await,
        }
    }

    fn reject_overload(&self, message: &ClientMessage) -> Vec<OutgoingMessage> {
        match message {
            ClientMessage::Valid(batch) => self.refuse_query(batch),
            ClientMessage::Invalid { .. } | ClientMessage::TooLarge(_) => Vec::new(),
        }
    }

    async fn process_server_frame(&self, frame: Frame) -> Vec<OutgoingMessage> {
        match frame {
            Frame::Message(line) => self.process_server_line(line, UnsolicitedPolicy::Drop).await,
            Frame::TooLarge(dropped) => self.reject_oversized_server_line(&dropped).await,
        }
    }

    async fn next_timeout(&self) -> Vec<OutgoingMessage> {
        self.until_expired().await
    }

    fn on_server_gone(&self, cause: &dyn Display) -> Vec<OutgoingMessage> {
        self.internal_calls.close();
        self.refuse_all_pending(&responses::server_gone_fault(&self.redacted(&cause.to_string())))
    }

    fn on_server_unreachable(&self, cause: &dyn Display) -> Vec<OutgoingMessage> {
        self.refuse_all_pending(&responses::server_unreachable_fault(&self.redacted(&cause.to_string())))
    }

    fn pending_count(&self) -> usize {
        self.pending_requests.lock().len()
    }

    fn has_held_messages(&self) -> bool {
        self.pending_requests.lock().held_count > 0
    }

    fn is_responding(&self) -> bool {
        self.pending_requests.lock().has_received()
    }
}

/// Running and queued queries by id. A query is registered as soon as its message is read, so that it can be cancelled
/// while it is queued.
#[derive(Debug, Default)]
struct ActiveQueries(Mutex<RequestIdMap<CancelFlag>>);

/// A registered query; removed when this is dropped.
struct ActiveQuery {
    queries: Arc<ActiveQueries>,
    id: String,
    cancel_flag: CancelFlag,
}

impl ActiveQueries {
    /// Returns true if a query has this id.
    fn contains(&self, raw_id: &str) -> bool {
        self.0.lock().contains(raw_id)
    }

    /// Registers a query. Returns false if the id is taken.
    fn register(&self, raw_id: &str) -> bool {
        let mut all = self.0.lock();
        let is_new = !all.contains(raw_id);
        if is_new {
            all.insert(raw_id, CancelFlag::default());
        }
        is_new
    }

    /// Returns the query with this id.
    fn get(self: &Arc<Self>, raw_id: &str) -> Option<ActiveQuery> {
        let cancel_flag = self.0.lock().get(raw_id)?.clone();
        Some(ActiveQuery { queries: Arc::clone(self), id: raw_id.to_owned(), cancel_flag })
    }

    /// Cancels the query with this id. Returns true if there is one.
    fn cancel(&self, raw_id: &str) -> bool {
        let all = self.0.lock();
        let cancel_flag = all.get(raw_id);
        cancel_flag.inspect(|cancel_flag| cancel_flag.cancel()).is_some()
    }
}

impl Drop for ActiveQuery {
    fn drop(&mut self) {
        self.queries.0.lock().take(&self.id);
    }
}

#[cfg(test)]
mod tests;
