//! Requests with a cursor, which is verified and looked up once.

use std::sync::Arc;

use portion_core::cursor::{Position, SnapshotId};
use portion_core::view::Request;
use portion_policy::endpoint::Endpoint;

use crate::call::{Caller, Fault, Reply};
use crate::store::{Extent, StoredSnapshot};

use super::{Gateway, RequestContext};

/// A request with a cursor. It never reaches the upstream.
pub struct CursorCall<'g> {
    pub(super) gateway: &'g Gateway,
    pub(super) context: RequestContext,
    cursor: Option<String>,
    target: CursorTarget,
}

/// The snapshot and the position of a cursor.
pub(super) type CursorTarget = Result<(StoredSnapshot, Position), UnresolvedCursor>;

/// A cursor that could not be resolved, and what is known about its target, for the record.
#[derive(Debug)]
pub(super) struct UnresolvedCursor {
    pub(super) fault: Fault,
    pub(super) endpoint: Option<Arc<Endpoint>>,
    pub(super) origin_snapshot: Option<SnapshotId>,
}

impl Gateway {
    /// Resolves the cursor of a request. The caller gets the rule of the cursor's snapshot, against which its controls
    /// are parsed. `endpoint`: the called one, unless it is a built-in tool.
    pub async fn open_cursor(
        &self,
        caller: Caller,
        endpoint: Option<Endpoint>,
        cursor: Option<String>,
    ) -> CursorCall<'_> {
        let mut context = RequestContext::for_follow_up(caller, endpoint, self.now());
        let endpoint = context.endpoint.as_deref();
        let target = self.look_up_cursor(&context.caller, endpoint, cursor.as_deref(), Extent::Page).await;
        if let Ok((stored, _)) = &target {
            context.caller = self.with_snapshot_rule(context.caller, stored);
        }
        CursorCall { gateway: self, context, cursor, target }
    }
}

impl CursorCall<'_> {
    /// Returns the caller, under the rule of the snapshot.
    pub fn caller(&self) -> &Caller {
        &self.context.caller
    }

    /// Returns the endpoint of the result that the cursor leads to, if both are known.
    pub fn endpoint(&self) -> Option<&Endpoint> {
        self.target.as_ref().ok().and_then(|(stored, _)| stored.endpoint.as_deref())
    }

    /// Returns the URL of the upstream's next page, if the transport named it, and no list is fetched page by page.
    pub fn upstream_link(&self) -> Option<String> {
        let (stored, _) = self.target.as_ref().ok()?;
        let page = stored.snapshot.transport_page().filter(|_| stored.snapshot.upstream_list().is_none())?;
        page.next_link().map(str::to_owned)
    }

    /// Returns true if the transport named the upstream's next page by a whole URL.
    pub fn has_whole_links(&self) -> bool {
        let page = self.target.as_ref().ok().and_then(|(stored, _)| stored.snapshot.transport_page());
        page.and_then(|page| page.next_link()).is_some_and(|link| link.contains("://"))
    }

    /// Returns a fault as the reply, because the rest of the request is invalid. The record names the source of the
    /// snapshot if it is known, else the called endpoint.
    pub fn refuse(self, fault: Fault) -> Reply {
        let request = Request { cursor: self.cursor, ..Request::default() };
        let (endpoint, origin) = match self.target {
            Ok((stored, _)) => (stored.endpoint, Some(stored.origin_snapshot)),
            Err(unresolved) => (unresolved.endpoint, unresolved.origin_snapshot),
        };
        let context = self.context.with_source(endpoint, origin);
        self.gateway.fault_reply(fault, &request, context.request_info())
    }

    /// Returns the target with the extent that a request needs, and the context with the source of the snapshot.
    ///
    /// # Errors
    /// Returns the reply if the cursor is not resolved, or its snapshot cannot be read whole.
    pub(super) async fn into_target(
        self,
        request: &Request,
        extent: Extent,
    ) -> Result<(RequestContext, StoredSnapshot, Position), Reply> {
        let Self { gateway, context, target, .. } = self;
        let (mut stored, position) = match target {
            Ok(target) => target,
            Err(unresolved) => return Err(gateway.unresolved_cursor_reply(unresolved, context, request)),
        };
        let context = context.with_source(stored.endpoint.clone(), Some(stored.origin_snapshot));
        if extent == Extent::Whole
            && let Err(fault) = gateway.read_missing_blocks(&context, &mut stored).await
        {
            return Err(gateway.fault_reply(fault, request, context.request_info()));
        }
        Ok((context, stored, position))
    }
}
