//! Tests of the proxy between a real client and a real server, both of which check every byte.

mod limits;
mod paths;
mod peers;
mod principals;

use std::io::{Read, Write};
use std::sync::mpsc::channel;

use peers::{EVENTS, LIMIT, Request, Scene, json, say};
use serde_json::Value;

const CALL: &str = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"log","arguments":{}}}"#;
const SESSION: &str = "Mcp-Session-Id: s1\r\n";

/// Returns a result with this number of lines of text.
fn result(id: &str, lines: usize) -> String {
    let text: Vec<String> =
        (0..lines).map(|n| format!("line {n} of a long text that goes on and on")).collect();
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"{}"}}],"x":1.0}}}}"#,
        text.join("\\n")
    )
}

fn parsed(body: &str) -> Value {
    serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {}", &body[..body.len().min(300)]))
}

fn notice(answer: &Value) -> &Value {
    &answer["result"]["_meta"]["io.portion/notice"]
}

#[test]
fn small_responses_and_all_fields_pass_unchanged() {
    let answer = r#"{"jsonrpc":"2.0", "id":7,"vendor":1e400, "result":{"content":[],"z":1,"a":-0.0}}"#;
    let scene = Scene::new(move |_, stream| {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=utf-8\r\nX-Vendor: a\r\nX-Vendor: b\r\n\
            Mcp-Session-Id: s9\r\nKeep-Alive: timeout=5\r\nConnection: X-Hop\r\nX-Hop: 1\r\n";
        say(stream, format!("{head}Content-Length: {}\r\n\r\n{answer}", answer.len()));
    });
    let body =
        r#"{"jsonrpc":"2.0", "id":7,"method":"tools/call","vendor":{"b":1,"a":2},"params":{"name":"x"}}"#;
    let lines = "Authorization: Bearer t\r\nMcp-Session-Id: s1\r\nMCP-Protocol-Version: 2025-06-18\r\nMcp-Method: tools/call\r\n\
        Mcp-Name: x\r\nLast-Event-ID: 5\r\nOrigin: http://localhost:3\r\nX-Mine: 1\r\nTE: trailers\r\nAccept-Encoding: gzip, zstd\r\n";
    let (head, received) = scene.post(lines, body);
    assert_eq!(received, answer);
    for line in
        ["x-vendor: a", "x-vendor: b", "mcp-session-id: s9", "content-type: application/json; charset=utf-8"]
    {
        assert!(head.contains(line), "{line}: {head}");
    }
    assert!(!head.contains("keep-alive") && !head.contains("x-hop"), "{head}");
    let Request { head, body: came } = scene.seen().remove(0);
    assert_eq!(came, body);
    assert!(head.starts_with("POST /mcp HTTP/1.1\r\n") && head.contains("host: 127.0.0.1:"), "{head}");
    let expected = "authorization: Bearer t\r\nmcp-session-id: s1\r\nmcp-protocol-version: 2025-06-18\r\nmcp-method: tools/call\r\n\
        mcp-name: x\r\nlast-event-id: 5\r\norigin: http://localhost:3\r\nx-mine: 1\r\naccept-encoding: gzip\r\n";
    for line in expected.lines() {
        assert!(head.contains(line), "{line}: {head}");
    }
    assert!(!head.contains("te: ") && !head.contains("connection: "), "{head}");
}

#[test]
fn a_large_response_is_served_in_portions_without_the_server() {
    let scene = Scene::new(|request, stream| {
        let id = parsed(&request.body)["id"].to_string();
        let tools = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":[]}}}}"#);
        let listing = request.body.contains("tools/list");
        say(stream, json(&if listing { tools } else { result("7", 3000) }));
    });
    let (_, body) = scene.post("", CALL);
    let answer = parsed(&body);
    assert!(body.len() < 65_536 && body.contains("\"x\":1.0"), "{}", body.len());
    let mut text = answer["result"]["content"][0]["text"].as_str().expect("text").to_owned();
    let mut next = notice(&answer)["nextCursor"].as_str().map(str::to_owned);
    let asked = scene.seen().len();
    while let Some(cursor) = next {
        let read = format!(
            r#"{{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{{"name":"portion_read","arguments":{{"cursor":"{cursor}"}}}}}}"#
        );
        // Another principal cannot use the cursor.
        let (_, foreign) = scene.post("Authorization: Bearer other\r\n", &read);
        assert!(foreign.contains("cursor_invalid"), "{foreign}");
        let answer = parsed(&scene.post("", &read).1);
        text += answer["result"]["content"][0]["text"].as_str().expect("text");
        next = notice(&answer)["nextCursor"].as_str().map(str::to_owned);
    }
    let whole = parsed(&result("7", 3000));
    assert_eq!(text, whole["result"]["content"][0]["text"].as_str().expect("text"));
    let calls = scene.seen().iter().filter(|request| request.body.contains("tools/call")).count();
    assert_eq!((calls, asked >= 1), (1, true), "no follow-up went to the server");
}

