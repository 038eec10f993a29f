//! Answers calls of tools that page their results: the gateway fetches the pages.
//!
//! The caller's paging arguments become controls, in the names of the tool or of the gateway. The first page answers the
//! call in the form of its response; the gateway fetches the others.

use std::collections::HashSet;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use portion_core::paging::{PagingArgument, PagingRole};
use portion_core::policy::Policy;
use portion_core::view::{CONTROLS, Request, ViewError};
use portion_gateway::call::{Caller, Reply, ReuseKey};
use portion_gateway::paged_call::{FirstPage, PageError, PageSource, PagedCall, PagingNames, with_argument};
use portion_json::scan::quote;
use portion_policy::endpoint::Endpoint;
use portion_policy::pushdown::{PagingStyle, Pushdown};

use super::super::envelope::{MessageOrBatch, decode_line, parse};
use super::super::walk::{self, Splice};
use super::super::{controls, member_limits};
use super::McpProcessor;
use super::call_paging::arguments_of_call;
use super::caller_identity::protocol_meta_members;
use super::internal_calls::{QueuedMessage, UpstreamCaller};
use super::page_source::{
    CallError, ToolPageSource, call_tool, first_params, is_error, is_worse, own_arguments, text_of_argument,
    translate_arguments,
};
use super::pending::{PendingKind, PendingRequest};
use super::reshape::MessageEdit;
use super::responses::{self, MessageOutcome};
use super::tool_calls::{CallText, owns_argument};
use crate::message_processor::OutgoingMessage;
use crate::once::OneShotFlag;

/// Timeout of a call where none is configured.
const DEFAULT_TIMEOUT: Duration = Duration::from_mins(10);

/// Controls that page a list.
const PAGING_CONTROLS: [&str; 5] = ["limit", "page", "pages", "offset", "cursor"];

/// A call that is answered page by page.
pub(super) struct PagedJob {
    /// Id of the client's request, as written.
    id: String,
    is_stateless: bool,
    caller: Caller,
    endpoint: Endpoint,
    request: Request,
    /// The gateway's cursor, if there is one.
    cursor: Option<String>,
    reuse_key: Option<ReuseKey>,
    /// Calls to make, the next one if the result of the one before is worse.
    attempts: Vec<Attempt>,
}

/// A call of the tool.
struct Attempt {
    call: Arc<PagedCall>,
    /// Parameters of the request.
    params: String,
    /// Paging arguments of the tool in the request, if these are the caller's own.
    paging: Arc<[PagingArgument]>,
}

