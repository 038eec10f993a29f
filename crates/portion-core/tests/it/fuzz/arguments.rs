//! Fuzz target: any arguments of a call have a valid reply within the budget, or an error with advice.

use portion_core::policy::Policy;
use portion_core::view::{Request, ViewError, control_named};
use portion_json::containers::read_members;
use portion_json::scan::{quote, unescape};
use portion_json::span::Span;
use portion_tokens::Tokenizer;

use crate::laws::lossless::text_payload;
use crate::laws::session::Session;

/// Follow-ups that are read after a first reply.
const FOLLOW_UPS: usize = 6;
/// Longest error and advice: each is a few sentences, which may list names and quote a value.
const MAX_ERROR_BYTES: usize = 1_500;

/// Input: a line of arguments, then the payload. The arguments are a JSON object, those of a follow-up may be in a second one
/// after a tab.
pub(crate) fn check(input: &[u8]) {
    let Ok(input) = str::from_utf8(input) else { return };
    let (arguments, text) = input.split_once('\n').unwrap_or((input, ""));
    let (first, follow_up) = arguments.split_once('\t').unwrap_or((arguments, "{}"));
    let policy = small_policy();
    let Some(first) = checked(request(first, &policy)) else { return };
    let Some(follow_up) = checked(request(follow_up, &policy)) else { return };
    let session = Session::new(text_payload(text.to_owned()), policy, Tokenizer::Chars4.counter());
    let Some(Some(reply)) = checked(session.call(&first)) else { return };
    for from in [Some(reply.start()), reply.next()].into_iter().flatten() {
        if let Some(reply) = checked(session.read(&reply.view, from, &follow_up)) {
            session.walk_for(reply, FOLLOW_UPS);
        }
    }
    session.walk_for(reply, FOLLOW_UPS);
}

/// Limits that a payload of a few hundred bytes exceeds.
fn small_policy() -> Policy {
    let policy = Policy {
        hard_cap: 900,
        token_budget_threshold: 300,
        reply_target: 300,
        ranked_target: 300,
        full_below: 0,
        summarize_above: 100,
        chunk_above: 100,
        chunk_size: 100,
        ..Policy::default()
    };
    policy.validate().expect("valid limits");
    policy
}

/// Parses arguments as `portion_read` does: members that are no control are left out.
fn request(json: &str, policy: &Policy) -> Result<Request, ViewError> {
    let mut request = Request::default();
    for member in read_members(json, Span::new(0, json.len())).unwrap_or_default() {
        let (name, value) = (unescape(member.key.slice(json)), member.value.slice(json));
        if name == "lines" {
            request.set_lines(&name, value)?;
        } else if let Some(control) = control_named(&name) {
            assert!(request.set_control(control, value, policy)?);
            check_text_form(control, value, policy);
        }
    }
    request.check()?;
    Ok(request)
}

/// A query string has each value as text, and means the same.
fn check_text_form(control: &str, value: &str, policy: &Policy) {
    let is_scalar = !value.starts_with(['{', '[', '"']) && value != "null";
    let set = |json: &str| {
        let mut request = Request::default();
        request.set_control(control, json, policy).map(|_| request)
    };
    if is_scalar {
        assert_eq!(set(&quote(value)), set(value), "{control}={value}");
    }
}

/// Returns a result; `None` for an error, which says what to do, at a length that fits into any reply.
fn checked<T>(result: Result<T, ViewError>) -> Option<T> {
    result
        .inspect_err(|error| {
            let (message, advice) = (error.to_string(), error.advice());
            assert!(!message.is_empty() && !advice.is_empty());
            assert!(message.len() <= MAX_ERROR_BYTES, "{} bytes: {message}", message.len());
            assert!(advice.len() <= MAX_ERROR_BYTES, "{} bytes: {advice}", advice.len());
        })
        .ok()
}
