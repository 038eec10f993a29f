//! Redacts text that is not JSON: values of settings, and what other modules find in text.
//!
//! One pass, with bounded lookback.

use std::collections::BTreeMap;
use std::ops::Range;

use memchr::memchr2_iter;

use super::pair::{is_phrase_name, last_two_names};
use super::setting_path::path_before;
use super::text_pair::{TextPair, is_line_lead};
use super::{NameMatch, REDACTED, RedactedNames, RedactionRules, TextEdit, flag, manifest, markup, token};

/// Maximum bytes of the name of a setting.
const MAX_NAME_BYTES: usize = 64;
/// Maximum bytes before the first name of a line.
const MAX_LINE_LEAD: usize = 128;
/// Maximum words of a value that has its line to itself.
const MAX_VALUE_WORDS: usize = 6;
/// Maximum bytes of a closing tag after a name.
const MAX_TAG_BYTES: usize = 12;
/// Maximum bytes of the type in a declaration, and maximum lines that continue a value.
const MAX_TYPE_BYTES: usize = 64;
const MAX_CONTINUED_LINES: usize = 64;
const TRIPLE_QUOTES: [&str; 2] = ["\"\"\"", "'''"];
/// Maximum names whose result is cached.
const MAX_CACHED_NAMES: usize = 1_024;

/// Returns the edits for a text. In the ranges `json`, containers are left to the rules for JSON.
pub(super) fn collect_edits<'t>(
    redact: &RedactionRules,
    text: &'t str,
    json: &[Range<usize>],
) -> (Vec<TextEdit>, RedactedNames) {
    let (mut edits, mut names) = (Vec::new(), RedactedNames::default());
    // Logs repeat the same names on every line.
    let mut verdicts: BTreeMap<&str, NameMatch> = BTreeMap::new();
    let mut done = 0;
    for at in memchr2_iter(b'=', b':', text.as_bytes()) {
        if at < done {
            continue;
        }
        let Some(word) = name_before(text, at) else { continue };
        let mut matched = |name: &'t str| {
            let verdict =
                verdicts.get(name).copied().unwrap_or_else(|| redact.match_name(&name.replace(' ', "_")));
            if verdicts.len() < MAX_CACHED_NAMES {
                verdicts.insert(name, verdict);
            }
            verdict.is_hidden().then_some(name)
        };
        let path = || redact.matches_setting_path(text, at).then_some(word);
        let is_json =
            json.get(json.partition_point(|range| range.end <= at)).is_some_and(|r| r.contains(&at));
        // `Door code: 4711` has a name of two words, `Key pickup instructions: …` one of three.
        let name = matched(word)
            .or_else(|| [2, 3].into_iter().find_map(|count| matched(words_before(text, at, count)?)))
            .or_else(|| matched(last_two_names(path_before(text, at))?))
            .or_else(|| if is_json { None } else { path() });
        let pair = if name.is_some() || is_json {
            None
        } else {
            TextPair::detect(text, at, word, |name| redact.match_pair_name(name))
        };
        let Some(name) = name.or(pair.as_ref().map(|pair| pair.name)) else { continue };
        if text.as_bytes()[at] == b':'
            && let Some(end) = add_block_edits(text, at, &mut edits)
        {
            names.add(name.to_owned());
            done = end;
            continue;
        }
        let quote = quote_before(text, at);
        let extent = match pair {
            Some(TextPair { begins_line: true, .. }) => ValueExtent::Line,
            Some(_) => ValueExtent::Word,
            None => ValueExtent::of_setting(text, at, name, word),
        };
        let from = typed_value_start(text, at).unwrap_or(at + 1);
        let container =
            container_after(text, from).filter(|_| !quote.is_empty() || !is_whole_line_field(name));
        if container.is_some() && is_json {
            continue;
        }
        let Some((start, end)) = container.or_else(|| value_after(text, from, extent)) else {
            continue;
        };
        if !matches!(&text[start..end], REDACTED | "[]" | "{}" | "true" | "false" | "null" | "None" | "nil") {
            names.add(name.to_owned());
            let replacement = if container.is_some() {
                format!("{quote}{REDACTED}{quote}").into()
            } else {
                REDACTED.into()
            };
            edits.push(TextEdit { start, end, replacement });
        }
        done = end;
    }
    markup::collect_edits(redact, text, &mut edits, &mut names);
    flag::collect_edits(redact, text, &mut edits, &mut names);
    if redact.hides_secrets {
        token::collect_edits(text, &mut edits, &mut names);
        manifest::collect_edits(text, &mut edits, &mut names);
    }
    (edits, names)
}

