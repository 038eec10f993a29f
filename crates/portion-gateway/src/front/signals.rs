//! The signals that ask us to leave.

use std::io;

use tokio::sync::mpsc;

/// Listens from its creation on, so that no signal is missed between the start of a child and the wait
/// for one: create it first.
///
/// The first signal is told. The second ends the process at once, with the groups of all servers, whatever the process is
/// busy with: a thread of its own waits for it.
pub struct ShutdownSignals(mpsc::UnboundedReceiver<u8>);

impl ShutdownSignals {
    /// Takes over SIGTERM, SIGINT and SIGHUP, or Ctrl-C.
    ///
    /// # Errors
    /// When the system refuses a handler or a thread.
    pub fn listen() -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let mut source = {
            let _entered = runtime.enter();
            source::Source::open()?
        };
        let (to, numbers) = mpsc::unbounded_channel();
        std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
            runtime.block_on(async {
                let first = source.next().await;
                let _ = to.send(first);
                source.next().await;
                crate::upstream::group_registry::kill_all();
                std::process::exit(i32::from(128 + first));
            });
        })?;
        Ok(Self(numbers))
    }

    /// The number of the first signal; none follows.
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

        /// 2, the number of an interrupt, after a Ctrl-C.
        pub(super) async fn next(&mut self) -> u8 {
            if tokio::signal::ctrl_c().await.is_err() {
                std::future::pending::<()>().await;
            }
            2
        }
    }
}
