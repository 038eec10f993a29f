//! Splits the WHERE clause of a statement into its conditions.

use super::edits::Edits;
use super::token::TokenKind;

/// The conditions of a statement that are joined by AND, and what they apply to.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct WhereClause {
    /// The text before the outermost SELECT: `WITH a AS (…)`.
    with: String,
    /// The text from FROM to WHERE.
    from: String,
    pub(crate) conditions: Vec<Condition>,
}

/// One condition.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Condition {
    pub(crate) text: String,
    /// Column and text of `column = 'text'`.
    pub(crate) equality: Option<(String, String)>,
    /// Column of `column < value` or `column BETWEEN a AND b`.
    pub(crate) range: Option<String>,
}

impl WhereClause {
    /// Returns a statement that counts the rows that satisfy a condition.
    pub(crate) fn count(&self, condition: &Condition) -> String {
        format!("{}SELECT count(*) {}WHERE {}", self.with, self.from, condition.text)
    }

    /// Returns a statement for the least and the greatest value of a column.
    pub(crate) fn extent(&self, column: &str) -> String {
        format!("{}SELECT min({column}), max({column}) {}", self.with, self.from)
    }

    /// Returns a statement that lists some values of a column.
    pub(crate) fn values(&self, column: &str, most: usize) -> String {
        format!("{}SELECT DISTINCT {column} {}WHERE {column} IS NOT NULL LIMIT {most}", self.with, self.from)
    }
}

/// Reads the WHERE clause of the outermost SELECT; `None` if there is none, or if it is not a list of conditions.
pub(crate) fn parse(sql: &str) -> Option<WhereClause> {
    let edits = Edits::new(sql);
    let outside = outside_of_parentheses(&edits);
    let is_any = |at: &usize, words: &str| edits.is_word_of(*at, words);
    if outside.iter().any(|at| is_any(at, "union intersect except")) {
        return None;
    }
    let find = |word: &str| outside.iter().copied().find(|at| edits.is_word(*at, word));
    let (select, from, start) = (find("select")?, find("from")?, find("where")?);
    let is_end = |at: &usize| {
        *at > start && (is_any(at, "group order limit having window") || edits.is_sign(*at, ";"))
    };
    let end = outside.iter().copied().find(is_end).unwrap_or(edits.len());
    let inside: Vec<usize> = outside.iter().copied().filter(|at| (start + 1..end).contains(at)).collect();
    if from > start || inside.iter().any(|at| edits.is_word(*at, "or")) {
        return None;
    }
    let mut clause = WhereClause {
        with: edits.text_between(0, select).to_owned(),
        from: edits.text_between(from, start).to_owned(),
        conditions: Vec::new(),
    };
    let (mut begin, mut in_between) = (start + 1, false);
    for at in inside.into_iter().chain([end]) {
        in_between |= edits.is_word(at, "between");
        if at != end && !edits.is_word(at, "and") {
            continue;
        }
        if in_between && at != end {
            in_between = false;
            continue;
        }
        let text = edits.text_between(begin, at).trim().to_owned();
        clause.conditions.push(Condition {
            text,
            equality: equality(&edits, begin, at),
            range: range(&edits, begin),
        });
        begin = at + 1;
    }
    Some(clause)
}

fn range(edits: &Edits<'_>, start: usize) -> Option<String> {
    let end = edits.operand_end(start)?;
    // Times of different forms are compared by their keys.
    let (first, last) = if edits.is_word(start, "time_key") { (start + 2, end - 1) } else { (start, end) };
    let is_column = matches!(edits.kind(first), Some(TokenKind::Word | TokenKind::QuotedName))
        && edits.operand_end(first) == Some(last)
        && edits.call_end(last).is_none()
        && !edits.is_sign(last, ")");
    let is_range = ["<", ">", "<=", ">="].iter().any(|sign| edits.is_sign(end + 1, sign))
        || edits.is_word(end + 1, "between");
    (is_column && is_range).then(|| edits.text_between(first, last + 1).trim().to_owned())
}

/// Returns the tokens that are not in parentheses.
pub(super) fn outside_of_parentheses(edits: &Edits<'_>) -> Vec<usize> {
    let (mut found, mut at) = (Vec::new(), 0);
    while at < edits.len() {
        found.push(at);
        at = edits.partner(at).filter(|close| *close > at).unwrap_or(at) + 1;
    }
    found
}

fn equality(edits: &Edits<'_>, start: usize, end: usize) -> Option<(String, String)> {
    let is_text = |at: usize| edits.kind(at) == Some(TokenKind::Text);
    let plain = |at: usize| edits.text(at).trim_matches('\'').replace("''", "'");
    // `column IN ('a', 'b')`
    if edits.is_sign(end.checked_sub(1)?, ")")
        && let Some(open) = edits.partner(end - 1).filter(|open| *open > start + 1)
        && edits.is_word(open - 1, "in")
        && is_text(open + 1)
        && edits.operand_start(open - 2) == Some(start)
    {
        return Some((edits.text_between(start, open - 1).trim().to_owned(), plain(open + 1)));
    }
    let sign = end.checked_sub(2).filter(|sign| edits.is_sign(*sign, "=") || edits.is_sign(*sign, "=="))?;
    if !is_text(end - 1) && !edits.is_word_of(end - 1, "true false")
        || edits.operand_start(sign.checked_sub(1)?)? != start
    {
        return None;
    }
    let is_name = matches!(edits.kind(sign - 1), Some(TokenKind::Word | TokenKind::QuotedName));
    is_name.then(|| (edits.text_between(start, sign).trim().to_owned(), plain(end - 1)))
}
