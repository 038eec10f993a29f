//! What an operator can ask a running Portion over HTTP: whether it is well, figures to be collected, and the dashboard.

mod health;
mod metrics;

pub(crate) use metrics::families;

use std::future::ready;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;

use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE};
use hyper::{Method, Response, StatusCode};
use portion_config::places;
use portion_gateway::front::http::{Answering, Asked, Backend, Door, Guard, Limits, WellKnown};
use portion_gateway::http::body::{self, Body};
use portion_gateway::latch::Latch;
use portion_telemetry::prometheus;
use tokio::net::TcpListener;

use crate::dashboard::Dashboard;
use crate::exposure;
use crate::setup::Setup;

/// Where that is, unless somewhere else was written.
pub(crate) const USUAL: &str = "127.0.0.1:9465";
/// Bytes of a request: nothing is sent here.
pub(crate) const REQUEST_BYTES: usize = 4 << 10;

/// Connections at the same time, apart from those of clients.
const CONNECTIONS: usize = 64;
/// File descriptors that are kept back, so that health can be asked for when clients have used up all others.
const RESERVE: usize = 8;

/// Refuses an address that other machines can reach, unless the operator wants that.
///
/// # Errors
/// What is wrong, and what to write instead.
pub(crate) fn check(at: Option<SocketAddr>, insecure: bool) -> Result<(), String> {
    at.map_or(Ok(()), |at| exposure::check(at, insecure, "health, metrics and records", "--admin"))
}

/// Serves the operator until the program ends. Where that cannot be, it is told, and everything else goes on: another
/// process may serve there already.
pub(crate) async fn serve(at: Option<SocketAddr>, setup: &Arc<Setup>) {
    let Some(at) = at else { return };
    let listener = match TcpListener::bind(at).await {
        Ok(listener) => listener,
        Err(error) => {
            tracing::warn!(%at, %error, "no health, no metrics, no dashboard; name another address with --admin");
            return;
        }
    };
    let Ok(address) = listener.local_addr() else { return };
    tracing::info!(%address, "health, metrics and the dashboard");
    let page = |path: &str, kind, write| {
        let page: Arc<dyn Backend> = Arc::new(Page { setup: Arc::clone(setup), kind, write });
        (path.to_owned(), page)
    };
    let recording = Arc::clone(setup);
    let lost = Box::new(move || recording.health().1.map(|records| records.dropped));
    let dashboard = Arc::new(Dashboard::of(setup.config.telemetry(places::telemetry), lost));
    let pages = vec![
        ("/".to_owned(), dashboard as Arc<dyn Backend>),
        page("/health", "application/json", health::health),
        page("/metrics", prometheus::CONTENT_TYPE, metrics::metrics),
    ];
    let guard = Guard::new(address, setup.config.allow_hosts(), setup.config.allow_origins());
    let limits = Limits { connections: CONNECTIONS, reserve: RESERVE, ..Limits::default() };
    let door = Door::new(guard, setup.principals.clone(), limits.with_body(REQUEST_BYTES), pages);
    tokio::spawn(Arc::new(door).serve(listener, Arc::new(Latch::default())));
}

/// Something to be looked at.
struct Page {
    setup: Arc<Setup>,
    kind: &'static str,
    write: fn(&Setup) -> (StatusCode, String),
}

impl Backend for Page {
    fn answer(&self, asked: Asked) -> Answering<'_> {
        let mut response = Response::new(body::empty());
        if asked.method == Method::GET || asked.method == Method::HEAD {
            let (status, text) = (self.write)(&self.setup);
            (*response.status_mut(), *response.body_mut()) = (status, body::full(text));
            set(&mut response, CONTENT_TYPE, self.kind);
            set(&mut response, CACHE_CONTROL, "no-store");
        } else {
            *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
            set(&mut response, ALLOW, "GET, HEAD");
        }
        Box::pin(ready(response))
    }

    fn speaks_rpc(&self) -> bool {
        false
    }

    fn well_known(&self, _: Asked, _: WellKnown) -> Option<Answering<'_>> {
        None
    }

    fn close(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(ready(()))
    }
}

fn set(response: &mut Response<Body>, name: hyper::header::HeaderName, value: &'static str) {
    response.headers_mut().insert(name, hyper::header::HeaderValue::from_static(value));
}
