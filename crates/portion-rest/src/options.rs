//! Options of a layer, and the state that its services share.

use std::collections::{HashMap, HashSet};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, Method, Request, Response};
use parking_lot::Mutex;
use portion_core::cursor::{CursorToken, Scope, SnapshotId};
use portion_core::payload::{Block, Content, Payload};
use portion_core::view::ControlNames;
use portion_gateway::call::{Reply, ReuseKey};
use portion_gateway::gateway::{Gateway, NestedPortion};
use portion_gateway::gateway_parts::random_secret;
use portion_gateway::principal::{DEFAULT_PRINCIPAL_HEADERS, Principal, PrincipalResolver};
use portion_policy::endpoint::{EndpointKind, EndpointTarget};

use crate::body::{Body, BoxError};
use crate::controls::SplitQuery;
use crate::cors::CorsMemory;
use crate::route::{ResolvedRoute, RouteTable};

/// Largest response of the service by default, in bytes.
const DEFAULT_MAX_RESPONSE_BYTES: usize = 256 << 20;

/// Caller of a request. A service in front of the layer that authenticates callers inserts it into the extensions of a
/// request; other callers are identified by [`HttpOptions::identify`].
#[derive(Clone, Copy, Debug)]
pub struct CallerIdentity {
    /// Scope that owns the snapshots of the caller.
    pub scope: Scope,
    /// True if the scope belongs to one caller alone. Otherwise nothing is reused without a cursor, and a cursor is a
    /// bearer secret of the caller that received it.
    pub is_authenticated: bool,
}

/// Identifies the caller of a request by its headers.
pub type IdentifyCaller = Arc<dyn Fn(&HeaderMap) -> CallerIdentity + Send + Sync>;

/// Response to a request for a page.
pub type PageResponse = Pin<Box<dyn Future<Output = Result<Response<Body>, BoxError>> + Send>>;

/// Sends a request for a further page to the API.
pub type SendPageRequest = Arc<dyn Fn(Request<Body>) -> PageResponse + Send + Sync>;

/// Options of a [`PortionLayer`](crate::PortionLayer).
#[derive(Clone)]
pub struct HttpOptions {
    /// Known operations of the API.
    pub routes: RouteTable,
    /// Largest response in bytes; a larger one becomes an error.
    pub max_response_bytes: usize,
    /// Name of the upstream in records and rules, if there are several.
    pub upstream: Option<Arc<str>>,
    /// Names of the controls among query parameters.
    pub control_names: ControlNames,
    /// Identifies callers.
    pub identify: IdentifyCaller,
    /// Sends requests for further pages of endpoints with a pushdown. Without it, a pushdown has no effect.
    pub send_page_request: Option<SendPageRequest>,
}

/// State of all clones of a layer.
pub(crate) struct Shared {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) options: HttpOptions,
    pub(crate) cors: CorsMemory,
    /// Another Portion between this one and the service.
    pub(crate) nested_portion: NestedPortion,
    /// Endpoints whose responses have cursors of the API: a `cursor` that the gateway did not issue is for the API.
    pub(crate) cursor_endpoints: EndpointSet,
    /// Endpoints whose API has a parameter `limit`, as a response to it has shown.
    pub(crate) limit_endpoints: EndpointSet,
    /// Endpoints, each with a caller, whose pages are counted from 0.
    pub(crate) zero_based_endpoints: EndpointSet,
    /// Items of the API's first page and its headers about that, by caller and request: a reply from the kept result has none.
    pub(crate) page_headers: Mutex<HashMap<(Scope, ReuseKey), (usize, HeaderMap)>>,
    /// Results of requests with a text to find that was for the API: those for further pages repeat it.
    pub(crate) results_of_queries: Mutex<HashSet<SnapshotId>>,
}

/// Endpoints that something is known of.
#[derive(Debug, Default)]
pub(crate) struct EndpointSet(Mutex<HashSet<String>>);

impl EndpointSet {
    /// Records the response of an endpoint, if it has a member for cursors.
    pub(crate) fn record_cursors(&self, endpoint: &str, response: &Payload) {
        let has_cursor = |block: &Block| match &block.content {
            Content::Text(text) => text.contains("cursor\"") || text.contains("Cursor\""),
            _ => false,
        };
        if !self.has(endpoint) && response.blocks.iter().any(has_cursor) {
            self.insert(endpoint.to_owned());
        }
    }

    /// Adds an endpoint. If there are too many, all others are forgotten.
    pub(crate) fn insert(&self, endpoint: String) {
        let mut known = self.0.lock();
        if known.len() >= MAX_ENDPOINTS {
            known.clear();
        }
        known.insert(endpoint);
    }

    /// Returns true if the set has the endpoint.
    pub(crate) fn has(&self, endpoint: &str) -> bool {
        self.0.lock().contains(endpoint)
    }
}

/// Most endpoints that are remembered.
const MAX_ENDPOINTS: usize = 10_000;

