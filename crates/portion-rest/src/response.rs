//! Writes replies of the gateway as HTTP responses.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use http::header::{
    ACCEPT_RANGES, AGE, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_LOCATION, CONTENT_TYPE,
    ETAG, EXPIRES, HeaderMap, HeaderName, HeaderValue, LAST_MODIFIED, LINK, TRANSFER_ENCODING,
};
use http::{Method, Response, StatusCode};
use portion_core::error_code::ErrorCode;
use portion_core::paging::{PagingRole, is_paging_argument};
use portion_core::policy::MetadataStyle;
use portion_core::render::{Portion, PortionKind, nested_notice_key};
use portion_gateway::call::Fault;
use portion_json::scan::quote;
use portion_net::link_header::{next_link, remove_links};
use portion_policy::upstream::decode_component;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::body::{Body, full};
use crate::cors;
use crate::media_type::{self, TEXT_ADDRESS};

/// Header field with the cursor of the whole result, which every shaped response has.
pub(crate) const CURSOR_HEADER: &str = "x-portion-cursor";
/// Longest notice that is sent as a header, in bytes. Servers and clients often limit all headers to 8 KiB.
const MAX_NOTICE_HEADER_BYTES: usize = 3072;
/// Keys that the notice has at its top level, in camel case.
const NOTICE_KEYS: [&str; 3] = ["nextCursor", "totalCount", "meta"];

/// `Cache-Control` of what no cache may keep.
pub(crate) const NOT_CACHED: &str = "private, no-store";

/// Headers that describe the bytes of the service's response, and not those of a portion.
const REPRESENTATION_HEADERS: [HeaderName; 10] = [
    ACCEPT_RANGES,
    AGE,
    CACHE_CONTROL,
    CONTENT_ENCODING,
    CONTENT_LENGTH,
    CONTENT_LOCATION,
    ETAG,
    EXPIRES,
    LAST_MODIFIED,
    TRANSFER_ENCODING,
];
/// Headers that tell caches of one kind for how long they may keep the service's response, whatever `Cache-Control` says,
/// beside those whose names end with `-cache-control` (RFC 9213).
const CACHE_HEADERS: [&str; 3] = ["edge-control", "surrogate-control", "x-accel-expires"];
/// Beginning of the names of the headers that only a gateway sets.
const OWN_PREFIX: &str = "x-portion-";
/// Headers with a digest or a signature of the service's response.
const DIGEST_HEADERS: [HeaderName; 6] = [
    HeaderName::from_static("content-digest"),
    HeaderName::from_static("content-md5"),
    HeaderName::from_static("digest"),
    HeaderName::from_static("repr-digest"),
    HeaderName::from_static("signature"),
    HeaderName::from_static("signature-input"),
];

/// Address of a request, to which links point.
#[derive(Clone, Debug, Default)]
pub(crate) struct RequestTarget {
    /// Path, as received.
    pub(crate) path: String,
    /// Query without controls, as received.
    pub(crate) rest: String,
    /// Origin of the request, where the links of the API are URLs; otherwise nothing.
    pub(crate) origin: String,
    /// Number of the requested page, as the client counts.
    pub(crate) page: Option<u32>,
    /// True if the reply has all items of the API's page, so that its headers about that stand.
    pub(crate) is_own_page: bool,
}

impl RequestTarget {
    /// Returns the URL that continues at a cursor. The other parameters stay, for people and logs.
    fn url_at(&self, cursor: &str) -> String {
        let joined = if self.rest.is_empty() { "" } else { "&" };
        format!("{}{}?{}{joined}cursor={cursor}", self.origin, link_path(&self.path), self.rest)
    }

    /// Returns true if a URL differs from the request only in what selects a page. A prefix of its path may be that of the API.
    pub(crate) fn is_of_list(&self, url: &str) -> bool {
        let (address, query) = url.split_once('?').unwrap_or((url, ""));
        let path = address
            .split_once("://")
            .map_or(address, |(_, rest)| rest.find('/').map_or("", |at| &rest[at..]));
        let is_own = |parameter: &str| self.rest.split('&').any(|own| decode_component(own) == parameter);
        let mut parameters = query.split('&').filter(|parameter| !parameter.is_empty()).map(decode_component);
        (path.is_empty() || path.ends_with(&*self.path))
            && parameters.all(|parameter| {
                is_paging_argument(parameter.split('=').next().unwrap_or_default()) || is_own(&parameter)
            })
    }
}

