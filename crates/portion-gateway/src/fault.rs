//! Faults: errors in place of a portion that programs can handle and models can read.
//!
//! A fault fits a budget like any reply, and contains advice for the next step. It advises to repeat a call
//! only if the endpoint is marked as safe to repeat; otherwise it describes what is known about the call.
//!
//! ```
//! use portion_gateway::fault::Fault;
//!
//! let fault = Fault::client_message_too_large(1_024);
//! assert!(fault.to_json().starts_with(r#"{"error":{"code":"message_too_large","message":"#));
//! ```

use std::borrow::Cow;
use std::sync::Arc;

use portion_core::cursor::{CursorToken, charged};
use portion_core::error_code::ErrorCode;
use portion_core::render::FollowUpCall;
use portion_core::view::ViewError;
use portion_json::scan::quote;
use portion_policy::endpoint::{Endpoint, EndpointKind};
use portion_tokens::TokenCounter;
use serde::Serialize;

/// Largest number of characters of an endpoint's name in a fault.
const MAX_NAME_CHARS: usize = 128;
/// Largest number of characters of the message beside a fault: the last output of a server that has ended fits.
const MAX_SHORT_MESSAGE_CHARS: usize = 2_500;

/// An error, with advice for the next step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Code for programs.
    pub code: ErrorCode,
    /// Description of the problem.
    pub message: String,
    /// Advice for the next step.
    pub advice: String,
    /// Cursor of the snapshot, if there is one: a call that may have side effects need not be repeated.
    pub cursor: Option<CursorToken>,
    /// Call behind an expired cursor, if it is known.
    pub expired_call: Option<Box<ExpiredCall>>,
}

/// A call whose result has expired.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpiredCall {
    /// The called endpoint.
    pub endpoint: Endpoint,
    /// Its arguments, if they are known.
    pub arguments: Option<Arc<str>>,
}

impl From<ViewError> for Fault {
    fn from(error: ViewError) -> Self {
        Self::new(error.code(), error.to_string(), error.advice())
    }
}

impl Fault {
    /// Request that does not fit the result. Over HTTP, where there are no queries, the advice names none.
    pub(crate) fn invalid_view(error: ViewError, read: FollowUpCall<'_>) -> Self {
        let advice = match (&error, read) {
            (ViewError::SortOfPart { .. }, FollowUpCall::Http(_)) => {
                "omit sort, or set a parameter of the API that sorts; a sorted list must be fetched completely: narrow it by \
                 parameters of the API"
            }
            (ViewError::SortOfText(_), FollowUpCall::Http(_)) => "omit sort; use startLine/endLine",
            _ => return error.into(),
        };
        Self::new(error.code(), error.to_string(), advice.to_owned())
    }

    /// Cursor that was not issued, or was issued to another caller or with another key.
    pub fn cursor_invalid(message: impl Into<String>, endpoint: Option<&Endpoint>) -> Self {
        let copy = "copy nextCursor or meta.cursor of an earlier reply exactly";
        let advice = match endpoint.filter(|endpoint| endpoint.is_repeatable()) {
            Some(endpoint) => format!("{copy}, or {} without a cursor", retry_phrase(endpoint)),
            None => copy.to_owned(),
        };
        Self::new(ErrorCode::CursorInvalid, message.into(), advice)
    }

    /// Cursor that differs by a typing error from one that was issued to the same caller.
    pub fn cursor_mistyped(meant: CursorToken) -> Self {
        let message = format!("this cursor was not issued to you; did you mean {meant}?");
        Self::new(ErrorCode::CursorInvalid, message, "call again with that cursor".into())
            .with_cursor(Some(meant))
    }

    /// Cursor whose snapshot is gone. `endpoint`, `arguments`: source of the snapshot, as far as it is known.
    pub fn cursor_expired(endpoint: Option<&Endpoint>, arguments: Option<&Arc<str>>) -> Self {
        let call = |endpoint| match arguments {
            Some(arguments) => format!("{} {arguments}", display_name(endpoint)),
            None => display_name(endpoint),
        };
        let (message, advice) = match endpoint {
            Some(endpoint) if endpoint.is_repeatable() => (
                format!("the result of {} has expired", display_name(endpoint)),
                match arguments {
                    Some(arguments) => {
                        format!("{} with {arguments}, without a cursor", retry_phrase(endpoint))
                    }
                    None => format!("{} without a cursor", retry_phrase(endpoint)),
                },
            ),
            Some(endpoint) => (
                format!("the result of {} has expired", call(endpoint)),
                format!(
                    "calling {} again may repeat its effect; check its outcome with a read-only tool",
                    display_name(endpoint)
                ),
            ),
            None => (
                "the result of this cursor has expired".into(),
                "if the original call only reads, repeat it without a cursor".into(),
            ),
        };
        let expired_call = endpoint.map(|endpoint| {
            Box::new(ExpiredCall { endpoint: endpoint.clone(), arguments: arguments.cloned() })
        });
        Self { expired_call, ..Self::new(ErrorCode::CursorExpired, message, advice) }
    }