impl Shared {
    /// Finds the endpoint of a request.
    pub(crate) fn route(&self, method: &Method, path: &str) -> ResolvedRoute<'_> {
        self.options.routes.resolve(method, path, |own, general| {
            let target = EndpointTarget {
                upstream: self.options.upstream.as_deref(),
                kind: EndpointKind::Tool,
                name: own,
            };
            self.gateway.rules().has_rule_of_path(target, general)
        })
    }

    /// Remembers the headers about the first page of the API. If there are too many, all others are forgotten.
    pub(crate) fn record_page_headers(&self, key: (Scope, ReuseKey), first: (usize, HeaderMap)) {
        let mut known = self.page_headers.lock();
        if known.len() >= MAX_ENDPOINTS {
            known.clear();
        }
        known.insert(key, first);
    }

    /// Returns true if the value of a control that selects a page has not the form of Portion's: an offset that is no number, a
    /// cursor without letters. Then it is the API's, if its parameters are not known.
    pub(crate) fn has_other_form(&self, (scope, query): (&Scope, &str), control: &str) -> bool {
        let has = |is_meant: &dyn Fn(&str) -> bool| {
            let split = SplitQuery::new(query, (&self.options.control_names, false), |_| false);
            split
                .value(control)
                .is_some_and(|value| is_meant(value) && !self.gateway.has_issued(scope, value))
        };
        match control {
            "cursor" => has(&|cursor| !cursor.is_empty() && !cursor.contains(|c: char| c.is_alphabetic())),
            "page" | "offset" => has(&|number| number.parse::<u64>().is_err()),
            _ => false,
        }
    }

    /// Returns true if a query has a cursor that the API issued: to a request that acts, or to one whose responses have some.
    pub(crate) fn has_cursor_of_api(
        &self,
        route: &ResolvedRoute,
        method: &Method,
        scope: &Scope,
        query: &str,
    ) -> bool {
        !route.knows_parameters()
            && (!method.is_safe() || self.cursor_endpoints.has(&route.endpoint_name))
            && self.has_cursor(query, |cursor| !self.gateway.has_issued(scope, cursor))
    }

    /// Returns true if a text in the parameter of queries is for the API: without a cursor, or beside that of a result for which it
    /// was sent to the API.
    pub(crate) fn is_query_of_api(&self, scope: &Scope, cursor: Option<&str>) -> bool {
        let is_known = |id: &SnapshotId| self.results_of_queries.lock().contains(id);
        cursor.is_none_or(|cursor| self.gateway.snapshot_of(scope, cursor).is_some_and(|id| is_known(&id)))
    }

    /// Remembers the result of a request with a text that was for the API. If there are too many, all others are forgotten.
    pub(crate) fn record_query_of_api(&self, scope: &Scope, reply: &Reply) {
        let Reply::Portion(portion) = reply else { return };
        let cursor = portion.start_cursor().map(CursorToken::as_str);
        if let Some(id) = cursor.and_then(|cursor| self.gateway.snapshot_of(scope, cursor)) {
            let mut known = self.results_of_queries.lock();
            if known.len() >= MAX_ENDPOINTS {
                known.clear();
            }
            known.insert(id);
        }
    }

    /// Returns true if a query has the cursor of another Portion, between this one and the service.
    pub(crate) fn is_of_other_portion(&self, scope: &Scope, query: &str) -> bool {
        self.has_cursor(query, |cursor| self.nested_portion.owns(&self.gateway, scope, cursor))
    }

    /// Returns true if a query has such a cursor.
    fn has_cursor(&self, query: &str, is_meant: impl Fn(&str) -> bool) -> bool {
        let split = SplitQuery::new(query, (&self.options.control_names, false), |_| false);
        split.cursor().is_some_and(is_meant)
    }
}

/// Longest silence before the head of a response. The layer adds it to the extensions of a request.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(
    not(feature = "reverse-proxy"),
    expect(dead_code, reason = "only the reverse proxy waits for a server")
)]
pub(crate) struct ResponseTimeout(pub(crate) Duration);

/// Returns a function that identifies callers by their credentials, under a random key.
fn identify_by_credentials() -> impl Fn(&HeaderMap) -> CallerIdentity + Send + Sync {
    // Without randomness, nobody is known, and nothing is shared.
    let resolver =
        random_secret().ok().map(|key| PrincipalResolver::new(key, DEFAULT_PRINCIPAL_HEADERS.to_vec()));
    move |headers| match &resolver {
        Some(resolver) => CallerIdentity::from(&resolver.identify("", None, headers)),
        None => CallerIdentity { scope: Scope::from_principal(""), is_authenticated: false },
    }
}

impl From<&Principal> for CallerIdentity {
    fn from(principal: &Principal) -> Self {
        Self { scope: principal.sessionless_scope, is_authenticated: principal.has_credential }
    }
}

impl Default for HttpOptions {
    /// No known routes, responses of at most 256 MiB, and callers identified by their credentials.
    fn default() -> Self {
        Self {
            routes: RouteTable::default(),
            max_response_bytes: DEFAULT_MAX_RESPONSE_BYTES,
            upstream: None,
            control_names: ControlNames::default(),
            identify: Arc::new(identify_by_credentials()),
            send_page_request: None,
        }
    }
}
