//! Hides the data of Kubernetes secrets in the lines of YAML: the values below `data` and `stringData` beside `kind: Secret`.
//!
//! It also reads what is cut off. The same in JSON is in [`json`](super::json). Format:
//! <https://kubernetes.io/docs/concepts/configuration/secret/>.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::Findings;
use super::edit::{REDACTED, REDACTED_STRING};
use super::pattern::regex;
use super::text_value::closing_end;

/// A line that names the kind: what stands before it, and the end of the kind of a list, whose items have none.
static KIND: LazyLock<Regex> = LazyLock::new(|| {
    regex(r#"(?m)^([ \-]*)["']?kind["']?\s*:\s*["']?Secret(List)?["']?(?:[ \t]+#.*|[ \t\r]*)$"#)
});
/// A member in braces: its key, and its value with one of two quotes or without.
static MEMBER: LazyLock<Regex> = LazyLock::new(|| {
    let (double, single) = (r#""((?:[^"\\]|\\.)*)""#, "'((?:[^']|'')*)'");
    regex(&format!(
        r#"[{{,]\s*("[^"]*"|'(?:[^']|'')*'|[^:,{{}}"']+)\s*:\s*(?:{double}|{single}|([^,}}"'\s][^,}}\n]*))"#
    ))
});
/// Values that are no secrets.
const NULLS: [&str; 5] = ["", "null", "~", REDACTED, REDACTED_STRING];

/// Returns true for a member of a secret whose values are secret.
pub(super) fn is_data_key(key: &str) -> bool {
    matches!(key, "data" | "stringData")
}

/// Hides the data of the secrets in a text. The work is proportional to the text.
pub(super) fn redact(text: &str, found: &mut Findings) {
    let mut done = 0;
    for kind in KIND.captures_iter(text) {
        let (lead, at) = (&kind[1], kind.get(0).map_or(0, |kind| kind.start()));
        if at < done {
            continue;
        }
        let is_outside = |line: &str| {
            line.starts_with("---")
                || !line.trim_start().starts_with('#')
                    && !line.trim().is_empty()
                    && indent_of(line) < lead.len()
        };
        let begins_item = |line: &str| indent_of(line) == lead.len() && line[..lead.len()].contains('-');
        let (mut start, mut is_first) = (at, lead.contains('-'));
        for line in text[done..at].split_inclusive('\n').rev() {
            if is_first || is_outside(line) {
                break;
            }
            start -= line.len();
            is_first = begins_item(line);
        }
        let below = text[at..].split_inclusive('\n').enumerate();
        let own =
            below.take_while(|(line_at, line)| *line_at == 0 || !is_outside(line) && !begins_item(line));
        done = at + own.map(|(_, line)| line.len()).sum::<usize>();
        redact_mapping(text, start..done, kind.get(2).is_none().then_some(lead.len()), found);
    }
}

/// Hides the data in the lines of a mapping. `indent`: where the keys of the data stand, if not anywhere.
fn redact_mapping(text: &str, lines: Range<usize>, indent: Option<usize>, found: &mut Findings) {
    // The indentation of the data that is being read, and of its members.
    let (mut data, mut members, mut name) = (None, None, "");
    let (mut end, mut read_until) = (lines.start, lines.start);
    for line in text[lines].split_inclusive('\n') {
        end += line.len();
        let (own, line_end) = (indent_of(line), end - (line.len() - line.trim_end().len()));
        let content = line[own.min(line.trim_end().len())..].trim_end();
        let is_inside = data.is_some_and(|outer| own > outer);
        let is_comment = content.starts_with('#');
        if content.is_empty() || line_end <= read_until || is_comment && !is_inside {
            continue;
        }
        let (key, value) = content.split_once(':').unwrap_or((content, ""));
        let value = value.trim();
        if is_inside {
            let is_member = members.is_none_or(|first| own <= first);
            if is_member && !is_comment {
                (members, name) = (Some(own), key.trim_matches(['"', '\'']));
            }
            // The lines of a block after `key: |` have no key of their own.
            let value = if is_member { value } else { content };
            let range = line_end - value.len()..line_end;
            if !(is_member && value.starts_with(['|', '>'])) {
                hide(text, name, range, found);
            }
            continue;
        }
        data = (is_data_key(key.trim_matches(['"', '\''])) && indent.is_none_or(|indent| own == indent))
            .then_some(own);
        members = None;
        if data.is_some() && value.starts_with('{') {
            let start = line_end - value.len();
            read_until = closing_end(text, start + 1, 1);
            for member in MEMBER.captures_iter(&text[start..read_until]) {
                let key = member[1].trim().trim_matches(['"', '\'']);
                let value = member.iter().skip(2).flatten().next();
                value
                    .into_iter()
                    .for_each(|value| hide(text, key, start + value.start()..start + value.end(), found));
            }
        }
    }
}

/// Hides a value, without the quotes around it and white space after it.
fn hide(text: &str, name: &str, range: Range<usize>, found: &mut Findings) {
    let value = text[range.clone()].trim_end();
    let in_quotes = ['"', '\'']
        .iter()
        .any(|quote| value.len() > 1 && value.starts_with(*quote) && value.ends_with(*quote));
    let width = usize::from(in_quotes);
    let range = range.start + width..range.start + value.len() - width;
    if !NULLS.contains(&&text[range.clone()]) {
        found.hide(name, range);
    }
}

/// Returns the columns before the key of a line. The dash of an item counts as indentation.
fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start_matches([' ', '-']).len()
}
