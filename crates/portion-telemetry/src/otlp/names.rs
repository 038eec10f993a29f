//! Names of span attributes that are not metric attributes; those are in `portion_telemetry::names`.

// <https://opentelemetry.io/docs/specs/semconv/gen-ai/mcp/>
pub(crate) const OPERATION: &str = "gen_ai.operation.name";
pub(crate) const RESOURCE_URI: &str = "mcp.resource.uri";

pub(crate) const REQUEST: &str = "portion.request";
pub(crate) const OUTCOME: &str = "portion.outcome";
pub(crate) const UPSTREAM: &str = "portion.upstream";
pub(crate) const TOKENS_ORIGINAL: &str = "portion.tokens.original";
pub(crate) const TOKENS_SERVED: &str = "portion.tokens.served";
pub(crate) const BYTES_ORIGINAL: &str = "portion.bytes.original";
pub(crate) const BYTES_SERVED: &str = "portion.bytes.served";
pub(crate) const ITEMS: &str = "portion.items";
pub(crate) const ITEMS_TOTAL: &str = "portion.items.total";
pub(crate) const STAGES: &str = "portion.stages";
pub(crate) const FOLLOW_UP: &str = "portion.follow_up";
/// In seconds.
pub(crate) const OVERHEAD: &str = "portion.overhead";
pub(crate) const ARM: &str = "portion.arm";
pub(crate) const CONFIG_VERSION: &str = "portion.config.version";
