//! One request and its response.

mod attempts;
mod received;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use http::header::{HeaderValue, IF_RANGE, LINK, ORIGIN, RANGE, USER_AGENT};
use http::uri::PathAndQuery;
use http::{HeaderMap, Method, Response, Uri};
use http_body::Body as HttpBody;
use portion_core::cursor::Scope;
use portion_core::error_code::ErrorCode;
use portion_core::paging::PagingArgument;
use portion_core::payload::Payload;
use portion_core::render::Portion;
use portion_core::view::Request;
use portion_gateway::call::{Call, Caller, Fault, Reply, ReuseKey};
use portion_gateway::paged_call::{FirstPage, PageSource, PagedCall};
use portion_gateway::session::ClientSession;
use portion_net::forwarding::restrict_accept_encoding;
use portion_net::link_header::{next_link, remove_links};
use portion_policy::endpoint::{Endpoint, EndpointKind, EndpointTarget};

use crate::body::{Body, BoxError, full};
use crate::controls::{SplitQuery, has_query};
use crate::media_type::prefers_html;
use crate::options::{CallerIdentity, ResponseTimeout, Shared};
use crate::own_address::{own_address, own_origin};
use crate::paging::{CONDITIONAL_FIELDS, HttpPages, PAGING_CONTROLS, Paging, paging_arguments, target_of};
use crate::response::{
    RequestTarget, add_header, fault_response, page_headers, portion_response, restate_page,
};
use crate::route::ResolvedRoute;
use crate::variant::{forbids_keeping, has_body, variant_of, varies_always, wants_fresh};
use received::Received;

/// Controls that may be the API's own parameters where nothing says which it has.
const API_CONTROLS: [&str; 5] = ["limit", "page", "offset", "sort", "fields"];
/// Those of them that select a page.
const POSITION_CONTROLS: [&str; 2] = ["page", "offset"];

/// A request, and what its response needs of it.
pub(crate) struct Exchange<'a> {
    shared: &'a Shared,
    method: Method,
    origin: Option<HeaderValue>,
    query: SplitQuery,
    target: RequestTarget,
    /// Origin of the request, for links that are URLs.
    own_origin: String,
    endpoint: Endpoint,
    caller: Caller,
    reuse_key: Option<ReuseKey>,
    /// Header fields of the request on which the response may depend.
    variant: String,
    /// True for the request of a browser for a page.
    prefers_html: bool,
    /// True if the request asks for a response that is not kept.
    wants_fresh: bool,
    /// Parameters of the request by which the API pages its results.
    paging_arguments: Arc<[PagingArgument]>,
    /// The same, where the query is sent as the client wrote it.
    own_paging_arguments: Arc<[PagingArgument]>,
    /// Paging of the endpoint, if the gateway fetches the pages of its lists.
    paging: Option<Paging>,
    /// Requests pages of lists.
    pages: Option<Arc<HttpPages>>,
    /// True if nothing says by which parameters the API pages its lists.
    has_unknown_paging: bool,
    /// Control that selects a page, and may be the API's own parameter.
    position_control: Option<&'static str>,
    /// Key of the endpoint among those whose pages are counted from 0, if the client counts so.
    zero_based_key: Option<String>,
    /// Size of a page that the request names.
    page_size: Option<u32>,
    /// Size of a page by which a client steps through the list, and that is larger than any.
    reduced_limit: Option<u64>,
    /// The query without controls that are not the API's.
    own_query: String,
    /// True if the parameter of queries is for the API.
    has_query_of_api: bool,
    /// Requests to make in turn, if the response before is worse.
    other_attempts: VecDeque<Arc<PagedCall>>,
}

