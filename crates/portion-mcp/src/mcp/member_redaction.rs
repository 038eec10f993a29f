//! Redacts members outside payloads: by their names, in their texts, and in the names themselves.

use portion_core::redact::RedactionRules;
use portion_json::scan::{quote, unescape};

use super::splice::Splice;
use super::strings::{StringPlace, visit_strings};
use super::walk::Member;

/// Longest name of letters, digits, `_` and `-` only, quotes included, that can contain no secret.
const MAX_PLAIN_NAME_BYTES: usize = 18;
/// Members of server requests that a model or a person reads.
const TEXT_MEMBERS: [&str; 5] = ["text", "message", "systemPrompt", "title", "description"];

/// Returns the member with redacted values and names; `None` if nothing is redacted.
pub(super) fn redact_member(redact: &RedactionRules, text: &str, member: Member) -> Option<String> {
    let json = format!("{{{}}}", member.span().slice(text));
    let by_name = redact.redact_json(&json).map(|(json, _)| json);
    if by_name.as_deref().is_some_and(|json| json.trim() == "{}") {
        // A removed value keeps its name, because the neighbours have commas between them.
        let key = member.key.slice(text);
        return Some(format!("{}:null", redact_name(redact, key).as_deref().unwrap_or(key)));
    }
    let in_texts = redact_names_and_strings(redact, by_name.as_deref().unwrap_or(&json));
    let json = in_texts.or(by_name)?;
    Some(json[1..json.len() - 1].to_owned())
}

/// Redacts the strings and the names of a JSON text; `None` if nothing changes.
fn redact_names_and_strings(redact: &RedactionRules, json: &str) -> Option<String> {
    let mut splice = Splice::new(json);
    visit_strings(json, |place, value| {
        let replacement = match place {
            StringPlace::Name => redact_name(redact, value.slice(json)),
            StringPlace::Value(_) => {
                redact.redact(&unescape(value.slice(json))).map(|(replacement, _)| quote(&replacement))
            }
        };
        if let Some(replacement) = replacement {
            splice.replace(value, replacement);
        }
    });
    (!splice.is_empty()).then(|| splice.apply())
}

/// Redacts the names of the members of a JSON text, at any depth; `None` if nothing changes.
pub(super) fn redact_names(redact: &RedactionRules, json: &str) -> Option<String> {
    let mut splice = Splice::new(json);
    visit_strings(json, |place, value| {
        if matches!(place, StringPlace::Name)
            && let Some(replacement) = redact_name(redact, value.slice(json))
        {
            splice.replace(value, replacement);
        }
    });
    (!splice.is_empty()).then(|| splice.apply())
}

/// Redacts the name of a member, quotes included, as a text; `None` if nothing changes.
pub(super) fn redact_name(redact: &RedactionRules, quoted: &str) -> Option<String> {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'"');
    if quoted.len() <= MAX_PLAIN_NAME_BYTES && quoted.bytes().all(is_word) {
        return None;
    }
    redact.redact(&unescape(quoted)).map(|(replacement, _)| quote(&replacement))
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

#[cfg(test)]
mod tests {
    use portion_core::redact::RedactionRules;

    use super::redact_names;

    #[test]
    fn names_are_redacted_as_texts() {
        let redact = RedactionRules::default_secrets();
        let names = |json: &str| redact_names(&redact, json);
        assert_eq!(names(r#"{"password":"x","api_token":1,"token":{"a":[]}}"#), None);
        assert_eq!(
            names(r#"[{"password=hunter2":"password=y"}]"#).as_deref(),
            Some(r#"[{"password=[redacted]":"password=y"}]"#)
        );
    }
}
