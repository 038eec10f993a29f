//! A statement that is being rewritten: its tokens, and the changes to them.

use std::borrow::Cow;
use std::collections::HashMap;

use super::token::{Token, TokenKind, tokens};

/// A statement and the changes to its tokens. Positions count the tokens that are not white space.
pub(super) struct Edits<'a> {
    sql: &'a str,
    all: Vec<Token>,
    /// Indexes in `all` of the tokens that are not white space.
    code: Vec<usize>,
    /// The closing parenthesis or `END` of each opening one or `CASE`, and the reverse.
    partners: HashMap<usize, usize>,
    changes: HashMap<usize, Change>,
    /// Begin of each expression that was rewritten, by its last token, and whether its value is a date.
    expressions: HashMap<usize, (usize, bool)>,
}

/// The change of one token.
#[derive(Default)]
struct Change {
    /// Texts before it, the last one added first.
    before: Vec<Cow<'static, str>>,
    replacement: Option<Cow<'static, str>>,
    after: Vec<Cow<'static, str>>,
}

/// Keywords that may precede an opening parenthesis without being the name of a function.
const NO_FUNCTIONS: &str = "select where and or not in on by having case when then else from as values like ilike \
    glob regexp rlike between distinct all limit offset union except intersect is using join escape with";
/// Signs that compare two values.
const COMPARISONS: [&str; 8] = ["=", "==", "<", "<=", ">", ">=", "<>", "!="];

impl<'a> Edits<'a> {
    pub(super) fn new(sql: &'a str) -> Self {
        let all = tokens(sql);
        let code = (0..all.len()).filter(|at| all[*at].kind != TokenKind::Space).collect();
        let (partners, changes, expressions) = (HashMap::new(), HashMap::new(), HashMap::new());
        let mut edits = Self { sql, all, code, partners, changes, expressions };
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
        self.code.len()
    }

    pub(super) fn kind(&self, at: usize) -> Option<TokenKind> {
        self.code.get(at).map(|at| self.all[*at].kind)
    }

