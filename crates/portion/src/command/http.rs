//! `portion http`: a reverse proxy in front of a JSON REST API.

use std::convert::Infallible;
use std::fmt::Display;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use hyper::Request;
use hyper::body::Incoming;
use hyper::header::ORIGIN;
use portion_config::Config;
use portion_config::named_file::read_named_text;
use portion_config::reference::{ProcessEnvironment, expand};
use portion_core::view::ControlNames;
use portion_gateway::overload::OverloadLimit;
use portion_mcp::front::http::OriginGuard;
use portion_mcp::front::{ShutdownDeadline, ShutdownSignals};
use portion_policy::upstream::{Transport, UpstreamTarget};
use portion_rest::reverse_proxy::{self, ReverseProxy, ServerLimits};
use portion_rest::{HttpOptions, PortionLayer, Route, RouteTable, document_routes};
use tower_layer::Layer as _;

use super::CommandResult;
use crate::cli::failure::{StartCheck, UsageError};
use crate::cli::options::{ApiKeys, ConfigOptions as Keys};
use crate::cli::remote::{HEADER_HELP, RemoteServer};
use crate::cli::rest::MAX_DOCUMENT_BYTES;
use crate::run::access::{self, ApiCallers, Upstreams};
use crate::run::admin;
use crate::run::listening::{self, Listener};
use crate::run::server::{Server, ServerIds};
use crate::run::setup::{LoadedConfig, SNAPSHOT_TTL, Setup};

const AFTER_HELP: &str = "\
Examples:
  portion http --upstream https://api.example.com
  portion http --upstream https://api.example.com/v1 --header 'Authorization: Bearer ${TOKEN}'
  portion http --upstream https://api.example.com/v1 --openapi openapi.yaml
  portion http --upstream http://127.0.0.1:3000 --api-parameter limit,offset

Then ask it as you would ask the API: curl 'http://127.0.0.1:8766/bookings?fields=id,status&limit=50'
A large response comes in portions; the `Link` header and `nextCursor` name the next one.";

const OPENAPI_HELP: &str = "OpenAPI document of the API, JSON or YAML: names its endpoints, and the query parameters that \
                            it reads itself";

/// Options of `portion http`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Options {
    /// URL of the API; paths of requests are appended to its path. h2c://… means HTTP/2 without TLS
    #[arg(long, value_name = "URL")]
    upstream: String,
    #[arg(long = "header", value_name = "FIELD", help = HEADER_HELP)]
    headers: Vec<String>,
    /// Query parameter that the API reads itself, although Portion has one of the same name; separated by commas, or repeated
    #[arg(long = "api-parameter", value_name = "NAME", value_delimiter = ',')]
    api_parameters: Vec<String>,
    #[arg(long, value_name = "FILE", help = OPENAPI_HELP)]
    openapi: Option<PathBuf>,
    #[command(flatten)]
    config_keys: Keys<ApiKeys>,
}

/// Scheme of an API that speaks HTTP/2 without TLS.
const H2C_SCHEME: &str = "h2c://";

/// Address to listen at by default.
const DEFAULT_ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8766);

/// Serves until a signal ends it.
pub(crate) fn run(options: &Options) -> CommandResult {
    let loaded = LoadedConfig::load(&options.config_keys)?;
    listening::run(|shutdown| serve(options, loaded, shutdown))
}

