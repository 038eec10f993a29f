//! Starts servers as their clients do, and measures their lists of tools.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use portion_config::Config;
use portion_install::invocation::{Installed, Invocation, recognise};
use portion_telemetry::show::grouped;
use portion_tokens::Tokenizer;
use serde_json::Value;

use super::clients::ClientServer;
use super::configuration::lazy_catalog_command;
use super::finding::{Finding, Level, shell_line, shell_path};
use crate::stdio_client::Client;

/// Servers that start at the same time.
const WORKERS: usize = 4;
/// Tokens of a list of tools that is worth a warning.
const COSTLY_LIST: usize = 10_000;
/// Variables with which Portion writes no record, exports nothing and raises no alert.
const NO_TELEMETRY: [(&str, &str); 3] =
    [("PORTION_TELEMETRY", "off"), ("PORTION_OTLP", "off"), ("PORTION_ALERT_OVERSIZED", "off")];

/// A server that was started.
#[derive(Debug)]
pub(super) struct Started {
    pub(super) name: String,
    /// Names of its tools, without those that Portion adds.
    pub(super) tools: Vec<String>,
}

/// Starts all servers, those without Portion behind this one, and returns those that answered.
pub(super) fn check(
    servers: &[ClientServer],
    config: &Config,
    timeout: Duration,
    findings: &mut Vec<Finding>,
) -> Vec<Started> {
    let mut seen = BTreeSet::new();
    // Several clients may start the same server.
    let distinct: Vec<&ClientServer> =
        servers.iter().filter(|server| seen.insert((&server.words, &server.env, &server.cwd))).collect();
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
    let title = server.title.clone();
    let mut command = match command(server) {
        Ok(command) => command,
        Err(reason) => {
            return (Finding::new(Level::Info, "starts", title, format!("not started: {reason}")), None);
        }
    };
    let client = match Client::start_as("portion-doctor", &mut command, timeout) {
        Ok(client) => client,
        Err(error) => {
            let message = format!("does not start: {error}");
            return (
                Finding::new(Level::Error, "starts", title, message).with_fix(own_command(server)),
                None,
            );
        }
    };
    let list = client.tools().get().to_owned();
    drop(client);
    let parsed: Value = serde_json::from_str(&list).unwrap_or_default();
    let tools = parsed.get("tools").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let names: Vec<String> =
        tools.iter().filter_map(|tool| Some(tool.get("name")?.as_str()?.to_owned())).collect();
    let tokens = Tokenizer::O200k.counter().count(&list);
    let message =
        format!("starts; its list of {} tools costs {} tokens (o200k)", names.len(), grouped(tokens as u64));
    let finding = if tokens > COSTLY_LIST {
        let message = format!("{message}; catalog: lazy in the configuration shortens it");
        Finding::new(Level::Warning, "catalogue", title, message).with_fix(lazy_catalog_command(config))
    } else {
        Finding::new(Level::Ok, "starts", title, message)
    };
    (finding, Some(Started { name: server.name.clone(), tools: names }))
}

/// Returns the command that starts a server without Portion, and so shows its own messages.
fn own_command(server: &ClientServer) -> String {
    let (program, args) = (&server.words[0], &server.words[1..]);
    let own = match recognise(program, args) {
        Invocation::Installed(Installed { program_index: Some(at), .. }) => &args[at..],
        _ => &server.words[..],
    };
    let line = shell_line(own.iter().map(String::as_str));
    match working_directory(server) {
        Some(directory) => format!("cd {} && {line}", shell_path(directory)),
        None => line,
    }
}

fn working_directory(server: &ClientServer) -> Option<&Path> {
    server.cwd.as_deref().filter(|cwd| cwd.is_absolute() && cwd.is_dir())
}

/// Returns the command of a server, with the references of its client resolved.
fn command(server: &ClientServer) -> Result<Command, String> {
    let mut words = server.words.iter().map(|word| resolve(word));
    let program = words.next().unwrap_or_else(|| Err("it has no command".into()))?;
    let args = words.collect::<Result<Vec<String>, String>>()?;
    let mut command = if server.is_wrapped {
        Command::new(&program)
    } else {
        let own = std::env::current_exe().map_err(|error| error.to_string())?;
        let mut command = Command::new(own);
        command.args(["wrap", "--"]).arg(&program);
        command
    };
    command.args(args).stderr(Stdio::null());
    for (name, value) in &server.env {
        command.env(name, resolve(value)?);
    }
    command.envs(NO_TELEMETRY);
    if let Some(cwd) = working_directory(server) {
        command.current_dir(cwd);
    }
    Ok(command)
}

/// Replaces `${NAME}`, `${NAME:-default}` and `${env:NAME}`, as clients do.
fn resolve(text: &str) -> Result<String, String> {
    let (mut resolved, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once("${") {
        let Some((name, after)) = after.split_once('}') else { break };
        resolved.push_str(before);
        let (name, default) = name.split_once(":-").map_or((name, None), |(name, text)| (name, Some(text)));
        let variable = name.strip_prefix("env:").unwrap_or(name);
        match std::env::var(variable).ok().or_else(|| default.map(str::to_owned)) {
            Some(value) => resolved.push_str(&value),
            None => return Err(format!("only its client knows ${{{name}}}")),
        }
        rest = after;
    }
    Ok(resolved + rest)
}

#[cfg(test)]
mod tests {
    use super::resolve;

    #[test]
    fn references_of_clients_are_resolved() {
        let check = |text: &str, expect: Result<&str, &str>| {
            let expect = expect.map(str::to_owned).map_err(str::to_owned);
            assert_eq!(resolve(text), expect, "{text}");
        };
        let home = std::env::var("CARGO_PKG_NAME").unwrap_or_default();
        check("a$b", Ok("a$b"));
        check("${CARGO_PKG_NAME}/${env:CARGO_PKG_NAME}", Ok(&format!("{home}/{home}")));
        check("${NO_SUCH_VARIABLE:-x}y", Ok("xy"));
        check("${input:key}", Err("only its client knows ${input:key}"));
        check("${open", Ok("${open"));
    }
}
