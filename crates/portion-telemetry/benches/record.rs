//! Measures the cost of recording: `cargo bench -p portion-telemetry`. Results are printed, never asserted.

#[path = "../../portion-core/benches/figures/table.rs"]
mod table;

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use portion_core::event::{EndpointKind, Event, Observer, Outcome, PayloadForm, RequestServed};
use portion_core::render::StageName;
use portion_telemetry::AsyncObserver;
use portion_telemetry::alert::{Alarm, Rule};
use portion_telemetry::meter::Meter;
use portion_telemetry::read::{Filter, Reader};
use portion_telemetry::recorder::{Recorder, Settings};
use rustix::time::{ClockId, clock_gettime};
use table::Table;

/// Requests a second that are to be recorded beside the work they make.
const RATE: u64 = 2_000;
/// Requests that a reader is asked about.
const MANY: u64 = 200_000;

fn main() {
    let directory = tempfile::tempdir().expect("directories can be made");
    let mut table = Table::default();
    at_a_rate(&mut table, &directory.path().join("rate/telemetry.db"));
    by_all(&mut table, &directory.path().join("by_all/telemetry.db"));
    in_all(&mut table, &directory.path().join("all/telemetry.db"));
    at_a_burst(&mut table, &directory.path().join("burst/telemetry.db"));
    without_a_file(&mut table, &directory);
    as_fast_as_written(&mut table, &directory.path().join("many/telemetry.db"));
    read(&mut table, &directory.path().join("many/telemetry.db"));
    table.print();
}

/// Some seconds of busy traffic: nothing may be dropped, no caller may wait.
fn at_a_rate(table: &mut Table, path: &Path) {
    let recorder = Recorder::start(settings(path));
    let mut times = at_rate(&recorder);
    recorder.flush(Duration::from_secs(10));
    table.add("hear, 2,000 a second: p50", "", nanos(&mut times, 50));
    table.add("hear, 2,000 a second: p99", "2 µs", nanos(&mut times, 99));
    table.add("dropped of 10,000", "0", recorder.snapshot().dropped.to_string());
}

/// Measures all observers of the program, recorder, meter and alarm: directly, and through the queue.
fn by_all(table: &mut Table, path: &Path) {
    let (recorder, meter) = (Arc::new(Recorder::start(settings(path))), Arc::new(Meter::default()));
    let alarm = Arc::new(Alarm::start(Some(Rule::default()), |_| ()));
    let all: Vec<Arc<dyn Observer>> = vec![recorder, meter, alarm];
    let mut row = |what: &str, target: &str, observer: &dyn Observer| {
        let mut times = at_rate(observer);
        table.add(&format!("hear, all of them, {what}: p50"), "", nanos(&mut times, 50));
        table.add(&format!("hear, all of them, {what}: p99"), target, nanos(&mut times, 99));
    };
    row("at once", "", &all);
    let later = AsyncObserver::start(Arc::new(all));
    row("later", "2 µs", &later);
    assert!(later.flush(Duration::from_secs(10)));
}

/// Times the handling of each of some seconds of busy traffic.
fn at_rate(observer: &dyn Observer) -> Vec<Duration> {
    let start = Instant::now();
    let timed = |number| {
        let due = start + Duration::from_micros(number * 1_000_000 / RATE);
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        timed(observer, number)
    };
    (0..5 * RATE).map(timed).collect()
}

/// Measures the whole cost of a record, on all threads: at 2,000 a second, 25 µs are 5 % of a core.
fn in_all(table: &mut Table, path: &Path) {
    let recorder = Recorder::start(settings(path));
    recorder.observe(event(0));
    recorder.flush(Duration::from_secs(10));
    let rounds = 10;
    let mut took = Duration::ZERO;
    for round in 0..rounds {
        let events: Vec<Event> = (0..8_000).map(|number| event(round * 8_000 + number)).collect();
        let before = processor_time();
        events.into_iter().for_each(|event| recorder.observe(event));
        recorder.flush(Duration::from_secs(10));
        took += processor_time().saturating_sub(before);
    }
    let each = took.as_secs_f64() * 1e6 / (rounds * 8_000) as f64;
    table.add("processor time for each record, all threads", "25 µs", format!("{each:.1} µs"));
}

