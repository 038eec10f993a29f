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
    if edits.call_end(name).is_none() || !is_named || !edits.is_word(unit + 1, "from") {
        return;
    }
    edits.replace(name, "date_part");
    quote(edits, unit);
    edits.replace(unit + 1, ",");
}

/// Quotes the unit of a call, and renames the date functions of other dialects.
pub(super) fn unit(edits: &mut Edits<'_>, name: usize) {
    if !edits.is_word_of(name, WITH_UNITS) {
        return;
    }
    let Some(end) = edits.call_end(name) else { return };
    let commas = edits.commas(name);
    let (first, last) = (commas.first().copied(), commas.last().copied());
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
        edits.set_expression(at, at + 1, edits.is_word(at, "date"));
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
        edits.set_expression(name, name + 2, edits.is_word(name, "current_date"));
    } else {
        let is_date = edits.is_word_of(name, "today curdate");
        edits.replace(name, if is_date { "CURRENT_DATE" } else { "CURRENT_TIMESTAMP" });
        edits.remove(name + 1, name + 2);
        edits.set_expression(name, name + 2, is_date);
    }
}
