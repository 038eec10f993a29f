//! Rewrites operators of other dialects: `~`, `~*`, `ILIKE`, and `INTERVAL` beside `+` and `-`.

use super::edits::Edits;
use super::token::TokenKind;

/// Rewrites a sign.
pub(super) fn sign(edits: &mut Edits<'_>, at: usize, is_date_column: &dyn Fn(&str) -> bool) {
    let is_binary = || at > 0 && edits.ends_expression(at - 1);
    match edits.text(at) {
        "~" if is_binary() => edits.replace(at, " REGEXP "),
        "~*" if is_binary() => edits.replace(at, " REGEXP '(?i)' || "),
        "!~" if is_binary() => edits.replace(at, " NOT REGEXP "),
        "!~*" if is_binary() => edits.replace(at, " NOT REGEXP '(?i)' || "),
        "+" if is_binary() => days(edits, at),
        "-" if is_binary() => subtract(edits, at, is_date_column),
        _ => {}
    }
}

/// Rewrites a difference with dates.
fn subtract(edits: &mut Edits<'_>, sign: usize, is_date_column: &dyn Fn(&str) -> bool) {
    if !subtract_columns(edits, sign, is_date_column) {
        days(edits, sign);
    }
}

/// Rewrites the difference of two columns with dates, which SQLite reads as the difference of two years.
fn subtract_columns(edits: &mut Edits<'_>, sign: usize, is_date_column: &dyn Fn(&str) -> bool) -> bool {
    let is_name = |at: usize| matches!(edits.kind(at), Some(TokenKind::Word | TokenKind::QuotedName));
    let mut end = sign + 1;
    while is_name(end) && edits.is_sign(end + 1, ".") && is_name(end + 2) {
        end += 2;
    }
    let Some(start) = edits.operand_start(sign - 1).filter(|_| is_name(sign - 1) && is_name(end)) else {
        return false;
    };
    if edits.is_sign(end + 1, "(") || edits.is_sign(end + 1, "::") {
        return false;
    }
    let name = |from: usize, to: usize| {
        let parts = (from..to).step_by(2).map(|at| edits.text(at).trim_matches(['"', '`', '[', ']']));
        parts.collect::<Vec<_>>().join(".")
    };
    if !is_date_column(&name(start, sign)) || !is_date_column(&name(sign + 1, end + 1)) {
        return false;
    }
    edits.insert_before(start, "date_minus(");
    edits.replace(sign, ",");
    edits.insert_after(end, ")");
    edits.set_expression(start, end, false);
    true
}

/// Rewrites a date plus or minus a number of days, or a product with one.
fn days(edits: &mut Edits<'_>, sign: usize) {
    let is_number = edits.kind(sign + 1) == Some(TokenKind::Number);
    if !is_number || !edits.is_date(sign - 1) {
        return;
    }
    let Some(start) = edits.operand_start(sign - 1) else { return };
    let minus = if edits.is_sign(sign, "-") { "-" } else { "" };
    let mut last = sign + 1;
    while let Some(end) = edits.operand_end(last + 2)
        && ["*", "/", "%"].iter().any(|operator| edits.is_sign(last + 1, operator))
    {
        last = end;
    }
    if last > sign + 1 {
        edits.insert_before(start, "date_shift(");
        edits.replace(sign, format!(", ({minus}("));
        edits.insert_after(last, ")) || ' day')");
        edits.set_expression(start, last, true);
        return;
    }
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
        edits.set_expression(start, last, false);
    } else {
        edits.remove(at, last);
        edits.replace(at, format!("'{text}'"));
        edits.set_expression(at, last, false);
    }
}
