//! The layer around a real service: bytes, headers and walks.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http_body_util::BodyExt as _;
use portion_core::policy::Policy;
use portion_gateway::effective_policy::EffectivePolicy;
use portion_gateway::gateway::Gateway;
use portion_gateway::gateway_parts::GatewayParts;
use portion_gateway::rules::EndpointRules;
use portion_gateway::store::MemoryStore;
use portion_rest::{HttpOptions, PortionLayer, Route, RouteTable, UnverifiedPreflight};
use portion_tokens::{Factor, Tokenizer};
use serde_json::{Value, json};

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use axum::response::IntoResponse as _;
use tower::ServiceExt as _;

/// A service that answers every path with one response, and counts its requests.
#[derive(Clone)]
struct Upstream {
    requests: Arc<AtomicUsize>,
    last_query: Arc<std::sync::Mutex<Option<String>>>,
    app: Router,
}

/// Headers of a response.
type Headers = &'static [(&'static str, &'static str)];

fn upstream(status: StatusCode, headers: Headers, body: impl Into<Bytes>) -> Upstream {
    upstream_with_routes(status, headers, body, RouteTable::default())
}

fn upstream_with_routes(
    status: StatusCode,
    headers: Headers,
    body: impl Into<Bytes>,
    routes: RouteTable,
) -> Upstream {
    layered(status, headers, body, routes).1
}

/// Returns a service with its layer.
fn layered(
    status: StatusCode,
    headers: Headers,
    body: impl Into<Bytes>,
    routes: RouteTable,
) -> (PortionLayer, Upstream) {
    let (requests, last_query) = (Arc::<AtomicUsize>::default(), Arc::<std::sync::Mutex<_>>::default());
    let (counter, query, body) = (Arc::clone(&requests), Arc::clone(&last_query), body.into());
    let answer = async move |request: Request<Body>| {
        counter.fetch_add(1, Ordering::SeqCst);
        *query.lock().expect("no panic") = request.uri().query().map(str::to_owned);
        let mut response = body.into_response();
        *response.status_mut() = status;
        response.headers_mut().clear();
        for (name, value) in headers {
            response.headers_mut().append(*name, value.parse().expect("a value"));
        }
        response
    };
    let policy = EffectivePolicy::with_tokenizer(Policy::default(), Tokenizer::O200k, Factor::ONE);
    let store = Arc::new(MemoryStore::default());
    let gateway = Gateway::new(GatewayParts::new(EndpointRules::fixed(policy), store, [7; 32]));
    let options = HttpOptions { routes, max_response_bytes: 4 << 20, ..HttpOptions::default() };
    let layer = PortionLayer::with_options(Arc::new(gateway), options);
    let app = Router::new().fallback(answer).layer(layer.clone());
    (layer, Upstream { requests, last_query, app })
}

impl Upstream {
    async fn send(&self, request: Request<Body>) -> (StatusCode, HeaderMap, Bytes) {
        let response: Response<Body> = self.app.clone().oneshot(request).await.expect("infallible");
        let (head, body) = response.into_parts();
        (head.status, head.headers, body.collect().await.expect("a whole body").to_bytes())
    }

    async fn get(&self, target: &str) -> (StatusCode, HeaderMap, Bytes) {
        self.get_as(target, &[("authorization", "Bearer ada")]).await
    }

    async fn get_as(&self, target: &str, headers: &[(&str, &str)]) -> (StatusCode, HeaderMap, Bytes) {
        let mut request = Request::get(target);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.send(request.body(Body::empty()).expect("a request")).await
    }

    fn request_count(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }

    fn last_query(&self) -> Option<String> {
        self.last_query.lock().expect("no panic").clone()
    }
}

const JSON: Headers = &[("content-type", "application/json"), ("etag", "\"1\""), ("x-own", "kept")];

fn bookings(count: usize) -> Value {
    let text = "Arrives late, needs a cot and two keys.";
    (1..=count).map(|id| json!({"id": id, "status": "confirmed", "note": text, "total": id * 10})).collect()
}

/// Returns an object of which a reply shows only a summary.
fn notes() -> Value {
    (0..60).map(|n| (format!("note{n}"), "Ask for the manager. ".repeat(40))).collect()
}

fn parse(body: &[u8]) -> Value {
    serde_json::from_slice(body).expect("valid JSON")
}

