//! Rewrites sums, differences and comparisons of dates and times.
//!
//! SQLite has no type for them: it subtracts the years of two texts, and compares `2025-01-30T23:15:30Z` with
//! `2025-01-30 12:00:00` as texts. This pass runs last, when casts and intervals are functions.

use portion_text::timestamp::Timestamp;

use super::edits::Edits;
use super::error::DialectError;
use super::token::TokenKind;

/// Returns the first value of a column if it is a date or a time.
pub(crate) type DateColumns<'a> = dyn Fn(&str) -> Option<String> + 'a;

/// Functions whose value is a date or a time.
const DATE_FUNCTIONS: &str = "date datetime to_date to_timestamp from_unixtime strptime str_to_date date_trunc datetrunc \
    timestamp_trunc datetime_trunc date_add date_sub date_shift adddate subdate dateadd timestampadd last_day now";
/// Functions whose value is one of their arguments.
const SELECTING_FUNCTIONS: &str = "min max lead lag first_value last_value nth_value coalesce ifnull nvl nullif greatest \
    least any_value first last";
const CURRENT: &str = "current_date current_timestamp localtimestamp";
/// Operators that bind closer than `+` and `-`.
const CLOSER: [&str; 7] = ["*", "/", "%", "||", "->", "->>", "::"];

/// Deepest nesting of parentheses and calls that is looked into.
const MAX_DEPTH: usize = 8;

/// Rewrites the sums and differences, those in inner parentheses first, then the comparisons.
pub(super) fn rewrite(edits: &mut Edits<'_>, columns: &DateColumns<'_>) -> Result<(), DialectError> {
    let mut signs: Vec<(usize, usize)> = Vec::new();
    let mut depth = 0_usize;
    for at in 0..edits.len() {
        if edits.is_sign(at, "(") {
            depth += 1;
        } else if edits.is_sign(at, ")") {
            depth = depth.saturating_sub(1);
        } else if (edits.is_sign(at, "+") || edits.is_sign(at, "-")) && !edits.is_replaced(at) {
            signs.push((depth, at));
        }
    }
    signs.sort_by_key(|(depth, at)| (std::cmp::Reverse(*depth), *at));
    for (_, at) in signs {
        arithmetic(edits, at, columns)?;
    }
    for at in 0..edits.len() {
        if edits.is_comparison(at) && !edits.is_replaced(at) {
            compare(edits, at, columns);
        } else if edits.is_word(at, "between") {
            between(edits, at, columns);
        } else if edits.is_word(at, "in") {
            one_of(edits, at, columns);
        }
    }
    Ok(())
}

/// Rewrites `date - date`, `date - days` and `date + days`.
fn arithmetic(edits: &mut Edits<'_>, sign: usize, columns: &DateColumns<'_>) -> Result<(), DialectError> {
    let Some(last_of_left) = sign.checked_sub(1) else { return Ok(()) };
    let Some(start) = edits.operand_start(last_of_left) else { return Ok(()) };
    let Some(end_of_first) = edits.expression_end(sign + 1) else { return Ok(()) };
    let mut end = end_of_first;
    while ["*", "/", "%"].iter().any(|operator| edits.is_sign(end + 1, operator))
        && let Some(next) = edits.expression_end(end + 2)
    {
        end = next;
    }
    let binds_closer = |at: usize| CLOSER.iter().any(|operator| edits.is_sign(at, operator));
    if start.checked_sub(1).is_some_and(binds_closer) || binds_closer(end + 1) {
        return Ok(());
    }
    let left = is_date(edits, (start, last_of_left), columns, MAX_DEPTH);
    let right = end == end_of_first && is_date(edits, (sign + 1, end), columns, MAX_DEPTH);
    let is_minus = edits.is_sign(sign, "-");
    let function = match (left, right) {
        (false, false) => return Ok(()),
        (true, true) if !is_minus => {
            let text = edits.text_between(start, end + 1).trim();
            return Err(DialectError::new(
                format!("{text} is a sum of two dates"),
                "a - b is the number of days between two dates; d + INTERVAL '7 days' is a date",
            ));
        }
        _ if is_minus => "date_minus(",
        _ => "date_plus(",
    };
    edits.insert_before(start, function);
    edits.replace(sign, ",");
    edits.insert_after(end, ")");
    edits.set_expression(start, end, left != right && !(is_minus && right));
    Ok(())
}

