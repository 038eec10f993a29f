//! Runs a listener until a signal ends it, and decides if it may be where other machines can connect.
//!
//! If callers are not authenticated, every program that can connect to a listener can use its servers, with the operator's
//! credentials.

use std::error::Error;
use std::future::Future;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;

use portion_mcp::front::{ShutdownDeadline, ShutdownSignals};
use portion_net::worker::Deadline;
use tokio::net::TcpListener;

use crate::cli::failure::UsageError;
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
    setup.drain_flag.set();
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

/// A listener, as far as it matters for its exposure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Listener {
    /// Address.
    pub(crate) at: SocketAddr,
    /// Served there, for messages.
    pub(crate) subject: &'static str,
    /// Option that sets the address.
    pub(crate) option: &'static str,
    /// Option that authenticates callers, if there is one.
    pub(crate) auth_option: Option<&'static str>,
}

impl Listener {
    /// Rejects an address that other machines can reach, unless callers are authenticated, or `insecure` is set.
    ///
    /// # Errors
    /// Returns the problem and the options that fix it.
    pub(crate) fn check(self, is_authenticated: bool, insecure: bool) -> Result<(), UsageError> {
        if insecure || !self.is_open(is_authenticated) {
            return Ok(());
        }
        let Self { at, subject, option, auth_option } = self;
        let port = at.port();
        let authenticate =
            auth_option.map(|option| format!("authenticate them with {option}, ")).unwrap_or_default();
        Err(format!(
            "other machines can reach {at}, and callers of {subject} are not authenticated: {authenticate}use {option} \
             127.0.0.1:{port}, or add --insecure (insecure: true) if something in front authenticates them"
        )
        .into())
    }

    /// Warns on stderr if other machines can use the listener, as `insecure` allows.
    pub(crate) fn warn_if_open(self, is_authenticated: bool) {
        let Self { at, subject, .. } = self;
        if self.is_open(is_authenticated) {
            crate::cli::terminal::print_stderr!(
                "portion: warning: every machine that reaches {at} can use {subject}: callers are not authenticated \
                 (--insecure)"
            );
        }
    }

    /// Returns true if other machines can reach the address, and callers are not authenticated.
    fn is_open(self, is_authenticated: bool) -> bool {
        !is_authenticated && !self.at.ip().to_canonical().is_loopback()
    }
}

#[cfg(test)]
mod tests {
    use super::Listener;

    #[test]
    fn only_loopback_is_allowed_without_being_told() {
        let check_address = |at: &str, is_authenticated, insecure| {
            let at = at.parse().expect("an address");
            let listener =
                Listener { at, subject: "MCP", option: "--listen", auth_option: Some("--auth bearer") };
            listener.check(is_authenticated, insecure).map_err(|error| error.to_string())
        };
        for at in ["127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "[::ffff:127.0.0.1]:1"] {
            assert_eq!(check_address(at, false, false), Ok(()), "{at}");
        }
        for at in ["0.0.0.0:8765", "[::]:8765", "192.0.2.1:8765", "[::ffff:192.0.2.1]:8765", "10.0.0.1:8765"]
        {
            let refused = check_address(at, false, false).expect_err(at);
            assert!(refused.contains(at) && refused.contains("--insecure"), "{refused}");
            assert!(refused.contains("--listen 127.0.0.1:8765") && refused.contains("--auth"), "{refused}");
            assert_eq!(check_address(at, false, true), Ok(()), "{at}");
            assert_eq!(check_address(at, true, false), Ok(()), "{at}");
        }
    }
}
