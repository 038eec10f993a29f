//! Words and calls of a statement, without its tree.

use super::edits::Edits;
use super::token::TokenKind;

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

/// Returns true if a statement gives a column this name.
pub(crate) fn is_alias(sql: &str, name: &str) -> bool {
    let edits = Edits::new(sql);
    (1..edits.len())
        .any(|at| edits.is_word(at - 1, "as") && edits.text(at).trim_matches('"').eq_ignore_ascii_case(name))
}

/// Returns the first argument of the first call of one of these functions.
pub(crate) fn argument_of(sql: &str, functions: &str) -> Option<String> {
    let edits = Edits::new(sql);
    let name =
        (0..edits.len()).find(|at| edits.is_word_of(*at, functions) && edits.call_end(*at).is_some())?;
    let end = edits.commas(name).first().copied().or(edits.call_end(name))?;
    Some(edits.text_between(name + 2, end).trim().replace('"', ""))
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
    is_list || edits.is_comparison(before) || edits.is_word_of(before, "like ilike glob regexp rlike")
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
