//! The HTTP listener of the operator: health, metrics and the dashboard.

mod health;
mod metrics;
mod sign_in;

use std::future::ready;
use std::net::SocketAddr;
use std::sync::Arc;

use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderMap};
use hyper::{Method, Response, StatusCode};
use portion_auth::Authenticator;
use portion_config::find;
use portion_mcp::front::http::{
    Backend, HttpLimits, HttpServer, InboundRequest, OriginGuard, ResponseFuture,
};
use portion_mcp::http::body::{self, Body};
use portion_mcp::once::OneShotFlag;
use portion_telemetry::prometheus;
use tokio::net::TcpListener;

use crate::run::dashboard::DashboardBackend;
use crate::run::setup::Setup;
pub(crate) use metrics::export_metrics;
use sign_in::SignIn;

/// Default address.
pub(crate) const DEFAULT_ADDRESS: &str = "127.0.0.1:9465";
/// Largest request body, in bytes; no request needs one.
pub(crate) const MAX_REQUEST_BYTES: usize = 4 << 10;

/// Largest number of connections, apart from those of clients.
const MAX_CONNECTIONS: usize = 64;
/// File descriptors reserved for health checks, if clients have used up all others.
const RESERVED_FDS: usize = 8;

/// Serves until the program ends. If the address is taken, perhaps by another process of Portion, it logs that, and the
/// program continues without.
pub(crate) async fn serve(at: Option<SocketAddr>, setup: &Arc<Setup>, authenticator: Arc<Authenticator>) {
    let Some(at) = at else { return };
    let listener = match TcpListener::bind(at).await {
        Ok(listener) => listener,
        Err(error) => {
            tracing::warn!(%at, %error, "health, metrics and the dashboard are not served; set another address with --admin");
            return;
        }
    };
    let Ok(address) = listener.local_addr() else { return };
    crate::cli::terminal::print_stderr!("portion: dashboard at http://{address}/");
    let page = |path: &str, kind, write: Render, write_bare: Option<Render>| {
        let setup = Arc::clone(setup);
        let page: Arc<dyn Backend> =
            Arc::new(AdminPage { setup, content_type: kind, render: write, render_bare: write_bare });
        (path.to_owned(), page)
    };
    let recording = Arc::clone(setup);
    let lost = Box::new(move || recording.config_and_recorder_status().1.map(|records| records.dropped));
    let records = setup.config.telemetry(find::telemetry_file);
    let dashboard = DashboardBackend::new(records, setup.config.token_price(), lost);
    let dashboard = SignIn { pages: dashboard, authenticator: Arc::clone(&authenticator) };
    let pages = vec![
        ("/".to_owned(), Arc::new(dashboard) as Arc<dyn Backend>),
        page("/health", "application/json", health::health, Some(health::bare_health)),
        page("/metrics", prometheus::CONTENT_TYPE, metrics::metrics, None),
    ];
    let guard = OriginGuard::new(address, setup.config.allow_hosts(), setup.config.allow_origins());
    let mut limits = HttpLimits::default().with_max_body_bytes(MAX_REQUEST_BYTES);
    limits.connections.max_connections = MAX_CONNECTIONS;
    limits.connections.reserved_descriptors = RESERVED_FDS;
    let server = HttpServer::new(guard, setup.principals.clone(), limits, pages);
    let server = server.with_authenticator(authenticator);
    tokio::spawn(Arc::new(server).serve(listener, Arc::new(OneShotFlag::default())));
}

/// Writes a page.
type Render = fn(&Setup) -> (StatusCode, String);

/// A page for the operator.
struct AdminPage {
    setup: Arc<Setup>,
    content_type: &'static str,
    render: Render,
    /// Writes what is no secret, for callers without a credential.
    render_bare: Option<Render>,
}

impl AdminPage {
    fn respond(&self, request: &InboundRequest, render: Render) -> Response<Body> {
        let mut response = Response::new(body::empty());
        if request.method == Method::GET || request.method == Method::HEAD {
            let (status, text) = render(&self.setup);
            (*response.status_mut(), *response.body_mut()) = (status, body::full(text));
            set_header(&mut response, CONTENT_TYPE, self.content_type);
            set_header(&mut response, CACHE_CONTROL, "no-store");
        } else {
            *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
            set_header(&mut response, ALLOW, "GET, HEAD");
        }
        response
    }
}

impl Backend for AdminPage {
    fn handle(&self, request: InboundRequest) -> ResponseFuture<'_> {
        Box::pin(ready(self.respond(&request, self.render)))
    }

    fn admits_stranger(&self, _: &Method, _: &str, _: &HeaderMap) -> bool {
        self.render_bare.is_some()
    }

    fn handle_stranger(&self, request: InboundRequest) -> Option<ResponseFuture<'_>> {
        let response = self.respond(&request, self.render_bare?);
        Some(Box::pin(ready(response)))
    }

    fn accepts_json_rpc(&self) -> bool {
        false
    }
}

fn set_header(response: &mut Response<Body>, name: hyper::header::HeaderName, value: &'static str) {
    response.headers_mut().insert(name, hyper::header::HeaderValue::from_static(value));
}