/// Returns the word before a separator, with or without quotes, emphasis and closing tags.
pub(super) fn name_before(text: &str, at: usize) -> Option<&str> {
    let near = &text[text.ceil_char_boundary(at.saturating_sub(MAX_NAME_BYTES + 16)).min(at)..at];
    let near = near.trim_end_matches([' ', '\t']);
    let tag = near.rfind("</").filter(|_| near.ends_with('>'));
    let near = near[..tag.unwrap_or(near.len())].trim_end_matches(['"', '\'', '`', '\\', ']', '*']);
    // Brackets in forms: `user%5Bpassword%5D=…`.
    let near = near.trim_end_matches("%5D").trim_end_matches("%5d");
    let begin = near.rfind(|c: char| !is_name_char(c)).map_or(0, |end| near.ceil_char_boundary(end + 1));
    let name = near[begin..].rsplit('.').next().unwrap_or_default();
    let is_encoded =
        near[..begin].ends_with('%') && name.get(..2).is_some_and(|hex| hex.eq_ignore_ascii_case("5b"));
    let name = if is_encoded { &name[2..] } else { name };
    (name.len() >= 3 && name.len() <= MAX_NAME_BYTES).then_some(name)
}

/// Returns so many words directly before a colon, with one space between them.
fn words_before(text: &str, at: usize, count: usize) -> Option<&str> {
    if text.as_bytes().get(at) != Some(&b':') {
        return None;
    }
    let near = &text[text.ceil_char_boundary(at.saturating_sub(MAX_NAME_BYTES)).min(at)..at];
    let near = near.trim_end_matches(['*', '`']);
    let mut start = near.len();
    for _ in 0..count {
        let before = near[..start].strip_suffix(' ').filter(|_| start < near.len()).unwrap_or(&near[..start]);
        let word = before.rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
        if word.len() < 2 || start < near.len() && before.len() == start {
            return None;
        }
        start = before.len() - word.len();
    }
    Some(&near[start..])
}

fn is_name_char(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.')
}

/// Returns true for header fields whose value is the rest of the line.
fn is_whole_line_field(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.ends_with("authorization") || name.ends_with("cookie")
}

/// Returns the quote that closes the name before a separator, or an empty string.
fn quote_before(text: &str, at: usize) -> &'static str {
    let name = text[..at].trim_end_matches([' ', '\t']);
    ["\\\"", "\"", "'"].into_iter().find(|quote| name.ends_with(quote)).unwrap_or_default()
}

/// Returns the array or object after a separator, up to its closing bracket or the end of the text.
fn container_after(text: &str, from: usize) -> Option<(usize, usize)> {
    let rest = text[from..].trim_start_matches(['=', '>']).trim_start_matches([' ', '\t']);
    let start = text.len() - rest.len();
    rest.starts_with(['[', '{']).then(|| (start, closing_end(text, start + 1, 1)))
}

/// Returns the end of the bracket that closes `depth` containers from `from` on, or the end of the text.
/// Brackets in strings do not count. A string ends on its line.
pub(super) fn closing_end(text: &str, from: usize, mut depth: usize) -> usize {
    let bytes = text.as_bytes();
    let (mut at, mut unclosed_until) = (from, 0);
    while depth > 0
        && let Some(byte) = bytes.get(at)
    {
        let before = at.checked_sub(1).and_then(|before| bytes.get(before)).copied().unwrap_or(b' ');
        let opens_string = match byte {
            b'"' => true,
            b'\'' => {
                matches!(before, b'[' | b'{' | b'(' | b',' | b':' | b'=') || before.is_ascii_whitespace()
            }
            _ => false,
        };
        if opens_string && at >= unclosed_until {
            let (len, is_closed) = quoted_len(&text[at + 1..], *byte, before == b'\\');
            if is_closed {
                at += len + 1;
            } else {
                unclosed_until = at + 1 + len;
            }
        }
        match bytes.get(at) {
            Some(b'[' | b'{') => depth += 1,
            Some(b']' | b'}') => depth -= 1,
            _ => {}
        }
        at += 1;
    }
    at.min(text.len())
}

/// Returns the bytes of a string on this line up to its closing quote, and whether there is one. The quotes
/// of a string inside a string have a backslash before them; it counts as part of the string.
fn quoted_len(inside: &str, quote: u8, is_escaped: bool) -> (usize, bool) {
    let bytes = inside.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\n' => break,
            b'\\' => {
                let run = bytes[at..].iter().take_while(|b| **b == b'\\').count();
                at += run;
                if bytes.get(at) == Some(&quote) {
                    if is_escaped == (run == 1) && (is_escaped || run % 2 == 0) {
                        return (at, true);
                    }
                    at += 1;
                }
            }
            byte if *byte == quote => return (at, !is_escaped),
            _ => at += 1,
        }
    }
    (at.min(inside.len()), false)
}

