//! The layer and its service.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response};
use http_body::Body as HttpBody;
use portion_core::cursor::Scope;
use portion_gateway::gateway::Gateway;
use portion_gateway::gateway_parts::random_secret;
use portion_gateway::principal::{DEFAULT_PRINCIPAL_HEADERS, Principal, PrincipalResolver};
use tower_layer::Layer;
use tower_service::Service;

use crate::body::{Body, BoxError, streamed};
use crate::cors::CorsMemory;
use crate::exchange::Exchange;
use crate::route::RouteTable;

/// Largest response of the service by default, in bytes.
const DEFAULT_MAX_RESPONSE_BYTES: usize = 256 << 20;

/// Fits the JSON responses of a service into a token budget.
#[derive(Clone)]
pub struct PortionLayer {
    shared: Arc<Shared>,
}

/// A service inside a [`PortionLayer`].
#[derive(Clone)]
pub struct PortionService<S> {
    shared: Arc<Shared>,
    inner: S,
}

/// Caller of a request.
#[derive(Clone, Copy, Debug)]
pub struct CallerIdentity {
    /// Scope that owns the snapshots of the caller.
    pub scope: Scope,
    /// True if the scope belongs to one caller alone. Otherwise nothing is reused without a cursor, and a cursor is a
    /// bearer secret of the caller that received it.
    pub is_authenticated: bool,
}

/// Identifies the caller of a request by its headers.
pub type IdentifyCaller = Arc<dyn Fn(&HeaderMap) -> CallerIdentity + Send + Sync>;

/// Options of a [`PortionLayer`].
#[derive(Clone)]
pub struct HttpOptions {
    /// Known operations of the API.
    pub routes: RouteTable,
    /// Largest response in bytes; a larger one becomes an error.
    pub max_response_bytes: usize,
    /// Name of the upstream in records and rules, if there are several.
    pub upstream: Option<Arc<str>>,
    /// Identifies callers.
    pub identify: IdentifyCaller,
}

/// State of all clones of a layer.
pub(crate) struct Shared {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) options: HttpOptions,
    pub(crate) cors: CorsMemory,
}

impl PortionLayer {
    /// Creates a layer with the default options.
    pub fn new(gateway: Arc<Gateway>) -> Self {
        Self::with_options(gateway, HttpOptions::default())
    }

    /// Creates a layer with these options.
    pub fn with_options(gateway: Arc<Gateway>, options: HttpOptions) -> Self {
        Self { shared: Arc::new(Shared { gateway, options, cors: CorsMemory::default() }) }
    }
}

/// Returns a function that identifies callers by their credentials, under a random key.
fn identify_by_credentials() -> impl Fn(&HeaderMap) -> CallerIdentity + Send + Sync {
    // Without randomness, nobody is known, and nothing is shared.
    let resolver =
        random_secret().ok().map(|key| PrincipalResolver::new(key, DEFAULT_PRINCIPAL_HEADERS.to_vec()));
    move |headers| match &resolver {
        Some(resolver) => CallerIdentity::from(&resolver.identify("", None, headers)),
        None => CallerIdentity { scope: Scope::from_principal(""), is_authenticated: false },
    }
}

impl From<&Principal> for CallerIdentity {
    fn from(principal: &Principal) -> Self {
        Self { scope: principal.sessionless_scope(), is_authenticated: principal.has_credential() }
    }
}

impl Default for HttpOptions {
    /// No known routes, responses of at most 256 MiB, and callers identified by their credentials.
    fn default() -> Self {
        Self {
            routes: RouteTable::default(),
            max_response_bytes: DEFAULT_MAX_RESPONSE_BYTES,
            upstream: None,
            identify: Arc::new(identify_by_credentials()),
        }
    }
}

impl<S> Layer<S> for PortionLayer {
    type Service = PortionService<S>;

    fn layer(&self, inner: S) -> PortionService<S> {
        PortionService { shared: Arc::clone(&self.shared), inner }
    }
}

impl<S, RequestBody, ResponseBody> Service<Request<RequestBody>> for PortionService<S>
where
    S: Service<Request<RequestBody>, Response = Response<ResponseBody>> + Clone + Send + 'static,
    S::Future: Send,
    S::Error: Send,
    RequestBody: Send + 'static,
    ResponseBody: HttpBody<Data = Bytes> + Send + 'static,
    ResponseBody::Error: Into<BoxError>,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, S::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<RequestBody>) -> Self::Future {
        // The service that is ready is called, and a clone of it stays.
        let clone = self.inner.clone();
        let inner = std::mem::replace(&mut self.inner, clone);
        let shared = Arc::clone(&self.shared);
        Box::pin(handle(shared, inner, request))
    }
}

async fn handle<S, RequestBody, ResponseBody>(
    shared: Arc<Shared>,
    mut inner: S,
    request: Request<RequestBody>,
) -> Result<Response<Body>, S::Error>
where
    S: Service<Request<RequestBody>, Response = Response<ResponseBody>>,
    ResponseBody: HttpBody<Data = Bytes> + Send + 'static,
    ResponseBody::Error: Into<BoxError>,
{
    if matches!(*request.method(), Method::OPTIONS | Method::CONNECT | Method::TRACE) {
        return Ok(inner.call(request).await?.map(streamed));
    }
    let (mut head, body) = request.into_parts();
    let exchange = Exchange::new(&shared, &head);
    let controls = match exchange.answer_without_service().await {
        Ok(controls) => controls,
        Err(response) => return Ok(*response),
    };
    exchange.prepare_request(&mut head);
    let response = inner.call(Request::from_parts(head, body)).await?;
    Ok(exchange.shape(response, controls).await)
}