    /// Cursor whose snapshot is stored, but whose view is not.
    pub fn view_expired(root: CursorToken, read: FollowUpCall<'_>) -> Self {
        let advice = format!(
            "the result is still stored: use {} with this cursor and the same path, section, fields or sort",
            read.name()
        );
        let message = "the selection of this cursor has expired".into();
        Self { cursor: Some(root), ..Self::new(ErrorCode::CursorExpired, message, advice) }
    }

    /// Query on content for which queries are disabled.
    pub fn query_disabled(endpoint: Option<&Endpoint>, read: FollowUpCall<'_>) -> Self {
        let of = endpoint
            .map_or("this result".into(), |endpoint| format!("the result of {}", display_name(endpoint)));
        let advice = format!("use {}, which accepts limit, fields, path, section and sort", read.name());
        Self::new(ErrorCode::QueryInvalid, format!("queries on {of} are disabled"), advice)
    }

    /// Query that its caller has cancelled.
    pub fn query_cancelled() -> Self {
        let advice = "send the query again if it is still needed".into();
        Self::new(ErrorCode::QueryTooCostly, "the query was cancelled".into(), advice)
    }

    /// Too many queries in one session.
    pub fn too_many_queries(max: usize) -> Self {
        let message = format!("this session already has {max} pending queries");
        Self::new(ErrorCode::QueryTooCostly, message, "retry when some of them finish".into())
    }

    /// Request of the server to its client over `limit` bytes.
    pub fn server_request_too_large(limit: usize) -> Self {
        let message = format!("the request exceeds {limit} bytes; it was not sent to the client");
        Self::new(ErrorCode::MessageTooLarge, message, "send a smaller request".into())
    }

    /// Upstream response over `limit` bytes that cannot be shortened.
    pub fn upstream_too_large(limit: usize, endpoint: Option<&Endpoint>) -> Self {
        let name = endpoint.map_or("the upstream".into(), display_name);
        let message = format!("{name} returned over {limit} bytes that cannot be shortened");
        let advice = "the call may have acted; check its outcome with a read-only tool (operator: raise hardByteLimit)".into();
        Self::new(ErrorCode::MessageTooLarge, message, advice)
    }

    /// Result that does not fit, at an endpoint where such results are refused: its bytes, and the tokens that a reply
    /// may cost. `cursor`: that of the result, if it is stored.
    pub fn oversized(
        (bytes, tokens): (usize, usize),
        endpoint: Option<&Endpoint>,
        cursor: Option<CursorToken>,
        read_call: FollowUpCall<'_>,
    ) -> Self {
        let name = endpoint.map_or("the upstream".into(), display_name);
        let message =
            format!("{name} returned {bytes} bytes, which do not fit in {tokens} tokens (oversized: refuse)");
        let narrower = match endpoint {
            Some(endpoint) if endpoint.is_repeatable() => {
                format!("{} with a filter, a limit or fewer fields", retry_phrase(endpoint))
            }
            _ => "do not repeat the call, which may have acted".to_owned(),
        };
        let advice = match &cursor {
            Some(_) => {
                format!("{narrower}; read the result with {}", read_call.with("cursor, limit, fields"))
            }
            None => narrower,
        };
        Self::new(ErrorCode::ResultTooLarge, message, advice).with_cursor(cursor)
    }

    /// Page after items that the upstream did not return.
    pub fn page_not_reached() -> Self {
        let advice = "ask for an earlier page, or try again".into();
        let message = "the list ends before this page, because the upstream failed or ended early".into();
        Self::new(ErrorCode::PageInvalid, message, advice)
    }

    /// Page for which the upstream fails, whoever asks for it. `error`: what it says.
    pub fn page_failed(error: &str) -> Self {
        let advice = "ask for another page, or try again".into();
        Self::new(ErrorCode::UpstreamInvalid, format!("the server failed for this page: {error}"), advice)
    }

