//! Hears what happens, and has a thread of its own make spans and measurements of it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, Thread};
use std::time::Duration;

use portion_core::event::{Event, Observer, Served};

use crate::providers::Providers;
use crate::settings::Settings;

/// Requests that wait at most to become spans.
const QUEUE: usize = 8_192;
/// How often the thread looks for some: to wake it for each would cost more than all the rest.
const PAUSE: Duration = Duration::from_millis(200);

/// Hears what happens, and tells a collector of it.
#[derive(Debug)]
pub struct Exporter {
    served: SyncSender<Arc<Served>>,
    desk: Arc<Queue>,
    /// `None` where it could not be started.
    thread: Option<Thread>,
}

/// What those who tell and the one who listens know of each other.
#[derive(Debug, Default)]
struct Queue {
    /// Requests that found no place, since somebody last looked.
    dropped: AtomicU64,
    closing: AtomicBool,
    ended: Mutex<bool>,
    end: Condvar,
}

impl Exporter {
    /// Begins to export. This neither waits nor fails: what goes wrong is told in the log.
    pub fn start(settings: Settings) -> Self {
        let (sender, receiver) = sync_channel(QUEUE);
        let desk = Arc::new(Queue::default());
        let listener = Arc::clone(&desk);
        let thread = thread::Builder::new().name("otlp".to_owned()).spawn(move || {
            let ended = Ended(Arc::clone(&listener));
            let mut providers = Providers::new(&settings);
            listen(&listener, &receiver, &mut providers);
            // What is dropped later waits for whoever takes nothing.
            drop(ended);
        });
        let thread = thread.inspect_err(|error| {
            tracing::warn!(%error, "no thread for OTLP: nothing is sent to the collector");
        });
        Self { served: sender, desk, thread: thread.ok().map(|thread| thread.thread().clone()) }
    }

    /// Sends what is left, but waits no longer than that, nor for a collector that is away. What is heard later is lost.
    pub fn close(&self, within: Duration) {
        let Some(thread) = &self.thread else { return };
        self.desk.closing.store(true, Relaxed);
        let ended = self.desk.ended.lock().unwrap_or_else(PoisonError::into_inner);
        thread.unpark();
        drop(self.desk.end.wait_timeout_while(ended, within, |ended| !*ended));
    }
}

impl Observer for Exporter {
    fn hear(&self, event: Event) {
        if let Event::Served(served) = event
            && self.served.try_send(served).is_err()
        {
            self.desk.dropped.fetch_add(1, Relaxed);
        }
    }
}

/// Takes what is heard until nobody tells anything more.
fn listen(desk: &Queue, served: &Receiver<Arc<Served>>, providers: &mut Providers) {
    let mut behind: Option<u64> = None;
    loop {
        let closing = desk.closing.load(Relaxed);
        served.try_iter().take(QUEUE).for_each(|served| providers.take(&served));
        behind = look(behind, desk.dropped.swap(0, Relaxed));
        if closing {
            return providers.close(FAREWELL);
        }
        thread::park_timeout(PAUSE);
    }
}

/// Tells that requests were dropped, and later how many; returns those of which it is not told yet.
fn look(behind: Option<u64>, dropped: u64) -> Option<u64> {
    match (behind, dropped) {
        (None, 0) => None,
        (None, dropped) => {
            tracing::warn!("more is served than can be exported: some requests have no span");
            Some(dropped)
        }
        (Some(before), 0) => {
            tracing::info!(dropped = before, "all that is served is exported again");
            None
        }
        (Some(before), dropped) => Some(before + dropped),
    }
}

/// How long each kind of things is waited for at the end.
const FAREWELL: Duration = Duration::from_secs(1);

/// Tells that the listener has ended, however it did.
struct Ended(Arc<Queue>);

impl Drop for Ended {
    fn drop(&mut self) {
        *self.0.ended.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.end.notify_all();
    }
}
