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
    pub(crate) comparison: Option<TextComparison>,
    /// Column of `column < value` or `column BETWEEN a AND b`.
    pub(crate) range: Option<String>,
}

/// A comparison of a column with a text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TextComparison {
    pub(crate) column: String,
    pub(crate) text: String,
    /// True for `=` and `IN`, false for `<>`, `LIKE` and what `NOT` negates.
    pub(crate) is_equality: bool,
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

/// Reads the WHERE clause of the outermost SELECT, or of the only SELECT in it if it has none; `None` if there is none.
/// Conditions that are joined by `OR` are conditions of their own.
pub(crate) fn parse(sql: &str) -> Option<WhereClause> {
    let mut sql = sql;
    loop {
        let edits = Edits::new(sql);
        let outside = outside_of_parentheses(&edits);
        if outside.iter().any(|at| edits.is_word_of(*at, "union intersect except")) {
            return None;
        }
        let find = |word: &str| outside.iter().copied().find(|at| edits.is_word(*at, word));
        let (select, from) = (find("select")?, find("from")?);
        if let Some(start) = find("where") {
            return (from < start).then(|| clause(&edits, &outside, (select, from, start)));
        }
        let is_subquery = |at: &&usize| edits.is_sign(**at, "(") && edits.is_word(*at + 1, "select");
        let mut subqueries = outside.iter().filter(is_subquery);
        let (open, None) = (*subqueries.next()?, subqueries.next()) else { return None };
        sql = edits.text_between(open + 1, edits.partner(open)?);
    }
}

/// Reads the WHERE clause at `start`; `select` and `from` are the words before it.
fn clause(edits: &Edits<'_>, outside: &[usize], (select, from, start): (usize, usize, usize)) -> WhereClause {
    let is_end = |at: &usize| {
        *at > start && (edits.is_word_of(*at, "group order limit having window") || edits.is_sign(*at, ";"))
    };
    let end = outside.iter().copied().find(is_end).unwrap_or(edits.len());
    let mut clause = WhereClause {
        with: edits.text_between(0, select).to_owned(),
        from: edits.text_between(from, start).to_owned(),
        conditions: Vec::new(),
    };
    let (mut begin, mut in_between) = (start + 1, false);
    for at in outside.iter().copied().filter(|at| (start + 1..end).contains(at)).chain([end]) {
        in_between |= edits.is_word(at, "between");
        if at != end && !edits.is_word_of(at, "and or") {
            continue;
        }
        if in_between && at != end && edits.is_word(at, "and") {
            in_between = false;
            continue;
        }
        clause.conditions.push(Condition {
            text: edits.text_between(begin, at).trim().to_owned(),
            comparison: comparison(edits, begin, at),
            range: range(edits, begin),
        });
        begin = at + 1;
    }
    clause
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

fn comparison(edits: &Edits<'_>, start: usize, end: usize) -> Option<TextComparison> {
    let is_text = |at: usize| edits.kind(at) == Some(TokenKind::Text);
    let plain = |at: usize| edits.text(at).trim_matches('\'').replace("''", "'");
    let is_negated = edits.is_word(start, "not");
    let start = start + usize::from(is_negated);
    // `column IN ('a', 'b')`
    if edits.is_sign(end.checked_sub(1)?, ")")
        && let Some(open) = edits.partner(end - 1).filter(|open| *open > start + 1)
        && edits.is_word(open - 1, "in")
        && is_text(open + 1)
        && edits.operand_start(open - 2) == Some(start)
    {
        let column = edits.text_between(start, open - 1).trim().to_owned();
        return Some(TextComparison { column, text: plain(open + 1), is_equality: !is_negated });
    }
    let is_equal = |sign: usize| edits.is_sign(sign, "=") || edits.is_sign(sign, "==");
    let is_other = |sign: usize| {
        edits.is_sign(sign, "<>") || edits.is_sign(sign, "!=") || edits.is_word_of(sign, "like glob regexp")
    };
    let sign = end.checked_sub(2).filter(|sign| is_equal(*sign) || is_other(*sign))?;
    if !is_text(end - 1) && !edits.is_word_of(end - 1, "true false")
        || edits.operand_start(sign.checked_sub(1)?)? != start
    {
        return None;
    }
    let is_name = matches!(edits.kind(sign - 1), Some(TokenKind::Word | TokenKind::QuotedName));
    is_name.then(|| TextComparison {
        column: edits.text_between(start, sign).trim().to_owned(),
        text: plain(end - 1),
        is_equality: is_equal(sign) && !is_negated,
    })
}
