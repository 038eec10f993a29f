//! Starts servers as their clients do, and measures their lists of tools.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use portion_client::check::Tool;
use portion_config::Config;
use portion_config::config::Upstream;
use portion_config::settings::{Origin, Settings};
use portion_mcp::upstream::remedy;
use portion_telemetry::show::grouped;
use portion_text::display::{counted, printable_name};
use portion_tokens::Tokenizer;

use super::clients::ClientServer;
use super::configuration::lazy_catalog_command;
use super::finding::{Finding, Level, edit_command, shell_word};
use super::launch::{Launch, LaunchError};
use crate::cli::terminal::print_stderr;
use crate::command::check::profile_for;
use crate::run::stdio_client::{Client, ClientError};

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
    /// Its tools, without those that Portion adds.
    pub(super) tools: Vec<Tool>,
}

/// Lines about what the command waits for. A program that reads JSON gets none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    Shown,
    Hidden,
}

/// Outcome of the start of a server.
enum Outcome {
    /// It cannot be started from its entry.
    NotStarted(LaunchError),
    Failed(Launch, ClientError),
    /// Its list of tools, and the beginning of a line on stdout that is no message.
    Listed {
        list: String,
        noise: Option<String>,
    },
}

impl Outcome {
    /// Returns the outcome as the end of a sentence.
    fn name(&self) -> &'static str {
        match self {
            Self::NotStarted(_) => "is not started",
            Self::Failed(..) => "does not start",
            Self::Listed { .. } => "starts",
        }
    }
}

/// Starts all servers, and returns those that answered.
pub(super) fn check(
    servers: &[ClientServer],
    config: &Config,
    (timeout, progress): (Duration, Progress),
    findings: &mut Vec<Finding>,
) -> Vec<Started> {
    // Several clients may start the same server.
    let mut distinct: Vec<&ClientServer> = Vec::new();
    let mut places = Vec::new();
    for server in servers {
        let place = distinct.iter().position(|other| start_of(server) == start_of(other));
        places.push(place.unwrap_or(distinct.len()));
        if place.is_none() {
            distinct.push(server);
        }
    }
    if !distinct.is_empty() && progress == Progress::Shown {
        let count = counted(distinct.len(), "server");
        print_stderr!("portion: starting {count}, at most {} s each", timeout.as_secs());
    }
    let ended = AtomicUsize::new(0);
    let queue = Mutex::new(distinct.iter().enumerate());
    let outcomes = Mutex::new(BTreeMap::new());
    thread::scope(|scope| {
        for _ in 0..WORKERS.min(distinct.len()) {
            scope.spawn(|| {
                while let Some((at, server)) = queue.lock().ok().and_then(|mut queue| queue.next()) {
                    let outcome = start(server, timeout);
                    let (ended, all) = (ended.fetch_add(1, Ordering::Relaxed) + 1, distinct.len());
                    if progress == Progress::Shown {
                        let name = printable_name(&server.name);
                        print_stderr!("portion: {ended} of {all}: {name} {}", outcome.name());
                    }
                    if let Ok(mut outcomes) = outcomes.lock() {
                        outcomes.insert(at, outcome);
                    }
                }
            });
        }
    });
    let outcomes = outcomes.into_inner().unwrap_or_default();
    let mut started = Vec::new();
    for (place, outcome) in outcomes {
        // Equal servers of several clients are reported once.
        let mut equal = servers.iter().zip(&places).filter(|(_, other)| **other == place).map(|(one, _)| one);
        if let Some(first) = equal.next() {
            let titles = std::iter::once(first).chain(equal).map(|server| server.title.as_str());
            let server = &ClientServer { title: titles.collect::<Vec<_>>().join(", "), ..first.clone() };
            let (finding, started_server) = report(server, &outcome, config);
            findings.push(finding);
            for tool in started_server.iter().flat_map(|started| &started.tools) {
                let warning = |rest: String| {
                    Finding::new(Level::Warning, "tool", &*server.title, format!("{} {rest}", tool.name))
                };
                findings.extend(tool.excesses().into_iter().map(warning));
            }
            findings
                .extend(started_server.as_ref().and_then(|started| offer_profile(server, started, config)));
            started.extend(started_server);
        }
    }
    started
}

/// Returns what the start of a server depends on.
fn start_of(server: &ClientServer) -> impl PartialEq + '_ {
    (&server.words, &server.env, &server.env_file, &server.cwd, &server.project)
}

fn start(server: &ClientServer, timeout: Duration) -> Outcome {
    let launch = match Launch::new(server) {
        Ok(launch) => launch,
        Err(error) => return Outcome::NotStarted(error),
    };
    if let Err(reason) = launch.check_programs() {
        return Outcome::NotStarted(LaunchError::Invalid(reason));
    }
    launch.install();
    match Client::start_as("portion-doctor", &mut launch.command(), timeout) {
        Ok(client) => {
            let noise = client.noise.as_deref().map(|line| launch.without_secrets(line));
            let list = client.tools.get().to_owned();
            Outcome::Listed { list, noise }
        }
        Err(error) => Outcome::Failed(launch, error),
    }
}

