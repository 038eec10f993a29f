//! Secrets in data of a notation other than JSON: what is hidden in the data as JSON is hidden in the text.

use std::collections::HashSet;
use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind};
use portion_json::scan::unescape;
use portion_text::notation::{self, FoundData};

use super::RedactionRules;
use super::edit::{Findings, REDACTED, REDACTED_STRING, Replacement, TextEdit, add_name};
use super::json;

/// Shortest value that is looked for in the text, in bytes. Shorter ones stand in other places, too.
const MIN_VALUE_BYTES: usize = 4;
/// Values that are looked for at once.
const MAX_VALUES: usize = 20_000;

/// Finds the secrets in a text that is data of a notation. `strings`: levels of strings that are searched for JSON.
pub(super) fn redact(rules: &RedactionRules, text: &str, strings: usize, found: &mut Findings) {
    let Some(FoundData { notation, json, .. }) = notation::read(text) else { return };
    let hidden = json::redact(rules, &json, strings).found;
    let whole_string = |edit: &TextEdit| {
        let Range { start, end } = edit.range;
        let quoted = if edit.replacement == REDACTED {
            json.get(start.checked_sub(1)?..end + 1)?
        } else {
            &json[start..end]
        };
        (quoted.starts_with('"') && quoted.ends_with('"')).then(|| unescape(quoted))
    };
    let values: HashSet<String> = hidden.edits.iter().filter_map(whole_string).collect();
    let values: Vec<String> = values.into_iter().filter(|value| value.len() >= MIN_VALUE_BYTES).collect();
    if !values.is_empty() {
        hidden.names.iter().for_each(|name| add_name(&mut found.names, name));
    }
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    for values in values.chunks(MAX_VALUES) {
        let finder = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(values);
        for value in finder.iter().flat_map(|finder| finder.find_iter(text)) {
            let (before, after) = (&text[..value.start()], &text[value.end()..]);
            if before.ends_with(is_word) || after.starts_with(is_word) {
                continue;
            }
            // Without quotes, YAML reads brackets as a list.
            let is_plain = notation == "YAML" && !before.ends_with(['"', '\'']);
            let replacement: Replacement = match notation {
                "a table of a terminal" => format!("{REDACTED:width$}", width = value.len()).into(),
                _ if is_plain => REDACTED_STRING.into(),
                _ => REDACTED.into(),
            };
            found.edits.push(TextEdit { range: value.range(), replacement });
        }
    }
}
