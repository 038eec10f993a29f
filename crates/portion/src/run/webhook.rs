//! Posts alerts to the URL that the operator configured, from a separate thread and with retries. The message has figures
//! for programs, and a text that Slack and Mattermost show.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, UNIX_EPOCH};

use hyper::header::{CONTENT_TYPE, HeaderValue, USER_AGENT};
use hyper::{Method, Request, StatusCode};
use portion_mcp::http::body;
use portion_mcp::upstream::http::HttpClient;
use portion_net::worker::{Deadline, Handler, Items, Worker, WorkerOptions};
use portion_policy::upstream::UpstreamTarget;
use portion_telemetry::alert::{AlertState, Change};
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

/// Queue of messages.
const WORKER: WorkerOptions = WorkerOptions { capacity: 32, ..WorkerOptions::new("webhook") };
/// Timeout of one attempt.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
/// Pauses before the second and later attempts.
const RETRY_DELAYS: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(5), Duration::from_secs(30)];

/// Value of `User-Agent`.
const USER_AGENT_VALUE: &str = concat!("portion/", env!("CARGO_PKG_VERSION"));

/// Posts alerts.
pub(crate) struct Webhook {
    worker: Worker<String>,
    failed_count: Arc<AtomicU64>,
}

/// Posts messages, on the thread of the worker.
struct Poster {
    target: UpstreamTarget,
    client: HttpClient,
    runtime: Runtime,
    failed_count: Arc<AtomicU64>,
    /// True if the last message was not delivered; that is logged once.
    is_failing: bool,
}

/// Reason that a message was not accepted.
struct DeliveryError {
    why: String,
    /// True if a later attempt may succeed.
    is_retryable: bool,
}

impl Webhook {
    /// Starts the thread that posts to this URL. Logs the reason and returns `None` if that fails.
    pub(crate) fn start(url: &str) -> Option<Self> {
        let start = || -> Result<Self, String> {
            let target = UpstreamTarget::new(url).map_err(|_| "alertWebhook is not a URL".to_owned())?;
            let client = HttpClient::new(target.url().scheme_str() == Some("https")).map_err(error_text)?;
            let runtime = Builder::new_current_thread().enable_all().build().map_err(error_text)?;
            let failed_count = Arc::new(AtomicU64::new(0));
            let poster = Poster {
                target,
                client,
                runtime,
                failed_count: Arc::clone(&failed_count),
                is_failing: false,
            };
            let worker = Worker::start(&WORKER, poster).map_err(error_text)?;
            Ok(Self { worker, failed_count })
        };
        start().inspect_err(|error| tracing::warn!(error, "alerts are not sent")).ok()
    }

    /// Queues a change.
    pub(crate) fn post(&self, change: &Change) {
        if self.worker.submit(to_json(change)).is_err() {
            self.failed_count.fetch_add(1, Relaxed);
        }
    }

    /// Returns the number of messages that were not delivered.
    pub(crate) fn failed_count(&self) -> u64 {
        self.failed_count.load(Relaxed)
    }

    /// Stops accepting messages, and gives each one that waits a last try. Does not wait.
    pub(crate) fn close(&self) {
        self.worker.close();
    }

    /// Waits up to `deadline` for the last tries.
    pub(crate) fn wait_for_end(&self, deadline: Deadline) {
        self.worker.wait_for_end(deadline);
    }
}

impl Handler<String> for Poster {
    fn poll(&mut self, messages: &Items<String>) {
        while let Some(message) = messages.take() {
            let delivered = self.deliver(&message, messages);
            // The path may contain a secret.
            let place = self.target.url().authority().map(ToString::to_string).unwrap_or_default();
            match &delivered {
                Err(why) if !self.is_failing => tracing::warn!(place, why, "an alert could not be sent"),
                Ok(()) if self.is_failing => tracing::info!(place, "alerts are sent again"),
                _ => {}
            }
            self.is_failing = delivered.is_err();
            self.failed_count.fetch_add(u64::from(self.is_failing), Relaxed);
            messages.finish(1);
        }
    }
}

impl Poster {
    fn deliver(&self, message: &str, messages: &Items<String>) -> Result<(), String> {
        let mut pauses = RETRY_DELAYS.into_iter();
        loop {
            let Err(error) = self.runtime.block_on(self.send(message)) else { return Ok(()) };
            let pause = pauses.next().filter(|_| error.is_retryable && !messages.is_closing());
            let Some(pause) = pause else { return Err(error.why) };
            messages.pause(pause);
        }
    }

    /// Makes one attempt. Redirects are not followed: they lead to a server that the operator has not named.
    async fn send(&self, message: &str) -> Result<(), DeliveryError> {
        let mut request = Request::new(body::full(message.to_owned()));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.target.url().clone();
        request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        request.headers_mut().insert(USER_AGENT, HeaderValue::from_static(USER_AGENT_VALUE));
        let retryable = |why| DeliveryError { why, is_retryable: true };
        let late = |_| retryable(format!("no response within {} s", REQUEST_TIMEOUT.as_secs()));
        let answer = timeout(REQUEST_TIMEOUT, self.client.send(request)).await.map_err(late)?;
        let status = answer.map_err(|error| retryable(error.to_string()))?.status();
        if status.is_success() {
            return Ok(());
        }
        let is_busy = matches!(status, StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS);
        let why = format!("the response status was {status}");
        Err(DeliveryError { why, is_retryable: is_busy || status.is_server_error() })
    }
}

/// Returns the endpoints with the most oversized calls, as JSON.
pub(crate) fn oversized_endpoints(state: &AlertState) -> Value {
    let endpoints = state.endpoints.iter();
    endpoints.map(|(endpoint, count)| json!({ "endpoint": **endpoint, "oversized": count })).collect()
}

fn error_text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Returns the message as JSON.
fn to_json(change: &Change) -> String {
    let Change { alerted, state, since } = change;
    let message = json!({
        "alert": alerted.alert_name,
        "state": if alerted.is_raised { "raised" } else { "over" },
        "share": alerted.share,
        "threshold": alerted.threshold,
        "requests": alerted.requests,
        "oversized": alerted.matching_requests,
        "window": alerted.window.as_secs_f64(),
        "at": format_time(alerted.at),
        "since": format_time(*since),
        "endpoints": oversized_endpoints(state),
        "host": host_name(),
        "version": env!("CARGO_PKG_VERSION"),
        "text": summary_text(change),
    });
    message.to_string()
}

fn summary_text(change: &Change) -> String {
    let host = host_name().map_or(String::new(), |host| format!(" at {host}"));
    format!("Portion{host}: {}", change.state.sentence())
}

fn format_time(micros: u64) -> String {
    humantime::format_rfc3339_millis(UNIX_EPOCH + Duration::from_micros(micros)).to_string()
}

/// Returns the name of this machine.
#[cfg(unix)]
fn host_name() -> Option<String> {
    rustix::system::uname().nodename().to_str().ok().map(str::to_owned)
}

/// Returns the name of this machine.
#[cfg(not(unix))]
fn host_name() -> Option<String> {
    std::env::var("COMPUTERNAME").ok()
}
