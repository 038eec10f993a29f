//! Calls of functions under the names and with the arguments of other dialects.

use std::fmt::Display;

use sqlparser::ast::{
    CastKind, DataType, DuplicateTreatment, Expr, Function, FunctionArgumentClause, FunctionArguments,
    Interval, OrderByExpr, OrderBySort, Value,
};

use super::{arguments, arguments_mut, is_call_of, is_number, is_one_of, literal, quoted_text, raw};

/// Functions under other names.
const RENAMED: &[(&str, &str)] = &[
    ("len char_length character_length", "length"),
    ("ucase", "upper"),
    ("lcase", "lower"),
    ("nvl isnull", "coalesce"),
    ("mid", "substr"),
    ("chr", "char"),
    ("ascii", "unicode"),
    ("to_json parse_json", "json"),
    ("array_agg list group_array json_agg jsonb_agg json_arrayagg", "json_group_array"),
    ("json_objectagg json_object_agg", "json_group_object"),
    (
        "json_value json_query json_extract_string json_extract_scalar get_json_object jsonb_path_query jsonb_path_query_first \
         json_path_query",
        "json_extract",
    ),
    ("json_typeof jsonb_typeof", "json_type"),
    ("jsonb_array_length array_length array_size list_length cardinality json_length", "json_array_length"),
    ("json_build_object jsonb_build_object", "json_object"),
    ("json_build_array", "json_array"),
    ("array_contains list_has", "list_contains"),
    ("regexp_contains regexp_like", "regexp_matches"),
    ("approx_quantile", "quantile"),
    ("str_to_date", "strptime"),
    ("eomonth", "last_day"),
    ("dayofmonth day_of_month", "day"),
    ("btrim", "trim"),
];

/// Names of the current time, and what SQLite calls it.
const CURRENT: &[(&str, &str)] = &[
    ("now getdate sysdate localtimestamp sysdatetime getutcdate current_timestamp", "datetime('now')"),
    ("today curdate current_date", "date('now')"),
    ("current_time", "time('now')"),
];

/// Functions that take a unit of time as a word.
const WITH_UNITS: &str = "date_trunc datetrunc timestamp_trunc datetime_trunc datediff date_diff timestamp_diff \
    datetime_diff timestampdiff dateadd date_add timestampadd date_sub date_part datepart";
const UNITS: &str = "year years quarter quarters month months week weeks isoweek day days hour hours minute minutes second \
    seconds yy yyyy qq mm mon wk ww dd hh mi ss dow doy dayofyear epoch decade century millisecond";

