//! Finds where the value of a setting in text begins and ends.

use super::pair::is_phrase_name;
use super::pattern::is_in;

/// Maximum bytes before the first name of a line.
const MAX_LINE_LEAD: usize = 128;
/// Maximum words of a value that has its line to itself.
const MAX_VALUE_WORDS: usize = 6;
/// Maximum bytes of an item of a list.
const MAX_ITEM_BYTES: usize = 64 << 10;
/// Maximum bytes of the type in a declaration.
const MAX_TYPE_BYTES: usize = 64;
/// Maximum lines that continue a value.
const MAX_CONTINUED_LINES: usize = 64;
/// Maximum bytes of the prefix of a string: `X'00ff'`, `N'…'`, `rb"…"`, `U&'…'`, `$'…'`, `@"…"`.
const MAX_PREFIX_BYTES: usize = 2;
/// Maximum bytes of a name before the parenthesis around a string: `Some("…")`.
const MAX_CALLEE_BYTES: usize = 32;
/// Commands that often follow a setting of their environment: `TOKEN=… npm publish`.
const COMMANDS: &str =
    "bash cargo curl docker env git go java make node npm npx pg_dump pip psql python python3 sh";
/// Words of expressions in source code.
const CODE_WORDS: &str = "await else if new not return";
/// Values that are no secrets.
const LITERALS: &str = "False None True false nil null true";
const TRIPLE_QUOTES: [&str; 2] = ["\"\"\"", "'''"];

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
    pub(super) fn of_setting(text: &str, at: usize, name: &str, word: &str) -> Self {
        let before = line_before(text, at);
        let name_start = before.rfind(name).or_else(|| before.rfind(word));
        let lead = name_start.map(|start| &before[..start]);
        if lead.is_some_and(|lead| lead.ends_with('`')) && !before.ends_with('`') {
            return Self::Code;
        }
        if is_whole_line_field(name) {
            return Self::HeaderField;
        }
        let begins_line = |lead: &str| is_line_lead(lead) && !lead.contains(['"', '\'', '`']);
        let rest = || text[at + 1..].lines().next().unwrap_or_default();
        if text.as_bytes()[at] != b':' {
            // `spring.datasource.password=…`
            let is_path = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
            let lead = lead.map(|lead| lead.trim_end_matches(is_path));
            let is_line = lead.is_some_and(begins_line) && is_only_value(before, rest());
            return if is_line { Self::Line } else { Self::Word };
        }
        if !lead.is_some_and(begins_line) {
            return Self::Word;
        }
        let rest = rest();
        let is_one_value = || {
            rest.split_whitespace().nth(MAX_VALUE_WORDS).is_none()
                && !rest.contains('=')
                && !rest.trim_start_matches(['*', '_']).contains([':', ','])
        };
        if is_phrase_name(name) || is_one_value() { Self::Line } else { Self::Word }
    }
}

/// Returns true if the line after an equals sign contains nothing but a value: a few words, no other setting, no command.
fn is_only_value(before: &str, rest: &str) -> bool {
    let mut words = rest.split_whitespace();
    let is_option = |word: &str| word.len() > 1 && word.starts_with('-');
    let is_command = words.clone().nth(1).is_some_and(|word| {
        is_in(COMMANDS, word) || word.starts_with(['/', '.', '-', '&', '|', '#', '<', '>'])
    }) || words.clone().skip(2).any(is_option);
    // Code has spaces around the sign, and marks that a value without quotes hardly has.
    let is_spaced = before.ends_with([' ', '\t']) || rest.starts_with([' ', '\t']);
    let is_code = is_spaced
        && (rest.contains(|c: char| "()[]{};\"'`<>&|,:?+*".contains(c))
            || words.clone().any(|word| is_in(CODE_WORDS, word)));
    // `password=None,` and `token=None, n=1):` are arguments.
    let content = rest.trim();
    let argument = content.trim_end_matches([',', ';', ')']);
    let is_argument =
        argument.len() < content.len() && !argument.contains(|c: char| " ,;&\"'<>)}]".contains(c));
    let holds_setting = rest.trim_end_matches('=').contains('=');
    let first = rest.trim_start().split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    let is_argument = is_argument || is_in(LITERALS, first);
    words.nth(MAX_VALUE_WORDS).is_none() && !is_command && !is_code && !is_argument && !holds_setting
}

