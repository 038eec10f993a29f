//! Finds where the value of a setting in text begins and ends.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::name::is_phrase_name;
use super::pattern::regex;

/// Maximum bytes before the first name of a line.
const MAX_LINE_LEAD: usize = 128;
/// Maximum words of a value that has its line to itself.
const MAX_VALUE_WORDS: usize = 6;
/// Maximum bytes of an item of a list.
const MAX_ITEM_BYTES: usize = 64 << 10;
/// Maximum lines that continue a value.
const MAX_CONTINUED_LINES: usize = 64;
/// Pattern of the signs between a separator and its value: the rest of the separator, and the marks that close a name: `**Password:** x`.
static LEAD: LazyLock<Regex> = LazyLock::new(|| regex(r"^[>=]?(?:: )?(?:(?:\*\*|__|[*_`])[ \t])?[ \t]*"));
/// A string: in three quotes, in quotes with a backslash, or in quotes that are written twice inside. A string that is closed on
/// its line may have a prefix, or a call around it: `X'00ff'`, `rb"…"`, `Some("…")`, `Secret::new("…")`, `(u'…',)`.
static STRING: LazyLock<Regex> = LazyLock::new(|| {
    let before = r"(?:[\w:.]{0,31}\()?(?:[bBeEfFnNrRuUxX$@][bBeEfFnNrRuUxX&$@]?)?";
    let inside = |quote: char| format!(r"(?:[^{quote}\\\n]|\\[^\n]|{quote}{quote})*");
    let [double, single, code] = ['"', '\'', '`'].map(inside);
    regex(&format!(
        r#"^(?s:{before}(?:"""(.*?)(?:"""|$)|'''(.*?)(?:'''|$))|\\"((?:[^"\\\n]|\\\\+"?|\\[^"\\\n])*)|"({double})|'({single})|`({code})|{before}(?:"([^ ,;)\]}}&:\n]{double})"|'([^ ,;)\]}}&:\n]{single})'))"#
    ))
});
/// The type in a declaration, and the quote of its value: `password: string = "…"`.
static TYPED: LazyLock<Regex> = LazyLock::new(|| regex(r#"^:[\w <>\[\]&'|.:?*]{0,60} = ["'`]"#));
/// Brackets and strings, which end on their line.
static BRACKETS: LazyLock<Regex> = LazyLock::new(|| {
    regex(r#"\\"(?:[^"\\\n]|\\[^"\n])*\\"|"(?:[^"\\\n]|\\.)*"|(?:^|[\s\[{(,:=])'(?:[^'\\\n]|\\.)*'|[\[\]{}]"#)
});
/// Lines after an equals sign that are more than a value: many words, a command after a setting of its environment, an argument
/// of a call, a literal, another setting.
static MORE_THAN_VALUE: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r#"^\s*(?:(?:\S+\s+){6}\S|\S+\s+(?:(?:bash|cargo|curl|docker|env|git|go|java|make|node|npm|npx|pg_dump|pip|psql|python3?|sh)(?:\s|$)|[/.\-&|#<>]|\S+.*\s-\S)|[^ ,;&"'<>)}\]]+[,;)]+\s*$|(?:False|None|True|false|nil|null|true)(?:[^\pL\pN]|$))|=+[^=]"#,
    )
});
/// Signs and words of source code, which has spaces around the equals sign.
static CODE: LazyLock<Regex> =
    LazyLock::new(|| regex(r#"[()\[\]{};"'`<>&|,:?+*]|(?:^|\s)(?:await|else|if|new|not|return)(?:\s|$)"#));

/// The end of a value without quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueExtent {
    /// Up to a space, one of these signs, or what ends the text around it.
    Item(&'static str),
    /// Up to the end of the line or to the quote around it, as in `-H "Authorization: …"`.
    HeaderField,
    Line,
    /// Up to the mark that closes code: `` `password: …` ``.
    Code,
}

impl ValueExtent {
    /// A value among others of any notation.
    pub(super) const WORD: Self = Self::Item(",;&");

    /// Returns the extent of the value of a setting, given its name and the last word of that.
    pub(super) fn of_setting(text: &str, at: usize, name: &str, word: &str) -> Self {
        let before = line_before(text, at);
        let near = &text[text.ceil_char_boundary(at.saturating_sub(MAX_LINE_LEAD)).min(at)..at];
        let lead = near.rfind(name).or_else(|| near.rfind(word)).map_or("", |start| &near[..start]);
        if lead.ends_with('`') && !before.ends_with('`') {
            return Self::Code;
        }
        if is_whole_line_field(name) {
            return Self::HeaderField;
        }
        // `spring.datasource.password=…`
        let is_path = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
        let is_equation = text.as_bytes()[at] != b':';
        let lead = if is_equation { lead.trim_end_matches(is_path) } else { lead };
        let line_lead = lead.rsplit('\n').next().filter(|_| !before.is_empty());
        let begins_line =
            line_lead.is_some_and(|lead| is_line_lead(lead) && !lead.contains(['"', '\'', '`']));
        let rest = || text[at + 1..].lines().next().unwrap_or_default();
        let is_one_value = |rest: &str| {
            rest.split_whitespace().nth(MAX_VALUE_WORDS).is_none()
                && !rest.contains('=')
                && !rest.trim_start_matches(['*', '_']).contains([':', ','])
        };
        if begins_line
            && if is_equation {
                is_only_value(before, rest())
            } else {
                is_phrase_name(name) || is_one_value(rest())
            }
        {
            return Self::Line;
        }
        match lead.chars().next_back() {
            Some(quote @ ('"' | '\'')) => {
                let near = &text[at + 1..text.floor_char_boundary(at + MAX_LINE_LEAD).max(at + 1)];
                let inside = near.split_once(quote).map(|(inside, _)| inside);
                let is_whole = inside.is_some_and(|inside| {
                    is_equation && !inside.contains('\n') && is_only_value(before, inside)
                });
                if is_whole { Self::HeaderField } else { Self::Item("") }
            }
            Some(';') => Self::Item(";"),
            Some('&' | '?') => Self::Item("&"),
            Some('>') => Self::Item(""),
            _ if begins_line => Self::Item(""),
            _ => Self::WORD,
        }
    }
}

/// Returns true if the line after an equals sign contains nothing but a value: a few words, no other setting, no command.
fn is_only_value(before: &str, rest: &str) -> bool {
    let is_spaced = before.ends_with([' ', '\t']) || rest.starts_with([' ', '\t']);
    !(MORE_THAN_VALUE.is_match(rest) || is_spaced && CODE.is_match(rest))
}

/// Returns the value after a separator: the text between quotes, or up to the end of its extent.
pub(super) fn value_after(text: &str, from: usize, extent: ValueExtent) -> Option<(usize, usize)> {
    let from = from + LEAD.find(&text[from..]).map_or(0, |lead| lead.end());
    let content = &text[from..];
    let string = STRING
        .captures(content)
        .and_then(|found| found.iter().skip(1).flatten().next().map(|string| string.range()));
    let Range { start, end } = string.unwrap_or_else(|| {
        let len = match extent {
            ValueExtent::Item(ends) => Some(item_end(text, from, ends)),
            ValueExtent::HeaderField => {
                let quote = open_quote(line_before(text, from));
                content
                    .find(|c| matches!(c, '\n' | '\r') || quote.map_or("\"'".contains(c), |quote| c == quote))
            }
            ValueExtent::Line => content.find(['\n', '\r']),
            ValueExtent::Code => content.find(['\n', '\r', '`']),
        };
        0..len.unwrap_or(content.len())
    });
    let end = from + start + content[start..end].trim_end_matches([' ', '\t']).len();
    (end > from + start).then(|| (from + start, continued_end(text, end)))
}

/// Returns the bytes of a word without quotes from an offset on: up to a space, the quote, the bracket or the tag around it, one of the
/// signs, and a sign before a space or another setting.
fn item_end(text: &str, from: usize, ends: &str) -> usize {
    static NEXT: LazyLock<Regex> =
        LazyLock::new(|| regex(r"^(?:amp;)?(?:[\w.%\[\]\-]{1,64} ?=|[,;&]{0,4}(?:\s|$))"));
    static TAG: LazyLock<Regex> = LazyLock::new(|| regex(r"^</?[A-Za-z][^<>\n]{0,200}>"));
    let (content, mut depth) = (&text[from..], 0_usize);
    let before = &text[text.ceil_char_boundary(from.saturating_sub(MAX_LINE_LEAD)).min(from)..from];
    let is_in_tag = || before.rfind('<') > before.rfind('>');
    let open = open_quote(line_before(text, from));
    let end = content.char_indices().find(|&(at, c)| {
        let is_inside = || {
            content[..at].ends_with(char::is_alphanumeric)
                && content[at + 1..].starts_with(char::is_alphanumeric)
        };
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' if depth > 0 => depth -= 1,
            ')' | ']' | '}' => return true,
            ',' | ';' | '&' => return ends.contains(c) || NEXT.is_match(&content[at + 1..]),
            '"' | '\'' => return open == Some(c) || before.is_empty() || !is_inside(),
            '<' => return !is_inside() || TAG.is_match(&content[at..]),
            '>' => return !is_inside() || is_in_tag(),
            _ => return c.is_whitespace(),
        }
        false
    });
    end.map_or(content.len(), |(at, _)| at)
}

/// Returns the quote that is open at the end of a line. An apostrophe and the mark of a lifetime in Rust open nothing: `&'a str`.
pub(super) fn open_quote(line: &str) -> Option<char> {
    let (mut open, mut before) = (None, ' ');
    for c in line.chars() {
        let opens = c == '"' || c == '\'' && !before.is_alphanumeric() && !"&<".contains(before);
        match open {
            _ if before == '\\' => {}
            Some(quote) if quote == c => open = None,
            None if opens => open = Some(c),
            _ => {}
        }
        before = if before == '\\' { ' ' } else { c };
    }
    open
}

/// Returns the offset after the `=` in a declaration with a type: `password: string = "…"`.
pub(super) fn typed_value_start(text: &str, at: usize) -> Option<usize> {
    TYPED.find(&text[at..]).map(|typed| at + typed.end() - 2)
}

/// Returns the array or object after a separator, up to its closing bracket or the end of the text.
pub(super) fn container_after(text: &str, from: usize) -> Option<(usize, usize)> {
    // `{SSHA}…` is the name of a hash before it.
    static PREFIXED: LazyLock<Regex> = LazyLock::new(|| regex(r"^\{[A-Za-z][\w-]*\}[^\s,;:.)\]}{]"));
    let rest = text[from..].trim_start_matches(['=', '>']).trim_start_matches([' ', '\t']);
    let start = text.len() - rest.len();
    (rest.starts_with(['[', '{']) && !PREFIXED.is_match(rest))
        .then(|| (start, closing_end(text, start + 1, 1)))
}

/// Returns the end of the bracket that closes `depth` containers from `from` on, or the end of the text. Brackets in strings do
/// not count.
pub(super) fn closing_end(text: &str, from: usize, mut depth: usize) -> usize {
    let mut end = from;
    for mark in BRACKETS.find_iter(&text[from..]) {
        if depth == 0 {
            return end;
        }
        end = from + mark.end();
        match mark.as_str().as_bytes()[0] {
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth -= 1,
            _ => {}
        }
    }
    if depth == 0 { end } else { text.len() }
}

/// Returns true for header fields whose value is the rest of the line.
pub(super) fn is_whole_line_field(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.ends_with("authorization") || name.ends_with("cookie")
}

/// Returns the end of a value with the lines that continue it, after a backslash at the end of the line before.
fn continued_end(text: &str, mut end: usize) -> usize {
    for _ in 0..MAX_CONTINUED_LINES {
        let feed = ["\r\n", "\n"].into_iter().find(|feed| text[end..].starts_with(feed));
        let Some(feed) = feed.filter(|_| text[..end].ends_with('\\')) else { break };
        let next = &text[end + feed.len()..];
        end += feed.len() + next.find(['\n', '\r']).unwrap_or(next.len());
    }
    end
}

/// Returns the part of the line before an offset; an empty text if the line begins far before it.
pub(super) fn line_before(text: &str, at: usize) -> &str {
    let near = text.ceil_char_boundary(at.saturating_sub(MAX_LINE_LEAD)).min(at);
    let line_start = text[near..at].rfind('\n').map(|feed| near + feed + 1).or((near == 0).then_some(0));
    &text[line_start.unwrap_or(at)..at]
}

/// Returns true for what may stand before the first key of a line: indentation, the dash of an item, a quote.
pub(super) fn is_line_lead(text: &str) -> bool {
    text.chars().all(|c| matches!(c, ' ' | '\t' | '-' | '*' | '+' | '>' | '#' | '"' | '\'' | '`' | '_' | '•'))
}

/// Returns the offset of the end of the line at an offset.
pub(super) fn line_end(text: &str, at: usize) -> usize {
    let rest = text.as_bytes().get(at..).unwrap_or_default();
    memchr::memchr(b'\n', rest).map_or(text.len(), |len| at + len)
}

/// Returns the bytes of an item of a list, up to the comma or the bracket after it, or `None` if it does not end.
pub(super) fn item_len(text: &str) -> Option<usize> {
    let (mut depth, mut quote) = (0_usize, None);
    let mut bytes = text.bytes().take(MAX_ITEM_BYTES).enumerate();
    while let Some((at, byte)) = bytes.next() {
        match (quote, byte) {
            (Some(_), b'\\') => drop(bytes.next()),
            (Some(open), _) if byte == open => quote = None,
            (None, b'\'' | b'"' | b'`') => quote = Some(byte),
            (None, b'(' | b'[' | b'{') => depth += 1,
            (None, b',' | b')' | b']' | b'}') if depth == 0 => return Some(at),
            (None, b')' | b']' | b'}') => depth -= 1,
            _ => {}
        }
    }
    None
}
