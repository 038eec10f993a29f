//! Running queries of a session, and their cancellation.
//!
//! A query is registered as soon as its message is read, so that it can be cancelled while it is queued.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use portion_gateway::call::Fault;
use portion_gateway::query_limiter::{CancelFlag, MAX_CONCURRENT_QUERIES, MAX_WAITING_QUERIES};

use super::super::envelope::{MessageOrBatch, decode_line, parse};
use super::super::owned_batch::OwnedBatch;
use super::super::request_id_map::RequestIdMap;
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
        self.lock().contains(raw_id)
    }

    /// Registers a query. Returns false if the id is taken.
    pub(super) fn register(&self, raw_id: &str) -> bool {
        let mut all = self.lock();
        let is_new = !all.contains(raw_id);
        if is_new {
            all.insert(raw_id, CancelFlag::default());
        }
        is_new
    }

    /// Returns the query with this id.
    pub(super) fn get(self: &Arc<Self>, raw_id: &str) -> Option<ActiveQuery> {
        let cancel_flag = self.lock().get(raw_id)?.clone();
        Some(ActiveQuery { queries: Arc::clone(self), id: raw_id.to_owned(), cancel_flag })
    }

    /// Cancels the query with this id. Returns true if there is one.
    pub(super) fn cancel(&self, raw_id: &str) -> bool {
        let all = self.lock();
        let cancel_flag = all.get(raw_id);
        cancel_flag.inspect(|cancel_flag| cancel_flag.cancel()).is_some()
    }

    fn lock(&self) -> MutexGuard<'_, RequestIdMap<CancelFlag>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ActiveQuery {
    fn drop(&mut self) {
        self.queries.lock().take(&self.id);
    }
}

impl McpProcessor {
    /// Answers a registered query; returns nothing if it was cancelled.
    pub(super) async fn process_query(&self, line: Vec<u8>) -> Vec<OutgoingMessage> {
        match self.active_query(&line) {
            Some(query) if query.cancel_flag.is_cancelled() => Vec::new(),
            Some(query) => self.process_client_line(line, Some(&query.cancel_flag)).await,
            None => self.process_client_line(line, None).await,
        }
    }

    /// Answers a registered query that is parsed already; returns nothing if it was cancelled.
    pub(super) async fn process_parsed_query(&self, batch: OwnedBatch) -> Vec<OutgoingMessage> {
        let query =
            batch.single().and_then(|envelope| self.active_queries.get(envelope.raw_id(batch.text())));
        match query {
            Some(query) if query.cancel_flag.is_cancelled() => Vec::new(),
            Some(query) => self.process_parsed(batch, Some(&query.cancel_flag)).await,
            None => self.process_parsed(batch, None).await,
        }
    }

    /// Refuses a query because too many are queued.
    pub(super) fn refuse_query(&self, line: &[u8]) -> Vec<OutgoingMessage> {
        let Some(query) = self.active_query(line) else { return Vec::new() };
        let answer = responses::tool_response(
            &query.id,
            &portion_gateway::call::Reply::Fault(too_many_queries()),
            false,
            false,
        );
        vec![OutgoingMessage::ToClient(answer.into_bytes())]
    }

    fn active_query(&self, line: &[u8]) -> Option<ActiveQuery> {
        let (text, _) = decode_line(line);
        let Ok(MessageOrBatch::Single(envelope)) = parse(&text) else { return None };
        self.active_queries.get(envelope.raw_id(&text))
    }
}

/// Returns the fault for too many queries in a session.
fn too_many_queries() -> Fault {
    Fault::too_many_queries(MAX_CONCURRENT_QUERIES + MAX_WAITING_QUERIES)
}
