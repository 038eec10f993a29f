//! Tests of the limits and the shutdown of a listener.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use portion_gateway::overload::OverloadLimit;
use portion_mcp::front::http::HttpLimits;
use portion_mcp::once::OneShotFlag;
use portion_net::serve::ServeLimits;

use super::peers::{EVENTS, Scene, json, say};
use crate::waiting::wait_until;

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
const PONG: &str = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
/// Far longer than any step takes.
const HANG: Duration = Duration::from_secs(30);

fn ponging(limits: HttpLimits) -> Scene {
    Scene::within(limits, |_, stream| say(stream, json(PONG)))
}

/// Returns limits with others for connections, which never end idle ones within a test.
fn connections(change: impl FnOnce(&mut ServeLimits)) -> HttpLimits {
    let mut limits = HttpLimits::default();
    limits.connections.idle_timeout = Duration::from_hours(1);
    change(&mut limits.connections);
    limits
}

/// Returns limits that disconnect slow clients after a second, and idle ones never within a test.
fn short() -> HttpLimits {
    connections(|limits| limits.stall_timeout = Duration::from_secs(1))
}

fn request(length: usize) -> String {
    format!("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n")
}

fn whole() -> String {
    request(PING.len()) + PING
}

/// Returns the head of the next response, and the received part of its body.
fn read_response(stream: &mut TcpStream) -> String {
    let mut all = vec![0; 64 << 10];
    let read = stream.read(&mut all).expect("an answer");
    String::from_utf8_lossy(&all[..read]).into_owned()
}