/// Returns the value after a separator: the text between quotes, or up to the end of its extent.
pub(super) fn value_after(text: &str, from: usize, extent: ValueExtent) -> Option<(usize, usize)> {
    let rest = text[from..].strip_prefix(['>', '=']).unwrap_or(&text[from..]);
    // A value in base64 has two colons before it in LDIF.
    let rest = rest.strip_prefix(':').filter(|rest| rest.starts_with(' ')).unwrap_or(rest);
    let content = skip_closing_marks(rest).trim_start_matches([' ', '\t']);
    let unescaped = content.strip_prefix('\\').filter(|content| content.starts_with('"')).unwrap_or(content);
    let unescaped = if extent == ValueExtent::Word { without_call(unescaped) } else { unescaped };
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

/// Returns the offset after the `=` in a declaration with a type: `password: string = "…"`.
pub(super) fn typed_value_start(text: &str, at: usize) -> Option<usize> {
    let rest = text[at..].strip_prefix(':')?;
    let near = &rest[..rest.floor_char_boundary(MAX_TYPE_BYTES)];
    let len = near.find(" = ")?;
    let is_type = |c: char| c.is_alphanumeric() || " _<>[]&'|.:?*".contains(c);
    let begins_string = rest[len + 3..].starts_with(['"', '\'', '`']);
    (begins_string && near[..len].chars().all(is_type)).then_some(at + 1 + len + 2)
}

/// Returns the array or object after a separator, up to its closing bracket or the end of the text.
pub(super) fn container_after(text: &str, from: usize) -> Option<(usize, usize)> {
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

/// Returns true for header fields whose value is the rest of the line.
pub(super) fn is_whole_line_field(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.ends_with("authorization") || name.ends_with("cookie")
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

/// Returns a string in SQL or in source code without its prefix.
fn without_literal_prefix(value: &str) -> &str {
    let bytes = value.as_bytes();
    let len = bytes.iter().take_while(|byte| byte.is_ascii_alphabetic() || b"&$@".contains(byte)).count();
    let Some(quote @ (b'"' | b'\'')) = bytes.get(len) else { return value };
    let is_prefix = (1..=MAX_PREFIX_BYTES).contains(&len)
        && bytes[..len].iter().all(|byte| b"bBeEfFnNrRuUxX&$@".contains(byte))
        && bytes[0] != b'&';
    if is_prefix && begins_string(&value[len..], *quote) { &value[len..] } else { value }
}

/// Returns a string in source code without the call around it: `Some("…")`, `Secret::new("…")`, `(u'…',)`.
fn without_call(value: &str) -> &str {
    let near = &value.as_bytes()[..value.len().min(MAX_CALLEE_BYTES)];
    let len = near.iter().take_while(|byte| byte.is_ascii_alphanumeric() || b"_:.".contains(byte)).count();
    let Some(argument) = value[len..].strip_prefix('(') else { return value };
    let string = without_literal_prefix(argument);
    let is_string = string
        .bytes()
        .next()
        .is_some_and(|quote| matches!(quote, b'"' | b'\'') && begins_string(string, quote));
    if is_string { string } else { value }
}

/// Returns true if a quote begins a string on its line. After a short word, it may close a string around that.
pub(super) fn begins_string(quoted: &str, quote: u8) -> bool {
    let inside = &quoted[1..];
    !inside.starts_with([' ', ',', ';', ')', ']', '}', '&', ':']) && quoted_len(inside, quote, false).1
}

/// Skips the marks that close a name after its separator: `**Password:** x`.
fn skip_closing_marks(rest: &str) -> &str {
    let after = |mark: &str| rest.strip_prefix(mark).filter(|after| after.starts_with([' ', '\t']));
    ["**", "__", "*", "_", "`"].into_iter().find_map(after).unwrap_or(rest)
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
