//! Splits a statement into tokens. Every byte of the statement is in exactly one token.

use std::ops::Range;

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// White space, or a comment.
    Space,
    /// A keyword or an unquoted name.
    Word,
    /// A name in quotes: `"a"`, `` `a` `` or `[a]`.
    QuotedName,
    /// A text in single quotes.
    Text,
    /// A number.
    Number,
    /// A parameter: `:name`.
    Param,
    /// An operator or another sign.
    Sign,
}

/// A token and the bytes that it covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) range: Range<usize>,
}

/// Signs of several characters, longer ones before their beginnings.
const SIGNS: [&str; 16] =
    ["!~*", "->>", "!~", "~*", "->", "::", "||", "<=", ">=", "<>", "!=", "==", "<<", ">>", "=>", ":="];

/// Splits a statement into tokens.
pub(crate) fn tokens(sql: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some((kind, length)) = sql.get(at..).and_then(first_token) {
        tokens.push(Token { kind, range: at..at + length });
        at += length;
    }
    tokens
}

/// Returns the texts in single quotes of a statement, without the outer quotes.
pub(crate) fn string_literals(sql: &str) -> Vec<&str> {
    let texts = tokens(sql).into_iter().filter(|token| token.kind == TokenKind::Text);
    texts.filter_map(|token| sql.get(token.range)).map(|text| text.trim_matches('\'')).collect()
}

/// Returns the offsets of the words of a statement.
pub(crate) fn word_offsets(sql: &str) -> Vec<usize> {
    let words = tokens(sql).into_iter().filter(|token| token.kind == TokenKind::Word);
    words.map(|token| token.range.start).collect()
}

/// Returns the kind and the length of the token at the beginning of a text.
fn first_token(text: &str) -> Option<(TokenKind, usize)> {
    let first = text.chars().next()?;
    let found = match first {
        c if c.is_ascii_whitespace() => (TokenKind::Space, run(text, |c| c.is_ascii_whitespace())),
        '-' if text.starts_with("--") => (TokenKind::Space, text.find('\n').unwrap_or(text.len())),
        '/' if text.starts_with("/*") => {
            (TokenKind::Space, text[2..].find("*/").map_or(text.len(), |at| at + 4))
        }
        '\'' => (TokenKind::Text, quoted(text, '\'')),
        '"' | '`' => (TokenKind::QuotedName, quoted(text, first)),
        '[' => (TokenKind::QuotedName, text.find(']').map_or(text.len(), |at| at + 1)),
        c if c.is_ascii_digit() => (TokenKind::Number, number(text)),
        '.' if text[1..].starts_with(|c: char| c.is_ascii_digit()) => (TokenKind::Number, number(text)),
        c if is_word(c) => (TokenKind::Word, run(text, |c| is_word(c) || c.is_ascii_digit() || c == '$')),
        ':' | '@' | '$' | '#' | '?' if text[1..].starts_with(|c| is_word(c) || c.is_ascii_digit()) => {
            (TokenKind::Param, 1 + run(&text[1..], |c| is_word(c) || c.is_ascii_digit()))
        }
        _ => {
            let long = SIGNS.iter().find(|sign| text.starts_with(**sign));
            (TokenKind::Sign, long.map_or(first.len_utf8(), |sign| sign.len()))
        }
    };
    Some(found)
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_' || !c.is_ascii()
}

/// Returns the length of the characters at the beginning that satisfy a condition.
fn run(text: &str, is_in: impl Fn(char) -> bool) -> usize {
    text.find(|c| !is_in(c)).unwrap_or(text.len())
}

/// Returns the length of a quoted text, in which a doubled quote stands for one.
fn quoted(text: &str, quote: char) -> usize {
    let mut at = 1;
    loop {
        match text[at..].find(quote) {
            None => return text.len(),
            Some(end) if text[at + end + 1..].starts_with(quote) => at += end + 2,
            Some(end) => return at + end + 1,
        }
    }
}

/// Returns the length of a number: `1`, `1.5e-3`, `0x1F`.
fn number(text: &str) -> usize {
    let length = run(text, |c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_'));
    let has_exponent = text[..length].ends_with(['e', 'E']) && !text.starts_with("0x");
    if has_exponent && text[length..].starts_with(['+', '-']) {
        return length + 1 + run(&text[length + 1..], |c| c.is_ascii_digit());
    }
    length
}