fn ids(items: &Value) -> Vec<u64> {
    items.as_array().into_iter().flatten().filter_map(|item| item["id"].as_u64()).collect()
}

#[tokio::test]
async fn what_fits_passes_with_its_own_bytes() {
    let check = async |headers: Headers, body: &str| {
        let upstream = upstream(StatusCode::OK, headers, body.to_owned());
        let (status, given, bytes) = upstream.get("/bookings?a=1").await;
        assert_eq!((status, bytes), (StatusCode::OK, Bytes::from(body.to_owned())));
        // The framework adds the length.
        let own = given.iter().filter(|(name, _)| *name != "content-length");
        assert_eq!(own.count(), headers.len(), "{given:?}");
        assert_eq!(upstream.last_query().as_deref(), Some("a=1"));
    };
    check(JSON, "{ \"id\" : 1.0 }\n").await;
    check(JSON, "[]").await;
    check(JSON, "").await;
    check(JSON, "no json").await;
    let large = "x,y\n".repeat(20_000);
    check(&[("content-type", "text/css")], &large).await;
    check(&[("content-type", "text/event-stream")], &large).await;
    check(&[("content-type", "application/json"), ("content-encoding", "zstd")], &large).await;
    check(&[], &large).await;
}

#[tokio::test]
async fn what_fits_passes_in_any_character_encoding() {
    let check = async |headers: Headers, body: &'static [u8]| {
        let (_, given, bytes) = upstream(StatusCode::OK, headers, body).get("/words").await;
        assert_eq!(bytes, body, "{headers:?}");
        for (name, value) in headers {
            assert_eq!(given[*name], *value);
        }
    };
    let japanese: Headers = &[("content-type", "application/json; charset=Shift_JIS"), ("etag", "\"1\"")];
    check(japanese, b"[{\"name\":\"\x93\xfa\x96{\x8c\xea\"}]").await;
    let unknown: Headers = &[("content-type", "application/json; charset=x-own"), ("etag", "\"1\"")];
    check(unknown, b"[{\"name\":\"caf\xe9\"}]").await;
    check(JSON, b"[{\"name\":\"caf\xe9\"}]").await;
    check(JSON, b"\xff\xfe[\0]\0").await;
    check(JSON, b"[\0\"\0\xe9\0\"\0]\0").await;
}

#[tokio::test]
async fn a_large_response_is_decoded_as_it_declares() {
    let list = |name: &[u8]| -> Vec<u8> {
        let note = b"\",\"note\":\"Arrives late, needs a cot and two keys.\"}".as_slice();
        let item = [b"{\"name\":\"".as_slice(), name, note].concat();
        [b"[".as_slice(), &vec![item; 500].join(b",".as_slice()), b"]".as_slice()].concat()
    };
    let read = async |headers: Headers, body: Vec<u8>| {
        let (_, given, body) = upstream(StatusCode::OK, headers, body).get("/words?fields=all").await;
        assert_eq!(given["content-type"], "application/json");
        assert!(!given.contains_key("etag"));
        let notice = parse(given["x-portion-notice"].as_bytes());
        (parse(&body)[0]["name"].clone(), notice["meta"]["replaced"].clone())
    };
    let japanese: Headers = &[("content-type", "application/json; charset=Shift_JIS"), ("etag", "\"1\"")];
    assert_eq!(read(japanese, list(b"\x93\xfa\x96{\x8c\xea")).await, (json!("日本語"), Value::Null));
    let text = String::from_utf8(list("日本語".as_bytes())).expect("text");
    let marked = format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(read(JSON, marked).await, (json!("日本語"), Value::Null));
    let replaced = json!("500 invalid sequences are shown as U+FFFD");
    assert_eq!(read(JSON, list(b"caf\xe9")).await, (json!("caf\u{fffd}"), replaced));
}

