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
        "+" | "-" if is_binary() => days(edits, at),
        _ => {}
    }
}

/// Rewrites a date plus or minus a number of days.
fn days(edits: &mut Edits<'_>, sign: usize) {
    let is_number = edits.kind(sign + 1) == Some(TokenKind::Number);
    if !is_number || !edits.is_date(sign - 1) {
        return;
    }
    let Some(start) = edits.operand_start(sign - 1) else { return };
    let minus = if edits.is_sign(sign, "-") { "-" } else { "" };
    let shift = format!(", '{minus}{} day')", edits.text(sign + 1));
    edits.insert_before(start, "date_shift(");
    edits.remove(sign, sign + 1);
    edits.insert_after(sign + 1, shift);
    edits.set_expression(start, sign + 1, true);
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
    if value.contains('\'') {
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
        edits.set_expression(start, last, false);
    } else {
        edits.remove(at, last);
        edits.replace(at, format!("'{text}'"));
        edits.set_expression(at, last, false);
    }
}
