//! Tests of clients with sessions, 2024-11-05 to 2025-11-25.

use portion_mcp::bridge::BridgeLimits;
use serde_json::json;

use super::scene::{Scene, request, runs};
use crate::waiting::wait_until;

const JSON: &str = "Accept: application/json\r\n";
const STREAM: &str = "Accept: text/event-stream\r\n";

fn pid(scene: &Scene, session: &str) -> u64 {
    scene.post(session, &request("1", "x/pid", "")).json()["result"]["pid"].as_u64().expect("a number")
}

#[test]
fn each_session_has_a_server_of_its_own_until_it_ends() {
    let scene = Scene::new();
    let (a, b) = (scene.begin(), scene.begin());
    let (server, other) = (pid(&scene, &a), pid(&scene, &b));
    assert_ne!(server, other);
    let status = |lines: &str| scene.post(lines, &request("2", "x/pid", "")).status;
    assert_eq!(status(""), 400);
    assert_eq!(status("Mcp-Session-Id: 00000000000000000000000000000000\r\n"), 404);
    assert_eq!(status(&format!("{a}Authorization: Bearer other\r\n")), 404, "it is another's");
    assert_eq!(status(&format!("{a}MCP-Protocol-Version: latest\r\n")), 400);
    assert_eq!(scene.ask("DELETE", &a, "").status, 200);
    assert_eq!((status(&a), status(&b)), (404, 200));
    assert_eq!(scene.ask("DELETE", &a, "").status, 404);
    assert_eq!(scene.ask("PUT", &b, "").status, 405);
    wait_until("the server leaves", || !runs(server));
    assert!(runs(other));
}

