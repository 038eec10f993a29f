//! Requests for pages of a list that the API pages by itself.

use std::sync::Arc;

use bytes::Bytes;
use http::response::Parts;
use http::{Response, StatusCode};
use portion_core::cursor::Scope;
use portion_core::error_code::ErrorCode;
use portion_core::paging::PagingRole;
use portion_core::payload::Payload;
use portion_core::view::{Request, ViewError};
use portion_gateway::call::{Fault, Reply, ReuseKey};
use portion_gateway::paged_call::{FirstPage, PageError, PagedCall, with_argument};
use portion_json::scan::quote;
use portion_policy::pushdown::PagingStyle;
use portion_policy::upstream::parameters;

use super::Exchange;
use super::received::Received;
use crate::body::{Body, full};
use crate::controls::SplitQuery;
use crate::options::Shared;
use crate::paging::{base_arguments, rate_limited, value_of};
use crate::route::ResolvedRoute;

impl Exchange<'_> {
    /// Prepares to fetch the pages of the list. The order of the request becomes a parameter of the API if it has one.
    pub(super) fn begin_paging(&mut self, request: &mut Request) {
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
        // The client's own size is asked for, unless the result is of the whole list.
        let policy = &self.caller.effective_policy.policy;
        let needs_all = request.selects_from_whole() || policy.render_options.default_sort.is_some();
        let limit = request.limit.filter(|_| !needs_all).zip(paging.names.limit.clone());
        let unset = limit.as_ref().filter(|(_, name)| value_of(&self.own_query, name).is_none());
        if let Some((limit, name)) = unset {
            own = with_argument(&own, name, limit.to_string());
        }
        let call = PagedCall {
            tool: self.endpoint.name.clone(),
            arguments,
            pushdown: Arc::clone(&paging.pushdown),
            names: paging.names.clone(),
            source: Arc::clone(source),
            first: FirstPage::Chosen { start: 0, size: paging.pushdown.page_size },
            own: None,
        };
        let value_of = |name: &str| {
            let of_limit = unset.filter(|(_, own)| **own == *name).map(|(limit, _)| limit.to_string());
            value_of(&self.own_query, name).or(of_limit)
        };
        let conditions = (policy, &*self.caller.rule);
        self.other_attempts = call.attempts(own, value_of, request, conditions, limit.is_some()).into();
        self.next_attempt();
    }

    /// Returns the call for the pages of a list of which the API sent the first one. The request names a page or an offset, or that
    /// page links to the next one. The pages of the request are as large as the client says, or as those of the API.
    pub(super) async fn stated_call(&self, page: &Payload, request: &mut Request) -> Option<PagedCall> {
        let pages = self.pages.as_ref()?;
        // A response to a page of the API's own is not the first one.
        let is_other = || request.selects_from_whole() && !request.query.is_given();
        if page.is_error || is_other() || self.query.selects_own_page() {
            return None;
        }
        let target = (&*self.endpoint.name, base_arguments(&self.target.path, &self.target.rest));
        let (control, source) = (self.position_control, Arc::clone(pages) as _);
        let leads_here = |url: &str| self.target.is_of_list(url);
        // A page that says its offset is one of more, for a client that wants more items.
        let argument = control.or(request.limit.map(|_| "offset"));
        let (mut call, is_proven) = PagedCall::of_first_page(page, argument, target, source, leads_here)?;
        let policy = &self.caller.effective_policy.policy;
        if !is_proven {
            if let PagingStyle::Page(_, start) = &mut Arc::make_mut(&mut call.pushdown).style
                && self.zero_based_key.is_some()
            {
                *start = 0;
            }
            let is_numbered = self.zero_based_key.as_ref();
            let is_known = is_numbered.is_none_or(|key| self.shared.zero_based_endpoints.has(key));
            if is_known && !call.lacks_items(request, policy) {
                // A client that numbers pages counts on the items of the first one, too.
                request.limit = request.limit.or(control.and_then(|_| call.page_size(policy)));
                return None;
            }
            control?;
            let second = self.read(pages.send(&call.second_arguments()).await.ok()?).await.ok()?;
            if !call.is_another_page(page, &second.payload) {
                return None;
            }
        }
        // A size that the API has applied is that of each page.
        let own_size =
            self.own_page_size().filter(|own| call.first == FirstPage::Plain { size: *own as usize });
        request.limit = request.limit.or(own_size);
        if control.is_some() {
            request.limit = request.limit.or(call.page_size(policy));
        }
        Some(call)
    }

    /// Remembers that the pages of the endpoint are counted from 0, if the client and the API count so.
    pub(super) fn record_zero_based(&self, call: &PagedCall) {
        if let (Some(key), PagingStyle::Page(_, 0)) = (&self.zero_based_key, &call.pushdown.style) {
            self.shared.zero_based_endpoints.insert(key.clone());
        }
    }

    /// Returns the response to the request with its `limit`, if that is a parameter of the API: fewer items came than the client
    /// asked for, or one page of several, and others come with it. `before`: the response without it.
    pub(super) async fn with_own_limit(
        &mut self,
        before: &Payload,
        request: &mut Request,
    ) -> Option<Received> {
        let limit = request.limit.filter(|_| self.has_unknown_paging && self.position_control.is_none())?;
        let is_control = self.shared.options.control_names.listed("limit") == Some("limit");
        if !is_control || before.is_error || request.selects_from_whole() {
            return None;
        }
        let count = PagedCall::item_count(before).filter(|count| *count > 0)?;
        let is_short = count < limit as usize;
        (is_short || count > limit as usize && PagedCall::is_one_of_several(before)).then_some(())?;
        let rest = [self.target.rest.as_str(), &format!("limit={limit}")].join("&");
        let rest = rest.trim_start_matches('&').to_owned();
        let arguments = base_arguments(&self.target.path, &rest);
        let mut own = self.read(self.pages.as_ref()?.send(&arguments).await.ok()?).await.ok()?;
        PagedCall::item_count(&own.payload)
            .filter(|own| *own > 0 && *own != count && (*own > count) == is_short)?;
        self.shared.limit_endpoints.insert(self.endpoint.name.clone());
        self.target.rest = rest;
        self.reuse_key = None;
        own.payload.paging_arguments = Arc::clone(&self.own_paging_arguments);
        let plain = Request { limit: None, ..request.clone() };
        if plain.is_plain() {
            *request = plain;
        }
        Some(own)
    }

    /// Returns the response to the client's own query, if the reply is a fault that a parameter of the API explains: a result
    /// without a list is one of the API's pages, and a parameter that changes the list is the API's. `before`: the response to the
    /// query without controls.
    pub(super) async fn own_result(&self, reply: &Reply, before: (&Parts, &Bytes)) -> Option<Received> {
        let Reply::Fault(fault) = reply else { return None };
        let is_page = fault.code == ErrorCode::PageInvalid;
        if !is_page && !matches!(fault.code, ErrorCode::FieldUnknown | ErrorCode::SortInvalid) {
            return None;
        }
        let is_paged = is_page && self.paging.is_some();
        let pages = self.pages.as_ref().filter(|_| is_paged || self.may_be_of_api())?;
        let arguments = base_arguments(&self.target.path, &self.own_query);
        let own = self.read(pages.send(&arguments).await.ok()?).await.ok()?;
        if is_page {
            return Some(own);
        }
        let items = PagedCall::list_items(&own.payload)?;
        let (head, wire) = before;
        let before = self.read(Response::from_parts(head.clone(), full(wire.clone()))).await.ok()?;
        (PagedCall::list_items(&before.payload) != Some(items)).then_some(own)
    }

    /// Returns a reply, or a fault in its place if it has fewer items than a client steps over that counts by the size it asked for.
    /// `received`: the items of the API's page; without one, those of the largest page.
    pub(super) fn unless_cut(&self, reply: Reply, received: Option<usize>) -> Reply {
        let (Some(given), Reply::Portion(portion)) = (self.reduced_limit, &reply) else { return reply };
        let max = self.caller.effective_policy.policy.max_page_size;
        let served = portion.served_count().unwrap_or_default();
        if portion.next_cursor().is_none() || received.map_or(served < max, |received| served >= received) {
            return reply;
        }
        let error = ViewError::LimitTooLarge { given: given.to_string(), max };
        Reply::Fault(self.reported(error.into()))
    }

    /// Returns the size of a page that a parameter of the API has.
    pub(super) fn own_page_size(&self) -> Option<u32> {
        let is_limit = |name: &str| PagingRole::of(name) == Some(PagingRole::Limit);
        let limits = parameters(&self.target.rest).filter(|parameter| is_limit(&parameter.name));
        let size = limits
            .map(|parameter| parameter.name)
            .find_map(|name| value_of(&self.target.rest, &name)?.parse().ok());
        let max = self.caller.effective_policy.policy.max_page_size as u32;
        size.filter(|size| *size > 0).map(|size: u32| size.min(max))
    }

    /// Takes the next request to make, and what its response needs. Returns false if there is none.
    pub(super) fn next_attempt(&mut self) -> bool {
        let Some(call) = self.other_attempts.pop_front() else { return false };
        if call.is_own() {
            self.paging_arguments = self.own_paging_arguments.clone();
        }
        self.caller.paged_call = Some(call);
        true
    }

    /// Returns true if the response may be worse than that to the client's own request.
    pub(super) fn is_worse(&self, received: &Result<Received, Box<Response<Body>>>) -> bool {
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
    pub(super) async fn send_attempt(&self) -> Result<Response<Body>, Fault> {
        let arguments = self.caller.paged_call.as_ref().map(|call| call.first_arguments());
        let response = match self.pages.as_ref().zip(arguments) {
            Some((pages, arguments)) => pages.send(&arguments).await,
            None => Err(PageError::Closed),
        };
        response.map_err(|error| {
            tracing::warn!(endpoint = %self.endpoint.name, %error, "a page of the upstream was not read");
            self.reported(Fault::upstream_invalid("no response to the request for the page"))
        })
    }
}

/// Counts the pages of a request from 1, if the client counts them from 0. Returns the key of the endpoint then.
pub(super) fn count_from_zero(
    shared: &Shared,
    scope: &Scope,
    route: &ResolvedRoute<'_>,
    query: &mut SplitQuery,
) -> Option<String> {
    let key = format!("{scope:?} {}", route.endpoint_name);
    if !query.has_value("page", "0") && !shared.zero_based_endpoints.has(&key) {
        return None;
    }
    query.translate(|name, value| {
        let page = value.parse::<u32>().ok().filter(|_| name == "page")?;
        Some(("page", page.checked_add(1)?.to_string()))
    });
    Some(key)
}