impl<'a> Exchange<'a> {
    /// Reads the head of a request.
    pub(crate) fn new(shared: &'a Shared, head: &http::request::Parts) -> Self {
        let (method, path) = (head.method.clone(), head.uri.path().to_owned());
        let route = shared.route(&method, &path);
        let (mut caller, is_authenticated) = caller_of(shared, head, &route);
        let scope = caller.scope;
        let takes_controls = takes_controls(&caller, &method, &route);
        // What a body asks for is in neither the key of a result nor the request for a further page.
        let has_body = has_body(head);
        let found = Paging::of_endpoint(shared, &method, &caller, &route).filter(|_| !has_body);
        let sent_query = head.uri.query().unwrap_or_default();
        // A client that selects a page in another way walks the list itself, with the API's own parameters.
        let (bypassed, paging): (Option<Paging>, Option<Paging>) = match found {
            Some(found) if found.is_bypassed(sent_query) => (Some(found), None),
            found => (None, found),
        };
        let is_own = |name: &str| {
            route.owns_parameter(name) || bypassed.as_ref().is_some_and(|paging| paging.is_own(name))
        };
        let is_paging_control = |name: &str| paging.is_some() && PAGING_CONTROLS.contains(&name);
        let is_other = shared.is_of_other_portion(&scope, sent_query);
        let has_cursor_of_api = shared.has_cursor_of_api(&route, &method, &scope, sent_query);
        let control_names = &shared.options.control_names;
        let takes_any = route.knows_parameters() || caller.rule.controls(caller.shaping_mode) == Some(true);
        let is_of_api = |cursor: Option<&str>| shared.is_query_of_api(&scope, cursor);
        let takes_query = has_query(sent_query, control_names, (!takes_any).then_some(is_of_api));
        let has_query_of_api =
            !takes_query && has_query(sent_query, control_names, None::<fn(Option<&str>) -> bool>);
        let is_owned = |name: &str| {
            is_other
                || if name == "cursor" { has_cursor_of_api } else { !takes_controls }
                || (!takes_any && shared.has_other_form((&scope, sent_query), name))
                || (!takes_query && control_names.are_of_query(name))
                || is_own(name)
        };
        let names = (control_names, route.knows_parameters());
        let mut query = SplitQuery::new(sent_query, names, |parameter| {
            !is_paging_control(parameter) && is_owned(parameter)
        });
        // A member that led to the next page of the API leads to the next reply, whatever argument takes it.
        query.translate(|_, value| {
            shared.gateway.has_issued(&scope, value).then(|| ("cursor", value.to_owned()))
        });
        // The API has this parameter, by which the client steps, also from a page on that a parameter of the API selects.
        if query.has_only(&["limit"])
            && (shared.limit_endpoints.has(&route.endpoint_name) || query.selects_own_page())
        {
            query =
                SplitQuery::new(sent_query, names, |parameter| parameter == "limit" || is_owned(parameter));
        }
        // A cursor may be of such a list, too.
        let is_unknown = method == Method::GET
            && !has_body
            && !route.knows_parameters()
            && paging.is_none()
            && caller.shaping_mode.pass_through.is_none();
        let zero_based_key =
            if is_unknown { attempts::count_from_zero(shared, &scope, &route, &mut query) } else { None };
        let own_query = paging.as_ref().map(|paging| {
            SplitQuery::new(sent_query, names, |parameter| paging.is_own(parameter) || is_owned(parameter))
        });
        caller.query_tool = control_names.query().filter(|_| takes_controls).map(Arc::from);
        let policy = &caller.effective_policy.policy;
        let reduced_limit = paging.as_ref().and_then(|paging| paging.translate(&mut query, policy));
        caller.argument_names = query.names();
        let own_query = own_query.map_or_else(|| sent_query.to_owned(), |own| own.rest);
        let endpoint = endpoint_of(&route, &method);
        let variant = variant_of(&head.headers);
        let reuse_key =
            (endpoint.read_only && is_authenticated && !has_body && !forbids_keeping(&head.headers))
                .then(|| ReuseKey::new(&endpoint, &format!("{path}?{}{variant}", query.canonical_rest())));
        let position_control = POSITION_CONTROLS
            .into_iter()
            .find(|name| is_unknown && query.has_control(name) && control_names.listed(name) == Some(*name));
        let may_page = paging.is_some() || is_unknown;
        let pages = if may_page { HttpPages::for_request(shared, head, &caller) } else { None };
        caller.page_source = pages.clone().map(|pages| pages as Arc<dyn PageSource>);
        Self {
            shared,
            method,
            origin: head.headers.get(ORIGIN).cloned(),
            own_paging_arguments: paging_arguments(&route, &own_query),
            paging_arguments: paging_arguments(&route, &query.rest),
            target: RequestTarget { path, rest: query.rest.clone(), ..RequestTarget::default() },
            own_origin: own_origin(head),
            query,
            endpoint,
            caller,
            reuse_key,
            variant,
            prefers_html: prefers_html(&head.headers),
            wants_fresh: wants_fresh(&head.headers),
            paging,
            pages,
            has_unknown_paging: is_unknown,
            position_control,
            zero_based_key,
            page_size: None,
            reduced_limit,
            own_query,
            has_query_of_api,
            other_attempts: VecDeque::new(),
        }
    }