/// Returns what to write instead of a call; `None` if it stays.
pub(super) fn rewritten(call: &Function) -> Option<Expr> {
    let name = call.name.to_string().to_ascii_lowercase();
    let arguments = arguments(call);
    if let Some((_, current)) =
        CURRENT.iter().find(|(names, _)| is_one_of(names, &name)).filter(|_| arguments.is_empty())
    {
        return Some(raw(*current));
    }
    if let Some(texts) = joined_texts(&name, call, &arguments) {
        return Some(raw(texts));
    }
    if !call.within_group.is_empty() {
        return within_group(&name, call, &arguments);
    }
    match (name.as_str(), arguments.as_slice()) {
        ("approx_count_distinct" | "approx_distinct" | "count_distinct" | "uniq", [value]) => {
            Some(raw(format!("count(DISTINCT {value}){}", after(call))))
        }
        // Rows with a NULL in one of the columns do not count, as in the dialects with this form.
        ("count", [_, _, ..]) if is_distinct(call) => Some(distinct_count(call, &arguments)),
        ("count", [Expr::Tuple(values)]) if is_distinct(call) => Some(distinct_count(call, values)),
        // The number of a dimension; arrays have one here.
        ("array_length" | "cardinality", [array, dimension]) if is_number(dimension) => {
            Some(raw(format!("json_array_length({array})")))
        }
        ("convert" | "try_convert", [a, b, ..]) => {
            convert(b, &a.to_string()).or_else(|| convert(a, &b.to_string()))
        }
        ("monthname", [time]) => Some(raw(format!("date_format({time}, '%M')"))),
        ("dayname", [time]) => Some(raw(format!("date_format({time}, '%W')"))),
        // Anchored, because the first match of `a|ab` in `ab` is not the longest.
        ("regexp_full_match", [text, pattern]) => {
            Some(raw(format!(r"regexp('\A(?:' || {pattern} || ')\z', {text})")))
        }
        ("safe_divide", [a, b]) => Some(raw(format!("(1.0 * ({a}) / nullif(({b}), 0))"))),
        ("date_part" | "datepart", [part, time]) => {
            let part = part.to_string().trim_matches('\'').to_ascii_lowercase();
            Some(extract(&part, time))
        }
        ("format" | "printf", [format, ..]) if let Some(format) = braces_format(format) => {
            let mut written = vec![quoted_text(&format)];
            written.extend(arguments[1..].iter().map(ToString::to_string));
            Some(raw(format!("printf({})", written.join(", "))))
        }
        ("format", [value, format]) if literal(value).is_none() => Some(raw(match literal(format) {
            Some(_) => format!("date_format({value}, {format})"),
            None => format!("printf('%,.' || {format} || 'f', {value})"),
        })),
        ("round", [value, digits]) if let Some(power) = negative_power(digits) => {
            Some(raw(format!("(round(({value}) / {power}.0) * {power})")))
        }
        ("strftime" | "format_date" | "format_datetime" | "format_timestamp", [first, second]) => {
            let (format, time) = if has_format_last(call) { (second, first) } else { (first, second) };
            let has_names = literal(format).is_some_and(has_names);
            Some(raw(if has_names {
                format!("time_format({time}, {format})")
            } else {
                format!("strftime({format}, {time})")
            }))
        }
        _ => renamed(&name, call),
    }
}

/// Returns true for a call that SQLite reads as another: `format('{} of {}', a, b)`, `format(day, 'yyyy-MM')`,
/// `strftime(day, '%Y')`, `strftime('%B', day)`.
pub(super) fn is_misread_call(call: &Function) -> bool {
    is_call_of(call, "format printf round strftime")
        && rewritten(call).is_some_and(|other| !other.to_string().eq_ignore_ascii_case(&call.to_string()))
}

/// Returns the power of ten of negative digits, to which SQLite does not round: 100 for -2.
fn negative_power(digits: &Expr) -> Option<i64> {
    let digits: u32 = digits.to_string().replace(' ', "").strip_prefix('-')?.parse().ok()?;
    10_i64.checked_pow(digits).filter(|power| *power > 1)
}

/// Returns the format of `printf` for one with braces: `%s of %.2f` for `{} of {:.2f}`.
fn braces_format(format: &Expr) -> Option<String> {
    let mut parts = literal(format)?.split('{');
    let mut written = parts.next()?.replace('%', "%%");
    let mut is_found = false;
    for part in parts {
        let (field, after) = part.split_once('}')?;
        let digits = field.trim_start_matches(':');
        let is_field = digits.bytes().all(|b| b.is_ascii_digit() || matches!(b, b',' | b'.' | b'f' | b'd'));
        let kind = match digits.as_bytes().last() {
            None => "s",
            Some(b'f' | b'd') => "",
            Some(_) if digits.contains('.') => "f",
            Some(_) => "d",
        };
        is_found |= is_field;
        written.extend(["%", digits, kind, &after.replace('%', "%%")]);
    }
    is_found.then_some(written)
}

/// Returns true for `strftime(time, format)`.
fn has_format_last(call: &Function) -> bool {
    let is_format = |expr: &Expr| literal(expr).is_some_and(|text| text.contains('%'));
    matches!(arguments(call)[..], [time, format] if !is_format(time) && is_format(format))
}

/// Returns true for a format with names of months and days, or years of two digits, which SQLite does not write.
fn has_names(format: &str) -> bool {
    format.as_bytes().windows(2).any(|of| of[0] == b'%' && b"aAbBy".contains(&of[1]))
}