/// Processor time that this process has used so far.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// More at once than the queue holds.
fn at_a_burst(table: &mut Table, path: &Path) {
    let recorder = Recorder::start(settings(path));
    let mut times: Vec<Duration> = (0..50_000).map(|number| timed(&recorder, number)).collect();
    recorder.flush(Duration::from_secs(10));
    table.add("hear, 50,000 in a row: p50", "", nanos(&mut times, 50));
    table.add("hear, 50,000 in a row: p99", "2 µs", nanos(&mut times, 99));
    table.add("dropped", "", recorder.snapshot().dropped.to_string());
}

/// A file that cannot be written costs a caller nothing more.
fn without_a_file(table: &mut Table, directory: &tempfile::TempDir) {
    let in_the_way = directory.path().join("file");
    std::fs::write(&in_the_way, "no directory").expect("it can be written");
    let recorder = Recorder::start(settings(&in_the_way.join("telemetry.db")));
    let mut times: Vec<Duration> = (0..50_000).map(|number| timed(&recorder, number)).collect();
    table.add("hear, no file can be written: p99", "2 µs", nanos(&mut times, 99));
}

/// As much as the writer keeps up with.
fn as_fast_as_written(table: &mut Table, path: &Path) {
    let recorder = Recorder::start(settings(path));
    let start = Instant::now();
    for number in 0..MANY {
        while recorder.snapshot().queued > 4_096 {
            std::thread::yield_now();
        }
        recorder.observe(event(number));
    }
    recorder.flush(Duration::from_mins(1));
    let rate = recorder.snapshot().written as f64 / start.elapsed().as_secs_f64();
    table.add("records written a second", "", format!("{rate:.0}"));
    drop(recorder);
    let bytes = std::fs::metadata(path).map_or(0, |file| file.len());
    table.add("bytes of the file for each record", "", (bytes / MANY).to_string());
}

fn read(table: &mut Table, path: &Path) {
    let reader = Reader::open(path).expect("it was written");
    let mut ask = |what: &str, question: &dyn Fn() -> usize| {
        let start = Instant::now();
        black_box(question());
        table.add(what, "", format!("{:.1} ms", start.elapsed().as_secs_f64() * 1e3));
    };
    let last = Filter { limit: Some(50), ..Filter::default() };
    let one = Filter { endpoint: Some("list_1".to_owned()), limit: Some(50), ..Filter::default() };
    let hour = Filter { since: Some(at(MANY - 7_200)), ..Filter::default() };
    let rows = |filter: &Filter| reader.requests(filter).map_or(0, |found| found.len());
    ask("the last 50 of 200,000 records", &|| rows(&last));
    ask("the last 50 of one endpoint", &|| rows(&one));
    ask("figures of 20 endpoints over 7,200 records", &|| reader.endpoints(&hour).map_or(0, |all| all.len()));
    ask("figures of 20 endpoints over 200,000 records", &|| {
        reader.endpoints(&Filter::default()).map_or(0, |all| all.len())
    });
}

fn settings(path: &Path) -> Settings {
    Settings { keep_for: Duration::MAX, ..Settings::new(path) }
}

fn timed(observer: &(impl Observer + ?Sized), number: u64) -> Duration {
    let event = event(number);
    let start = Instant::now();
    observer.observe(event);
    start.elapsed()
}

fn at(number: u64) -> u64 {
    1_760_000_000_000_000 + number * 500_000
}

fn event(number: u64) -> Event {
    Event::RequestServed(Arc::new(RequestServed {
        request: u128::from(number),
        at: at(number),
        endpoint: Arc::from(format!("list_{}", number % 20)),
        kind: EndpointKind::Tool,
        outcome: Outcome::Paginated,
        arguments: vec!["limit".to_owned(), "status".to_owned()],
        estimated_tokens: Some(1_000 + number % 3_000),
        original_tokens: Some(10_000 + number % 30_000),
        budget: Some(4_000),
        response_bytes: 4_000,
        original_bytes: 40_000,
        form: Some(PayloadForm::List),
        items: Some(50),
        total_items: Some(500),
        latency: Duration::from_micros(20_000 + number % 9_000),
        overhead: Duration::from_micros(900),
        stages: vec![StageName::Dense, StageName::Condense],
        session: number % 100,
        config: 1,
        ..RequestServed::default()
    }))
}

fn nanos(times: &mut [Duration], percent: usize) -> String {
    times.sort_unstable();
    let found = times.get(times.len() * percent / 100).copied().unwrap_or_default();
    format!("{} ns", found.as_nanos())
}
