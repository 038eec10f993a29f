//! `portion dashboard`: serves the records as pages for a browser, without a running Portion.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use portion_config::key::parse_socket_address;
use portion_config::{Config, Warnings, find};
use portion_gateway::gateway_parts::random_secret;
use portion_gateway::principal::PrincipalResolver;
use portion_mcp::front::ShutdownSignals;
use portion_mcp::front::http::{Backend, HttpLimits, HttpServer, OriginGuard};
use portion_mcp::once::OneShotFlag;
use portion_telemetry::read::{ReadError, Reader};

use super::CommandResult;
use crate::cli::options::FILE_HELP;
use crate::cli::remote;
use crate::run::admin::MAX_REQUEST_BYTES;
use crate::run::dashboard::DashboardBackend;
use crate::run::listening::{self, Listener};

/// Default address, one port after the admin listener.
const DEFAULT_ADDRESS: &str = "127.0.0.1:9466";

const AFTER_HELP: &str = "\
Examples:
  portion dashboard --open
  portion dashboard --telemetry /srv/portion/telemetry.db --listen 127.0.0.1:0

While portion serve runs, its --admin address serves the same page.";

/// Options of `portion dashboard`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Options {
    /// Address to listen on; port 0: any free port
    #[arg(long, value_name = "ADDRESS", default_value = DEFAULT_ADDRESS, value_parser = parse_socket_address)]
    listen: SocketAddr,
    /// Open the page in a browser
    #[arg(long)]
    open: bool,
    /// Telemetry file (default: from the configuration)
    #[arg(long, value_name = "FILE")]
    telemetry: Option<PathBuf>,
    /// Listen on addresses that other machines can reach
    #[arg(long)]
    insecure: bool,
    #[arg(long, value_name = "FILE", help = FILE_HELP)]
    config: Option<PathBuf>,
}

/// Serves until a signal ends it.
pub(crate) fn run(options: &Options) -> CommandResult {
    let (config, Warnings(warnings)) = Config::load(&find(options.config.as_deref(), Vec::new())?, 0)?;
    for warning in warnings {
        crate::cli::terminal::print_stderr!("portion: {warning}");
    }
    let file = options.telemetry.clone().or_else(|| config.telemetry(find::telemetry_file));
    if let Some(file) = &file {
        check_readable(file)?;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let served = runtime.block_on(serve(options, &config, file));
    runtime.shutdown_background();
    served
}

/// Checks that the file has records, or may have some later.
fn check_readable(file: &Path) -> Result<(), ReadError> {
    match Reader::open(file) {
        Ok(_) | Err(ReadError::Missing(_)) => Ok(()),
        Err(error) => Err(error),
    }
}

async fn serve(options: &Options, config: &Config, file: Option<PathBuf>) -> CommandResult {
    let mut signals = ShutdownSignals::listen()?;
    let listen = options.listen;
    let exposed = Listener { at: listen, subject: "the dashboard", option: "--listen", auth_option: None };
    exposed.check(false, options.insecure || config.insecure())?;
    exposed.warn_if_open(false);
    let listener = listening::bind(listen).await?;
    let address = listener.local_addr()?;
    let dashboard: Arc<dyn Backend> =
        Arc::new(DashboardBackend::new(file, config.token_price(), Box::new(|| None)));
    let guard = OriginGuard::new(address, config.allow_hosts(), config.allow_origins());
    let principals = PrincipalResolver::new(random_secret()?, Vec::new());
    let limits = HttpLimits::default().with_max_body_bytes(MAX_REQUEST_BYTES);
    let server = Arc::new(HttpServer::new(guard, principals, limits, vec![("/".to_owned(), dashboard)]));
    let serving = tokio::spawn(server.serve(listener, Arc::new(OneShotFlag::default())));
    crate::cli::terminal::print_stderr!("portion: the dashboard is listening on http://{address}/");
    if options.open {
        remote::open_page(&format!("http://{address}/"));
    }
    tokio::select! {
        signal = signals.next() => Ok(ExitCode::from(128 + signal)),
        ended = serving => {
            ended?;
            Ok(ExitCode::SUCCESS)
        }
    }
}
