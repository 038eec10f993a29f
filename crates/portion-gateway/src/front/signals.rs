//! The signals that ask us to leave.

use std::io;

/// Listens from its creation on, so that no signal is missed between the start of a child and the wait
/// for one: create it first.
pub struct Signals {
    #[cfg(unix)]
    streams: [(u8, tokio::signal::unix::Signal); 3],
}

#[cfg(unix)]
impl Signals {
    /// Takes over SIGTERM, SIGINT and SIGHUP.
    ///
    /// # Errors
    /// When the system refuses a handler.
    pub fn listen() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let stream = |number: u8| Ok::<_, io::Error>((number, signal(SignalKind::from_raw(number.into()))?));
        Ok(Self { streams: [stream(15)?, stream(2)?, stream(1)?] })
    }

    /// The number of the next signal.
    pub async fn next(&mut self) -> u8 {
        let [(term, terminate), (int, interrupt), (hup, hang_up)] = &mut self.streams;
        tokio::select! {
            _ = terminate.recv() => *term,
            _ = interrupt.recv() => *int,
            _ = hang_up.recv() => *hup,
        }
    }
}

#[cfg(not(unix))]
impl Signals {
    /// Takes over Ctrl-C.
    ///
    /// # Errors
    /// When the system refuses a handler.
    pub fn listen() -> io::Result<Self> {
        Ok(Self {})
    }

    /// 2, the number of an interrupt, after a Ctrl-C.
    pub async fn next(&mut self) -> u8 {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        2
    }
}
