//! Answers requests with a cursor, which never need the server.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use portion_core::view::Request;
use portion_gateway::call::{Caller, Fault, Reply, SnapshotQuery};
use portion_gateway::gateway::{CursorCall, Gateway};
use portion_policy::endpoint::{Endpoint, EndpointKind};

use super::super::read_uri;
use super::super::result::ResultShape;
use super::McpProcessor;
use super::caller_identity::CallerIdentity;

impl McpProcessor {
    /// Answers `resources/read` for a URI of the gateway. `uri`: the URI without its prefix.
    pub(super) async fn read_own_resource(&self, who: CallerIdentity, uri: &str) -> Reply {
        let caller = Caller { read_uri: ResultShape::Resource.read_uri_prefix(), ..self.caller(who, None) };
        let opened = self.gateway.open_cursor(caller, None, Some(read_uri::parse_cursor(uri))).await;
        match read_uri::parse(uri, &opened.caller().effective_policy.policy) {
            Ok(request) => self.answer_at_cursor(opened, request, None).await,
            Err(error) => opened.refuse(error.into()),
        }
    }

    /// Returns true if a read URI probably belongs to another Portion, behind this one. `uri`: the URI without its prefix.
    pub(super) fn is_of_other_portion(&self, uri: &str) -> bool {
        self.is_before_portion.load(Ordering::Relaxed)
            && !self.gateway.has_issued(&self.scope, &read_uri::parse_cursor(uri))
    }

    /// Answers a request with a cursor, or a query on its content. An expired cursor is described with the endpoint as
    /// known now.
    pub(super) async fn answer_at_cursor(
        &self,
        opened: CursorCall<'_>,
        request: Request,
        query: Option<SnapshotQuery>,
    ) -> Reply {
        let (policy, max_tokens) = (Arc::clone(&opened.caller().effective_policy), request.max_tokens);
        let reply = match query {
            None => opened.answer(request).await,
            Some(query) => opened.query(request, query).await,
        };
        match &reply {
            Reply::Fault(Fault { expired_call: Some(lost), .. }) => {
                let Some(informed) = self.updated_endpoint(&lost.endpoint) else { return reply };
                let fault = Fault::cursor_expired(Some(&informed), lost.arguments.as_ref());
                Gateway::refit_fault(fault, &policy, max_tokens)
            }
            _ => reply,
        }
    }

    /// Returns the endpoint with current annotations, if they have changed since the call.
    fn updated_endpoint(&self, endpoint: &Endpoint) -> Option<Endpoint> {
        let server_info = self.server_info();
        let tool =
            server_info.catalog.tool(&endpoint.name).filter(|_| endpoint.kind == EndpointKind::Tool)?;
        let informed =
            Endpoint { read_only: tool.read_only, idempotent: tool.idempotent, ..endpoint.clone() };
        (informed != *endpoint).then_some(informed)
    }
}
