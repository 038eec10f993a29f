//! Translates the paging arguments of a call between the tool and the gateway.

use std::collections::HashSet;

use portion_core::policy::Policy;
use portion_core::view::ControlNames;
use portion_gateway::paged_call::PagingNames;
use portion_json::scan::{quote, unescape};
use portion_policy::pushdown::Pushdown;

use super::super::controls::split_controls;
use super::super::parsed_batch::WHOLE_RESULT_KEY;
use super::super::splice::Splice;
use super::super::walk;
use super::tool_calls::CallText;

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
