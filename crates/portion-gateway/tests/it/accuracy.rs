//! Tests of the accuracy of token counts: replies are sampled in the background, and the byte limit applies
//! while counts are far too low.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use portion_core::event::{Event, Observer, Outcome, RequestServed};
use portion_core::payload::{Block, Content, Payload};
use portion_core::policy::{ClientLimits, Policy};
use portion_core::view::Request;
use portion_gateway::accuracy::AccuracyStats;
use portion_gateway::call::{Call, Caller, Reply};
use portion_gateway::effective_policy::EffectivePolicy;
use portion_gateway::gateway::Gateway;
use portion_gateway::gateway_parts::GatewayParts;
use portion_gateway::rules::EndpointRules;
use portion_gateway::session::ClientSession;
use portion_gateway::store::MemoryStore;
use portion_policy::endpoint::{Endpoint, EndpointConfig, EndpointKind, Experiment};
use portion_tokens::{Factor, Tokenizer};

use crate::samples::lines::Lines;
use crate::samples::trial::{ada, next_cursor, portion, shown};
use crate::samples::{bookings, follow_up, list_bookings, text};

const LONG: Duration = Duration::from_mins(1);

/// A gateway, its observer, and its log.
struct Scene {
    gateway: Gateway,
    heard: Arc<RecordedEvents>,
    lines: Lines,
    _log: tracing::subscriber::DefaultGuard,
}

#[derive(Default)]
struct RecordedEvents(Mutex<Vec<Arc<RequestServed>>>);

impl Observer for RecordedEvents {
    fn observe(&self, event: Event) {
        if let Event::RequestServed(served) = event {
            self.0.lock().expect("nobody panics with it").push(served);
        }
    }
}

impl Scene {
    fn of(rules: EndpointRules) -> Self {
        let lines = Lines::default();
        let log = tracing::subscriber::set_default(lines.clone());
        let heard = Arc::new(RecordedEvents::default());
        let observer = Arc::clone(&heard) as Arc<dyn Observer>;
        let parts = GatewayParts::new(rules, Arc::new(MemoryStore::default()), [7; 32]);
        Self { gateway: Gateway::new(GatewayParts { observer, ..parts }), heard, lines, _log: log }
    }

    fn by(tokenizer: Tokenizer, percent: f64) -> Self {
        Self::written(EndpointConfig {
            tokenizer,
            accuracy_sample: Some(percent),
            ..EndpointConfig::default()
        })
    }

    fn written(written: EndpointConfig) -> Self {
        Self::of(EndpointRules::new(Arc::new(written), ClientLimits::UNKNOWN))
    }

    fn caller(&self) -> Caller {
        let rule = Arc::clone(self.gateway.rules().default_rule());
        Caller::new(ada(), ClientSession::with_id(ada(), ""), rule)
    }

    async fn fresh(&self, endpoint: Endpoint, payload: Payload) -> Reply {
        let (caller, endpoint) = (self.caller(), Some(endpoint));
        let call = Call { caller, endpoint, payload, request: Request::default(), reuse: None };
        self.gateway.answer(call).await
    }

    async fn follow(&self, cursor: String) -> Reply {
        let request = Request { cursor: Some(cursor), ..Request::default() };
        follow_up(&self.gateway, self.caller(), None, request).await
    }

    /// Returns the last record, once all are emitted.
    fn last(&self) -> RequestServed {
        assert!(self.gateway.flush(LONG));
        let heard = self.heard.0.lock().expect("nobody panics with it");
        heard.last().expect("something was heard").as_ref().clone()
    }

    fn warnings(&self) -> Vec<String> {
        self.lines.text().lines().filter(|line| line.starts_with("WARN")).map(str::to_owned).collect()
    }
}

fn endpoint(name: &str) -> Endpoint {
    Endpoint { name: name.into(), kind: EndpointKind::Tool, read_only: true, idempotent: false }
}

