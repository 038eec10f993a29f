//! Secrets in data of a notation other than JSON: what is hidden in the data as JSON is hidden in the text.

use std::collections::HashSet;
use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind};
use portion_json::scan::{JsonReader, unescape};
use portion_text::notation::{self, FoundData};

use super::RedactionRules;
use super::edit::{Findings, REDACTED, REDACTED_STRING, Replacement, TextEdit, add_name};
use super::json;

/// Shortest value that is looked for in the text, in bytes. Shorter ones stand in other places, too.
const MIN_VALUE_BYTES: usize = 4;
/// Values that are looked for at once.
const MAX_VALUES: usize = 20_000;

/// Returns the strings that an edit of JSON hides whole: one, or the items of an array.
fn strings_of(json: &str, edit: &TextEdit) -> Vec<String> {
    let Range { start, end } = edit.range;
    let is_inside = edit.replacement == REDACTED;
    let quotes = if is_inside { json.get(start.wrapping_sub(1)..=end) } else { None };
    let is_whole = quotes.is_some_and(|quoted| quoted.starts_with('"') && quoted.ends_with('"'));
    if is_inside && !is_whole || json[start..end].contains('{') {
        return Vec::new();
    }
    let (mut at, mut strings) = (start - usize::from(is_inside), Vec::new());
    while let Some(begin) = json[at..end].find('"').map(|offset| at + offset)
        && let Ok(string) = JsonReader::resume(json, begin).skip()
    {
        at = string.end as usize;
        let is_key = json[at..].trim_start().starts_with(':');
        strings.extend((!is_key).then(|| unescape(string.slice(json))));
        at = at.min(end);
    }
    strings
}

/// Finds the secrets in a text that is data of a notation. `strings`: levels of strings that are searched for JSON.
pub(super) fn redact(rules: &RedactionRules, text: &str, strings: usize, found: &mut Findings) {
    // A manifest in braces.
    let is_manifest = || text.trim_start().starts_with(['{', '-']) && text.contains("kind: ");
    let data = notation::read(text).or_else(|| is_manifest().then(|| notation::read_yaml(text)).flatten());
    let Some(FoundData { notation, json, .. }) = data else { return };
    let hidden = json::redact(rules, &json, strings).found;
    let values: HashSet<String> = hidden.edits.iter().flat_map(|edit| strings_of(&json, edit)).collect();
    let values: Vec<String> = values.into_iter().filter(|value| value.len() >= MIN_VALUE_BYTES).collect();
    if !values.is_empty() {
        hidden.names.iter().for_each(|name| add_name(&mut found.names, name));
    }
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    for values in values.chunks(MAX_VALUES) {
        let finder = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(values);
        for value in finder.iter().flat_map(|finder| finder.find_iter(text)) {
            let (before, after) = (&text[..value.start()], &text[value.end()..]);
            let is_coloured = before.strip_suffix('m').is_some_and(|code| {
                code.trim_end_matches(|c: char| c.is_ascii_digit() || c == ';').ends_with("\u{1b}[")
            });
            if before.ends_with(is_word) && !is_coloured || after.starts_with(is_word) {
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