/// Returns the path of a request as links and notices show it. One that begins with several slashes gets one, because
/// clients would take what follows for a host. It names the same route.
pub(crate) fn link_path(path: &str) -> Cow<'_, str> {
    let rest = path.trim_start_matches(['/', '\\']);
    if path.len() - rest.len() > 1 { Cow::Owned(format!("/{rest}")) } else { Cow::Borrowed(path) }
}

/// Returns the response with a portion. `head` is that of the service's response, if it made one.
pub(crate) fn portion_response(
    portion: &Portion,
    style: MetadataStyle,
    target: &RequestTarget,
    head: Option<http::response::Parts>,
) -> Response<Body> {
    let written = write_body(portion, style);
    let mut response = Response::new(full(written.text));
    if let Some(head) = head {
        *response.status_mut() = head.status;
        *response.headers_mut() = head.headers;
        remove_representation_headers(response.headers_mut());
        // They would describe another reply: that of a gateway behind this one, or an imitation.
        remove_headers(response.headers_mut(), |name| name.starts_with(OWN_PREFIX));
        move_paging_headers(response.headers_mut(), portion, target);
    }
    let headers = response.headers_mut();
    // Records that were read in another notation are JSON now.
    let is_other =
        written.media_type == JSON && media_type::BodyForm::of(headers) != media_type::BodyForm::Json;
    if is_other || !headers.contains_key(CONTENT_TYPE) {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(written.media_type));
    }
    // A cursor belongs to one caller and expires, so that neither a shared nor a private cache may keep it.
    headers.insert(CACHE_CONTROL, HeaderValue::from_static(NOT_CACHED));
    add_header(headers, "x-portion-kind", portion.kind().name());
    if let Some(cursor) = portion.start_cursor() {
        add_header(headers, CURSOR_HEADER, cursor.as_str());
    }
    let keeps_total = headers.contains_key("x-total-count");
    // The items of a page of the API are not the whole list.
    if let Some(total) = portion.total_count().filter(|_| !keeps_total && !target.is_own_page) {
        add_header(headers, "x-total-count", &total.to_string());
    }
    if let Some(total) = portion.upstream_total().filter(|_| !keeps_total) {
        add_header(headers, "x-portion-upstream-total", &total.to_string());
    }
    if !portion.stages().is_empty() {
        add_header(headers, "x-portion-stages", &portion.stage_names().join(","));
    }
    if let Some(next) = portion.next_cursor() {
        add_header(headers, "x-portion-next-cursor", next.as_str());
        // Many clients read one field only.
        let others = headers.get_all(LINK).iter().filter_map(|link| link.to_str().ok());
        let own = format!("<{}>; rel=\"next\"", target.url_at(next.as_str()));
        let links = std::iter::once(&*own).chain(others).collect::<Vec<_>>().join(", ");
        add_header(headers, "link", &links);
    }
    if !written.has_notice {
        add_notice_header(headers, portion);
    }
    cors::expose_own_headers(headers);
    response
}

/// Marks a response with an error of this program, which has no CORS headers of the service.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OwnError;

/// Returns the response with an error, with the status of its code.
pub(crate) fn fault_response(fault: &Fault) -> Response<Body> {
    let mut response = Response::new(full(fault.to_json()));
    response.extensions_mut().insert(OwnError);
    let status = StatusCode::from_u16(fault.code.info().http_status);
    *response.status_mut() = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static(NOT_CACHED));
    response
}

/// Returns the fault for a response that did not come, or not go on, in time.
pub(crate) fn timeout_fault(after: Duration, method: &Method) -> Fault {
    let message = format!("the API sent nothing for {} s (requestTimeout)", after.as_secs_f64());
    let advice = if method.is_safe() {
        "send the request again, or raise requestTimeout for slower ones"
    } else {
        "the request may have acted; look for its outcome before you repeat it, or raise requestTimeout"
    };
    Fault::new(ErrorCode::UpstreamTimeout, message, advice.to_owned())
}

/// Moves what the API says about its own pages out of the headers that describe this portion: a client that follows the next
/// page of the API would skip the rest of this one. The link stays on a portion that ends the page.
fn move_paging_headers(headers: &mut HeaderMap, portion: &Portion, target: &RequestTarget) {
    if portion.next_cursor().is_some()
        && let Some(next) = next_link(headers)
    {
        remove_links(headers, "next");
        add_header(headers, "x-portion-upstream-next", &next);
    }
    if target.is_own_page || portion.served_count().is_some() && portion.total_count().is_none() {
        return;
    }
    let given = headers.remove("x-total-count");
    let given = given.and_then(|given| given.to_str().ok()?.trim().parse::<u64>().ok());
    if let Some(given) = given.filter(|given| portion.total_count().is_none_or(|own| own as u64 != *given)) {
        add_header(headers, "x-portion-upstream-total", &given.to_string());
    }
}