    /// Answers a request that the service need not see: one with a cursor, one with an invalid control, and one that
    /// continues an earlier equal request. Returns the controls of all others.
    ///
    /// # Errors
    /// Returns the response if the request is answered.
    pub(crate) async fn answer_without_service(&mut self) -> Result<Request, Box<Response<Body>>> {
        let gateway = &self.shared.gateway;
        // A cursor of the API's own selects one of its pages.
        let is_own_cursor = self.paging.as_ref().is_some_and(|paging| paging.has_cursor(&self.own_query));
        let is_ours = |cursor: &&str| !is_own_cursor || gateway.has_issued(&self.caller.scope, cursor);
        if let Some(cursor) = self.query.cursor().filter(is_ours) {
            let opened = gateway.open_cursor(self.caller.clone(), None, Some(cursor.to_owned())).await;
            let mut link = opened.upstream_link();
            if opened.has_whole_links() {
                self.target.origin.clone_from(&self.own_origin);
            }
            let reply = match self.query.parse(&opened.caller().effective_policy.policy) {
                _ if opened.endpoint().is_some_and(|of| !self.is_route_of(of)) => {
                    opened.refuse(Fault::cursor_invalid("it belongs to another path", Some(&self.endpoint)))
                }
                Ok(request) => {
                    link = link.filter(|_| request.is_next_page());
                    opened.answer(request).await
                }
                Err(error) => opened.refuse(error.into()),
            };
            let ends_page = matches!(&reply, Reply::Portion(portion) if portion.next_cursor().is_none());
            let mut response = self.local_response(reply);
            if let Some(link) = link.filter(|_| ends_page) {
                add_header(response.headers_mut(), "link", &format!("<{link}>; rel=\"next\""));
            }
            return Err(Box::new(response));
        }
        let mut request = match self.query.parse(&self.caller.effective_policy.policy) {
            Ok(request) => request,
            Err(error) => {
                let fault = self.reported(error.into());
                return Err(Box::new(self.local_response(Reply::Fault(fault))));
            }
        };
        if self.position_control.is_some() || self.paging.is_some() || request.fields.is_some() {
            request.limit = request.limit.or(self.own_page_size());
        }
        self.page_size = request.limit;
        // Pages that the client counts from 0 have other numbers.
        self.target.page = request.page.filter(|_| self.has_unknown_paging && self.zero_based_key.is_none());
        self.begin_paging(&mut request);
        if let Some(key) = self.reuse_key.as_ref().filter(|_| !self.wants_fresh && request.cursor.is_none())
            && (self.position_control.is_none() || !gateway.may_lack_items(&self.caller, key, &request).await)
            && let Some(reply) = gateway.answer_from_reuse(&self.caller, &self.endpoint, key, &request).await
            && !(self.position_control.is_some() && lacks_pages(&reply))
        {
            return Err(Box::new(self.local_response(self.unless_cut(reply, None))));
        }
        Ok(Request { cursor: None, ..request })
    }

    /// Returns true if all controls of the request may be parameters of the API.
    fn may_be_of_api(&self) -> bool {
        self.has_unknown_paging && self.query.has_only(&API_CONTROLS)
    }

    /// Returns true if a request with the method of an endpoint, for the path of this one, is for that endpoint.
    fn is_route_of(&self, endpoint: &Endpoint) -> bool {
        let method = endpoint.name.split(' ').next().and_then(|method| Method::try_from(method).ok());
        let named = |method| self.shared.route(&method, &self.target.path).endpoint_name;
        method.is_some_and(|method| named(method) == endpoint.name)
    }

    /// Removes from a request what is not for the service.
    pub(crate) fn prepare_request(&self, head: &mut http::request::Parts) {
        restrict_accept_encoding(&mut head.headers);
        if let Some(timeout) = self.caller.rule.config().request_timeout {
            head.extensions.insert(ResponseTimeout(timeout));
        }
        if self.redacts() {
            // Nothing can be redacted in a range of a document.
            head.headers.remove(RANGE);
            head.headers.remove(IF_RANGE);
        }
        let page = self.caller.paged_call.as_ref().and_then(|call| target_of(&call.first_arguments()));
        if page.is_none() && !self.query.has_controls() {
            return;
        }
        let path_and_query = match page {
            Some(target) => PathAndQuery::try_from(target),
            None if self.query.rest.is_empty() => PathAndQuery::try_from(self.target.path.as_str()),
            None => PathAndQuery::try_from(format!("{}?{}", self.target.path, self.query.rest)),
        };
        let mut uri = std::mem::take(&mut head.uri).into_parts();
        // Does not fail: both parts come from a valid URI.
        uri.path_and_query = path_and_query.ok().or(uri.path_and_query);
        head.uri = Uri::from_parts(uri).unwrap_or_default();
        // Conditions and ranges refer to another representation than the requested part.
        for name in CONDITIONAL_FIELDS {
            if matches!(self.method, Method::GET | Method::HEAD) {
                head.headers.remove(name);
            }
        }
    }