#[tokio::test]
async fn a_list_is_walked_to_its_end_without_the_service() {
    let check = async |body: Value, list: &str| {
        let upstream = upstream(StatusCode::OK, JSON, body.to_string());
        let (mut seen, mut target, mut steps) = (Vec::new(), "/bookings?fields=all&a=1".to_owned(), 0);
        loop {
            let (status, headers, bytes) = upstream.get(&target).await;
            assert_eq!(status, StatusCode::OK);
            assert!(bytes.len() <= 65_536);
            let reply = parse(&bytes);
            seen.extend(ids(if list.is_empty() { &reply } else { &reply[list] }));
            assert_eq!(headers["x-total-count"], "500");
            let Some(link) = headers.get("link") else { break };
            let link = link.to_str().expect("text");
            target = link.trim_start_matches('<').split('>').next().expect("a URL").to_owned();
            assert!(target.contains("a=1&cursor="), "{target}");
            if !list.is_empty() {
                assert_eq!(reply["nextCursor"], headers["x-portion-next-cursor"].to_str().expect("text"));
            }
            steps += 1;
            assert!(steps < 100);
        }
        assert_eq!(seen, (1..=500).collect::<Vec<u64>>());
        assert_eq!((upstream.request_count(), upstream.last_query().as_deref()), (1, Some("a=1")));
    };
    check(bookings(500), "").await;
    check(json!({"status": "success", "result": bookings(500)}), "result").await;
}

#[tokio::test]
async fn a_shaped_response_describes_its_own_bytes() {
    let headers: Headers = &[
        ("content-type", "application/json; charset=utf-8"),
        ("content-length", "99999"),
        ("etag", "\"1\""),
        ("last-modified", "Mon, 02 Nov 2026 10:00:00 GMT"),
        ("cache-control", "public, max-age=60"),
        ("access-control-allow-origin", "https://app.example"),
        ("link", "</docs>; rel=\"help\""),
        ("x-own", "kept"),
    ];
    let upstream = upstream(StatusCode::OK, headers, bookings(500).to_string());
    let from = [("authorization", "Bearer ada"), ("origin", "https://app.example")];
    let (_, shaped, body) = upstream.get_as("/bookings", &from).await;
    assert_eq!(ids(&parse(&body)).len(), 50);
    for gone in ["etag", "last-modified"] {
        assert!(!shaped.contains_key(gone), "{gone}");
    }
    assert!(shaped.get("content-length").is_none_or(|length| *length == body.len().to_string()));
    assert_eq!(
        (&shaped["x-own"], &shaped["cache-control"]),
        (&"kept".parse().expect("a value"), &"private, no-store".parse().expect("a value"))
    );
    // Many clients read one field.
    let links: Vec<_> = shaped.get_all("link").iter().filter_map(|link| link.to_str().ok()).collect();
    assert!(links.len() == 1 && links[0].ends_with(", </docs>; rel=\"help\""), "{links:?}");
    assert!(shaped["access-control-expose-headers"].to_str().expect("text").contains("Link"));
    let notice = parse(shaped["x-portion-notice"].as_bytes());
    assert_eq!(notice["totalCount"], 500);
    // The service never sees the follow-up, and yet a page may read it.
    let cursor = shaped["x-portion-next-cursor"].to_str().expect("text");
    let (_, followed, _) = upstream.get_as(&format!("/bookings?cursor={cursor}"), &from).await;
    assert_eq!(followed["access-control-allow-origin"], "https://app.example");
    assert_eq!(followed["access-control-expose-headers"], shaped["access-control-expose-headers"]);
    assert_eq!(upstream.request_count(), 1);
}

#[tokio::test]
async fn a_page_may_read_an_error_that_the_layer_has_not_made_if_it_may_read_the_endpoint() {
    let headers: Headers =
        &[("content-type", "application/json"), ("access-control-allow-origin", "https://app.example")];
    let (layer, service) = layered(StatusCode::OK, headers, "{}", RouteTable::default());
    let [app, other] = ["https://app.example", "https://b.example"].map(HeaderValue::from_static);
    let allowed = |method: Method, path: &str, origin: Option<&HeaderValue>| {
        let mut error = HeaderMap::new();
        layer.allow_reading(&method, path, origin, &mut error);
        error.get("access-control-allow-origin").cloned()
    };
    assert_eq!(allowed(Method::GET, "/a/1", Some(&app)), None, "the endpoint is not known yet");
    service.get_as("/a/7", &[("origin", "https://app.example")]).await;
    assert_eq!(allowed(Method::GET, "/a/1", Some(&app)), Some(app.clone()));
    assert_eq!(allowed(Method::GET, "/a/1", Some(&other)), None);
    assert_eq!(allowed(Method::GET, "/a/1", None), None);
    assert_eq!(allowed(Method::GET, "/b", Some(&app)), None);
    assert_eq!(allowed(Method::POST, "/a/1", Some(&app)), None);
}

