//! Redacts members outside payloads: by their names, in their texts, and in the names themselves.

use portion_core::redact::RedactionRules;
use portion_json::scan::{quote, unescape};

use super::walk::Splice;
use super::strings::{StringPlace, visit_strings};
use super::walk::{self, Member, Sequence};

/// Members of server requests that a model or a person reads.
const TEXT_MEMBERS: [&str; 5] = ["text", "message", "systemPrompt", "title", "description"];

/// Returns the member with redacted values and names; `None` if nothing is redacted.
pub(super) fn redact_member(redact: &RedactionRules, text: &str, member: Member) -> Option<String> {
    let (json, _) = redact.redact_json(&format!("{{{}}}", member.span().slice(text)))?;
    if json.trim() == "{}" {
        // A removed value keeps its name, because the neighbours have commas between them.
        let key = member.key.slice(text);
        let name = redact.redact_name(&unescape(key)).map_or_else(|| key.to_owned(), |name| quote(&name));
        return Some(format!("{name}:null"));
    }
    Some(json[1..json.len() - 1].to_owned())
}

/// Redacts the params of a request to the client: the texts, the metadata, and the defaults of a form. All else stays, because
/// the client must understand it. Returns `None` if nothing changes.
pub(super) fn redact_request(redact: &RedactionRules, params: &str) -> Option<String> {
    let mut splice = Splice::new(params);
    visit_strings(params, |place, value| {
        if let StringPlace::Value(key) = place
            && TEXT_MEMBERS.contains(&key)
            && let Some((replacement, _)) = redact.redact(&unescape(value.slice(params)))
        {
            splice.replace(value, quote(&replacement));
        }
    });
    let members = walk::members(params, walk::document_span(params));
    if let Some(metadata) = walk::find_member(params, &members, "metadata") {
        redact_members(redact, params, &[metadata], &mut splice);
    }
    let form = walk::find_member(params, &members, "requestedSchema");
    let fields = form.and_then(|form| walk::member_value(params, form.value, "properties"));
    for field in fields.map(|fields| walk::members(params, fields)).unwrap_or_default() {
        let keywords = walk::members(params, field.value);
        let is_hidden = |i: usize| {
            let (name, keyword) = (field.key.slice(params), keywords[i]);
            let given = || format!("{{{name}:{}}}", keyword.value.slice(params));
            walk::string_equals(keyword.key.slice(params), "default")
                && redact.redact_json(&given()).is_some()
        };
        if (0..keywords.len()).any(is_hidden) {
            let items = keywords.iter().map(|keyword| keyword.span()).collect();
            splice.edit_sequence(&Sequence { span: field.value, items }, |i| !is_hidden(i), &[]);
        }
    }
    (!splice.is_empty()).then(|| splice.apply())
}

/// Redacts a result that asks the client for something, or is the handle of a task. What the client has to return stays as it
/// is. Returns `None` if nothing changes.
pub(super) fn redact_client_action(redact: &RedactionRules, json: &str) -> Option<String> {
    let mut splice = Splice::new(json);
    let result = walk::document_span(json);
    let mut members = walk::members_except(json, result, &["resultType", "requestState", "taskId", "_meta"]);
    members.retain(|member| match &*unescape(member.key.slice(json)) {
        "inputRequests" => {
            for request in walk::members(json, member.value) {
                let params = walk::member_value(json, request.value, "params");
                let redacted = params.and_then(|params| redact_request(redact, params.slice(json)));
                if let (Some(params), Some(redacted)) = (params, redacted) {
                    splice.replace(params, redacted);
                }
            }
            false
        }
        "task" => {
            let of_task = walk::members_except(json, member.value, &["taskId"]);
            redact_members(redact, json, &of_task, &mut splice);
            false
        }
        _ => true,
    });
    redact_members(redact, json, &members, &mut splice);
    (!splice.is_empty()).then(|| splice.apply())
}

fn redact_members(redact: &RedactionRules, text: &str, members: &[Member], splice: &mut Splice<'_>) {
    for member in members {
        if let Some(redacted) = redact_member(redact, text, *member) {
            splice.replace(member.span(), redacted);
        }
    }
}
