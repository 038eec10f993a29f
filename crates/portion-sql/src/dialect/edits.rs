//! A statement that is being rewritten without its tree: its tokens, and the changes to them.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

/// A statement and the changes to its tokens.
pub(super) struct Edits<'a> {
    sql: &'a str,
    /// Tokens other than white space.
    tokens: Vec<Token>,
    /// The closing parenthesis or `END` of each opening one or `CASE`, and the reverse.
    partners: HashMap<usize, usize>,
    /// Texts in place of tokens.
    replacements: HashMap<usize, Cow<'static, str>>,
}

impl<'a> Edits<'a> {
    pub(super) fn new(sql: &'a str) -> Self {
        let tokens = tokens(sql).filter(|token| token.kind != TokenKind::Space).collect();
        let mut edits = Self { sql, tokens, partners: HashMap::new(), replacements: HashMap::new() };
        edits.pair_up();
        edits
    }

    fn pair_up(&mut self) {
        let mut open: Vec<usize> = Vec::new();
        for at in 0..self.len() {
            if self.is_sign(at, "(") || self.is_word(at, "case") {
                open.push(at);
            } else if self.is_sign(at, ")") || self.is_word(at, "end") {
                let wanted = if self.is_sign(at, ")") { "(" } else { "case" };
                let Some(last) = open.last().copied().filter(|last| self.is(*last, wanted)) else { continue };
                open.pop();
                self.partners.insert(last, at);
                self.partners.insert(at, last);
            }
        }
    }

    pub(super) fn len(&self) -> usize {
        self.tokens.len()
    }

    pub(super) fn kind(&self, at: usize) -> Option<TokenKind> {
        self.tokens.get(at).map(|token| token.kind)
    }

    /// Returns the text of a token as written; empty past the end.
    pub(super) fn text(&self, at: usize) -> &'a str {
        let range = self.tokens.get(at).map_or(0..0, |token| token.range.clone());
        self.sql.get(range).unwrap_or_default()
    }

    /// Returns the offset of a token in the statement; its length past the end.
    pub(super) fn offset(&self, at: usize) -> usize {
        self.tokens.get(at).map_or(self.sql.len(), |token| token.range.start)
    }

    /// Returns the text between two tokens, the first one included.
    pub(super) fn text_between(&self, start: usize, end: usize) -> &'a str {
        self.sql.get(self.offset(start)..self.offset(end)).unwrap_or_default()
    }

    fn is(&self, at: usize, text: &str) -> bool {
        self.text(at).eq_ignore_ascii_case(text)
    }

    pub(super) fn is_word(&self, at: usize, word: &str) -> bool {
        self.kind(at) == Some(TokenKind::Word) && self.is(at, word)
    }

    pub(super) fn is_sign(&self, at: usize, sign: &str) -> bool {
        self.kind(at) == Some(TokenKind::Sign) && self.text(at) == sign
    }

    /// Returns true if the word at a position is one of these, separated by spaces.
    pub(super) fn is_word_of(&self, at: usize, words: &str) -> bool {
        self.kind(at) == Some(TokenKind::Word) && words.split(' ').any(|word| self.is(at, word))
    }

    /// Returns the parenthesis or `END` that belongs to one at a position.
    pub(super) fn partner(&self, at: usize) -> Option<usize> {
        self.partners.get(&at).copied()
    }

    /// Returns the closing parenthesis of a call whose name is at a position.
    pub(super) fn call_end(&self, name: usize) -> Option<usize> {
        self.is_sign(name + 1, "(").then(|| self.partner(name + 1)).flatten()
    }

    pub(super) fn replace(&mut self, at: usize, by: impl Into<Cow<'static, str>>) {
        self.replacements.insert(at, by.into());
    }

    pub(super) fn remove(&mut self, from: usize, to: usize) {
        (from..=to).for_each(|at| self.replace(at, ""));
    }

    /// Returns the statement with the changes; `None` if there are none.
    pub(super) fn apply(&self) -> Option<String> {
        if self.replacements.is_empty() {
            return None;
        }
        let (mut out, mut end) = (String::with_capacity(self.sql.len() * 2), 0);
        for (at, token) in self.tokens.iter().enumerate() {
            out.push_str(&self.sql[end..token.range.start]);
            out.push_str(self.replacements.get(&at).map_or(&self.sql[token.range.clone()], |text| text));
            end = token.range.end;
        }
        out.push_str(&self.sql[end..]);
        Some(out)
    }
}