#[test]
fn events_pass_unchanged_and_keep_their_ids() {
    let scene = Scene::new(|_, stream| {
        let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1.50}}"#;
        say(stream, format!("{EVENTS}: hello\r\nretry: 5\r\n\r\nid: 1\r\ndata: {progress}\r\n\r\n"));
        say(stream, format!("id: 2\r\nevent: message\r\ndata: {}\r\n\r\n", result("7", 3000)));
    });
    let (head, body) = scene.post("", CALL);
    assert!(head.contains("text/event-stream"), "{head}");
    let (before, after) = body.split_once("id: 2\r\nevent: message\r\ndata: ").expect("the last event");
    let expected = ": hello\r\nretry: 5\r\n\r\nid: 1\r\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progress\":1.50}}\r\n\r\n";
    assert_eq!(before, expected);
    let answer = parsed(after.strip_suffix("\r\n\r\n").expect("its end"));
    assert!(notice(&answer)["nextCursor"].is_string(), "{answer}");
}

#[test]
fn a_response_on_a_resumed_stream_is_reshaped_too() {
    let scene = Scene::new(|request, stream| {
        if request.head.starts_with("GET") {
            assert!(request.head.contains("last-event-id: 1\r\n"), "{}", request.head);
            say(stream, format!("{EVENTS}id: 2\ndata: {}\n\n", result("7", 3000)));
        } else {
            say(stream, format!("{EVENTS}id: 1\ndata: \n\n"));
        }
    });
    let (_, body) = scene.post(SESSION, CALL);
    assert_eq!(body, "id: 1\ndata: \n\n");
    let get = format!("GET /mcp HTTP/1.1\r\nHost: localhost\r\n{SESSION}Last-Event-ID: 1\r\n\r\n");
    let (_, body) = scene.ask(&get);
    let answer = parsed(body.strip_prefix("id: 2\ndata: ").expect("the event").trim_end());
    assert!(notice(&answer)["nextCursor"].is_string(), "{answer}");
}

