//! Says why a statement found nothing: how many rows each condition matches alone, and what values there are.

use portion_text::display::counted;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Statement};

use crate::dialect::{Condition, TextComparison, WhereClause, as_given, having_extent};
use crate::query_result::EmptyReason;
use crate::sql_query;

/// Maximum conditions that are counted, and characters of each that are shown.
const MAX_CONDITIONS: usize = 6;
const MAX_CONDITION_CHARS: usize = 60;
/// Shortest text that is looked for in other columns, in bytes.
const MIN_TEXT_BYTES: usize = 4;
/// Maximum values of a column that are listed, and characters of each.
const MAX_VALUES: usize = 12;
const MAX_VALUE_CHARS: usize = 30;

/// Returns why a statement without rows found nothing. Errors and the deadline only make the answer shorter. `texts`: columns of
/// texts, in one of which a text may be that is not in the one of the statement.
pub(super) fn explain_empty(
    connection: &Connection,
    sql: &str,
    given: &[(String, String)],
    texts: &[String],
) -> Option<EmptyReason> {
    let (mut counts, mut hints) = (Vec::new(), Vec::new());
    if let Some(clause) = WhereClause::parse(sql).filter(|clause| clause.conditions.len() <= MAX_CONDITIONS) {
        for condition in &clause.conditions {
            let Some(count) = count(connection, &clause.count(&condition.text), given) else { continue };
            if count == 0 {
                let range = || {
                    let column = condition.range.as_ref()?;
                    Some(extent_hint(column, &extent(connection, &clause.extent(column), given)?))
                };
                let elsewhere = elsewhere_hint(connection, &clause, condition, texts);
                let value = || value_hint(connection, &clause, condition);
                hints.extend(elsewhere.or_else(value).or_else(range));
            }
            counts.push((shorten(&as_given(&condition.text), MAX_CONDITION_CHARS), count));
        }
    }
    // That alternatives match nothing is said by the result.
    if counts.len() == 1 || counts.iter().all(|(_, count)| *count == 0) {
        counts.clear();
    }
    let having = having_extent(sql).filter(|_| hints.is_empty());
    hints.extend(having.and_then(|(compared, statement)| {
        Some(extent_hint(&compared, &extent(connection, &statement, given)?))
    }));
    (!counts.is_empty() || !hints.is_empty()).then_some(EmptyReason { counts, hints })
}

pub(super) fn count(connection: &Connection, sql: &str, given: &[(String, String)]) -> Option<i64> {
    let mut statement = prepare(connection, sql, given)?;
    let mut rows = statement.raw_query();
    rows.next().ok()??.get(0).ok()
}

/// Prepares a statement with those of the given parameters that it uses.
pub(super) fn prepare<'c>(
    connection: &'c Connection,
    sql: &str,
    given: &[(String, String)],
) -> Option<Statement<'c>> {
    let mut statement = connection.prepare(sql).ok()?;
    let names: Vec<String> = (1..=statement.parameter_count())
        .filter_map(|at| statement.parameter_name(at).map(str::to_owned))
        .collect();
    let is_used = |name: &str| names.iter().any(|used| used.trim_start_matches([':', '@', '$']) == name);
    let used: Vec<(String, String)> =
        given.iter().filter(|(name, _)| is_used(name.trim_start_matches([':', '@', '$']))).cloned().collect();
    sql_query::bind(&mut statement, &used).ok()?;
    Some(statement)
}

/// Returns the other column that has the text of `column = 'text'` or `column LIKE 'text'`.
fn elsewhere_hint(
    connection: &Connection,
    clause: &WhereClause,
    condition: &Condition,
    texts: &[String],
) -> Option<String> {
    // Short words, such as yes and no, are in many columns. Most rows do not have a text.
    let is_negated = ["NOT ", "<>", "!="].iter().any(|sign| condition.text.contains(sign));
    let compared =
        condition.comparison.as_ref().filter(|of| !is_negated && of.text.len() >= MIN_TEXT_BYTES)?;
    texts.iter().filter(|other| **other != compared.column).find_map(|other| {
        let text = condition.text.replacen(&compared.column, other, 1);
        let count = count(connection, &clause.count(&text), &[]).filter(|count| *count > 0)?;
        Some(format!("{} with {text}", counted(count as usize, "row")))
    })
}