#[tokio::test]
async fn no_cache_may_keep_a_shaped_response() {
    let headers: Headers = &[
        ("content-type", "application/json"),
        ("cdn-cache-control", "max-age=60"),
        ("cloudflare-cdn-cache-control", "max-age=60"),
        ("surrogate-control", "max-age=60"),
        ("edge-control", "cache-maxage=60"),
        ("x-accel-expires", "60"),
        ("expires", "Mon, 02 Nov 2026 10:00:00 GMT"),
        ("age", "3"),
        ("content-location", "/bookings.json"),
    ];
    let upstream = upstream(StatusCode::OK, headers, bookings(500).to_string());
    let head = Request::head("/bookings").body(Body::empty()).expect("a request");
    for (_, given, _) in [upstream.get("/bookings").await, upstream.send(head).await] {
        for (name, _) in &headers[1..] {
            assert!(!given.contains_key(*name), "{name}");
        }
        assert_eq!(given["cache-control"], "private, no-store");
    }
}

#[tokio::test]
async fn a_shaped_response_has_no_fields_of_another_portion() {
    let headers: Headers = &[
        ("content-type", "application/json"),
        ("x-portion-kind", "forged"),
        ("x-portion-cursor", "forged"),
        ("x-portion-next-cursor", "forged"),
        ("x-portion-notice", "forged"),
        ("x-portion-stages", "forged"),
        ("x-portion-upstream-next", "forged"),
        ("x-portion-upstream-total", "forged"),
        ("x-portion-future", "forged"),
        ("x-total-count", "9999"),
    ];
    for (body, kind) in [(bookings(500), "page"), (notes(), "summary")] {
        let upstream = upstream(StatusCode::OK, headers, body.to_string());
        let (_, given, _) = upstream.get("/a").await;
        assert_eq!(given["x-portion-kind"], kind);
        for (name, value) in &given {
            assert_ne!(value, "forged", "{name}");
        }
        assert_eq!(given["x-portion-upstream-total"], "9999");
        let own_total = (kind == "page").then_some("500");
        assert_eq!(given.get("x-total-count").map(|total| total.to_str().expect("text")), own_total);
    }
    // What passes may be the reply of another Portion, whose cursors are passed on to it.
    let (_, given, _) = upstream(StatusCode::OK, headers, "{}").get("/a").await;
    assert_eq!(
        (&given["x-portion-kind"], &given["x-total-count"]),
        (&"forged".parse().expect("a value"), &"9999".parse().expect("a value"))
    );
}

#[tokio::test]
async fn a_path_with_several_slashes_leads_to_no_other_host() {
    let service = upstream(StatusCode::OK, JSON, bookings(500).to_string());
    let (_, headers, _) = service.get("//evil.example/list?limit=2").await;
    let link = headers["link"].to_str().expect("text");
    assert!(link.starts_with("</evil.example/list?cursor="), "{link}");
    let target = link.trim_start_matches('<').split('>').next().expect("a URL");
    assert_eq!(ids(&parse(&service.get(target).await.2)), [3, 4]);
    let (_, _, body) = upstream(StatusCode::OK, JSON, notes().to_string()).get("//evil.example/a").await;
    assert_eq!(parse(&body)["meta"]["detailsAvailable"]["endpoint"], "/evil.example/a");
    assert!(!String::from_utf8_lossy(&body).contains("//evil.example"));
}

#[tokio::test]
async fn controls_select_and_are_not_forwarded() {
    let upstream = upstream(StatusCode::OK, JSON, json!({"items": bookings(500), "meta": 1}).to_string());
    let (_, _, body) = upstream.get("/bookings?limit=3&fields=id&b=2").await;
    let reply = parse(&body);
    assert_eq!(reply["items"], json!([{"id": 1}, {"id": 2}, {"id": 3}]));
    assert_eq!((&reply["meta"], &reply["portion"]["totalCount"]), (&json!(1), &json!(500)));
    assert_eq!(upstream.last_query().as_deref(), Some("b=2"));
    let (_, _, body) = upstream.get("/bookings?limit=3&fields=id&b=2&page=2").await;
    assert_eq!(ids(&parse(&body)["items"]), [4, 5, 6]);
    assert_eq!(upstream.request_count(), 1, "the page is served from the snapshot");
}

