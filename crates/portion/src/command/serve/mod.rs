//! `portion serve`: MCP over HTTP in front of one server or several.

mod upstream;

use std::error::Error;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use portion_gateway::front::http::{Backend, Door, Guard, Limits};
use portion_gateway::front::signals::Signals;
use portion_gateway::latch::Latch;
use tokio::net::TcpListener;

use self::upstream::{Named, Upstream};
use super::Outcome;
use crate::log;
use crate::remote::Way;
use crate::shaping::Shaping;

const AFTER_HELP: &str = "\
Examples:
  portion serve -- npx -y @modelcontextprotocol/server-filesystem ~/notes
  portion serve --url https://mcp.example.com/mcp --header 'Authorization: Bearer ${TOKEN}'
  portion serve --upstream git='uvx mcp-server-git' --upstream docs=https://docs.example.com/mcp

One server is served at /mcp, several at /NAME/mcp. PORTION_LOG=info tells on stderr what was decided about each reply.";

/// Options of `portion serve`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
#[command(group = clap::ArgGroup::new("server").required(true).args(["command", "url", "upstreams"]))]
pub(crate) struct Options {
    /// The command that starts the server, after `--`
    #[arg(last = true, value_name = "CMD")]
    command: Vec<OsString>,
    /// The URL of a server over HTTP
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    #[command(flatten)]
    way: Way,
    /// One of several servers, by its URL or its command line: served at /NAME/mcp
    #[arg(long = "upstream", value_name = "NAME=URL|CMD")]
    upstreams: Vec<Named>,
    /// Where to listen; port 0 takes a free one
    #[arg(
        long,
        value_name = "ADDRESS",
        env = "PORTION_LISTEN",
        default_value = "127.0.0.1:8765",
        hide_env_values = true
    )]
    listen: SocketAddr,
    /// A further Host by which we may be asked, on loopback
    #[arg(long = "allow-host", value_name = "HOST")]
    hosts: Vec<String>,
    /// An Origin whose pages may ask, such as `https://app.example.com`
    #[arg(long = "allow-origin", value_name = "ORIGIN")]
    origins: Vec<String>,
    #[command(flatten)]
    shaping: Shaping,
}

/// Serves until a signal ends it.
pub(crate) fn run(options: &Options) -> Outcome {
    log::to_stderr();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let served = runtime.block_on(serve(options));
    runtime.shutdown_background();
    served
}

async fn serve(options: &Options) -> Outcome {
    let mut signals = Signals::listen()?;
    let lanes = options.shaping.lanes()?;
    let backends = backends(options)?
        .into_iter()
        .map(|(path, upstream)| Ok((path, upstream.backend(&lanes)?)))
        .collect::<Result<Vec<(String, Arc<dyn Backend>)>, Box<dyn Error>>>()?;
    let listener = TcpListener::bind(options.listen).await.map_err(|error| {
        format!("cannot listen at {}: {error}; choose another address with --listen", options.listen)
    })?;
    let address = listener.local_addr()?;
    for (path, _) in &backends {
        anstream::eprintln!("portion: listening on http://{address}{path}");
    }
    let guard = Guard::new(address, options.hosts.clone(), options.origins.clone());
    let limits = Limits { body: options.shaping.message_limit(), ..Limits::default() };
    let door = Arc::new(Door::new(guard, limits, backends));
    let leave = Arc::new(Latch::default());
    let mut serving = tokio::spawn(door.serve(listener, Arc::clone(&leave)));
    let code = tokio::select! {
        signal = signals.next() => 128 + signal,
        ended = &mut serving => {
            ended??;
            return Ok(ExitCode::SUCCESS);
        }
    };
    leave.set();
    // Whoever is in a hurry says so once more.
    tokio::select! {
        ended = serving => ended??,
        _ = signals.next() => {}
    }
    Ok(ExitCode::from(code))
}

/// The servers, by the paths at which they are served.
fn backends(options: &Options) -> Result<Vec<(String, Upstream)>, String> {
    let url = options.url.clone().map(|url| Upstream::Url(url, options.way.clone()));
    let one =
        url.or_else(|| (!options.command.is_empty()).then(|| Upstream::Command(options.command.clone())));
    if let Some(upstream) = one {
        return Ok(vec![("/mcp".to_owned(), upstream)]);
    }
    let named =
        options.upstreams.iter().map(|Named { name, upstream }| (format!("/{name}/mcp"), upstream.clone()));
    let named: Vec<_> = named.collect();
    let twice =
        named.iter().enumerate().find(|(i, (path, _))| named[..*i].iter().any(|(other, _)| other == path));
    match twice {
        Some((_, (path, _))) => Err(format!("two servers are to be served at {path}; name them differently")),
        None => Ok(named),
    }
}
