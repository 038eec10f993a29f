//! Running queries of a session, and their cancellation.
//!
//! A query is registered as soon as its message is read, so that it can be cancelled while it is queued.

use std::sync::Arc;

use parking_lot::Mutex;
use portion_gateway::call::{Fault, Reply};
use portion_gateway::query_limiter::{CancelFlag, MAX_CONCURRENT_QUERIES, MAX_WAITING_QUERIES};

use super::super::argument_names::has_query;
use super::super::catalog::{BuiltinTool, ToolOwner};
use super::super::envelope::{Envelope, MessageKind, RequestIdMap};
use super::super::parsed_batch::OwnedBatch;
use super::super::result::StructuredForm;
use super::method::{MethodHandling, method_handling};
use super::{McpProcessor, responses};
use crate::message_processor::OutgoingMessage;

/// Running and queued queries by id.
#[derive(Debug, Default)]
pub(super) struct ActiveQueries(Mutex<RequestIdMap<CancelFlag>>);

/// A registered query; removed when this is dropped.
pub(super) struct ActiveQuery {
    queries: Arc<ActiveQueries>,
    id: String,
    pub(super) cancel_flag: CancelFlag,
}

impl ActiveQueries {
    /// Returns true if a query has this id.
    pub(super) fn contains(&self, raw_id: &str) -> bool {
        self.0.lock().contains(raw_id)
    }

    /// Registers a query. Returns false if the id is taken.
    pub(super) fn register(&self, raw_id: &str) -> bool {
        let mut all = self.0.lock();
        let is_new = !all.contains(raw_id);
        if is_new {
            all.insert(raw_id, CancelFlag::default());
        }
        is_new
    }

    /// Returns the query with this id.
    pub(super) fn get(self: &Arc<Self>, raw_id: &str) -> Option<ActiveQuery> {
        let cancel_flag = self.0.lock().get(raw_id)?.clone();
        Some(ActiveQuery { queries: Arc::clone(self), id: raw_id.to_owned(), cancel_flag })
    }

    /// Cancels the query with this id. Returns true if there is one.
    pub(super) fn cancel(&self, raw_id: &str) -> bool {
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

impl McpProcessor {
    /// Returns true if the message is a query, and registers it.
    pub(super) fn begin_query(&self, text: &str, envelope: &Envelope) -> bool {
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
    pub(super) fn refuse_query(&self, batch: &OwnedBatch) -> Vec<OutgoingMessage> {
        let Some(query) = self.active_query(batch) else { return Vec::new() };
        let fault = Fault::too_many_queries(MAX_CONCURRENT_QUERIES + MAX_WAITING_QUERIES);
        let answer = responses::tool_response(&query.id, &Reply::Fault(fault), StructuredForm::None, false);
        vec![OutgoingMessage::ToClient(answer.into_bytes())]
    }

    fn active_query(&self, batch: &OwnedBatch) -> Option<ActiveQuery> {
        self.active_queries.get(batch.single()?.raw_id(&batch.text))
    }
}