/// Returns `EXTRACT(part FROM time)`. The difference of two dates is a number of days.
pub(super) fn extract(part: &str, time: &Expr) -> Expr {
    let written = time.to_string();
    let is_difference = written.trim_start_matches('(').starts_with("date_minus(");
    raw(match part {
        "epoch" if is_difference => format!("(86400 * ({written}))"),
        "day" | "days" if is_difference => format!("CAST({written} AS INTEGER)"),
        _ => format!("date_part('{part}', {written})"),
    })
}

/// Returns a call with another name, and with units and intervals as texts.
fn renamed(name: &str, call: &Function) -> Option<Expr> {
    let takes_units = is_one_of(WITH_UNITS, name);
    let other = RENAMED.iter().find(|(names, _)| is_one_of(names, name)).map(|(_, other)| *other);
    let mut changed = call.clone();
    let mut is_changed = other.is_some();
    if let Some(other) = other {
        changed.name = sqlparser::ast::Ident::new(other).into();
    }
    // Of several words, one may be the name of a column: `DATE_TRUNC(day, MONTH)`.
    let is_upper = |argument: &Expr| {
        let text = argument.to_string();
        is_one_of(UNITS, &text) && text.bytes().all(|b| b.is_ascii_uppercase())
    };
    let has_upper = arguments(call).into_iter().any(is_upper);
    for expr in arguments_mut(&mut changed) {
        let text = match &*expr {
            Expr::Interval(interval) => raw(interval_text(interval)),
            Expr::Identifier(word)
                if takes_units
                    && (!has_upper || is_upper(expr))
                    && word.quote_style.is_none()
                    && is_one_of(UNITS, &word.value) =>
            {
                Expr::value(Value::SingleQuotedString(word.value.clone()))
            }
            _ => continue,
        };
        *expr = text;
        is_changed = true;
    }
    is_changed.then_some(Expr::Function(changed))
}

/// Returns the text of an interval: `'7 days'`, or the number with its unit.
pub(super) fn interval_text(interval: &Interval) -> String {
    let unit = interval.leading_field.as_ref().map(|field| field.to_string().to_ascii_lowercase());
    match (literal(&interval.value), unit) {
        (Some(text), None) => quoted_text(text),
        (Some(text), Some(unit)) => quoted_text(&format!("{text} {unit}")),
        (None, Some(unit)) => format!("(({}) || ' {unit}')", interval.value),
        (None, None) => interval.value.to_string(),
    }
}

/// Counts distinct combinations of values.
fn distinct_count(call: &Function, values: &[impl Display]) -> Expr {
    let values: Vec<String> = values.iter().map(|value| format!("({value})")).collect();
    raw(format!("count(DISTINCT {}){}", values.join(" || '/' || "), after(call)))
}

fn is_distinct(call: &Function) -> bool {
    matches!(&call.args, FunctionArguments::List(list) if list.duplicate_treatment == Some(DuplicateTreatment::Distinct))
}

/// Returns the text after the parentheses of a call.
fn after(call: &Function) -> String {
    let filter = call.filter.as_ref().map_or_else(String::new, |filter| format!(" FILTER (WHERE {filter})"));
    let over = call.over.as_ref().map_or_else(String::new, |over| format!(" OVER {over}"));
    format!("{filter}{over}")
}

fn order_text(order: &[OrderByExpr]) -> String {
    let terms: Vec<String> = order.iter().map(ToString::to_string).collect();
    if terms.is_empty() { String::new() } else { format!(" ORDER BY {}", terms.join(", ")) }
}