/// Returns true if the value of an expression is a date or a time.
fn is_date(edits: &Edits<'_>, (start, end): (usize, usize), columns: &DateColumns<'_>, depth: usize) -> bool {
    if let Some((first, is_date)) = edits.expression(end)
        && first == start
    {
        return is_date;
    }
    let Some(depth) = depth.checked_sub(1) else { return false };
    match edits.kind(start) {
        Some(TokenKind::Text) if start == end => time_of_literal(edits.text(start)).is_some(),
        Some(TokenKind::Sign) if edits.is_sign(start, "(") && edits.partner(start) == Some(end) => {
            is_date_in_parentheses(edits, (start, end), columns, depth)
        }
        Some(TokenKind::Word) if start == end && edits.is_word_of(start, CURRENT) => true,
        Some(TokenKind::Word | TokenKind::QuotedName) => match edits.call_end(start) {
            Some(_) if edits.is_word_of(start, DATE_FUNCTIONS) => true,
            Some(close) if edits.is_word_of(start, SELECTING_FUNCTIONS) => {
                let last = edits.commas(start).first().map_or(close, |comma| *comma);
                last > start + 2 && is_date(edits, (start + 2, last - 1), columns, depth)
            }
            Some(_) => false,
            None => {
                column_value(edits, (start, end), columns).is_some()
                    || is_date_alias(edits, end, columns, depth)
            }
        },
        _ => false,
    }
}

fn is_date_in_parentheses(
    edits: &Edits<'_>,
    (start, end): (usize, usize),
    columns: &DateColumns<'_>,
    depth: usize,
) -> bool {
    let mut first = start + 1;
    if !edits.is_word(first, "select") {
        return first < end && is_date(edits, (first, end - 1), columns, depth);
    }
    first += if edits.is_word_of(first + 1, "distinct all") { 2 } else { 1 };
    let Some(last) = edits.expression_end(first) else { return false };
    let ends = edits.is_word_of(last + 1, "from as") || last + 1 == end;
    ends && is_date(edits, (first, last), columns, depth)
}

/// Returns true if a name was given to a date in this statement: `max(a) AS last`.
fn is_date_alias(edits: &Edits<'_>, name: usize, columns: &DateColumns<'_>, depth: usize) -> bool {
    let plain = |at: usize| edits.text(at).trim_matches(['"', '`', '[', ']']);
    (2..edits.len()).any(|at| {
        let is_given =
            edits.is_word(at - 1, "as") && at != name && plain(at).eq_ignore_ascii_case(plain(name));
        is_given
            && edits
                .operand_start(at - 2)
                .filter(|start| at - 2 < name && !edits.is_word(*start, "select"))
                .is_some_and(|start| is_date(edits, (start, at - 2), columns, depth.min(2)))
    })
}

/// Returns the first value of the column with dates that a name stands for.
fn column_value(
    edits: &Edits<'_>,
    (start, end): (usize, usize),
    columns: &DateColumns<'_>,
) -> Option<String> {
    let is_name = |at: usize| matches!(edits.kind(at), Some(TokenKind::Word | TokenKind::QuotedName));
    let mut parts = Vec::new();
    for at in start..=end {
        match (at - start) % 2 {
            0 if is_name(at) => parts.push(edits.text(at).trim_matches(['"', '`', '[', ']'])),
            1 if edits.is_sign(at, ".") => {}
            _ => return None,
        }
    }
    columns(&parts.join("."))
}

/// Returns the time in a literal, if it has at least year, month and day.
fn time_of_literal(literal: &str) -> Option<&str> {
    let text = literal.strip_prefix('\'')?.strip_suffix('\'')?;
    let is_full = text.len() >= 10 && !text.contains('\'') && Timestamp::parse(text).is_some();
    is_full.then_some(text)
}

/// One side of a comparison.
#[derive(Debug)]
enum Side {
    /// A column or a literal: its value, or the first one.
    Value(String, bool),
    /// An expression whose value is a time.
    Time,
    /// A parameter, or a subquery or expression in parentheses.
    Unknown,
    /// No time.
    Other,
}

fn side(edits: &Edits<'_>, range: (usize, usize), columns: &DateColumns<'_>) -> Side {
    let (start, end) = range;
    if start == end && edits.kind(start) == Some(TokenKind::Text) {
        return time_of_literal(edits.text(start))
            .map_or(Side::Other, |text| Side::Value(text.to_owned(), false));
    }
    if edits.expression(end).is_none()
        && let Some(value) = column_value(edits, range, columns)
    {
        return Side::Value(value, true);
    }
    if is_date(edits, range, columns, MAX_DEPTH) {
        return Side::Time;
    }
    let is_select = edits.is_sign(start, "(") && edits.is_word(start + 1, "select");
    if edits.kind(start) == Some(TokenKind::Param) || is_select { Side::Unknown } else { Side::Other }
}

