//! The tools that are called, as `portion check` selects them.

use std::collections::BTreeMap;

use portion_client::check::{CallPlan, Tool};
use serde_json::{Map, Value};

use super::Options;
use crate::command::unknown_tool;

/// A call.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Call {
    pub(super) tool: String,
    pub(super) arguments: Map<String, Value>,
}

/// The tools of a server, as far as they were chosen.
#[derive(Debug)]
pub(super) struct Selection {
    pub(super) plan: CallPlan,
    /// Names of tools that are not called because they may write.
    pub(super) writers: Vec<String>,
}

/// Selects from the tools of a server.
///
/// # Errors
/// Returns an error if no tool can be called, with the next step.
pub(super) fn select(tools: Vec<Tool>, options: &Options) -> Result<Selection, String> {
    let only = |plan| Selection { plan, writers: Vec::new() };
    let Some(name) = &options.tool else {
        let (readers, writers): (Vec<Tool>, Vec<Tool>) =
            tools.into_iter().partition(|tool| tool.reads.is_ok());
        if readers.is_empty() {
            return Err(
                "no tool says that it only reads: name one with --tool, --args and --allow-writes".to_owned()
            );
        }
        let writers = writers.into_iter().map(|tool| tool.name).collect();
        return Ok(Selection { plan: CallPlan::new(readers, BTreeMap::new()), writers });
    };
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    let message = unknown_tool(name, &names);
    let tool = tools.into_iter().find(|tool| tool.name == *name).ok_or(message)?;
    if let (Err(reason), false) = (tool.reads, options.allow_writes) {
        return Err(format!(
            "{name} is not called: {reason}, and it would be called twice: add --allow-writes if that does no harm"
        ));
    }
    let Some(arguments) = &options.arguments else {
        return Ok(only(CallPlan::new([tool], BTreeMap::new())));
    };
    let is_missing = |required: &&String| !arguments.contains_key(*required);
    let missing: Vec<&str> = tool.required.iter().filter(is_missing).map(String::as_str).collect();
    if !missing.is_empty() {
        return Err(lacks_arguments(&tool, &missing));
    }
    Ok(only(CallPlan::new([tool], BTreeMap::from([(name.clone(), arguments.clone())]))))
}

/// Returns the error for a tool that cannot be called without a person.
pub(super) fn lacks_arguments(tool: &Tool, missing: &[&str]) -> String {
    format!(
        "{} requires {}: give them with --args, as in {}",
        tool.name,
        missing.join(", "),
        tool_options(tool, !missing.is_empty())
    )
}

/// Returns the options that call a tool, with places for its arguments if they have to be given.
pub(super) fn tool_options(tool: &Tool, needs_arguments: bool) -> String {
    let name = shlex::try_quote(&tool.name).unwrap_or_default();
    if !needs_arguments {
        return format!("--tool {name}");
    }
    let example: Map<String, Value> =
        tool.required.iter().map(|name| (name.clone(), Value::from("…"))).collect();
    format!("--tool {name} --args '{}'", Value::Object(example))
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use portion_client::check::KnownValues;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: Options,
    }

    const TOOLS: &str = r#"{"tools":[
        {"name":"list","annotations":{"readOnlyHint":true},"inputSchema":{"properties":{"limit":{}}}},
        {"name":"get","annotations":{"readOnlyHint":true},"inputSchema":{"required":["id"]}},
        {"name":"search_all","inputSchema":{}},
        {"name":"delete","inputSchema":{}}]}"#;

    fn check(tools: &str, line: &[&str], expect: Result<&[&str], &str>) {
        let words = ["try"].iter().chain(line).chain(&["--", "x"]);
        let options = Line::try_parse_from(words).expect("a command line").options;
        match (select(Tool::parse_list(tools).expect("JSON"), &options), expect) {
            (Ok(Selection { mut plan, .. }), Ok(expect)) => {
                let calls = std::iter::from_fn(|| plan.next(&KnownValues::default()));
                assert_eq!(calls.map(|(tool, _)| tool.name).collect::<Vec<_>>(), expect, "{line:?}");
            }
            (Err(error), Err(expect)) => assert!(error.contains(expect), "{line:?}: {error}"),
            (plan, _) => panic!("{line:?}: {plan:?}"),
        }
    }

    #[test]
    fn only_reading_tools_are_called() {
        check(TOOLS, &[], Ok(&["list", "search_all"]));
        check(TOOLS, &["--tool", "get", "--args", r#"{"id":1}"#], Ok(&["get"]));
        check(
            TOOLS,
            &["--tool", "get", "--args", "{}"],
            Err(r#"requires id: give them with --args, as in --tool get --args '{"id":"…"}'"#),
        );
        check(TOOLS, &["--tool", "gets"], Err("no tool gets; did you mean get?"));
        check(TOOLS, &["--tool", "delete"], Err("--allow-writes"));
        check(TOOLS, &["--tool", "delete", "--allow-writes"], Ok(&["delete"]));
        check(r#"{"tools":[{"name":"a"}]}"#, &[], Err("no tool says"));
        check("{}", &[], Err("no tool says"));
    }
}
