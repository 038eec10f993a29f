//! Names of functions in other dialects, and calls whose arguments are separated by keywords.

use super::edits::Edits;
use super::token::TokenKind;

/// Functions under other names: where followed by a parenthesis, the first is replaced by the second.
const RENAMED: [(&str, &str); 48] = [
    ("len", "length"),
    ("char_length", "length"),
    ("character_length", "length"),
    ("ucase", "upper"),
    ("lcase", "lower"),
    ("nvl", "coalesce"),
    ("isnull", "coalesce"),
    ("mid", "substr"),
    ("chr", "char"),
    ("to_json", "json"),
    ("parse_json", "json"),
    ("array_agg", "json_group_array"),
    ("list", "json_group_array"),
    ("group_array", "json_group_array"),
    ("json_agg", "json_group_array"),
    ("jsonb_agg", "json_group_array"),
    ("json_arrayagg", "json_group_array"),
    ("json_objectagg", "json_group_object"),
    ("json_object_agg", "json_group_object"),
    ("json_value", "json_extract"),
    ("json_query", "json_extract"),
    ("json_extract_string", "json_extract"),
    ("json_extract_scalar", "json_extract"),
    ("get_json_object", "json_extract"),
    ("json_typeof", "json_type"),
    ("jsonb_typeof", "json_type"),
    ("jsonb_array_length", "json_array_length"),
    ("array_length", "json_array_length"),
    ("array_size", "json_array_length"),
    ("list_length", "json_array_length"),
    ("cardinality", "json_array_length"),
    ("json_length", "json_array_length"),
    ("json_build_object", "json_object"),
    ("jsonb_build_object", "json_object"),
    ("json_build_array", "json_array"),
    ("array_contains", "list_contains"),
    ("list_has", "list_contains"),
    ("regexp_contains", "regexp_matches"),
    ("regexp_like", "regexp_matches"),
    ("approx_quantile", "quantile"),
    ("str_to_date", "strptime"),
    ("format_date", "strftime"),
    ("format_datetime", "strftime"),
    ("format_timestamp", "strftime"),
    ("eomonth", "last_day"),
    ("jsonb_path_query", "json_extract"),
    ("jsonb_path_query_first", "json_extract"),
    ("json_path_query", "json_extract"),
];

/// Renames the function at a position.
pub(super) fn rename(edits: &mut Edits<'_>, name: usize) {
    let Some(end) = edits.call_end(name).filter(|_| name == 0 || !edits.is_sign(name - 1, ".")) else {
        return;
    };
    // `WITH list(a, b) AS (…)` names a table.
    if edits.is_word(end + 1, "as") && edits.is_sign(end + 2, "(") {
        return;
    }
    // `x ISNULL` is an operator of SQLite.
    if edits.is_word(name, "isnull") && name > 0 && edits.ends_expression(name - 1) {
        return;
    }
    if edits.is_word_of(name, "approx_count_distinct approx_distinct count_distinct uniq") {
        edits.replace(name, "count");
        edits.insert_after(name + 1, "DISTINCT ");
    } else if edits.is_word(name, "listagg") {
        let has_separator = !edits.commas(name).is_empty();
        edits.replace(name, if has_separator { "string_agg" } else { "group_concat" });
    } else if edits.is_word_of(name, "group_concat string_agg") {
        let separator = separator(edits, name);
        if edits.is_word(name + 2, "distinct") {
            distinct_texts(edits, name, separator);
        } else if let Some((text, before)) = separator {
            edits.insert_before(before, format!(", {text} "));
        }
    } else if edits.is_word_of(name, "array_length cardinality")
        && let [comma] = edits.commas(name)[..]
        && edits.text(comma + 1) == "1"
        && comma + 2 == end
    {
        // The number of a dimension; arrays have one here.
        edits.remove(comma, comma + 1);
        edits.replace(name, "json_array_length");
    } else if edits.is_word(name, "safe_divide")
        && let [comma] = edits.commas(name)[..]
    {
        edits.remove(name, name);
        edits.insert_after(name + 1, "1.0 * (");
        edits.replace(comma, ") / nullif((");
        edits.insert_before(end, "), 0)");
        edits.set_expression(name, end, false);
    } else if edits.is_word(name, "format") && is_date_format(edits, end - 1) && edits.commas(name).len() == 1
    {
        edits.replace(name, "date_format");
    } else if edits.is_word(name, "count") && edits.is_word(name + 2, "distinct") {
        // Rows with a NULL in one of the columns do not count, as in the dialects with this form.
        edits.commas(name).into_iter().for_each(|comma| edits.replace(comma, " || '/' ||"));
    } else if let Some((_, by)) = RENAMED.iter().find(|(from, _)| edits.is_word(name, from)) {
        edits.replace(name, *by);
    }
}