/// A call that reads a value of a column as it is written.
static AS_WRITTEN: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?s)as_written\((.*?), '(?:[^']|'')*', '(?:[^']|'')*'\)"));

/// Returns a part of a statement as it was given: with values in place of the texts as which they are written.
pub(crate) fn as_given(written: &str) -> String {
    AS_WRITTEN.replace_all(written, "$1").into_owned()
}

/// Returns the words and signs of a statement in lower case, with one space around each; texts and quoted
/// names are left out.
pub(crate) fn normalized(sql: &str) -> String {
    let edits = Edits::new(sql);
    let mut out = String::from(" ");
    for at in 0..edits.len() {
        match edits.kind(at) {
            Some(TokenKind::Word | TokenKind::Number) => out.push_str(&edits.text(at).to_ascii_lowercase()),
            Some(TokenKind::Sign) => out.push_str(edits.text(at)),
            _ => out.push('?'),
        }
        out.push(' ');
    }
    out
}

/// Returns true if a statement gives a column this name and uses the name more than once. Its order does not count, in which
/// the name means the given one.
pub(crate) fn is_used_alias(sql: &str, name: &str) -> bool {
    let edits = Edits::new(sql);
    let is_order = |at: &usize| edits.is_word(*at, "order") && edits.is_word(at + 1, "by");
    let order = outside_of_parentheses(&edits).into_iter().rfind(is_order).unwrap_or(edits.len());
    let is_name = |at: &usize| edits.text(*at).trim_matches('"').eq_ignore_ascii_case(name);
    let (given, used): (Vec<usize>, Vec<usize>) =
        (1..order).filter(is_name).partition(|at| edits.is_word(at - 1, "as"));
    !given.is_empty() && used.len() > 1
}

/// Returns the first argument of the first call of one of these functions, if it is no call itself.
pub(crate) fn argument_of(sql: &str, functions: &str) -> Option<String> {
    let call = pattern(&format!(r"(?i)\b(?:{})\s*\(([^(),]*)[,)]", functions.replace(' ', "|")));
    Some(call.captures(sql)?[1].trim().replace('"', ""))
}

/// Returns the columns of the outermost SELECT as written, an alias included.
pub(crate) fn select_columns(sql: &str) -> Vec<&str> {
    let edits = Edits::new(sql);
    let outside = outside_of_parentheses(&edits);
    let find = |word: &str| outside.iter().copied().find(|at| edits.is_word(*at, word));
    let Some(select) = find("select") else { return Vec::new() };
    let from = find("from").unwrap_or(edits.len());
    let mut start = select + 1;
    if edits.is_word_of(start, "distinct all") {
        start += 1;
    }
    if edits.is_word(start, "top") {
        start = edits.call_end(start).unwrap_or(start + 1) + 1;
    }
    let is_end = |at: &usize| (start..from).contains(at) && edits.is_sign(*at, ",");
    let ends: Vec<usize> = outside.iter().copied().filter(is_end).chain([from]).collect();
    let mut columns = Vec::new();
    for end in ends {
        columns.push(edits.text_between(start, end).trim().trim_end_matches(';'));
        start = end + 1;
    }
    columns
}

/// Returns true if the token at an offset is compared with a value before it: `status = "new"`, `status IN ("new")`.
pub(crate) fn is_compared_value(sql: &str, offset: usize) -> bool {
    let edits = Edits::new(sql);
    let Some(mut before) =
        (0..edits.len()).find(|at| edits.offset(*at) == offset).and_then(|at| at.checked_sub(1))
    else {
        return false;
    };
    // A list of values: back to its beginning.
    while edits.is_sign(before, ",")
        && before >= 2
        && matches!(edits.kind(before - 1), Some(TokenKind::Text | TokenKind::QuotedName))
    {
        before -= 2;
    }
    let is_list = edits.is_sign(before, "(") && before > 0 && edits.is_word(before - 1, "in");
    let is_high = edits.is_word(before, "and") && before >= 2 && edits.is_word(before - 2, "between");
    is_list
        || is_high
        || ["=", "==", "<", "<=", ">", ">=", "<>", "!="].iter().any(|sign| edits.is_sign(before, sign))
        || edits.is_word_of(before, "like ilike glob regexp rlike between then else")
}

/// Returns the tokens that are not in parentheses.
fn outside_of_parentheses(edits: &Edits<'_>) -> Vec<usize> {
    let (mut found, mut at) = (Vec::new(), 0);
    while at < edits.len() {
        found.push(at);
        at = edits.partner(at).filter(|close| *close > at).unwrap_or(at) + 1;
    }
    found
}

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
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
struct Token {
    kind: TokenKind,
    range: Range<usize>,
}

/// Compiles a pattern that is part of the program.
pub(crate) fn pattern(written: &str) -> Regex {
    Regex::new(written).unwrap_or_else(|error| unreachable!("{error}"))
}

/// A token: white space or a comment, a text, a name in quotes, a number, a word, a parameter, or a sign.
static TOKEN: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"(?xs) [\x20\t\n\x0c\r]+ | --[^\n]* | /\*.*?(?:\*/|\z)
        | '(?:[^']|'')*'? | "(?:[^"]|"")*"? | `(?:[^`]|``)*`? | \[[^\]]*\]?
        | \.?[0-9](?:[0-9A-Za-z_.]*[eE][+-][0-9]*|[0-9A-Za-z_.]*)
        | [A-Za-z_\x{80}-\x{10ffff}][0-9A-Za-z_$\x{80}-\x{10ffff}]*
        | [:@$\#?][0-9A-Za-z_\x{80}-\x{10ffff}]+
        | !~\* | ->> | !~ | ~\* | -> | :: | \|\| | <= | >= | <> | != | == | << | >> | => | := | ."#,
    )
});

