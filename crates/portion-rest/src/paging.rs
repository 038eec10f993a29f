//! Requests for further pages of a list that an API pages by itself.
//!
//! The gateway describes a page by arguments, a JSON object. Here that object has the path and the query without paging
//! under one key, and the paging parameters as members beside it.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fmt::Display;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use http::header::{
    CONTENT_LENGTH, HeaderMap, IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, IF_UNMODIFIED_SINCE,
    RANGE,
};
use http::request::Parts;
use http::{Extensions, Method, Request, Response, StatusCode};
use portion_core::paging::{ArgumentValue, PagingArgument, is_paging_argument};
use portion_core::policy::Policy;
use portion_gateway::call::Caller;
use portion_gateway::paged_call::{PageError, PageFuture, PageSource, PagingNames};
use portion_json::scan::quote;
use portion_net::forwarding::restrict_accept_encoding;
use portion_net::rate_limits::{quota_delay, retry_after};
use portion_policy::pushdown::{ArgumentName, PagingStyle, Pushdown};
use portion_policy::upstream::parameters;
use serde_json::{Map, Value};

use crate::body::{self, Body, ReadLimits, full};
use crate::controls::SplitQuery;
use crate::media_type::payload_of;
use crate::openapi::percent;
use crate::options::{ResponseTimeout, SendPageRequest, Shared};
use crate::route::ResolvedRoute;

/// Controls that page a list.
pub(crate) const PAGING_CONTROLS: [&str; 5] = ["limit", "page", "pages", "offset", "cursor"];
/// Header fields that refer to another representation than a page.
pub(crate) const CONDITIONAL_FIELDS: [http::HeaderName; 6] =
    [IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, IF_UNMODIFIED_SINCE, RANGE];
/// Timeout of a request for a further page where none is configured.
const PAGE_TIMEOUT: Duration = Duration::from_mins(1);
/// Member with the path and the query without paging. A query parameter of this name would only be sent twice.
const TARGET_KEY: &str = ":target";

/// Paging of the endpoint of a request.
#[derive(Clone, Debug)]
pub(crate) struct Paging {
    pub(crate) pushdown: Arc<Pushdown>,
    pub(crate) names: PagingNames,
}

/// Requests further pages with the header fields of a client's request.
pub(crate) struct HttpPages {
    send: SendPageRequest,
    headers: HeaderMap,
    /// The client's connection, for header fields about it.
    extensions: Extensions,
    max_bytes: usize,
    timeout: Duration,
}

impl Paging {
    /// Returns the paging of an endpoint whose lists the gateway fetches page by page.
    pub(crate) fn of_endpoint(
        shared: &Shared,
        method: &Method,
        caller: &Caller,
        route: &ResolvedRoute<'_>,
    ) -> Option<Self> {
        shared.options.send_page_request.as_ref()?;
        let pushdown = caller.rule.config().pushdown.as_ref()?;
        if caller.shaping_mode.pass_through.is_some() {
            return None;
        }
        let found = if *method == Method::GET { Self::resolve(pushdown, route) } else { None };
        if found.is_none() && *method != Method::HEAD && caller.rule.is_first_pushdown_warning() {
            let reason =
                if *method == Method::GET { "it has no such parameter" } else { "only GET is repeated" };
            tracing::warn!(endpoint = route.endpoint_name, reason, "pushdown has no effect on this endpoint");
        }
        found
    }

    /// Resolves the names of the parameters. Returns `None` if the API has no parameter that selects a page.
    fn resolve(pushdown: &Arc<Pushdown>, route: &ResolvedRoute<'_>) -> Option<Self> {
        // Without a list of parameters, the most usual names are taken. The number of items has other names where pages are
        // numbered.
        let is_known = route.knows_parameters();
        let mut names = PagingNames::resolve(pushdown, |name| !is_known || route.owns_parameter(name));
        if !is_known && matches!(pushdown.style, PagingStyle::Page(..)) {
            names.limit = names.limit.filter(|_| matches!(pushdown.limit, ArgumentName::Named(_)));
        }
        let is_link = matches!(pushdown.style, PagingStyle::Link(_));
        (names.page.is_some() || names.limit.is_some() || is_link)
            .then(|| Self { pushdown: Arc::clone(pushdown), names })
    }

    /// Returns true if a query selects a page in another way. Such a request is not paged.
    pub(crate) fn is_bypassed(&self, query: &str) -> bool {
        parameters(query).any(|parameter| self.pushdown.is_foreign_position(&parameter.name))
    }

