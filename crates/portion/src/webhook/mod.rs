//! Alerts, posted to where the operator wants them: by a thread of its own, with some tries for each.

mod message;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use hyper::header::{CONTENT_TYPE, HeaderValue, USER_AGENT};
use hyper::{Method, Request, StatusCode};
use portion_gateway::http::body;
use portion_gateway::upstream::http::{Client, Target};
use portion_telemetry::alert::Change;
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

/// Messages that wait at most.
const QUEUE: usize = 32;
/// How long one may take to be taken.
const WAIT: Duration = Duration::from_secs(5);
/// How long is waited before each further try.
const PAUSES: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(5), Duration::from_secs(30)];
/// How long the end of the program waits for messages that are still to be posted.
const FAREWELL: Duration = Duration::from_secs(2);

/// Who posts.
const OURSELVES: &str = concat!("portion/", env!("CARGO_PKG_VERSION"));

/// Posts alerts.
pub(crate) struct Webhook {
    messages: Mutex<Option<SyncSender<String>>>,
    desk: Arc<Desk>,
    thread: thread::Thread,
    /// Nothing comes of it: it breaks off when the thread has ended.
    ended: Mutex<Receiver<()>>,
}

#[derive(Default)]
struct Desk {
    failed: AtomicU64,
    /// There is no time for pauses any more.
    closing: AtomicBool,
}

/// Whoever posts.
struct Poster {
    target: Target,
    client: Client,
    runtime: Runtime,
    desk: Arc<Desk>,
    /// Whether the last message was not delivered: that is told once.
    failing: bool,
}

/// Why a message was not taken.
enum Refusal {
    /// It may be later.
    ForNow(String),
    /// It never will be.
    ForGood(String),
}

impl Webhook {
    /// Posts to that URL. Where that cannot be, it is told, and there is none.
    pub(crate) fn start(url: &str) -> Option<Self> {
        let start = || -> Result<Self, String> {
            let target = Target::new(url).map_err(|_| "alertWebhook is no URL".to_owned())?;
            let client = Client::new(target.url().scheme_str() == Some("https")).map_err(told)?;
            let runtime = Builder::new_current_thread().enable_all().build().map_err(told)?;
            let (messages, receiver) = sync_channel(QUEUE);
            let (ending, ended) = sync_channel(0);
            let desk = Arc::new(Desk::default());
            let poster = Poster { target, client, runtime, desk: Arc::clone(&desk), failing: false };
            let thread = thread::Builder::new().name("webhook".to_owned()).spawn(move || {
                poster.run(&receiver);
                drop::<SyncSender<()>>(ending);
            });
            let thread = thread.map_err(told)?.thread().clone();
            Ok(Self { messages: Mutex::new(Some(messages)), desk, thread, ended: Mutex::new(ended) })
        };
        start().inspect_err(|error| tracing::warn!(error, "alerts are not posted")).ok()
    }

    /// Posts a change, soon.
    pub(crate) fn post(&self, change: &Change) {
        let messages = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
        if messages.as_ref().is_none_or(|messages| messages.try_send(message::of(change)).is_err()) {
            self.desk.failed.fetch_add(1, Relaxed);
        }
    }

    /// Messages that were not delivered.
    pub(crate) fn failed(&self) -> u64 {
        self.desk.failed.load(Relaxed)
    }

    /// Gives each message that still waits one more try, and waits for that, but not for long.
    pub(crate) fn end(&self) {
        self.desk.closing.store(true, Relaxed);
        self.messages.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.thread.unpark();
        let _ = self.ended.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(FAREWELL);
    }
}

impl Poster {
    fn run(mut self, messages: &Receiver<String>) {
        while let Ok(message) = messages.recv() {
            let delivered = self.deliver(&message);
            // Its path may be secret.
            let place = self.target.url().authority().map(ToString::to_string).unwrap_or_default();
            match &delivered {
                Err(why) if !self.failing => tracing::warn!(place, why, "an alert could not be posted"),
                Ok(()) if self.failing => tracing::info!(place, "alerts are posted again"),
                _ => {}
            }
            self.failing = delivered.is_err();
            self.desk.failed.fetch_add(u64::from(self.failing), Relaxed);
        }
    }

    fn deliver(&self, message: &str) -> Result<(), String> {
        let mut pauses = PAUSES.into_iter();
        loop {
            let why = match self.runtime.block_on(self.send(message)) {
                Ok(()) => return Ok(()),
                Err(Refusal::ForGood(why)) => return Err(why),
                Err(Refusal::ForNow(why)) => why,
            };
            let Some(pause) = pauses.next().filter(|_| !self.is_closing()) else { return Err(why) };
            self.pause(pause);
        }
    }

    /// Waits, but not while the program waits to end.
    fn pause(&self, pause: Duration) {
        let until = Instant::now() + pause;
        while let Some(left) = until.checked_duration_since(Instant::now()).filter(|_| !self.is_closing()) {
            thread::park_timeout(left);
        }
    }

    fn is_closing(&self) -> bool {
        self.desk.closing.load(Relaxed)
    }

    /// One try. Redirects are not followed: whoever answers so is not who was meant.
    async fn send(&self, message: &str) -> Result<(), Refusal> {
        let mut request = Request::new(body::full(message.to_owned()));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.target.url().clone();
        request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        request.headers_mut().insert(USER_AGENT, HeaderValue::from_static(OURSELVES));
        match timeout(WAIT, self.client.send(request)).await {
            Err(_) => Err(Refusal::ForNow(format!("no answer within {} s", WAIT.as_secs()))),
            Ok(Err(error)) => Err(Refusal::ForNow(error.to_string())),
            Ok(Ok(answer)) => match answer.status() {
                status if status.is_success() => Ok(()),
                status @ (StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS) => {
                    Err(Refusal::ForNow(format!("the answer was {status}")))
                }
                status if status.is_server_error() => {
                    Err(Refusal::ForNow(format!("the answer was {status}")))
                }
                status => Err(Refusal::ForGood(format!("the answer was {status}"))),
            },
        }
    }
}

fn told(error: impl std::fmt::Display) -> String {
    error.to_string()
}
