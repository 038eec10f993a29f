//! What the log tells of a reply: what was decided and the sizes, and never what the payload or the request says.

mod samples;

use std::fmt::{Debug, Write as _};
use std::sync::{Arc, Mutex};

use portion_core::cursor::Scope;
use portion_core::policy::{Given, Room};
use portion_core::tokens::Tokenizer;
use portion_core::view::Request;
use portion_gateway::call::{Call, Caller, Intent};
use portion_gateway::client::Preset;
use portion_gateway::gateway::Gateway;
use portion_gateway::settings::Settings;
use portion_gateway::store::{Limits, MemoryStore};
use portion_gateway::terms::Rules;
use samples::{bookings, list_bookings};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// Writes down every event at INFO and above, a line each.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<String>>);

struct Line<'a>(&'a mut String);

impl Visit for Line<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let _ = write!(self.0, " {}={value:?}", field.name());
    }
}

impl Subscriber for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::INFO
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut lines = self.0.lock().expect("nobody panics with it");
        let _ = write!(lines, "{}", event.metadata().level());
        event.record(&mut Line(&mut lines));
        lines.push('\n');
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Answers one call after another, and holds what is logged against parts that each line must have.
async fn check(memory: usize, calls: Vec<(usize, Request)>, expect: &[&[&str]]) {
    let lines = Lines::default();
    let guard = tracing::subscriber::set_default(lines.clone());
    let store = MemoryStore::new(Limits { memory, ..Limits::default() });
    let rules = Rules::new(Given::default(), Tokenizer::Chars4, Preset::None, Room::UNKNOWN);
    let terms = Arc::clone(rules.terms(None));
    let settings = Settings::new(rules, Arc::new(store), [7; 32]);
    let gateway = Gateway::new(settings);
    for (count, request) in calls {
        let intent = Intent::Fresh { payload: bookings(count), request, reuse: None };
        let (scope, read_tool) = (Scope::of("secret-token"), "portion_read".into());
        let caller = Caller { scope, terms: Arc::clone(&terms), read_tool, query_tool: None, read_uri: None };
        let call = Call { caller, endpoint: Some(list_bookings()), intent };
        gateway.answer(call).await;
    }
    drop(guard);
    let log = lines.0.lock().expect("nobody panics with it").clone();
    assert_eq!(log.lines().count(), expect.len(), "{log}");
    for (line, parts) in log.lines().zip(expect) {
        for part in *parts {
            assert!(line.contains(part), "{part} is not in {line}");
        }
    }
    for secret in ["Guest", "confirmed", "secret-token", "nowhere", "\"id\""] {
        assert!(!log.contains(secret), "{secret} has leaked: {log}");
    }
}

fn plain(count: usize) -> (usize, Request) {
    (count, Request::default())
}

#[tokio::test]
async fn portions_tell_sizes_kind_tokens_and_reduction() {
    let expect = [
        "INFO",
        "list_bookings",
        "kind=\"page\"",
        "original_bytes=",
        " bytes=",
        "tokens=",
        "reduction=9",
        "stages=",
    ];
    check(1 << 20, vec![plain(2_000)], &[&expect]).await;
}

#[tokio::test]
async fn small_payloads_and_faults_are_told() {
    let wrong = Request { path: Some("/nowhere".into()), ..Request::default() };
    let calls = vec![plain(2), (2, wrong)];
    check(1 << 20, calls, &[&["INFO", "untouched", "original_bytes="], &["INFO", "path_unknown"]]).await;
}

#[tokio::test]
async fn evictions_and_refusals_are_told() {
    let evicted: &[&str] = &["INFO", "evicted", "list_bookings", "bytes="];
    let served: &[&str] = &["INFO", "page"];
    check(200_000, vec![plain(2_000), plain(2_000)], &[served, evicted, served]).await;
    check(50_000, vec![plain(2_000)], &[&["WARN", "without cursors", "do not fit"], served]).await;
}