#[tokio::test]
async fn parameters_of_the_api_pass_to_it() {
    let route = |method: &str| Route {
        method: Some(method.to_owned()),
        path: "/bookings".to_owned(),
        parameters: vec!["limit".to_owned(), "page".to_owned()],
    };
    let routes = RouteTable::new(vec![route("GET")], vec![]);
    let upstream = upstream_with_routes(StatusCode::OK, JSON, bookings(20).to_string(), routes);
    let (status, _, _) = upstream.get("/bookings?limit=1000&page=2&fields=id").await;
    assert_eq!((status, upstream.last_query().as_deref()), (StatusCode::OK, Some("limit=1000&page=2")));
}

#[tokio::test]
async fn a_page_that_the_client_asked_for_keeps_its_items() {
    let check = async |method: &str, target: &str, list: Value, expect: usize| {
        let request = Request::builder().method(method).uri(target).body(Body::empty()).expect("a request");
        let (_, _, body) = upstream(StatusCode::OK, JSON, list.to_string()).send(request).await;
        assert_eq!(parse(&body)["rows"].as_array().map(Vec::len), Some(expect), "{method} {target}");
    };
    let page = |count: usize| json!({"rows": bookings(count)});
    let short = json!({"rows": bookings(80), "next_cursor": null});
    check("GET", "/rows?take=80&skip=160", page(80), 80).await;
    check("GET", "/rows?maxResults=200", page(200), 200).await;
    check("GET", "/rows?per_page=100", page(80), 80).await;
    // The API did not apply it.
    check("GET", "/rows?size=10", page(80), 50).await;
    check("GET", "/rows", page(80), 50).await;
    check("GET", "/rows?page_token=abc", page(80), 80).await;
    // Nothing leads on from the last page, and the parts of another have cursors.
    check("GET", "/rows?page_token=abc", page(200), 200).await;
    let more = json!({"rows": bookings(200), "next_page_token": "def"});
    check("GET", "/rows?page_token=abc", more, 50).await;
    check("POST", "/rows", short.clone(), 80).await;
    check("GET", "/rows", short, 50).await;
    check("POST", "/rows", page(80), 50).await;
    check("GET", "/rows", json!({"@odata.context": "/", "rows": bookings(80)}), 80).await;
}

#[tokio::test]
async fn errors_name_the_next_step() {
    let check = async |target: &str, status: u16, code: &str, requests: usize| {
        let upstream = upstream(StatusCode::OK, JSON, bookings(500).to_string());
        let (given, headers, body) = upstream.get(target).await;
        let error = &parse(&body)["error"];
        assert_eq!((given.as_u16(), error["code"].as_str()), (status, Some(code)), "{target}");
        assert!(error["advice"].as_str().is_some_and(|advice| !advice.is_empty()), "{target}");
        assert_eq!(
            (&headers["content-type"], upstream.request_count()),
            (&"application/json".parse().expect("a value"), requests),
            "{target}"
        );
    };
    check("/bookings?limit=0", 400, "limit_invalid", 0).await;
    check("/bookings?limit=900", 400, "limit_too_large", 0).await;
    check("/bookings?page=2&offset=1", 400, "controls_conflict", 0).await;
    check("/bookings?cursor=AAAA", 400, "cursor_invalid", 0).await;
    check("/bookings?cursor=", 400, "cursor_invalid", 0).await;
    check("/bookings?fields=nosuch", 400, "field_unknown", 1).await;
    check("/bookings?path=/nosuch", 404, "path_unknown", 1).await;
}

#[tokio::test]
async fn callers_are_separated_by_their_credentials() {
    let upstream = upstream(StatusCode::OK, JSON, bookings(500).to_string());
    let schemes: [&[(&str, &str)]; 6] = [
        &[("authorization", "Bearer ada")],
        &[("authorization", "Bearer bob")],
        &[("x-api-key", "ada")],
        &[("cookie", "session=ada")],
        &[("x-api-key", "bob")],
        &[],
    ];
    let mut cursors = Vec::new();
    for caller in schemes {
        let (_, headers, _) = upstream.get_as("/bookings", caller).await;
        cursors.push(headers["x-portion-next-cursor"].to_str().expect("text").to_owned());
    }
    let mut errors = BTreeSet::new();
    for (i, caller) in schemes.iter().enumerate() {
        for (j, cursor) in cursors.iter().enumerate() {
            let (status, _, body) = upstream.get_as(&format!("/bookings?cursor={cursor}"), caller).await;
            assert_eq!(status.is_success(), i == j, "{i} {j}");
            if i != j {
                errors.insert(body);
            }
        }
    }
    assert_eq!(errors.len(), 1, "one indistinguishable error");
    // Without a credential, nothing is reused: each request is asked of the service.
    let before = upstream.request_count();
    for caller in [&schemes[5], &schemes[5], &schemes[0]] {
        upstream.get_as("/bookings?page=2", caller).await;
    }
    assert_eq!(upstream.request_count(), before + 2);
}

