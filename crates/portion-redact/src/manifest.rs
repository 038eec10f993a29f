//! Hides the data of Kubernetes secrets in the lines of YAML: the values below `data` and `stringData` beside `kind: Secret`.
//!
//! It also reads what is cut off. The same in JSON is in [`json`](super::json). Format:
//! <https://kubernetes.io/docs/concepts/configuration/secret/>.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::Findings;
use super::edit::REDACTED;
use super::pattern::regex;
use super::setting_name::{indent_of, mapping_around};
use super::text_value::{ValueExtent, container_after, value_after};

/// A line that names the kind: what stands before it, and the end of the kind of a list, whose items have none.
static KIND: LazyLock<Regex> = LazyLock::new(|| {
    regex(r#"(?m)^([ \-]*)["']?kind["']?\s*:\s*["']?Secret(List)?["']?(?:[ \t]+#.*|[ \t\r]*)$"#)
});
/// A key in braces, its colon, and its value if that is in quotes.
static MEMBER: LazyLock<Regex> = LazyLock::new(|| {
    let string = r#"(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*')"#;
    regex(&format!(r#"[{{,]\s*({string}|[^:,{{}}"']+)\s*(:)\s*{string}?"#))
});
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
        let is_inside = |line: &str| {
            let is_blank = line.trim().is_empty() || line.trim_start().starts_with('#');
            is_blank || !line.starts_with("---") && indent_of(line) >= lead.len()
        };
        let lines = mapping_around(&text[done..], at - done, usize::MAX, is_inside);
        let lines = done + lines.start..done + lines.end;
        done = lines.end;
        redact_mapping(text, lines, kind.get(2).is_none().then_some(lead.len()), found);
    }
}

/// Hides the data in the lines of a mapping. `indent`: where the keys of the data stand, if not anywhere.
fn redact_mapping(text: &str, lines: Range<usize>, indent: Option<usize>, found: &mut Findings) {
    // The indentation of the data that is being read, and of its members.
    let (mut data, mut members, mut name) = (None, None, "");
    let (mut end, mut read_until) = (lines.start, lines.start);
    for line in text[lines].split_inclusive('\n') {
        let (start, own) = (end, indent_of(line));
        end += line.len();
        let content = line.trim_end().get(own..).unwrap_or_default();
        let is_inside = data.is_some_and(|outer| own > outer);
        let is_comment = content.starts_with('#');
        if content.is_empty() || start < read_until || is_comment && !is_inside {
            continue;
        }
        let (key, value) = content.split_once(':').unwrap_or((content, ""));
        let at = start + (own + key.len() + 1).min(line.trim_end().len());
        if is_inside {
            // The lines of a block after `key: |` have no key of their own.
            let is_member = members.is_none_or(|first| own <= first);
            if is_member && !is_comment {
                (members, name) = (Some(own), key.trim_matches(['"', '\'']));
            }
            if !(is_member && value.trim_start().starts_with(['|', '>'])) {
                hide(text, name, if is_member { at } else { start + own }, ValueExtent::Line, found);
            }
            continue;
        }
        data = (is_data_key(key.trim_matches(['"', '\''])) && indent.is_none_or(|indent| own == indent))
            .then_some(own);
        members = None;
        if data.is_some()
            && let Some((open, close)) = container_after(text, at)
        {
            read_until = close;
            for member in MEMBER.captures_iter(&text[open..close]) {
                let end = open + member.get(2).map_or(0, |colon| colon.end());
                hide(text, member[1].trim().trim_matches(['"', '\'']), end, ValueExtent::WORD, found);
            }
        }
    }
}

/// Hides the value from an offset on.
fn hide(text: &str, name: &str, from: usize, extent: ValueExtent, found: &mut Findings) {
    let is_secret = |(start, end): &(usize, usize)| {
        !matches!(&text[*start..*end], "null" | "~") && !text[*start..].starts_with(REDACTED)
    };
    if let Some((start, end)) = value_after(text, from, extent).filter(is_secret) {
        found.hide(name, start..end);
    }
}