    /// Upstream response that cannot be parsed.
    pub fn upstream_invalid(what: &str) -> Self {
        let advice = "the call may have acted; check its outcome with a read-only tool".into();
        Self::new(ErrorCode::UpstreamInvalid, format!("the server returned {what}"), advice)
    }

    /// The store does not answer.
    pub fn store_unavailable(endpoint: Option<&Endpoint>) -> Self {
        let advice = match endpoint.filter(|endpoint| endpoint.is_repeatable()) {
            Some(endpoint) => {
                format!("retry in a moment, or {} without a cursor", retry_phrase(endpoint))
            }
            None => "retry in a moment".into(),
        };
        Self::new(ErrorCode::StoreUnavailable, "the snapshot store is not available".into(), advice)
    }

    /// Upstream message over `limit` bytes. It was not read; the call may have had side effects.
    pub fn message_too_large(limit: usize, endpoint: Option<&Endpoint>) -> Self {
        let name = endpoint.map_or("the upstream".into(), display_name);
        let message = format!("{name} returned over {limit} bytes, which were not read");
        let advice = match endpoint {
            Some(endpoint) if endpoint.is_repeatable() => {
                format!(
                    "{} with arguments that request less (operator: raise upstreamMessageLimit)",
                    retry_phrase(endpoint)
                )
            }
            Some(_) => "the call may have acted; check its outcome with a read-only tool".into(),
            None => "use arguments that request less (operator: raise upstreamMessageLimit)".into(),
        };
        Self::new(ErrorCode::MessageTooLarge, message, advice)
    }

    /// Client message over `limit` bytes. It was not read, so it had no side effects.
    pub fn client_message_too_large(limit: usize) -> Self {
        let message = format!("the message exceeds {limit} bytes and was not read");
        let advice = "send less (operator: raise clientMessageLimit)".into();
        Self::new(ErrorCode::MessageTooLarge, message, advice)
    }

    /// Internal fault after the upstream has answered. `beginning`: the only part of `bytes` that can be
    /// shown.
    pub(crate) fn capture_failed(bytes: usize, beginning: &str, endpoint: Option<&Endpoint>) -> Self {
        let name = endpoint.map_or("the call".into(), display_name);
        let advice = match endpoint.filter(|endpoint| endpoint.is_repeatable()) {
            Some(endpoint) => format!("{} with arguments that request less", retry_phrase(endpoint)),
            None => {
                format!("{name} has returned and may have acted; check its outcome in another way")
            }
        };
        let message =
            format!("{name} returned {bytes} bytes that could not be indexed; they begin:\n{beginning}");
        Self::new(ErrorCode::Internal, message, advice)
    }

    /// Internal fault with a stored snapshot.
    pub(crate) fn render_failed(cursor: Option<CursorToken>, read: FollowUpCall<'_>) -> Self {
        let advice = if cursor.is_some() {
            format!("use {} with this cursor and raw=true, a path or a line range", read.name())
        } else {
            "request a path, a line range or fewer items".into()
        };
        Self {
            cursor,
            ..Self::new(ErrorCode::Internal, "this part of the reply could not be rendered".into(), advice)
        }
    }

    /// Creates a fault with one line of advice.
    pub fn new(code: ErrorCode, message: String, advice: String) -> Self {
        Self { code, message, advice, cursor: None, expired_call: None }
    }

    /// Adds the cursor of a snapshot.
    #[must_use]
    pub fn with_cursor(self, cursor: Option<CursorToken>) -> Self {
        Self { cursor, ..self }
    }

    /// Fits the fault into `budget` tokens and `bytes`: shortens message and advice, the longer one first.
    /// Code and cursor stay, whatever the budget. It also fits as the data of a JSON-RPC error, beside its short message.
    /// The cursor is charged a constant, so that its random bytes change nothing.
    #[must_use]
    pub fn fit_to_budget(mut self, counter: &dyn TokenCounter, budget: usize, bytes: usize) -> Self {
        loop {
            let longest = self.to_json_rpc_error();
            if longest.len() <= bytes && counter.fits(&charged(&longest, self.cursor.as_slice()), budget) {
                return self;
            }
            let longer =
                if self.message.len() >= self.advice.len() { &mut self.message } else { &mut self.advice };
            if longer.len() <= '…'.len_utf8() {
                return self;
            }
            let end = longer.floor_char_boundary((longer.len() - '…'.len_utf8()) * 3 / 4);
            longer.truncate(end);
            longer.push('…');
        }
    }

