//! Fits the responses of a JSON REST API into a token budget, and serves the rest by cursor.
//!
//! [`PortionLayer`] is a [`tower_layer::Layer`] around any HTTP service. A JSON response that fits passes with its own
//! bytes. A larger one becomes a page, a summary or a chunk:
//!
//! - an object keeps its keys, with its list shortened, and gets `nextCursor`, `totalCount` and `meta`
//! - an array stays an array; `Link: <…>; rel="next"`, `X-Total-Count` and `X-Portion-*` hold the rest
//!
//! A request selects its part by query parameters (`limit`, `cursor`, `page`, `fields`, `path`, `sort` …), which are
//! removed before the service sees the request. A request with a cursor never reaches the service. Everything that is
//! not JSON, streams and uploads pass as they are, without buffering.
//!
//! ```
//! use std::sync::Arc;
//!
//! use portion_core::policy::Policy;
//! use portion_tokens::{Factor, Tokenizer};
//! use portion_gateway::effective_policy::EffectivePolicy;
//! use portion_gateway::gateway::Gateway;
//! use portion_gateway::gateway_parts::{GatewayParts, random_secret};
//! use portion_gateway::rules::EndpointRules;
//! use portion_gateway::store::MemoryStore;
//! use portion_http::PortionLayer;
//!
//! let policy = EffectivePolicy::with_tokenizer(Policy::default(), Tokenizer::O200k, Factor::ONE);
//! let parts = GatewayParts::new(EndpointRules::fixed(policy), Arc::new(MemoryStore::default()), random_secret()?);
//! let layer = PortionLayer::new(Arc::new(Gateway::new(parts)));
//!
//! let app: axum::Router = axum::Router::new()
//!     .route("/bookings", axum::routing::get(async || axum::Json(vec!["one", "two"])))
//!     .layer(layer);
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! `examples/axum.rs` is a whole server.

mod body;
mod controls;
mod cors;
mod exchange;
mod json_end;
mod layer;
mod media_type;
pub mod openapi;
mod options;
mod own_address;
mod paging;
mod payload;
mod response;
mod response_headers;
mod response_timeout;
#[cfg(feature = "reverse-proxy")]
pub mod reverse_proxy;
mod route;
mod variant;

pub use body::{Body, BoxError};
pub use cors::{UnverifiedPreflight, is_preflight};
pub use layer::{PortionLayer, PortionService};
pub use options::{CallerIdentity, HttpOptions, IdentifyCaller, PageResponse, SendPageRequest};
pub use response_headers::{RESPONSE_HEADERS, ResponseHeader};
pub use route::{Route, RouteTable};
