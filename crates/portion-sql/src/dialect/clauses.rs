//! Rewrites clauses that SQLite does not have: `GROUP BY ALL` and `QUALIFY`.

use super::edits::Edits;
use super::where_clause::outside_of_parentheses;

/// Functions that make a column of SELECT an aggregate.
const AGGREGATES: &str = "count sum avg min max total group_concat string_agg json_group_array json_group_object \
    array_agg list listagg any_value approx_count_distinct approx_distinct approx_percentile approx_quantile arg_max arg_min \
    bool_and bool_or booland_agg boolor_agg corr count_if countif covar_pop covar_samp every first last logical_and \
    logical_or max_by median min_by mode most_common percentile percentile_cont percentile_disc product quantile \
    quantile_cont quantile_disc std stddev stddev_pop stddev_samp stdev stdevp var_pop var_samp variance";

/// Returns the columns of the outermost SELECT as written, an alias included.
pub(crate) fn select_columns(sql: &str) -> Vec<&str> {
    let edits = Edits::new(sql);
    let outside = outside_of_parentheses(&edits);
    let find = |word: &str| outside.iter().copied().find(|at| edits.is_word(*at, word));
    let Some(select) = find("select") else { return Vec::new() };
    let from = find("from").unwrap_or(edits.len());
    let mut start = select + 1;
    if edits.is_word_of(start, "distinct all") {
        start += 1;
    }
    if edits.is_word(start, "top") {
        start = edits.call_end(start).unwrap_or(start + 1) + 1;
    }
    let is_end = |at: &usize| (start..from).contains(at) && edits.is_sign(*at, ",");
    let ends: Vec<usize> = outside.iter().copied().filter(is_end).chain([from]).collect();
    let mut columns = Vec::new();
    for end in ends {
        columns.push(edits.text_between(start, end).trim().trim_end_matches(';'));
        start = end + 1;
    }
    columns
}

/// Replaces `GROUP BY ALL` by the numbers of the columns without aggregates.
pub(super) fn group_by_all(sql: &str) -> Option<String> {
    let mut edits = Edits::new(sql);
    let outside = outside_of_parentheses(&edits);
    let group =
        outside.iter().copied().find(|at| edits.is_word(*at, "group") && edits.is_word(at + 2, "all"))?;
    let before =
        |word: &str| outside.iter().rev().copied().find(|at| *at < group && edits.is_word(*at, word));
    let (select, from) = (before("select")?, before("from")?);
    let commas = outside.iter().copied().filter(|at| (select..from).contains(at) && edits.is_sign(*at, ","));
    let mut start = select + 1;
    let mut plain = Vec::new();
    for (index, end) in commas.chain([from]).enumerate() {
        let is_aggregate =
            (start..end).any(|at| edits.is_word_of(at, AGGREGATES) && edits.call_end(at).is_some());
        if !is_aggregate {
            plain.push((index + 1).to_string());
        }
        start = end + 1;
    }
    if plain.is_empty() {
        edits.remove(group, group + 2);
    } else {
        edits.replace(group + 2, plain.join(", "));
    }
    edits.apply()
}

/// Rewrites `SELECT DISTINCT ON (a) …` as a selection of the first row of each `a`, with `QUALIFY`.
pub(super) fn distinct_on(sql: &str) -> Option<String> {
    let edits = Edits::new(sql);
    let is_form = edits.is_word(0, "select") && edits.is_word(1, "distinct") && edits.is_word(2, "on");
    let close = edits.call_end(2).filter(|_| is_form)?;
    let outside = outside_of_parentheses(&edits);
    let find =
        |words: &str| outside.iter().copied().find(|at| edits.is_word_of(*at, words)).unwrap_or(edits.len());
    let text = |start: usize, end: usize| edits.text_between(start, end).trim().trim_end_matches(';');
    let limit = find("limit fetch offset");
    let order = find("order").min(limit);
    let (columns, order_by) = (text(4, close), text(order, limit));
    Some(format!(
        "SELECT {} QUALIFY row_number() OVER (PARTITION BY {columns} {order_by}) = 1 {order_by} {}",
        text(close + 1, order),
        text(limit, edits.len())
    ))
}

/// Moves the condition of `QUALIFY` into a SELECT around the statement. The columns stay; where it selects from several
/// tables or from groups, the column `qualified` is added.
pub(super) fn qualify(sql: &str) -> Option<String> {
    let edits = Edits::new(sql);
    let outside = outside_of_parentheses(&edits);
    let qualify = outside.iter().copied().find(|at| edits.is_word(*at, "qualify"))?;
    let before =
        |word: &str| outside.iter().rev().copied().find(|at| *at < qualify && edits.is_word(*at, word));
    let (select, from) = (before("select")?, before("from")?);
    let is_end = |at: &usize| {
        *at > qualify && (edits.is_word_of(*at, "order limit fetch offset") || edits.is_sign(*at, ";"))
    };
    let end = outside.iter().copied().find(is_end).unwrap_or(edits.len());
    let has_window = |start: usize, end: usize| (start..end).any(|at| edits.is_word(at, "over"));
    let text = |start: usize, end: usize| edits.text_between(start, end).trim();
    let (with, list, rest) = (text(0, select), text(select + 1, from), text(from, qualify));
    let (condition, tail) = (text(qualify + 1, end), text(end, edits.len()));
    let is_table = select == 0
        && !edits.is_sign(from + 1, "(")
        && !(from..qualify).any(|at| edits.is_word_of(at, "join group") || edits.is_sign(at, ","));
    Some(if !has_window(qualify, end) {
        format!("{with} SELECT * FROM (SELECT {list} {rest}) WHERE {condition} {tail}")
    } else if is_table && !has_window(select, from) {
        let table = text(from, before("where").filter(|at| *at > from).unwrap_or(qualify));
        format!(
            "SELECT {list} {table} WHERE rowid IN (SELECT id FROM (SELECT rowid AS id, ({condition}) AS qualified {rest}) \
             WHERE qualified) {tail}"
        )
    } else {
        format!(
            "{with} SELECT * FROM (SELECT {list}, ({condition}) AS qualified {rest}) WHERE qualified {tail}"
        )
    })
}
