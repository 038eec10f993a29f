//! Answers calls of tools that page their results: the gateway fetches the pages.
//!
//! The caller's paging arguments become controls, in the names of the tool or of the gateway. The first page answers the
//! call in the form of its response; the gateway fetches the others.

use std::sync::Arc;
use std::time::Duration;

use portion_core::view::{CONTROLS, Request};
use portion_gateway::call::{Caller, Reply, ReuseKey};
use portion_gateway::paged_call::{PageSource, PagedCall, PagingNames, with_argument};
use portion_json::scan::quote;
use portion_policy::endpoint::Endpoint;
use portion_policy::pushdown::{PagingStyle, Pushdown};

use super::super::envelope::{MessageOrBatch, decode_line, parse};
use super::super::result::ResultShape;
use super::super::splice::Splice;
use super::super::{controls, reserved_meta, walk};
use super::internal_calls::{QueuedMessage, UpstreamCaller};
use super::line_outcome::MessageOutcome;
use super::page_source::{CallError, ToolPageSource, call_tool, read_page};
use super::paged_arguments::{first_params, own_arguments, translate_arguments};
use super::pending::{PendingKind, PendingRequest};
use super::request_meta::protocol_meta_members;
use super::reshape::MessageEdit;
use super::tool_calls::CallText;
use super::{McpProcessor, responses};
use crate::message_processor::OutgoingMessage;
use crate::one_shot_flag::OneShotFlag;

/// Timeout of a call where none is configured.
const DEFAULT_TIMEOUT: Duration = Duration::from_mins(10);

/// A call that is answered page by page.
pub(super) struct PagedJob {
    /// Id of the client's request, as written.
    id: String,
    is_stateless: bool,
    caller: Caller,
    endpoint: Endpoint,
    request: Request,
    reuse_key: Option<ReuseKey>,
    /// Parameters of the first call.
    params: String,
    /// Parameters with the caller's own paging arguments, if they select a page.
    own_params: Option<String>,
}

/// Treatment of a call of a tool with a pushdown.
pub(super) enum PagedOutcome {
    Job(Box<PagedJob>),
    /// Answered without the server: a control is invalid.
    Refused(Box<Reply>),
    /// The arguments of the tool are unknown until the tools are listed.
    ToolsUnknown,
    /// The tool may not be called again, or has no such arguments.
    NotPaged(Box<Caller>, Box<Endpoint>),
}

impl McpProcessor {
    /// Prepares a call of a tool with a pushdown.
    pub(super) async fn paged_job(
        &self,
        place: CallText<'_>,
        caller: Caller,
        endpoint: Endpoint,
        pushdown: &Arc<Pushdown>,
    ) -> PagedOutcome {
        let Some((names, ours)) = self.paging_names(&caller, &endpoint, pushdown) else {
            return PagedOutcome::ToolsUnknown;
        };
        let config = caller.rule.config();
        let is_read = endpoint.read_only || config.read || config.reuse == Some(true);
        let is_paged = names.page.is_some() || matches!(pushdown.style, PagingStyle::Link(_));
        if !is_read || !is_paged {
            let reason = if is_read {
                "it has no such argument"
            } else {
                "it may write; read: true declares that it does not"
            };
            if caller.rule.is_first_pushdown_warning() {
                let tool = &*Endpoint::log_name(Some(&endpoint));
                tracing::warn!(tool, reason, "pushdown has no effect on this tool");
            }
            return PagedOutcome::NotPaged(Box::new(caller), Box::new(endpoint));
        }
        let policy = &caller.effective_policy.policy;
        let arguments = translate_arguments(place, pushdown, &names, policy);
        let mut splice = Splice::new(&arguments);
        let is_ours = |name: &str| PAGING_CONTROLS.contains(&name) || ours.contains(&name);
        let span = walk::document_span(&arguments);
        let split = controls::split_controls(&mut splice, &arguments, span, is_ours, policy);
        let (mut request, canonical) = match split {
            Ok(split) => split,
            Err(error) => {
                let cursor = walk::string_member(&arguments, span, "cursor");
                let reply = self.refuse_controls(error, cursor, caller, endpoint).await;
                return PagedOutcome::Refused(Box::new(reply));
            }
        };
        let mut base = if splice.is_empty() { arguments.clone() } else { splice.apply() };
        let sort = request.sort.take_if(|_| pushdown.sort.is_some());
        if let (Some(argument), Some(sort)) = (&pushdown.sort, &sort) {
            base = with_argument(&base, argument, quote(sort));
        }
        let mut own = own_arguments(place, &names, &ours, policy);
        if let (Some(argument), Some(sort)) = (&pushdown.sort, &sort) {
            own = own.map(|own| with_argument(&own, argument, quote(sort)));
        }
        let own_params = own.map(|own| first_params(place, &own));
        let source = self.page_source(protocol_meta_members(place.text, place.envelope));
        let start = PagedCall::start_for(&request, pushdown, &names, policy);
        let call = Arc::new(PagedCall {
            tool: endpoint.name.clone(),
            arguments: base,
            pushdown: Arc::clone(pushdown),
            names,
            source: Arc::clone(&source),
            start,
        });
        let sort_key =
            format!("{canonical}{}", if pushdown.sort.is_some() { call.arguments.as_str() } else { "" });
        let reuse_key = self.allows_reuse.then(|| ReuseKey::new(&endpoint, &sort_key));
        let params = first_params(place, &call.first_arguments());
        let caller = caller.with_arguments(&canonical);
        let caller = Caller { paged_call: Some(call), page_source: Some(source), ..caller };
        PagedOutcome::Job(Box::new(PagedJob {
            id: place.envelope.raw_id(place.text).to_owned(),
            is_stateless: place.is_stateless,
            caller,
            endpoint,
            request,
            reuse_key,
            params,
            own_params,
        }))
    }

