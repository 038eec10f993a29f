//! Starts servers as their clients do, and measures their lists of tools.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use portion_config::Config;
use portion_telemetry::show::grouped;
use portion_tokens::Tokenizer;
use serde_json::Value;

use super::clients::ClientServer;
use super::configuration::lazy_catalog_command;
use super::finding::{Finding, Level, edit_command, shell_word};
use super::launch::{Launch, LaunchError};
use crate::stdio_client::{Client, ClientError};
use crate::terminal::show_progress;

/// Servers that start at the same time.
const WORKERS: usize = 4;
/// Tokens of a list of tools that is worth a warning.
const COSTLY_LIST: usize = 10_000;
/// Time limit after which a longer one does not help: a package may be downloaded first.
const LONG_TIMEOUT: Duration = Duration::from_mins(2);
/// Command with which an error of Portion tells the user to log in.
const LOGIN_COMMAND: &str = "portion login";

/// A server that was started.
#[derive(Debug)]
pub(super) struct Started {
    pub(super) name: String,
    /// Names of its tools, without those that Portion adds.
    pub(super) tools: Vec<String>,
}

/// Starts all servers, and returns those that answered.
pub(super) fn check(
    servers: &[ClientServer],
    config: &Config,
    timeout: Duration,
    findings: &mut Vec<Finding>,
) -> Vec<Started> {
    let mut seen = BTreeSet::new();
    // Several clients may start the same server.
    let distinct: Vec<&ClientServer> = servers
        .iter()
        .filter(|server| {
            seen.insert((&server.words, &server.env, &server.env_file, &server.cwd, &server.project))
        })
        .collect();
    if !distinct.is_empty() {
        let count =
            if distinct.len() == 1 { "1 server".to_owned() } else { format!("{} servers", distinct.len()) };
        show_progress(&format!("starting {count}, at most {} s each", timeout.as_secs()));
    }
    let queue = Mutex::new(distinct.iter().enumerate());
    let results = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..WORKERS.min(distinct.len()) {
            scope.spawn(|| {
                while let Some((at, server)) = queue.lock().ok().and_then(|mut queue| queue.next()) {
                    let result = start(server, config, timeout);
                    if let Ok(mut results) = results.lock() {
                        results.push((at, result));
                    }
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap_or_default();
    results.sort_by_key(|(at, _)| *at);
    let mut started = Vec::new();
    for (_, (finding, server)) in results {
        findings.push(finding);
        started.extend(server);
    }
    started
}

fn start(server: &ClientServer, config: &Config, timeout: Duration) -> (Finding, Option<Started>) {
    let finding = |level, message: String| Finding::new(level, "starts", server.title.clone(), message);
    let invalid = |why: String| {
        let message = format!("does not start: {why}");
        finding(Level::Error, message).with_fix(edit_command(&server.file))
    };
    let launch = match Launch::new(server) {
        Ok(launch) => launch,
        Err(LaunchError::Unknown(reason)) => {
            return (finding(Level::Info, format!("not started: {reason}")), None);
        }
        Err(LaunchError::Invalid(reason)) => return (invalid(reason), None),
    };
    if let Err(reason) = launch.check_programs() {
        return (invalid(reason), None);
    }
    let client = match Client::start_as("portion-doctor", &mut launch.command(), timeout) {
        Ok(client) => client,
        Err(error) => return (failed(server, &launch, &error), None),
    };
    let list = client.tools().get().to_owned();
    let noise =
        client.noise().map(|line| format!("; its stdout has lines that are no messages, such as `{line}`"));
    drop(client);
    let parsed: Value = serde_json::from_str(&list).unwrap_or_default();
    let tools = parsed.get("tools").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let names: Vec<String> =
        tools.iter().filter_map(|tool| Some(tool.get("name")?.as_str()?.to_owned())).collect();
    let tokens = Tokenizer::O200k.counter().count(&list);
    let message = format!(
        "starts; its list of {} tools costs {} tokens (o200k){}",
        names.len(),
        grouped(tokens as u64),
        noise.unwrap_or_default()
    );
    let finding = if tokens > COSTLY_LIST {
        let message = format!("{message}; catalog: lazy in the configuration shortens it");
        Finding::new(Level::Warning, "catalogue", server.title.clone(), message)
            .with_fix(lazy_catalog_command(config))
    } else {
        finding(Level::Ok, message)
    };
    (finding, Some(Started { name: server.name.clone(), tools: own_tools(names, server, config) }))
}

/// Reports a server that did not answer.
fn failed(server: &ClientServer, launch: &Launch, error: &ClientError) -> Finding {
    let message = format!("does not start: {error}");
    let finding = Finding::new(Level::Error, "starts", server.title.clone(), &*message);
    let url = server.words.windows(2).find(|pair| pair[0] == "--url").map(|pair| &pair[1]);
    if let Some(url) = url.filter(|_| server.is_wrapped) {
        // Without Portion, there is nothing to start.
        let fix = if message.contains(LOGIN_COMMAND) {
            format!("{LOGIN_COMMAND} {}", shell_word(url))
        } else {
            edit_command(&server.file)
        };
        return finding.with_fix(fix);
    }
    let fix = match error {
        ClientError::Timeout { limit, .. } if *limit < LONG_TIMEOUT => {
            format!("portion doctor --timeout {}", LONG_TIMEOUT.as_secs())
        }
        _ => edit_command(&server.file),
    };
    finding.with_reproduction(launch.own_line(server)).with_fix(fix)
}

/// Leaves out the tools that Portion adds.
fn own_tools(mut names: Vec<String>, server: &ClientServer, config: &Config) -> Vec<String> {
    if server.is_wrapped {
        let listing = config.listing(Some(&server.name));
        let added = [Some(listing.read_tool), listing.query_tool, Some(listing.describe_tool)];
        names.retain(|name| !added.iter().flatten().any(|other| other == name));
    }
    names
}