async fn serve(options: &Options, loaded: LoadedConfig, shutdown: ShutdownDeadline) -> CommandResult {
    let signals = ShutdownSignals::listen()?;
    let exposed = listener(&loaded.config);
    let target = options.target()?;
    let headers = target.headers().iter();
    let headers =
        headers.map(|(name, value)| format!("{name}: {}", String::from_utf8_lossy(value.as_bytes())));
    let headers: Vec<String> = headers.collect();
    let url = target.url().to_string();
    let upstreams = Upstreams::OneRemote { url: &url, headers: &headers };
    let authenticator = access::authenticator(&loaded.config, exposed, &upstreams)?;
    let admin_callers = access::admin_authenticator(&loaded.config, loaded.config.admin(), false)?;
    let proxy = if options.upstream.starts_with(H2C_SCHEME) {
        ReverseProxy::over_h2c(target.clone())?
    } else {
        ReverseProxy::new(target.clone())?
    };
    let routes = options.routes()?;
    let start_check = start_check(url.clone(), headers.clone());
    let api = Server::Remote(RemoteServer { url, headers, transport: Transport::default() });
    let setup = loaded.start(&ServerIds::new([("http", &api)]), SNAPSHOT_TTL, start_check)?;
    admin::export_metrics(&setup);
    let mut shutdown_guard = setup.shutdown_guard();
    shutdown_guard.shutdown_deadline = shutdown;
    let layer = PortionLayer::with_options(
        Arc::clone(&setup.gateway),
        options.layer_options(&setup, routes, proxy.clone()),
    );
    let listener = listening::bind(exposed.at).await?;
    let address = listener.local_addr()?;
    // The query may contain a secret.
    let upstream = target.url().to_string();
    let upstream = upstream.split('?').next().unwrap_or_default();
    crate::cli::terminal::print_stderr!("portion: listening on http://{address} in front of {upstream}");
    admin::serve(setup.config.admin(), &setup, admin_callers).await;
    setup.spawn_expiry_task();
    let guard = OriginGuard::new(address, setup.config.allow_hosts(), setup.config.allow_origins());
    let preparing = Arc::clone(&authenticator);
    tokio::spawn(async move { preparing.prepare().await });
    let callers = Arc::new(ApiCallers { guard, authenticator, principals: setup.principals.clone() });
    let shaped = layer.layer(proxy);
    let service = tower::service_fn(move |request: Request<Incoming>| {
        let (callers, layer, mut shaped) = (Arc::clone(&callers), layer.clone(), shaped.clone());
        async move {
            let (method, uri) = (request.method().clone(), request.uri().clone());
            let origin = request.headers().get(ORIGIN).cloned();
            let mut rejected = match callers.admit(request).await {
                Ok(request) => match reverse_proxy::path_rejection(request.uri()) {
                    Some(rejected) => rejected,
                    None => return tower_service::Service::call(&mut shaped, request).await,
                },
                Err(rejected) => rejected,
            };
            layer.allow_reading(&method, uri.path(), origin.as_ref(), rejected.headers_mut());
            Ok::<_, Infallible>(rejected)
        }
    });
    let mut limits = ServerLimits { overload: Some(OverloadLimit::default()), ..ServerLimits::default() };
    limits.connections.drain_timeout = setup.config.drain_timeout();
    let draining = Arc::clone(&setup.drain_flag);
    let serving = reverse_proxy::serve(listener, service, limits, async move { draining.wait().await });
    listening::serve_until_signal(serving, signals, &setup).await
}

/// Returns the listener of clients, as configured.
fn listener(config: &Config) -> Listener {
    let at = config.listen_or(DEFAULT_ADDRESS);
    Listener { at, subject: "the API", option: "--listen", auth_option: Some("--auth bearer") }
}

/// Returns the check of a changed configuration in front of the API with this URL and these headers.
fn start_check(url: String, headers: Vec<String>) -> StartCheck {
    Box::new(move |config: &Config| {
        let upstreams = Upstreams::OneRemote { url: &url, headers: &headers };
        let callers = access::caller_error(config, listener(config), &upstreams);
        callers.into_iter().chain(access::admin_error(config, config.admin(), false)).collect::<Vec<_>>()
    })
}

impl Options {
    fn target(&self) -> Result<UpstreamTarget, Box<dyn std::error::Error>> {
        let url = self.upstream.strip_prefix(H2C_SCHEME).map(|rest| format!("http://{rest}"));
        let mut target = UpstreamTarget::new(url.as_deref().unwrap_or(&self.upstream))?;
        for line in &self.headers {
            let line = expand(line, &ProcessEnvironment)
                .map_err(|error| UsageError::from(format!("a header {error}")))?;
            target = target.with_header(&line)?;
        }
        Ok(target)
    }

    /// Returns the operations of the `OpenAPI` document, if there is one.
    fn routes(&self) -> Result<Vec<Route>, String> {
        let Some(file) = &self.openapi else { return Ok(Vec::new()) };
        let named = |error: &dyn Display| format!("--openapi {}: {error}", file.display());
        let document = read_named_text(file, MAX_DOCUMENT_BYTES).map_err(|error| named(&error))?;
        document_routes(&document).map_err(|error| named(&error))
    }

    fn layer_options(&self, setup: &Arc<Setup>, routes: Vec<Route>, proxy: ReverseProxy) -> HttpOptions {
        HttpOptions {
            routes: RouteTable::new(routes, self.api_parameters.clone()),
            max_response_bytes: setup.config.upstream_message_limit(),
            upstream: None,
            control_names: ControlNames::new(setup.config.listing(None).query_argument.as_deref()),
            send_page_request: Some(Arc::new(move |request| {
                let mut proxy = proxy.clone();
                Box::pin(async move {
                    tower_service::Service::call(&mut proxy, request).await.map_err(|never| match never {})
                })
            })),
            ..HttpOptions::default()
        }
    }
}
