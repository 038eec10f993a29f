//! The dashboard as a backend. Pages are made on blocking threads, so that other requests do not wait for them.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use hyper::header::{ALLOW, HeaderName, HeaderValue};
use hyper::{Method, Response, StatusCode};
use portion_dashboard::{Answer, Records, Site};
use portion_mcp::front::http::{Backend, InboundRequest, ResponseFuture};
use portion_mcp::http::body::{self, Body};
use tokio::sync::Semaphore;

/// Largest number of pages that are made at the same time; others wait.
const MAX_CONCURRENT_PAGES: usize = 2;

/// Returns the number of records that were lost.
type LostRecordCount = Box<dyn Fn() -> Option<u64> + Send + Sync>;

/// The dashboard as a backend.
pub(crate) struct DashboardBackend {
    site: Arc<Site>,
    lost_records: LostRecordCount,
    permits: Semaphore,
}

impl DashboardBackend {
    /// Creates the backend for this file; with `None`, telemetry is off. `token_price` is the price of a million tokens
    /// in US dollars.
    pub(crate) fn new(file: Option<PathBuf>, token_price: Option<f64>, lost: LostRecordCount) -> Self {
        let site = Site::new(file.map_or(Records::Off, Records::At)).with_token_price(token_price);
        Self { site: Arc::new(site), lost_records: lost, permits: Semaphore::new(MAX_CONCURRENT_PAGES) }
    }

    async fn render_page(&self, request: InboundRequest) -> Response<Body> {
        if request.method != Method::GET && request.method != Method::HEAD {
            return response(StatusCode::METHOD_NOT_ALLOWED, &[(ALLOW, "GET, HEAD")], body::empty());
        }
        let Ok(_seat) = self.permits.acquire().await else {
            return response(StatusCode::SERVICE_UNAVAILABLE, &[], body::empty());
        };
        let (site, lost) = (Arc::clone(&self.site), (self.lost_records)());
        let answer = tokio::task::spawn_blocking(move || {
            site.answer(&request.path, request.query.as_deref(), lost, SystemTime::now())
        });
        let failed = |_| response(StatusCode::INTERNAL_SERVER_ERROR, &[], body::empty());
        answer.await.map_or_else(failed, into_response)
    }
}

impl Backend for DashboardBackend {
    fn handle(&self, request: InboundRequest) -> ResponseFuture<'_> {
        Box::pin(self.render_page(request))
    }

    fn accepts_json_rpc(&self) -> bool {
        false
    }
}

fn into_response(answer: Answer) -> Response<Body> {
    let Answer { status, headers, body } = answer;
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = headers.into_iter().map(|(name, value)| (HeaderName::from_static(name), value));
    let body = body::full(match body {
        Cow::Borrowed(bytes) => bytes::Bytes::from_static(bytes),
        Cow::Owned(bytes) => bytes.into(),
    });
    response(status, &headers.collect::<Vec<_>>(), body)
}

/// Returns a response to the operator.
pub(crate) fn response(
    status: StatusCode,
    headers: &[(HeaderName, &'static str)],
    body: Body,
) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    for (name, value) in headers {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}