    /// Turns the paging parameters of the API into the controls that they stand for. Returns the limit if it was reduced, and the
    /// client names an offset beside it.
    pub(crate) fn translate(&self, query: &mut SplitQuery, policy: &Policy) -> Option<u64> {
        let is_numbered = query.has_parameter(|name| self.names.numbers_pages(name, &self.pushdown));
        let may_reduce = !is_numbered && !self.pushdown.refuses_large_limit;
        let max_limit = may_reduce.then_some(policy.max_page_size);
        let reduced = Cell::new(None);
        query.translate(|name, value| {
            let given = value.parse().ok();
            let (control, number) = self.names.control_for((name, given), &self.pushdown, max_limit)?;
            if control == "limit" && number < given {
                reduced.set(given.filter(|_| number.is_some()));
            }
            Some((control, number.map_or_else(|| value.to_owned(), |number| number.to_string())))
        });
        reduced.get().filter(|_| query.has_control("offset"))
    }

    /// Returns true if a query selects a page by a cursor of the API.
    pub(crate) fn has_cursor(&self, query: &str) -> bool {
        let is_cursor = |name: &str| self.names.page.as_deref() == Some(name);
        matches!(self.pushdown.style, PagingStyle::Cursor(_))
            && parameters(query).any(|parameter| is_cursor(&parameter.name))
    }

    /// Returns true for a parameter that the API pages by.
    pub(crate) fn is_own(&self, name: &str) -> bool {
        self.names.contains(name)
    }
}

/// Returns the parameters by which an API pages its results, with their values in a query.
pub(crate) fn paging_arguments(route: &ResolvedRoute<'_>, query: &str) -> Arc<[PagingArgument]> {
    let value_of = |name: &str| {
        let given = parameters(query).find(|parameter| parameter.name == name);
        given.map_or(ArgumentValue::Absent, |given| {
            let (_, value) = given.text.split_once('=').unwrap_or_default();
            value.parse().map_or(ArgumentValue::Other, ArgumentValue::Number)
        })
    };
    // What is no control reaches the API, whether it is listed or not.
    let given: BTreeSet<String> = parameters(query).map(|parameter| parameter.name).collect();
    let is_other = |name: &&str| is_paging_argument(name) && !route.owns_parameter(name);
    let names = route.paging_parameters().chain(given.iter().map(String::as_str).filter(is_other));
    names.map(|name| PagingArgument { value: value_of(name), ..PagingArgument::new(name) }).collect()
}

/// Returns the arguments of a request without paging. `rest`: its query without controls.
pub(crate) fn base_arguments(path: &str, rest: &str) -> String {
    let target = if rest.is_empty() { path.to_owned() } else { format!("{path}?{rest}") };
    format!("{{{}:{}}}", quote(TARGET_KEY), quote(&target))
}

/// Returns the decoded value of a query parameter, if the query has it.
pub(crate) fn value_of(query: &str, name: &str) -> Option<String> {
    parameters(query).find(|parameter| parameter.name == name).map(|parameter| parameter.value)
}

