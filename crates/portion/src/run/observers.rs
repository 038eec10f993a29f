//! Observers of served requests: counters, records, an OpenTelemetry collector, alerts.
//!
//! Alerts are posted to the URL that the operator configured, from a separate thread and with retries. The message has
//! figures for programs, and a text that Slack and Mattermost show.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, UNIX_EPOCH};

use hyper::header::{CONTENT_TYPE, HeaderValue, USER_AGENT};
use hyper::{Method, Request, StatusCode};
use portion_config::{AlertSettings as Written, Config, OtlpTarget, find};
use portion_core::event::{Event, Observer};
use portion_mcp::http::body;
use portion_mcp::upstream::http::HttpClient;
use portion_net::worker::{Deadline, Handler, Items, Worker, WorkerOptions};
use portion_policy::upstream::UpstreamTarget;
use portion_telemetry::AsyncObserver;
use portion_telemetry::alert::{Alarm, AlertState, Change, CountedCalls, Rule};
use portion_telemetry::meter::{Family, Meter};
use portion_telemetry::otlp::Exporter;
use portion_telemetry::recorder::{self, Recorder};
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

/// Longest time for the steps that come before all others at the end: the delivery of the last events, and the alerts
/// that follow from them.
const DELIVERY_TIMEOUT: Duration = Duration::from_millis(500);

/// Queue of messages.
const WORKER: WorkerOptions = WorkerOptions { capacity: 32, ..WorkerOptions::new("webhook") };

/// Timeout of one attempt.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

/// Pauses before the second and later attempts.
const RETRY_DELAYS: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(5), Duration::from_secs(30)];

/// Value of `User-Agent`.
const USER_AGENT_VALUE: &str = concat!("portion/", env!("CARGO_PKG_VERSION"));

/// All observers.
pub(crate) struct Observers {
    pub(crate) meter: Arc<Meter>,
    pub(crate) recorder: Option<Arc<Recorder>>,
    pub(crate) alerts: AlertServices,
    /// All observers, behind the queue: a reply does not wait for them.
    pub(crate) async_observer: Arc<AsyncObserver>,
    exporter: Option<Arc<Exporter>>,
    /// True if spans are exported.
    pub(crate) exports_traces: bool,
}

impl Observers {
    /// Starts the observers of the configuration.
    pub(crate) fn start(config: &Config) -> Self {
        let meter = Arc::new(Meter::default());
        let recorder = config.telemetry(find::telemetry_file).map(recorder::Settings::new);
        let recorder = recorder.map(|settings| Arc::new(Recorder::start(settings)));
        let otlp = otlp_settings(config);
        let traces = otlp.as_ref().is_some_and(|otlp| otlp.traces.is_some());
        let exporter = otlp.map(|otlp| Arc::new(Exporter::start(&otlp, &meter)));
        let mut all: Vec<Arc<dyn Observer>> = vec![Arc::clone(&meter) as _];
        all.extend(recorder.clone().map(|recorder| recorder as _));
        all.extend(exporter.clone().map(|exporter| exporter as _));
        let alerts = AlertServices::start(&config.alerts(), all.clone());
        all.push(Arc::clone(&alerts.alarm) as _);
        Self {
            async_observer: Arc::new(AsyncObserver::start(Arc::new(all))),
            alerts,
            meter,
            recorder,
            exporter,
            exports_traces: traces,
        }
    }

    /// Exports these metrics too, if there is a collector.
    pub(crate) fn export_metrics(&self, figures: impl Fn() -> Vec<Family> + Send + Sync + 'static) {
        if let Some(exporter) = &self.exporter {
            exporter.observe(figures);
        }
    }

    /// Delivers, writes and sends what is queued, up to `deadline`. The recorder, the webhook and the exporter end at the
    /// same time, so that one that hangs takes no time from the others.
    pub(crate) fn shutdown(&self, deadline: Deadline) {
        let first = deadline.at_most(DELIVERY_TIMEOUT);
        self.async_observer.flush(first.remaining());
        self.alerts.close(first);
        if let Some(recorder) = &self.recorder {
            recorder.close();
        }
        if let Some(exporter) = &self.exporter {
            exporter.close();
        }
        self.alerts.wait_for_end(deadline);
        if let Some(recorder) = &self.recorder {
            recorder.end(deadline);
        }
        if let Some(exporter) = &self.exporter {
            exporter.wait_for_end(deadline);
        }
    }
}

/// The alert watcher and its webhook.
pub(crate) struct AlertServices {
    pub(crate) alarm: Arc<Alarm>,
    pub(crate) webhook: Option<Arc<Webhook>>,
}

impl AlertServices {
    /// Starts the watcher. Alerts are also sent to `observers`.
    pub(crate) fn start(written: &Written, observers: Vec<Arc<dyn Observer>>) -> Self {
        let webhook = written.webhook_url.as_deref().and_then(Webhook::start).map(Arc::new);
        let posting = webhook.clone();
        let alarm = Alarm::start(alert_rule(written), move |change| {
            observers.observe(Event::AlertChanged(Arc::new(change.alerted.clone())));
            if let Some(webhook) = &posting {
                webhook.post(change);
            }
        });
        Self { alarm: Arc::new(alarm), webhook }
    }

    /// Sends the changes found so far, and has the webhook post what waits. Does not wait for the webhook.
    pub(crate) fn close(&self, deadline: Deadline) {
        self.alarm.end(deadline);
        if let Some(webhook) = &self.webhook {
            webhook.close();
        }
    }

    /// Waits up to `deadline` for the webhook.
    pub(crate) fn wait_for_end(&self, deadline: Deadline) {
        if let Some(webhook) = &self.webhook {
            webhook.wait_for_end(deadline);
        }
    }
}

/// Returns the rule of the watcher.
pub(crate) fn alert_rule(written: &Written) -> Option<Rule> {
    let counts = if written.counts_every_call { CountedCalls::Every } else { CountedCalls::Repeated };
    written.oversized_percent.map(|percent| Rule { counts, percent, window: written.window })
}

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
    fn post(&self, change: &Change) {
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
    fn wait_for_end(&self, deadline: Deadline) {
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

/// Returns the destinations of metrics and traces, if there are any.
fn otlp_settings(config: &Config) -> Option<portion_telemetry::otlp::Settings> {
    let collector = match config.otlp() {
        OtlpTarget::Off => return None,
        OtlpTarget::Auto => None,
        OtlpTarget::Collector(url) => Some(url),
    };
    portion_telemetry::otlp::Settings::of(collector, |name| std::env::var(name).ok())
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
