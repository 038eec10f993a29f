//! Joins the pages of the server's list of tools: clients get one list, because many read only its first page.
//!
//! The first page answers the client's own request. It is kept until the gateway has requested the others. The gateway's own
//! list, which it needs to tell controls from arguments of tools, is read in the same way.

use std::collections::HashSet;
use std::sync::atomic::Ordering;
use std::time::Duration;

use portion_json::scan::quote;
use portion_json::span::Span;
use portion_policy::client::{ClientProfile, MAX_TOOL_LIMIT};
use portion_policy::endpoint::EndpointKind;

use super::super::catalog::{ToolCatalog, ToolOwner, state_result_limit, tool_sequence};
use super::super::envelope::{Envelope, MessageOrBatch, parse};
use super::super::member_limits::strip_reserved_of_result;
use super::super::walk::{self, Member, Splice};
use super::McpProcessor;
use super::pending::{ClientList, PendingKind, PendingRequest, PendingRequests, ToolListing};
use super::reshape::MessageEdit;
use super::upstream::is_complete_result;
use crate::message_processor::OutgoingMessage;

/// Time for the gateway's own list, on which calls wait.
const OWN_LIST_TIMEOUT: Duration = Duration::from_secs(30);
/// Time for the further pages of a client's list: some clients give a server 10 seconds to start and list its tools.
const CLIENT_LIST_TIMEOUT: Duration = Duration::from_secs(8);
impl McpProcessor {
    /// Processes the first page of a client's list. Returns the request for the next page, if there is one; otherwise the
    /// response is edited.
    pub(super) fn begin_tool_list(
        &self,
        edit: &mut MessageEdit<'_, '_>,
        meta: &str,
        client: Option<&'static ClientProfile>,
    ) -> Option<OutgoingMessage> {
        let (text, envelope) = (edit.text, edit.envelope);
        let result = envelope.result.filter(|result| is_complete_result(text, *result))?;
        tool_sequence(text, result)?;
        let mut splice = Splice::new(text);
        let next = self.add_tools(&mut splice, text, result);
        if self.relays_tool_list() {
            if next.is_none() {
                self.server_info.lock().edit_catalog(ToolCatalog::complete);
            }
            return None;
        }
        strip_reserved_of_result(text, result, &mut splice);
        self.limit_unknown_members(text, &envelope, &mut splice);
        let response = splice.apply_within(envelope.span);
        let list = ClientList { bytes: response.len(), response, further: Vec::new(), client };
        let listing = ToolListing::new(meta.to_owned(), Some(Box::new(list)));
        match self.request_next_page(listing, next.as_deref()) {
            Ok(request) => Some(request),
            Err(ended) => {
                let list = ended.client.map(|list| self.end_client_list(&list)).unwrap_or_default();
                edit.splice.replace(envelope.span, list);
                None
            }
        }
    }

    /// Processes a page that the gateway requested. Returns the request for the next page, or what follows from the end of
    /// the list.
    pub(super) async fn continue_tool_list(
        &self,
        text: &str,
        envelope: &Envelope,
        mut listing: ToolListing,
    ) -> Vec<OutgoingMessage> {
        let result = envelope.result.filter(|result| is_complete_result(text, *result));
        let page = result.and_then(|result| Some((result, tool_sequence(text, result)?)));
        let mut next = None;
        if let Some((result, tools)) = page {
            let mut splice = Splice::new(text);
            next = self.add_tools(&mut splice, text, result);
            if let Some(list) = &mut listing.client {
                let listed = splice.apply_within(tools.span);
                let items = walk::items(&listed, walk::document_span(&listed));
                list.further.extend(items.iter().map(|item| item.slice(&listed).to_owned()));
                list.bytes += listed.len();
            }
        } else {
            tracing::warn!("the server did not send a page of its tools; Portion uses those listed so far");
        }
        let ended = match self.request_next_page(listing, next.as_deref()) {
            Ok(request) => return vec![request],
            Err(ended) => ended,
        };
        if let Some(list) = &ended.client {
            return vec![OutgoingMessage::ToClient(self.end_client_list(list).into_bytes())];
        }
        self.server_info.lock().edit_catalog(ToolCatalog::complete);
        self.release_queued_calls().await
    }

