//! One request and its response.

mod own_offset;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue, IF_RANGE, LINK, ORIGIN, RANGE, USER_AGENT};
use http::uri::PathAndQuery;
use http::{HeaderMap, Method, Response, StatusCode, Uri};
use portion_core::cursor::Scope;
use portion_core::error_code::ErrorCode;
use portion_core::paging::{PagingArgument, PagingRole};
use portion_core::payload::Payload;
use portion_core::view::Request;
use portion_gateway::call::{Call, Caller, Fault, Reply, ReuseKey};
use portion_gateway::paged_call::{FirstPage, PageError, PageSource, PagedCall, with_argument};
use portion_gateway::session::ClientSession;
use portion_json::scan::quote;
use portion_net::accept_encoding::restrict_accept_encoding;
use portion_policy::endpoint::{Endpoint, EndpointKind};
use portion_policy::policy_source::EndpointTarget;
use portion_policy::pushdown::PagingStyle;

use crate::body::{
    self, Body, BoxError, ReadBodyError, ReadLimits, StreamStart, full, may_have_body, prefixed, streamed,
};
use crate::controls::{SplitQuery, has_query};
use crate::media_type::BodyForm;
use crate::options::{CallerIdentity, Shared};
use crate::own_address::own_address;
use crate::paging::{
    CONDITIONAL_FIELDS, HttpPages, PAGING_CONTROLS, Paging, base_arguments, paging_arguments, rate_limited,
    target_of, value_of,
};
use crate::payload::payload_of;
use crate::response::{
    CURSOR_HEADER, NOT_CACHED, OwnError, RequestTarget, fault_response, portion_response,
    remove_representation_headers, timeout_fault,
};
use crate::response_timeout::ResponseTimeout;
use crate::variant::{forbids_keeping, has_body, variant_of, varies_always, wants_fresh};
use http_body::Body as HttpBody;
use own_offset::OFFSET;

/// Message and advice for responses in which nothing can be redacted.
const CODING_FAULT: (&str, &str) = (
    "the API sent a content coding that Portion does not decode, so that nothing in it could be redacted",
    "let the API send gzip, deflate, br or no coding",
);
const RANGE_FAULT: (&str, &str) = (
    "the API sent a range of a document, so that nothing in it could be redacted",
    "let the API send the document whole",
);

/// A request, and what its response needs of it.
pub(crate) struct Exchange<'a> {
    shared: &'a Shared,
    method: Method,
    origin: Option<HeaderValue>,
    query: SplitQuery,
    target: RequestTarget,
    endpoint: Endpoint,
    caller: Caller,
    reuse_key: Option<ReuseKey>,
    /// Header fields of the request on which the response may depend.
    variant: String,
    /// True if the request asks for a response that is not kept.
    wants_fresh: bool,
    /// Parameters of the request by which the API pages its results.
    paging_arguments: Arc<[PagingArgument]>,
    /// The same, where the query is sent as the client wrote it.
    own_paging_arguments: Arc<[PagingArgument]>,
    /// Paging of the endpoint, if the gateway fetches the pages of its lists.
    paging: Option<Paging>,
    /// Requests pages of the endpoint, or a page at an offset that may be the API's own.
    pages: Option<Arc<HttpPages>>,
    /// The query, as received.
    sent_query: String,
    /// The query without controls that are not the API's.
    own_query: String,
    /// Requests to make in turn, if the response before is worse.
    other_attempts: VecDeque<Arc<PagedCall>>,
    /// Number of items that the first request for the list asks the API for, if the request has a limit.
    first_limit: Option<u32>,
}

/// A response of the service that is to be shaped.
struct Received {
    head: http::response::Parts,
    wire: Bytes,
    payload: Payload,
}

