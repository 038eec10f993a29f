//! Keeps a connection to the store, and knows whether the store answers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use redis::{Pipeline, Value};
use tokio::sync::{Notify, watch};
use tokio::time::{sleep, timeout};

use super::connection::{Connection, Connector};
use super::failure::{Failure, Result};
use crate::store::BackendStatus;

/// Longest wait for an answer of the store.
pub const RESPONSE_TIMEOUT: Duration = Duration::from_secs(1);
/// Longest wait for a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(1_500);
/// Wait for another connection, if one is lost while it is used.
const RECONNECT_WAIT: Duration = Duration::from_millis(300);
/// Time between probes of a store that answers.
const PROBE_INTERVAL: Duration = Duration::from_secs(1);
/// Time between attempts to connect.
const RETRY_INTERVAL: Duration = Duration::from_millis(250);
/// Time to live of the key that probes write.
const PROBE_TTL_MS: u64 = 60_000;
/// Largest number of bytes that a probe writes: as many as one write of a result.
const MAX_PROBE_BYTES: usize = 1 << 20;
/// Bytes of each field that such a probe writes: as many as a block of a result.
const PROBE_FIELD_BYTES: usize = 64 << 10;

/// The connection, and the state of the store.
pub(crate) struct Keeper {
    /// URL without credentials, for the log.
    redacted_url: String,
    probe_key: String,
    link: watch::Sender<ConnectionState>,
    wakeup: Notify,
    status: Mutex<BackendStatus>,
    /// The write that the store has to accept before it is available again.
    refused: Mutex<Option<RefusedWrite>>,
    /// Time after which a refusal is forgotten: that for which results are kept.
    refusal_ttl: Duration,
}

/// A write of a result that the store has refused.
#[derive(Clone, PartialEq, Eq)]
struct RefusedWrite {
    /// Key that a probe may write. In a cluster, it belongs to the server that has refused.
    key: String,
    bytes: usize,
    /// Time of the last refusal.
    at: Instant,
}

/// The current connection. Each has another number.
#[derive(Clone)]
enum ConnectionState {
    /// The first attempt is under way.
    Connecting,
    Open(u64, Connection),
    Closed(Failure),
}

impl Keeper {
    pub(crate) fn new(redacted_url: String, probe_key: String, refusal_ttl: Duration) -> Self {
        let status = BackendStatus { is_available: false, problem: None, failure_count: 0 };
        Self {
            redacted_url,
            probe_key,
            link: watch::Sender::new(ConnectionState::Connecting),
            wakeup: Notify::new(),
            status: Mutex::new(status),
            refused: Mutex::default(),
            refusal_ttl,
        }
    }

    /// Returns the state of the store.
    pub(crate) fn status(&self) -> BackendStatus {
        self.status.lock().clone()
    }

    /// Runs commands in one round trip, which may be repeated. Fails at once while there is no connection.
    pub(crate) async fn run(&self, commands: &Pipeline) -> Result<Vec<Value>> {
        let mut link = self.link.subscribe();
        let (number, connection) = match Self::current(&mut link).await {
            ConnectionState::Open(number, connection) => (number, connection),
            ConnectionState::Closed(failure) => return Err(self.count(failure)),
            ConnectionState::Connecting => return Err(self.count(Failure::TimedOut)),
        };
        let mut answer = self.run_on(number, connection, commands).await;
        if matches!(answer, Err(Failure::Disconnected(_))) {
            // The store may have been restarted, or another be the master.
            let is_open =
                |link: &ConnectionState| matches!(link, ConnectionState::Open(new, _) if *new != number);
            let opened = timeout(RECONNECT_WAIT, link.wait_for(is_open)).await;
            let opened = opened.ok().and_then(Result::ok).map(|link| link.clone());
            if let Some(ConnectionState::Open(number, connection)) = opened {
                answer = self.run_on(number, connection, commands).await;
            }
        }
        answer.map_err(|failure| self.count(failure))
    }

    /// Runs commands on the connection of this number, and closes it if it is of no use any more.
    async fn run_on(
        &self,
        number: u64,
        mut connection: Connection,
        commands: &Pipeline,
    ) -> Result<Vec<Value>> {
        let mut link = self.link.subscribe();
        let is_lost = link.wait_for(|link| !matches!(link, ConnectionState::Open(..)));
        let answer = tokio::select! {
            answer = timeout(RESPONSE_TIMEOUT, connection.run(commands)) => match answer {
                Ok(answer) => answer.map_err(Failure::from),
                Err(_) => Err(Failure::TimedOut),
            },
            // A probe has found out that nobody answers.
            _ = is_lost => Err(Failure::TimedOut),
        };
        if let Err(failure) = &answer
            && failure.ends_connection()
        {
            self.close(number, failure);
        }
        answer
    }