/// Returns true for the name of a header with a fact about a page of the API: `X-Next-Page`, `X-WP-TotalPages`, `Per-Page`.
fn is_page_header(name: &str) -> bool {
    name.contains("page") || name.contains("pagination")
}

/// Returns the headers with facts about a page of the API, or about its list.
pub(crate) fn page_headers(headers: &HeaderMap) -> HeaderMap {
    let is_fact = |name: &str| is_page_header(name) || name.contains("total");
    headers
        .iter()
        .filter(|(name, _)| is_fact(name.as_str()))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// Returns true if a header leads to the next page, and not by its number or a link: parts of a page cannot have it.
pub(crate) fn leads_on(headers: &HeaderMap) -> bool {
    let leads = |name: &str| {
        name.contains("continuation") || name.split('-').any(|word| matches!(word, "cursor" | "next"))
    };
    headers.iter().any(|(name, value)| {
        let name = name.as_str();
        leads(name) && !is_page_header(name) && !name.starts_with(OWN_PREFIX) && !value.is_empty()
    })
}

/// Makes headers about the first page of the API state which page is served: this number of those that are as large as the API's
/// with `keeps_size`. What they state about another page is removed.
pub(crate) fn restate_page(
    headers: &mut HeaderMap,
    (page, keeps_size): (Option<u32>, bool),
    portion: &Portion,
) {
    let names: Vec<_> = headers.keys().filter(|name| is_page_header(name.as_str())).cloned().collect();
    let number = |name: &HeaderName| headers[name].to_str().ok()?.trim().parse::<u32>().ok();
    let numbers: Vec<Option<u32>> = names.iter().map(number).collect();
    let counts_pages =
        |name: &str| ["pages", "page-count", "last-page"].iter().any(|word| name.contains(word));
    let count = names.iter().zip(&numbers).find(|(name, _)| keeps_size && counts_pages(name.as_str()));
    let has_next = match (count.and_then(|(_, count)| *count), page) {
        (Some(count), Some(page)) => page < count,
        _ => portion.next_cursor().is_some(),
    };
    for (name, number) in names.into_iter().zip(numbers) {
        let own = ["x-", "pagination-", "current-"]
            .iter()
            .fold(name.as_str(), |own, word| own.trim_start_matches(word));
        let stated = match page {
            Some(page) if own.starts_with("next") => Some(Some(page.saturating_add(1)).filter(|_| has_next)),
            Some(page) if own.starts_with("prev") => Some(page.checked_sub(1).filter(|page| *page > 0)),
            Some(page) if PagingRole::of(own) == Some(PagingRole::Page) => Some(Some(page)),
            _ => number.filter(|_| keeps_size).map(Some),
        };
        let stated = stated.map(|number| number.map_or_else(String::new, |number| number.to_string()));
        match stated.and_then(|stated| HeaderValue::try_from(stated).ok()) {
            Some(stated) => headers.insert(name, stated),
            None => headers.remove(name),
        };
    }
    if !keeps_size {
        remove_links(headers, "last");
    }
}

/// Removes the headers that describe other bytes.
pub(crate) fn remove_representation_headers(headers: &mut HeaderMap) {
    for name in REPRESENTATION_HEADERS.into_iter().chain(DIGEST_HEADERS) {
        headers.remove(name);
    }
    remove_headers(headers, |name| name.ends_with("-cache-control") || CACHE_HEADERS.contains(&name));
    media_type::set_utf8(headers);
}

fn remove_headers(headers: &mut HeaderMap, is_meant: impl Fn(&str) -> bool) {
    let names: Vec<HeaderName> = headers.keys().filter(|name| is_meant(name.as_str())).cloned().collect();
    for name in names {
        headers.remove(name);
    }
}

pub(crate) fn add_header(headers: &mut HeaderMap, name: &'static str, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(HeaderName::from_static(name), value);
    }
}

/// Adds the notice as a header. A long one is left out: `Link` and the other headers name the next request.
fn add_notice_header(headers: &mut HeaderMap, portion: &Portion) {
    let mut ascii = String::with_capacity(portion.notice().len());
    for character in portion.notice().chars() {
        if character.is_ascii() {
            ascii.push(character);
        } else {
            let mut units = [0; 2];
            for unit in character.encode_utf16(&mut units) {
                let _ = write!(ascii, "\\u{unit:04x}");
            }
        }
    }
    if ascii.len() <= MAX_NOTICE_HEADER_BYTES {
        add_header(headers, "x-portion-notice", &ascii);
    }
}

const JSON: &str = "application/json";

