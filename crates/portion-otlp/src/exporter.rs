//! Observer that turns events into spans and measurements, which the SDK exports.

use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use portion_core::event::{Event, Observer};
use portion_telemetry::meter::{Family, Meter};

use crate::providers::Providers;
use crate::settings::Settings;

/// Maximum time that each signal is waited for at shutdown.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);

/// Exports events to an OpenTelemetry collector. Building a span takes some microseconds under a lock, so events must
/// arrive from a thread that no request waits for.
pub struct Exporter {
    /// `None` once it is closed.
    providers: Mutex<Option<Providers>>,
}

impl Exporter {
    /// Starts exporting. This neither blocks nor fails; errors are logged. `meter` must observe each request before
    /// this exporter does.
    pub fn start(settings: &Settings, meter: &Arc<Meter>) -> Self {
        Self { providers: Mutex::new(Some(Providers::new(settings, meter))) }
    }

    /// Exports the families that `source` returns, too. `source` is called before each export.
    pub fn observe(&self, source: impl Fn() -> Vec<Family> + Send + Sync + 'static) {
        if let Some(providers) = &*self.providers() {
            providers.observe(Box::new(source));
        }
    }

    /// Exports what is queued and waits up to `within`, not longer for an unreachable collector. Later events are
    /// lost.
    pub fn close(&self, within: Duration) {
        let Some(providers) = self.providers().take() else { return };
        let (closed, finished) = sync_channel(1);
        // Dropping the providers may block on the collector.
        let closing = thread::Builder::new().name("otlp-end".to_owned()).spawn(move || {
            providers.close(SHUTDOWN_TIMEOUT);
            let _ = closed.send(());
        });
        if closing.is_ok() {
            let _ = finished.recv_timeout(within);
        }
    }

    fn providers(&self) -> MutexGuard<'_, Option<Providers>> {
        self.providers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Exporter {
    fn observe(&self, event: Event) {
        if let Event::RequestServed(served) = event
            && let Some(providers) = &*self.providers()
        {
            providers.record(&served);
        }
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        self.close(Duration::ZERO);
    }
}
