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
//! use portion_rest::PortionLayer;
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
//!
//! [`openapi`] turns the operations of an API into tools. `link` (feature `link`) is a server of them for MCP clients.
//!
//! # Modules
//!
//! | module | subject |
//! | --- | --- |
//! | `layer`, `options`, `exchange` | the tower layer; its options; one request and its response |
//! | `paging`, `payload` | lists that the API pages by itself: names of its parameters, requests for further pages; payloads of bodies |
//! | `controls`, `route` | splits a query into controls and the rest; names the endpoint of a request, by the operations of an `OpenAPI` document if there is one |
//! | `response`, `body`, `cors` | writes portions and errors; reads and decodes bodies; CORS headers of replies that the API does not see, what an unverified preflight gets, and the table of header fields that replies have beside those of the API |
//! | `media_type`, `json_end`, `variant` | tells JSON from other bodies; the end of a JSON value, after which a body that goes on is a stream; requests that may get the same response |
//! | `openapi` | documents and described tools: operations, tools with JSON Schemas, and the request of a call |
//! | `link` | feature `link`: a link to a server in this process whose tools are operations of an API; its `content` joins the responses of several paths |
//! | `reverse_proxy` | feature `reverse-proxy`: `client` forwards requests, `uri` keeps them below the upstream's path, `location` leads redirects and links to the upstream to this proxy, `forwarded` sets the header fields about the client, `upgrade` switches protocols, `server` serves HTTP/1.1 and HTTP/2, `request_body` ends bodies that come too slowly and announces those of unknown length, `activity` and `stream_stall` end connections, and streams of HTTP/2, that are idle or are not read |

mod body;
mod controls;
mod cors;
mod exchange;
mod layer;
#[cfg(feature = "link")]
pub mod link;
mod media_type;
pub mod openapi;
mod options;
mod own_address;
mod paging;
mod response;
#[cfg(feature = "reverse-proxy")]
pub mod reverse_proxy;
mod route;
mod variant;

pub use body::{Body, BoxError};
pub use cors::{RESPONSE_HEADERS, ResponseHeader, UnverifiedPreflight, is_preflight};
pub use layer::{PortionLayer, PortionService};
pub use options::{CallerIdentity, HttpOptions, IdentifyCaller, PageResponse, SendPageRequest};
pub use route::{Route, RouteTable, document_routes};