#[test]
fn a_session_that_the_server_rejects_does_not_exist() {
    let scene = Scene::new();
    let answer = scene.post("", &request("1", "initialize", r#""refuse":true"#));
    assert_eq!((answer.status, &answer.json()["error"]["message"]), (200, &json!("refused")));
    assert!(!answer.head.contains("mcp-session-id"), "{answer:?}");
}

#[test]
fn the_first_message_decides_the_form_of_a_response() {
    let scene = Scene::new();
    let session = scene.begin();
    let echo = "{\"jsonrpc\":\"2.0\", \"id\":1.0,\n\"method\":\"x/echo\",\"v\":1e400,\"params\":{}}";
    let answer = scene.post(&session, echo);
    assert!(answer.head.contains("content-type: application/json"), "{answer:?}");
    assert_eq!(answer.json()["result"]["line"], echo.replace('\n', " ") + "\n", "the server saw these bytes");
    assert!(answer.body.contains(r#""id":1.0"#), "{answer:?}");
    let both = scene.post(&session, &request("2", "x/log", ""));
    assert!(both.head.contains("content-type: text/event-stream"), "{both:?}");
    let methods: Vec<_> = both.events().iter().map(|event| event["method"].clone()).collect();
    assert_eq!(methods, [json!("notifications/message"), json!(null)]);
    let json_only = scene.post(&format!("{session}{JSON}"), &request("3", "x/log", ""));
    assert_eq!((json_only.status, &json_only.json()["id"]), (200, &json!(3)));
    let stream_only = scene.post(&format!("{session}{STREAM}"), &request("4", "x/echo", ""));
    assert_eq!(stream_only.events()[0]["id"], 4);
    let stream_first = format!("{session}Accept: text/event-stream, application/json\r\n");
    assert_eq!(scene.post(&stream_first, &request("4", "x/echo", "")).events()[0]["id"], 4);
    let neither = scene.post(&format!("{session}Accept: text/html\r\n"), &request("5", "x/echo", ""));
    assert_eq!(neither.status, 406);
    assert_eq!(scene.ask("GET", &format!("{session}{JSON}"), "").status, 406);
    // The message that the post without a stream could not receive.
    let mut listening = scene.hear("GET", &format!("{session}{STREAM}"), "");
    assert_eq!(listening.message().1["params"]["data"], "before");
}

#[test]
fn errors_repeat_the_beginning_of_a_field() {
    let scene = Scene::new();
    let session = scene.begin();
    let check = |method: &str, field: &str, value: &str, status: u16| {
        let lines = format!("{session}{STREAM}{field}: {}\r\n", value.repeat(20_000));
        let answer = scene.ask(method, &lines, &request("1", "ping", ""));
        assert!(answer.status == status && answer.body.contains('…'), "{field}: {}", answer.head);
        assert!(answer.body.len() < 1000, "{field}: {} bytes", answer.body.len());
    };
    check("POST", "MCP-Protocol-Version", "é", 400);
    check("POST", "MCP-Protocol-Version", "x", 400);
    check("POST", "Content-Encoding", "é", 415);
    check("GET", "Last-Event-ID", "x", 400);
}

#[test]
fn a_server_sends_a_request_to_its_client() {
    let scene = Scene::new();
    let session = scene.begin();
    let answer = r#"{"jsonrpc":"2.0","id":"roots","result":{"roots":[]}}"#;
    let mut post = scene.hear("POST", &session, &request("7", "x/ask", ""));
    assert_eq!(post.message().1["method"], "roots/list");
    assert_eq!(scene.post(&session, answer).status, 202);
    assert_eq!(
        post.message().1,
        json!({"jsonrpc":"2.0","id":7,"result":{"answer":{"roots":[]},"error":null}})
    );
    assert!(post.next().is_none());
}

#[test]
fn the_newer_listener_replaces_the_older() {
    let scene = Scene::new();
    let session = scene.begin();
    let trigger = r#"{"jsonrpc":"2.0","method":"x/tell"}"#;
    assert_eq!(scene.post(&session, trigger).status, 202);
    let get = format!("{session}{STREAM}");
    let mut first = scene.hear("GET", &get, "");
    let (id, message) = first.message();
    assert_eq!(message["params"]["data"], "unasked");
    let mut second = scene.hear("GET", &get, "");
    assert!(first.next().is_none());
    scene.post(&session, trigger);
    second.message();
    // The connection broke, and the client resumes after the last event of the first stream.
    drop(second);
    let mut third = scene.hear("GET", &format!("{get}Last-Event-ID: {id}\r\n"), "");
    assert_eq!(third.message().1["params"]["data"], "unasked");
    assert_eq!(scene.ask("GET", &format!("{get}Last-Event-ID: 77-3\r\n"), "").status, 400);
    assert_eq!(scene.ask("GET", &format!("{get}Last-Event-ID: x\r\n"), "").status, 400);
}

#[test]
fn a_post_that_lost_its_stream_is_answered_on_another() {
    let scene = Scene::new();
    let session = scene.begin();
    let mut post =
        scene.hear("POST", &session, &request("\"é\"", "x/wait", r#""_meta":{"progressToken":5}"#));
    let (id, progress) = post.message();
    assert_eq!(progress["params"]["progressToken"], 5);
    drop(post);
    assert_eq!(scene.post(&session, &request("2", "x/release", "")).status, 200);
    let resumed = scene.ask("GET", &format!("{session}{STREAM}Last-Event-ID: {id}\r\n"), "");
    let answer = json!({"jsonrpc":"2.0","id":"é","result":{"late":true}});
    assert_eq!(resumed.events(), std::slice::from_ref(&answer));
    let again = scene.ask("GET", &format!("{session}{STREAM}Last-Event-ID: {id}\r\n"), "");
    assert_eq!(again.events(), [answer], "it may have got lost once more");
}

#[test]
fn a_client_with_priming_support_can_resume_before_the_first_event() {
    let scene = Scene::new();
    let session = scene.begin() + "MCP-Protocol-Version: 2025-11-25\r\n";
    let mut post = scene.hear("POST", &format!("{session}{STREAM}"), &request("1", "x/wait", ""));
    let primed = post.next().expect("an event");
    let id = primed.lines().find_map(|line| line.strip_prefix("id: ")).expect("an id").to_owned();
    assert!(primed.contains("data: \n") && primed.contains("retry: "), "{primed}");
    drop(post);
    scene.post(&session, &request("2", "x/release", ""));
    let resumed = scene.ask("GET", &format!("{session}{STREAM}Last-Event-ID: {id}\r\n"), "");
    assert_eq!(resumed.events(), [json!({"jsonrpc":"2.0","id":1,"result":{"late":true}})]);
}

#[test]
fn a_batch_is_answered_by_a_batch() {
    let scene = Scene::new();
    let session = scene.begin();
    let batch = format!("[{},{}]", request("1", "x/pid", ""), request("2", "x/nothing", ""));
    let answers = scene.post(&session, &batch).json();
    assert_eq!((&answers[0]["id"], &answers[1]["error"]["code"]), (&json!(1), &json!(-32601)));
}

#[test]
fn a_pending_id_is_rejected_and_a_request_can_be_cancelled() {
    let scene = Scene::new();
    let session = scene.begin();
    let mut first = scene.hear("POST", &format!("{session}{STREAM}"), &request("1", "x/wait", ""));
    wait_until("it waits", || {
        let state = scene.post(&session, &request("3", "x/cancelled", "")).json();
        state["result"]["waiting"] == json!([1])
    });
    let second = scene.post(&session, &request("1", "x/pid", "")).json();
    assert!(
        second["error"]["message"].as_str().is_some_and(|why| why.contains("already pending")),
        "{second}"
    );
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    assert_eq!(scene.post(&session, cancel).status, 202);
    assert_eq!(first.message().1["error"]["code"], -32800);
    assert!(first.next().is_none());
    let state = scene.post(&session, &request("3", "x/cancelled", "")).json();
    assert_eq!(state["result"]["cancelled"], json!([1]));
}

#[test]
fn a_dead_server_is_one_error_per_request_and_ends_the_session() {
    let scene = Scene::new();
    let session = scene.begin();
    let get = format!("{session}{STREAM}");
    let mut listening = scene.hear("GET", &get, "");
    let mut waiting = scene.hear("POST", &get, &request("1", "x/wait", r#""_meta":{"progressToken":1}"#));
    waiting.message();
    let died = scene.post(&session, &request("2", "tools/call", r#""name":"die""#));
    assert!(died.body.contains("upstream_gone") && died.body.contains("exited with code 7"), "{died:?}");
    let error = waiting.message().1;
    assert!(
        error["error"]["message"].as_str().is_some_and(|why| why.contains("exited with code 7")),
        "{error}"
    );
    assert!(waiting.next().is_none() && listening.next().is_none());
    let after = scene.post(&session, &request("3", "x/pid", ""));
    assert!(after.status == 404 && after.body.contains("initialize again"), "{after:?}");
}

#[test]
fn an_error_of_starting_says_what_to_fix() {
    let scene = Scene::around("no-such-server", &[], BridgeLimits::default());
    let answer = scene.post("", &request("1", "initialize", ""));
    assert!(answer.status == 200 && answer.body.contains("not found on PATH"), "{answer:?}");
}

#[test]
fn the_number_of_sessions_is_limited() {
    let server = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/bridge/server.py");
    let scene =
        Scene::around("python3", &[server], BridgeLimits { max_sessions: 1, ..BridgeLimits::default() });
    let session = scene.begin();
    let refused = scene.post("", &request("1", "initialize", ""));
    assert!(refused.status == 503 && refused.body.contains("1 sessions are open"), "{refused:?}");
    scene.ask("DELETE", &session, "");
    scene.begin();
}

#[test]
fn sessions_that_open_at_once_keep_the_limit() {
    let server = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/bridge/server.py");
    let limits = BridgeLimits { max_sessions: 2, ..BridgeLimits::default() };
    let scene = Scene::around("python3", &[server], limits);
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let opening = || scope.spawn(|| scene.post("", &request("1", "initialize", "")).status);
        let openings: Vec<_> = (0..12).map(|_| opening()).collect();
        openings.into_iter().map(|opening| opening.join().expect("no panic")).collect()
    });
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 2, "{statuses:?}");
}

#[test]
fn a_request_that_shutdown_cuts_off_gets_an_error_that_says_so() {
    let mut scene = Scene::new();
    let session = scene.begin();
    let mut waiting = scene.hear("POST", &format!("{session}{STREAM}"), &request("5", "x/wait", ""));
    scene.close();
    let error = waiting.message().1;
    let message = error["error"]["message"].as_str().unwrap_or_default();
    assert!(error["id"] == 5 && message.contains("the gateway is stopping"), "{error}");
    assert!(waiting.next().is_none());
}

#[test]
fn no_process_remains_after_shutdown() {
    let mut scene = Scene::new();
    let session = scene.begin();
    let server = pid(&scene, &session);
    let mut listening = scene.hear("GET", &format!("{session}{STREAM}"), "");
    scene.close();
    assert!(!runs(server) && listening.next().is_none());
}
