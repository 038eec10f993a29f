//! Finds what continues a value in text: further lines in its quotes or below it, strings that are joined to it, and further
//! groups of a telephone number.

use std::sync::LazyLock;

use regex::Regex;

use super::pattern::regex;
use super::text_value::{ValueExtent, line_before};

/// Maximum bytes of a string of several lines.
const MAX_STRING_BYTES: usize = 64 << 10;
/// Maximum lines that continue a value without quotes.
const MAX_LINES: usize = 8;
/// Lines that do not continue a plain text in YAML: items, settings, lines of a stack trace, and long ones.
static NO_TEXT: LazyLock<Regex> =
    LazyLock::new(|| regex(r#"^(?:[\-#*|<{\["'@]|at )|: |=|:$|(?:\S+\s+){8}\S"#));

/// Returns the end of the value at `start..end` with what continues it. `at`: its separator.
pub(super) fn extended_end(
    text: &str,
    at: usize,
    (start, end): (usize, usize),
    extent: ValueExtent,
) -> usize {
    let before = &text[at + 1..start];
    let quote = before.bytes().next_back().filter(|byte| matches!(byte, b'"' | b'\''));
    let Some(quote) = quote else {
        return match extent {
            ValueExtent::Item(_) => phone_end(text, start, joined_end(text, start, end)),
            ValueExtent::Line if text.as_bytes()[at] == b':' => indented_end(text, at, end),
            _ => end,
        };
    };
    let rest = text[end..].trim_start_matches([' ', '\t', '\r']);
    if rest.starts_with('\n') && !before.contains('\\') {
        return string_end(text, end, quote).unwrap_or(end);
    }
    let is_closed = text.as_bytes().get(end) == Some(&quote);
    if is_closed && before.len() == 1 && text.as_bytes()[at] == b'=' {
        let joined = joined_end(text, start, end + 1);
        let is_joined = joined > end + 1;
        return if is_joined { joined - usize::from(text[..joined].ends_with(quote as char)) } else { end };
    }
    end
}

/// Returns the end of a string that is open at the end of its line, if the next quote closes it.
fn string_end(text: &str, from: usize, quote: u8) -> Option<usize> {
    static ENDS: LazyLock<[Regex; 2]> = LazyLock::new(|| {
        ['"', '\'']
            .map(|quote| regex(&format!(r"^((?s:[^{quote}\\]|\\.)*){quote}[ \t\r]*(?:$|[\n,;)\]}}/>#])")))
    });
    let near = &text[from..text.floor_char_boundary(from + MAX_STRING_BYTES)];
    ENDS[usize::from(quote == b'\'')].captures(near)?.get(1).map(|inside| from + inside.end())
}

/// Returns the end of a word with the strings that are joined to it, as a shell does: `'a'"'"'b'`, `?"x"`.
fn joined_end(text: &str, start: usize, end: usize) -> usize {
    static JOINED: LazyLock<Regex> = LazyLock::new(|| {
        let string = r#"(?:"(?:[^ ,;)\]}&:"\\\n]|\\[^\n])(?:[^"\\\n]|\\[^\n])*"|'(?:[^ ,;)\]}&:'\\\n]|\\[^\n])(?:[^'\\\n]|\\[^\n])*'|""|'')"#;
        regex(&format!(r"^(?:{string}|(?:[\pL\d]))(?:{string}|[\pL\d$_\-.])*"))
    });
    // A quote around the setting closes a string here.
    let line = line_before(text, start);
    let is_open = |quote: &char| line.trim_end_matches(*quote).matches(*quote).count() % 2 == 1;
    let open = ['"', '\''].into_iter().filter(is_open);
    let limit = open.filter_map(|quote| text[end..].find(quote)).min().map_or(text.len(), |len| end + len);
    JOINED.find(&text[end..limit]).map_or(end, |joined| end + joined.end())
}

/// Returns the end of a telephone number with the groups after its first one: `+49 123 456`.
fn phone_end(text: &str, start: usize, end: usize) -> usize {
    static PHONE: LazyLock<Regex> =
        LazyLock::new(|| regex(r"^\+\d[\d()/.\-]*(?:[ )][\d()/.\-]*\d(?-u:\b)\)*)*"));
    PHONE.find(&text[start..]).map_or(end, |phone| end.max(start + phone.end()))
}

/// Returns the end of a value with the lines below it that are indented deeper than its name: a plain text in YAML.
fn indented_end(text: &str, at: usize, mut end: usize) -> usize {
    let line = line_before(text, at);
    let indent = line.len() - line.trim_start_matches([' ', '-']).len();
    for _ in 0..MAX_LINES {
        let Some(below) = text[end..].trim_start_matches([' ', '\t', '\r']).strip_prefix('\n') else { break };
        let line = below.lines().next().unwrap_or_default();
        let content = line.trim();
        if content.is_empty()
            || NO_TEXT.is_match(content)
            || line.len() - line.trim_start_matches(' ').len() <= indent
        {
            break;
        }
        end = text.len() - below.len() + line.trim_end().len();
    }
    end
}
