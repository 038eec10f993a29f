//! Posts alerts to the operator's webhook, on a thread of its own, with several attempts for each.

mod message;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use hyper::header::{CONTENT_TYPE, HeaderValue, USER_AGENT};
use hyper::{Method, Request, StatusCode};
pub(crate) use message::oversized_endpoints;
use portion_mcp::http::body;
use portion_mcp::upstream::http::HttpClient;
use portion_policy::upstream::UpstreamTarget;
use portion_telemetry::alert::Change;
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

/// Largest number of waiting messages.
const QUEUE_CAPACITY: usize = 32;
/// Timeout of one attempt.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
/// Pauses before the second and later attempts.
const RETRY_DELAYS: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(5), Duration::from_secs(30)];
/// Time that the end of the program waits for waiting messages.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);

/// Value of `User-Agent`.
const USER_AGENT_VALUE: &str = concat!("portion/", env!("CARGO_PKG_VERSION"));

/// Posts alerts.
pub(crate) struct Webhook {
    messages: Mutex<Option<SyncSender<String>>>,
    state: Arc<DeliveryState>,
    thread: thread::Thread,
    /// Closed when the thread has ended; nothing is sent on it.
    thread_ended: Mutex<Receiver<()>>,
}

#[derive(Default)]
struct DeliveryState {
    failed_count: AtomicU64,
    /// Set at the end of the program: pauses are skipped.
    is_closing: AtomicBool,
}

/// State of the thread.
struct WebhookWorker {
    target: UpstreamTarget,
    client: HttpClient,
    runtime: Runtime,
    state: Arc<DeliveryState>,
    /// True if the last message was not delivered; that is logged once.
    is_failing: bool,
}

/// Reason that a message was not accepted.
enum DeliveryError {
    /// A later attempt may succeed.
    Retryable(String),
    /// No attempt can succeed.
    Permanent(String),
}

impl Webhook {
    /// Starts the thread that posts to this URL. Logs the reason and returns `None` if that fails.
    pub(crate) fn start(url: &str) -> Option<Self> {
        let start = || -> Result<Self, String> {
            let target = UpstreamTarget::new(url).map_err(|_| "alertWebhook is not a URL".to_owned())?;
            let client = HttpClient::new(target.url().scheme_str() == Some("https")).map_err(error_text)?;
            let runtime = Builder::new_current_thread().enable_all().build().map_err(error_text)?;
            let (messages, receiver) = sync_channel(QUEUE_CAPACITY);
            let (ending, ended) = sync_channel(0);
            let desk = Arc::new(DeliveryState::default());
            let poster =
                WebhookWorker { target, client, runtime, state: Arc::clone(&desk), is_failing: false };
            let thread = thread::Builder::new().name("webhook".to_owned()).spawn(move || {
                poster.run(&receiver);
                drop::<SyncSender<()>>(ending);
            });
            let thread = thread.map_err(error_text)?.thread().clone();
            Ok(Self {
                messages: Mutex::new(Some(messages)),
                state: desk,
                thread,
                thread_ended: Mutex::new(ended),
            })
        };
        start().inspect_err(|error| tracing::warn!(error, "alerts are not sent")).ok()
    }

    /// Queues a change.
    pub(crate) fn post(&self, change: &Change) {
        let messages = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
        if messages.as_ref().is_none_or(|messages| messages.try_send(message::to_json(change)).is_err()) {
            self.state.failed_count.fetch_add(1, Relaxed);
        }
    }

    /// Returns the number of messages that were not delivered.
    pub(crate) fn failed_count(&self) -> u64 {
        self.state.failed_count.load(Relaxed)
    }

    /// Tries each waiting message once more, and waits for that within a limit.
    pub(crate) fn shutdown(&self) {
        self.state.is_closing.store(true, Relaxed);
        self.messages.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.thread.unpark();
        let _ =
            self.thread_ended.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(SHUTDOWN_TIMEOUT);
    }
}

impl WebhookWorker {
    fn run(mut self, messages: &Receiver<String>) {
        while let Ok(message) = messages.recv() {
            let delivered = self.deliver(&message);
            // The path may contain a secret.
            let place = self.target.url().authority().map(ToString::to_string).unwrap_or_default();
            match &delivered {
                Err(why) if !self.is_failing => tracing::warn!(place, why, "an alert could not be sent"),
                Ok(()) if self.is_failing => tracing::info!(place, "alerts are sent again"),
                _ => {}
            }
            self.is_failing = delivered.is_err();
            self.state.failed_count.fetch_add(u64::from(self.is_failing), Relaxed);
        }
    }

    fn deliver(&self, message: &str) -> Result<(), String> {
        let mut pauses = RETRY_DELAYS.into_iter();
        loop {
            let why = match self.runtime.block_on(self.send(message)) {
                Ok(()) => return Ok(()),
                Err(DeliveryError::Permanent(why)) => return Err(why),
                Err(DeliveryError::Retryable(why)) => why,
            };
            let Some(pause) = pauses.next().filter(|_| !self.is_closing()) else { return Err(why) };
            self.wait_before_retry(pause);
        }
    }

    /// Waits, but not at the end of the program.
    fn wait_before_retry(&self, pause: Duration) {
        let until = Instant::now() + pause;
        while let Some(left) = until.checked_duration_since(Instant::now()).filter(|_| !self.is_closing()) {
            thread::park_timeout(left);
        }
    }

    fn is_closing(&self) -> bool {
        self.state.is_closing.load(Relaxed)
    }

    /// Makes one attempt. Redirects are not followed: they lead to a server that the operator has not named.
    async fn send(&self, message: &str) -> Result<(), DeliveryError> {
        let mut request = Request::new(body::full(message.to_owned()));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.target.url().clone();
        request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        request.headers_mut().insert(USER_AGENT, HeaderValue::from_static(USER_AGENT_VALUE));
        match timeout(REQUEST_TIMEOUT, self.client.send(request)).await {
            Err(_) => {
                Err(DeliveryError::Retryable(format!("no response within {} s", REQUEST_TIMEOUT.as_secs())))
            }
            Ok(Err(error)) => Err(DeliveryError::Retryable(error.to_string())),
            Ok(Ok(answer)) => match answer.status() {
                status if status.is_success() => Ok(()),
                status @ (StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS) => {
                    Err(DeliveryError::Retryable(format!("the response status was {status}")))
                }
                status if status.is_server_error() => {
                    Err(DeliveryError::Retryable(format!("the response status was {status}")))
                }
                status => Err(DeliveryError::Permanent(format!("the response status was {status}"))),
            },
        }
    }
}

fn error_text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