    /// Builds the gateway's request for a page of tools.
    pub(super) fn request_tool_list(
        &self,
        pending: &mut PendingRequests,
        mut listing: ToolListing,
        cursor: Option<&str>,
    ) -> OutgoingMessage {
        let (id, meta, now) = (pending.new_internal_id(), &listing.meta, self.gateway.now());
        let mut params = Vec::new();
        params.extend(cursor.map(|cursor| format!("\"cursor\":{}", quote(cursor))));
        params.extend((!meta.is_empty()).then(|| format!("\"_meta\":{{{meta}}}")));
        let params =
            if params.is_empty() { String::new() } else { format!(",\"params\":{{{}}}", params.join(",")) };
        let request = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/list\"{params}}}");
        let time = if listing.client.is_some() { CLIENT_LIST_TIMEOUT } else { OWN_LIST_TIMEOUT };
        let deadline = *listing.deadline.get_or_insert(now + time);
        let timer = Some(self.timeouts.start(deadline.saturating_duration_since(now), None, now));
        let kind = PendingKind::ToolList(listing);
        if pending.add(PendingRequest { id, is_stateless: false, kind, timer }, now) {
            self.deadline_changed.notify_one();
        }
        OutgoingMessage::InternalRequest(request.into_bytes())
    }

    /// Ends a list whose next page was not sent in time. Returns the client's response; if the list is the gateway's own,
    /// the queued calls are due.
    pub(super) fn end_late_tool_list(&self, listing: &ToolListing) -> Option<OutgoingMessage> {
        tracing::warn!("the server did not list its tools in time; Portion uses those listed so far");
        let Some(list) = &listing.client else {
            self.server_info.lock().edit_catalog(ToolCatalog::complete);
            self.releases_queue.store(true, Ordering::Relaxed);
            return None;
        };
        Some(OutgoingMessage::ToClient(self.end_client_list(list).into_bytes()))
    }

    /// Returns the response with the pages of a client's list as one list.
    pub(super) fn end_client_list(&self, list: &ClientList) -> String {
        let builtin = self.server_info.lock().edit_catalog(ToolCatalog::complete);
        let text = list.response.as_str();
        let Ok(MessageOrBatch::Single(envelope)) = parse(text) else { return text.to_owned() };
        let result = envelope.result.unwrap_or_default();
        let tools = tool_sequence(text, result).unwrap_or_default();
        let mut listed: HashSet<String> =
            tools.items.iter().filter_map(|tool| walk::string_member(text, *tool, "name")).collect();
        // The pages of some servers overlap.
        let is_new = |tool: &&String| {
            let name = walk::string_member(tool, walk::document_span(tool), "name");
            name.is_none_or(|name| listed.insert(name))
        };
        let added: Vec<String> = list.further.iter().filter(is_new).cloned().chain(builtin).collect();
        let mut splice = Splice::new(text);
        splice.append(&tools, &added);
        let members = walk::members(text, result);
        let is_kept = |member: &Member| !walk::string_equals(member.key.slice(text), "nextCursor");
        splice.retain_members(result, &members, is_kept);
        self.with_result_limits(splice.apply(), list.client)
    }

    /// Returns a response with a list of tools in which each tool states its largest result, if the client applies such
    /// limits: it shows a result below them whole.
    pub(super) fn with_result_limits(
        &self,
        response: String,
        client: Option<&'static ClientProfile>,
    ) -> String {
        if !client.is_some_and(|client| client.honours_tool_limits) {
            return response;
        }
        let text = response.as_str();
        let Ok(MessageOrBatch::Single(Envelope { result: Some(result), .. })) = parse(text) else {
            return response;
        };
        let rules = self.gateway.rules();
        let mut splice = Splice::new(text);
        for tool in tool_sequence(text, result).unwrap_or_default().items {
            let Some(name) = walk::string_member(text, tool, "name") else { continue };
            let rule = rules.rule_for(self.target(EndpointKind::Tool, &name));
            let limit = match self.tool_owner(&name) {
                ToolOwner::Builtin(_) => rule.largest_reply_bytes(None),
                _ => rule.policy_for_client(None).policy.hard_byte_limit,
            };
            state_result_limit(&mut splice, text, tool, limit.min(MAX_TOOL_LIMIT));
        }
        splice.apply()
    }

    /// Adds a page of tools to the catalog. Returns the cursor of the next page.
    fn add_tools(&self, splice: &mut Splice<'_>, text: &str, result: Span) -> Option<String> {
        let rules = self.gateway.rules();
        let offer = |name: &str| self.listing_policy(&rules, name);
        self.server_info.lock().edit_catalog(|catalog| catalog.add_page(splice, text, result, &offer))
    }

    /// Requests the next page of a list.
    ///
    /// # Errors
    /// Returns the list if there is no further page, or if it has reached a limit.
    fn request_next_page(
        &self,
        mut listing: ToolListing,
        cursor: Option<&str>,
    ) -> Result<OutgoingMessage, Box<ToolListing>> {
        let Some(next) = cursor else { return Err(Box::new(listing)) };
        if let Err(reason) = listing.follow(next, self.max_server_message_bytes, self.gateway.now()) {
            // Most servers that send an empty cursor mean the end.
            if !next.is_empty() {
                tracing::warn!(
                    reason,
                    "the server's list of tools does not end; Portion uses those listed so far"
                );
            }
            return Err(Box::new(listing));
        }
        Ok(self.request_tool_list(&mut self.pending_requests.lock(), listing, cursor))
    }
}
