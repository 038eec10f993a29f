//! Runs a listener until a signal ends it.

use std::error::Error;
use std::future::Future;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;

use portion_mcp::front::signals::ShutdownSignals;
use portion_mcp::shutdown_deadline::ShutdownDeadline;
use portion_net::worker::Deadline;
use tokio::net::TcpListener;

use crate::run::setup::Setup;

/// Exit code of a command that listens, or its error.
type ListenResult = Result<ExitCode, Box<dyn Error>>;

/// Runs a server on a runtime of its own. Tasks that are left when it returns end by the deadline of the shutdown.
pub(crate) fn run<F: Future<Output = ListenResult>>(
    serve: impl FnOnce(ShutdownDeadline) -> F,
) -> ListenResult {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let shutdown = ShutdownDeadline::default();
    let result = runtime.block_on(serve(shutdown.clone()));
    // Tasks that are dropped end the servers that they have started.
    runtime.shutdown_timeout(shutdown.deadline().remaining());
    result
}

/// Listens at an address.
pub(crate) async fn bind(address: SocketAddr) -> Result<TcpListener, String> {
    TcpListener::bind(address)
        .await
        .map_err(|error| format!("cannot listen at {address}: {error}; choose another address with --listen"))
}

/// Serves until the first signal. Then open requests are answered, and what is left of the drain timeout is for results that
/// the store has not got yet. A second signal ends both.
pub(crate) async fn serve_until_signal(
    serving: impl Future<Output = ()> + Send + 'static,
    mut signals: ShutdownSignals,
    setup: &Arc<Setup>,
) -> ListenResult {
    let mut serving = tokio::spawn(serving);
    let code = tokio::select! {
        signal = signals.next() => 128 + signal,
        ended = &mut serving => {
            ended?;
            return Ok(ExitCode::SUCCESS);
        }
    };
    setup.drain_flag().set();
    let deadline = Deadline::after(setup.config.drain_timeout());
    let drained = async {
        serving.await?;
        setup.flush_store(deadline).await;
        Ok::<_, Box<dyn Error>>(())
    };
    tokio::select! {
        ended = drained => ended?,
        _ = signals.next() => {}
    }
    Ok(ExitCode::from(code))
}