fn report(server: &ClientServer, outcome: &Outcome, config: &Config) -> (Finding, Option<Started>) {
    let finding = |level, message: String| Finding::new(level, "starts", server.title.clone(), message);
    let (list, noise) = match outcome {
        Outcome::NotStarted(LaunchError::Unknown(reason)) => {
            return (finding(Level::Info, format!("not started: {}", printable_name(reason))), None);
        }
        Outcome::NotStarted(LaunchError::Invalid(why)) => {
            let finding = finding(Level::Error, format!("does not start: {}", printable_name(why)));
            return (finding.with_fix(edit_command(&server.file)), None);
        }
        Outcome::Failed(launch, error) => return (failed(server, launch, error), None),
        Outcome::Listed { list, noise } => (list, noise),
    };
    let noise = noise
        .as_ref()
        .map(|line| format!("; its stdout has lines that are no messages, such as `{line}`"))
        .unwrap_or_default();
    let tools = Tool::parse_list(list).unwrap_or_default();
    let tokens = Tokenizer::MEASURE.counter().count(list);
    let count = counted(tools.len(), "tool");
    let message = format!(
        "starts; its list of {count} costs {} tokens ({}){noise}",
        grouped(tokens as u64),
        Tokenizer::MEASURE
    );
    let finding = if tokens > COSTLY_LIST {
        let message = format!("{message}; catalog: lazy in the configuration shortens it");
        Finding::new(Level::Warning, "catalogue", server.title.clone(), message)
            .with_fix(lazy_catalog_command(config))
    } else {
        finding(Level::Ok, message)
    };
    (finding, Some(Started { name: server.name.clone(), tools: own_tools(tools, server, config) }))
}

/// Reports a server that did not answer.
fn failed(server: &ClientServer, launch: &Launch, error: &ClientError) -> Finding {
    let error_text = launch.without_secrets(&error.to_string());
    let message = format!("does not start: {}", in_one_line(&error_text));
    let finding = Finding::new(Level::Error, "starts", server.title.clone(), &*message);
    if let Some(remedy) = remedy(&error_text) {
        return finding.with_reproduction(launch.own_line(server)).with_fix(remedy);
    }
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

/// Returns an error with the line of the server's output that says most about the cause.
fn in_one_line(error: &str) -> String {
    let mut lines = error.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default();
    let output: Vec<&str> = lines.collect();
    // `Error: …`, `TypeError [ERR_X]: …`
    let is_error = |line: &&&str| {
        let name = line.split([':', ' ']).next().unwrap_or_default();
        name.to_ascii_lowercase().ends_with("error")
    };
    let is_cause = |line: &&&str| {
        let lower = line.to_ascii_lowercase();
        !lower.starts_with("at ")
            && ["error", "panicked", "not found", "cannot"].iter().any(|word| lower.contains(word))
    };
    match output.iter().find(is_error).or(output.iter().find(is_cause)).or(output.last()) {
        Some(cause) => format!("{}: {cause}", first.trim_end_matches(':')),
        None => first.to_owned(),
    }
}

/// Leaves out the tools that Portion adds.
fn own_tools(mut tools: Vec<Tool>, server: &ClientServer, config: &Config) -> Vec<Tool> {
    if server.is_wrapped {
        let listing = config.listing(Some(&server.name));
        let added = [Some(listing.read_tool), listing.query_tool, Some(listing.describe_tool)];
        tools.retain(|tool| !added.iter().flatten().any(|other| *other == tool.name));
    }
    tools
}

/// Reports a server that lists the tools of a profile and does not have it.
fn offer_profile(server: &ClientServer, started: &Started, config: &Config) -> Option<Finding> {
    let profile = profile_for(&started.tools)?;
    let has_it = |(_, settings): (&str, &Settings)| {
        settings
            .iter()
            .any(|(_, setting)| matches!(&setting.origin, Origin::Profile(name) if *name == profile.name))
    };
    let is_named = server.words.iter().any(|word| word == "--profile");
    let own = config.upstreams().iter().find(|upstream| *upstream.name == *server.name);
    if is_named || config.endpoints().chain(own.into_iter().flat_map(Upstream::endpoints)).any(has_it) {
        return None;
    }
    let message = format!("its tools are those of the profile {}, which has rules for them", profile.name);
    let fix = format!("portion install {} --profile {}", shell_word(&server.name), profile.name);
    Some(Finding::new(Level::Info, "profile", server.title.clone(), message).with_fix(fix))
}

#[cfg(test)]
mod tests {
    use super::in_one_line;

    #[test]
    fn a_stack_trace_becomes_its_cause() {
        let trace = "the server ended before it answered initialize (exit status: 1); its stderr ends:\n  node:internal/modules/run_main:123\n    throw new Error('x')\n  Error [ERR_X]: Cannot find package 'zod'\n      at resolve (node:internal)\n  Node.js v22";
        let line = in_one_line(trace);
        assert!(line.ends_with("its stderr ends: Error [ERR_X]: Cannot find package 'zod'"), "{line}");
        assert_eq!(in_one_line("no answer"), "no answer");
        assert_eq!(in_one_line("it ended:\n  usage: x"), "it ended: usage: x");
    }
}
