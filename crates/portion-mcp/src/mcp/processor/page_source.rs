//! Calls a tool again, and reads the payload of its response; translates the paging arguments of a call between the tool and the
//! gateway.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use portion_core::payload::Payload;
use portion_core::policy::Policy;
use portion_core::view::ControlNames;
use portion_gateway::paged_call::{PageError, PageFuture, PageSource, PagedCall, PagingNames};
use portion_json::scan::{JsonKind, quote, unescape};
use portion_policy::pushdown::Pushdown;

use super::internal_calls::UpstreamCaller;
use super::tool_calls::CallText;
use crate::mcp::controls::split_controls;
use crate::mcp::envelope::{MessageOrBatch, decode_line, parse};
use crate::mcp::parsed_batch::WHOLE_RESULT_KEY;
use crate::mcp::result::{ParsedResult, ResultOutline, ResultShape};
use crate::mcp::walk::{self, Splice};

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
fn read_page(line: &[u8]) -> Result<Payload, PageError> {
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

/// Returns true if the response to a call may be worse than that to the caller's own arguments.
pub(super) fn is_worse(call: &PagedCall, response: &Result<Vec<u8>, CallError>) -> bool {
    match response {
        _ if call.is_own() => false,
        // A result that asks the client for something is no page, and no failure.
        Ok(line) => read_page(line).map_or_else(|_| is_error(line), |page| call.is_worse(&page)),
        Err(error) => matches!(error, CallError::TimedOut),
    }
}

/// Returns true if a response is an error, or a result that is one.
pub(super) fn is_error(line: &[u8]) -> bool {
    if let Ok(page) = read_page(line) {
        return page.is_error;
    }
    let (text, _) = decode_line(line);
    matches!(parse(&text), Ok(MessageOrBatch::Single(envelope)) if envelope.error.is_some())
}

/// Returns the arguments with the tool's own paging arguments as controls of the gateway.
pub(super) fn translate_arguments(
    place: CallText<'_>,
    pushdown: &Pushdown,
    names: &PagingNames,
    policy: &Policy,
) -> String {
    let CallText { text, arguments, .. } = place;
    let received = walk::members(text, arguments);
    let is_numbered =
        received.iter().any(|member| names.numbers_pages(&unescape(member.key.slice(text)), pushdown));
    let may_reduce = !is_numbered && !pushdown.refuses_large_limit;
    let max_limit = may_reduce.then_some(policy.max_page_size);
    let mut members = Vec::new();
    for member in received {
        let (name, value) = (unescape(member.key.slice(text)), member.value.slice(text));
        let argument = (&*name, value.trim_matches('"').parse().ok());
        members.push(match names.control_for(argument, pushdown, max_limit) {
            Some((control, Some(number))) => format!("{}:{number}", quote(control)),
            Some((control, None)) => format!("{}:{value}", quote(control)),
            None => format!("{}:{value}", member.key.slice(text)),
        });
    }
    format!("{{{}}}", members.join(","))
}

/// Returns the arguments as received, without the controls that are the gateway's.
pub(super) fn own_arguments(
    place: CallText<'_>,
    (control_names, ours): (&ControlNames, &HashSet<String>),
    policy: &Policy,
) -> String {
    let CallText { text, arguments, .. } = place;
    let own = arguments.slice(text);
    let own = if own.is_empty() { "{}" } else { own };
    let mut splice = Splice::new(own);
    let names_and_ours = (control_names, |name: &str| ours.contains(name));
    // Values that are no controls were refused before.
    let _ = split_controls(&mut splice, own, walk::document_span(own), names_and_ours, policy);
    if splice.is_empty() { own.to_owned() } else { splice.apply() }
}

/// Returns the value of an argument as text; `None` also for `null`.
pub(super) fn text_of_argument(arguments: &str, name: &str) -> Option<String> {
    let value = walk::member_value(arguments, walk::document_span(arguments), name)?.slice(arguments);
    (value != "null").then(|| value.trim_matches('"').to_owned())
}

/// Returns the parameters of the first call: those of the client with other arguments.
pub(super) fn first_params(place: CallText<'_>, arguments: &str) -> String {
    let CallText { text, envelope, .. } = place;
    let members = envelope.params.map(|params| walk::members(text, params)).unwrap_or_default();
    let mut params = Vec::new();
    for member in members {
        let (key, value) = (member.key.slice(text), member.value);
        if walk::string_equals(key, "arguments") {
            continue;
        }
        if walk::string_equals(key, "_meta") {
            let meta = walk::members(text, value);
            let kept = meta.iter().filter(|own| !walk::string_equals(own.key.slice(text), WHOLE_RESULT_KEY));
            let kept: Vec<&str> = kept.map(|own| own.span().slice(text)).collect();
            params.push(format!("{key}:{{{}}}", kept.join(",")));
        } else {
            params.push(format!("{key}:{}", value.slice(text)));
        }
    }
    params.push(format!("\"arguments\":{arguments}"));
    format!("{{{}}}", params.join(","))
}
