//! Tests of clients without sessions, since 2026-07-28.

use serde_json::{Value, json};

use super::scene::{Answer, Scene, modern, runs};
use crate::waiting::wait_until;

fn post(scene: &Scene, principal: &str, id: &str, method: &str, params: &str) -> Answer {
    let (lines, body) = modern(id, method, params);
    scene.post(&format!("{lines}Authorization: {principal}\r\n"), &body)
}

fn line(answer: &Answer) -> Value {
    let answer = answer.json();
    serde_json::from_str(answer["result"]["line"].as_str().expect("a line")).expect("JSON")
}

#[test]
fn clients_share_a_server_which_gets_other_ids_than_theirs() {
    let scene = Scene::new();
    let (a, b) = (post(&scene, "a", "7", "x/echo", ""), post(&scene, "b", "7", "x/echo", ""));
    assert_eq!((&a.json()["id"], &b.json()["id"]), (&json!(7), &json!(7)));
    let (a, b) = (line(&a), line(&b));
    assert_ne!(a["id"], b["id"]);
    assert_eq!(a["params"]["_meta"]["progressToken"], a["id"], "tokens collide as ids do");
    let pid = |who: &str| post(&scene, who, "\"x\"", "x/pid", "").json()["result"]["pid"].clone();
    assert_eq!(pid("a"), pid("b"));
}

#[test]
fn each_client_gets_its_own_progress_and_response() {
    let scene = Scene::new();
    let (lines, body) = modern("1", "x/wait", "");
    let mut streams = [scene.hear("POST", &lines, &body), scene.hear("POST", &lines, &body)];
    for stream in &mut streams {
        assert_eq!(stream.message().1["params"], json!({"progressToken":"t","progress":1}));
    }
    post(&scene, "a", "1", "x/release", "");
    for stream in &mut streams {
        assert_eq!(stream.message().1, json!({"jsonrpc":"2.0","id":1,"result":{"late":true}}));
        assert!(stream.next().is_none());
    }
}

#[test]
fn a_client_that_disconnects_cancels_its_request() {
    let scene = Scene::new();
    let (lines, body) = modern("1", "x/wait", "");
    let state = || post(&scene, "a", "2", "x/cancelled", "").json()["result"].clone();
    let streaming = scene.hear("POST", &lines, &body);
    let silent = scene.send(&lines, &body.replace("\"progressToken\":\"t\",", ""));
    wait_until("both wait", || state()["waiting"].as_array().is_some_and(|all| all.len() == 2));
    drop((streaming, silent));
    wait_until("both are cancelled", || {
        let state = state();
        let mut cancelled = state["cancelled"].as_array().expect("a list").clone();
        cancelled.sort_by_key(Value::as_u64);
        json!(cancelled) == state["waiting"]
    });
}

