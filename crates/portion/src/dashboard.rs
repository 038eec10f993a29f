//! The dashboard behind a door: reading takes as long as it takes, and nobody else waits for it.

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::SystemTime;

use hyper::header::{ALLOW, HeaderName, HeaderValue};
use hyper::{Method, Response, StatusCode};
use portion_dashboard::{Answer, Records, Site};
use portion_gateway::front::http::{Answering, Asked, Backend, WellKnown};
use portion_gateway::http::body::{self, Body};
use tokio::sync::Semaphore;

/// Pages that are made at the same time; further ones wait for them.
const SEATS: usize = 2;

/// How many records are known not to have been written.
type Lost = Box<dyn Fn() -> Option<u64> + Send + Sync>;

/// The dashboard behind a door.
pub(crate) struct Dashboard {
    site: Arc<Site>,
    lost: Lost,
    seats: Semaphore,
}

impl Dashboard {
    /// What is in that file; `None`: telemetry is off.
    pub(crate) fn of(file: Option<PathBuf>, lost: Lost) -> Self {
        let site = Site::new(file.map_or(Records::Off, Records::At));
        Self { site: Arc::new(site), lost, seats: Semaphore::new(SEATS) }
    }

    async fn page(&self, asked: Asked) -> Response<Body> {
        if asked.method != Method::GET && asked.method != Method::HEAD {
            let mut response = failed(StatusCode::METHOD_NOT_ALLOWED);
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return response;
        }
        let Ok(_seat) = self.seats.acquire().await else { return failed(StatusCode::SERVICE_UNAVAILABLE) };
        let (site, lost) = (Arc::clone(&self.site), (self.lost)());
        let answer = tokio::task::spawn_blocking(move || {
            site.answer(&asked.path, asked.query.as_deref(), lost, SystemTime::now())
        });
        answer.await.map_or_else(|_| failed(StatusCode::INTERNAL_SERVER_ERROR), response)
    }
}

impl Backend for Dashboard {
    fn answer(&self, asked: Asked) -> Answering<'_> {
        Box::pin(self.page(asked))
    }

    fn speaks_rpc(&self) -> bool {
        false
    }

    fn well_known(&self, _: Asked, _: WellKnown) -> Option<Answering<'_>> {
        None
    }

    fn close(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(std::future::ready(()))
    }
}

fn response(answer: Answer) -> Response<Body> {
    let Answer { status, headers, body } = answer;
    let mut response = Response::new(body::full(match body {
        std::borrow::Cow::Borrowed(bytes) => bytes::Bytes::from_static(bytes),
        std::borrow::Cow::Owned(bytes) => bytes.into(),
    }));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    for (name, value) in headers {
        response.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    response
}

fn failed(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(body::empty());
    *response.status_mut() = status;
    response
}
