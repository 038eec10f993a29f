//! Tests of the records of failed calls: one record each, whatever reply the client gets.

use std::time::Duration;

use parking_lot::Mutex;
use portion_core::error_code::ErrorCode;
use portion_core::event::{Event, Observer, Outcome, RequestServed, ServedError};
use portion_core::policy::ClientLimits;
use portion_policy::endpoint::{EndpointConfig, Experiment};

use super::*;

#[derive(Default)]
struct Heard(Mutex<Vec<Arc<RequestServed>>>);

impl Observer for Heard {
    fn observe(&self, event: Event) {
        if let Event::RequestServed(served) = event {
            self.0.lock().push(served);
        }
    }
}

/// Creates a processor that shapes or relays replies, and the observer of its records.
fn heard_of(experiment: Experiment) -> (McpProcessor, Arc<Heard>) {
    let records: Arc<Heard> = Arc::default();
    let store = Arc::new(MemoryStore::new(StoreLimits::default()));
    let rules = EndpointRules::new(
        Arc::new(EndpointConfig { experiment, ..EndpointConfig::default() }),
        ClientLimits::UNKNOWN,
    );
    let observer = Arc::clone(&records) as Arc<dyn Observer>;
    let gateway = Gateway::new(GatewayParts { observer, ..GatewayParts::new(rules, store, [7; 32]) });
    let processor = McpProcessorFactory::new(Arc::new(gateway), ListingOptions::default(), 1 << 20)
        .new_processor(Scope::from_principal("stdio"), ClientSession::new_unique());
    client(&processor, r#"{"jsonrpc":"2.0","id":0,"method":"tools/list"}"#);
    server(&processor, &LIST[2..]);
    (processor, records)
}

/// Returns the outcome and the error in the record of a request, after `act` has played the server.
fn outcome(
    processor: &McpProcessor,
    records: &Heard,
    params: &str,
    act: impl FnOnce(&McpProcessor),
) -> (Outcome, Option<ServedError>) {
    let method = if params.contains("taskId") { "tasks/get" } else { "tools/call" };
    client(processor, &format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{params}}}}}"#));
    act(processor);
    assert!(processor.gateway.flush(Duration::from_mins(1)));
    let mut records = records.0.lock();
    let [served] = &records[..] else { panic!("one record a request: {records:?}") };
    let outcome = (served.outcome, served.error);
    assert!(["free", "tasks/get"].contains(&&*served.endpoint) && !served.follow_up, "{served:?}");
    records.clear();
    outcome
}