/// Returns the path and query of a page. Returns `None` for arguments of another kind.
pub(crate) fn target_of(arguments: &str) -> Option<String> {
    let mut members: Map<String, Value> = serde_json::from_str(arguments).ok()?;
    let Some(Value::String(target)) = members.shift_remove(TARGET_KEY) else { return None };
    let (path, rest) = target.split_once('?').unwrap_or((&target, ""));
    let kept = parameters(rest).filter(|parameter| !members.contains_key(&parameter.name));
    let kept = kept.map(|parameter| parameter.text.to_owned());
    let set = members.iter().map(|(name, value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        format!("{}={}", percent::encode(name), percent::encode(&value))
    });
    let query = kept.chain(set).collect::<Vec<_>>().join("&");
    Some(if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") })
}

/// Returns the error for a response that asks for a pause, as rate limits do. Many do not say for how long.
pub(crate) fn rate_limited(status: StatusCode, headers: &HeaderMap) -> Option<PageError> {
    let now = SystemTime::now();
    let requested = retry_after(headers, now).or_else(|| quota_delay(headers, now));
    let delay = match status {
        StatusCode::TOO_MANY_REQUESTS => requested.unwrap_or_default(),
        StatusCode::SERVICE_UNAVAILABLE => requested?,
        _ => return None,
    };
    Some(PageError::Limited { reason: format!("the API responds with {status}"), delay })
}

impl HttpPages {
    /// Takes over the header fields of a request, without those that refer to its body or to a version of its response.
    pub(crate) fn for_request(shared: &Shared, head: &Parts, caller: &Caller) -> Option<Arc<Self>> {
        let send = Arc::clone(shared.options.send_page_request.as_ref()?);
        let mut headers = head.headers.clone();
        for name in CONDITIONAL_FIELDS.into_iter().chain([CONTENT_LENGTH]) {
            headers.remove(name);
        }
        restrict_accept_encoding(&mut headers);
        Some(Arc::new(Self {
            send,
            headers,
            extensions: head.extensions.clone(),
            max_bytes: shared.options.max_response_bytes,
            timeout: caller.rule.config().request_timeout.unwrap_or(PAGE_TIMEOUT),
        }))
    }

    /// Requests a page and returns the response of the API.
    pub(crate) async fn send(&self, arguments: &str) -> Result<Response<Body>, PageError> {
        let failed = |reason: &dyn Display| PageError::Failed(reason.to_string());
        let target = target_of(arguments).ok_or(PageError::Closed)?;
        let mut request = Request::get(target).body(full("")).map_err(|error| failed(&error))?;
        *request.headers_mut() = self.headers.clone();
        *request.extensions_mut() = self.extensions.clone();
        request.extensions_mut().insert(ResponseTimeout(self.timeout));
        (self.send)(request).await.map_err(|error| failed(&error))
    }

    async fn fetch(&self, arguments: &str) -> Result<portion_core::payload::Payload, PageError> {
        let failed = |reason: &dyn Display| PageError::Failed(reason.to_string());
        let response = self.send(arguments).await?;
        if let Some(limited) = rate_limited(response.status(), response.headers()) {
            return Err(limited);
        }
        let (head, mut body) = response.into_parts();
        let codings = body::content_codings(&head.headers);
        let codings =
            codings.map_err(|()| PageError::Failed("a page has an unknown content coding".into()))?;
        let wire = body::read(&mut body, ReadLimits::of_bytes(self.max_bytes))
            .await
            .map_err(|error| failed(&error))?;
        let decoded = body::decode(wire, &codings, self.max_bytes).await.map_err(|error| failed(&error))?;
        Ok(payload_of(&decoded, &head))
    }
}

impl PageSource for HttpPages {
    fn fetch_page<'a>(&'a self, _endpoint: &'a str, arguments: &'a str) -> PageFuture<'a> {
        Box::pin(async move {
            let page = tokio::time::timeout(self.timeout, self.fetch(arguments)).await;
            page.unwrap_or_else(|_| Err(PageError::Failed("the API did not respond in time".into())))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use http::Method;
    use portion_core::policy::Policy;
    use portion_core::view::ControlNames;
    use portion_policy::pushdown::Pushdown;

    use super::{Paging, base_arguments, target_of};
    use crate::controls::SplitQuery;
    use crate::route::{Route, RouteTable};

    fn paging(preset: &str, parameters: Option<&[&str]>) -> Option<Paging> {
        let pushdown =
            Pushdown::from_settings(&[("preset".to_owned(), preset.to_owned())]).expect("a preset");
        let route = parameters.map(|names| Route {
            method: None,
            path: "/items".to_owned(),
            parameters: names.iter().map(|name| (*name).to_owned()).collect(),
        });
        let table = RouteTable::new(route.into_iter().collect(), Vec::new());
        Paging::resolve(&Arc::new(pushdown), &table.resolve(&Method::GET, "/items", |_, _| false))
    }

    #[test]
    fn names_come_from_the_document_or_are_the_usual_ones() {
        let check = |preset: &str,
                     parameters: Option<&[&str]>,
                     expect: Option<(Option<&str>, Option<&str>)>| {
            let found = paging(preset, parameters);
            let names =
                found.as_ref().map(|paging| (paging.names.limit.as_deref(), paging.names.page.as_deref()));
            assert_eq!(names, expect, "{preset} {parameters:?}");
        };
        check("limit-offset", Some(&["skip", "per_page"]), Some((Some("per_page"), Some("skip"))));
        check("limit-offset", Some(&["q"]), None);
        check("limit-offset", None, Some((Some("limit"), Some("offset"))));
        check("page", None, Some((None, Some("page"))));
        check("link", None, Some((Some("limit"), None)));
        check("hostaway", None, Some((Some("limit"), Some("offset"))));
        check("hostaway", Some(&["limit"]), Some((Some("limit"), None)));
        check("hostaway", Some(&[]), None);
    }

    #[test]
    fn a_position_of_another_kind_bypasses_paging() {
        let check = |preset: &str, query: &str, expect: bool| {
            assert_eq!(paging(preset, None).expect("paging").is_bypassed(query), expect, "{preset} {query}");
        };
        check("hostaway", "limit=10&afterId=7", true);
        check("hostaway", "%61fterId=7", true);
        check("hostaway", "limit=10&offset=20&status=afterId", false);
        check("hostaway", "", false);
        check("after-id", "afterId=7", false);
        let paging = paging("hostaway", None).expect("paging");
        assert!(paging.is_own("limit") && paging.is_own("offset") && !paging.is_own("afterId"));
    }

    #[test]
    fn parameters_of_the_api_become_controls() {
        let check = |preset: &str, name: &str, number: Option<u64>, expect: Option<(&str, Option<u64>)>| {
            let paging = paging(preset, Some(&["per_page", "page", "skip"])).expect("paging");
            let found = paging.names.control_for((name, number), &paging.pushdown, Some(200));
            assert_eq!(found, expect, "{name}={number:?}");
        };
        check("limit-offset", "skip", Some(40), Some(("offset", None)));
        check("page", "page", Some(3), Some(("page", Some(3))));
        check("page", "per_page", Some(100_000), Some(("limit", Some(200))));
        check("page", "per_page", None, Some(("limit", None)));
        check("page", "q", Some(1), None);
        check("page", "page", Some(u64::MAX), Some(("page", None)));
    }

    #[test]
    fn large_limits_are_reduced_or_refused() {
        let check = |settings: &[(&str, &str)], query: &str, expect: Result<Option<u32>, &str>| {
            let settings: Vec<_> =
                settings.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned())).collect();
            let pushdown = Arc::new(Pushdown::from_settings(&settings).expect("settings"));
            let table = RouteTable::new(Vec::new(), Vec::new());
            let paging = Paging::resolve(&pushdown, &table.resolve(&Method::GET, "/items", |_, _| false))
                .expect("paging");
            let (mut split, policy) =
                (SplitQuery::new(query, (&ControlNames::default(), false), |_| false), Policy::default());
            let reduced = paging.translate(&mut split, &policy);
            assert_eq!(reduced, query.contains("offset").then_some(500), "{query}");
            let request = split.parse(&policy);
            let found = request.map(|request| request.limit).map_err(|error| error.code().name());
            assert_eq!(found, expect, "{settings:?} {query}");
        };
        let named = [("preset", "page"), ("limit", "per_page")];
        let refuses = [("preset", "page"), ("limit", "per_page"), ("largeLimit", "refuse")];
        check(&named, "per_page=100000", Ok(Some(200)));
        check(&named, "per_page=100&page=2", Ok(Some(100)));
        check(&named, "per_page=500&page=2", Err("limit_too_large"));
        check(&named, "per_page=500&pages=2-3", Err("limit_too_large"));
        check(&refuses, "per_page=100000", Err("limit_too_large"));
        check(&[("preset", "limit-offset")], "limit=500", Ok(Some(200)));
        check(&[("preset", "limit-offset")], "limit=500&offset=10", Ok(Some(200)));
        check(&[("preset", "limit-offset")], "limit=500&page=2", Err("limit_too_large"));
        check(&[("preset", "limit-offset"), ("largeLimit", "refuse")], "limit=500", Err("limit_too_large"));
    }

    #[test]
    fn page_numbers_begin_where_those_of_the_api_do() {
        let check = |start: &str, query: &str, expect: Option<u32>| {
            let settings = [("preset", "page"), ("pageStart", start)];
            let settings = settings.map(|(key, text)| (key.to_owned(), text.to_owned()));
            let pushdown = Arc::new(Pushdown::from_settings(&settings).expect("settings"));
            let table = RouteTable::new(Vec::new(), Vec::new());
            let paging = Paging::resolve(&pushdown, &table.resolve(&Method::GET, "/items", |_, _| false))
                .expect("paging");
            let mut split = SplitQuery::new(query, (&ControlNames::default(), false), |_| false);
            paging.translate(&mut split, &Policy::default());
            let request = split.parse(&Policy::default());
            assert_eq!(request.ok().and_then(|request| request.page), expect, "{start} {query}");
        };
        check("0", "page=0", Some(1));
        check("0", "page=1", Some(2));
        check("1", "page=1", Some(1));
        check("1", "page=18446744073709551615", None);
        check("0", "page=18446744073709551615", None);
    }

    #[test]
    fn a_page_keeps_the_other_parameters_as_written() {
        let check = |path: &str, rest: &str, set: &str, expect: &str| {
            let base = base_arguments(path, rest);
            let arguments = format!("{}{set}}}", base.trim_end_matches('}'));
            assert_eq!(target_of(&arguments).as_deref(), Some(expect), "{arguments}");
        };
        check("/b", "", "", "/b");
        check(
            "/b%20c",
            "a=%20x&a=2&n",
            ",\"limit\":100,\"offset\":0",
            "/b%20c?a=%20x&a=2&n&limit=100&offset=0",
        );
        check("/b", "after=1&q=x", ",\"after\":\"a b&c\"", "/b?q=x&after=a%20b%26c");
        check("/b", "page%5Bsize%5D=9", ",\"page[size]\":50", "/b?page%5Bsize%5D=50");
        assert_eq!(target_of("{\"limit\":1}"), None);
    }
}
