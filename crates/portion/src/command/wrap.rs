//! `portion wrap`: MCP on stdio, in front of a child process or a server over HTTP.

use std::error::Error;
use std::ffi::OsString;
use std::io::{self, IsTerminal as _};
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, FromArgMatches as _};
use portion_config::key::parse_socket_address;
use portion_config::{Config, LoginConfig};
use portion_core::cursor::Scope;
use portion_gateway::session::ClientSession;
use portion_mcp::front::StdioFront;
use portion_mcp::relay::{RelayOutcome, relay, relay_link, serve_unavailable};
use portion_mcp::upstream::stdio::Child;

use super::CommandResult;
use crate::cli::failure::{Result, StartCheck, StartError, UsageError};
use crate::cli::launcher;
use crate::cli::options::{ConfigOptions as Keys, ServerKeys};
use crate::cli::remote::{self, LoginArgs, RemoteArgs};
use crate::cli::rest::{OTHER_SERVERS, RestArgs};
use crate::run::server::{NO_REST_API, NamedServer, Server, ServerIds, connect_rest};
use crate::run::setup::LoadedConfig;
use crate::run::{access, admin, process};

/// Time to live of results, unless one is configured: a client on stdio comes back to a result within a conversation.
const SNAPSHOT_TTL: Duration = Duration::from_hours(1);
/// Principal of a stdio session: the parent process.
const STDIO_PRINCIPAL: &str = "stdio";

const AFTER_HELP: &str = "\
Examples:
  portion wrap -- npx -y @modelcontextprotocol/server-filesystem ~/notes
  portion wrap --lean -- uvx mcp-server-git
  portion wrap --url https://mcp.example.com/mcp --header 'Authorization: Bearer ${TOKEN}'
  portion wrap --openapi openapi.yaml --upstream https://api.example.com/v1 --header 'Authorization: Bearer ${TOKEN}'
  portion wrap --profile hostaway
  portion wrap --config portion.yaml -- npx -y SERVER

A server that asks for a login gets one in the browser; portion login does it beforehand.
Without a command or a URL, the single server of the configuration is wrapped.
--verbose logs the decision about each reply on stderr, never its content; PORTION_LOG sets the level for all commands.
The exit code is that of the command. With --url it is 0 if the client disconnected and 1 if the server did.";

/// Options of `portion wrap`.
#[derive(Clone, Debug, Args)]
#[command(after_help = AFTER_HELP)]
#[command(group = clap::ArgGroup::new("http_server").args(["server_url", "openapi", "upstream"]).multiple(true))]
pub(crate) struct Options {
    /// Command that starts the server, with its arguments, behind `--`
    #[arg(trailing_var_arg = true, conflicts_with = "server_url", value_name = "CMD")]
    command: Vec<OsString>,
    /// URL of an HTTP server, instead of a command
    #[arg(id = "server_url", long = "url", value_name = "URL")]
    url: Option<String>,
    /// Name of the server in records and in the configuration; without a command or a URL, the configured server to wrap
    #[arg(long = "server", value_name = "NAME", allow_hyphen_values = true)]
    server_name: Option<String>,
    #[command(flatten)]
    remote: RemoteArgs,
    #[command(flatten)]
    login: LoginArgs,
    /// Time that a request waits for a login before it gets an error (default: 55s)
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration, help_heading = "Login")]
    login_timeout: Option<Duration>,
    #[command(flatten)]
    rest: RestArgs,
    /// Base URL of the REST API, instead of the described one
    #[arg(long, value_name = "URL", conflicts_with_all = OTHER_SERVERS, help_heading = "REST API")]
    upstream: Option<String>,
    /// Serve health, metrics and the dashboard at this address
    #[arg(id = "admin_here", long = "admin", value_name = "ADDRESS", num_args = 0..=1, default_missing_value = admin::DEFAULT_ADDRESS,
        value_parser = parse_socket_address)]
    admin: Option<SocketAddr>,
    /// Allow an --admin address that other machines can reach
    #[arg(id = "insecure_here", long = "insecure", requires = "admin_here")]
    insecure: bool,
    #[command(flatten)]
    config_keys: Keys<ServerKeys>,
}