fn check(experiment: &Experiment, params: &str, answer: &str, expect: (Outcome, Option<ServedError>)) {
    let (processor, records) = heard_of(experiment.clone());
    let answer = format!(r#"{{"jsonrpc":"2.0","id":1,{answer}}}"#);
    let beginning: String = answer.chars().take(100).collect();
    let outcome = outcome(&processor, &records, params, |processor| drop(server(processor, &answer)));
    assert_eq!(outcome, expect, "{beginning}");
}

const CALL: &str = r#""name":"free","arguments":{}"#;
const TASK: &str = r#""taskId":"7""#;
const FAILED: Option<ServedError> = Some(ServedError::Upstream);

#[test]
fn server_errors_are_recorded_whatever_the_reply() {
    let content = |text: &str, more: &str| {
        format!(r#""result":{{"content":[{{"type":"text","text":"{text}"}}]{more}}}"#)
    };
    let error = |data: &str| format!(r#""error":{{"code":-32000,"message":"no","data":"{data}"}}"#);
    let large = big();
    let shaped = &Experiment::default();
    check(shaped, CALL, &content("fine", ""), (Outcome::Untouched, None));
    check(shaped, CALL, &content("fine", r#","isError":false"#), (Outcome::Untouched, None));
    check(shaped, CALL, &content("no", r#","isError":true"#), (Outcome::Untouched, FAILED));
    check(shaped, CALL, &content(&large, r#","isError":true"#), (Outcome::Chunked, FAILED));
    check(shaped, CALL, &error("x"), (Outcome::Untouched, FAILED));
    check(shaped, CALL, &error(&large), (Outcome::Chunked, FAILED));
    check(shaped, CALL, r#""error":"no object""#, (Outcome::Untouched, FAILED));
    check(
        shaped,
        TASK,
        r#""result":{"status":"failed","error":{"code":-1,"message":"no"}}"#,
        (Outcome::Untouched, FAILED),
    );
    let task = format!(r#""result":{{"status":"completed",{}}}"#, content("no", r#","isError":true"#));
    check(shaped, TASK, &task, (Outcome::Untouched, FAILED));
    check(&Experiment::Shadow, CALL, &content(&large, r#","isError":true"#), (Outcome::Unshaped, FAILED));
    check(&Experiment::Shadow, CALL, &error("x"), (Outcome::Unshaped, FAILED));
}

#[test]
fn calls_without_a_response_are_recorded() {
    let (processor, records) = heard_of(Experiment::default());
    let outcome = |act: &dyn Fn(&McpProcessor)| outcome(&processor, &records, CALL, act);
    let refused = |code| (Outcome::Refused, Some(ServedError::Own(code)));
    assert_eq!(
        outcome(&|processor| drop(processor.on_server_gone(&ServerExit::Exited(3)))),
        refused(ErrorCode::UpstreamGone)
    );
    assert_eq!(
        outcome(&|processor| drop(processor.on_server_unreachable(&"nobody listens"))),
        refused(ErrorCode::UpstreamGone)
    );
    let large = || dropped(r#"{"id":1,"result":{}}"#);
    assert_eq!(
        outcome(&|processor| drop(run(processor.process_server_frame(large())))),
        refused(ErrorCode::MessageTooLarge)
    );
    // An invalid response is passed on unchanged.
    assert_eq!(outcome(&|processor| processor.discard_all_pending(21)), (Outcome::Untouched, FAILED));
    assert_eq!(processor.pending_count(), 0);
}

#[test]
fn follow_ups_of_an_error_are_not_recorded_as_errors() {
    let (processor, records) = heard_of(Experiment::default());
    let answer = format!(
        r#"{{"jsonrpc":"2.0","id":1,"result":{{"content":[{{"type":"text","text":"{}"}}],"isError":true}}}}"#,
        big()
    );
    client(&processor, &format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{{CALL}}}}}"#));
    let out = server(&processor, &answer);
    let (_, rest) = out[0].split_once(r#"nextCursor\":\""#).expect("more");
    let read = format!(r#""name":"portion_read","arguments":{{"cursor":"{}"}}"#, leading_cursor(rest));
    client(&processor, &format!(r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{{read}}}}}"#));
    assert!(processor.gateway.flush(Duration::from_mins(1)));
    let mut records = records.0.lock();
    records.sort_by_key(|served| served.request);
    let outcome: Vec<_> = records.iter().map(|served| (served.follow_up, served.error)).collect();
    assert_eq!(outcome, [(false, FAILED), (true, None)]);
}

#[test]
fn the_gateways_own_list_outlives_a_response_that_ends_its_post() {
    let processor = processor();
    client(
        &processor,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_x","arguments":{}}}"#,
    );
    let answer = format!(
        r#"{{"jsonrpc":"2.0","id":1,"result":{{"content":[{{"type":"text","text":"{}"}}]}}}}"#,
        big()
    );
    let out = server(&processor, &answer);
    let id = out[1].split("\"id\":").nth(1).and_then(|rest| rest.split(',').next()).expect("an id");
    processor.discard_all_pending(0);
    server(&processor, &LIST[2..].replacen("\"id\":0", &format!("\"id\":{id}"), 1));
    let call = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"list_x","arguments":{"limit":2}}}"#;
    assert_eq!(client(&processor, call), [format!("> {}", call.replace(r#"{"limit":2}"#, "{}"))]);
}

#[test]
fn an_error_without_an_id_answers_the_only_request() {
    let ping = |id: u32| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
    let check = |requests: u32, response: &str, expect: &str| {
        let processor = processor();
        (1..=requests).for_each(|id| drop(client(&processor, &ping(id))));
        assert_eq!(server(&processor, response), [format!("< {expect}")], "{requests}: {response}");
    };
    let error = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}"#;
    let without = r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"no"}}"#;
    check(1, error, r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32700,"message":"no"}}"#);
    check(1, without, r#"{"id":1,"jsonrpc":"2.0","error":{"code":-32700,"message":"no"}}"#);
    check(0, error, error);
    check(2, error, error);
}