/// Returns text for which a length-based counter estimates about half of the tokens.
fn digest(n: usize) -> String {
    let word = |n: usize| format!("{:016x}", n.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    word(2 * n) + &word(2 * n + 1)
}

fn digests(count: usize) -> Payload {
    let items: Vec<String> = (0..count).map(|n| format!("\"{}\"", digest(n))).collect();
    text(format!("[{}]", items.join(",")))
}

/// Returns records with prose.
fn prose(count: usize) -> Payload {
    let said = "and then the others of the house were asked about the weather in the evening";
    let items: Vec<String> = (0..count).map(|n| format!("{{\"id\":{n},\"said\":\"{said}\"}}")).collect();
    text(format!("[{}]", items.join(",")))
}

fn near(served: &RequestServed) -> f64 {
    let (estimated, actual) =
        (served.estimated_tokens.expect("estimated"), served.actual_tokens.expect("counted"));
    estimated as f64 / actual as f64
}

#[tokio::test]
async fn estimated_and_exact_counts_belong_to_the_same_reply() {
    let scene = Scene::by(Tokenizer::O200k, 100.0);
    let reference = Tokenizer::O200k.reference_counter(Factor::ONE);
    let structured = Block::new(
        "/structuredContent",
        Content::Structured(format!("{{\"result\":{}}}", first_text(&bookings(900)))),
    );
    let mut twice = bookings(900);
    twice.blocks.push(structured);
    for payload in [bookings(2_000), twice, bookings(3), prose(300)] {
        let reply = scene.fresh(list_bookings(), payload.clone()).await;
        let record = scene.last();
        let cost = match &reply {
            Reply::Portion(portion) => {
                let notice = portion.separate_notice().unwrap_or_default();
                let as_text = reference.count(&shown(portion)) + reference.count(notice);
                portion.structured().map_or(0, |json| reference.count(json)).max(as_text)
            }
            _ => reference.count(&first_text(&payload)),
        };
        assert_eq!(record.estimated_tokens, record.actual_tokens, "{record:?}");
        assert!(record.actual_tokens.expect("counted").abs_diff(cost as u64) <= 1, "{cost} {record:?}");
    }
    assert_eq!(
        (scene.gateway.accuracy_stats().sampled_count, scene.gateway.accuracy_stats().near_share),
        (4, Some(1.0))
    );
}

fn first_text(payload: &Payload) -> String {
    match &payload.blocks[0].content {
        Content::Text(text) => text.clone(),
        other => panic!("no text: {other:?}"),
    }
}

#[tokio::test]
async fn estimates_are_compared_with_exact_counts_only() {
    let scene = Scene::by(Tokenizer::Auto, 100.0);
    assert_eq!(scene.gateway.accuracy_stats().exact_counter, Some("o200k"));
    scene.fresh(list_bookings(), bookings(2_000)).await;
    let share = near(&scene.last());
    assert!((1.09..1.11).contains(&share), "its margin is 10 %: {share}");
    assert_eq!(scene.warnings(), [""; 0]);
    let scene = Scene::by(Tokenizer::Claude, 100.0);
    assert_eq!(scene.gateway.accuracy_stats().exact_counter, None);
    scene.fresh(list_bookings(), bookings(2_000)).await;
    assert_eq!(scene.last().actual_tokens, None, "its vocabulary is not published");
}

#[tokio::test]
async fn without_sampling_nothing_is_recounted() {
    let scene = Scene::by(Tokenizer::O200k, 0.0);
    for payload in [bookings(2), bookings(2_000)] {
        scene.fresh(list_bookings(), payload).await;
        assert_eq!(scene.last().actual_tokens, None);
    }
    // Small replies are always recounted, whatever the sampling rate, unless it is 0.
    let scene = Scene::by(Tokenizer::O200k, 1e-9);
    scene.fresh(list_bookings(), bookings(2)).await;
    assert!(scene.last().actual_tokens.is_some());
    scene.fresh(list_bookings(), bookings(2_000)).await;
    assert_eq!(scene.last().actual_tokens, None);
}

#[tokio::test]
async fn the_cost_of_a_payload_is_counted_rather_than_extrapolated() {
    let scene = Scene::by(Tokenizer::O200k, 0.0);
    scene.fresh(list_bookings(), digests(5_000)).await;
    let (record, payload) = (scene.last(), first_text(&digests(5_000)));
    let real = Tokenizer::O200k.counter().count(&payload) as f64;
    let original = record.original_tokens.expect("estimated") as f64;
    assert!((original / real - 1.0).abs() < 0.05, "{original} of {real}");
}

#[tokio::test]
async fn the_log_agrees_with_the_records() {
    let scene = Scene::by(Tokenizer::O200k, 100.0);
    for payload in [digests(5_000), bookings(3)] {
        scene.fresh(list_bookings(), payload).await;
        let record = scene.last();
        let log = scene.lines.text();
        let line = log.lines().last().expect("a line a reply");
        let (original, tokens) =
            (record.original_tokens.expect("counted"), record.estimated_tokens.expect("counted"));
        let id = format!("{:032x}", record.request);
        for said in
            [format!("original_tokens={original} "), format!(" tokens={tokens}"), format!("request_id={id}")]
        {
            assert!(line.contains(&said), "{said} is not in {line}");
        }
    }
    assert_eq!(scene.lines.text().lines().count(), 2);
}

#[tokio::test]
async fn no_record_is_lost_at_the_end() {
    let written = EndpointConfig { experiment: Experiment::Shadow, ..EndpointConfig::default() };
    let scene = Scene::written(written);
    for n in 0..20 {
        scene.fresh(list_bookings(), bookings(500 + n)).await;
    }
    assert!(scene.gateway.flush(LONG));
    let heard = scene.heard.0.lock().expect("nobody panics with it");
    assert_eq!(heard.len(), 20);
    assert!(
        heard
            .iter()
            .all(|served| served.outcome == Outcome::Unshaped && served.estimated_tokens > Some(1_000))
    );
    let requests: BTreeSet<u128> = heard.iter().map(|served| served.request).collect();
    assert_eq!(requests.len(), 20);
    assert!(heard.iter().all(|served| served.shadow.is_some()));
}

/// V6.3: badly wrong estimates are detected and logged, and the byte limit applies until they are accurate
/// again.
#[tokio::test]
async fn v6_3_badly_wrong_estimates_are_detected_and_the_byte_limit_applies() {
    let scene = Scene::by(Tokenizer::Chars4, 0.0);
    let (hashes, others) = (endpoint("hashes"), endpoint("others"));
    let max = Policy::default().fallback_byte_limit;
    for _ in 0..3 {
        let reply = portion(scene.fresh(hashes.clone(), digests(2_000)).await);
        assert!(shown(&reply).len() + reply.notice().len() <= max);
        let record = scene.last();
        assert_eq!(record.outcome, Outcome::Capped);
        assert!(near(&record) < 0.7, "it is told by how much it is off: {record:?}");
    }
    let warnings = scene.warnings();
    assert_eq!(warnings.len(), 1, "it is told once: {warnings:?}");
    for part in
        ["endpoint=\"hashes\"", "counter=\"chars4\"", "too low", "fallbackByteLimit", "portion calibrate"]
    {
        assert!(warnings[0].contains(part), "{part}: {warnings:?}");
    }
    assert_eq!(scene.gateway.accuracy_stats().in_fallback_count, 1);
    // Other endpoints are not affected.
    scene.fresh(others, bookings(2_000)).await;
    assert_eq!(scene.last().outcome, Outcome::Paginated);
    // The byte limit applies until enough counts are accurate.
    let mut outcomes = Vec::new();
    for _ in 0..7 {
        scene.fresh(hashes.clone(), bookings(2_000)).await;
        outcomes.push(scene.last().outcome);
    }
    let capped = outcomes.iter().take_while(|outcome| **outcome == Outcome::Capped).count();
    assert!((3..=5).contains(&capped), "{outcomes:?}");
    assert!(outcomes[capped..].iter().all(|outcome| *outcome == Outcome::Paginated), "{outcomes:?}");
    assert!(scene.warnings()[1].contains("accurate again"), "{:?}", scene.warnings());
    assert_eq!((scene.warnings().len(), scene.gateway.accuracy_stats().in_fallback_count), (2, 0));
}

/// The same for replies that are recounted in the background: the following replies keep within the byte
/// limit.
#[tokio::test]
async fn v6_3_a_sample_applies_to_the_next_replies_and_pagination_loses_nothing() {
    let reference = Tokenizer::O200k.reference_counter(Factor::ONE);
    let terms = EffectivePolicy::new(Policy::default(), Tokenizer::Len4.counter(), Some(reference));
    let scene = Scene::of(EndpointRules::fixed(terms));
    let hashes = endpoint("hashes");
    let first = portion(scene.fresh(hashes.clone(), digests(600)).await);
    assert_eq!(scene.last().outcome, Outcome::Paginated);
    // A small reply is always recounted; this one costs far more than estimated.
    let wall: String = first_text(&digests(40)).chars().take(2_048).collect();
    assert!(matches!(scene.fresh(hashes, text(wall)).await, Reply::Untouched));
    assert!(scene.last().actual_tokens > Some(700), "{:?}", scene.last());
    assert_eq!(scene.gateway.accuracy_stats().in_fallback_count, 1);

    let mut seen = shown(&first);
    let mut next = next_cursor(&first);
    while let Some(cursor) = next {
        let page = portion(scene.follow(cursor).await);
        assert_eq!(scene.last().outcome, Outcome::Capped);
        assert!(shown(&page).len() + page.notice().len() <= Policy::default().fallback_byte_limit);
        seen.push_str(&shown(&page));
        next = next_cursor(&page);
    }
    for n in 0..600 {
        assert_eq!(seen.matches(&digest(n)).count(), 1, "item {n}");
    }
}

#[tokio::test]
async fn a_factor_is_applied_and_earlier_samples_are_cleared() {
    let scene = Scene::by(Tokenizer::Len4, 0.0);
    scene.fresh(endpoint("hashes"), digests(2_000)).await;
    assert_eq!(scene.gateway.accuracy_stats().in_fallback_count, 1);
    let tokenizer_factor = Factor::from_f64(1.8).expect("a factor");
    let written =
        EndpointConfig { tokenizer: Tokenizer::Len4, tokenizer_factor, ..EndpointConfig::default() };
    scene.gateway.replace_rules(EndpointRules::new(Arc::new(written), ClientLimits::UNKNOWN));
    assert_eq!(scene.gateway.accuracy_stats().in_fallback_count, 0);
    scene.fresh(endpoint("hashes"), digests(2_000)).await;
    let record = scene.last();
    assert_eq!(record.outcome, Outcome::Paginated);
    assert!((0.8..1.2).contains(&near(&record)), "{record:?}");
}

/// Returns all files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// Measures the accuracy of counts on documents below the folder `PORTION_DOCUMENTS`: prints it, and compares
/// it with the documented accuracy of exact counters.
/// `cargo test -p portion-gateway --test it accuracy -- --ignored --nocapture`
#[tokio::test]
#[ignore = "it reads a folder of documents"]
#[expect(clippy::print_stdout, reason = "it measures")]
async fn counts_of_replies_to_real_documents_are_accurate() {
    let folder = std::env::var_os("PORTION_DOCUMENTS").expect("PORTION_DOCUMENTS names a folder");
    let documents = files(Path::new(&folder)).into_iter().filter_map(|path| fs::read_to_string(path).ok());
    let documents: Vec<String> = documents.filter(|text| (1 << 10..2 << 20).contains(&text.len())).collect();
    println!(
        "{} documents; of replies: within 20 %, median error; of payloads: within 20 %, median error",
        documents.len()
    );
    for tokenizer in Tokenizer::ALL {
        let scene = Scene::by(tokenizer, 100.0);
        let (mut replies, mut payloads) = (Vec::new(), Vec::new());
        for (n, document) in documents.iter().enumerate() {
            scene.fresh(endpoint(&format!("document {n}")), text(document.clone())).await;
            let record = scene.last();
            let real = tokenizer.counter().count(document) as f64;
            if record.actual_tokens.is_some() {
                replies.push(near(&record) - 1.0);
            }
            if !record.outcome.is_payload() {
                payloads.push(record.original_tokens.unwrap_or_default() as f64 / real - 1.0);
            }
        }
        let counted = replies.len();
        let [reply, payload] = [replies, payloads].map(|mut errors: Vec<f64>| {
            errors.sort_by(f64::total_cmp);
            let near = errors.iter().filter(|error| error.abs() <= 0.2).count();
            (100.0 * near as f64 / errors.len() as f64, 100.0 * errors[errors.len() / 2])
        });
        let AccuracyStats { in_fallback_count, .. } = scene.gateway.accuracy_stats();
        println!(
            "{tokenizer}: {counted} replies {reply:.1?}, payloads {payload:.1?}, capped {in_fallback_count}"
        );
        assert!(tokenizer.is_length_based() || reply.0 >= 90.0, "{tokenizer}: {reply:?}");
    }
}
