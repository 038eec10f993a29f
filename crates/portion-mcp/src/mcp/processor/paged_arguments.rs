//! Translates the paging arguments of a call between the tool and the gateway.

use std::sync::Arc;

use portion_core::policy::Policy;
use portion_gateway::paged_call::PagingNames;
use portion_json::scan::{quote, unescape};
use portion_policy::pushdown::{PagingStyle, Pushdown};

use super::super::controls::split_controls;
use super::super::parsed_batch::WHOLE_RESULT_KEY;
use super::super::splice::Splice;
use super::super::walk;
use super::paged_calls::CallText;

/// Returns the arguments with the tool's own paging arguments as controls of the gateway.
pub(super) fn translate_arguments(
    place: CallText<'_>,
    pushdown: &Pushdown,
    names: &PagingNames,
    policy: &Policy,
) -> String {
    let CallText { text, arguments, .. } = place;
    let received = walk::members(text, arguments);
    // Pages of a smaller size have other numbers.
    let is_numbered = received.iter().any(|member| {
        let name = unescape(member.key.slice(text));
        let is_own = names.page.as_deref() == Some(name.as_str());
        is_own && matches!(pushdown.style, PagingStyle::Page(..)) || matches!(&*name, "page" | "pages")
    });
    let mut members = Vec::new();
    for member in received {
        let (name, value) = (unescape(member.key.slice(text)), member.value.slice(text));
        let is = |own: &Option<Arc<str>>| own.as_deref() == Some(name.as_str());
        let number = || value.trim_matches('"').parse::<u64>().ok();
        let control = if is(&names.limit) {
            // The tool's own limit may be larger than a page.
            let limit = number().filter(|_| !pushdown.refuses_large_limit && !is_numbered);
            let limit = limit.map(|limit| limit.min(policy.max_page_size as u64).to_string());
            Some(("limit", limit.unwrap_or_else(|| value.to_owned())))
        } else if is(&names.page) {
            match &pushdown.style {
                PagingStyle::Offset(_) => Some(("offset", value.to_owned())),
                PagingStyle::Page(_, start) => {
                    let page = number().and_then(|page| page.checked_add(1)?.checked_sub(*start));
                    Some(("page", page.map_or_else(|| value.to_owned(), |page| page.to_string())))
                }
                PagingStyle::Cursor(_) => Some(("cursor", value.to_owned())),
                PagingStyle::AfterId(_) | PagingStyle::Link(_) => None,
            }
        } else {
            None
        };
        members.push(match control {
            Some((control, value)) => format!("{}:{value}", quote(control)),
            None => format!("{}:{value}", member.key.slice(text)),
        });
    }
    format!("{{{}}}", members.join(","))
}

/// Returns the arguments as received, without the controls that are the gateway's, if they select a page of the tool.
pub(super) fn own_arguments(
    place: CallText<'_>,
    names: &PagingNames,
    ours: &[&str],
    policy: &Policy,
) -> Option<String> {
    let CallText { text, arguments, .. } = place;
    walk::member_value(text, arguments, names.page.as_deref()?)?;
    let own = arguments.slice(text);
    let mut splice = Splice::new(own);
    let is_ours = |name: &str| ours.contains(&name);
    split_controls(&mut splice, own, walk::document_span(own), is_ours, policy).ok()?;
    Some(if splice.is_empty() { own.to_owned() } else { splice.apply() })
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