/// Starts or connects to the server, and relays until one side ends.
pub(crate) fn run(options: &Options) -> CommandResult {
    let loaded = LoadedConfig::load(&options.config_keys)?;
    let (name, server, login) = choose_server(options, &loaded.config)?;
    let has_login_options = options.login.is_given() || options.login_timeout.is_some();
    if has_login_options && !matches!(server, Server::Remote(_)) {
        return Err(UsageError::from(LOGIN_NEEDS_URL).into());
    }
    let at = options.admin_address(&loaded.config);
    let admin_callers = access::admin_authenticator(&loaded.config, at, options.insecure)?;
    let ids = ServerIds::new([(name.as_deref().unwrap_or_default(), &server)]).with_own_calls()?;
    if io::stdin().is_terminal() && io::stderr().is_terminal() {
        crate::cli::terminal::print_stderr!("{}", on_terminal(name.as_deref(), &options.command));
    }
    let setup = loaded.start(&ids, SNAPSHOT_TTL, start_check(options, &server))?;
    admin::export_metrics(&setup);
    let mut shutdown_guard = setup.shutdown_guard();
    process::register_watchdog();
    let message_limit = setup.config.upstream_message_limit();
    let mut processors = setup.processors(name.as_deref());
    let rest = match &server {
        Server::Rest(rest) => Some(connect_rest(rest, &mut processors, &setup.config)?),
        Server::Remote(_) | Server::Command(_) => None,
    };
    let processor = Arc::new(
        processors.new_processor(Scope::from_principal(STDIO_PRINCIPAL), ClientSession::new_unique()),
    );
    if matches!(server, Server::Command(_)) {
        launcher::install_for_client(&options.command);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let exit = runtime.block_on(async {
        // Signals are handled before the child starts, so that none can orphan it.
        let mut front = StdioFront::open(setup.config.client_message_limit())?;
        shutdown_guard.shutdown_deadline = front.shutdown_deadline.clone();
        admin::serve(at, &setup, admin_callers).await;
        setup.spawn_expiry_task();
        if let Some(rest) = rest {
            let (link, task) = rest.connect_with_task();
            return Ok(report_exit(relay_link(processor, link, task, front).await));
        }
        match server {
            Server::Rest(_) => Err("the REST API was not connected".into()),
            Server::Remote(remote) => {
                let mut remote = remote.to_link_remote(message_limit)?;
                let timeout = options.login_timeout.unwrap_or(remote::REQUEST_TIMEOUT);
                remote.authorizer =
                    remote::interactive_login(&remote.target, &options.login, &login, timeout)?;
                let (link, carried) = tokio::select! {
                    signal = front.signals.next() => return Ok(ExitCode::from(128 + signal)),
                    started = remote.connect_with_task() => started?,
                };
                Ok::<_, Box<dyn Error>>(report_exit(relay_link(processor, link, carried, front).await))
            }
            Server::Command(program) => {
                match Child::spawn(&process::with_user_environment(program), message_limit) {
                    Ok(child) => Ok(report_exit(relay(processor, child, front).await)),
                    Err(error) => {
                        crate::cli::terminal::print_stderr!("portion: {error}");
                        Ok(report_exit(serve_unavailable(processor, error.to_string(), front).await))
                    }
                }
            }
        }
    });
    // A thread may still block in a read of stdin; it must not delay the exit.
    runtime.shutdown_background();
    exit
}

/// Returns the configuration under the options of a command line that begins with `wrap`; `None` if it is not valid.
pub(crate) fn config_of(words: &[String]) -> Option<Config> {
    let matches = Options::augment_args(clap::Command::new("wrap")).try_get_matches_from(words).ok()?;
    let keys = Keys::<ServerKeys>::from_arg_matches(&matches).ok()?;
    let sources = keys.sources().ok()?;
    Config::load(&sources, 0).ok().map(|(config, _)| config)
}

/// Returns the server of the command line, else that of the configuration, with its name and its login.
fn choose_server(options: &Options, config: &Config) -> Result<(Option<String>, Server, LoginConfig)> {
    let rest = options.rest.resolve(options.upstream.as_deref(), options.remote.headers()?)?;
    let given = match rest {
        Some(rest) => Some(Server::Rest(Box::new(rest))),
        None => Server::from_args(options.url.as_deref(), &options.remote, &options.command)?,
    };
    if let Some(server) = given {
        let login = match &server {
            Server::Remote(remote) => remote::configured_login(config, &remote.url),
            Server::Rest(_) | Server::Command(_) => LoginConfig::default(),
        };
        return Ok((options.server_name.clone().filter(|name| !name.is_empty()), server, login));
    }
    let (name, server) = configured_server(options, config)?;
    let login = name.as_deref().and_then(|name| config.login(name)).cloned().unwrap_or_default();
    let server = server.with_rest_target(options.upstream.as_deref(), options.remote.headers()?)?;
    Ok((name, server, login))
}

impl Options {
    /// Returns the address for health, metrics and the dashboard, if there is one.
    fn admin_address(&self, config: &Config) -> Option<SocketAddr> {
        self.admin.or_else(|| config.explicit_admin())
    }

    /// Returns true if the server is not that of the configuration.
    fn has_own_server(&self) -> bool {
        self.rest.is_given() || self.url.is_some() || !self.command.is_empty()
    }
}

/// Returns what a user at a terminal should know: nothing happens until a client sends a message.
fn on_terminal(name: Option<&str>, command: &[OsString]) -> String {
    let words: Vec<_> = command.iter().map(|word| word.to_string_lossy()).collect();
    let line = shlex::try_join(words.iter().map(AsRef::as_ref)).unwrap_or_default();
    let line = if line.is_empty() { "COMMAND".to_owned() } else { line };
    let server = name.map(|name| format!(" {name}")).unwrap_or_default();
    format!(
        "portion: waiting for an MCP client on stdin; Ctrl-C ends it. A client starts this command itself:\n  \
         portion install{server}    puts it into the configurations of your clients\n  \
         portion try -- {line}    shows what the server's tools return through Portion"
    )
}

/// Reports how the server ended if the user should know.
fn report_exit(exit: RelayOutcome) -> ExitCode {
    if let Some(failure) = &exit.failure {
        crate::cli::terminal::print_stderr!("portion: {failure}");
    }
    exit.into()
}

/// Returns the only server of the configuration.
fn configured_server(options: &Options, config: &Config) -> Result<(Option<String>, Server), UsageError> {
    options.remote.reject_transport_without_url()?;
    let mut servers = NamedServer::from_upstreams(config.upstreams());
    if let Some(name) = &options.server_name {
        let known: Vec<String> = servers.iter().map(|one| one.name.clone()).collect();
        servers.retain(|one| one.name == *name);
        if servers.is_empty() {
            let known = if known.is_empty() { String::new() } else { format!(", but {}", known.join(", ")) };
            return Err(format!(
                "the configuration has no server {name}{known}; give its command after `--`"
            )
            .into());
        }
    }
    match servers.as_slice() {
        [] if options.upstream.is_some() => Err(NO_REST_API.into()),
        [] => Err(NO_SERVER.into()),
        [NamedServer { name, server }] => Ok((Some(name.clone()), server.clone())),
        several => {
            let known: Vec<&str> = several.iter().map(|one| &*one.name).collect();
            let known = known.join(", ");
            Err(format!(
                "the configuration has {known}: choose one with --server NAME, or use portion serve for all of them"
            )
            .into())
        }
    }
}

const LOGIN_NEEDS_URL: &str = "the options of a login need a server over HTTP; give its URL with --url";

const NO_SERVER: &str = "no server given: give its command after `--`, as in portion wrap -- npx -y SERVER, its URL \
                         with --url, or set it in the configuration";

/// Returns the check of a changed configuration while this server runs.
fn start_check(options: &Options, running: &Server) -> StartCheck {
    let (options, running) = (options.clone(), running.clone());
    Box::new(move |config: &Config| {
        let server = check_server(&options, &running, config).err();
        let server = server.map(|error| StartError::in_file(config, &error));
        let admin = access::admin_error(config, options.admin_address(config), options.insecure);
        server.into_iter().chain(admin).collect::<Vec<_>>()
    })
}

/// Checks the server of a changed configuration. A program that is missing is told to the client, so it is not checked.
fn check_server(options: &Options, running: &Server, config: &Config) -> Result<()> {
    if options.has_own_server() {
        return Ok(());
    }
    let (_, server, _) = choose_server(options, config)?;
    match &server {
        Server::Rest(_) if server != *running => server.check(config.file()),
        _ => Ok(()),
    }
}
