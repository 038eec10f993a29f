//! Measures queries over a million records: `cargo bench -p portion-telemetry --bench read`. Results are printed,
//! never asserted. What a dashboard asks for is to be ready within a second, all in all.

#[path = "../../portion-core/benches/figures/table.rs"]
mod table;

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use portion_core::event::{
    AlertChanged, ConfigApplied, ConfigChange, EndpointKind, Event, Observer, Outcome, PayloadForm,
    RequestServed,
};
use portion_core::render::StageName;
use portion_telemetry::read::{Filter, Reader, Series};
use portion_telemetry::recorder::{Recorder, Settings};
use table::Table;

const RECORDS: u64 = 1_000_000;
const ENDPOINTS: u64 = 40;
/// Over which they came, in microseconds.
const SPAN: u64 = 8 * 24 * 3_600_000_000;
const END: u64 = 1_760_000_000_000_000;
/// Slots that a chart has room for.
const SLOTS: usize = 120;

fn main() {
    let directory = tempfile::tempdir().expect("directories can be made");
    let path = directory.path().join("telemetry.db");
    let mut table = Table::default();
    let start = Instant::now();
    write(&path);
    table.add("a million records written in", "", format!("{:.1} s", start.elapsed().as_secs_f64()));
    let bytes = std::fs::metadata(&path).map_or(0, |file| file.len());
    table.add("bytes of the file for each record", "", (bytes / RECORDS).to_string());
    ask(&mut table, &Reader::open(&path).expect("it was written"));
    table.print();
}

fn write(path: &Path) {
    let recorder =
        Recorder::start(Settings { keep_for: Duration::MAX, keep_bytes: u64::MAX, ..Settings::new(path) });
    for number in 0..RECORDS {
        while recorder.snapshot().queued > 4_096 {
            std::thread::yield_now();
        }
        recorder.observe(Event::RequestServed(Arc::new(served(number))));
    }
    for number in 0..20 {
        recorder.observe(Event::ConfigApplied(Arc::new(configured(number))));
        recorder.observe(Event::AlertChanged(Arc::new(alerted(number))));
    }
    while !recorder.flush(Duration::from_secs(10)) {}
}

fn ask(table: &mut Table, reader: &Reader) {
    let mut took = |what: &str, question: &dyn Fn() -> usize| {
        let start = Instant::now();
        let found = black_box(question());
        let millis = start.elapsed().as_secs_f64() * 1e3;
        table.add(&format!("{what} ({found})"), "100 ms", format!("{millis:.1} ms"));
    };
    for (name, hours) in [("1 h", Some(1)), ("24 h", Some(24)), ("7 d", Some(7 * 24)), ("all", None)] {
        // Nobody asks on the hour.
        let since = hours.map(|hours| END - hours * 3_600_000_000 - 1_234_567_890);
        let filter = Filter { since, ..Filter::default() };
        let one = Filter { endpoint: Some("list_7".to_owned()), ..filter.clone() };
        let step = Series::step(since.unwrap_or(END - SPAN), END, SLOTS);
        let series = |filter: &Filter| reader.series(filter, step).map_or(0, |series| series.slots.len());
        took(&format!("endpoints, {name}"), &|| reader.endpoints(&filter).map_or(0, |found| found.len()));
        took(&format!("series, {name}"), &|| series(&filter));
        took(&format!("series of one endpoint, {name}"), &|| series(&one));
    }
    let last = Filter { limit: Some(50), ..Filter::default() };
    let week = Filter { since: Some(END - 7 * 24 * 3_600_000_000), ..last.clone() };
    let requests = |filter: &Filter| reader.requests(filter).map_or(0, |found| found.len());
    let endpoint = |name: &str| Filter { endpoint: Some(name.to_owned()), ..week.clone() };
    took("the last 50", &|| requests(&last));
    took("the last 50 of an endpoint", &|| requests(&endpoint("list_7")));
    took("the last 50 of an endpoint that is not there", &|| requests(&endpoint("none")));
    let refused = Filter { outcome: Some(Outcome::Refused), ..week.clone() };
    took("the last 50 of a rare outcome", &|| requests(&refused));
    let both = Filter { outcome: Some(Outcome::Refused), ..endpoint("list_7") };
    took("the last 50 of a rare outcome and an endpoint", &|| requests(&both));
    took("the last 50 of a session", &|| requests(&Filter { session: Some(77), ..week.clone() }));
    took("the last 50 of no session", &|| requests(&Filter { session: Some(1 << 40), ..week.clone() }));
    took("25 sessions, 7 d", &|| {
        reader.sessions(&Filter { limit: Some(25), ..week.clone() }, 0).map_or(0, |found| found.len())
    });
    took("one request", &|| requests(&Filter { request: Some(500_000), ..Filter::default() }));
    took("what goes back to one payload", &|| {
        requests(&Filter { origin: Some(500_000), ..Filter::default() })
    });
    took("experiments, 7 d", &|| reader.experiment(&week).map_or(0, |found| found.len()));
    took("alerts, 7 d", &|| reader.alerts(&week).map_or(0, |found| found.len()));
    took("configurations, 7 d", &|| reader.configurations(&week).map_or(0, |found| found.len()));
}

fn at(number: u64) -> u64 {
    END - SPAN + number * (SPAN / RECORDS)
}

fn served(number: u64) -> RequestServed {
    // Far from any order.
    let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
    RequestServed {
        request: u128::from(number),
        at: at(number),
        endpoint: Arc::from(format!("list_{}", mixed % ENDPOINTS)),
        kind: EndpointKind::Tool,
        outcome: match mixed % 1_000 {
            0 => Outcome::Refused,
            few if few < 300 => Outcome::Paginated,
            _ => Outcome::Untouched,
        },
        follow_up: number % 5 == 1,
        origin: Some(number / 5 * 5),
        arguments: vec!["limit".to_owned(), "status".to_owned()],
        counter: "o200k",
        estimated_tokens: Some(1_000 + mixed % 3_000),
        actual_tokens: (mixed % 100 == 7).then_some(1_100 + mixed % 3_000),
        original_tokens: Some(1_000 + mixed % 30_000),
        budget: Some(4_000),
        response_bytes: 4_000,
        original_bytes: 40_000,
        form: Some(PayloadForm::List),
        items: Some(50),
        total_items: Some(500),
        latency: Duration::from_micros(5_000 + (mixed % 3_000).pow(2) / 50),
        overhead: Duration::from_micros(300 + mixed % 900),
        stages: vec![StageName::Dense, StageName::Condense],
        session: number % 20_000,
        config: 1,
        ..RequestServed::default()
    }
}

fn configured(number: u64) -> ConfigApplied {
    let changes = vec![ConfigChange { key: "pageSize".to_owned(), old: Some("50".to_owned()), new: None }];
    ConfigApplied {
        at: at(number * RECORDS / 20),
        version: number,
        source: "portion.yaml".to_owned(),
        changes,
    }
}

fn alerted(number: u64) -> AlertChanged {
    AlertChanged {
        at: at(number * RECORDS / 20),
        alert_name: "oversized".into(),
        is_raised: number.is_multiple_of(2),
        share: 0.07,
        threshold: 0.05,
        requests: 100,
        matching_requests: 7,
        window: Duration::from_mins(5),
        process: 1,
    }
}
