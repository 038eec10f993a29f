//! Rewrites operators of other dialects: `~`, `~*`, `ILIKE`, and `INTERVAL` beside `+` and `-`.

use super::edits::Edits;
use super::token::TokenKind;

/// Rewrites a sign.
pub(super) fn sign(edits: &mut Edits<'_>, at: usize) {
    let is_binary = || at > 0 && edits.ends_expression(at - 1);
    match edits.text(at) {
        "~" if is_binary() => edits.replace(at, " REGEXP "),
        "~*" if is_binary() => edits.replace(at, " REGEXP '(?i)' || "),
        "!~" if is_binary() => edits.replace(at, " NOT REGEXP "),
        "!~*" if is_binary() => edits.replace(at, " NOT REGEXP '(?i)' || "),
        _ => {}
    }
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

/// Rewrites `INTERVAL '7 days'` and `INTERVAL 7 DAY`: beside `+` or `-` to a call, else to a text.
pub(super) fn interval(edits: &mut Edits<'_>, at: usize) {
    let negative = edits.is_sign(at + 1, "-");
    let amount = at + 1 + usize::from(negative);
    let has_unit = super::dates::is_unit(edits, amount + 1);
    let (value, last) = match edits.kind(amount) {
        Some(TokenKind::Text) => (edits.text(amount).trim_matches('\''), amount + usize::from(has_unit)),
        Some(TokenKind::Number) if has_unit => (edits.text(amount), amount + 1),
        _ => return,
    };
    let unit = if has_unit { edits.text(amount + 1) } else { "" };
    // A multiple of an interval stays as it is, which is a syntax error: `date - text * 30` would be a number.
    let is_multiplied = edits.is_sign(last + 1, "*") || edits.is_sign(last + 1, "/");
    if value.contains('\'') || is_multiplied {
        return;
    }
    let minus = if negative { "-" } else { "" };
    let operand = at.checked_sub(2).filter(|_| edits.is_sign(at - 1, "+") || edits.is_sign(at - 1, "-"));
    let text = format!("{minus}{value} {unit}").trim_end().to_owned();
    if let Some(start) = operand.and_then(|operand| edits.operand_start(operand)) {
        let function = if edits.is_sign(at - 1, "-") { "date_sub(" } else { "date_shift(" };
        edits.insert_before(start, function);
        edits.replace(at - 1, ",");
        edits.remove(at, last);
        edits.insert_after(last, format!("'{text}')"));
        edits.set_expression(start, last, true);
    } else {
        edits.remove(at, last);
        edits.replace(at, format!("'{text}'"));
        edits.set_expression(at, last, false);
    }
}
