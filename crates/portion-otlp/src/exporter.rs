//! Makes spans and measurements of what it hears, and has the SDK send them.

use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use portion_core::event::{Event, Observer};
use portion_telemetry::meter::{Family, Meter};

use crate::providers::Providers;
use crate::settings::Settings;

/// How long each kind of things is waited for at the end.
const FAREWELL: Duration = Duration::from_secs(1);

/// Tells a collector of what it hears. To make a span takes some microseconds, one after the other: it is to be told where
/// no request waits.
pub struct Exporter {
    /// `None` once it is closed.
    providers: Mutex<Option<Providers>>,
}

impl Exporter {
    /// Begins to export. This neither waits nor fails: what goes wrong is told in the log. `meter` is to hear of each request
    /// first.
    pub fn start(settings: &Settings, meter: &Arc<Meter>) -> Self {
        Self { providers: Mutex::new(Some(Providers::new(settings, meter))) }
    }

    /// From now on sends these figures, too, as they stand by then.
    pub fn tell(&self, figures: impl Fn() -> Vec<Family> + Send + Sync + 'static) {
        if let Some(providers) = &*self.providers() {
            providers.tell(Box::new(figures));
        }
    }

    /// Sends what is left, but waits no longer than that, nor for a collector that is away. What is heard later is lost.
    pub fn close(&self, within: Duration) {
        let Some(providers) = self.providers().take() else { return };
        let (closed, waits) = sync_channel(1);
        // What is dropped there waits for whoever takes nothing.
        let closing = thread::Builder::new().name("otlp-end".to_owned()).spawn(move || {
            providers.close(FAREWELL);
            let _ = closed.send(());
        });
        if closing.is_ok() {
            let _ = waits.recv_timeout(within);
        }
    }

    fn providers(&self) -> MutexGuard<'_, Option<Providers>> {
        self.providers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Exporter {
    fn hear(&self, event: Event) {
        if let Event::Served(served) = event
            && let Some(providers) = &*self.providers()
        {
            providers.take(&served);
        }
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        self.close(Duration::ZERO);
    }
}
