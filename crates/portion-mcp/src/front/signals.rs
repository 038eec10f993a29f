//! Handles the signals that end this process.

use std::io;

use tokio::sync::mpsc;

/// Receiver of shutdown signals. Listens from its creation on: create it before a child is started, so that no signal
/// is missed.
///
/// The first signal is returned by [`next`](Self::next). The second kills the groups of all servers and exits at once,
/// from a thread of its own, so that nothing can delay it.
pub struct ShutdownSignals(mpsc::UnboundedReceiver<u8>);

impl ShutdownSignals {
    /// Installs handlers for SIGTERM, SIGINT and SIGHUP, or for Ctrl-C.
    ///
    /// # Errors
    /// Returns an error if a handler cannot be installed or the thread cannot be started.
    pub fn listen() -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let mut source = {
            let _entered = runtime.enter();
            source::Source::open()?
        };
        let (sender, receiver) = mpsc::unbounded_channel();
        std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
            runtime.block_on(async {
                let first = source.next().await;
                let _ = sender.send(first);
                source.next().await;
                crate::upstream::process_group::kill_all();
                std::process::exit(i32::from(128 + first));
            });
        })?;
        Ok(Self(receiver))
    }

    /// Returns the number of the first signal; later calls never return.
    pub async fn next(&mut self) -> u8 {
        match self.0.recv().await {
            Some(number) => number,
            None => std::future::pending().await,
        }
    }
}

#[cfg(unix)]
mod source {
    use std::io;

    use tokio::signal::unix::{Signal, SignalKind, signal};

    pub(super) struct Source([(u8, Signal); 3]);

    impl Source {
        pub(super) fn open() -> io::Result<Self> {
            let stream =
                |number: u8| Ok::<_, io::Error>((number, signal(SignalKind::from_raw(number.into()))?));
            Ok(Self([stream(15)?, stream(2)?, stream(1)?]))
        }

        pub(super) async fn next(&mut self) -> u8 {
            let [(term, terminate), (int, interrupt), (hup, hang_up)] = &mut self.0;
            tokio::select! {
                _ = terminate.recv() => *term,
                _ = interrupt.recv() => *int,
                _ = hang_up.recv() => *hup,
            }
        }
    }
}

#[cfg(not(unix))]
mod source {
    use std::io;

    pub(super) struct Source;

    impl Source {
        pub(super) fn open() -> io::Result<Self> {
            Ok(Self)
        }

        /// Returns 2, the number of SIGINT, after a Ctrl-C.
        pub(super) async fn next(&mut self) -> u8 {
            if tokio::signal::ctrl_c().await.is_err() {
                std::future::pending::<()>().await;
            }
            2
        }
    }
}