    /// Shapes the response of the service.
    pub(crate) async fn shape<B>(mut self, response: Response<B>, mut request: Request) -> Response<Body>
    where
        B: HttpBody<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let mut received = self.read(response).await;
        while self.is_worse(&received) && self.next_attempt() {
            received = match self.send_attempt().await {
                Ok(response) => self.read(response).await,
                Err(fault) => Err(Box::new(self.local_response(Reply::Fault(fault)))),
            };
            if matches!(&received, Ok(Received { payload, .. }) if !payload.is_error) {
                self.caller.rule.keep_own_page(&self.endpoint.name);
            }
        }
        let mut received = match received {
            Ok(received) => received,
            Err(response) => return *response,
        };
        if let Some(own) = self.with_own_limit(&received.payload, &mut request).await {
            received = own;
        }
        let Received { mut head, mut wire, payload } = received;
        if next_link(&head.headers).is_some_and(|link| link.contains("://")) {
            self.target.origin.clone_from(&self.own_origin);
        }
        let facts = page_headers(&head.headers);
        let states_page = !facts.is_empty() || head.headers.contains_key(LINK);
        let own_items = states_page.then(|| PagedCall::item_count(&payload)).flatten();
        if let (Some(key), Some(items)) = (self.reuse_key.filter(|_| !facts.is_empty()), own_items) {
            self.shared.record_page_headers((self.caller.scope, key), (items, facts));
        }
        self.shared.cursor_endpoints.record_cursors(&self.endpoint.name, &payload);
        // Controls apply to the result, not to an error or a redirect in its place.
        if payload.is_error || head.status.is_redirection() {
            request = Request { max_tokens: request.max_tokens, ..Request::default() };
        }
        let is_query = request.query.is_given();
        let mut reuse = self.reuse_key.filter(|_| !varies_always(&head.headers));
        if self.has_unknown_paging {
            let names_size = request.limit.is_some() || self.own_page_size().is_some();
            if let Some(call) = self.stated_call(&payload, &mut request).await {
                self.record_zero_based(&call);
                // Smaller pages than the usual ones are not those of an equal request without a size.
                let usual = self.caller.effective_policy.policy.default_page_size;
                reuse =
                    reuse.filter(|_| names_size || request.limit.is_none_or(|size| size as usize == usual));
                self.caller.paged_call = Some(Arc::new(call));
            } else if let Some(key) = reuse.filter(|_| self.position_control.is_some() && !self.wants_fresh)
                && let Some(reply) =
                    self.shared.gateway.answer_from_reuse(&self.caller, &self.endpoint, &key, &request).await
                && !lacks_pages(&reply)
            {
                return self.local_response(reply);
            }
        }
        let received = self.reduced_limit.and_then(|_| PagedCall::item_count(&payload));
        let mut reply = self.answer(payload, request.clone(), reuse).await;
        if let Some(own) = self.own_result(&reply, (&head, &wire)).await {
            (head, wire) = (own.head, own.wire);
            let request = Request { max_tokens: request.max_tokens, ..Request::default() };
            reply = self.answer(own.payload, request, None).await;
        }
        if self.has_query_of_api {
            self.shared.record_query_of_api(&self.caller.scope, &reply);
        }
        match self.unless_cut(reply, received) {
            Reply::Untouched => Response::from_parts(head, full(wire)),
            Reply::Portion(portion) => {
                let is_first = !is_query && !request.is_continuation();
                self.target.is_own_page =
                    is_first && own_items.is_some() && portion.served_count() == own_items;
                if !self.target.is_own_page {
                    let keeps_size = self.caller.paged_call.as_ref().is_some_and(|call| {
                        request
                            .limit
                            .is_some_and(|size| call.first == FirstPage::Plain { size: size as usize })
                    });
                    let page = self.target.page.filter(|_| !is_query);
                    restate_page(&mut head.headers, (page, keeps_size && !is_query), &portion);
                }
                if self.caller.paged_call.is_some() || is_query {
                    // The link of the API leads to a page that this list has already, or to another than an answer's.
                    remove_links(&mut head.headers, "next");
                }
                portion_response(&portion, self.metadata_style(), &self.target, Some(head))
            }
            Reply::Fault(fault) => self.local_response(Reply::Fault(fault)),
        }
    }

    async fn answer(&self, payload: Payload, request: Request, reuse: Option<ReuseKey>) -> Reply {
        let (caller, endpoint) = (self.caller.clone(), Some(self.endpoint.clone()));
        Box::pin(self.shared.gateway.answer(Call { caller, endpoint, payload, request, reuse })).await
    }

    /// Returns the response to a request that the service has not seen.
    fn local_response(&self, reply: Reply) -> Response<Body> {
        let mut response = match reply {
            Reply::Portion(portion) => {
                let mut response = portion_response(&portion, self.metadata_style(), &self.target, None);
                self.add_page_headers(response.headers_mut(), &portion);
                response
            }
            Reply::Fault(fault) => fault_response(&fault),
            // Only a fresh payload can pass as received.
            Reply::Untouched => fault_response(&Fault::upstream_invalid("nothing")),
        };
        self.shared.cors.apply(&self.endpoint.name, self.origin.as_ref(), response.headers_mut());
        if self.method == Method::HEAD {
            *response.body_mut() = full(Bytes::new());
        }
        response
    }

    /// Records a fault in place of a reply, and returns it.
    fn reported(&self, fault: Fault) -> Fault {
        self.shared.gateway.report_fault(fault, &self.caller, &Request::default(), &self.endpoint)
    }

    /// Adds the API's headers about a page to the reply from a kept result.
    fn add_page_headers(&self, headers: &mut HeaderMap, portion: &Portion) {
        let Some((page, key)) = self.target.page.zip(self.reuse_key) else { return };
        let first = self.shared.page_headers.lock().get(&(self.caller.scope, key)).cloned();
        let Some((items, mut facts)) = first else { return };
        if portion.total_count().is_some() {
            facts.remove("x-total-count");
        }
        restate_page(&mut facts, (Some(page), self.page_size == u32::try_from(items).ok()), portion);
        headers.extend(facts);
    }

    fn metadata_style(&self) -> portion_core::policy::MetadataStyle {
        self.caller.effective_policy.policy.render_options.metadata_style
    }
}