    /// Returns the current connection. Waits for the first attempt to connect.
    async fn current(link: &mut watch::Receiver<ConnectionState>) -> ConnectionState {
        let opened =
            timeout(RESPONSE_TIMEOUT, link.wait_for(|link| !matches!(link, ConnectionState::Connecting)))
                .await;
        match opened {
            Ok(Ok(link)) => link.clone(),
            _ => ConnectionState::Connecting,
        }
    }

    /// Connects, probes, and connects again, for ever.
    pub(crate) async fn keep(self: Arc<Self>, mut connector: Connector) {
        let mut number = 0;
        loop {
            let link = self.link.borrow().clone();
            let probed = match link {
                ConnectionState::Open(number, connection) => self.probe(number, connection).await,
                ConnectionState::Connecting | ConnectionState::Closed(_) => Err(Failure::TimedOut),
            };
            let must_connect = match &probed {
                Ok(()) => false,
                Err(Failure::Refused { is_read_only, .. }) => *is_read_only,
                Err(_) => true,
            };
            if must_connect {
                number += 1;
                self.connect(&mut connector, number, matches!(probed, Err(Failure::Refused { .. }))).await;
            }
            let is_open = matches!(*self.link.borrow(), ConnectionState::Open(..));
            let pause = if is_open { PROBE_INTERVAL } else { RETRY_INTERVAL };
            tokio::select! {
                () = sleep(pause) => {}
                () = self.wakeup.notified() => {}
            }
        }
    }

    /// Writes a key, so that a store that is full or read-only is noticed as well. If the store has refused a result of
    /// late, it writes as much.
    async fn probe(&self, number: u64, mut connection: Connection) -> Result<()> {
        let refused = self.recent_refusal(Instant::now());
        let commands = self.probe_commands(refused.as_ref());
        let probed = match timeout(RESPONSE_TIMEOUT, connection.run(&commands)).await {
            Ok(answer) => answer.map(drop).map_err(Failure::from),
            Err(_) => Err(Failure::TimedOut),
        };
        match &probed {
            Ok(()) => self.report_accepted(refused.as_ref()),
            Err(failure) if failure.ends_connection() => self.close(number, failure),
            Err(failure) => self.report(Some(failure)),
        }
        probed
    }

    fn probe_commands(&self, refused: Option<&RefusedWrite>) -> Pipeline {
        let mut commands = redis::pipe();
        match refused {
            None => {
                commands.cmd("SET").arg(&self.probe_key).arg(1).arg("PX").arg(PROBE_TTL_MS);
            }
            Some(RefusedWrite { key, bytes, .. }) => {
                commands.atomic();
                let write = commands.cmd("HSET").arg(key);
                for (number, field) in vec![0_u8; *bytes].chunks(PROBE_FIELD_BYTES).enumerate() {
                    write.arg(number).arg(field);
                }
                commands.cmd("UNLINK").arg(key);
            }
        }
        commands
    }

    async fn connect(&self, connector: &mut Connector, number: u64, keeps_old: bool) {
        let opened = match timeout(CONNECT_TIMEOUT, connector.connect()).await {
            Ok(opened) => opened.map_err(Failure::from),
            Err(_) => Err(Failure::TimedOut),
        };
        match opened {
            Ok(connection) => match self.probe(number, connection.clone()).await {
                Err(failure) if failure.ends_connection() => self.set_closed(&failure),
                _ => {
                    self.link.send_replace(ConnectionState::Open(number, connection));
                }
            },
            Err(_) if keeps_old => {}
            Err(failure) => self.set_closed(&failure),
        }
    }

    /// Closes the connection of this number, if it is the current one.
    fn close(&self, number: u64, failure: &Failure) {
        let closed = self.link.send_if_modified(|link| {
            let is_current = matches!(link, ConnectionState::Open(current, _) if *current == number);
            if is_current {
                *link = ConnectionState::Closed(failure.clone());
            }
            is_current
        });
        if closed {
            self.report(Some(failure));
            self.wakeup.notify_one();
        }
    }

    fn set_closed(&self, failure: &Failure) {
        self.link.send_replace(ConnectionState::Closed(failure.clone()));
        self.report(Some(failure));
    }

