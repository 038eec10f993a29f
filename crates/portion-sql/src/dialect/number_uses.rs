//! Finds the columns that a statement uses as numbers or as dates.

use portion_text::timestamp::Timestamp;

use super::edits::Edits;
use super::token::TokenKind;

/// The use of a column for which it matters whether its values are numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NumberUse {
    /// It is compared with a number, or a factor.
    Number,
    /// It is added up.
    Sum,
    /// It is sorted.
    Order,
    /// It is a term of a calculation, which may be one with dates.
    Term,
}

/// Aggregate functions of numbers.
pub(super) const SUMS: &str =
    "sum avg total product stddev stddev_pop stddev_samp variance var_pop var_samp median";

/// Returns the names of columns that a statement uses as numbers, as written, without casts.
pub(crate) fn number_uses(sql: &str) -> Vec<(String, NumberUse)> {
    let edits = Edits::new(sql);
    let mut found = Vec::new();
    for at in 0..edits.len() {
        let number = at + 1 + usize::from(edits.is_sign(at + 1, "-"));
        let has_number = edits.kind(number) == Some(TokenKind::Number);
        if edits.is_comparison(at) || edits.is_word(at, "between") {
            let before = at.checked_sub(1);
            if has_number {
                found.extend(
                    before.and_then(|end| name_before(&edits, end)).map(|name| (name, NumberUse::Number)),
                );
            } else if before.is_some_and(|before| edits.kind(before) == Some(TokenKind::Number)) {
                found.extend(name_after(&edits, at + 1).map(|(name, _)| (name, NumberUse::Number)));
            }
            continue;
        }
        let calculation = ["*", "/", "+", "-"].iter().find(|sign| edits.is_sign(at, sign));
        if let Some(sign) = calculation.filter(|_| at > 0) {
            let kind = if matches!(*sign, "*" | "/") { NumberUse::Number } else { NumberUse::Term };
            found.extend(name_before(&edits, at - 1).map(|name| (name, kind)));
            found.extend(name_after(&edits, at + 1).map(|(name, _)| (name, kind)));
            continue;
        }
        let (first, kind) = match edits.call_end(at) {
            Some(_) if edits.is_word_of(at, SUMS) => (at + 2, NumberUse::Sum),
            Some(_) if edits.is_word_of(at, "min max") => (at + 2, NumberUse::Order),
            _ if edits.is_word(at, "order") && edits.is_word(at + 1, "by") => (at + 2, NumberUse::Order),
            _ => continue,
        };
        let Some((name, end)) = name_after(&edits, first) else { continue };
        let is_whole = edits.call_end(at).is_none_or(|close| close == end + 1);
        if is_whole {
            found.push((name, kind));
        }
    }
    found
}

/// Functions of SQLite, which read ISO 8601 only.
const SQLITE_DATE_FUNCTIONS: &str = "date datetime julianday strftime time unixepoch";
/// Functions of dates and times.
const DATE_FUNCTIONS: &str = "date_trunc datetrunc date_part datepart extract year quarter month week day hour minute second \
    date datetime julianday time unixepoch strftime to_char date_format dayname monthname last_day datediff date_diff \
    timestampdiff to_date to_timestamp";

/// Use of a column as a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DateUse {
    /// By a function that reads the formats of logs, or in a comparison.
    Lenient,
    /// By a function of SQLite.
    Iso,
    /// It is sorted, or its least or greatest value is taken.
    Order,
}

/// Returns the names of columns that are arguments of date functions, or are compared with a date. An argument beside a
/// format is left out: the format says how it is read.
pub(crate) fn date_uses(sql: &str) -> Vec<(String, DateUse)> {
    let edits = Edits::new(sql);
    let mut found = Vec::new();
    for at in 0..edits.len() {
        let text = edits.text(at + 1).trim_matches('\'');
        let is_text = edits.kind(at + 1) == Some(TokenKind::Text);
        if is_text && (edits.is_comparison(at) || edits.is_word(at, "between")) {
            let before = at.checked_sub(1).map(|before| before - usize::from(edits.is_word(before, "not")));
            let name = before.and_then(|before| name_before(&edits, before));
            let is_order = !edits.is_equality(at) && !edits.is_sign(at, "<>") && !edits.is_sign(at, "!=");
            if Timestamp::parse_iso(text).is_some() {
                found.extend(name.map(|name| (name, DateUse::Lenient)));
            } else if is_order && is_numeric_date(text) {
                found.extend(name.map(|name| (name, DateUse::Order)));
            }
        }
        let is_extreme = edits.is_word_of(at, "min max") && edits.call_end(at).is_some();
        if is_extreme || edits.is_word(at, "order") && edits.is_word(at + 1, "by") {
            let name = name_after(&edits, at + 2);
            found.extend(name.map(|(name, _)| (name, DateUse::Order)));
        }
        if !edits.is_word_of(at, DATE_FUNCTIONS) || edits.call_end(at).is_none() {
            continue;
        }
        let separators = edits.find_in_call(at, |at| edits.is_sign(at, ",") || edits.is_word(at, "from"));
        let has_modifier = separators.iter().any(|before| {
            matches!(edits.text(before + 1).trim_matches('\''), "unixepoch" | "auto" | "julianday")
        });
        if edits.is_word_of(at, "to_date to_timestamp") && !separators.is_empty() || has_modifier {
            continue;
        }
        let kind = if edits.is_word_of(at, SQLITE_DATE_FUNCTIONS) { DateUse::Iso } else { DateUse::Lenient };
        let arguments = std::iter::once(at + 1).chain(separators);
        let names = arguments.filter_map(|before| name_after(&edits, before + 1));
        found.extend(names.map(|(name, _)| (name, kind)));
    }
    found
}

/// Returns true for `31.01.2024`, `31/01/2024` and the like.
fn is_numeric_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split(['.', '/', '-']).collect();
    let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
    lengths == [2, 2, 4] && parts.iter().all(|part| part.bytes().all(|b| b.is_ascii_digit()))
}

fn is_name(edits: &Edits<'_>, at: usize) -> bool {
    matches!(edits.kind(at), Some(TokenKind::Word | TokenKind::QuotedName))
}

fn name_before(edits: &Edits<'_>, end: usize) -> Option<String> {
    let start = edits.operand_start(end).filter(|_| is_name(edits, end))?;
    let is_cast = start > 0 && edits.is_sign(start - 1, "::");
    (!is_cast).then(|| name(edits, start, end))
}

fn name_after(edits: &Edits<'_>, start: usize) -> Option<(String, usize)> {
    let end = edits.operand_end(start).filter(|end| is_name(edits, *end))?;
    let is_other = edits.is_sign(end + 1, "(") || edits.is_sign(end + 1, "::");
    (is_name(edits, start) && !is_other).then(|| (name(edits, start, end), end))
}

fn name(edits: &Edits<'_>, start: usize, end: usize) -> String {
    let parts = (start..=end).step_by(2).map(|at| edits.text(at).trim_matches(['"', '`', '[', ']']));
    parts.collect::<Vec<_>>().join(".")
}