/// Rewrites aggregates that join texts: `GROUP_CONCAT(x ORDER BY y SEPARATOR ', ')`, `string_agg(DISTINCT x, ', ')`, `listagg`.
fn joined_texts(name: &str, call: &Function, arguments: &[&Expr]) -> Option<String> {
    let (value, separator) = match arguments {
        _ if !is_one_of("group_concat string_agg listagg", name) => return None,
        [value] => (value, None),
        [value, separator] => (value, Some(separator.to_string())),
        _ => return None,
    };
    let FunctionArguments::List(list) = &call.args else { return None };
    let (mut order, mut given) = (order_text(&call.within_group), None);
    for clause in &list.clauses {
        match clause {
            FunctionArgumentClause::OrderBy(terms) => order = order_text(terms),
            FunctionArgumentClause::Separator(separator) => given = Some(separator.to_string()),
            _ => return None,
        }
    }
    let (after, separator) = (after(call), given.or(separator));
    let distinct = if is_distinct(call) { "DISTINCT " } else { "" };
    Some(match separator {
        // Aggregates with DISTINCT take one argument in SQLite.
        Some(separator) if is_distinct(call) => {
            let values = format!("json_group_array(DISTINCT {value}{order}){after}");
            format!("nullif(array_to_string({values}, {separator}), '')")
        }
        Some(separator) => format!("group_concat({value}, {separator}{order}){after}"),
        None => format!("group_concat({distinct}{value}{order}){after}"),
    })
}

/// Moves the order of `percentile_cont(0.5) WITHIN GROUP (ORDER BY x)` into the arguments.
fn within_group(name: &str, call: &Function, arguments: &[&Expr]) -> Option<Expr> {
    let [OrderByExpr { expr: value, options, .. }] = call.within_group.as_slice() else { return None };
    let is_descending = matches!(options.sort, Some(OrderBySort::Desc));
    let after = after(call);
    Some(raw(match arguments {
        [share] if is_descending => format!("{name}({value}, 1.0 - ({share})){after}"),
        [share] => format!("{name}({value}, {share}){after}"),
        [] => format!("{name}({value}){after}"),
        _ => return None,
    }))
}

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

/// Returns true if SQLite accepts a cast to a type and reads it as one to a number.
pub(super) fn is_misread(data_type: &DataType) -> bool {
    // SQLite ignores the digits of `DECIMAL(10, 2)`.
    let has_scale = data_type.to_string().contains(',');
    has_scale || is_one_of(MISREAD, &first_word(data_type))
}

/// Returns true for a type of texts.
pub(super) fn is_text(data_type: &DataType) -> bool {
    is_one_of(TEXTS, &first_word(data_type))
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

/// Returns what to write instead of a cast; `None` if SQLite means the same.
pub(super) fn cast(kind: &CastKind, expr: &Expr, data_type: &DataType) -> Option<Expr> {
    // SQLite has these casts, and reads the digits at the beginning of a text.
    if matches!(kind, CastKind::Cast) && !is_misread(data_type) {
        return None;
    }
    converted(expr, &data_type.to_string(), false)
}

/// Returns what to write instead of `CONVERT(date, x)`; `None` if that is no type. Texts are cut to a length:
/// `CONVERT(varchar(7), d, 120)` is the month.
pub(super) fn convert(expr: &Expr, data_type: &str) -> Option<Expr> {
    converted(expr, data_type, true)
}

fn converted(expr: &Expr, data_type: &str, cuts_texts: bool) -> Option<Expr> {
    let word = word_of(data_type);
    let sizes =
        data_type.split_once('(').and_then(|(_, rest)| Some(rest.split_once(')')?.0.replace(' ', "")));
    if let Some((_, function)) = FUNCTIONS.iter().find(|(names, _)| is_one_of(names, &word)) {
        let scale = sizes.as_deref().and_then(|sizes| sizes.split_once(','));
        return Some(raw(match scale.filter(|_| *function == "to_number") {
            Some((_, digits)) => format!("round(to_real({expr}), {digits})"),
            None => format!("{function}({expr})"),
        }));
    }
    if is_one_of(TEXTS, &word) {
        let length = sizes.filter(|sizes| cuts_texts && sizes.bytes().all(|b| b.is_ascii_digit()));
        return Some(raw(match length {
            Some(length) => format!("substr({expr}, 1, {length})"),
            None => format!("CAST({expr} AS TEXT)"),
        }));
    }
    is_one_of(JSONS, &word).then(|| raw(format!("({expr})")))
}
