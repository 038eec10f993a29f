//! The names of what is sent, all in one place: those of the conventions where there are some, else ours.

// <https://opentelemetry.io/docs/specs/semconv/gen-ai/mcp/>
pub(crate) const METHOD: &str = "mcp.method.name";
pub(crate) const TOOL: &str = "gen_ai.tool.name";
pub(crate) const PROMPT: &str = "gen_ai.prompt.name";
pub(crate) const OPERATION: &str = "gen_ai.operation.name";
pub(crate) const RESOURCE_URI: &str = "mcp.resource.uri";
pub(crate) const ERROR: &str = "error.type";

// Measurements.
pub(crate) const DURATION: &str = "mcp.server.operation.duration";
pub(crate) const REQUESTS: &str = "portion.requests";
pub(crate) const TOKENS: &str = "portion.tokens";
pub(crate) const OVERSIZED: &str = "portion.oversized";
pub(crate) const OVERHEAD: &str = "portion.overhead";
pub(crate) const ESTIMATE_ERROR: &str = "portion.estimate.error";

// What they are told apart by.
pub(crate) const OUTCOME: &str = "portion.outcome";
pub(crate) const DIRECTION: &str = "portion.direction";

// What else is known of a span. `portion.overhead` is in seconds there, too.
pub(crate) const REQUEST: &str = "portion.request";
pub(crate) const UPSTREAM: &str = "portion.upstream";
pub(crate) const TOKENS_ORIGINAL: &str = "portion.tokens.original";
pub(crate) const TOKENS_SERVED: &str = "portion.tokens.served";
pub(crate) const BYTES_ORIGINAL: &str = "portion.bytes.original";
pub(crate) const BYTES_SERVED: &str = "portion.bytes.served";
pub(crate) const ITEMS: &str = "portion.items";
pub(crate) const ITEMS_TOTAL: &str = "portion.items.total";
pub(crate) const STAGES: &str = "portion.stages";
pub(crate) const FOLLOW_UP: &str = "portion.follow_up";
pub(crate) const ARM: &str = "portion.arm";
pub(crate) const CONFIG_VERSION: &str = "portion.config.version";
