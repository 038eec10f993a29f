//! `portion serve`: MCP over HTTP in front of one server or several.

use std::error::Error;
use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::str::FromStr;
use std::sync::Arc;

use clap::Args;
use portion_config::Config;
use portion_gateway::overload::OverloadLimit;
use portion_mcp::front::http::{Backend, HttpLimits, HttpServer, OriginGuard};
use portion_mcp::front::{ShutdownDeadline, ShutdownSignals};
use portion_mcp::proxy::PublicResource;
use portion_mcp::upstream::stdio::Program;
use portion_policy::access::AccessPolicy;

use super::CommandResult;
use crate::cli::failure::{StartCheck, StartError, UsageError};
use crate::cli::options::{ConfigOptions as Keys, ListenerKeys};
use crate::cli::remote::RemoteArgs;
use crate::cli::rest::RestArgs;
use crate::run::access::{self, Upstreams};
use crate::run::listening::{self, Listener};
use crate::run::server::{NO_REST_API, NamedServer, Server, ServerIds};
use crate::run::setup::{LoadedConfig, SNAPSHOT_TTL};
use crate::run::{admin, process};

const AFTER_HELP: &str = "\
Examples:
  portion serve -- npx -y @modelcontextprotocol/server-filesystem ~/notes
  portion serve --url https://mcp.example.com/mcp --header 'Authorization: Bearer ${TOKEN}'
  portion serve --upstream git='uvx mcp-server-git' --upstream docs=https://docs.example.com/mcp
  portion serve --openapi openapi.yaml --upstream https://api.example.com/v1 --header 'Authorization: Bearer ${TOKEN}'
  portion serve --profile hostaway
  portion serve --config portion.yaml

One server is served at /mcp, several at /NAME/mcp. Without servers on the command line, those of the configuration are
served.
--verbose logs the decision about each reply on stderr; PORTION_LOG sets the level for all commands.";

/// Options of `portion serve`.
#[derive(Clone, Debug, Args)]
#[command(after_help = AFTER_HELP)]
#[command(group = clap::ArgGroup::new("server").args(["command", "server_url", "upstream"]))]
#[command(group = clap::ArgGroup::new("http_server").args(["server_url", "openapi", "upstream"]).multiple(true))]
pub(crate) struct Options {
    /// Command that starts the server, with its arguments, behind `--`
    #[arg(trailing_var_arg = true, value_name = "CMD")]
    command: Vec<OsString>,
    /// URL of an HTTP server, instead of a command
    #[arg(id = "server_url", long = "url", value_name = "URL")]
    url: Option<String>,
    #[command(flatten)]
    remote: RemoteArgs,
    #[command(flatten)]
    rest: RestArgs,
    /// One of several servers, by URL or command line: served at /NAME/mcp; with --openapi, the base URL of the API
    #[arg(id = "upstream", long = "upstream", value_name = "NAME=URL|CMD")]
    upstreams: Vec<NamedServer>,
    #[command(flatten)]
    config_keys: Keys<ListenerKeys>,
}

/// Address to listen at by default.
const DEFAULT_ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8765);

/// Path, name (if there are several servers) and server.
type MountedServer = (String, Option<String>, Server);

/// Serves until a signal ends it.
pub(crate) fn run(options: &Options) -> CommandResult {
    let loaded = LoadedConfig::load(&options.config_keys)?;
    listening::run(|shutdown| serve(options, loaded, shutdown))
}

async fn serve(options: &Options, loaded: LoadedConfig, shutdown: ShutdownDeadline) -> CommandResult {
    let signals = ShutdownSignals::listen()?;
    let servers = servers(options, &loaded.config)?;
    let exposed = listener(&loaded.config);
    let callers = access::authenticator(&loaded.config, exposed, &auth_upstreams(&servers))?;
    let admin_callers = access::admin_authenticator(&loaded.config, loaded.config.admin(), false)?;
    for (_, _, server) in &servers {
        server.check_program()?;
    }
    process::register_watchdog();
    let ids = ServerIds::new(servers.iter().map(|(path, _, server)| (path.as_str(), server)));
    let setup = loaded.start(&ids, SNAPSHOT_TTL, start_check(options, &servers))?;
    admin::export_metrics(&setup);
    let mut shutdown_guard = setup.shutdown_guard();
    shutdown_guard.shutdown_deadline = shutdown;
    // Where callers are verified here, they log in for Portion and not for the servers.
    let is_open = matches!(setup.config.access(), Ok(AccessPolicy::Anyone | AccessPolicy::Passthrough));
    let public_url = setup.config.public_url().filter(|_| is_open);
    let backend = |(path, name, server): MountedServer| {
        let public = public_url.as_ref().map(|origin| PublicResource::new(&origin.to_string(), &path));
        Ok((path, server.into_backend(setup.processors(name.as_deref()), &setup.config, public)?))
    };
    let backends = servers.into_iter().map(backend);
    let backends = backends.collect::<Result<Vec<(String, Arc<dyn Backend>)>, Box<dyn Error>>>()?;
    let listener = listening::bind(exposed.at).await?;
    let address = listener.local_addr()?;
    for (path, _) in &backends {
        crate::cli::terminal::print_stderr!("portion: listening on http://{address}{path}");
    }
    admin::serve(setup.config.admin(), &setup, admin_callers).await;
    setup.spawn_expiry_task();
    let guard = OriginGuard::new(address, setup.config.allow_hosts(), setup.config.allow_origins());
    let limits = HttpLimits { overload: Some(OverloadLimit::default()), ..HttpLimits::default() };
    let mut limits = limits.with_max_body_bytes(setup.config.client_message_limit());
    limits.connections.drain_timeout = setup.config.drain_timeout();
    let server = HttpServer::new(guard, setup.principals.clone(), limits, backends);
    let server = Arc::new(server.with_authenticator(callers).with_cors());
    let drain = Arc::clone(&setup.drain_flag);
    listening::serve_until_signal(server.serve(listener, drain), signals, &setup).await
}

