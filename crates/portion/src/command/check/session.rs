//! Calls the tools of a server, and collects what their results show.

use std::collections::BTreeMap;

use portion_client::check::{
    CallPlan, Finding, KnownValues, Observation, Paging, PagingCheck, Step, Tool, analyze,
};
use portion_client::client::{Client, ClientError};
use portion_config::profile::{ListedTool, Profile};
use serde_json::{Map, Value};

use crate::command::unknown_tool;

/// Longest error message that is reported, in characters.
const MAX_MESSAGE: usize = 200;
/// Further calls of a tool that test its paging.
const MAX_PAGING_CALLS: usize = 5;

/// Tools to check, and limits.
pub(super) struct Plan {
    /// Tools to check; empty: all.
    pub(super) tools: Vec<String>,
    /// Arguments by tool.
    pub(super) arguments: BTreeMap<String, Map<String, Value>>,
    pub(super) max_calls: usize,
    /// Values of arguments that are known before the first call.
    pub(super) known: KnownValues,
}

/// Returns the profile for a server with these tools.
pub(in crate::command) fn profile_for(tools: &[Tool]) -> Option<&'static Profile> {
    let listed = |tool: &Tool| ListedTool {
        name: tool.name.clone(),
        arguments: tool.arguments.keys().cloned().collect(),
    };
    Profile::for_tools(&tools.iter().map(listed).collect::<Vec<_>>())
}

/// Findings about the tools of a server.
#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) checked: Vec<CheckedTool>,
    pub(super) skipped: Vec<SkippedTool>,
    pub(super) calls: usize,
    /// What clients leave out of listed tools.
    pub(super) excesses: Vec<String>,
    /// Profile that was written for such a server.
    pub(super) profile: Option<&'static Profile>,
}

/// A tool that was called.
#[derive(Debug)]
pub(super) struct CheckedTool {
    pub(super) tool: Tool,
    /// Names of the arguments of the first call.
    pub(super) arguments: Vec<String>,
    /// Findings, or the reason that there is no result.
    pub(super) outcome: Result<Finding, String>,
}

/// A tool that was not called.
#[derive(Debug)]
pub(super) struct SkippedTool {
    pub(super) name: String,
    pub(super) reason: String,
}

/// Calls what only reads.
///
/// # Errors
/// Returns an error if the tools cannot be listed, or a tool of the plan does not exist.
pub(super) async fn check(client: &mut Client, plan: &Plan) -> Result<Report, Box<dyn std::error::Error>> {
    let listed = client.list_tools().await?;
    let parse = |json: &String| serde_json::from_str(json).ok().and_then(|listed| Tool::parse(&listed));
    let tools: Vec<Tool> = listed.iter().filter_map(parse).collect();
    for name in plan.tools.iter().chain(plan.arguments.keys()) {
        if !tools.iter().any(|tool| tool.name == *name) {
            let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
            return Err(unknown_tool(name, &names).into());
        }
    }
    let excesses = |tool: &Tool| {
        let sentence = |rest: String| format!("{} {rest}", tool.name);
        tool.excesses().into_iter().map(sentence).collect::<Vec<_>>()
    };
    let mut report = Report {
        profile: profile_for(&tools),
        excesses: tools.iter().flat_map(excesses).collect(),
        ..Report::default()
    };
    let is_chosen = |tool: &Tool| plan.tools.is_empty() || plan.tools.contains(&tool.name);
    let mut readers = Vec::new();
    for tool in tools.into_iter().filter(is_chosen) {
        match tool.reads {
            Ok(_) => readers.push(tool),
            Err(reason) => {
                report.skipped.push(SkippedTool { name: tool.name, reason: reason.to_owned() });
            }
        }
    }
    let mut known = plan.known.clone();
    let mut calls = CallPlan::new(readers, plan.arguments.clone());
    while let Some((tool, arguments)) = calls.next(&known) {
        if report.calls >= plan.max_calls {
            report.skipped.push(SkippedTool { name: tool.name, reason: "--max-calls is reached".into() });
            continue;
        }
        let calls = (&mut report.calls, plan.max_calls);
        report.checked.push(check_tool(client, tool, arguments, &mut known, calls).await);
    }
    report.skipped.extend(calls.into_uncalled().into_iter().map(|(tool, missing)| SkippedTool {
        reason: format!("it requires {}: give them with --args", missing.join(", ")),
        name: tool.name,
    }));
    Ok(report)
}

async fn check_tool(
    client: &mut Client,
    tool: Tool,
    arguments: Map<String, Value>,
    known: &mut KnownValues,
    (calls, max_calls): (&mut usize, usize),
) -> CheckedTool {
    let names = arguments.keys().cloned().collect();
    *calls += 1;
    let outcome = match call(client, &tool, &arguments).await {
        Ok(first) if first.is_error => Err(shortened(&first.data)),
        Ok(first) => {
            known.learn(&tool, &first);
            let paging = find_paging(client, &tool, arguments, first.clone(), (calls, max_calls)).await;
            Ok(analyze(&tool, &first, paging))
        }
        Err(error) => Err(shortened(&error.to_string())),
    };
    CheckedTool { tool, arguments: names, outcome }
}

async fn find_paging(
    client: &mut Client,
    tool: &Tool,
    arguments: Map<String, Value>,
    first: Observation,
    (calls, max_calls): (&mut usize, usize),
) -> Option<Paging> {
    let mut check = PagingCheck::new(tool, arguments, first);
    let end = max_calls.min(*calls + MAX_PAGING_CALLS);
    loop {
        match check.step() {
            Step::Call(_) if *calls >= end => return check.untested(),
            Step::Call(arguments) => {
                *calls += 1;
                match call(client, tool, &arguments).await {
                    Ok(result) => check.learn(&result),
                    Err(_) => return check.untested(),
                }
            }
            Step::Found(paging) => return Some(paging),
            Step::NotFound => return None,
        }
    }
}

async fn call(
    client: &mut Client,
    tool: &Tool,
    arguments: &Map<String, Value>,
) -> Result<Observation, ClientError> {
    client.renew_deadline();
    let arguments = serde_json::to_string(arguments).unwrap_or_else(|_| "{}".to_owned());
    let result = client.call_tool(&tool.name, &arguments).await?;
    let result: Value = serde_json::from_str(&result).unwrap_or_default();
    Ok(Observation::from_result(&result))
}

fn shortened(message: &str) -> String {
    let line = message.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MAX_MESSAGE) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None if line.is_empty() => "an error without a message".to_owned(),
        None => line,
    }
}