/// Returns what values the column of `column = 'text'` or `column LIKE 'text'` has instead.
fn value_hint(connection: &Connection, clause: &WhereClause, condition: &Condition) -> Option<String> {
    let TextComparison { column, text: wanted, is_equality } = condition.comparison.as_ref()?;
    let has = |test: &str| {
        count(connection, &clause.count(&format!("{column} {test}")), &[]).is_some_and(|count| count > 0)
    };
    match wanted.trim() {
        "" if has("IS NULL") => {
            return Some(format!("{column} is NULL in some rows, not '': write {column} IS NULL"));
        }
        boolean @ ("true" | "false") => {
            let is_negated = ["<>", "!="].iter().any(|sign| condition.text.contains(sign));
            if !is_negated && has(&format!("= {boolean}")) {
                return Some(format!("{column} has booleans: write {column} = {boolean}"));
            }
            // Some APIs leave out what is false.
            if (boolean == "true") == is_negated && has("= true") && has("IS NULL") {
                return Some(format!("{column} is true or NULL: write {column} IS NOT TRUE"));
            }
        }
        _ => {}
    }
    let mut statement = connection.prepare(&clause.values(column, 1_000)).ok()?;
    let mut rows = statement.raw_query();
    let (mut values, mut more) = (Vec::new(), false);
    while let Some(row) = rows.next().ok()? {
        let value = row.get_ref(0).ok()?;
        if let Some(text) = value.as_str().ok().filter(|_| *is_equality) {
            if text.starts_with('[') && text.ends_with(']') {
                return Some(format!(
                    "{column} is an array: WHERE EXISTS (SELECT 1 FROM json_each({column}) WHERE value = '{}')",
                    wanted.replace('\'', "''")
                ));
            }
            if text.to_lowercase() == wanted.to_lowercase() {
                return Some(format!("{column} has '{text}': = compares case, LIKE ignores it"));
            }
            if text.trim() == wanted.trim() {
                return Some(format!("{column} has '{text}', with white space: use trim({column})"));
            }
        }
        let Some(shown) = shown(value) else { continue };
        more |= values.len() >= MAX_VALUES;
        if values.len() < MAX_VALUES {
            values.push(shown);
        }
    }
    match (values.is_empty(), more) {
        (true, _) => Some(format!("{column} has no values")),
        (false, false) => Some(format!("{column} is one of {}", values.join(", "))),
        (false, true) => {
            values.truncate(3);
            Some(format!("{column} has values as {}", values.join(", ")))
        }
    }
}

fn extent_hint(name: &str, (min, max): &(String, String)) -> String {
    format!("{} is from {min} to {max}", shorten(name, MAX_CONDITION_CHARS))
}

/// Returns the two values of the only row of a statement, if they are no NULL.
fn extent(connection: &Connection, sql: &str, given: &[(String, String)]) -> Option<(String, String)> {
    let mut statement = prepare(connection, sql, given)?;
    let mut rows = statement.raw_query();
    let row = rows.next().ok()??;
    Some((shown(row.get_ref(0).ok()?)?, shown(row.get_ref(1).ok()?)?))
}

/// Returns a value as it is shown; `None` for NULL.
fn shown(value: ValueRef<'_>) -> Option<String> {
    match value {
        ValueRef::Integer(n) => Some(n.to_string()),
        ValueRef::Real(n) => Some(n.to_string()),
        ValueRef::Text(_) => Some(format!("'{}'", shorten(value.as_str().ok()?, MAX_VALUE_CHARS))),
        ValueRef::Null | ValueRef::Blob(_) => None,
    }
}

fn shorten(text: &str, max: usize) -> String {
    let mut words: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((at, _)) = words.char_indices().nth(max) {
        words.truncate(at);
        words.push('…');
    }
    words
}