/// Redacts a YAML value that stands on the lines after its name: a list, or the lines after `|` or `>`. Returns the end
/// of the value, or `None` if there is none. Mappings are left to the rules for their own names.
fn add_block_edits(text: &str, at: usize, edits: &mut Vec<TextEdit>) -> Option<usize> {
    let header = text[at + 1..].trim_start_matches([' ', '\t']);
    let scalar = header.strip_prefix(['|', '>']);
    let is_scalar = scalar.is_some();
    let rest = scalar.map_or(header, |rest| rest.trim_start_matches(|c: char| "+-0123456789".contains(c)));
    let rest = rest.trim_start_matches([' ', '\t', '\r']).strip_prefix('\n')?;
    let line_start = text[..at].rfind('\n').map_or(0, |feed| feed + 1);
    let name_indent = indent_of(&text[line_start..at]);
    let (mut start, mut item_indent, mut value_end) = (text.len() - rest.len(), None, None);
    while start < text.len() {
        let end = memchr::memchr(b'\n', &text.as_bytes()[start..]).map_or(text.len(), |len| start + len);
        let line = text[start..end].trim_end();
        let (indent, content) = (indent_of(line), line.trim_start());
        let item = content.strip_prefix('-').filter(|rest| rest.is_empty() || rest.starts_with(' '));
        let value = match item {
            _ if content.is_empty() && (is_scalar || item_indent.is_some()) => "",
            _ if is_scalar && indent > name_indent => content,
            Some(rest) if !is_scalar && indent >= item_indent.unwrap_or(name_indent) => {
                item_indent.get_or_insert(indent);
                rest.trim_start()
            }
            _ if item_indent.is_some_and(|item| indent > item) => content,
            _ => break,
        };
        if !value.is_empty() {
            let end = start + line.len();
            edits.push(TextEdit { start: end - value.len(), end, replacement: REDACTED.into() });
            value_end = Some(end);
        }
        start = end + 1;
    }
    value_end
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// The end of a value without quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueExtent {
    Word,
    /// Up to the end of the line or to a quote, as in `-H "Authorization: …"`.
    HeaderField,
    Line,
    /// Up to the mark that closes code: `` `password: …` ``.
    Code,
}

impl ValueExtent {
    /// Returns the extent of the value of a setting, given its name and the last word of that.
    fn of_setting(text: &str, at: usize, name: &str, word: &str) -> Self {
        let line_start = text.ceil_char_boundary(at.saturating_sub(MAX_LINE_LEAD)).min(at);
        let line_start = text[line_start..at]
            .rfind('\n')
            .map(|feed| line_start + feed + 1)
            .or((line_start == 0).then_some(0));
        let before = &text[line_start.unwrap_or(at)..at];
        let name_start = before.rfind(name).or_else(|| before.rfind(word));
        let lead = name_start.map(|start| &before[..start]);
        if lead.is_some_and(|lead| lead.ends_with('`')) && !before.ends_with('`') {
            return Self::Code;
        }
        if is_whole_line_field(name) {
            return Self::HeaderField;
        }
        let begins_line = lead.is_some_and(|lead| is_line_lead(lead) && !lead.contains(['"', '\'', '`']));
        if text.as_bytes()[at] != b':' || !begins_line {
            return Self::Word;
        }
        let rest = text[at + 1..].lines().next().unwrap_or_default();
        let is_one_value = || {
            rest.split_whitespace().nth(MAX_VALUE_WORDS).is_none()
                && !rest.contains('=')
                && !rest.trim_start_matches(['*', '_']).contains([':', ','])
        };
        if is_phrase_name(name) || is_one_value() { Self::Line } else { Self::Word }
    }
}

