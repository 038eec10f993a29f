//! Requests to record, and a place to record them in.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use portion_core::event::{EndpointKind, Event, Observer, Outcome, PayloadForm, RequestServed};
use portion_core::render::StageName;
use portion_telemetry::read::Reader;
use portion_telemetry::recorder::{Recorder, Settings};
use tempfile::TempDir;

/// Long enough for any machine: it is not waited for.
pub(crate) const LONG: Duration = Duration::from_secs(30);

/// A directory, gone at the end, and the file in it.
pub(crate) struct Place {
    pub(crate) directory: TempDir,
    pub(crate) path: PathBuf,
}

impl Place {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().expect("directories can be made");
        let path = directory.path().join("share/portion/telemetry.db");
        Self { directory, path }
    }

    pub(crate) fn recorder(&self) -> Recorder {
        // Requests here came long ago, and stay.
        Recorder::start(Settings { keep_for: Duration::MAX, ..Settings::new(&self.path) })
    }

    pub(crate) fn reader(&self) -> Reader {
        Reader::open(&self.path).expect("it can be read")
    }

    /// Records them all.
    pub(crate) fn record(&self, requests: impl IntoIterator<Item = RequestServed>) {
        let recorder = self.recorder();
        requests.into_iter().for_each(|request| hear(&recorder, request));
        assert!(recorder.flush(LONG), "{:?}", recorder.snapshot());
    }
}

pub(crate) fn hear(recorder: &Recorder, request: RequestServed) {
    recorder.observe(Event::RequestServed(Arc::new(request)));
}

/// A page of a list, the `number`th request.
pub(crate) fn page(number: u64) -> RequestServed {
    RequestServed {
        request: u128::from(number),
        at: 1_760_000_000_000_000 + number * 1_000_000,
        endpoint: Arc::from("list_bookings"),
        kind: EndpointKind::Tool,
        outcome: Outcome::Paginated,
        arguments: vec!["limit".to_owned()],
        counter: "o200k",
        estimated_tokens: Some(1_000),
        original_tokens: Some(10_000),
        budget: Some(4_000),
        response_bytes: 4_000,
        original_bytes: 40_000,
        form: Some(PayloadForm::List),
        items: Some(50),
        total_items: Some(500),
        latency: Duration::from_millis(20 + number % 7),
        overhead: Duration::from_micros(900),
        stages: vec![StageName::Dense, StageName::Condense],
        session: number % 3,
        config: 1,
        ..RequestServed::default()
    }
}
