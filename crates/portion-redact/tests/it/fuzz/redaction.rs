//! Fuzz target: redaction of any text. JSON stays JSON, no value under the name of a secret is left, all other bytes stay in
//! place, and a second pass changes nothing.

use portion_json::scan::quote;
use portion_redact::{REDACTED, RedactionRules};
use serde_json::Value;
use serde_json::value::RawValue;

/// A value that must not be shown. No input contains it.
const SECRET: &str = "Zq8hunter2";

/// Input: the text. A first line `rules: …` has other rules than those for secrets.
pub(crate) fn check(input: &[u8]) {
    let Ok(input) = str::from_utf8(input) else { return };
    if input.contains(SECRET) {
        return;
    }
    let rules = |line: &str| RedactionRules::parse(line.strip_prefix("rules:")?).ok();
    let given = input.split_once('\n').and_then(|(line, text)| Some((rules(line)?, text)));
    let is_given = given.is_some();
    let (rules, text) = given.unwrap_or((RedactionRules::default_secrets(), input));
    let shown = redacted(&rules, text);
    if is_json(text) {
        assert!(is_json(&shown), "no JSON is left: {shown}");
    }
    if !is_given {
        if let Ok(value) = serde_json::from_str(&shown) {
            assert_hidden(&value);
        }
        check_planted(&rules, text);
    }
}

/// Redacts a text, and checks what holds for any rules.
fn redacted(rules: &RedactionRules, text: &str) -> String {
    let shown = once_redacted(rules, text);
    let again = once_redacted(rules, &shown);
    // A marker without quotes is an array in faulty JSON, and a marker in a name makes it another name.
    let compact: String = shown.split_whitespace().collect();
    let is_renamed = compact.contains("[redacted]\":") || text.contains("--");
    let is_well_formed = is_json(text) && !text.contains('\\') && !is_renamed;
    assert!(!is_well_formed || again == shown, "{shown:?} is redacted again: {again:?}");
    shown
}

fn once_redacted(rules: &RedactionRules, text: &str) -> String {
    let Some((shown, names)) = rules.redact(text) else { return text.to_owned() };
    assert!(!names.is_empty(), "hidden without a name: {shown}");
    // A string with escapes, or with control characters in faulty JSON, is written again if a part of it is hidden.
    let may_be_rewritten = text.contains('\\') || !is_json(text) && text.contains(['{', '[', '"']);
    assert!(
        may_be_rewritten || is_subsequence(&plain(&shown), &plain(text)),
        "bytes are added or moved: {shown:?} of {text:?}"
    );
    shown
}

/// Returns a text without markers, quotes, escapes and closing brackets: a string that is cut off gets its end, and a value
/// that is a marker may keep the bracket of it. Cells of tables are replaced by `null` where a string would be no cell of its
/// column.
fn plain(text: &str) -> String {
    text.replace(REDACTED, "").replace("null", "").replace(['\\', '"', '\'', ']'], "")
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<&RawValue>(text).is_ok()
}

/// Returns true if a text is another one without some of its bytes.
fn is_subsequence(part: &str, whole: &str) -> bool {
    let mut rest = whole.bytes();
    part.bytes().all(|byte| rest.any(|other| other == byte))
}

/// Checks that no member named `password` has a string or a number. Those in a list of names are names.
fn assert_hidden(value: &Value) {
    match value {
        Value::Array(items) => items.iter().for_each(assert_hidden),
        Value::Object(members) => {
            for (key, value) in members {
                let is_hidden = match value {
                    Value::String(text) => text.is_empty() || text == REDACTED,
                    value => !value.is_number(),
                };
                assert!(key != "password" || is_hidden, "{value}");
                assert_hidden(value);
            }
        }
        _ => {}
    }
}

/// Checks that a secret after any text, and beside any JSON, is hidden.
fn check_planted(rules: &RedactionRules, text: &str) {
    let line = format!("{text}\npassword={SECRET}\n");
    let mut planted = vec![format!("{{\"log\":{}}}", quote(&line)), line];
    if is_json(text) {
        planted.push(format!("{{\"a\":{text},\"password\":\"{SECRET}\"}}"));
        planted.push(format!("[{{\"password\":\"{SECRET}\",\"a\":{text}}}]"));
    }
    for text in planted {
        let shown = rules.redact(&text).map_or(text, |(shown, _)| shown);
        assert!(!shown.contains(SECRET), "{shown:?}");
    }
}
