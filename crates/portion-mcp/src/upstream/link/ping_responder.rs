//! Answers pings of the client while a person logs in at the server.
//!
//! Requests wait for the login, and a client that gets no response to a ping ends the connection.

use std::sync::Arc;

use tokio::sync::mpsc;

use super::{CHANNEL_CAPACITY, LinkEvent, LinkTransport};
use crate::frame::Frame;
use crate::mcp::ParsedBatch;
use crate::upstream::http::Authorizer;

/// Returns a transport without the pings that are answered here.
pub(super) fn answer_pings(transport: LinkTransport, authorizer: Arc<dyn Authorizer>) -> LinkTransport {
    let LinkTransport { mut outgoing, incoming } = transport;
    let (sender, receiver) = mpsc::channel(CHANNEL_CAPACITY);
    let answers = incoming.clone();
    tokio::spawn(async move {
        while let Some(message) = outgoing.recv().await {
            let answer = authorizer.is_pending().then(|| ping_response(&message)).flatten();
            let is_open = match answer {
                Some(answer) => answers.send(LinkEvent::Frame(Frame::Message(answer))).await.is_ok(),
                None => sender.send(message).await.is_ok(),
            };
            if !is_open {
                return;
            }
        }
    });
    LinkTransport { outgoing: receiver, incoming }
}

/// Returns the response if the message is a ping.
fn ping_response(message: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(message).ok()?;
    let batch = ParsedBatch::parse(text).ok()?;
    let [request] = batch.messages.as_slice() else { return None };
    let is_ping =
        batch.requests().any(|request| &*request.method() == "ping") && !text.trim_start().starts_with('[');
    is_ping.then(|| format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{}}}}"#, request.id()).into_bytes())
}

#[cfg(test)]
mod tests {
    use super::ping_response;

    #[test]
    fn only_pings_are_answered() {
        let check = |message: &str, expect: Option<&str>| {
            let found =
                ping_response(message.as_bytes()).map(|bytes| String::from_utf8(bytes).expect("UTF-8"));
            assert_eq!(found.as_deref(), expect, "{message}");
        };
        check(
            r#"{"jsonrpc":"2.0","id":"a\u0062","method":"ping"}"#,
            Some(r#"{"jsonrpc":"2.0","id":"a\u0062","result":{}}"#),
        );
        check(r#"{"jsonrpc":"2.0","method":"ping"}"#, None);
        check(r#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#, None);
        check(r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, None);
        check(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, None);
        check("ping", None);
    }
}