/// The response may depend on the body, which is not part of what is compared.
#[tokio::test]
async fn requests_with_a_body_reuse_nothing() {
    let upstream = upstream(StatusCode::OK, JSON, bookings(500).to_string());
    let head: [(&str, &str); 1] = [("authorization", "Bearer ada")];
    for (field, reuses) in [
        (("content-length", "0"), true),
        (("content-length", "9"), false),
        (("transfer-encoding", "chunked"), false),
    ] {
        let caller = [head[0], field];
        upstream.get_as("/bookings", &caller).await;
        let before = upstream.request_count();
        upstream.get_as("/bookings?page=2", &caller).await;
        assert_eq!(upstream.request_count() == before, reuses, "{field:?}");
    }
}

#[tokio::test]
async fn compressed_bodies_are_decoded_only_to_be_shaped() {
    use async_compression::tokio::bufread::GzipEncoder;
    use tokio::io::AsyncReadExt as _;
    let headers: Headers = &[("content-type", "application/json"), ("content-encoding", "gzip")];
    let gzip = async |text: String| {
        let mut compressed = Vec::new();
        GzipEncoder::new(text.as_bytes()).read_to_end(&mut compressed).await.expect("compresses");
        compressed
    };
    let small = gzip("{\"id\":1}".to_owned()).await;
    let (_, given, body) = upstream(StatusCode::OK, headers, small.clone()).get("/a").await;
    assert_eq!(
        (&given["content-encoding"], body.as_ref()),
        (&"gzip".parse().expect("a value"), small.as_slice())
    );
    let (_, given, body) =
        upstream(StatusCode::OK, headers, gzip(bookings(500).to_string()).await).get("/a").await;
    assert!(!given.contains_key("content-encoding"));
    assert_eq!(ids(&parse(&body)).len(), 50);
    // A bomb is an error, and neither its bytes nor its expansion are kept.
    let bomb = gzip(" ".repeat(5 << 20)).await;
    let (status, _, body) = upstream(StatusCode::OK, headers, bomb).get("/a").await;
    assert_eq!(
        (status, &parse(&body)["error"]["code"]),
        (StatusCode::BAD_GATEWAY, &json!("message_too_large"))
    );
    let (status, _, body) = upstream(StatusCode::OK, headers, "no gzip").get("/a").await;
    assert_eq!(
        (status, &parse(&body)["error"]["code"]),
        (StatusCode::BAD_GATEWAY, &json!("upstream_invalid"))
    );
}

#[tokio::test]
async fn json_without_a_type_or_encoded_twice_is_shaped() {
    use async_compression::tokio::bufread::GzipEncoder;
    use tokio::io::AsyncReadExt as _;
    let large = format!(" {}", bookings(500));
    let (_, headers, body) = upstream(StatusCode::OK, &[], large.clone()).get("/a").await;
    assert_eq!(ids(&parse(&body)).len(), 50);
    assert_eq!(headers["content-type"], "application/json");
    let text = "no { JSON ".repeat(20_000);
    assert_eq!(upstream(StatusCode::OK, &[], text.clone()).get("/a").await.2, Bytes::from(text));
    let small = "{ \"id\": 1 }";
    assert_eq!(upstream(StatusCode::OK, &[], small).get("/a").await.2, Bytes::from(small));
    let (mut once, mut twice) = (Vec::new(), Vec::new());
    GzipEncoder::new(large.as_bytes()).read_to_end(&mut once).await.expect("compresses");
    GzipEncoder::new(once.as_slice()).read_to_end(&mut twice).await.expect("compresses");
    let types: [Headers; 2] = [
        &[("content-type", "application/json"), ("content-encoding", "gzip, gzip")],
        &[("content-type", "application/json"), ("content-encoding", "gzip"), ("content-encoding", "gzip")],
    ];
    for headers in types {
        let (_, _, body) = upstream(StatusCode::OK, headers, twice.clone()).get("/a").await;
        assert_eq!(ids(&parse(&body)).len(), 50);
    }
}