    /// Returns the paging arguments of the tool, and the controls that are the gateway's. Returns `None` until the tools
    /// are listed.
    fn paging_names(
        &self,
        caller: &Caller,
        endpoint: &Endpoint,
        pushdown: &Pushdown,
    ) -> Option<(PagingNames, Vec<&'static str>)> {
        let server_info = self.server_info();
        let Some(tool) = server_info.catalog.tool(&endpoint.name) else {
            return server_info.catalog.is_complete().then(Default::default);
        };
        let controls = caller.rule.controls(caller.shaping_mode);
        let is_ours = |control: &&str| match controls {
            Some(false) => tool.advertises(control),
            Some(true) => !tool.has_property(control),
            None => tool.is_gateway_control(control),
        };
        let ours = CONTROLS.into_iter().filter(is_ours).collect();
        Some((PagingNames::resolve(pushdown, |name| tool.owns(name)), ours))
    }

    /// Starts a job. It runs in a task of its own where the responses of the server arrive on this message stream.
    pub(super) async fn start_paged_job(&self, job: PagedJob) -> MessageOutcome {
        if self.upstream_caller.is_some() {
            return MessageOutcome::Respond(Box::pin(self.run_paged_job(job)).await);
        }
        let cancelled = Arc::new(OneShotFlag::default());
        let kind = PendingKind::PagedCall { cancelled: Arc::clone(&cancelled) };
        let (id, is_stateless) = (job.id.clone(), job.is_stateless);
        self.add_pending(PendingRequest { id: id.clone(), is_stateless, kind, timer: None });
        let worker = Self { internal_calls: Arc::clone(&self.internal_calls), ..self.fork_in_session() };
        tokio::spawn(async move {
            tokio::select! {
                response = Box::pin(worker.run_paged_job(job)) => {
                    worker.internal_calls.respond(id, response.into_bytes());
                }
                () = cancelled.wait() => {}
            }
        });
        MessageOutcome::Discard
    }

    /// Returns the queued messages that may be sent now.
    pub(super) fn take_internal_messages(&self) -> Vec<OutgoingMessage> {
        let mut out = Vec::new();
        while let Some(message) = self.internal_calls.take_queued() {
            match message {
                QueuedMessage::ToServer(message) => out.push(OutgoingMessage::InternalRequest(message)),
                // A request that is not pending any more was cancelled or answered otherwise.
                QueuedMessage::Response { id, message } => {
                    let pending = self.pending_requests().take(&id);
                    out.extend(pending.map(|_| OutgoingMessage::ToClient(message)));
                }
            }
        }
        out
    }

