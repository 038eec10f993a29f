//! Tells a collector of OpenTelemetry what was served: a span and some measurements for each request, by OTLP over HTTP.
//!
//! An [`Exporter`] hears events of the core, makes spans of them, and threads of the SDK send these, with the figures that the
//! program has by then. A collector that is away, slow or broken costs spans, which are counted, and is told of once.
//!
//! What is sent follows the conventions for MCP, <https://opentelemetry.io/docs/specs/semconv/gen-ai/mcp/>, and carries
//! sizes, names and codes, never content.

mod client;
mod desk;
mod exporter;
mod figures;
mod ids;
mod meters;
mod names;
mod providers;
mod resource;
mod send;
mod settings;
mod span;

pub use exporter::Exporter;
pub use settings::{Settings, Signal};