#[tokio::test]
async fn a_response_to_options_is_shaped() {
    let options = |headers: &[(&str, &str)]| {
        let mut request = Request::options("/a?limit=2");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(Body::empty()).expect("a request")
    };
    let service = upstream(StatusCode::OK, JSON, bookings(500).to_string());
    assert_eq!(ids(&parse(&service.send(options(&[])).await.2)), [1, 2]);
    // The controls in the URL of a preflight are those of the request that follows.
    let preflight = [("origin", "https://app.example"), ("access-control-request-method", "GET")];
    assert_eq!(ids(&parse(&service.send(options(&preflight)).await.2)).len(), 50);
    let before = service.request_count();
    let invalid = Request::options("/a?cursor=gone").header("origin", "https://app.example");
    let invalid = invalid.header("access-control-request-method", "GET").body(Body::empty());
    assert_eq!(service.send(invalid.expect("a request")).await.0, StatusCode::OK);
    assert_eq!(service.request_count(), before + 1);
}

#[tokio::test]
async fn an_unverified_preflight_gets_only_what_a_browser_reads_of_the_response() {
    let headers: Headers = &[
        ("content-type", "application/json"),
        ("access-control-allow-origin", "https://app.example"),
        ("access-control-allow-methods", "GET"),
        ("access-control-max-age", "60"),
        ("allow", "GET, OPTIONS"),
        ("cache-control", "max-age=60"),
        ("vary", "origin"),
        ("vary", "accept"),
        ("set-cookie", "a=b"),
        ("x-own", "secret"),
    ];
    for body in [bookings(500).to_string(), "{\"a\":1}".to_owned()] {
        let service = upstream(StatusCode::OK, headers, body);
        let request = Request::options("/a?limit=2&b=1").header("origin", "https://app.example");
        let request = request.header("access-control-request-method", "GET").extension(UnverifiedPreflight);
        let (status, given, read) = service.send(request.body(Body::empty()).expect("a request")).await;
        assert_eq!((status, read.as_ref()), (StatusCode::OK, &b""[..]));
        assert_eq!(service.last_query().as_deref(), Some("b=1"));
        let mut names: Vec<&str> = given.keys().map(HeaderName::as_str).collect();
        names.retain(|name| *name != "content-length");
        names.sort_unstable();
        let expect = "access-control-allow-methods access-control-allow-origin access-control-max-age allow \
                      cache-control vary";
        assert_eq!(names.join(" "), expect);
        assert_eq!(given.get_all("vary").iter().count(), 2);
    }
}

#[tokio::test]
async fn controls_do_not_apply_to_an_empty_body_or_a_redirect() {
    let redirect: Headers = &[("content-type", "application/json"), ("location", "/b")];
    for query in ["", "?fields=id", "?limit=2", "?path=a", "?page=2"] {
        for body in ["", "{\"moved\":true}"] {
            let (status, headers, read) =
                upstream(StatusCode::FOUND, redirect, body).get(&format!("/a{query}")).await;
            assert_eq!(
                (status, &headers["location"], read.as_ref()),
                (StatusCode::FOUND, &"/b".parse().expect("a value"), body.as_bytes())
            );
        }
        let request = Request::post(format!("/a{query}")).body(Body::from("{}")).expect("a request");
        let (status, _, read) = upstream(StatusCode::CREATED, JSON, "").send(request).await;
        assert_eq!((status, read.as_ref()), (StatusCode::CREATED, b"".as_slice()), "{query}");
    }
}

#[tokio::test]
async fn statuses_and_methods_are_kept() {
    let large = json!({"error": "details ".repeat(4_000)}).to_string();
    let (status, _, body) = upstream(StatusCode::NOT_FOUND, JSON, large.clone()).get("/a").await;
    assert!(status == StatusCode::NOT_FOUND && body.len() < 20_000 && parse(&body)["meta"].is_object());
    // A request that acts keeps its parameters.
    let created = upstream(StatusCode::CREATED, JSON, bookings(500).to_string());
    for method in ["POST", "PUT", "PATCH", "DELETE"] {
        let request = Request::builder().method(method).uri("/a?limit=2&path=/b").body(Body::from("{}"));
        let (_, _, body) = created.send(request.expect("a request")).await;
        assert_eq!(ids(&parse(&body)).len(), 50, "{method}");
        assert_eq!(created.last_query().as_deref(), Some("limit=2&path=/b"), "{method}");
    }
    let head = Request::head("/a").body(Body::empty()).expect("a request");
    let (status, headers, body) = upstream(StatusCode::OK, JSON, bookings(500).to_string()).send(head).await;
    assert!(status == StatusCode::OK && body.is_empty() && !headers.contains_key("etag"));
    let part = upstream(StatusCode::PARTIAL_CONTENT, JSON, large.clone());
    assert_eq!(part.get("/a").await.2, Bytes::from(large));
}

