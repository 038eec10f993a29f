//! Exports requests to an OpenTelemetry collector, by OTLP over HTTP: a span and some measurements each.
//!
//! An [`Exporter`] observes events of the core and builds spans. A [`portion_net::worker::Worker`] sends them in batches, and a
//! thread of the SDK sends the metrics of the program. If the collector is away, slow or broken, spans are dropped and counted, and the log says
//! so once.
//!
//! Spans and metrics follow the MCP conventions, <https://opentelemetry.io/docs/specs/semconv/gen-ai/mcp/>. They carry
//! sizes, names and codes, never content.
//!
//! ```
//! use portion_telemetry::otlp::Settings;
//!
//! let settings = Settings::of(Some("http://127.0.0.1:4318"), |_variable| None).unwrap();
//! assert_eq!(settings.traces.unwrap().endpoint, "http://127.0.0.1:4318/v1/traces");
//! ```
//!
//! # Modules
//!
//! | module | subject |
//! | --- | --- |
//! | `settings` | destinations |
//! | `exporter`, `providers` | the observer; the pipelines of the OpenTelemetry SDK, attributes of the service, and the histograms of each request |
//! | `span`, `observables` | the span of a request, its id and the names of its attributes; all metrics but histograms, read at each export |
//! | `send`, `stats`, `client` | the queue of spans, and exporters with counters; one log line per failure; the HTTP client of their threads |

mod client;
mod exporter;
mod observables;
mod providers;
mod send;
mod settings;
mod span;
mod stats;

pub use exporter::Exporter;
pub use settings::{Batches, Settings, Signal};