#[test]
fn an_authentication_challenge_passes() {
    let scene = Scene::new(|request, stream| {
        let body = if request.head.starts_with("GET /.well-known/") {
            &request.head[4..60]
        } else {
            "{\"error\":\"no\"}"
        };
        let head = "HTTP/1.1 401 Unauthorized\r\nConnection: close\r\nContent-Type: application/json\r\n\
            WWW-Authenticate: Bearer resource_metadata=\"https://x/y\"\r\n";
        say(stream, format!("{head}Content-Length: {}\r\n\r\n{body}", body.len()));
    });
    let (head, response_body) = scene.post("", CALL);
    assert!(head.starts_with("HTTP/1.1 401"), "{head}");
    assert!(head.contains("www-authenticate: Bearer resource_metadata=\"https://x/y\""), "{head}");
    assert_eq!(response_body, "{\"error\":\"no\"}");
    let fetch = |path: &str| scene.ask(&format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n")).1;
    let of_path = fetch("/.well-known/oauth-protected-resource/mcp");
    assert!(of_path.starts_with("/.well-known/oauth-protected-resource/mcp HTTP"), "{of_path}");
    assert!(
        fetch("/.well-known/oauth-protected-resource?a=b")
            .starts_with("/.well-known/oauth-protected-resource?a=b")
    );
}

#[test]
fn invalid_requests_never_reach_the_server() {
    let scene = Scene::new(|_, stream| say(stream, json("{}")));
    let check = |request: &str, status: &str, code: &str| {
        let (head, body) = scene.ask(request);
        assert!(head.starts_with(&format!("HTTP/1.1 {status}")), "{request}: {head}");
        assert_eq!(parsed(&body)["error"]["code"].to_string(), code, "{request}: {body}");
    };
    let post = |fields: &str, body: &str| {
        format!("POST /mcp HTTP/1.1\r\n{fields}Content-Length: {}\r\n\r\n{body}", body.len())
    };
    check(&post("Host: localhost\r\n", "{"), "400", "-32700");
    check(&post("Host: localhost\r\n", ""), "400", "-32700");
    check(&post("Host: localhost\r\n", "{}"), "400", "-32600");
    check(&post("Host: localhost\r\n", "[]"), "400", "-32600");
    check(&post("Host: evil.example\r\n", CALL), "403", "-32600");
    check(&post("Host: localhost\r\nOrigin: http://evil.example\r\n", CALL), "403", "-32600");
    check(&post("", CALL), "400", "-32600");
    check(&post("Host: localhost\r\nContent-Encoding: gzip\r\n", CALL), "415", "-32600");
    check(&post("Host: localhost\r\n", &" ".repeat(LIMIT + 1)), "413", "-32600");
    check(&post("Host: localhost\r\n", CALL).replace("/mcp", "/elsewhere"), "404", "-32600");
    let long = format!("POST /mcp HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n", "x".repeat(1_000_000));
    for (raw, status) in
        [("nonsense\r\n\r\n", "400"), ("POST /mcp HTTP/1.1\r\nbad field\r\n\r\n", "400"), (&long, "431")]
    {
        let mut response = Vec::new();
        // A body that is too long need not be read to its end; the connection is then reset.
        let _ = scene.says(raw.as_bytes()).read_to_end(&mut response);
        let response = String::from_utf8_lossy(&response);
        assert!(response.starts_with(&format!("HTTP/1.1 {status}")), "{response}");
    }
    assert!(scene.seen().is_empty(), "{:?}", scene.seen());
}

#[test]
fn an_unreachable_server_is_one_error() {
    let (head, body) = Scene::deserted().post("", CALL);
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    let answer = parsed(&body);
    assert_eq!(answer["id"], 7);
    assert!(body.contains("cannot be reached"), "{body}");
}

#[test]
fn a_truncated_stream_ends_with_an_error() {
    let scene = Scene::new(|_, stream| {
        say(
            stream,
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n",
        );
        say(stream, "a\r\ndata: {\"js\r\n");
    });
    let (_, body) = scene.post("", CALL);
    let (_, error) = body.split_once("event: message\ndata: ").expect("an event of our own");
    let answer = parsed(error.trim_end());
    assert_eq!((answer["id"].as_i64(), body.ends_with('!')), (Some(7), false), "{body}");
    assert!(error.contains("upstream_gone"), "{error}");
}

#[test]
fn a_truncated_body_is_one_error() {
    let scene = Scene::new(|_, stream| {
        say(
            stream,
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"jsonrpc\"",
        );
    });
    let (head, body) = scene.post("", CALL);
    assert!(head.starts_with("HTTP/1.1 200") && body.contains("upstream_gone"), "{head} {body}");
    let text = parsed(&body)["result"]["content"][0]["text"].to_string();
    assert_eq!(text.matches("was truncated").count(), 1, "{text}");
    assert!(!text.contains("before it responded"), "{text}");
}

#[test]
fn a_response_without_a_type_and_a_head_over_a_limit_are_named() {
    let many = format!("{}Content-Length: 0\r\n\r\n", "X-A: 1\r\n".repeat(300));
    for (rest, expect) in [
        ("Content-Length: 2\r\n\r\n{}".to_owned(), "a body without Content-Type"),
        ("Content-Length: 0\r\n\r\n".to_owned(), "an empty body"),
        (many, "its head has more than 100 header fields or 408 KiB"),
    ] {
        let scene = Scene::new(move |_, stream| say(stream, format!("HTTP/1.1 200 OK\r\n{rest}")));
        let (_, body) = scene.post("", CALL);
        assert!(body.contains(expect) && !body.contains("before it responded"), "{expect}: {body}");
    }
}

#[test]
fn a_switch_of_protocols_is_no_response() {
    let scene = Scene::new(|request, stream| {
        if request.body.contains("\"hints\"") {
            say(stream, "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n");
            return say(stream, json(&result("7", 1)));
        }
        say(stream, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: foo\r\nConnection: Upgrade\r\n\r\nother");
    });
    let (head, body) = scene.post("", CALL);
    let answer = parsed(&body);
    assert!(head.starts_with("HTTP/1.1 200") && answer["id"] == 7, "{head}{body}");
    assert!(body.contains("upstream_gone") && body.contains("(101)"), "{body}");
    assert!(body.contains("may have acted"), "{body}");
    for target in ["/mcp", "/.well-known/oauth-protected-resource"] {
        let (head, body) = scene.ask(&format!("GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n"));
        assert!(head.starts_with("HTTP/1.1 502") && body.contains("(101)"), "{target}: {head}{body}");
    }
    // Other statuses of this kind come before the response.
    assert_eq!(scene.post("", &CALL.replace("\"log\"", "\"hints\"")).1, result("7", 1));
}

#[test]
fn errors_repeat_the_beginning_of_a_field_of_the_server() {
    for field in ["Content-Type", "Content-Encoding"] {
        let head = format!("HTTP/1.1 200 OK\r\n{field}: {}\r\n", "x".repeat(50_000));
        let scene = Scene::new(move |_, stream| say(stream, format!("{head}Content-Length: 2\r\n\r\n{{}}")));
        let (head, body) = scene.post("", CALL);
        assert!(head.starts_with("HTTP/1.1 200") && body.contains("xxx…"), "{field}: {head}");
        assert!(body.len() < 2000, "{field}: {} bytes", body.len());
    }
}

#[test]
fn a_truncated_relayed_body_is_truncated_for_the_client_too() {
    let scene = Scene::new(|_, stream| {
        say(
            stream,
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"jso\r\n",
        );
    });
    let (_, body) = scene.post("", r#"{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen"}"#);
    assert_eq!(body, "{\"jso!");
}

#[test]
fn a_compressed_response_is_read_and_a_bomb_is_rejected() {
    let check = |lines: usize, expect: &str| {
        let scene = Scene::new(move |_, stream| {
            let packed = gzip(result("7", lines).as_bytes());
            let length = packed.len();
            say(
                stream,
                format!(
                    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: {length}\r\n\r\n"
                ),
            );
            say(stream, packed);
        });
        let (head, body) = scene.post("Accept-Encoding: gzip\r\n", CALL);
        assert!(!head.contains("content-encoding"), "{head}");
        assert!(body.contains(expect), "{head}: {}", &body[..body.len().min(500)]);
        parsed(&body);
    };
    check(3000, "nextCursor");
    check(100_000, "message_too_large");
}

#[test]
fn each_request_of_a_batch_gets_the_error_of_a_response_over_the_limit() {
    let large = format!("[{},{}]", result("7", 100_000), result("8", 1));
    for response in [json(&large), format!("{EVENTS}data: {large}\n\n")] {
        let scene = Scene::new(move |_, stream| say(stream, &response));
        let (_, body) = scene.post("", &format!("[{CALL},{}]", CALL.replace(":7", ":8")));
        let begin = &body[..body.len().min(2000)];
        for id in ["\"id\":7,", "\"id\":8,"] {
            assert_eq!(body.matches(id).count(), 1, "{id} {begin}");
        }
        assert!(body.contains("message_too_large") && !body.contains("upstream_gone"), "{begin}");
    }
}

#[test]
fn a_response_after_an_event_over_the_limit_reaches_the_client() {
    let small = format!("data: {}\n\n", result("8", 1));
    let large = format!("data: {}\n\n", result("7", 100_000));
    for (first, ids) in [("", [7, 8]), ("id: 1\ndata: \n\n", [7, 8]), ("", [8, 7])] {
        let events = format!("{EVENTS}{first}{large}{small}");
        let scene = Scene::new(move |_, stream| say(stream, &events));
        let calls = ids.map(|id| CALL.replace(":7", &format!(":{id}")));
        let (_, body) = scene.post(SESSION, &format!("[{}]", calls.join(",")));
        let begin = &body[..body.len().min(2000)];
        assert!(body.contains(&small), "{begin}");
        for id in ["\"id\":7,", "\"id\":8,"] {
            assert_eq!(body.matches(id).count(), 1, "{id} {begin}");
        }
        assert!(body.contains("message_too_large") && !body.contains("upstream_gone"), "{begin}");
    }
}

#[test]
fn a_stream_in_an_unknown_coding_is_one_error_for_each_request() {
    let scene = Scene::new(|_, stream| {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: zstd\r\n";
        say(stream, format!("{head}Connection: close\r\n\r\nxx"));
    });
    let (head, body) = scene.post("", CALL);
    assert!(head.starts_with("HTTP/1.1 200") && head.contains("application/json"), "{head}");
    assert_eq!(parsed(&body)["id"], 7, "{body}");
    assert!(body.contains("compressed as `zstd`") && body.contains("upstream_gone"), "{body}");
    let (_, body) = scene.post("", &format!("[{CALL},{}]", CALL.replace(":7", ":8")));
    let ids: Vec<_> =
        parsed(&body).as_array().expect("a batch").iter().map(|one| one["id"].clone()).collect();
    assert_eq!(ids, [7, 8], "{body}");
    let (head, _) = scene.ask("GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 502"), "{head}");
}

#[test]
fn a_pending_id_is_rejected_within_its_session() {
    let (go, wait) = channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    let scene = Scene::new(move |request, stream| {
        if request.body.contains("slow") {
            let _ = wait.lock().expect("no panic").recv();
        }
        say(stream, json(&result("7", 1)));
    });
    let slow = CALL.replace("\"log\"", "\"slow\"");
    std::thread::scope(|threads| {
        let first = threads.spawn(|| scene.post(SESSION, &slow).1);
        while scene.seen().is_empty() {
            std::thread::yield_now();
        }
        let refused = scene.post(SESSION, CALL).1;
        assert!(refused.contains("already pending"), "{refused}");
        // The other request of a batch is sent.
        let call = CALL.replace(":7", ":8");
        let refused = parsed(&scene.post(SESSION, &format!("[{call},{CALL}]")).1);
        assert!(refused[0]["id"] == 7 && refused[0].to_string().contains("already pending"), "{refused}");
        assert!(refused[1]["id"] == 8 && refused[2].is_null(), "{refused}");
        assert_eq!(scene.seen().pop().expect("it was sent").body, format!("[{call}]"));
        for other in ["", "Mcp-Session-Id: s2\r\n"] {
            assert_eq!(scene.post(other, CALL).1, result("7", 1));
        }
        go.send(()).expect("it waits");
        assert_eq!(first.join().expect("no panic"), result("7", 1));
    });
    assert_eq!(scene.post(SESSION, CALL).1, result("7", 1));
}

#[test]
fn a_repeated_id_is_rejected_and_the_other_requests_are_answered() {
    let scene = Scene::new(|request, stream| {
        let results: Vec<String> = parsed(&request.body)
            .as_array()
            .expect("a batch")
            .iter()
            .map(|request| format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{}}}}"#, request["id"]))
            .collect();
        say(stream, json(&format!("[{}]", results.join(","))));
    });
    let ping = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
    for lines in [SESSION, ""] {
        // An id is the same in any spelling.
        let batch = [ping("\"a\""), ping("2"), ping(r#""\u0061""#), ping("3")];
        let body = scene.post(lines, &format!("[{}]", batch.join(","))).1;
        let outcomes: Vec<_> = parsed(&body)
            .as_array()
            .expect("a batch")
            .iter()
            .map(|response| (response["id"].to_string(), response["error"]["message"].is_string()))
            .collect();
        let expect = [("\"a\"", true), ("\"a\"", false), ("2", false), ("3", false)];
        assert_eq!(outcomes, expect.map(|(id, is_error)| (id.to_owned(), is_error)), "{body}");
        let sent = scene.seen().pop().expect("it was sent").body;
        assert_eq!(sent, format!("[{},{},{}]", batch[0], batch[1], batch[3]));
    }
}

#[test]
fn a_request_answered_here_is_answered_though_the_server_accepts_the_other_messages_without_a_body() {
    let scene = Scene::new(|request, stream| {
        if request.body.contains("tools/list") {
            let id = parsed(&request.body)["id"].to_string();
            return say(stream, json(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":[]}}}}"#)));
        }
        say(stream, "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n");
    });
    let read = r#"{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"portion_read","arguments":{"cursor":"none"}}}"#;
    let note = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{}}"#;
    let (head, body) = scene.post("", &format!("[{read},{note}]"));
    assert!(head.starts_with("HTTP/1.1 200") && head.contains("application/json"), "{head}");
    let answers = parsed(&body);
    assert!(answers[0]["id"] == 8 && answers[1].is_null(), "{body}");
    assert!(body.contains("cursor_invalid"), "{body}");
    let sent = scene.seen().pop().expect("the notification was sent").body;
    assert!(sent.contains(note) && !sent.contains("portion_read"), "{sent}");
}

#[test]
fn tools_are_listed_before_an_unknown_tool_is_called() {
    let scene = Scene::new(|request, stream| {
        if request.body.contains("tools/list") {
            let id = parsed(&request.body)["id"].to_string();
            let tools = r#"[{"name":"list_x","inputSchema":{"type":"object","properties":{"q":{}}}}]"#;
            let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":{tools}}}}}"#);
            say(stream, format!("{EVENTS}data: {answer}\n\n"));
        } else {
            say(stream, json(&result("7", 1)));
        }
    });
    let call = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"list_x","arguments":{"q":1,"limit":2}}}"#;
    let response = scene.post(SESSION, call).1;
    assert!(response.contains("line 0"), "{response}");
    let requests = scene.seen();
    assert_eq!(requests.len(), 2);
    assert!(requests[0].head.contains("mcp-session-id: s1"), "{}", requests[0].head);
    assert_eq!(requests[1].body, call.replace(r#","limit":2"#, ""));
}

#[test]
fn calls_of_a_batch_that_wait_for_the_tools_are_sent_with_the_others() {
    let scene = Scene::new(|request, stream| {
        let message = parsed(&request.body);
        let answer = |request: &Value| {
            format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{"tools":[]}}}}"#, request["id"])
        };
        match message.as_array() {
            Some(batch) => {
                let answers: Vec<String> = batch.iter().map(answer).collect();
                say(stream, json(&format!("[{}]", answers.join(","))));
            }
            None => say(stream, json(&answer(&message))),
        }
    });
    let call = |id| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"x","arguments":{{"limit":2}}}}}}"#
        )
    };
    let ping = r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#;
    let body = scene.post(SESSION, &format!("[{},{ping},{}]", call(1), call(3))).1;
    let answers = parsed(&body);
    let mut ids: Vec<_> =
        answers.as_array().expect("a batch").iter().map(|answer| answer["id"].as_u64()).collect();
    ids.sort_unstable();
    assert_eq!(ids, [Some(1), Some(2), Some(3)], "{body}");
    assert!(!body.contains("upstream_gone"), "{body}");
    let requests = scene.seen();
    assert_eq!((requests.len(), parsed(&requests[1].body).as_array().map(Vec::len)), (2, Some(3)));
}

#[test]
fn the_server_notices_a_client_that_disconnects() {
    let (sender, receiver) = channel();
    let sender = std::sync::Mutex::new(sender);
    let scene = Scene::new(move |_, stream| {
        say(stream, format!("{EVENTS}: started\n\n"));
        let ended = stream.read(&mut [0]);
        let _ = sender.lock().expect("no panic").send(ended.unwrap_or(0));
    });
    let request =
        format!("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{CALL}", CALL.len());
    let mut client = scene.says(request.as_bytes());
    let mut some = [0; 64];
    assert!(client.read(&mut some).expect("the head") > 0);
    drop(client);
    assert_eq!(receiver.recv_timeout(std::time::Duration::from_secs(20)), Ok(0));
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(bytes).expect("memory");
    packer.finish().expect("memory")
}
