//! `portion login` and `portion logout`: tokens of remote servers.

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use clap::Args;
use portion_auth::oauth::{LogoutOutcome, OAuthSession, ServerUrl, StoredLogin};
use portion_config::{Config, LoginConfig, find};
use portion_policy::upstream::without_secrets;
use portion_text::display::printable_lines;
use serde_json::{Value, json};

use super::CommandResult;
use crate::cli::failure::UsageError;
use crate::cli::options::FILE_HELP;
use crate::cli::remote::{LOGIN_TIMEOUT, LoginArgs, configured_login, token_store};
use crate::cli::terminal::{folded, print_stdout, reported};

const AFTER_HELP: &str = "\
Examples:
  portion login https://mcp.example.com/mcp
  portion login https://mcp.example.com/mcp --no-browser
  portion login --list

portion wrap --url logs in by itself when the server asks for it. Tokens are stored in the state directory of the user. \
Options come before the key login that the configuration has for a server with this URL.";

/// Options of `portion login`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct LoginOptions {
    /// URL of the server
    #[arg(value_name = "URL", required_unless_present = "list")]
    url: Option<String>,
    /// Show the servers with a stored login
    #[arg(long, conflicts_with_all = ["url", "LoginArgs"])]
    list: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
    #[arg(long, value_name = "FILE", help = FILE_HELP)]
    config: Option<PathBuf>,
    #[command(flatten)]
    login: LoginArgs,
}

/// Options of `portion logout`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  portion logout https://mcp.example.com/mcp")]
pub(crate) struct LogoutOptions {
    /// URL of the server
    #[arg(value_name = "URL")]
    url: String,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// Logs in, or lists the logins.
pub(crate) fn login(options: &LoginOptions) -> CommandResult {
    let store = token_store()?;
    let Some(url) = &options.url else {
        let logins = store.list()?;
        let printed = if options.json {
            print_json(&logins.iter().map(login_json).collect())
        } else {
            print_table(&logins)
        };
        return reported(printed, None, ExitCode::SUCCESS);
    };
    let server = parse_server(url)?;
    let configured = login_config(options.config.as_deref(), url)?;
    let session_options =
        options.login.resolve(&configured, Some(options.login.show(&server)), LOGIN_TIMEOUT)?;
    let session = OAuthSession::new(server.clone(), store.clone(), session_options);
    runtime()?.block_on(session.log_in())?;
    crate::cli::terminal::print_stderr!("portion: logged in at {server}");
    if !options.json {
        return Ok(ExitCode::SUCCESS);
    }
    let stored = store.list()?.into_iter().find(|login| login.server == server.to_string());
    reported(print_json(&stored.as_ref().map_or(Value::Null, login_json)), None, ExitCode::SUCCESS)
}

/// Removes and revokes the tokens of a server.
pub(crate) fn logout(options: &LogoutOptions) -> CommandResult {
    let server = parse_server(&options.url)?;
    let session = OAuthSession::new(
        server.clone(),
        token_store()?,
        LoginArgs::default().resolve(&LoginConfig::default(), None, LOGIN_TIMEOUT)?,
    );
    let outcome = runtime()?.block_on(session.log_out())?;
    let done = describe_logout(&server, &outcome);
    if options.json {
        return reported(print_json(&logout_json(&server, &outcome)), Some(&done), ExitCode::SUCCESS);
    }
    crate::cli::terminal::print_stderr!("portion: {done}");
    Ok(ExitCode::SUCCESS)
}

fn parse_server(url: &str) -> Result<ServerUrl, UsageError> {
    ServerUrl::parse(url).map_err(|error| format!("{}: {error}", without_secrets(url)).into())
}

/// Returns the choices of the configuration for logins at a server.
fn login_config(named: Option<&Path>, url: &str) -> Result<LoginConfig, Box<dyn Error>> {
    let (config, _) = Config::load(&find(named, Vec::new())?, 0)?;
    Ok(configured_login(&config, url))
}

fn describe_logout(server: &ServerUrl, outcome: &LogoutOutcome) -> String {
    match outcome {
        LogoutOutcome::NotLoggedIn => {
            format!("there is no login at {server}; portion login --list shows all")
        }
        LogoutOutcome::Removed { is_revoked: true } => {
            format!("logged out of {server}; the server has revoked the tokens")
        }
        LogoutOutcome::Removed { is_revoked: false } => format!(
            "removed the tokens of {server}; the server offers no revocation, so they expire by themselves"
        ),
        LogoutOutcome::NotRevoked(error) => {
            format!("removed the tokens of {server}, but they were not revoked: {error}")
        }
    }
}

fn logout_json(server: &ServerUrl, outcome: &LogoutOutcome) -> Value {
    let (is_removed, is_revoked, error) = match outcome {
        LogoutOutcome::NotLoggedIn => (false, false, None),
        LogoutOutcome::Removed { is_revoked } => (true, *is_revoked, None),
        LogoutOutcome::NotRevoked(error) => (true, false, Some(error.to_string())),
    };
    json!({ "server": server.to_string(), "removed": is_removed, "revoked": is_revoked, "error": error })
}

fn runtime() -> io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}

fn print_json(value: &Value) -> io::Result<()> {
    print_stdout(&format!("{value:#}\n"))
}

fn print_table(logins: &[StoredLogin]) -> io::Result<()> {
    if logins.is_empty() {
        crate::cli::terminal::print_stderr!("portion: there are no logins; portion login URL adds one");
    }
    let lines = logins.iter().map(|login| {
        let scope = login.scope.as_deref().map(|scope| format!(", scope {scope}")).unwrap_or_default();
        let line = format!("{}  {}{scope}", login.server, validity(login));
        folded(&printable_lines(&line))
    });
    print_stdout(&lines.collect::<String>())
}

/// Returns how long a login is valid.
fn validity(login: &StoredLogin) -> String {
    let remaining = login.expires_at.map(|at| at.duration_since(SystemTime::now()).unwrap_or_default());
    match (login.is_renewable, remaining) {
        (true, _) => "renewed automatically".to_owned(),
        (false, None) => "valid until the server ends it".to_owned(),
        (false, Some(Duration::ZERO)) => "expired".to_owned(),
        (false, Some(time)) => {
            format!("valid for {}", humantime::format_duration(Duration::from_secs(time.as_secs())))
        }
    }
}

fn login_json(login: &StoredLogin) -> Value {
    json!({
        "server": login.server,
        "issuer": login.issuer,
        "scope": login.scope,
        "expiresAt": login.expires_at.map(|at| humantime::format_rfc3339_seconds(at).to_string()),
        "renewable": login.is_renewable,
    })
}