#[test]
fn a_subscription_is_a_stream_with_the_ids_of_its_client() {
    let scene = Scene::new();
    let (lines, body) = modern("\"s\"", "subscriptions/listen", r#""notifications":{}"#);
    let mut stream = scene.hear("POST", &lines, &body);
    assert!(stream.head.contains("text/event-stream"), "{}", stream.head);
    let acknowledged = stream.message().1;
    assert_eq!(acknowledged["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], "s");
    post(&scene, "a", "1", "x/release", "");
    assert_eq!(stream.message().1["id"], "s");
    assert_eq!(scene.post(&format!("{lines}Accept: application/json\r\n"), &body).status, 406);
}

#[test]
fn header_fields_must_equal_the_body() {
    let scene = Scene::new();
    let (lines, body) = modern("1", "tools/call", r#""name":"echo","arguments":{"region":"eu"}"#);
    let check = |lines: &str, status: u16, code: i64| {
        let answer = scene.post(lines, &body);
        let got = answer.json();
        assert_eq!(
            (answer.status, got["error"]["code"].as_i64().unwrap_or(0), &got["id"]),
            (status, code, &json!(1))
        );
    };
    let named = format!("{lines}Mcp-Name: echo\r\n");
    check(&lines, 400, -32020);
    check(&format!("{lines}Mcp-Name: other\r\n"), 400, -32020);
    check(&named.replace("tools/call", "tools/list"), 400, -32020);
    check(&named.replace("2026-07-28", "2026-07-29"), 400, -32020);
    check(&named, 200, 0);
    // From here on the parameters that the tool wants repeated are known.
    post(&scene, "", "1", "tools/list", "");
    let as_anonymous = |more: &str| format!("{named}Authorization: \r\n{more}");
    check(&as_anonymous(""), 400, -32020);
    check(&as_anonymous("Mcp-Param-Region: us\r\n"), 400, -32020);
    check(&as_anonymous("Mcp-Param-Region: =?base64?ZXU=?=\r\n"), 200, 0);
}

#[test]
fn errors_have_the_status_of_their_kind() {
    let scene = Scene::new();
    let unknown = post(&scene, "a", "1", "x/unknown", "");
    assert_eq!((unknown.status, &unknown.json()["error"]["code"]), (404, &json!(-32601)));
    let handshake = post(&scene, "a", "1", "initialize", "");
    assert_eq!((handshake.status, &handshake.json()["error"]["code"]), (404, &json!(-32601)));
    for method in ["GET", "DELETE"] {
        let answer = scene.ask(method, "MCP-Protocol-Version: 2026-07-28\r\n", "");
        assert!(answer.status == 405 && answer.head.contains("allow: POST\r\n"), "{answer:?}");
    }
    let (lines, body) = modern("1", "x/echo", "");
    assert_eq!(scene.post(&lines, &format!("[{body}]")).status, 400, "no batches");
    let bare = scene.post(&lines, r#"{"jsonrpc":"2.0","id":1,"method":"x/echo"}"#);
    assert_eq!((bare.status, &bare.json()["error"]["code"]), (400, &json!(-32602)));
    let note = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    assert_eq!(scene.post(&lines, note).status, 202);
    assert_eq!(scene.post(&lines, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#).status, 400);
}

#[test]
fn requests_of_the_server_are_rejected() {
    let scene = Scene::new();
    let answer = post(&scene, "a", "1", "x/ask", "").json();
    assert_eq!(answer["result"]["error"]["code"], -32601);
}

#[test]
fn the_next_request_after_an_exit_starts_another_server() {
    let scene = Scene::new();
    let pid = || post(&scene, "a", "1", "x/pid", "").json()["result"]["pid"].as_u64().expect("a number");
    let first = pid();
    let (lines, body) = modern("5", "x/wait", "");
    let mut waiting = scene.hear("POST", &lines, &body);
    waiting.message();
    let (lines, body) = modern("6", "tools/call", r#""name":"die""#);
    let died = scene.post(&format!("{lines}Mcp-Name: die\r\n"), &body);
    assert!(died.json()["id"] == 6 && died.body.contains("exited with code 7"), "{died:?}");
    let error = waiting.message().1;
    assert!(error["id"] == 5 && error["error"].is_object(), "{error}");
    assert!(waiting.next().is_none());
    assert_ne!(pid(), first);
}

#[test]
fn a_request_that_shutdown_cuts_off_gets_an_error_that_says_so() {
    let mut scene = Scene::new();
    let (lines, body) = modern("5", "x/wait", "");
    let mut waiting = scene.hear("POST", &lines, &body);
    waiting.message();
    scene.close();
    let error = waiting.message().1;
    let message = error["error"]["message"].as_str().unwrap_or_default();
    assert!(error["id"] == 5 && message.contains("the gateway is stopping"), "{error}");
}

#[test]
fn no_process_remains_after_shutdown() {
    let mut scene = Scene::new();
    let server = post(&scene, "a", "1", "x/pid", "").json()["result"]["pid"].as_u64().expect("a number");
    scene.close();
    assert!(!runs(server));
}
