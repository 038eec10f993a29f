//! Rewrites casts: `x::int`, `TRY_CAST(x AS DATE)`, and types that SQLite reads as numbers.
//!
//! SQLite casts to any unknown type as to a number: `CAST('2024-05-01' AS DATE)` is 2024.

use super::division::is_divided;
use super::edits::Edits;
use super::error::DialectError;
use super::token::TokenKind;

/// The type of a cast.
#[derive(Clone, Debug, PartialEq, Eq)]
enum CastType {
    /// A function of the value.
    Function(&'static str),
    /// A number with so many digits after the point.
    Rounded(String),
    Text,
    /// JSON, which is a text in SQLite.
    Json,
}

/// Names of types, and the functions that convert to them.
const FUNCTIONS: [(&str, &str); 6] = [
    (
        "int integer bigint smallint tinyint hugeint int2 int4 int8 int16 int32 int64 signed unsigned long",
        "to_integer",
    ),
    ("float real double float4 float8 float32 float64", "to_real"),
    ("numeric decimal number bignumeric money", "to_number"),
    ("date", "to_date"),
    ("timestamp timestamptz datetime datetime2 timestamp_ntz timestamp_tz", "to_timestamp"),
    ("bool boolean", "to_boolean"),
];
const TEXTS: &str = "text varchar char character string nvarchar nchar bpchar uuid name citext clob";
const JSONS: &str = "json jsonb variant object array";

/// Words that may follow the first word of a type.
const MORE_WORDS: &str = "precision varying with without time zone";

/// Rewrites `x::type`; `at`: the position of the sign.
pub(super) fn double_colon(edits: &mut Edits<'_>, at: usize) -> Result<(), DialectError> {
    let Some((cast_type, end)) = parse_type(edits, at + 1) else {
        let name = edits.text(at + 1);
        return Err(DialectError::new(
            format!("{name} is not a type of a cast"),
            "cast to int, float, numeric(10,2), text, date, timestamp, boolean or json",
        ));
    };
    let Some(start) = at.checked_sub(1).and_then(|last| edits.operand_start(last)) else { return Ok(()) };
    let (before, after) = match &cast_type {
        CastType::Function("to_number") if is_divided(edits, start, end) => {
            ("to_real(".to_owned(), ")".to_owned())
        }
        CastType::Function(name) => (format!("{name}("), ")".to_owned()),
        CastType::Rounded(digits) => ("round(to_real(".to_owned(), format!("), {digits})")),
        CastType::Text => ("CAST(".to_owned(), " AS TEXT)".to_owned()),
        CastType::Json => ("(".to_owned(), ")".to_owned()),
    };
    edits.insert_before(start, before);
    edits.remove(at, end);
    edits.insert_after(end, after);
    finish(edits, start, end, &cast_type);
    Ok(())
}

/// Rewrites `CAST(x AS type)` where SQLite means another type, and `TRY_CAST`.
pub(super) fn cast_call(edits: &mut Edits<'_>, name: usize) {
    let Some(end) = edits.call_end(name) else { return };
    let Some(keyword) = (name + 2..end).rev().take(10).find(|at| edits.is_word(*at, "as")) else { return };
    let Some((cast_type, last)) = parse_type(edits, keyword + 1).filter(|(_, last)| last + 1 == end) else {
        return;
    };
    let is_cast = edits.is_word(name, "cast");
    let is_string = edits.is_word_of(keyword + 1, "string uuid name citext bpchar");
    match cast_type {
        // SQLite means the same.
        CastType::Text if is_cast && !is_string => return,
        // SQLite reads these names as a number of any kind.
        CastType::Function("to_integer")
            if is_cast && edits.is_word_of(keyword + 1, "signed unsigned long") =>
        {
            edits.remove(keyword + 1, last);
            edits.replace(keyword + 1, "INTEGER");
            edits.insert_before(name + 2, "read_number(");
            edits.insert_after(keyword - 1, ")");
            return;
        }
        // SQLite reads the first digits of a text.
        CastType::Function(function @ ("to_integer" | "to_real" | "to_number")) if is_cast => {
            if function == "to_number" && is_divided(edits, name, end) {
                edits.remove(keyword + 1, last);
                edits.replace(keyword + 1, "REAL");
            }
            edits.insert_before(name + 2, "read_number(");
            edits.insert_after(keyword - 1, ")");
            return;
        }
        CastType::Text => {
            edits.replace(name, "CAST");
            edits.remove(keyword + 1, last);
            edits.replace(keyword + 1, "TEXT");
        }
        CastType::Function(function) => {
            let is_divided = function == "to_number" && is_divided(edits, name, end);
            edits.replace(name, if is_divided { "to_real" } else { function });
            edits.remove(keyword, last);
        }
        CastType::Rounded(ref digits) => {
            edits.replace(name, "round");
            edits.remove(keyword, last);
            edits.insert_before(name + 2, "to_real(");
            edits.replace(keyword, format!("), {digits}"));
        }
        CastType::Json => {
            edits.replace(name, "");
            edits.remove(keyword, last);
        }
    }
    finish(edits, name, end, &cast_type);
}

/// Rewrites `CONVERT(date, x)` of T-SQL and `CONVERT(x, date)` of `MySQL` as casts.
pub(super) fn convert(sql: &str) -> Option<String> {
    let edits = Edits::new(sql);
    let mut out = String::new();
    let mut copied = 0;
    for name in 0..edits.len() {
        if name < copied || !edits.is_word_of(name, "convert try_convert") {
            continue;
        }
        let (Some(end), Some(comma)) = (edits.call_end(name), edits.commas(name).first().copied()) else {
            continue;
        };
        let value_end = edits.commas(name).get(1).copied().unwrap_or(end);
        let is_type = |at: usize, end: usize| parse_type(&edits, at).is_some_and(|(_, last)| last + 1 == end);
        let text = |start: usize, end: usize| edits.text_between(start, end).trim();
        let (cast_type, value) = if is_type(name + 2, comma) {
            (text(name + 2, comma), text(comma + 1, value_end))
        } else if is_type(comma + 1, end) {
            (text(comma + 1, end), text(name + 2, comma))
        } else {
            continue;
        };
        out.push_str(edits.text_between(copied, name));
        // Texts of a date are cut to a length: `CONVERT(varchar(7), d, 120)` is the month.
        let length = cast_type
            .split_once('(')
            .and_then(|(_, rest)| rest.strip_suffix(')')?.trim().parse::<u32>().ok());
        let is_text = cast_type.to_ascii_lowercase().contains("char");
        let written = match length.filter(|_| is_text) {
            Some(length) => format!("substr({value}, 1, {length})"),
            None => format!("TRY_CAST({value} AS {cast_type})"),
        };
        out.push_str(&written);
        copied = end + 1;
    }
    if copied == 0 {
        return None;
    }
    out.push(' ');
    out.push_str(edits.text_between(copied, edits.len()));
    Some(out)
}

/// Records the expression.
fn finish(edits: &mut Edits<'_>, start: usize, end: usize, cast_type: &CastType) {
    let is_date = matches!(cast_type, CastType::Function("to_date" | "to_timestamp"));
    edits.set_expression(start, end, is_date);
}

/// Parses the type at a position. Returns it and its last token.
fn parse_type(edits: &Edits<'_>, at: usize) -> Option<(CastType, usize)> {
    if edits.kind(at) != Some(TokenKind::Word) {
        return None;
    }
    let function =
        FUNCTIONS.iter().find(|(names, _)| edits.is_word_of(at, names)).map(|(_, function)| *function);
    let mut cast_type = match function {
        Some(function) => CastType::Function(function),
        None if edits.is_word_of(at, TEXTS) => CastType::Text,
        None if edits.is_word_of(at, JSONS) => CastType::Json,
        None => return None,
    };
    let mut last = at;
    while edits.is_word_of(last + 1, MORE_WORDS)
        || (edits.is_word_of(last, "signed unsigned long") && edits.is_word_of(last + 1, "integer int"))
    {
        last += 1;
    }
    // Only numbers in parentheses belong to a type.
    let is_size = |close: usize| {
        (last + 2..close).all(|at| {
            edits.kind(at) == Some(TokenKind::Number) || edits.is_sign(at, ",") || edits.is_word(at, "max")
        })
    };
    if let Some(close) = edits.call_end(last).filter(|close| is_size(*close)) {
        let digits = edits.text(close - 1);
        let has_scale = close == last + 5 && edits.is_sign(close - 2, ",");
        if cast_type == CastType::Function("to_number")
            && has_scale
            && edits.kind(close - 1) == Some(TokenKind::Number)
        {
            cast_type = CastType::Rounded(digits.to_owned());
        }
        last = close;
    }
    Some((cast_type, last))
}
