//! Tests of links to servers over HTTP, with a scripted server that writes raw bytes.
#![cfg(target_os = "linux")]

mod ends;
mod failures;
mod server;
mod sessions;
mod sse;
mod streams;

use std::time::Duration;

use portion_mcp::frame::Frame;
use portion_mcp::upstream::http::HttpClient;
use portion_mcp::upstream::link::remote::RemoteConnector;
use portion_mcp::upstream::link::{Link, LinkEvent};
use portion_policy::upstream::Transport;
use portion_policy::upstream::UpstreamTarget;
use tokio::task::JoinHandle;

/// Largest message, in bytes.
const LIMIT: usize = 64 << 10;
/// Far longer than any step takes, even on a busy machine: reaching it means a hang.
const HANG: Duration = Duration::from_mins(1);

const HELLO: &str =
    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}"#;
const BEGUN: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// Client side of a link.
struct Peer {
    link: Link,
    carried: JoinHandle<()>,
}

impl Peer {
    async fn to(url: &str, transport: Transport) -> Self {
        Self::with(url, transport, &[]).await.expect("a link")
    }

    async fn with(url: &str, transport: Transport, headers: &[&str]) -> Result<Self, String> {
        let mut target = UpstreamTarget::new(url).expect("a URL");
        for header in headers {
            target = target.with_header(header).expect("a header");
        }
        let client = HttpClient::new(false).expect("no TLS");
        let remote = RemoteConnector { target, client, message_limit: LIMIT, transport, authorizer: None };
        let (link, carried) = remote.connect_with_task().await.map_err(|error| error.to_string())?;
        Ok(Self { link, carried })
    }

    /// Connects and begins a session.
    async fn begun(url: &str) -> Self {
        let mut peer = Self::to(url, Transport::Http).await;
        peer.say(HELLO).await;
        assert!(peer.hear().await.contains("protocolVersion"));
        peer.say(BEGUN).await;
        peer
    }

    async fn say(&self, message: &str) {
        self.link.outbox.send(message.as_bytes().to_vec()).await.expect("the link lives");
    }

    async fn next(&mut self) -> Option<LinkEvent> {
        tokio::time::timeout(HANG, self.link.inbox.next()).await.expect("hangs")
    }

    async fn hear(&mut self) -> String {
        match self.next().await {
            Some(LinkEvent::Frame(Frame::Message(message))) => String::from_utf8(message).expect("UTF-8"),
            other => panic!("{other:?} instead of a message"),
        }
    }

    /// Closes the link; returns the remaining events after the session has ended.
    async fn leave(self) -> Vec<LinkEvent> {
        let Self { link: Link { outbox, mut inbox }, carried } = self;
        drop(outbox);
        let mut events = Vec::new();
        while let Some(event) = tokio::time::timeout(HANG, inbox.next()).await.expect("hangs") {
            events.push(event);
        }
        carried.await.expect("no panic");
        events
    }
}

fn call(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"t"}}}}"#)
}

fn result(id: &str, value: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{value}}}"#)
}

fn modern(id: u32, method: &str, params: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{params}"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}}}}"#
    )
}
