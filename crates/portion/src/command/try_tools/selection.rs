//! The tools that are called.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::Options;
use crate::command::tool_name::unknown_tool;

/// Most tools that are called without being named.
const MAX_TOOLS: usize = 8;

/// A call.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Call {
    pub(super) tool: String,
    pub(super) arguments: Map<String, Value>,
}

/// The calls, and the number of tools that could be called as well.
#[derive(Debug)]
pub(super) struct Selection {
    pub(super) calls: Vec<Call>,
    pub(super) omitted_count: usize,
}

#[derive(Deserialize)]
struct ToolList {
    #[serde(default)]
    tools: Vec<Tool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Tool {
    name: String,
    #[serde(default)]
    input_schema: Value,
    #[serde(default)]
    annotations: Value,
}

impl Tool {
    fn is_read_only(&self) -> bool {
        self.annotations.get("readOnlyHint") == Some(&Value::Bool(true))
    }

    fn required(&self) -> Vec<&str> {
        let names = self.input_schema.get("required").and_then(Value::as_array);
        names.into_iter().flatten().filter_map(Value::as_str).collect()
    }
}

/// Selects from the result of `tools/list`.
///
/// # Errors
/// Returns an error if no tool can be called, with the next step.
pub(super) fn select(list: &RawValue, options: &Options) -> Result<Selection, String> {
    let list: ToolList = serde_json::from_str(list.get())
        .map_err(|error| format!("the list of tools cannot be read: {error}"))?;
    let Some(name) = &options.tool else { return select_all(&list.tools) };
    let tool = list.tools.iter().find(|tool| tool.name == *name).ok_or_else(|| {
        unknown_tool(name, &list.tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>())
    })?;
    if !tool.is_read_only() && !options.allow_writes {
        return Err(format!(
            "{name} does not say that it only reads (readOnlyHint), and it would be called twice: add --allow-writes \
             if that does no harm"
        ));
    }
    let arguments = options.arguments.clone().unwrap_or_default();
    let missing: Vec<&str> =
        tool.required().into_iter().filter(|name| !arguments.contains_key(*name)).collect();
    if !missing.is_empty() {
        return Err(format!("{name} requires {}: give them with --args", missing.join(", ")));
    }
    Ok(Selection { calls: vec![Call { tool: name.clone(), arguments }], omitted_count: 0 })
}

fn select_all(tools: &[Tool]) -> Result<Selection, String> {
    let read_only: Vec<&Tool> = tools.iter().filter(|tool| tool.is_read_only()).collect();
    let call = |tool: &&Tool| Call { tool: tool.name.clone(), arguments: Map::new() };
    let calls: Vec<Call> = read_only.iter().filter(|tool| tool.required().is_empty()).map(call).collect();
    if calls.is_empty() {
        return Err(match read_only.first() {
            Some(tool) => format!(
                "every tool that only reads requires arguments: name one, as in --tool {} --args '{}'",
                tool.name,
                example(tool)
            ),
            None => "no tool says that it only reads (readOnlyHint): name one with --tool, --args and \
                     --allow-writes"
                .to_owned(),
        });
    }
    let omitted_count = calls.len().saturating_sub(MAX_TOOLS);
    Ok(Selection { calls: calls.into_iter().take(MAX_TOOLS).collect(), omitted_count })
}

/// Returns arguments to be filled in.
fn example(tool: &Tool) -> Value {
    tool.required().into_iter().map(|name| (name.to_owned(), Value::from("…"))).collect::<Map<_, _>>().into()
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: Options,
    }

    const TOOLS: &str = r#"{"tools":[
        {"name":"list","annotations":{"readOnlyHint":true},"inputSchema":{"properties":{"limit":{}}}},
        {"name":"get","annotations":{"readOnlyHint":true},"inputSchema":{"required":["id"]}},
        {"name":"delete","inputSchema":{}}]}"#;

    fn check(tools: &str, line: &[&str], expect: Result<&[&str], &str>) {
        let words = ["try"].iter().chain(line).chain(&["--", "x"]);
        let options = Line::try_parse_from(words).expect("a command line").options;
        let list = RawValue::from_string(tools.to_owned()).expect("JSON");
        match (select(&list, &options), expect) {
            (Ok(selection), Ok(expect)) => {
                let names: Vec<&str> = selection.calls.iter().map(|call| call.tool.as_str()).collect();
                assert_eq!(names, expect, "{line:?}");
            }
            (Err(error), Err(expect)) => assert!(error.contains(expect), "{line:?}: {error}"),
            (selection, _) => panic!("{line:?}: {selection:?}"),
        }
    }

    #[test]
    fn only_reading_tools_are_called() {
        check(TOOLS, &[], Ok(&["list"]));
        check(TOOLS, &["--tool", "get", "--args", r#"{"id":1}"#], Ok(&["get"]));
        check(TOOLS, &["--tool", "get"], Err("requires id"));
        check(TOOLS, &["--tool", "gets"], Err("no tool gets; did you mean get?"));
        check(TOOLS, &["--tool", "delete"], Err("--allow-writes"));
        check(TOOLS, &["--tool", "delete", "--allow-writes"], Ok(&["delete"]));
        let only_get = r#"{"tools":[{"name":"get","annotations":{"readOnlyHint":true},"inputSchema":{"required":["id"]}}]}"#;
        check(only_get, &[], Err(r#"--tool get --args '{"id":"…"}'"#));
        check(r#"{"tools":[{"name":"a"}]}"#, &[], Err("no tool says"));
        check("{}", &[], Err("no tool says"));
    }
}
