//! What whoever started us says of the room that there is.

use portion_core::policy::{LEAST_BUDGET, Room};
use portion_gateway::client::Limit;

/// The variable by which Claude Code bounds results, in tokens. It hands its environment on to the servers that it
/// starts.
///
/// Source: <https://code.claude.com/docs/en/mcp#mcp-output-limits-and-warnings>.
const MAX_MCP_OUTPUT_TOKENS: &str = "MAX_MCP_OUTPUT_TOKENS";

/// The room that whoever started us says there is. What makes no sense is told and left aside: it is not ours to refuse.
pub(crate) fn surroundings() -> Room {
    let Some(said) = std::env::var_os(MAX_MCP_OUTPUT_TOKENS) else { return Room::UNKNOWN };
    let said = said.to_string_lossy();
    let Some(tokens) = said.trim().parse().ok().filter(|tokens| *tokens > 0) else {
        tracing::warn!("{MAX_MCP_OUTPUT_TOKENS} is {said}, which is no number of tokens: it is left aside");
        return Room::UNKNOWN;
    };
    let room = Limit::Tokens(tokens).room();
    let least = 2 * LEAST_BUDGET;
    if room.tokens < Some(least) {
        tracing::warn!("{MAX_MCP_OUTPUT_TOKENS} is {tokens}, but what is asked for may need {least}");
    }
    room
}
