//! Answers requests with a cursor, which never need the server.

use std::sync::Arc;

use portion_core::view::Request;
use portion_gateway::call::{Call, Caller, Fault, Intent, Reply};
use portion_gateway::gateway::Gateway;
use portion_policy::endpoint::{Endpoint, EndpointKind};

use super::super::read_uri;
use super::super::result::ResultShape;
use super::McpProcessor;
use super::caller_identity::CallerIdentity;

impl McpProcessor {
    /// Answers `resources/read` for a URI of the gateway. `uri`: the URI without its prefix.
    pub(super) async fn read_own_resource(&self, who: CallerIdentity, uri: &str) -> Reply {
        let cursor = Some(read_uri::parse_cursor(uri));
        let caller = self.follow_up_caller(who, cursor.as_deref()).await;
        match read_uri::parse(uri, &caller.effective_policy.policy) {
            Ok(request) => self.answer_follow_up(caller, None, ResultShape::Resource, request).await,
            Err(error) => self.gateway.fault_reply_for_cursor(error.into(), caller, None, cursor).await,
        }
    }

    /// Answers a request with a cursor, as a result of the given shape.
    pub(super) async fn answer_follow_up(
        &self,
        caller: Caller,
        endpoint: Option<Endpoint>,
        shape: ResultShape,
        request: Request,
    ) -> Reply {
        let caller = Caller { read_uri: shape.read_uri_prefix(), ..caller };
        let intent = Intent::FollowUp { request: request.clone() };
        self.answer_locally(caller, endpoint, &request, intent).await
    }

    /// Answers a request that never needs the upstream. An expired cursor is described with the endpoint as
    /// known now.
    pub(super) async fn answer_locally(
        &self,
        caller: Caller,
        endpoint: Option<Endpoint>,
        request: &Request,
        intent: Intent,
    ) -> Reply {
        let effective_policy = Arc::clone(&caller.effective_policy);
        let reply = self.gateway.answer(Call { caller, endpoint, intent }).await;
        match &reply {
            Reply::Fault(Fault { expired_call: Some(lost), .. }) => {
                let Some(informed) = self.updated_endpoint(&lost.endpoint) else { return reply };
                let fault = Fault::cursor_expired(Some(&informed), lost.arguments.as_ref());
                Gateway::refit_fault(fault, &effective_policy, request)
            }
            _ => reply,
        }
    }

    /// Returns the caller of a follow-up, with the policy from the time of the capture.
    pub(super) async fn follow_up_caller(&self, who: CallerIdentity, cursor: Option<&str>) -> Caller {
        let caller = self.caller(who, None);
        match cursor {
            Some(cursor) => self.gateway.caller_for_cursor(caller, cursor).await,
            None => caller,
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