/// Returns the listener of clients, as configured.
pub(crate) fn listener(config: &Config) -> Listener {
    let at = config.listen_or(DEFAULT_ADDRESS);
    Listener { at, subject: "MCP", option: "--listen", auth_option: Some("--auth bearer") }
}

fn auth_upstreams(servers: &[MountedServer]) -> Upstreams<'_> {
    Upstreams::of(servers.iter().map(|(_, _, server)| server))
}

/// Returns the servers with their paths.
fn servers(options: &Options, config: &Config) -> Result<Vec<MountedServer>, UsageError> {
    if options.rest.is_given() {
        return rest_server(options).map(|server| vec![server]);
    }
    if let Some(url) = bare_url(options) {
        return configured_api(url, options, config);
    }
    if !options.upstreams.is_empty() && options.remote.has_headers() {
        return Err("--header needs --url, --openapi or --upstream URL; for NAME=URL, set headers in the \
                    configuration"
            .into());
    }
    if let Some(server) = Server::from_args(options.url.as_deref(), &options.remote, &options.command)? {
        return Ok(vec![("/mcp".to_owned(), None, server)]);
    }
    let named: Vec<NamedServer> = if options.upstreams.is_empty() {
        NamedServer::from_upstreams(config.upstreams())
    } else {
        let transport = options.remote.transport();
        options.upstreams.iter().map(|configured| configured.clone().with_transport(transport)).collect()
    };
    let has_url = named.iter().any(|NamedServer { server, .. }| matches!(server, Server::Remote(_)));
    if options.upstreams.is_empty() || !has_url {
        options.remote.reject_transport_without_url()?;
    }
    let twice =
        named.iter().enumerate().find(|(i, one)| named[..*i].iter().any(|other| other.name == one.name));
    if let Some((_, NamedServer { name, .. })) = twice {
        return Err(format!("two servers have the path /{name}/mcp; give them different names").into());
    }
    let placed = |NamedServer { name, server }: &NamedServer| {
        (format!("/{name}/mcp"), Some(name.clone()), server.clone())
    };
    match (named.as_slice(), options.upstreams.is_empty()) {
        ([], _) => Err(NO_SERVER.into()),
        // If a second server is added later, the first keeps its path.
        ([one], true) => {
            let plain = (String::from("/mcp"), Some(one.name.clone()), one.server.clone());
            Ok(vec![plain, placed(one)])
        }
        (several, _) => Ok(several.iter().map(placed).collect()),
    }
}

/// Returns the URL of `--upstream URL`, which is that of a configured REST API.
fn bare_url(options: &Options) -> Option<&str> {
    options.upstreams.iter().find_map(|named| match &named.server {
        Server::Remote(remote) if named.name.is_empty() => Some(remote.url.as_str()),
        _ => None,
    })
}

/// Returns the only REST API of the configuration, at another URL.
fn configured_api(url: &str, options: &Options, config: &Config) -> Result<Vec<MountedServer>, UsageError> {
    let mut named = NamedServer::from_upstreams(config.upstreams());
    named.retain(|one| matches!(one.server, Server::Rest(_)));
    match (<[NamedServer; 1]>::try_from(named), options.upstreams.len()) {
        (Ok([NamedServer { name, server }]), 1) => {
            let server = server.with_rest_target(Some(url), options.remote.headers()?)?;
            Ok(vec![
                ("/mcp".to_owned(), Some(name.clone()), server.clone()),
                (format!("/{name}/mcp"), Some(name), server),
            ])
        }
        _ => Err(format!("--upstream: write it as NAME=URL or NAME='CMD ARGS'; {NO_REST_API}").into()),
    }
}

/// Returns the REST API on the command line.
fn rest_server(options: &Options) -> Result<MountedServer, UsageError> {
    let (name, url) = match options.upstreams.as_slice() {
        [] => (None, None),
        [NamedServer { name, server: Server::Remote(remote) }] => {
            (Some(name.clone()).filter(|name| !name.is_empty()), Some(remote.url.as_str()))
        }
        _ => return Err("--openapi: give one --upstream with the base URL of the API".into()),
    };
    let rest = options.rest.resolve(url, options.remote.headers()?)?;
    let rest = rest.ok_or(NO_SERVER)?;
    let path = name.as_ref().map_or_else(|| "/mcp".to_owned(), |name| format!("/{name}/mcp"));
    Ok((path, name, Server::Rest(Box::new(rest))))
}