#[test]
fn a_slow_head_is_disconnected_and_an_idle_connection_is_not() {
    let scene = ponging(short());
    let mut idle = scene.says(whole().as_bytes());
    assert!(read_response(&mut idle).ends_with(PONG));
    let began = Instant::now();
    // It keeps sending, but too slowly.
    let mut slow = scene.says(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-Slow: ");
    slow.set_read_timeout(Some(Duration::from_millis(50))).expect("a socket");
    let mut some = [0; 64];
    while !matches!(slow.read(&mut some), Ok(0)) && slow.write_all(b"x").is_ok() {
        assert!(began.elapsed() < HANG, "it is never cut off");
    }
    assert!(began.elapsed() >= Duration::from_millis(900));
    let mut silent = scene.says(b"");
    assert_eq!(silent.read(&mut some).expect("an end"), 0, "nor does one stay that says nothing");
    idle.write_all(whole().as_bytes()).expect("it lives");
    assert!(read_response(&mut idle).ends_with(PONG));
}

#[test]
fn a_body_without_progress_is_rejected() {
    let scene = ponging(short());
    let mut slow = scene.says((request(100) + "{").as_bytes());
    let answer = read_response(&mut slow);
    assert!(answer.starts_with("HTTP/1.1 408 ") && answer.contains("too slowly"), "{answer}");
    assert!(scene.seen().is_empty());
}

#[test]
fn idle_connections_are_evicted_for_new_ones() {
    let scene = ponging(connections(|limits| limits.max_connections = 8));
    let mut idle: Vec<TcpStream> = (0..8).map(|_| scene.says(whole().as_bytes())).collect();
    idle.iter_mut().for_each(|stream| assert!(read_response(stream).ends_with(PONG)));
    for _ in 0..20 {
        let mut next = scene.says(whole().as_bytes());
        assert!(read_response(&mut next).ends_with(PONG));
        idle.push(next);
    }
    // The oldest connections were evicted, the latest are still open.
    let last = idle.last_mut().expect("many");
    last.write_all(whole().as_bytes()).expect("it lives");
    assert!(read_response(last).ends_with(PONG));
    assert!(matches!(idle[0].read(&mut [0; 8]), Ok(0) | Err(_)));
}

#[test]
fn a_connection_is_rejected_if_all_others_are_busy() {
    let released = Arc::new(OneShotFlag::default());
    let release = Arc::clone(&released);
    let scene = Scene::within(connections(|limits| limits.max_connections = 2), move |_, stream| {
        wait(&release);
        say(stream, json(PONG));
    });
    let mut busy = [(); 2].map(|()| scene.says(whole().as_bytes()));
    wait_until("two requests arrive", || scene.seen().len() == 2);
    let refusal = read_response(&mut scene.says(b""));
    assert!(refusal.starts_with("HTTP/1.1 503 ") && refusal.contains("retry-after: 1"), "{refusal}");
    released.set();
    busy.iter_mut().for_each(|stream| assert!(read_response(stream).ends_with(PONG)));
}

#[test]
fn unfinished_bodies_stay_within_one_budget() {
    let limits =
        HttpLimits { max_total_body_bytes: 1 << 20, max_body_bytes: 1 << 20, ..HttpLimits::default() };
    let scene = ponging(limits);
    let unfinished: Vec<TcpStream> =
        (0..3).map(|_| scene.says((request(1 << 20) + &" ".repeat(300 << 10)).as_bytes())).collect();
    // The budget is reserved as bytes arrive.
    let start = Instant::now();
    let large = request(900 << 10) + &" ".repeat(900 << 10);
    let mut refusal = String::new();
    while !refusal.starts_with("HTTP/1.1 503 ") {
        assert!(start.elapsed() < HANG, "{refusal}");
        let mut stream = scene.says(large.as_bytes());
        let mut all = Vec::new();
        // A client that is rejected while it sends may only see the end of the connection.
        let _ = stream.read_to_end(&mut all);
        refusal = String::from_utf8_lossy(&all).into_owned();
    }
    assert!(refusal.contains("retry-after: 1") && refusal.contains("1048576 bytes"), "{refusal}");
    let (head, body) = scene.post("", PING);
    assert!(head.starts_with("HTTP/1.1 200 ") && body == PONG, "a small one passes: {head}");
    drop(unfinished);
}

#[test]
fn a_batch_of_too_many_messages_is_rejected() {
    let scene = ponging(HttpLimits::default());
    let (head, body) = scene.post("", &format!("[{}]", vec![PING; 1001].join(",")));
    assert!(head.starts_with("HTTP/1.1 400 ") && body.contains("at most 1000"), "{head}{body}");
    assert!(scene.seen().is_empty());
}

#[test]
fn shutdown_finishes_running_requests_and_rejects_new_ones() {
    let released = Arc::new(OneShotFlag::default());
    let release = Arc::clone(&released);
    let scene = Scene::within(short(), move |request, stream| {
        // Only the ping is held: requests that arrive before the proxy sees the shutdown are answered.
        if request.body.contains("\"ping\"") {
            wait(&release);
        }
        say(stream, json(PONG));
    });
    let mut running = scene.says(whole().as_bytes());
    let mut idle = scene.says(b"");
    wait_until("the request arrives", || !scene.seen().is_empty());
    scene.leave();
    let start = Instant::now();
    let refused = loop {
        let (head, body) = scene.post("", &PING.replace("ping", "tools/list"));
        if head.starts_with("HTTP/1.1 503 ") {
            break head + &body;
        }
        assert!(start.elapsed() < HANG, "{head}");
    };
    assert!(refused.contains("retry-after: 1") && refused.contains("connection: close"), "{refused}");
    // So is a request on an open connection. Messages about running requests pass.
    idle.write_all(whole().as_bytes()).expect("it is open");
    assert!(read_response(&mut idle).starts_with("HTTP/1.1 503 "));
    let (head, _) = scene.post("", r#"{"jsonrpc":"2.0","method":"notifications/progress"}"#);
    assert!(!head.starts_with("HTTP/1.1 503 "), "{head}");
    released.set();
    assert!(read_response(&mut running).ends_with(PONG));
    scene.ended();
}

#[test]
fn requests_are_rejected_under_overload_and_other_messages_pass() {
    // Every task wakes a little late, so that this counts as an overload.
    let scene = ponging(HttpLimits {
        overload: Some(OverloadLimit { delay: Duration::ZERO, requests: 0 }),
        ..short()
    });
    let start = Instant::now();
    let refused = loop {
        let (head, body) = scene.post("", &PING.replace("ping", "tools/list"));
        if head.starts_with("HTTP/1.1 503 ") {
            break head + &body;
        }
        assert!(start.elapsed() < HANG, "{head}");
    };
    assert!(refused.contains("retry-after: 1") && refused.contains("-32000"), "{refused}");
    for message in [
        PING,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}"#,
        r#"{"jsonrpc":"2.0","id":7,"result":{}}"#,
    ] {
        let (head, _) = scene.post("", message);
        assert!(!head.starts_with("HTTP/1.1 503 "), "{message}: {head}");
    }
    let (head, _) = scene.ask("DELETE /mcp HTTP/1.1\r\nHost: localhost\r\nMcp-Session-Id: a\r\n\r\n");
    assert!(!head.starts_with("HTTP/1.1 503 "), "{head}");
}

#[test]
fn requests_that_do_not_finish_in_time_get_an_error() {
    let check = |body: &str, expect: &[&str]| {
        let scene = never_answering("");
        let mut running = scene.says((request(body.len()) + body).as_bytes());
        wait_until("the request arrives", || !scene.seen().is_empty());
        scene.leave();
        let answer = read_response(&mut running);
        assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains("may have acted"), "{answer}");
        for part in expect {
            assert!(answer.contains(part), "{part}: {answer}");
        }
        scene.ended();
    };
    check(PING, &["{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":", "the gateway is stopping"]);
    let call = r#"{"jsonrpc":"2.0","id":"é","method":"tools/call","params":{"name":"x"}}"#;
    check(call, &["\"id\":\"é\",\"result\":", "the gateway is stopping", "\"isError\":true"]);
    check(&format!("[{PING},{call}]"), &["\r\n\r\n[{", "\"id\":1,", "\"id\":\"é\","]);
}

#[test]
fn streams_that_do_not_finish_in_time_end_with_an_error_or_break_off() {
    let stopped = |first: &'static str| {
        let scene = never_answering(first);
        let mut running = scene.says(whole().as_bytes());
        let mut all = String::new();
        while !all.contains(first) {
            let part = read_response(&mut running);
            assert!(!part.is_empty(), "{all}");
            all += &part;
        }
        scene.leave();
        let mut rest = Vec::new();
        // A stream that breaks off may be the reset of its connection.
        let _ = running.read_to_end(&mut rest);
        scene.ended();
        all + &String::from_utf8_lossy(&rest)
    };
    let ended = stopped(": working\n\n");
    assert!(ended.contains("\"id\":1,\"error\":") && ended.contains("the gateway is stopping"), "{ended}");
    assert!(ended.ends_with("\r\n0\r\n\r\n"), "{ended}");
    let broken = stopped("id: 1\ndata: \n\n");
    assert!(!broken.contains("\"id\":1,") && !broken.ends_with("\r\n0\r\n\r\n"), "{broken}");
}

/// Starts a server that never answers, or never ends its stream of events, behind a proxy that waits a moment at the end.
fn never_answering(events: &'static str) -> Scene {
    let never = Arc::new(OneShotFlag::default());
    let limits = connections(|limits| limits.drain_timeout = Duration::from_millis(200));
    Scene::within(limits, move |_, stream| {
        if !events.is_empty() {
            say(stream, format!("{EVENTS}{events}"));
        }
        wait(&never);
    })
}

fn wait(flag: &OneShotFlag) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(flag.wait());
}
