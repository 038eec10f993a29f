//! Tests of the end of a session between a client on stdio and a server behind a link.

use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Read, Write, pipe};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use portion_core::cursor::Scope;
use portion_core::policy::Policy;
use portion_gateway::effective_policy::EffectivePolicy;
use portion_gateway::gateway::Gateway;
use portion_gateway::gateway_parts::GatewayParts;
use portion_gateway::rules::EndpointRules;
use portion_gateway::session::ClientSession;
use portion_gateway::store::{MemoryStore, StoreLimits};
use portion_mcp::frame::FrameReader;
use portion_mcp::front::{ShutdownDeadline, ShutdownSignals, StdioFront};
use portion_mcp::mcp::McpProcessorFactory;
use portion_mcp::relay::{RelayOutcome, relay_link};
use portion_mcp::upstream::http::HttpClient;
use portion_mcp::upstream::link::remote::RemoteConnector;
use portion_policy::endpoint::ListingOptions;
use portion_policy::upstream::{Transport, UpstreamTarget};
use portion_tokens::Tokenizer;

use super::server::{Server, session};
use super::{BEGUN, HELLO, LIMIT, call, result};
use crate::waiting::wait_until;

/// Starts a session on a thread of its own; returns the client's pipes.
fn run(url: String) -> (PipeWriter, BufReader<PipeReader>, JoinHandle<RelayOutcome>) {
    let (input, client_stdin) = pipe().expect("a pipe");
    let (client_stdout, output) = pipe().expect("a pipe");
    let session = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let limits = StoreLimits { memory_bytes: 1 << 20, ttl: std::time::Duration::from_mins(1) };
        let store = Arc::new(MemoryStore::new(limits));
        let rules =
            EndpointRules::fixed(EffectivePolicy::new(Policy::default(), Tokenizer::Chars4.counter(), None));
        let parts = GatewayParts::new(rules, store, [7; 32]);
        let gateway = Arc::new(Gateway::new(parts));
        let processor = Arc::new(
            McpProcessorFactory::new(gateway, ListingOptions::default(), LIMIT)
                .new_processor(Scope::from_principal("test"), ClientSession::new_unique()),
        );
        let exit = runtime.block_on(async {
            let input: Box<dyn Read + Send> = Box::new(input);
            let front = StdioFront {
                input: FrameReader::new(input, LIMIT),
                output: Box::new(output),
                signals: ShutdownSignals::listen().expect("handlers"),
                shutdown_deadline: ShutdownDeadline::default(),
            };
            let target = UpstreamTarget::new(&url).expect("a URL");
            let client = HttpClient::new(false).expect("no TLS");
            let remote = RemoteConnector {
                target,
                client,
                message_limit: LIMIT,
                transport: Transport::Auto,
                authorizer: None,
            };
            let (link, link_task) = remote.connect_with_task().await.expect("a link");
            relay_link(processor, link, link_task, front).await
        });
        runtime.shutdown_background();
        exit
    });
    (client_stdin, BufReader::new(client_stdout), session)
}

#[test]
fn the_end_of_the_client_waits_for_responses_and_ends_the_session() {
    let left = Arc::new(AtomicBool::new(false));
    let has_left = Arc::clone(&left);
    let server = Server::new(move |asked, _, reply| {
        if !session(asked, reply, "s") {
            wait_until("the client leaves", || has_left.load(Ordering::Acquire));
            reply.json(&result("1", "{\"content\":[]}"));
        }
    });
    let (mut client, output, session) = run(server.url("/mcp"));
    for message in [HELLO, BEGUN, &call("1")] {
        client.write_all(format!("{message}\n").as_bytes()).expect("it reads");
    }
    drop(client);
    left.store(true, Ordering::Release);
    let lines: Vec<String> = output.lines().map(|line| line.expect("UTF-8")).collect();
    assert_eq!(lines[1..], [result("1", "{\"content\":[]}")]);
    assert_eq!(session.join().expect("no panic").code, 0);
    assert_eq!(server.lines().last().map(String::as_str), Some("DELETE /mcp"));
}

#[test]
fn the_end_of_the_server_ends_the_session() {
    let server = Server::new(|asked, _, reply| {
        if asked.line == "GET /sse" {
            reply.stream();
            reply.raw("event: endpoint\ndata: /post\n\n");
            // Gives the call time to arrive.
            reply.closed_or(std::time::Duration::from_millis(700));
            reply.end();
        } else {
            reply.whole("202 Accepted", "");
        }
    });
    let (mut client, output, session) = run(server.url("/sse"));
    client.write_all(format!("{HELLO}\n").as_bytes()).expect("it reads");
    let lines: Vec<String> = output.lines().map(|line| line.expect("UTF-8")).collect();
    assert!(lines.len() == 1 && lines[0].contains("\"id\":0"), "{lines:?}");
    assert!(lines[0].contains("has closed its event stream before it responded"), "{lines:?}");
    assert_eq!(session.join().expect("no panic").code, 1);
    drop(client);
}

#[test]
fn messages_of_a_client_that_does_not_read_are_processed() {
    let flood = format!("{{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":\"{}\"}}", "x".repeat(30_000));
    let server = Server::new(move |asked, _, reply| {
        if asked.line == "GET /mcp" {
            reply.stream();
            (0..200).for_each(|_| reply.event(&flood));
            reply.closed();
        } else if !session(asked, reply, "s") {
            reply.whole("202 Accepted", "");
        }
    });
    let (mut client, mut output, session) = run(server.url("/mcp"));
    client.write_all(format!("{HELLO}\n{BEGUN}\n").as_bytes()).expect("it reads");
    let mut line = String::new();
    output.read_line(&mut line).expect("UTF-8");
    let last = r#"{"jsonrpc":"2.0","method":"notifications/last"}"#;
    client.write_all(format!("{last}\n").as_bytes()).expect("it reads");
    wait_until("the last message arrives", || server.asked().iter().any(|asked| asked.body == last));
    drop(client);
    // The client has left, because it has closed our stdout.
    drop(output);
    assert_eq!(session.join().expect("no panic").code, 0);
}