    /// Returns the text of a token as written; empty past the end.
    pub(super) fn text(&self, at: usize) -> &'a str {
        let range = self.code.get(at).map_or(0..0, |at| self.all[*at].range.clone());
        self.sql.get(range).unwrap_or_default()
    }

    /// Returns the offset of a token in the statement; its length past the end.
    pub(super) fn offset(&self, at: usize) -> usize {
        self.code.get(at).map_or(self.sql.len(), |at| self.all[*at].range.start)
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

    /// Returns true if the sign at a position compares two values.
    pub(super) fn is_comparison(&self, at: usize) -> bool {
        COMPARISONS.iter().any(|sign| self.is_sign(at, sign))
    }

    /// Returns true if the sign at a position is `=` or `==`.
    pub(super) fn is_equality(&self, at: usize) -> bool {
        self.is_sign(at, "=") || self.is_sign(at, "==")
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

    /// Returns the commas between the arguments of a call.
    pub(super) fn commas(&self, name: usize) -> Vec<usize> {
        self.find_in_call(name, |at| self.is_sign(at, ","))
    }

    /// Returns the tokens of a call that satisfy a condition, outside of inner parentheses.
    pub(super) fn find_in_call(&self, name: usize, is_wanted: impl Fn(usize) -> bool) -> Vec<usize> {
        let Some(end) = self.call_end(name) else { return Vec::new() };
        let (mut found, mut at) = (Vec::new(), name + 2);
        while at < end {
            if is_wanted(at) {
                found.push(at);
            }
            at = self.partner(at).filter(|close| *close > at).unwrap_or(at) + 1;
        }
        found
    }

    pub(super) fn replace(&mut self, at: usize, by: impl Into<Cow<'static, str>>) {
        self.changes.entry(at).or_default().replacement = Some(by.into());
    }

    /// Returns true if a token is replaced or removed.
    pub(super) fn is_replaced(&self, at: usize) -> bool {
        self.changes.get(&at).is_some_and(|change| change.replacement.is_some())
    }

    pub(super) fn remove(&mut self, from: usize, to: usize) {
        (from..=to).for_each(|at| self.replace(at, ""));
    }

    pub(super) fn insert_before(&mut self, at: usize, text: impl Into<Cow<'static, str>>) {
        self.changes.entry(at).or_default().before.push(text.into());
    }

    pub(super) fn insert_after(&mut self, at: usize, text: impl Into<Cow<'static, str>>) {
        self.changes.entry(at).or_default().after.push(text.into());
    }

    /// Records that the tokens from `start` to `end` became one expression.
    pub(super) fn set_expression(&mut self, start: usize, end: usize, is_date: bool) {
        self.expressions.insert(end, (start, is_date));
    }

    /// Returns the first token of the rewritten expression that ends at a token, and whether it is a date.
    pub(super) fn expression(&self, end: usize) -> Option<(usize, bool)> {
        self.expressions.get(&end).copied()
    }

    /// Returns the last token of the operand that begins at a token, as far as it was rewritten, with `OVER (…)`
    /// and `FILTER (…)`.
    pub(super) fn expression_end(&self, start: usize) -> Option<usize> {
        let rewritten =
            self.expressions.iter().filter(|(_, (first, _))| *first == start).map(|(end, _)| *end).max();
        let mut end = rewritten.max(self.operand_end(start))?;
        while self.is_word_of(end + 1, "over filter")
            && let Some(close) = self.call_end(end + 1)
        {
            end = close;
        }
        Some(end)
    }

    /// Returns true if an expression may end at a token.
    pub(super) fn ends_expression(&self, at: usize) -> bool {
        self.operand_start(at).is_some()
    }

    /// Returns the first token of the operand that ends at a token: a name, a literal, a call or parentheses.
    pub(super) fn operand_start(&self, end: usize) -> Option<usize> {
        let mut at = end;
        // Every round goes back by at least one token.
        loop {
            if let Some((start, _)) = self.expressions.get(&at) {
                return Some(*start);
            }
            match self.kind(at)? {
                TokenKind::Text | TokenKind::Number | TokenKind::Param => return Some(at),
                TokenKind::Word if self.is(at, "end") => return self.partner(at),
                TokenKind::Word if self.is_word_of(at, NO_FUNCTIONS) => return None,
                TokenKind::Word | TokenKind::QuotedName => break,
                TokenKind::Sign if self.text(at) == ")" => {
                    at = self.partner(at)?;
                    let Some(before) = at.checked_sub(1) else { return Some(at) };
                    if self.is_word_of(before, "over filter") {
                        at = before.checked_sub(1)?;
                        continue;
                    }
                    let is_name = match self.kind(before) {
                        Some(TokenKind::Word) => !self.is_word_of(before, NO_FUNCTIONS),
                        Some(TokenKind::QuotedName) => true,
                        _ => false,
                    };
                    return Some(if is_name { before } else { at });
                }
                TokenKind::Sign | TokenKind::Space => return None,
            }
        }
        while at >= 2 && self.is_sign(at - 1, ".") {
            at -= 2;
        }
        Some(at)
    }

    /// Returns the last token of the operand that begins at a token: a name, a literal, a call or parentheses.
    pub(super) fn operand_end(&self, start: usize) -> Option<usize> {
        match self.kind(start)? {
            TokenKind::Text | TokenKind::Number | TokenKind::Param => Some(start),
            TokenKind::Word
                if self.is_word_of(start, "date timestamp timestamptz datetime")
                    && self.kind(start + 1) == Some(TokenKind::Text) =>
            {
                Some(start + 1)
            }
            TokenKind::Word | TokenKind::QuotedName if !self.is_word_of(start, NO_FUNCTIONS) => {
                let mut last = start;
                while self.is_sign(last + 1, ".") {
                    last += 2;
                }
                self.call_end(last).or(Some(last))
            }
            TokenKind::Sign if self.text(start) == "(" => self.partner(start),
            _ => None,
        }
    }

    /// Returns the statement with the changes; `None` if there are none.
    pub(super) fn apply(&self) -> Option<String> {
        if self.changes.is_empty() {
            return None;
        }
        let mut out = String::with_capacity(self.sql.len() * 2);
        let mut position = 0;
        for (index, token) in self.all.iter().enumerate() {
            let text = &self.sql[token.range.clone()];
            let change = if self.code.get(position) == Some(&index) {
                position += 1;
                self.changes.get(&(position - 1))
            } else {
                None
            };
            let Some(change) = change else {
                out.push_str(text);
                continue;
            };
            change.before.iter().rev().for_each(|text| out.push_str(text));
            out.push_str(change.replacement.as_deref().unwrap_or(text));
            change.after.iter().for_each(|text| out.push_str(text));
        }
        Some(out)
    }
}
