//! The layer and its service.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Response};
use http_body::Body as HttpBody;
use parking_lot::Mutex;
use portion_core::view::Request as Controls;
use portion_gateway::gateway::{Gateway, NestedPortion};
use portion_net::forwarding::echoes_request;
use tower_layer::Layer;
use tower_service::Service;

use crate::body::{Body, BoxError, streamed};
use crate::cors::{CorsMemory, UnverifiedPreflight, bare_preflight_response, is_preflight};
use crate::exchange::Exchange;
use crate::options::{EndpointSet, HttpOptions, ResponseTimeout, Shared};

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

impl PortionLayer {
    /// Creates a layer with the default options.
    pub fn new(gateway: Arc<Gateway>) -> Self {
        Self::with_options(gateway, HttpOptions::default())
    }

    /// Creates a layer with these options.
    pub fn with_options(gateway: Arc<Gateway>, options: HttpOptions) -> Self {
        Self {
            shared: Arc::new(Shared {
                gateway,
                options,
                cors: CorsMemory::default(),
                nested_portion: NestedPortion::default(),
                cursor_endpoints: EndpointSet::default(),
                limit_endpoints: EndpointSet::default(),
                zero_based_endpoints: EndpointSet::default(),
                page_headers: Mutex::default(),
                results_of_queries: Mutex::default(),
            }),
        }
    }

    /// Lets a page of this origin read an error that was made before the layer got the request, if the endpoint of the
    /// request is known to allow that. `response`: the header fields of the error.
    pub fn allow_reading(
        &self,
        method: &Method,
        path: &str,
        origin: Option<&HeaderValue>,
        response: &mut HeaderMap,
    ) {
        let route = self.shared.route(method, path);
        self.shared.cors.apply(&route.endpoint_name, origin, response);
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
    mut request: Request<RequestBody>,
) -> Result<Response<Body>, S::Error>
where
    S: Service<Request<RequestBody>, Response = Response<ResponseBody>>,
    ResponseBody: HttpBody<Data = Bytes> + Send + 'static,
    ResponseBody::Error: Into<BoxError>,
{
    if echoes_request(request.method()) {
        if let Some(timeout) = shared.gateway.rules().default_rule().config().request_timeout {
            request.extensions_mut().insert(ResponseTimeout(timeout));
        }
        return Ok(inner.call(request).await?.map(streamed));
    }
    let (mut head, body) = request.into_parts();
    let mut exchange = Exchange::new(&shared, &head);
    // The URL of a preflight has the controls of the request that follows.
    let controls = if is_preflight(&head.method, &head.headers) {
        Controls::default()
    } else {
        match exchange.answer_without_service().await {
            Ok(controls) => controls,
            Err(response) => return Ok(*response),
        }
    };
    exchange.prepare_request(&mut head);
    let is_unverified = head.extensions.get::<UnverifiedPreflight>().is_some();
    let response = inner.call(Request::from_parts(head, body)).await?;
    if is_unverified {
        return Ok(bare_preflight_response(response));
    }
    Ok(exchange.shape(response, controls).await)
}
