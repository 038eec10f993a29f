//! Rewrites the syntax of date functions: `EXTRACT(year FROM d)`, `DATEDIFF(day, a, b)`, `DATE '2024-05-01'`.

use super::edits::Edits;
use super::token::TokenKind;

/// Units of time, and parts of dates.
const UNITS: &str = "microsecond microseconds millisecond milliseconds second seconds minute minutes hour hours day days \
    week weeks month months quarter quarters year years decade decades century dow isodow doy epoch isoyear \
    dayofweek dayofyear yy yyyy qq mm dd hh mi ss wk";

/// Functions with a unit that may be written without quotes, as the first or the last argument.
const WITH_UNITS: &str = "date_trunc datetrunc timestamp_trunc datetime_trunc date_part datepart datediff date_diff \
    timestampdiff timestamp_diff datetime_diff dateadd timestampadd";

/// Returns true if the token is the name of a unit, without quotes.
pub(super) fn is_unit(edits: &Edits<'_>, at: usize) -> bool {
    edits.is_word_of(at, UNITS)
}

/// Rewrites `EXTRACT(year FROM d)`.
pub(super) fn extract(edits: &mut Edits<'_>, name: usize) {
    let unit = name + 2;
    let is_named = matches!(edits.kind(unit), Some(TokenKind::Word | TokenKind::Text));
    let Some(end) = edits.call_end(name).filter(|_| is_named && edits.is_word(unit + 1, "from")) else {
        return;
    };
    if part_of_difference(edits, (name, end), unit) {
        return;
    }
    edits.replace(name, "date_part");
    quote(edits, unit);
    edits.replace(unit + 1, ",");
}

/// Rewrites a part of the difference of two times, which is a number of days here: `EXTRACT(epoch FROM a - b)` is
/// seconds. Returns false if the argument after the token that follows `unit` is no difference.
fn part_of_difference(edits: &mut Edits<'_>, (name, end): (usize, usize), unit: usize) -> bool {
    let scale = match edits.text(unit).trim_matches('\'').to_ascii_lowercase().as_str() {
        "epoch" => ("(86400 * date_minus(", "))"),
        "day" | "days" => ("CAST(date_minus(", ") AS INTEGER)"),
        _ => return false,
    };
    let (mut first, mut last) = (unit + 2, end - 1);
    while edits.is_sign(first, "(") && edits.partner(first) == Some(last) && first + 1 < last {
        (first, last) = (first + 1, last - 1);
    }
    let Some(minus) = edits.operand_end(first).map(|left| cast_end(edits, left) + 1) else { return false };
    let right = edits.operand_end(minus + 1).map(|right| cast_end(edits, right));
    if !edits.is_sign(minus, "-")
        || right != Some(last)
        || edits.is_word(minus + 1, "interval")
        || edits.kind(minus + 1) == Some(TokenKind::Number)
    {
        return false;
    }
    edits.remove(name, first - 1);
    edits.replace(name, scale.0);
    edits.replace(minus, ",");
    edits.remove(last + 1, end);
    edits.replace(end, scale.1);
    edits.set_expression(name, end, false);
    true
}

/// Returns the last token of a cast of the operand that ends at a token.
fn cast_end(edits: &Edits<'_>, operand: usize) -> usize {
    if edits.is_sign(operand + 1, "::") { operand + 2 } else { operand }
}

/// Quotes the unit of a call, and renames the date functions of other dialects.
pub(super) fn unit(edits: &mut Edits<'_>, name: usize) {
    if !edits.is_word_of(name, WITH_UNITS) {
        return;
    }
    let Some(end) = edits.call_end(name) else { return };
    let commas = edits.commas(name);
    let (first, last) = (commas.first().copied(), commas.last().copied());
    let is_part =
        edits.is_word_of(name, "date_part datepart") && first == Some(name + 3) && commas.len() == 1;
    if is_part && part_of_difference(edits, (name, end), name + 2) {
        return;
    }
    if first == Some(name + 3)
        && is_unit(edits, name + 2)
        && (commas.len() > 1 || !edits.is_word(name, "datediff"))
    {
        quote(edits, name + 2);
    } else if last.is_some_and(|comma| comma + 2 == end) && is_unit(edits, end - 1) {
        quote(edits, end - 1);
    }
}

fn quote(edits: &mut Edits<'_>, at: usize) {
    if edits.kind(at) == Some(TokenKind::Word) {
        let name = format!("'{}'", edits.text(at).to_ascii_lowercase());
        edits.replace(at, name);
    }
}

/// Removes the type of `DATE '2024-05-01'`.
pub(super) fn typed_literal(edits: &mut Edits<'_>, at: usize) {
    let literal = edits.text(at + 1).trim_matches('\'');
    let is_date = literal.len() >= 10
        && literal.bytes().take(4).all(|b| b.is_ascii_digit())
        && literal.as_bytes().get(4) == Some(&b'-');
    if edits.kind(at + 1) == Some(TokenKind::Text) && is_date {
        edits.remove(at, at);
        edits.set_expression(at, at + 1, true);
    }
}

/// Rewrites the current time: `NOW()`, `CURRENT_DATE()`, `GETDATE()`.
pub(super) fn current(edits: &mut Edits<'_>, name: usize) {
    let is_empty = edits.call_end(name) == Some(name + 2);
    if edits.is_word(name, "localtimestamp") {
        edits.replace(name, "CURRENT_TIMESTAMP");
    }
    if !is_empty {
        return;
    }
    if edits.is_word_of(name, "current_date current_timestamp current_time localtimestamp") {
        edits.remove(name + 1, name + 2);
        edits.set_expression(name, name + 2, !edits.is_word(name, "current_time"));
    } else {
        let is_date = edits.is_word_of(name, "today curdate");
        edits.replace(name, if is_date { "CURRENT_DATE" } else { "CURRENT_TIMESTAMP" });
        edits.remove(name + 1, name + 2);
        edits.set_expression(name, name + 2, true);
    }
}
