//! Endpoints with a pushdown, in front of a service whose responses do not have the list.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{Request, StatusCode};
use axum::response::{IntoResponse as _, Response};
use http_body_util::{BodyExt as _, Full};
use portion_core::policy::ClientLimits;
use portion_gateway::gateway::Gateway;
use portion_gateway::gateway_parts::GatewayParts;
use portion_gateway::rules::EndpointRules;
use portion_gateway::store::MemoryStore;
use portion_policy::endpoint::EndpointConfig;
use portion_policy::pushdown::Pushdown;
use portion_rest::{HttpOptions, PortionLayer};
use tower::ServiceExt as _;

/// Returns a body with these bytes.
fn to_body(bytes: Bytes) -> portion_rest::Body {
    Full::new(bytes).map_err(|never| match never {}).boxed_unsync()
}

/// Targets of the requests that the service has seen.
type Targets = Arc<Mutex<Vec<String>>>;

/// Returns a service that answers with its own target, as JSON or as text, behind a layer with this pushdown.
fn service(settings: &[(&str, &str)], content_type: &'static str) -> (Router, Targets) {
    let targets = Targets::default();
    let seen = Arc::clone(&targets);
    let own = Router::new().fallback(async move |request: Request<Body>| -> Response {
        let target = request.uri().path_and_query().map(ToString::to_string).unwrap_or_default();
        seen.lock().expect("no panic").push(target.clone());
        let body = serde_json::json!({"data": {"target": target}}).to_string();
        ([("content-type", content_type)], body).into_response()
    });
    let settings: Vec<_> =
        settings.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned())).collect();
    let pushdown = Some(Arc::new(Pushdown::from_settings(&settings).expect("settings")));
    let config = EndpointConfig { pushdown, ..EndpointConfig::default() };
    let rules = EndpointRules::new(Arc::new(config), ClientLimits::UNKNOWN);
    let gateway = Gateway::new(GatewayParts::new(rules, Arc::new(MemoryStore::default()), [7; 32]));
    let direct = own.clone();
    let options = HttpOptions {
        send_page_request: Some(Arc::new(move |request| {
            let direct = direct.clone();
            Box::pin(async move {
                let response =
                    direct.oneshot(request.map(Body::new)).await.map_err(|never| match never {})?;
                let (head, body) = response.into_parts();
                let bytes = body.collect().await?.to_bytes();
                Ok(Response::from_parts(head, to_body(bytes)))
            })
        })),
        ..HttpOptions::default()
    };
    (own.layer(PortionLayer::with_options(Arc::new(gateway), options)), targets)
}

/// The client gets the response to the last of these requests. `expect`: targets that the service sees.
async fn check(settings: &[(&str, &str)], content_type: &'static str, target: &str, expect: &[&str]) {
    let (app, targets) = service(settings, content_type);
    let request = Request::get(target).header("authorization", "Bearer ada");
    let response = app.oneshot(request.body(Body::empty()).expect("a request")).await.expect("infallible");
    let status = response.status();
    let body = response.into_body().collect().await.expect("a whole body").to_bytes();
    let body: serde_json::Value = serde_json::from_slice(&body).expect("valid JSON");
    let seen = targets.lock().expect("no panic").clone();
    assert_eq!(seen, expect, "{target}");
    assert_eq!(
        (status, body["data"]["target"].as_str()),
        (StatusCode::OK, expect.last().copied()),
        "{target}"
    );
}

#[tokio::test]
async fn the_page_of_the_client_is_requested_if_the_first_page_has_no_list() {
    const JSON: &str = "application/json";
    let offset = [("preset", "limit-offset"), ("items", "/result")];
    let page = [("preset", "page"), ("limit", "per_page"), ("items", "/result")];
    check(&offset, JSON, "/b?q=x", &["/b?q=x&limit=100&offset=0", "/b?q=x"]).await;
    check(&offset, JSON, "/b?q=x&offset=40", &["/b?q=x&limit=100&offset=0", "/b?q=x&offset=40"]).await;
    // The client's own size of a page is asked for at once.
    let own_size = "/b?q=x&limit=5&offset=40";
    check(&offset, JSON, own_size, &[own_size]).await;
    check(&page, JSON, "/b?per_page=5&page=3&fields=all", &["/b?per_page=5&page=3"]).await;
    check(&page, "text/plain", "/b?page=3", &["/b?per_page=100&page=1", "/b?page=3"]).await;
}