    /// Returns what calls tools again. `meta`: members of `_meta` that each request needs.
    pub(super) fn page_source(&self, meta: String) -> Arc<dyn PageSource> {
        let timeout = self.gateway.rules().default_rule().config().request_timeout.unwrap_or(DEFAULT_TIMEOUT);
        Arc::new(ToolPageSource { caller: self.upstream_caller(), meta, timeout })
    }

    fn upstream_caller(&self) -> Arc<dyn UpstreamCaller> {
        match &self.upstream_caller {
            Some(caller) => Arc::clone(caller),
            None => Arc::clone(&self.internal_calls) as Arc<dyn UpstreamCaller>,
        }
    }

    /// Answers a call. Returns the response.
    async fn run_paged_job(&self, job: PagedJob) -> String {
        let PagedJob {
            id,
            is_stateless,
            mut caller,
            endpoint,
            mut request,
            mut reuse_key,
            params,
            own_params,
        } = job;
        if request.cursor.is_some() {
            let opened = self.gateway.open_cursor(caller, Some(endpoint), request.cursor.clone()).await;
            let reply = self.answer_at_cursor(opened, request, None).await;
            return responses::tool_response(&id, &reply, true, is_stateless);
        }
        if !request.is_plain()
            && let Some(reuse) = &reuse_key
            && let Some(reply) = self.gateway.answer_from_reuse(&caller, &endpoint, reuse, &request).await
        {
            return responses::tool_response(&id, &reply, true, is_stateless);
        }
        let timeout = caller.rule.config().request_timeout.unwrap_or(DEFAULT_TIMEOUT);
        let mut response = call_tool(&*self.upstream_caller(), &params, timeout).await;
        if let (Ok(line), Some(own_params), Some(call)) = (&response, own_params, &caller.paged_call)
            && lacks_list(call, line)
        {
            // The page that the caller asked for is the server's.
            call.warn_without_list(&caller.rule);
            let has_limit = call.names.limit.is_some();
            let limit = request.limit.filter(|_| !has_limit);
            request = Request { limit, ..request.without_paging() };
            (caller.paged_call, reuse_key) = (None, None);
            response = call_tool(&*self.upstream_caller(), &own_params, timeout).await;
        }
        let kind = PendingKind::Content {
            shape: ResultShape::Tool,
            caller: Box::new(caller),
            endpoint: Box::new(endpoint),
            request: Box::new(request),
            reuse_key,
            paging: Arc::default(),
            is_nested: false,
        };
        let pending = PendingRequest { id: id.clone(), is_stateless, kind, timer: None };
        let line = match response {
            Ok(line) => line,
            Err(error) => {
                let reason = match error {
                    CallError::TimedOut => responses::timeout_fault(timeout),
                    CallError::Page(error) => responses::server_gone_fault(&error),
                };
                return self.refusal_response(&pending, reason);
            }
        };
        self.shape_first_page(&line, &pending).await
    }

    /// Shapes the response with the first page for the client.
    async fn shape_first_page(&self, line: &[u8], pending: &PendingRequest) -> String {
        let (text, invalid_utf8) = decode_line(line);
        let text = reserved_meta::strip_reserved(&text).unwrap_or_else(|| text.into_owned());
        let Ok(MessageOrBatch::Single(envelope)) = parse(&text) else {
            let reason = portion_gateway::call::Fault::upstream_invalid("an invalid response");
            return self.refusal_response(pending, reason);
        };
        // The response is addressed to the client first, because its edits replace spans of the text.
        let mut addressed = Splice::new(&text);
        addressed.replace(envelope.id.unwrap_or_default(), pending.id.as_str());
        let text = addressed.apply();
        let Ok(MessageOrBatch::Single(envelope)) = parse(&text) else { return text };
        let mut splice = Splice::new(&text);
        let mut edit = MessageEdit { text: &text, invalid_utf8, envelope, splice: &mut splice };
        self.shape_response(&mut edit, pending).await;
        self.limit_unknown_members(&text, &envelope, &mut splice);
        if splice.is_empty() { text.clone() } else { splice.apply() }
    }
}

/// Returns true if a response is a result without the list of a call.
fn lacks_list(call: &PagedCall, line: &[u8]) -> bool {
    read_page(line).is_ok_and(|page| !page.is_error && !call.finds_list(&page))
}

/// Controls that page a list.
const PAGING_CONTROLS: [&str; 5] = ["limit", "page", "pages", "offset", "cursor"];