/// Returns true for a pattern of T-SQL: `'yyyy-MM'`. SQLite's `format` takes a pattern with `%` first.
fn is_date_format(edits: &Edits<'_>, at: usize) -> bool {
    let pattern = edits.text(at);
    edits.kind(at) == Some(TokenKind::Text)
        && !pattern.contains('%')
        && ["yy", "MM", "dd", "HH", "hh", "mm"].iter().any(|part| pattern.contains(part))
}

/// Removes `SEPARATOR ', '` of `MySQL`. Returns the text, and the token before which it belongs.
fn separator(edits: &mut Edits<'_>, name: usize) -> Option<(String, usize)> {
    let end = edits.call_end(name)?;
    let keyword = end.checked_sub(2).filter(|at| edits.is_word(*at, "separator"))?;
    let order = edits.find_in_call(name, |at| edits.is_word(at, "order")).first().copied();
    let text = edits.text(end - 1).to_owned();
    edits.remove(keyword, end - 1);
    Some((text, order.unwrap_or(keyword)))
}

/// Rewrites `string_agg(DISTINCT x, ', ')`: aggregates with DISTINCT take one argument in SQLite.
fn distinct_texts(edits: &mut Edits<'_>, name: usize, separator: Option<(String, usize)>) {
    let Some(end) = edits.call_end(name) else { return };
    let text = match (separator, edits.commas(name).first().copied()) {
        (Some((text, _)), _) => text,
        (None, Some(comma)) if edits.kind(comma + 1) == Some(TokenKind::Text) => {
            edits.remove(comma, comma + 1);
            edits.text(comma + 1).to_owned()
        }
        _ => return,
    };
    let last = if edits.is_word(end + 1, "filter") { edits.call_end(end + 1).unwrap_or(end) } else { end };
    edits.replace(name, "json_group_array");
    edits.insert_before(name, "nullif(array_to_string(");
    edits.insert_after(last, format!(", {text}), '')"));
    edits.set_expression(name, last, false);
}

/// Rewrites `SUBSTRING(x FROM 2 FOR 3)`, `SUBSTRING(x FROM 'regex')` and `POSITION('a' IN x)`.
pub(super) fn keyword_arguments(edits: &mut Edits<'_>, name: usize) {
    if edits.is_word_of(name, "substring substr") {
        let keywords = edits.find_in_call(name, |at| edits.is_word_of(at, "from for"));
        if let [from] = keywords[..]
            && edits.kind(from + 1) == Some(TokenKind::Text)
            && edits.is_word(from, "from")
        {
            edits.replace(name, "regexp_extract");
        }
        keywords.into_iter().for_each(|at| edits.replace(at, ","));
    } else if edits.is_word(name, "position") {
        let Some(keyword) = edits.find_in_call(name, |at| edits.is_word(at, "in")).first().copied() else {
            return;
        };
        edits.replace(name, "charindex");
        edits.replace(keyword, ",");
    }
}

/// Exchanges the arguments of `strftime(time, format)`.
pub(super) fn format_first(sql: &str) -> Option<String> {
    let edits = Edits::new(sql);
    let (mut out, mut copied) = (String::new(), 0);
    for name in 0..edits.len() {
        if !edits.is_word(name, "strftime") || name < copied {
            continue;
        }
        let commas = edits.commas(name);
        let (Some(end), [comma]) = (edits.call_end(name), commas.as_slice()) else { continue };
        let comma = *comma;
        let is_format = |at: usize| edits.kind(at) == Some(TokenKind::Text) && edits.text(at).contains('%');
        if comma + 2 != end || !is_format(end - 1) || (comma == name + 3 && is_format(name + 2)) {
            continue;
        }
        let (time, format) = (edits.text_between(name + 2, comma).trim(), edits.text(end - 1));
        out.push_str(edits.text_between(copied, name + 2));
        for part in [format, ", ", time] {
            out.push_str(part);
        }
        copied = end;
    }
    if copied == 0 {
        return None;
    }
    out.push_str(edits.text_between(copied, edits.len()));
    Some(out)
}