#[tokio::test]
async fn a_cursor_of_the_api_is_the_apis() {
    let api = upstream(StatusCode::OK, JSON, json!({"items": [1, 2], "next_cursor": "c20"}).to_string());
    assert_eq!(api.get("/a?cursor=c20").await.0, StatusCode::BAD_REQUEST, "nothing says that it has cursors");
    assert_eq!(api.get("/a?cursor=*").await.0, StatusCode::OK, "no cursor of Portion has this form");
    assert_eq!(api.last_query().as_deref(), Some("cursor=*"));
    assert_eq!(api.get("/a?cursor=c20").await.0, StatusCode::OK);
    assert_eq!(api.last_query().as_deref(), Some("cursor=c20"));
}

#[tokio::test]
async fn every_byte_of_a_document_can_be_read_back() {
    let text = "{\n \"name\": \"\u{e9}\u{1f600}\",\n \"price\": 1.50e+03,\n \"note\": \"".to_owned()
        + &"lorem ipsum \\u00e9 \\n ".repeat(3_000)
        + "\"\n}\n";
    let upstream = upstream(StatusCode::OK, JSON, text.clone());
    let (_, headers, body) = upstream.get("/a").await;
    assert!(parse(&body)["meta"]["kind"] == "summary", "{}", String::from_utf8_lossy(&body));
    let cursor = headers["x-portion-cursor"].to_str().expect("text").to_owned();
    let (mut read, mut target) = (String::new(), format!("/a?cursor={cursor}&raw=true"));
    loop {
        let (_, headers, body) = upstream.get(&target).await;
        read.push_str(parse(&body)["content"].as_str().expect("a text"));
        let Some(next) = headers.get("x-portion-next-cursor") else { break };
        target = format!("/a?cursor={}", next.to_str().expect("text"));
    }
    assert_eq!(read, text);
    assert_eq!(upstream.request_count(), 1);
}

#[tokio::test]
async fn a_reply_has_one_next_page() {
    let headers: Headers = &[
        ("content-type", "application/json"),
        ("link", "</a?page=1>; rel=\"first\", </a?page=2>; rel=\"next\""),
        ("x-total-count", "9999"),
    ];
    let upstream = upstream(StatusCode::OK, headers, bookings(500).to_string());
    let links = |headers: &HeaderMap| -> Vec<String> {
        let values = headers.get_all("link").iter();
        values.map(|value| value.to_str().expect("text").to_owned()).collect()
    };
    let notice_of = |headers: &HeaderMap| parse(headers["x-portion-notice"].as_bytes());
    let (_, first, _) = upstream.get("/a").await;
    let meta = &notice_of(&first)["meta"];
    assert_eq!((&meta["upstreamNext"], &meta["upstreamTotal"]), (&json!("/a?page=2"), &json!(9999)));
    let given = links(&first);
    assert_eq!(given.iter().filter(|link| link.contains("next")).count(), 1, "{given:?}");
    assert!(given[0].contains("first") && given[0].contains("cursor="), "{given:?}");
    assert_eq!(
        (&first["x-portion-upstream-next"], &first["x-total-count"]),
        (&"/a?page=2".parse().expect("a value"), &"500".parse().expect("a value"))
    );
    assert_eq!(first["x-portion-upstream-total"], "9999");
    // The last page of this page of the API leads on to the next one.
    let (_, last, _) = upstream.get_as("/a?offset=490&fields=id", &[]).await;
    assert_eq!(links(&last), [headers[1].1]);
    assert!(!last.contains_key("x-portion-upstream-next"));
    assert_eq!(notice_of(&last)["meta"]["upstreamNext"], "/a?page=2");
    // A body with a place for the notice says the same.
    let object = self::upstream(StatusCode::OK, headers, json!({"bookings": bookings(500)}).to_string());
    let (_, _, body) = object.get("/a").await;
    let meta = &parse(&body)["meta"];
    assert_eq!((&meta["upstreamNext"], &meta["upstreamTotal"]), (&json!("/a?page=2"), &json!(9999)));
}
