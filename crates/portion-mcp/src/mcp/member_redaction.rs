//! Redacts members outside payloads: by their names, in their texts, and in the names themselves.

use portion_core::redact::RedactionRules;
use portion_json::scan::{quote, unescape};

use super::splice::Splice;
use super::strings::{StringPlace, visit_strings};
use super::walk::Member;

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

/// Redacts strings of the members that `which` selects; `None` if nothing changes.
pub(super) fn redact_strings(
    redact: &RedactionRules,
    json: &str,
    which: impl Fn(&str) -> bool,
) -> Option<String> {
    let mut splice = Splice::new(json);
    visit_strings(json, |place, value| {
        if let StringPlace::Value(key) = place
            && which(key)
            && let Some((replacement, _)) = redact.redact(&unescape(value.slice(json)))
        {
            splice.replace(value, quote(&replacement));
        }
    });
    (!splice.is_empty()).then(|| splice.apply())
}

/// Returns true if a model or a person reads this member of a server request.
pub(super) fn is_text_member(key: &str) -> bool {
    TEXT_MEMBERS.contains(&key)
}