/// Splits a statement into tokens.
fn tokens(sql: &str) -> impl Iterator<Item = Token> {
    TOKEN.find_iter(sql).map(|found| {
        let token = found.as_str();
        let mut chars = token.chars();
        let is_word = |c: char| c.is_ascii_alphabetic() || c == '_' || !c.is_ascii();
        let (first, second) = (chars.next().unwrap_or_default(), chars.next());
        let kind = match first {
            _ if first.is_ascii_whitespace() || token.starts_with("--") || token.starts_with("/*") => {
                TokenKind::Space
            }
            '\'' => TokenKind::Text,
            '"' | '`' | '[' => TokenKind::QuotedName,
            '0'..='9' => TokenKind::Number,
            '.' if second.is_some() => TokenKind::Number,
            _ if is_word(first) => TokenKind::Word,
            _ if second.is_some_and(|c| is_word(c) || c.is_ascii_digit()) => TokenKind::Param,
            _ => TokenKind::Sign,
        };
        Token { kind, range: found.range() }
    })
}

/// Returns the token at the beginning of a text.
pub(crate) fn first_token(sql: &str) -> Option<&str> {
    TOKEN.find(sql).map(|found| found.as_str())
}

/// Returns the texts in single quotes of a statement, without the outer quotes.
pub(crate) fn string_literals(sql: &str) -> Vec<&str> {
    let texts = tokens(sql).filter(|token| token.kind == TokenKind::Text);
    texts.filter_map(|token| sql.get(token.range)).map(|text| text.trim_matches('\'')).collect()
}

/// Returns the offsets of the words of a statement.
pub(crate) fn word_offsets(sql: &str) -> Vec<usize> {
    let words = tokens(sql).filter(|token| token.kind == TokenKind::Word);
    words.map(|token| token.range.start).collect()
}