    /// Reports that the store has refused to write so many bytes of a result. Probes write as many to `key` from now on,
    /// until the store accepts them or the refusal is forgotten.
    pub(crate) fn report_refused_write(&self, key: String, bytes: usize, failure: &Failure) {
        let mut refused = self.refused.lock();
        let max = refused.as_ref().map_or(bytes, |earlier| earlier.bytes.max(bytes));
        *refused = Some(RefusedWrite { key, bytes: max.clamp(1, MAX_PROBE_BYTES), at: Instant::now() });
        self.report(Some(failure));
    }

    /// Returns the write that the store has refused last, and forgets one that it refused too long ago: smaller results may
    /// be accepted.
    fn recent_refusal(&self, now: Instant) -> Option<RefusedWrite> {
        let mut refused = self.refused.lock();
        refused.take_if(|refused| now.saturating_duration_since(refused.at) >= self.refusal_ttl);
        refused.clone()
    }

    /// Reports that the store has accepted a probe, unless it has refused a result meanwhile.
    fn report_accepted(&self, probed: Option<&RefusedWrite>) {
        let mut refused = self.refused.lock();
        if refused.as_ref() == probed {
            *refused = None;
            self.report(None);
        }
    }

    /// Sets the state, and logs if the store is lost or found by that.
    fn report(&self, failure: Option<&Failure>) {
        let problem = failure.map(ToString::to_string);
        let mut status = self.status.lock();
        let was_lost = status.problem.is_some();
        let is_same = status.problem == problem && status.is_available == problem.is_none();
        status.is_available = problem.is_none();
        status.problem.clone_from(&problem);
        drop(status);
        let store = &*self.redacted_url;
        match problem {
            _ if is_same => {}
            Some(problem) if was_lost => {
                tracing::debug!(store, problem, "the snapshot store is not available for another reason");
            }
            Some(problem) => tracing::warn!(
                store,
                problem,
                "the snapshot store is not available; results are kept in this process only"
            ),
            None => tracing::info!(store, "the snapshot store is available"),
        }
    }

    fn count(&self, failure: Failure) -> Failure {
        self.status.lock().failure_count += 1;
        failure
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::super::lines::Lines;
    use super::{Failure, Keeper, MAX_PROBE_BYTES, RefusedWrite};

    const TTL: Duration = Duration::from_mins(10);

    fn keeper() -> Keeper {
        Keeper::new("redis://127.0.0.1".to_owned(), "probe".to_owned(), TTL)
    }

    #[test]
    fn only_changes_of_the_state_are_logged() {
        let (keeper, lines) = (keeper(), Lines::default());
        let guard = tracing::subscriber::set_default(lines.clone());
        let lost = Failure::Disconnected("connection refused".to_owned());
        for failure in [Some(&lost), Some(&Failure::TimedOut), Some(&lost), Some(&lost), None, None] {
            keeper.report(failure);
            assert_eq!(keeper.status().problem, failure.map(ToString::to_string));
        }
        keeper.report(Some(&Failure::TimedOut));
        drop(guard);
        let log = lines.text();
        let levels: Vec<_> = log.lines().filter_map(|line| line.split(' ').next()).collect();
        assert_eq!(levels, ["WARN", "INFO", "WARN"]);
    }

    #[test]
    fn what_was_refused_is_probed_until_it_is_accepted() {
        let (keeper, reason) = (keeper(), "OOM command not allowed".to_owned());
        let full = Failure::Refused { reason, is_read_only: false };
        keeper.report_accepted(None);
        for (bytes, expect) in [(0, 1), (500, 500), (7, 500), (usize::MAX, MAX_PROBE_BYTES)] {
            let earlier = keeper.refused.lock().clone();
            keeper.report_refused_write(format!("key of {bytes}"), bytes, &full);
            let refused = keeper.refused.lock().clone().map(|RefusedWrite { key, bytes, .. }| (key, bytes));
            assert_eq!(refused, Some((format!("key of {bytes}"), expect)));
            keeper.report_accepted(earlier.as_ref());
            assert!(!keeper.status().is_available, "what was probed is less than was refused meanwhile");
        }
        let refused = keeper.refused.lock().clone();
        keeper.report_accepted(refused.as_ref());
        assert!(keeper.status().is_available && keeper.refused.lock().is_none());

        keeper.report_refused_write("key".to_owned(), 500, &full);
        let now = Instant::now();
        assert!(keeper.recent_refusal(now).is_some(), "it is probed for the time to live");
        assert!(keeper.recent_refusal(now + TTL).is_none(), "it is forgotten");
        keeper.report_accepted(None);
        assert!(keeper.status().is_available);
    }
}
