//! The profile that a server is offered because it lists the tools of that profile.

use portion_check::Tool;
use portion_config::profile::{ListedTool, Profile};
use serde_json::Value;

/// Returns the profile for a server with these tools.
pub(super) fn for_tools(tools: &[Tool]) -> Option<&'static Profile> {
    let listed = |tool: &Tool| ListedTool {
        name: tool.name.clone(),
        arguments: tool.arguments.keys().cloned().collect(),
    };
    Profile::for_tools(&tools.iter().map(listed).collect::<Vec<_>>())
}

/// Reads the result of `tools/list`.
///
/// # Errors
/// Returns an error if it is no JSON.
pub(super) fn parse_tools(list: &str) -> serde_json::Result<Vec<Tool>> {
    let list: Value = serde_json::from_str(list)?;
    let tools = list.get("tools").and_then(Value::as_array).into_iter().flatten();
    Ok(tools.filter_map(Tool::parse).collect())
}