/// Returns the value after a separator: the text between quotes, or up to the end of its extent.
pub(super) fn value_after(text: &str, from: usize, extent: ValueExtent) -> Option<(usize, usize)> {
    let rest = text[from..].strip_prefix(['>', '=']).unwrap_or(&text[from..]);
    let content = skip_closing_marks(rest).trim_start_matches([' ', '\t']);
    let unescaped = content.strip_prefix('\\').filter(|content| content.starts_with('"')).unwrap_or(content);
    let unescaped = without_literal_prefix(unescaped);
    let (value, len) = match unescaped.as_bytes().first() {
        Some(b'"' | b'\'') if TRIPLE_QUOTES.iter().any(|quotes| unescaped.starts_with(quotes)) => {
            (&unescaped[3..], unescaped[3..].find(&unescaped[..3]))
        }
        Some(quote @ (b'"' | b'\'' | b'`')) => {
            let value = &unescaped[1..];
            let is_escaped = content.starts_with('\\') && content[1..].len() == unescaped.len();
            (value, Some(string_len(value, *quote, is_escaped)))
        }
        _ => (
            content,
            match extent {
                ValueExtent::Word => content.find(|c: char| c.is_whitespace() || ",;&\"'<>)}]".contains(c)),
                ValueExtent::HeaderField => content.find(['\n', '\r', '"', '\'']),
                ValueExtent::Line => content.find(['\n', '\r']),
                ValueExtent::Code => content.find(['\n', '\r', '`']),
            },
        ),
    };
    let start = text.len() - value.len();
    let end = start + len.unwrap_or(value.len());
    let end = start + text[start..end].trim_end_matches([' ', '\t']).len();
    (end > start).then(|| (start, continued_end(text, end)))
}

/// Returns the end of a value with the lines that continue it, after a backslash at the end of the line before.
fn continued_end(text: &str, mut end: usize) -> usize {
    for _ in 0..MAX_CONTINUED_LINES {
        let rest = &text[end..];
        let Some(next) = rest.strip_prefix("\r\n").or(rest.strip_prefix('\n')) else { break };
        if !text[..end].ends_with('\\') {
            break;
        }
        let start = text.len() - next.len();
        end = start + next.find(['\n', '\r']).unwrap_or(next.len());
    }
    end
}

/// Returns the offset after the `=` in a declaration with a type: `password: string = "…"`.
fn typed_value_start(text: &str, at: usize) -> Option<usize> {
    let rest = text[at..].strip_prefix(':')?;
    let near = &rest[..rest.floor_char_boundary(MAX_TYPE_BYTES)];
    let len = near.find(" = ")?;
    let is_type = |c: char| c.is_alphanumeric() || " _<>[]&'|.:?*".contains(c);
    let begins_string = rest[len + 3..].starts_with(['"', '\'', '`']);
    (begins_string && near[..len].chars().all(is_type)).then_some(at + 1 + len + 2)
}

/// Returns the bytes of the value of a string whose opening quote stands before `inside`. A quote that is written twice does
/// not close it.
fn string_len(inside: &str, quote: u8, is_escaped: bool) -> usize {
    let (mut len, mut is_closed) = quoted_len(inside, quote, is_escaped);
    if is_escaped {
        return len - usize::from(is_closed);
    }
    while is_closed && inside.as_bytes().get(len + 1) == Some(&quote) {
        let more;
        (more, is_closed) = quoted_len(&inside[len + 2..], quote, false);
        len += 2 + more;
    }
    len
}

/// Maximum bytes of the prefix of a string: `X'00ff'`, `N'…'`, `rb"…"`, `U&'…'`.
const MAX_PREFIX_BYTES: usize = 2;

/// Returns a string in SQL or in source code without its prefix.
fn without_literal_prefix(value: &str) -> &str {
    let bytes = value.as_bytes();
    let len = bytes.iter().take_while(|byte| byte.is_ascii_alphabetic() || **byte == b'&').count();
    let Some(quote @ (b'"' | b'\'')) = bytes.get(len) else { return value };
    let is_prefix = (1..=MAX_PREFIX_BYTES).contains(&len)
        && bytes[..len].iter().all(|byte| b"bBeEfFnNrRuUxX&".contains(byte));
    // The quote after a short word may close a string around it.
    let inside = &value[len + 1..];
    let begins = !inside.starts_with([' ', ',', ';', ')', ']', '}', '&', ':']);
    if is_prefix && begins && quoted_len(inside, *quote, false).1 { &value[len..] } else { value }
}

/// Skips the marks that close a name after its separator: `**Password:** x`, `<b>Password:</b> x`.
fn skip_closing_marks(rest: &str) -> &str {
    let after_tag = || {
        let tag = rest.strip_prefix("</")?;
        let len = tag.bytes().take(MAX_TAG_BYTES).position(|b| b == b'>')?;
        tag.get(len + 1..)
    };
    let after_mark = || {
        ["**", "__", "*", "_", "`"]
            .into_iter()
            .find_map(|mark| rest.strip_prefix(mark).filter(|after| after.starts_with([' ', '\t'])))
    };
    after_tag().or_else(after_mark).unwrap_or(rest)
}