impl<'a> Exchange<'a> {
    /// Reads the head of a request.
    pub(crate) fn new(shared: &'a Shared, head: &http::request::Parts) -> Self {
        let (method, path) = (head.method.clone(), head.uri.path().to_owned());
        let route = shared.options.routes.resolve(&method, &path);
        let rule = shared.gateway.rules().rule_for(EndpointTarget {
            upstream: shared.options.upstream.as_deref(),
            kind: EndpointKind::Tool,
            name: &route.endpoint_name,
        });
        let identified = head.extensions.get::<CallerIdentity>().copied();
        let CallerIdentity { scope, is_authenticated } =
            identified.unwrap_or_else(|| (shared.options.identify)(&head.headers));
        let mut caller =
            Caller::new(scope, session_of(scope, &head.headers), rule).over_http(&own_address(head));
        let takes_controls = caller.rule.controls(caller.shaping_mode) != Some(false);
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
        let control_names = &shared.options.control_names;
        let takes_any = route.knows_parameters() || caller.rule.controls(caller.shaping_mode) == Some(true);
        let takes_query = has_query(sent_query, control_names, takes_any);
        let is_owned = |name: &str| {
            is_other
                || (!takes_controls && name != "cursor")
                || (!takes_query && control_names.are_of_query(name))
                || is_own(name)
        };
        let names = (control_names, route.knows_parameters());
        let mut query = SplitQuery::new(sent_query, names, |parameter| {
            !is_paging_control(parameter) && is_owned(parameter)
        });
        // A member that led to the next page of the API leads to the next reply.
        query.translate(|name, value| {
            let is_cursor = PagingRole::of(name) == Some(PagingRole::Cursor);
            (is_cursor && shared.gateway.has_issued(&scope, value)).then(|| ("cursor", value.to_owned()))
        });
        let own_query = paging.as_ref().map(|paging| {
            SplitQuery::new(sent_query, names, |parameter| paging.is_own(parameter) || is_owned(parameter))
        });
        caller.owns_scope = is_authenticated;
        if let Some(paging) = &paging {
            let policy = &caller.effective_policy.policy;
            paging.translate(&mut query, policy);
        }
        caller.upstream.clone_from(&shared.options.upstream);
        caller.received_at = Instant::now();
        caller.argument_names = query.names();
        let own_query = own_query.map_or_else(String::new, |own| own.rest);
        let own_paging_arguments = paging_arguments(&route, &own_query);
        let paging_arguments = paging_arguments(&route, &query.rest);
        let is_safe = matches!(method, Method::GET | Method::HEAD);
        let knows_parameters = route.knows_parameters();
        let endpoint = Endpoint {
            name: route.endpoint_name,
            kind: EndpointKind::Tool,
            read_only: is_safe,
            idempotent: is_safe || matches!(method, Method::PUT | Method::DELETE),
        };
        let variant = variant_of(&head.headers);
        let reuse_key = (is_safe && is_authenticated && !has_body && !forbids_keeping(&head.headers))
            .then(|| ReuseKey::new(&endpoint, &format!("{path}?{}{variant}", query.canonical_rest())));
        let is_offset_unknown =
            method == Method::GET && !has_body && !knows_parameters && query.has_control(OFFSET);
        let pages = if paging.is_some() || is_offset_unknown {
            HttpPages::for_request(shared, head, &caller)
        } else {
            None
        };
        caller.page_source =
            pages.clone().filter(|_| paging.is_some()).map(|pages| pages as Arc<dyn PageSource>);
        Self {
            shared,
            method,
            origin: head.headers.get(ORIGIN).cloned(),
            target: RequestTarget { path, rest: query.rest.clone() },
            query,
            endpoint,
            caller,
            reuse_key,
            variant,
            wants_fresh: wants_fresh(&head.headers),
            own_paging_arguments,
            paging_arguments,
            paging,
            pages,
            sent_query: sent_query.to_owned(),
            own_query,
            other_attempts: VecDeque::new(),
            first_limit: None,
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
        let is_own_cursor = self.paging.as_ref().is_some_and(|paging| paging.is_own("cursor"));
        let is_ours = |cursor: &&str| !is_own_cursor || gateway.has_issued(&self.caller.scope, cursor);
        if let Some(cursor) = self.query.cursor().filter(is_ours) {
            let opened = gateway.open_cursor(self.caller.clone(), None, Some(cursor.to_owned())).await;
            let reply = match self.query.parse(&opened.caller().effective_policy.policy) {
                _ if opened.endpoint().is_some_and(|of| !self.is_route_of(of)) => {
                    opened.refuse(Fault::cursor_invalid("it belongs to another path", Some(&self.endpoint)))
                }
                Ok(request) => opened.answer(request).await,
                Err(error) => opened.refuse(error.into()),
            };
            return Err(Box::new(self.local_response(reply)));
        }
        let mut request = match self.query.parse(&self.caller.effective_policy.policy) {
            Ok(request) => request,
            Err(error) => {
                let fault =
                    gateway.report_fault(error.into(), &self.caller, &Request::default(), &self.endpoint);
                return Err(Box::new(self.local_response(Reply::Fault(fault))));
            }
        };
        self.begin_paging(&mut request);
        if let Some(key) = self.reuse_key.as_ref().filter(|_| !self.wants_fresh && request.cursor.is_none())
            && let Some(reply) = gateway.answer_from_reuse(&self.caller, &self.endpoint, key, &request).await
            && !self.begins_beyond(&reply, &request)
        {
            return Err(Box::new(self.local_response(reply)));
        }
        Ok(Request { cursor: None, ..request })
    }

    /// Returns true if a request with the method of an endpoint, for the path of this one, is for that endpoint.
    fn is_route_of(&self, endpoint: &Endpoint) -> bool {
        let method = endpoint.name.split(' ').next().and_then(|method| Method::try_from(method).ok());
        let named = |method| self.shared.options.routes.resolve(&method, &self.target.path).endpoint_name;
        method.is_some_and(|method| named(method) == endpoint.name)
    }

    /// Prepares to fetch the pages of the list. The order of the request becomes a parameter of the API if it has one.
    fn begin_paging(&mut self, request: &mut Request) {
        let (Some(paging), Some(source)) = (&self.paging, &self.caller.page_source) else { return };
        let mut arguments = base_arguments(&self.target.path, &self.target.rest);
        let mut own = base_arguments(&self.target.path, &self.own_query);
        if let Some(argument) = &paging.pushdown.sort
            && let Some(sort) = request.sort.take()
        {
            arguments = with_argument(&arguments, argument, quote(&sort));
            own = with_argument(&own, argument, quote(&sort));
            let key = format!("{}?{} {sort}{}", self.target.path, self.query.canonical_rest(), self.variant);
            self.reuse_key = self.reuse_key.map(|_| ReuseKey::new(&self.endpoint, &key));
        }
        // Pages of an offset may have different sizes.
        let has_any_size = matches!(paging.pushdown.style, PagingStyle::Offset(_));
        self.first_limit = request.limit.filter(|_| has_any_size && !request.is_continuation());
        let call = PagedCall {
            tool: self.endpoint.name.clone(),
            arguments,
            pushdown: Arc::clone(&paging.pushdown),
            names: paging.names.clone(),
            source: Arc::clone(source),
            first: FirstPage::Chosen { start: 0, size: paging.pushdown.page_size },
        };
        let value_of = |name: &str| value_of(&self.own_query, name);
        let conditions = (&self.caller.effective_policy.policy, &*self.caller.rule);
        self.other_attempts = call.attempts(own, value_of, request, conditions).into();
        self.next_attempt();
    }

    /// Takes the next request to make, and what its response needs. Returns false if there is none.
    fn next_attempt(&mut self) -> bool {
        let Some(call) = self.other_attempts.pop_front() else { return false };
        if call.is_own() {
            self.paging_arguments = self.own_paging_arguments.clone();
        }
        self.caller.paged_call = Some(call);
        true
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
        let page = self.caller.paged_call.as_ref().and_then(|call| {
            let arguments = call.first_arguments();
            let limit = self.first_limit.filter(|_| !call.is_own()).zip(call.names.limit.as_deref());
            target_of(&limit.map_or(arguments.clone(), |(limit, name)| {
                with_argument(&arguments, name, limit.to_string())
            }))
        });
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
        let Received { mut head, wire, payload } = match received {
            Ok(received) => received,
            Err(response) => return *response,
        };
        // Controls apply to the result, not to an error or a redirect in its place.
        if payload.is_error || head.status.is_redirection() {
            request = Request { max_tokens: request.max_tokens, ..Request::default() };
        }
        let is_query = request.query.is_given();
        let reuse = self.reuse_key.filter(|_| !varies_always(&head.headers));
        let mut reply = self.answer(payload, request.clone(), reuse).await;
        let mut wire = wire;
        if self.begins_beyond(&reply, &request)
            && let Some(own) = self.page_at_own_offset(&request).await
        {
            (head, wire) = (own.head, own.wire);
            let request = Request { limit: request.limit, ..request.without_paging() };
            reply = self.answer(own.payload, request, None).await;
        }
        match reply {
            Reply::Untouched => Response::from_parts(head, full(wire)),
            Reply::Portion(portion) => {
                if self.caller.paged_call.is_some() || is_query {
                    // Links of the API lead to pages that this list has already, or to others than an answer's.
                    head.headers.remove(LINK);
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

    /// Returns true if the response may be worse than that to the client's own request.
    fn is_worse(&self, received: &Result<Received, Box<Response<Body>>>) -> bool {
        let Some(call) = self.caller.paged_call.as_ref().filter(|call| !call.is_own()) else { return false };
        let (status, headers, is_worse) = match received {
            Ok(Received { head, payload, .. }) => (head.status, &head.headers, call.is_worse(payload)),
            Err(response) => (response.status(), response.headers(), !response.status().is_redirection()),
        };
        // What is refused to the client, or for its rate, is so whatever the page.
        let is_refused = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)
            || rate_limited(status, headers).is_some();
        is_worse && !is_refused
    }

    /// Requests the first page of the present attempt.
    async fn send_attempt(&self) -> Result<Response<Body>, Fault> {
        let arguments = self.caller.paged_call.as_ref().map(|call| call.first_arguments());
        let response = match self.pages.as_ref().zip(arguments) {
            Some((pages, arguments)) => pages.send(&arguments).await,
            None => Err(PageError::Closed),
        };
        response.map_err(|error| {
            tracing::warn!(endpoint = %self.endpoint.name, %error, "a page of the upstream was not read");
            let fault = Fault::upstream_invalid("no response to the request for the page");
            self.shared.gateway.report_fault(fault, &self.caller, &Request::default(), &self.endpoint)
        })
    }

    /// Reads the response of the service.
    ///
    /// # Errors
    /// Returns the response for the client if it is not to be shaped.
    async fn read<B>(&self, response: Response<B>) -> Result<Received, Box<Response<Body>>>
    where
        B: HttpBody<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let (mut head, body) = response.into_parts();
        let mut body = streamed(body);
        if head.headers.contains_key(CURSOR_HEADER) {
            self.shared.nested_portion.record();
        }
        let (cors, origin) = (&self.shared.cors, self.origin.as_ref());
        match head.extensions.get::<OwnError>() {
            Some(OwnError) => cors.apply(&self.endpoint.name, origin, &mut head.headers),
            None => cors.learn(&self.endpoint.name, origin, &head.headers),
        }
        let redacts = self.redacts();
        let codings = body::content_codings(&head.headers);
        let silence = self.caller.rule.config().request_timeout;
        let form = match BodyForm::of(&head.headers) {
            _ if !may_have_body(head.status) => BodyForm::Other,
            // Without a type, the first byte tells.
            _ if !head.headers.contains_key(CONTENT_TYPE)
                && codings == Ok(Vec::new())
                && (head.status == StatusCode::PARTIAL_CONTENT
                    || body::begins_like_json(&mut body, silence).await) =>
            {
                BodyForm::Json
            }
            BodyForm::Text if !redacts && !self.chunks_text() => BodyForm::Other,
            form => form,
        };
        if form == BodyForm::Other {
            return Err(Box::new(Response::from_parts(head, body)));
        }
        if head.status == StatusCode::PARTIAL_CONTENT {
            let passed = || Response::from_parts(head, body);
            return Err(Box::new(if redacts { self.unredacted_response(RANGE_FAULT) } else { passed() }));
        }
        let Ok(codings) = codings else {
            if redacts {
                return Err(Box::new(self.unredacted_response(CODING_FAULT)));
            }
            tracing::warn!(endpoint = %self.endpoint.name, "a response passes as it is: its content coding is unknown");
            return Err(Box::new(Response::from_parts(head, body)));
        };
        if self.method == Method::HEAD {
            // The length and the validators of a shaped response are not known without its body.
            remove_representation_headers(&mut head.headers);
            // The shaped response may have a cursor, which no cache may keep.
            head.headers.insert(CACHE_CONTROL, HeaderValue::from_static(NOT_CACHED));
            return Err(Box::new(Response::from_parts(head, full(Bytes::new()))));
        }
        let limit = self.shared.options.max_response_bytes;
        let limits = ReadLimits {
            bytes: limit,
            silence,
            stream_after: match form {
                // A stream passes as it comes, so nothing would be redacted in it.
                _ if redacts || !codings.is_empty() || body.size_hint().exact().is_some() => {
                    StreamStart::Never
                }
                BodyForm::Text => StreamStart::FirstBytes,
                _ => StreamStart::JsonValue,
            },
        };
        let wire = match body::read(&mut body, limits).await {
            Ok(wire) => wire,
            Err(ReadBodyError::Stream(start)) => {
                return Err(Box::new(Response::from_parts(head, prefixed(start, body))));
            }
            Err(error) => return Err(Box::new(self.unreadable_response(&error, limit))),
        };
        if wire.is_empty() {
            // A redirect, or a status that says it all.
            return Err(Box::new(Response::from_parts(head, full(wire))));
        }
        let decoded = match body::decode(wire.clone(), &codings, limit).await {
            Ok(decoded) => decoded,
            Err(error) => return Err(Box::new(self.unreadable_response(&error, limit))),
        };
        let paging_arguments = Arc::clone(&self.paging_arguments);
        // Other software may read a field in bytes that Portion cannot decode.
        let passes_as_bytes = !redacts;
        let payload = Payload { paging_arguments, passes_as_bytes, ..payload_of(&decoded, &head) };
        Ok(Received { head, wire, payload })
    }

    /// Returns the response to a request that the service has not seen.
    fn local_response(&self, reply: Reply) -> Response<Body> {
        let mut response = match reply {
            Reply::Portion(portion) => portion_response(&portion, self.metadata_style(), &self.target, None),
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

    /// Returns the error for a response that could not be read.
    fn unreadable_response(&self, error: &ReadBodyError, limit: usize) -> Response<Body> {
        tracing::warn!(endpoint = %self.endpoint.name, %error, "a response of the upstream was not read");
        let fault = match error {
            ReadBodyError::TooLong => Fault::message_too_large(limit, Some(&self.endpoint)),
            ReadBodyError::Truncated(_) | ReadBodyError::Stream(_) => {
                Fault::upstream_invalid("a response that broke off")
            }
            ReadBodyError::Silent(after) => timeout_fault(*after, &self.method),
        };
        self.reported_response(fault)
    }

    /// Returns the error for a response in which nothing can be redacted.
    fn unredacted_response(&self, (message, advice): (&str, &str)) -> Response<Body> {
        let (message, advice) =
            (message.to_owned(), format!("{advice}, or turn redact off for this endpoint"));
        self.reported_response(Fault::new(ErrorCode::UpstreamInvalid, message, advice))
    }

    fn redacts(&self) -> bool {
        self.caller.effective_policy.redact.is_some()
    }

    /// Returns true if long texts of the endpoint are served in chunks.
    fn chunks_text(&self) -> bool {
        let options = &self.caller.effective_policy.policy.render_options;
        options.techniques.chunking && self.caller.shaping_mode.pass_through.is_none()
    }

    fn reported_response(&self, fault: Fault) -> Response<Body> {
        let fault =
            self.shared.gateway.report_fault(fault, &self.caller, &Request::default(), &self.endpoint);
        let mut response = fault_response(&fault);
        self.shared.cors.apply(&self.endpoint.name, self.origin.as_ref(), response.headers_mut());
        response
    }

    fn metadata_style(&self) -> portion_core::policy::MetadataStyle {
        self.caller.effective_policy.policy.render_options.metadata_style
    }
}

/// Returns the session of a request, which is named after its client.
fn session_of(scope: Scope, headers: &HeaderMap) -> Arc<ClientSession> {
    let session = ClientSession::with_id(scope, "");
    let agent = headers.get(USER_AGENT).and_then(|agent| agent.to_str().ok());
    // The product without its version: `curl` of `curl/8.5.0`.
    session.set_client_name(agent.and_then(|agent| agent.split(['/', ' ']).next()).unwrap_or_default());
    session
}
