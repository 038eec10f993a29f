//! A relay that forwards all messages unchanged: `pass_through [--limit BYTES] CMD ARGS…`.
//!
//! Shows the duties of a message processor. The tests and the benchmark of the relay run this program.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fmt::Display;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use portion_mcp::frame::{DroppedLine, DroppedMessage, Frame};
use portion_mcp::front::StdioFront;
use portion_mcp::message_processor::{MessageProcessor, OutgoingMessage};
use portion_mcp::relay::relay;
use portion_mcp::upstream::stdio::{Child, Program};
use serde::Deserialize;
use serde_json::value::RawValue;

fn main() -> ExitCode {
    run(std::env::args_os().skip(1).collect())
}

pub(crate) fn run(mut args: Vec<OsString>) -> ExitCode {
    let mut limit = 256 << 20;
    if args.first().is_some_and(|first| first == "--limit") && args.len() > 1 {
        limit = args[1].to_str().and_then(|text| text.parse().ok()).unwrap_or(limit);
        args.drain(..2);
    }
    let Some((program, args)) = args.split_first() else {
        eprintln!("usage: pass_through [--limit BYTES] CMD ARGS…");
        return ExitCode::from(2);
    };
    let session = async {
        let front = StdioFront::open(limit).map_err(|error| error.to_string())?;
        let child = Child::spawn(&Program::new(program, args), limit).map_err(|error| error.to_string())?;
        Ok::<_, String>(relay(Arc::new(PassThrough::default()), child, front).await)
    };
    match tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map(|runtime| runtime.block_on(session))
    {
        Ok(Ok(exit)) => exit.into(),
        Ok(Err(error)) => complain(&error),
        Err(error) => complain(&error.to_string()),
    }
}

fn complain(error: &str) -> ExitCode {
    eprintln!("pass_through: {error}");
    ExitCode::from(127)
}

/// Ids of pending requests, as written.
#[derive(Default)]
struct PassThrough(Mutex<HashSet<Box<str>>>);

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<&'a RawValue>,
}

impl PassThrough {
    fn waiting(&self) -> std::sync::MutexGuard<'_, HashSet<Box<str>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MessageProcessor for PassThrough {
    type ClientMessage = Frame;

    fn parse_client_frame(&self, frame: Frame) -> Frame {
        frame
    }

    async fn process_client_message(&self, frame: Frame) -> Vec<OutgoingMessage> {
        match frame {
            Frame::Message(message) => {
                if let Ok(Some(Envelope { id: Some(id), method: Some(_) })) = envelope(&message) {
                    self.waiting().insert(id.get().into());
                }
                vec![OutgoingMessage::ToServer(message)]
            }
            Frame::TooLarge(dropped) => too_large(&dropped, |message| message.has_method),
        }
    }

    async fn process_server_frame(&self, frame: Frame) -> Vec<OutgoingMessage> {
        match frame {
            Frame::Message(message) => match envelope(&message) {
                Ok(envelope) => {
                    if let Some(Envelope { id: Some(id), method: None }) = envelope {
                        self.waiting().remove(id.get());
                    }
                    vec![OutgoingMessage::ToClient(message)]
                }
                Err(error) => {
                    eprintln!("pass_through: the server said something that is not JSON: {error}");
                    Vec::new()
                }
            },
            Frame::TooLarge(dropped) => {
                too_large(&dropped, |message| !message.has_method && self.waiting().remove(&message.id))
            }
        }
    }

    fn on_server_gone(&self, how: &dyn Display) -> Vec<OutgoingMessage> {
        let waiting = std::mem::take(&mut *self.waiting());
        // The server's stderr output follows the first line.
        let how = how.to_string().lines().next().unwrap_or_default().to_owned();
        waiting.iter().map(|id| OutgoingMessage::ToClient(fault(id, &how))).collect()
    }

    fn pending_count(&self) -> usize {
        self.waiting().len()
    }
}

/// Answers the requests of a dropped line, or those that its responses are for.
fn too_large(dropped: &DroppedLine, answers: impl Fn(&DroppedMessage) -> bool) -> Vec<OutgoingMessage> {
    let text = format!("message_too_large: {}", dropped.bytes);
    let answered = dropped.messages.iter().filter(|message| answers(message));
    answered.map(|message| OutgoingMessage::ToClient(fault(&message.id, &text))).collect()
}

/// Returns `None` for a batch or other JSON that is not an object: serde would accept an array as a struct.
fn envelope(message: &[u8]) -> serde_json::Result<Option<Envelope<'_>>> {
    let json: &RawValue = serde_json::from_slice(message)?;
    json.get().starts_with('{').then(|| serde_json::from_str(json.get())).transpose()
}

fn fault(id: &str, message: &str) -> Vec<u8> {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32000,"message":"{message}"}}}}"#).into_bytes()
}