/// Returns true if two sides could be times of different forms.
fn differ(left: &Side, right: &Side) -> bool {
    match (left, right) {
        (Side::Value(left, is_left_column), Side::Value(right, is_right_column)) => {
            let is_day_literal = |text: &str, is_column: bool| !is_column && text.len() == 10;
            let is_any_day = is_day_literal(left, *is_left_column)
                || is_day_literal(right, *is_right_column)
                || (*is_left_column && *is_right_column && left.len().min(right.len()) == 10);
            let (is_iso_left, is_iso_right) = (is_iso(left), is_iso(right));
            (*is_left_column || *is_right_column)
                && !same_form(left, right)
                && !(is_any_day && is_iso_left && is_iso_right)
        }
        (Side::Value(text, is_column), Side::Time) | (Side::Time, Side::Value(text, is_column)) => {
            *is_column || text.len() > 10
        }
        (Side::Value(_, true) | Side::Time, Side::Unknown)
        | (Side::Unknown, Side::Value(_, true) | Side::Time)
        | (Side::Time, Side::Time) => true,
        _ => false,
    }
}

fn is_iso(text: &str) -> bool {
    Timestamp::parse_iso(text).is_some()
}

/// Returns true if two texts have digits at the same places, and the same signs at the others.
fn same_form(left: &str, right: &str) -> bool {
    left.len() == right.len()
        && left.bytes().zip(right.bytes()).all(|(a, b)| a == b || a.is_ascii_digit() && b.is_ascii_digit())
}

fn wrap(edits: &mut Edits<'_>, (start, end): (usize, usize)) {
    edits.insert_before(start, "time_key(");
    edits.insert_after(end, ")");
}

/// Rewrites a comparison of times of different forms.
fn compare(edits: &mut Edits<'_>, sign: usize, columns: &DateColumns<'_>) {
    let Some(left) = sign.checked_sub(1).and_then(|end| Some((edits.operand_start(end)?, end))) else {
        return;
    };
    let Some(right) = edits.expression_end(sign + 1).map(|end| (sign + 1, end)) else { return };
    let is_joined = |at: usize| {
        ["+", "-"].iter().chain(&CLOSER).any(|operator| edits.is_sign(at, operator)) && !edits.is_replaced(at)
    };
    if left.0.checked_sub(1).is_some_and(is_joined) || is_joined(right.1 + 1) {
        return;
    }
    if differ(&side(edits, left, columns), &side(edits, right, columns)) {
        wrap(edits, left);
        wrap(edits, right);
    }
}

/// Rewrites `time BETWEEN a AND b`.
fn between(edits: &mut Edits<'_>, keyword: usize, columns: &DateColumns<'_>) {
    let Some(before) = keyword.checked_sub(1) else { return };
    let end = if edits.is_word(before, "not") { before.checked_sub(1) } else { Some(before) };
    let Some(left) = end.and_then(|end| Some((edits.operand_start(end)?, end))) else { return };
    let Some(low) = edits.expression_end(keyword + 1).map(|end| (keyword + 1, end)) else { return };
    if !edits.is_word(low.1 + 1, "and") {
        return;
    }
    let Some(high) = edits.expression_end(low.1 + 2).map(|end| (low.1 + 2, end)) else { return };
    let value = side(edits, left, columns);
    if differ(&value, &side(edits, low, columns)) || differ(&value, &side(edits, high, columns)) {
        [left, low, high].into_iter().for_each(|range| wrap(edits, range));
    }
}

/// Rewrites `time IN ('…', '…')`.
fn one_of(edits: &mut Edits<'_>, keyword: usize, columns: &DateColumns<'_>) {
    let Some(before) = keyword.checked_sub(1) else { return };
    let end = if edits.is_word(before, "not") { before.checked_sub(1) } else { Some(before) };
    let Some(left) = end.and_then(|end| Some((edits.operand_start(end)?, end))) else { return };
    let Some(close) = edits.call_end(keyword) else { return };
    let items: Vec<usize> = (keyword + 2..close).step_by(2).collect();
    let is_list = items.iter().all(|at| {
        edits.kind(*at) == Some(TokenKind::Text) && (at + 1 == close || edits.is_sign(at + 1, ","))
    });
    let value = side(edits, left, columns);
    let is_wrapped = is_list && items.iter().any(|at| differ(&value, &side(edits, (*at, *at), columns)));
    if is_wrapped {
        wrap(edits, left);
        items.into_iter().for_each(|at| wrap(edits, (at, at)));
    }
}