    /// Returns the message, shortened if it is long, for an error that has a message beside the fault.
    pub fn short_message(&self) -> Cow<'_, str> {
        shortened(&self.message, MAX_SHORT_MESSAGE_CHARS)
    }

    /// `{"error":{"code":…,"message":…,"advice":…,"cursor":…}}`, compact.
    pub fn to_json(&self) -> String {
        #[derive(Serialize)]
        struct Outer<'a> {
            error: Inner<'a>,
        }
        #[derive(Serialize)]
        struct Inner<'a> {
            code: &'a str,
            message: &'a str,
            advice: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            cursor: Option<&'a str>,
        }
        let cursor = self.cursor.as_ref().map(CursorToken::as_str);
        let error = Inner { code: self.code.name(), message: &self.message, advice: &self.advice, cursor };
        // Serializing strings cannot fail; if it did, the code would still be reported.
        serde_json::to_string(&Outer { error })
            .unwrap_or_else(|_| format!("{{\"error\":{{\"code\":\"{}\"}}}}", self.code.name()))
    }

    /// `{"code":…,"message":…,"data":…}`, the longest form of the fault.
    fn to_json_rpc_error(&self) -> String {
        let (code, message, data) = (self.code.info().json_rpc, quote(&self.short_message()), self.to_json());
        format!("{{\"code\":{code},\"message\":{message},\"data\":{data}}}")
    }
}

/// Returns the endpoint's name for a sentence, shortened.
fn display_name(endpoint: &Endpoint) -> String {
    shortened(&endpoint.name, MAX_NAME_CHARS).into_owned()
}

/// Returns the beginning of a text that has more characters than these.
fn shortened(text: &str, max_chars: usize) -> Cow<'_, str> {
    match text.char_indices().nth(max_chars) {
        Some((end, _)) => format!("{}…", &text[..end]).into(),
        None => text.into(),
    }
}

/// Returns a phrase with the way to repeat a call.
fn retry_phrase(endpoint: &Endpoint) -> String {
    let name = display_name(endpoint);
    match endpoint.kind {
        EndpointKind::Tool => format!("call {name} again"),
        EndpointKind::Resource => format!("read resource {name} again"),
        EndpointKind::Prompt => format!("get prompt {name} again"),
    }
}

#[cfg(test)]
mod tests {
    use portion_core::cursor::{CursorTarget, Keyring, Position, Scope};
    use portion_core::error_code::ErrorCode;
    use portion_tokens::Tokenizer;

    use super::{Fault, MAX_SHORT_MESSAGE_CHARS};

    #[test]
    fn a_fault_fits_with_its_message_beside_it() {
        let counter = Tokenizer::Auto.counter();
        for (message, advice) in
            [("qx%zz!".repeat(5_000), "\u{1}é".repeat(50)), ("no".to_owned(), "qx%zz!".repeat(900))]
        {
            for (budget, bytes) in [(300, 1 << 20), (4_000, 1 << 20), (4_000, 2_000)] {
                let fault = Fault::new(ErrorCode::FieldUnknown, message.clone(), advice.clone());
                let error = fault.fit_to_budget(counter, budget, bytes).to_json_rpc_error();
                assert!(counter.count(&error) <= budget && error.len() <= bytes, "{error}");
            }
        }
    }

    #[test]
    fn the_message_beside_a_fault_is_whole_unless_it_is_long() {
        let beside = |message: String| {
            Fault::new(ErrorCode::UpstreamGone, message, String::new()).short_message().into_owned()
        };
        assert_eq!(beside("it has ended".to_owned()), "it has ended");
        let all = "é".repeat(MAX_SHORT_MESSAGE_CHARS);
        assert_eq!(beside(all.clone()), all);
        assert_eq!(beside(format!("{all}é")), format!("{all}…"));
    }

    #[test]
    fn no_byte_of_a_cursor_changes_a_fault() {
        let fault = |chance: u8, budget: usize| {
            let pointer = CursorTarget { snapshot: [chance; 6], view: [7; 5], position: Position::default() };
            let cursor = Keyring::new(&[chance; 32]).sign(&pointer, &Scope::from_principal("caller"));
            let fault = Fault::render_failed(Some(cursor), "portion_read".into());
            fault.fit_to_budget(Tokenizer::Auto.counter(), budget, 4_096)
        };
        for budget in 110..190 {
            let expect = fault(0, budget);
            for chance in 1..20 {
                let Fault { message, advice, .. } = fault(chance, budget);
                assert_eq!((message, advice), (expect.message.clone(), expect.advice.clone()), "{budget}");
            }
        }
    }
}
