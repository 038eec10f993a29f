//! Casts of other dialects: `x::int`, `TRY_CAST`, and casts to types that SQLite does not have.

use sqlparser::ast::{CastKind, DataType, Expr};

use super::syntax::raw;

/// Names of types, and the functions that convert to them.
const FUNCTIONS: [(&str, &str); 6] = [
    (
        "int integer bigint smallint tinyint mediumint hugeint int2 int4 int8 int16 int32 int64 signed unsigned long",
        "to_integer",
    ),
    ("float real double float4 float8 float32 float64", "to_real"),
    ("numeric decimal dec number bignumeric money", "to_number"),
    ("date", "to_date"),
    ("timestamp timestamptz datetime datetime2 timestamp_ntz timestamp_tz", "to_timestamp"),
    ("bool boolean", "to_boolean"),
];
const TEXTS: &str = "text varchar char character string nvarchar nchar bpchar uuid name citext clob";
const JSONS: &str = "json jsonb variant object array";
/// Types that SQLite accepts in a cast and reads as numbers.
const MISREAD: &str = "date timestamp timestamptz datetime datetime2 timestamp_ntz timestamp_tz bool boolean string uuid \
    json jsonb bpchar name citext";

/// The conversion to a type.
enum Conversion {
    Function(&'static str),
    /// A number with so many digits after the point.
    Rounded(String),
    /// A text of at most so many characters.
    Text(Option<String>),
    Json,
}

/// Returns true if SQLite accepts a cast to a type and reads it as one to a number.
pub(super) fn is_misread(data_type: &DataType) -> bool {
    MISREAD.split_ascii_whitespace().any(|name| name == first_word(data_type))
}

/// Returns true for a type of dates and times.
pub(super) fn is_time(data_type: &DataType) -> bool {
    is_date(data_type)
        || first_word(data_type).starts_with("timestamp")
        || first_word(data_type).starts_with("datetime")
}

/// Returns true for the type of dates.
pub(super) fn is_date(data_type: &DataType) -> bool {
    first_word(data_type) == "date"
}

fn first_word(data_type: &DataType) -> String {
    word_of(&data_type.to_string())
}

fn word_of(written: &str) -> String {
    let written = written.to_ascii_lowercase();
    written.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default().to_owned()
}

fn conversion(written: &str) -> Option<Conversion> {
    let word = word_of(written);
    let is_in = |names: &str| names.split_ascii_whitespace().any(|name| name == word);
    let sizes = written.split_once('(').and_then(|(_, rest)| Some(rest.split_once(')')?.0.replace(' ', "")));
    if let Some((_, function)) = FUNCTIONS.iter().find(|(names, _)| is_in(names)) {
        let scale = sizes.and_then(|sizes| Some(sizes.split_once(',')?.1.to_owned()));
        return Some(match scale.filter(|_| *function == "to_number") {
            Some(scale) => Conversion::Rounded(scale),
            None => Conversion::Function(function),
        });
    }
    if is_in(TEXTS) {
        return Some(Conversion::Text(sizes.filter(|sizes| sizes.bytes().all(|b| b.is_ascii_digit()))));
    }
    is_in(JSONS).then_some(Conversion::Json)
}

/// Returns what to write instead of a cast; `None` if SQLite means the same.
pub(super) fn cast(kind: &CastKind, expr: &Expr, data_type: &DataType) -> Option<Expr> {
    // SQLite has these casts, and reads the digits at the beginning of a text.
    if matches!(kind, CastKind::Cast) && !is_misread(data_type) {
        return None;
    }
    written_cast(expr, &data_type.to_string())
}

fn written_cast(expr: &Expr, data_type: &str) -> Option<Expr> {
    Some(match conversion(data_type)? {
        Conversion::Function(function) => raw(format!("{function}({expr})")),
        Conversion::Rounded(digits) => raw(format!("round(to_real({expr}), {digits})")),
        Conversion::Text(_) => raw(format!("CAST({expr} AS TEXT)")),
        Conversion::Json => raw(format!("({expr})")),
    })
}

/// Returns what to write instead of `CONVERT(date, x)`; `None` if that is no type. Texts are cut to a length:
/// `CONVERT(varchar(7), d, 120)` is the month.
pub(super) fn convert(expr: &Expr, data_type: &str) -> Option<Expr> {
    match conversion(data_type)? {
        Conversion::Text(Some(length)) => Some(raw(format!("substr({expr}, 1, {length})"))),
        _ => written_cast(expr, data_type),
    }
}
