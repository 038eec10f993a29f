//! Messages that neither the client nor the server wrote.

use std::fmt::Display;
use std::time::Duration;

use portion_core::scan::quote;

use super::super::code::{INTERNAL, INVALID_PARAMS};
use super::super::result;
use super::pending::Asked;
use crate::call::{Fault, Reply};

/// MCP before 2026-07-28: there is no resource of that URI. Since then a parameter is wrong.
const NOT_FOUND: i32 = -32002;

/// The answer with this result, JSON.
pub(super) fn result(id: &str, result: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}")
}

/// The answer with an error.
pub(super) fn error(id: &str, code: i32, message: &str, data: Option<&str>) -> String {
    let data = data.map(|data| format!(",\"data\":{data}")).unwrap_or_default();
    let message = quote(message);
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{{\"code\":{code},\"message\":{message}{data}}}}}")
}

/// The answer with a fault, where no tool was called.
pub(super) fn fault(id: &str, fault: &Fault) -> String {
    let ours = [
        "store_unavailable",
        "message_too_large",
        "internal",
        "upstream_gone",
        "upstream_invalid",
        "upstream_timeout",
    ];
    let code = if ours.contains(&fault.code) { INTERNAL } else { INVALID_PARAMS };
    error(id, code, &fault.message, Some(&fault.to_json()))
}

/// The answer with a fault, in the form that whoever asked expects.
pub(super) fn refusal(asked: &Asked, reason: &Fault) -> String {
    if asked.what.is_tool() {
        result(&asked.id, &result::fault(reason, asked.modern))
    } else {
        fault(&asked.id, reason)
    }
}

/// The answer of a tool with a reply that no upstream has a part in.
pub(super) fn called(id: &str, reply: &Reply, structured: bool, modern: bool) -> String {
    let text = match reply {
        Reply::Portion(portion) => result::read_tool(portion, structured, modern),
        Reply::Fault(reason) => result::fault(reason, modern),
        Reply::Untouched => result::fault(&nothing(), modern),
    };
    result(id, &text)
}

/// The answer of a tool of ours that says this, whole.
pub(super) fn said(id: &str, text: &str, modern: bool) -> String {
    result(id, &result::text(text, modern))
}

/// The answer of `resources/read` with a reply that no upstream has a part in.
pub(super) fn read(id: &str, reply: &Reply, modern: bool) -> String {
    match reply {
        Reply::Portion(portion) => result(id, &result::read_contents(portion, modern)),
        Reply::Fault(reason) if !modern && reason.code.starts_with("cursor_") => {
            error(id, NOT_FOUND, &reason.message, Some(&reason.to_json()))
        }
        Reply::Fault(reason) => fault(id, reason),
        Reply::Untouched => fault(id, &nothing()),
    }
}

/// What is said of a request that the server will not answer any more.
pub(super) fn gone(how: &dyn Display) -> Fault {
    let advice =
        "the call may have acted; once the server answers again, look for its outcome before you call again"
            .into();
    // What the server wrote last stands below the sentence.
    let how = how.to_string();
    let (sentence, rest) = how.split_at(how.find('\n').unwrap_or(how.len()));
    Fault::new("upstream_gone", format!("{sentence} before it answered{rest}"), advice)
}

/// What is said of a request that has not come to the server.
pub(super) fn unreached(why: &dyn Display) -> Fault {
    let advice = "the call has not come to the server; see that it runs, then call again".into();
    Fault::new("upstream_gone", why.to_string(), advice)
}

/// What is said of a request that the server has not answered in time.
pub(super) fn timed_out(after: Duration) -> Fault {
    let message = format!("the server did not answer within {} s (requestTimeout)", after.as_secs());
    let advice =
        "the call may have acted; look for its outcome before you call again, or have requestTimeout \
                  raised for calls that take longer"
            .into();
    Fault::new("upstream_timeout", message, advice)
}

/// What is said of a call that was not sent, for the server has not listed its tools in time.
pub(super) fn not_sent(after: Duration) -> Fault {
    let message = format!("the server did not list its tools within {} s (requestTimeout)", after.as_secs());
    let advice =
        "the call was not sent to the server; see that it runs, then call again, or call without the \
         arguments limit, cursor and fields"
            .into();
    Fault::new("upstream_timeout", message, advice)
}

/// What the server is told of a request that nobody waits for any more.
pub(super) fn cancelled(id: &str) -> String {
    let params = format!("{{\"requestId\":{id},\"reason\":\"no answer within requestTimeout\"}}");
    format!("{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{params}}}")
}

/// A gateway has nothing to leave untouched where no upstream was asked.
fn nothing() -> Fault {
    let advice = "call the tool again without a cursor".into();
    Fault::new("internal", "there is nothing to show".into(), advice)
}
