//! Calls a tool again, and reads the payload of its response.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use portion_core::payload::Payload;
use portion_gateway::paged_call::{PageError, PageFuture, PageSource};
use portion_json::scan::{JsonKind, quote};

use super::super::envelope::{MessageOrBatch, decode_line, parse};
use super::super::result::{ParsedResult, ResultOutline, ResultShape};
use super::super::walk;
use super::internal_calls::UpstreamCaller;

/// Number of the next call of this process.
static NEXT_CALL: AtomicU64 = AtomicU64::new(0);

/// Reason why a call has no response.
pub(super) enum CallError {
    TimedOut,
    Page(PageError),
}

/// Calls a tool and returns the response as received.
pub(super) async fn call_tool(
    caller: &dyn UpstreamCaller,
    params: &str,
    timeout: Duration,
) -> Result<Vec<u8>, CallError> {
    let id = format!("\"portion:page:{}\"", NEXT_CALL.fetch_add(1, Ordering::Relaxed));
    let request =
        format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{params}}}");
    match tokio::time::timeout(timeout, caller.call(&id, request.into_bytes())).await {
        Ok(response) => response.map_err(CallError::Page),
        Err(_) => Err(CallError::TimedOut),
    }
}

/// Calls tools for further pages.
#[derive(Debug)]
pub(super) struct ToolPageSource {
    pub(super) caller: Arc<dyn UpstreamCaller>,
    /// Members of `_meta`.
    pub(super) meta: String,
    pub(super) timeout: Duration,
}

impl PageSource for ToolPageSource {
    fn fetch_page<'a>(&'a self, tool: &'a str, arguments: &'a str) -> PageFuture<'a> {
        Box::pin(async move {
            let meta =
                if self.meta.is_empty() { String::new() } else { format!(",\"_meta\":{{{}}}", self.meta) };
            let params = format!("{{\"name\":{},\"arguments\":{arguments}{meta}}}", quote(tool));
            let line =
                call_tool(&*self.caller, &params, self.timeout).await.map_err(|error| match error {
                    CallError::TimedOut => PageError::Failed("the server did not respond in time".into()),
                    CallError::Page(error) => error,
                })?;
            read_page(&line)
        })
    }
}

/// Reads the payload of a response.
pub(super) fn read_page(line: &[u8]) -> Result<Payload, PageError> {
    let invalid = || PageError::Failed("the server sent an invalid response".into());
    let (text, invalid_utf8) = decode_line(line);
    let Ok(MessageOrBatch::Single(envelope)) = parse(&text) else { return Err(invalid()) };
    if let Some(error) = envelope.error.filter(|error| walk::kind(&text, *error) != JsonKind::Null) {
        let message = walk::string_member(&text, error, "message");
        return Err(PageError::Failed(message.unwrap_or_else(|| "the server returned an error".into())));
    }
    let result = envelope.result.ok_or_else(invalid)?;
    match ResultOutline::parse(&text, result, ResultShape::Tool, None) {
        ParsedResult::Content(outline) => Ok(outline.payload(invalid_utf8)),
        ParsedResult::ClientAction => {
            Err(PageError::Failed("the server asks the client for something".into()))
        }
        ParsedResult::Unrecognized => Err(invalid()),
    }
}