/// A body, and if it contains the notice.
struct WrittenBody {
    text: String,
    media_type: &'static str,
    has_notice: bool,
}

impl WrittenBody {
    fn json(text: String, has_notice: bool) -> Self {
        Self { text, media_type: JSON, has_notice }
    }
}

fn write_body(portion: &Portion, style: MetadataStyle) -> WrittenBody {
    let text = portion.pieces().first().map_or("null", |piece| piece.body.as_str());
    if let Some(value) = portion.whole_value() {
        return WrittenBody::json(value.to_owned(), false);
    }
    let Some(notice) = portion.separate_notice() else {
        return WrittenBody::json(text.to_owned(), true);
    };
    // A piece of a document may look like JSON by accident.
    let is_document = !matches!(portion.kind(), PortionKind::Chunk | PortionKind::Range | PortionKind::Raw);
    match first_byte(text).filter(|_| is_document && is_json(text)) {
        Some(b'{') => WrittenBody::json(merge_notice(text, notice, style), true),
        Some(b'[') => WrittenBody::json(text.to_owned(), false),
        // What was text stays text.
        _ if portion.pieces().first().is_some_and(|piece| piece.address == TEXT_ADDRESS) => {
            WrittenBody { text: text.to_owned(), media_type: "text/plain; charset=utf-8", has_notice: false }
        }
        Some(_) => WrittenBody::json(append_members(&format!("{{\"value\":{text}}}"), notice), true),
        None => {
            let content = format!("{{\"content\":{}}}", quote(text));
            WrittenBody::json(append_members(&content, notice), true)
        }
    }
}

fn first_byte(text: &str) -> Option<u8> {
    text.trim_start().bytes().next()
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// Returns an object with the members of the notice after its own, or under one key if any of their keys, or a key that
/// notices usually have, is taken.
fn merge_notice(object: &str, notice: &str, style: MetadataStyle) -> String {
    let [members, own] = [object, notice]
        .map(|json| serde_json::from_str::<BTreeMap<String, &RawValue>>(json).unwrap_or_default());
    let mut keys = NOTICE_KEYS.iter().map(|key| style.key(key)).chain(own.into_keys());
    if keys.any(|key| members.contains_key(&key)) {
        return append_members(object, &format!("{{\"{}\":{notice}}}", nested_notice_key(object)));
    }
    append_members(object, notice)
}

/// Appends the members of one JSON object to another.
fn append_members(object: &str, members: &str) -> String {
    let open = object.trim_end().strip_suffix('}').unwrap_or("{").trim_end();
    let comma = if open.ends_with('{') { "" } else { "," };
    format!("{open}{comma}{}", members.trim_start().strip_prefix('{').unwrap_or("}"))
}

#[cfg(test)]
mod tests {
    use portion_core::policy::MetadataStyle;

    use super::{RequestTarget, link_path, merge_notice};

    #[test]
    fn a_notice_is_merged_or_nested() {
        let merged = |object: &str| merge_notice(object, "{\"meta\":1}", MetadataStyle::Camel);
        assert_eq!(merged("{}"), "{\"meta\":1}");
        assert_eq!(merged("{ \"a\":[1] }\n"), "{ \"a\":[1],\"meta\":1}");
        assert_eq!(merged("{\"meta\":0}"), "{\"meta\":0,\"portion\":{\"meta\":1}}");
        let cut = |object: &str| merge_notice(object, "{\"cut\":2,\"meta\":1}", MetadataStyle::Camel);
        assert_eq!(cut("{\"cut\":1}"), "{\"cut\":1,\"portion\":{\"cut\":2,\"meta\":1}}");
        let taken = "{\"meta\":0,\"portion\":1,\"p\\u006frtion_\":2";
        assert_eq!(merged(&format!("{taken}}}")), format!("{taken},\"portion__\":{{\"meta\":1}}}}"));
    }

    #[test]
    fn a_link_keeps_the_parameters_of_the_api() {
        let url = |rest: &str| {
            RequestTarget { path: "/b".into(), rest: rest.into(), ..Default::default() }.url_at("C")
        };
        assert_eq!(url(""), "/b?cursor=C");
        assert_eq!(url("a=1"), "/b?a=1&cursor=C");
    }

    #[test]
    fn a_link_leads_to_no_other_host() {
        for path in ["//evil.example/b", "/\\evil.example/b", "///evil.example/b", "/\\/evil.example/b"] {
            assert_eq!(link_path(path), "/evil.example/b", "{path}");
        }
        for path in ["/", "/b", "/b//c", "/b\\c", "*"] {
            assert_eq!(link_path(path), path);
        }
        assert_eq!(link_path("//"), "/");
    }
}