/// Returns the endpoint of a request with this method.
fn endpoint_of(route: &ResolvedRoute<'_>, method: &Method) -> Endpoint {
    let is_safe = matches!(*method, Method::GET | Method::HEAD);
    Endpoint {
        name: route.endpoint_name.clone(),
        kind: EndpointKind::Tool,
        read_only: is_safe,
        idempotent: is_safe || matches!(*method, Method::PUT | Method::DELETE),
    }
}

/// Returns the caller of a request, and true if it is authenticated.
fn caller_of(shared: &Shared, head: &http::request::Parts, route: &ResolvedRoute) -> (Caller, bool) {
    let rule = shared.gateway.rules().rule_for(EndpointTarget {
        upstream: shared.options.upstream.as_deref(),
        kind: EndpointKind::Tool,
        name: &route.endpoint_name,
    });
    let identified = head.extensions.get::<CallerIdentity>().copied();
    let CallerIdentity { scope, is_authenticated } =
        identified.unwrap_or_else(|| (shared.options.identify)(&head.headers));
    let mut caller = Caller::new(scope, session_of(scope, &head.headers), rule).over_http(&own_address(head));
    caller.owns_scope = is_authenticated;
    caller.upstream.clone_from(&shared.options.upstream);
    caller.received_at = Instant::now();
    (caller, is_authenticated)
}

/// Returns the session of a request, which is named after its client.
fn session_of(scope: Scope, headers: &HeaderMap) -> Arc<ClientSession> {
    let session = ClientSession::with_id(scope, "");
    let agent = headers.get(USER_AGENT).and_then(|agent| agent.to_str().ok());
    // The product without its version: `curl` of `curl/8.5.0`.
    session.set_client_name(agent.and_then(|agent| agent.split(['/', ' ']).next()).unwrap_or_default());
    session
}

/// Returns true if parameters with the names of controls are controls. A request that acts keeps all its parameters, unless it is
/// known that they are none of the API.
fn takes_controls(caller: &Caller, method: &Method, route: &ResolvedRoute) -> bool {
    let configured = caller.rule.controls(caller.shaping_mode);
    configured.unwrap_or_else(|| method.is_safe() || route.knows_parameters())
}

/// Returns true for the fault of a request for a page of a result that has none.
fn lacks_pages(reply: &Reply) -> bool {
    matches!(reply, Reply::Fault(fault) if fault.code == ErrorCode::PageInvalid)
}