const NO_SERVER: &str = "no server given: give its command after `--`, as in portion serve -- npx -y SERVER, its \
                         URL with --url, several with --upstream, or list them in the configuration";

/// Returns the check of a changed configuration while these servers run.
fn start_check(options: &Options, running: &[MountedServer]) -> StartCheck {
    let (options, running) = (options.clone(), running.to_vec());
    Box::new(move |config: &Config| start_errors(&options, &running, config))
}

fn start_errors(options: &Options, running: &[MountedServer], config: &Config) -> Vec<StartError> {
    let servers = changed_servers(options, running, config);
    let error = servers.as_ref().err().map(|error| StartError::in_file(config, error));
    let servers = servers.unwrap_or_default();
    let errors = error
        .into_iter()
        .chain(new_server_errors(&servers, running, config))
        .chain(access::caller_error(config, listener(config), &auth_upstreams(&servers)))
        .chain(access::admin_error(config, config.admin(), false));
    errors.collect()
}

/// Returns the servers of a configuration. Those of the command line do not change.
fn changed_servers(
    options: &Options,
    running: &[MountedServer],
    config: &Config,
) -> Result<Vec<MountedServer>, UsageError> {
    if options.has_own_servers() { Ok(running.to_vec()) } else { servers(options, config) }
}

/// Returns the errors of the servers that do not run yet.
fn new_server_errors(
    servers: &[MountedServer],
    running: &[MountedServer],
    config: &Config,
) -> Vec<StartError> {
    let new = servers.iter().filter(|server| !running.contains(server));
    let errors = new.filter_map(|(_, _, server)| server.check(config.file()).err());
    let mut errors: Vec<StartError> = errors.map(|error| StartError::in_file(config, &error)).collect();
    // A server may have two paths.
    errors.dedup();
    errors
}

impl Options {
    /// Returns true if none of its servers are those of the configuration.
    fn has_own_servers(&self) -> bool {
        let has_named = !self.upstreams.is_empty() && bare_url(self).is_none();
        has_named || self.rest.is_given() || self.url.is_some() || !self.command.is_empty()
    }
}

impl FromStr for NamedServer {
    type Err = String;

    /// A URL without a name has an empty one.
    fn from_str(text: &str) -> Result<Self, String> {
        let is_url = |text: &str| text.starts_with("http://") || text.starts_with("https://");
        let remote = |url: &str| RemoteArgs::default().resolve(url).map_err(|error| error.to_string());
        if is_url(text) {
            return Ok(Self { name: String::new(), server: Server::Remote(remote(text)?) });
        }
        let (name, rest) = text.split_once('=').ok_or("write it as NAME=URL or NAME='CMD ARGS'")?;
        let plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'));
        if name.is_empty() || !plain || name.starts_with('.') {
            return Err(format!("`{name}` is not valid in a path; use letters, digits, `_`, `-` and `.`"));
        }
        let server = if is_url(rest) {
            Server::Remote(remote(rest)?)
        } else {
            let words = shlex::split(rest).unwrap_or_default();
            let [program, args @ ..] = words.as_slice() else {
                return Err(format!("`{rest}` is neither a URL nor a command line"));
            };
            Server::Command(Program::new(program, args))
        };
        Ok(Self { name: name.to_owned(), server })
    }
}

#[cfg(test)]
mod tests {
    use super::{NamedServer, Program, RemoteArgs, Server};

    fn check(text: &str, expect: Result<(&str, Server), &str>) {
        match (text.parse::<NamedServer>(), expect) {
            (Ok(named), Ok((name, server))) => {
                assert!(named.name == name && named.server == server, "{text}");
            }
            (Err(error), Err(expect)) => assert!(error.contains(expect), "{text}: {error}"),
            (named, _) => panic!("{text}: {named:?}"),
        }
    }

    #[test]
    fn a_server_is_a_url_or_a_command_line() {
        let remote = RemoteArgs::default().resolve("http://x/mcp?y=z").expect("no references");
        check("a=http://x/mcp?y=z", Ok(("a", Server::Remote(remote))));
        check("git-1=uvx 'x y' --z=1", Ok(("git-1", Server::Command(Program::new("uvx", ["x y", "--z=1"])))));
        check("a", Err("NAME=URL"));
        let bare = RemoteArgs::default().resolve("https://x/v1?y=z").expect("no references");
        check("https://x/v1?y=z", Ok(("", Server::Remote(bare))));
        check("a/b=x", Err("is not valid in a path"));
        check("..=x", Err("is not valid in a path"));
        check("a=", Err("neither a URL nor a command line"));
        check("a='x", Err("neither a URL nor a command line"));
    }
}
