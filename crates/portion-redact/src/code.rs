//! Tells values from source code. In a program a secret is in quotes; what has none is an expression.

use super::name::{is_in, normalized_words, secret_kind};
use super::value::is_identifier;

/// Objects of programs whose members hold values.
const PROGRAM_OBJECTS: &str = "self this cls super req request res response ctx context config cfg conf settings process os env args \
    argv opts options params props state app user data event body session client input var local module secrets vars steps needs \
    github values form";
/// First words of expressions.
const CODE_WORDS: &str =
    "await new not return if else lambda func function fn yield typeof async throw raise in";

/// First words of lines of programs.
const STATEMENT_WORDS: &str = "pub fn let impl use mod struct enum trait def class import const var func function public private \
    protected package static return namespace typedef interface extern async type #include #define #[cfg #[derive";
/// Ends of lines of programs.
const LINE_ENDS: [&str; 6] = ["{", "}", "},", "),", "):", "=>"];
/// Maximum lines that are read to tell whether a text is source code, and the share of those that must look so, in percent.
const MAX_LINES: usize = 2_000;
const MIN_CODE_PERCENT: usize = 30;

/// Returns true if a text is source code: many lines end or begin as those of programs do.
pub(super) fn is_source_code(text: &str) -> bool {
    let (mut lines, mut alike, mut is_certain) = (0, 0, false);
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()).take(MAX_LINES) {
        let first = line.split([' ', '(', '!', ':']).next().unwrap_or_default();
        let is_comment =
            line.starts_with("//") || line.starts_with("* ") || line == "*/" || line.starts_with("/*");
        let is_statement = line.ends_with(';') || first.len() < line.len() && is_in(STATEMENT_WORDS, first);
        let is_alike =
            is_statement || LINE_ENDS.iter().any(|end| line.ends_with(end)) || line.starts_with("#[");
        is_certain |= is_statement && !is_comment;
        lines += usize::from(!is_comment);
        alike += usize::from(is_alike && !is_comment);
    }
    is_certain && alike * 100 >= lines * MIN_CODE_PERCENT
}

/// Returns true for a part of source code.
pub(super) fn is_code(name: &str, value: &str, separator: &str, after: &str) -> bool {
    let is_path_char = |c: char| c.is_alphanumeric() || "_.:$@".contains(c);
    let content = value.trim_start_matches(['&', '*', '!', '(', '-']);
    let content = content.strip_prefix("mut ").unwrap_or(content);
    let len = content.find(|c: char| !is_path_char(c)).unwrap_or(content.len());
    let head = content[..len].trim_end_matches([':', '.']).trim_start_matches(['$', '@']);
    let rest = if len < content.len() { &content[len..] } else { after };
    if head.is_empty() {
        return value.starts_with(['=', '(', '{']) && separator != ":";
    }
    let has_digit = head.bytes().any(|byte| byte.is_ascii_digit());
    let mut segments = head.split(['.', ':']).filter(|segment| !segment.is_empty());
    let is_of_names = segments.clone().all(is_identifier);
    let first = segments.clone().next().unwrap_or_default();
    let is_path = segments.nth(1).is_some() && is_of_names;
    let ends = rest.trim_start_matches([' ', '\t']).is_empty()
        || rest.trim_start().starts_with([';', ',', ')', '}', '|', '&', '?', '+', '\n', '\r']);
    if is_of_names
        && (head.len() > 1 && rest.starts_with(['(', '['])
            || rest.starts_with('<')
                && !has_digit
                && first.starts_with(char::is_uppercase)
                && !rest.starts_with("</")
                && !rest.starts_with("<br"))
    {
        return true;
    }
    if is_path
        && (!has_digit || is_in(PROGRAM_OBJECTS, &first.to_lowercase()))
        && (ends || rest.starts_with(' '))
    {
        return true;
    }
    if is_in(CODE_WORDS, first) && rest.starts_with(' ') {
        return true;
    }
    if !is_identifier(head)
        || has_digit
        || content[len..].starts_with(|c: char| !c.is_whitespace() && !",;)".contains(c))
    {
        return false;
    }
    let rest = rest.trim_start_matches([' ', '\t']);
    let is_named_after = head == name || normalized_words(head).len() > 1 && secret_kind(head).is_some();
    let is_type = separator.starts_with(':')
        && head.starts_with(char::is_uppercase)
        && head.contains(char::is_lowercase)
        && (rest.starts_with([',', ')', '=', '{', '|', '?']) || rest.starts_with(';'));
    let is_statement = rest.starts_with(';') && separator.contains('=') && separator.contains(' ');
    is_named_after || is_type || is_statement || separator.contains(":=")
}