/// Arguments of a call whose result the gateway pages.
struct PagedArguments {
    /// Those of the tool, without its paging arguments.
    base: String,
    /// Those of the tool as the caller wrote them.
    own: String,
    /// `base` without a sort order, equal for equal arguments.
    canonical: String,
    request: Request,
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
        if let Some(reason) = reason_not_paged(&caller, &endpoint, pushdown, &names) {
            if caller.rule.is_first_pushdown_warning() {
                let tool = &*Endpoint::log_name(Some(&endpoint));
                tracing::warn!(tool, reason, "pushdown has no effect on this tool");
            }
            return PagedOutcome::NotPaged(Box::new(caller), Box::new(endpoint));
        }
        let policy = &caller.effective_policy.policy;
        let translated = translate_arguments(place, pushdown, &names, policy);
        let arguments = match self.separated_arguments(place, &translated, pushdown, &ours, policy) {
            Ok(arguments) => arguments,
            Err(error) => {
                let cursor = walk::string_member(&translated, walk::document_span(&translated), "cursor");
                let reply = self.refuse_controls(error, cursor, caller, endpoint).await;
                return PagedOutcome::Refused(Box::new(reply));
            }
        };
        let sort_key = if pushdown.sort.is_some() { arguments.base.as_str() } else { "" };
        let reuse_key = || ReuseKey::new(&endpoint, &format!("{}{sort_key}", arguments.canonical));
        let reuse_key = self.allows_reuse.then(reuse_key);
        let source = self.page_source(protocol_meta_members(place.text, place.envelope));
        let mut caller = caller.with_arguments(&arguments.canonical);
        caller.page_source = Some(Arc::clone(&source));
        // A cursor of the tool's own selects one of its pages.
        let own_cursor = names.page.as_deref().filter(|_| matches!(pushdown.style, PagingStyle::Cursor(_)));
        let is_own = own_cursor.is_some_and(|name| text_of_argument(&arguments.own, name).is_some());
        let call = PagedCall {
            tool: endpoint.name.clone(),
            arguments: arguments.base.clone(),
            pushdown: Arc::clone(pushdown),
            names,
            source,
            first: FirstPage::Chosen { start: 0, size: pushdown.page_size },
            own: None,
        };
        PagedOutcome::Job(Box::new(PagedJob {
            id: place.envelope.raw_id(place.text).to_owned(),
            is_stateless: place.is_stateless,
            attempts: self.attempts(place, call, &arguments, &caller),
            caller,
            endpoint,
            cursor: arguments.request.cursor.clone().filter(|_| !is_own),
            request: arguments.request,
            reuse_key,
        }))
    }

    /// Separates the controls from the arguments of a call. `translated`: the arguments, in which those that page are
    /// controls. `ours`: the controls that are the gateway's. A sort order that the tool knows is an argument.
    ///
    /// # Errors
    /// Returns why a control is invalid.
    fn separated_arguments(
        &self,
        place: CallText<'_>,
        translated: &str,
        pushdown: &Pushdown,
        ours: &HashSet<String>,
        policy: &Policy,
    ) -> Result<PagedArguments, ViewError> {
        let control_names = self.server_info.lock().catalog.control_names.clone();
        let (mut splice, span) = (Splice::new(translated), walk::document_span(translated));
        let is_ours = |name: &str| PAGING_CONTROLS.contains(&name) || ours.contains(name);
        let (mut request, canonical) =
            controls::split_controls(&mut splice, translated, span, (&control_names, is_ours), policy)?;
        let mut base = if splice.is_empty() { translated.to_owned() } else { splice.apply() };
        let mut own = own_arguments(place, (&control_names, ours), policy);
        if let Some(argument) = &pushdown.sort
            && let Some(sort) = request.sort.take()
        {
            for arguments in [&mut base, &mut own] {
                *arguments = with_argument(arguments, argument, quote(&sort));
            }
        }
        Ok(PagedArguments { base, own, canonical, request })
    }

    /// Returns the calls to make, the next one if the result of the one before is worse.
    fn attempts(
        &self,
        place: CallText<'_>,
        call: PagedCall,
        arguments: &PagedArguments,
        caller: &Caller,
    ) -> Vec<Attempt> {
        let server_info = self.server_info.lock();
        let properties = server_info.catalog.tool(&call.tool).map_or(&[][..], |tool| &tool.paging);
        let value_of = |name: &str| text_of_argument(&arguments.own, name);
        let conditions = (&caller.effective_policy.policy, &*caller.rule);
        let calls = call.attempts(arguments.own.clone(), value_of, &arguments.request, conditions, false);
        let attempt = |call: Arc<PagedCall>| {
            let arguments = call.first_arguments();
            let paging = if call.is_own() {
                arguments_of_call(&arguments, properties)
            } else {
                // A page that the gateway chose may be all there is, and be served in parts.
                let arguments = properties.iter().map(|property| &property.argument);
                arguments.filter(|own| own.role() == Some(PagingRole::Cursor)).cloned().collect()
            };
            Attempt { params: first_params(place, &arguments), paging: paging.into(), call }
        };
        calls.into_iter().map(attempt).collect()
    }

    /// Returns the paging arguments of the tool, and the controls that are the gateway's. Returns `None` until the tools
    /// are listed.
    fn paging_names(
        &self,
        caller: &Caller,
        endpoint: &Endpoint,
        pushdown: &Pushdown,
    ) -> Option<(PagingNames, HashSet<String>)> {
        let server_info = self.server_info.lock();
        let Some(tool) = server_info.catalog.tool(&endpoint.name) else {
            return server_info.catalog.is_complete().then(Default::default);
        };
        let control_names = &server_info.catalog.control_names;
        let listed = CONTROLS.into_iter().filter_map(|control| control_names.listed(control));
        let ours = listed
            .filter(|name| owns_argument(caller, tool, name, control_names))
            .map(str::to_owned)
            .collect();
        Some((PagingNames::resolve(pushdown, |name| tool.owns(name)), ours))
    }

    /// Starts a job. It runs in a task of its own where the responses of the server arrive on this message stream.
    pub(super) async fn start_paged_job(&self, job: PagedJob) -> MessageOutcome {
        if self.upstream_caller.is_some() {
            return MessageOutcome::Respond(Box::pin(self.run_paged_job(job)).await);
        }
        let id = job.id.clone();
        self.respond_in_task((id, job.is_stateless), false, |worker| async move {
            worker.run_paged_job(job).await
        });
        MessageOutcome::Discard
    }

    /// Shapes the response to a call with a query in a task of its own, because queries may take long, and later messages of
    /// the server do not wait for them.
    pub(super) fn answer_query_in_task(&self, edit: &MessageEdit<'_, '_>, pending: PendingRequest) {
        let (text, invalid_utf8) = (edit.text.to_owned(), edit.invalid_utf8);
        let (id, is_stateless) = (pending.id.clone(), pending.is_stateless);
        self.respond_in_task((id, is_stateless), true, move |worker| async move {
            worker.shape_text(&text, invalid_utf8, &pending).await
        });
    }

    /// Responds to a request with what a task returns, unless the client cancels the request.
    fn respond_in_task<F: Future<Output = String> + Send + 'static>(
        &self,
        (id, is_stateless): (String, bool),
        is_received: bool,
        respond: impl FnOnce(Self) -> F,
    ) {
        let cancelled = Arc::new(OneShotFlag::default());
        let kind = PendingKind::TaskCall { is_received, cancelled: Arc::clone(&cancelled) };
        self.add_pending(PendingRequest { id: id.clone(), is_stateless, kind, timer: None });
        let internal_calls = Arc::clone(&self.internal_calls);
        let worker = Self { internal_calls: Arc::clone(&internal_calls), ..self.fork_in_session() };
        let response = Box::pin(respond(worker));
        tokio::spawn(async move {
            tokio::select! {
                response = response => internal_calls.respond(id, response.into_bytes()),
                () = cancelled.wait() => {}
            }
        });
    }

    /// Returns the queued messages that may be sent now.
    pub(super) fn take_internal_messages(&self) -> Vec<OutgoingMessage> {
        let mut out = Vec::new();
        while let Some(message) = self.internal_calls.take_queued() {
            match message {
                QueuedMessage::ToServer(message) => out.push(OutgoingMessage::InternalRequest(message)),
                // A request that is not pending any more was cancelled or answered otherwise.
                QueuedMessage::Response { id, message } => {
                    let pending = self.pending_requests.lock().take(&id);
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
        let PagedJob { id, is_stateless, mut caller, endpoint, mut request, cursor, reuse_key, attempts } =
            job;
        let structured = self.structured_form(&caller, &endpoint);
        if cursor.is_some() {
            let opened = self.gateway.open_cursor(caller, Some(endpoint), cursor).await;
            let reply = self.answer_at_cursor(opened, request).await;
            return responses::tool_response(&id, &reply, structured, is_stateless);
        }
        caller.paged_call = attempts.first().map(|attempt| Arc::clone(&attempt.call));
        if !request.is_plain()
            && request.cursor.is_none()
            && let Some(reuse) = &reuse_key
            && let Some(reply) = self.gateway.answer_from_reuse(&caller, &endpoint, reuse, &request).await
        {
            return responses::tool_response(&id, &reply, structured, is_stateless);
        }
        request.cursor = None;
        let timeout = caller.rule.config().request_timeout.unwrap_or(DEFAULT_TIMEOUT);
        let mut response = Err(CallError::Page(PageError::Closed));
        let mut paging = Arc::default();
        let is_repeatable = attempts.len() > 1;
        for attempt in attempts {
            response = call_tool(&*self.upstream_caller(), &attempt.params, timeout).await;
            if is_repeatable && attempt.call.is_own() && !response.as_ref().is_ok_and(|line| is_error(line)) {
                caller.rule.keep_own_page(&endpoint.name);
            }
            let is_worse = is_worse(&attempt.call, &response);
            (caller.paged_call, paging) = (Some(attempt.call), attempt.paging);
            if !is_worse {
                break;
            }
        }
        let kind = PendingKind::tool_result((caller, endpoint), request, reuse_key, paging);
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
        let text = member_limits::strip_reserved(&text).unwrap_or_else(|| text.into_owned());
        self.shape_text(&text, invalid_utf8, pending).await
    }

    /// Shapes the text of a response for the client.
    async fn shape_text(&self, text: &str, invalid_utf8: usize, pending: &PendingRequest) -> String {
        let Ok(MessageOrBatch::Single(envelope)) = parse(text) else {
            let reason = portion_gateway::call::Fault::upstream_invalid("an invalid response");
            return self.refusal_response(pending, reason);
        };
        // The response is addressed to the client first, because its edits replace spans of the text.
        let mut addressed = Splice::new(text);
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

/// Returns why the gateway does not page the results of a tool; `None` if it does.
fn reason_not_paged(
    caller: &Caller,
    endpoint: &Endpoint,
    pushdown: &Pushdown,
    names: &PagingNames,
) -> Option<&'static str> {
    let config = caller.rule.config();
    let is_link = matches!(pushdown.style, PagingStyle::Link(_));
    if !(endpoint.read_only || config.read || config.reuse == Some(true)) {
        return Some("it may write; read: true declares that it does not");
    }
    let is_paged = names.page.is_some() || names.limit.is_some() || is_link;
    (!is_paged).then_some("it has no such argument")
}
