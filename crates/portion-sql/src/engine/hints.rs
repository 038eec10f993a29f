//! Says what to write instead of a form that SQLite does not have.

use std::collections::{BTreeMap, BTreeSet};

use super::connection::QueryConnection;
use super::empty;
use super::query_run::QueryRun;
use crate::catalogue::Catalogue;
use crate::cell::ValueKinds;
use crate::dialect::{self, ColumnUse, WhereClause};
use crate::error::quote_identifier;
use crate::table::OpenTable;

/// Forms of other dialects, as words with one space between them and bars between forms, and what to write instead.
const FORMS: [(&str, &str); 5] = [
    (" :: ", "cast to int, float, numeric(10,2), text, date, timestamp, boolean or json"),
    (" like any ( | ilike any ( ", "use x REGEXP '(?i)a|b', or several LIKE with OR"),
    (
        " > all ( select | >= all ( select | < all ( select | <= all ( select | > any ( select | < any ( select ",
        "compare with one value: x > (SELECT max(y) FROM …) for > ALL, min(y) for > ANY",
    ),
    (
        " random ( ",
        "random() is not available: the same query gives the same answer; use ORDER BY _index or WHERE _index % 10 = 0",
    ),
    (
        " information_schema . | sqlite_master | sqlite_schema | pragma ",
        "the columns of all tables are in fields(table_name, name, kind, present); DESCRIBE items and SHOW TABLES work too",
    ),
];

/// Functions that take the elements of an array.
const ARRAY_FUNCTIONS: &str = "unnest flatten explode jsonb_array_elements json_array_elements \
    jsonb_array_elements_text";

/// Functions of other dialects without an equal here, and what to write instead.
const FUNCTIONS: [(&str, &str); 8] = [
    ("array_subscript", "write tags ->> '$[0]' for the first element of an array, '$[#-1]' for the last"),
    ("split_subscript", "write split_part(x, ',', 1) for the first part, 2 for the second, -1 for the last"),
    (
        "array_slice",
        "number the rows: row_number() OVER (PARTITION BY a ORDER BY b); of a text: substr(x, 1, 3)",
    ),
    ("make_date datefromparts", "write dates as texts: d >= '2024-03-01'"),
    ("weekday dayofweek day_of_week", "use EXTRACT(dow FROM d), 0 is Sunday, or dayname(d)"),
    ("split string_split string_to_array regexp_split_to_array", "use split_part(x, ',', 2)"),
    ("substring_index", "use split_part(x, '.', 1), or split_part(x, '.', -1) for the last part"),
    (
        "uuid gen_random_uuid newid rand",
        "random values are not available: the same query gives the same answer",
    ),
];

/// Returns what to write instead of the form at which a statement failed.
pub(super) fn hint(sql: &str, message: &str, catalogue: &Catalogue) -> Option<String> {
    if let Some(name) = message.strip_prefix("no such function: ") {
        let is_named = |names: &str| names.split(' ').any(|known| known.eq_ignore_ascii_case(name.trim()));
        if is_named("json_each json_tree") {
            return Some(array_hint(catalogue, dialect::argument_of(sql, "json_each json_tree").as_deref()));
        }
        if let Some((_, hint)) = FUNCTIONS.iter().find(|(names, _)| is_named(names)) {
            return Some((*hint).to_owned());
        }
    }
    if message.contains("may not be used as a window function") {
        return Some("compute it in a subquery with GROUP BY and join that".to_owned());
    }
    if message.contains("misuse of aggregate") {
        return Some(
            "use a subquery: WHERE price = (SELECT max(price) FROM items), or HAVING after GROUP BY"
                .to_owned(),
        );
    }
    let words = dialect::normalized(sql);
    if message.starts_with("near \"LIMIT\"") && words.contains("_agg ( ") {
        return Some("aggregates have no LIMIT: FROM (SELECT … ORDER BY … LIMIT 3)".to_owned());
    }
    let has_form = |forms: &str| forms.split('|').any(|form| words.contains(form));
    let array = dialect::argument_of(sql, ARRAY_FUNCTIONS);
    if array.is_some() || has_form(" @ > | && ") {
        return Some(array_hint(catalogue, array.as_deref()));
    }
    FORMS.iter().find(|(forms, _)| has_form(forms)).map(|(_, hint)| (*hint).to_owned())
}

/// Other lists of an object that a hint names.
const MAX_LISTS: usize = 4;

/// Returns how to read the tables of a document that are not listed.
pub(super) fn unlisted_tables(catalogue: &Catalogue) -> String {
    format!(
        "{} more tables of the document are not listed: read them in lines(number, text), or with find",
        catalogue.unlisted_table_count
    )
}

/// Returns what else there is beside `items`, if a statement reads that by its name.
pub(super) fn other_tables(run: &QueryRun<'_>) -> Option<String> {
    let (words, catalogue) = (dialect::normalized(run.query.sql), run.catalogue);
    let is_items = |used: &dialect::TableUse| used.table.eq_ignore_ascii_case("items");
    if run.tree().is_some() && !run.table_uses().iter().any(is_items) {
        return None;
    }
    other_blocks(run.query.sql, &words, catalogue)
        .or_else(|| other_lists(&words, catalogue))
        .or_else(|| only_row(&words, catalogue))
}

/// Returns how to read the other lists of an object with several, where a statement reads `items` alone.
fn other_lists(words: &str, catalogue: &Catalogue) -> Option<String> {
    let (main, others) = catalogue.lists.split_first()?;
    let is_named = |name: &String| words.contains(&name.to_lowercase());
    let is_of_items = words.contains(" items ") && !is_named(main) && !others.iter().any(is_named);
    let listed = others.iter().take(MAX_LISTS).cloned().collect::<Vec<_>>().join(", ");
    is_of_items.then(|| format!("items is {main}; other lists are {listed}"))
}

/// Returns how to read the other blocks of a result with several lists.
fn other_blocks(sql: &str, words: &str, catalogue: &Catalogue) -> Option<String> {
    let is_named = |name: &str| words.contains(&format!(" {name} "));
    let is_other = |name: &&str| name.strip_prefix("items_").is_some_and(|n| n.parse::<usize>().is_ok());
    let others: Vec<&str> =
        catalogue.tables.iter().map(|table| table.name.as_str()).filter(is_other).collect();
    let [_, second, ..] = &catalogue.blocks[..] else { return None };
    if !is_named("items") || others.iter().any(|name| is_named(name)) || sql.contains("/content/") {
        return None;
    }
    let count = catalogue.blocks.len();
    let listed = match &others[..] {
        [] => format!("another is items('{second}')"),
        [only] => format!("others are {only}"),
        [first, .., last] => format!("others are {first} to {last}"),
    };
    Some(format!("items is one of {count} blocks; {listed}"))
}

/// Returns what to add to a statement that compares the values of leaves with a number and finds texts.
pub(super) fn compared_leaves(
    run: &QueryRun<'_>,
    opened: &QueryConnection,
    prepared: &str,
) -> Option<String> {
    let is_leaf =
        |name: &str| run.columns_named(name, &[]).iter().any(|(table, at)| table.columns()[*at].is_written);
    let mut uses = dialect::column_uses(run.tree()?).into_iter();
    let (name, _) = uses.find(|(name, of)| *of == ColumnUse::Number && is_leaf(name))?;
    let clause = WhereClause::parse(prepared)?;
    let counted = clause.count(&format!("({}) AND typeof({name}) = 'text'", clause.selection));
    let texts = empty::count(&opened.connection, &counted, run.query.params).filter(|count| *count > 0)?;
    let rows = counted_rows(texts as usize);
    Some(format!("{rows} texts, which are greater than all numbers: add AND typeof({name}) <> 'text'"))
}

/// Returns what else a statement may count that counts the only row of `items`.
fn only_row(words: &str, catalogue: &Catalogue) -> Option<String> {
    let items = catalogue.table("items")?;
    let counts_rows =
        words.contains(" count ( * ) ") && words.contains(" items ") && !words.contains(" where ");
    let rows = items.opened().filter(|rows| counts_rows && rows.len() == 1)?;
    let is_text = |name: &&str| ["entries", "lines"].contains(name);
    if let Some(text) = catalogue.tables.iter().map(|table| table.name.as_str()).find(is_text) {
        return Some(format!("items is one object; its text is {text}"));
    }
    if let Some(count) = members_alike(rows) {
        return Some(format!("items is one object; its {count} members of one form are items('/')"));
    }
    let list = rows.columns().iter().find(|column| column.kinds.intersects(ValueKinds::ARRAY))?;
    let name = list.name.rsplit('.').next().unwrap_or(&list.name).replace('\'', "''");
    Some(format!("items has one row; the elements of {} are items('*/{name}')", quote_identifier(&list.name)))
}

/// Returns the number of the members of an object, if all are objects with the same names.
fn members_alike(row: &OpenTable) -> Option<usize> {
    let mut members: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for column in row.columns().iter().filter(|column| !column.is_hidden) {
        let (member, inner) = column.name.split_once('.')?;
        members.entry(member).or_default().insert(inner);
    }
    let first = members.values().next()?;
    (members.len() > 1 && members.values().all(|names| names == first)).then_some(members.len())
}

/// Says that separated rows have more values than columns, so that values may stand below other names, or that some may be none of
/// the table.
pub(super) fn uneven_rows(run: &QueryRun<'_>) -> Option<String> {
    run.table_uses().iter().find_map(|used| {
        let table = run.catalogue.table(&used.table)?.opened()?;
        let count = table.found.overlong_row_count;
        if count > 0 {
            let rows = counted_rows(count);
            return Some(format!(
                "{rows} more values than columns, so values may be in other columns: see lines"
            ));
        }
        let (count, first) = table.found.odd_rows.as_ref()?;
        let rows = counted_rows(*count);
        Some(format!("{rows} fewer values than columns, and may be none of the table ('{first}')"))
    })
}

fn counted_rows(count: usize) -> String {
    if count == 1 { "1 row has".to_owned() } else { format!("{count} rows have") }
}

/// Says that `item` of a text is JSON with quotes, if a statement computes with it; `shown`: number of result columns that
/// are records.
pub(super) fn quoted_items(run: &QueryRun<'_>, shown: usize) -> Option<String> {
    let is_list_of_texts = |used: &dialect::TableUse| {
        let rows = run.catalogue.table(&used.table).and_then(|table| table.opened());
        rows.is_some_and(|rows| {
            let columns = rows.columns().iter().filter(|column| !column.is_hidden && column.name != "_key");
            columns.map(|column| (column.name.as_str(), column.kinds.are_texts())).eq([("value", true)])
        })
    };
    let is_computed = || dialect::normalized(run.query.sql).matches(" item ").count() > shown;
    (run.table_uses().iter().any(is_list_of_texts) && is_computed())
        .then(|| "item is JSON, with quotes: use value".to_owned())
}

/// Returns how to read the elements of an array, with the name of an actual column.
pub(super) fn array_hint(catalogue: &Catalogue, column: Option<&str>) -> String {
    let column_of = |table: &crate::table::VirtualTable| {
        let rows = table.opened()?;
        let mut columns = rows.columns().iter().filter(|column| column.kinds.intersects(ValueKinds::ARRAY));
        let found = columns.find(|found| column.is_none_or(|name| found.name.eq_ignore_ascii_case(name)))?;
        Some((table.name.clone(), found.name.clone()))
    };
    let (table, column) = catalogue
        .tables
        .iter()
        .find_map(|table| column_of(table))
        .unwrap_or_else(|| ("items".to_owned(), column.unwrap_or("tags").to_owned()));
    let (table, column) = (quote_identifier(&table), quote_identifier(&column));
    format!(
        "the elements of an array are rows of json_each: SELECT count(*) FROM {table}, json_each({table}.{column}) AS e \
         WHERE e.value = 'x' (of objects: e.value ->> '$.name')"
    )
}

/// Returns the names of columns that were read as others.
pub(super) fn read_as(renamed: &[(String, String)]) -> Option<String> {
    let read: Vec<_> = renamed.iter().map(|(given, column)| format!("{given} is read as {column}")).collect();
    (!read.is_empty()).then(|| read.join(", "))
}

/// Returns what is known of a text that is not JSON: the call, and a value.
pub(super) fn malformed_json(run: &QueryRun<'_>) -> Option<(String, String)> {
    let tables = run.table_uses().iter().filter(|used| used.table.to_ascii_lowercase().starts_with("json"));
    let mut calls: Vec<(String, String)> = tables
        .filter_map(|used| {
            Some((format!("{}({})", used.table, used.argument.as_ref()?), used.argument.clone()?))
        })
        .collect();
    calls.extend(dialect::json_arguments(run.tree()?));
    let text = calls.iter().find_map(|(call, argument)| {
        let mut named = run.columns_named(&argument.replace('"', ""), &[]).into_iter();
        let (table, at) =
            named.find(|(table, at)| table.columns()[*at].kinds.intersects(ValueKinds::TEXT))?;
        Some((call, quote_identifier(&table.columns()[at].name)))
    });
    if let Some((call, column)) = text {
        return Some((
            format!("malformed JSON in {call}: {column} has texts that are not JSON"),
            format!("add WHERE json_valid({column}), or use {column} as text: LIKE, instr, split_part"),
        ));
    }
    let (call, argument) = calls.first()?;
    Some((format!("malformed JSON in {call}"), format!("add WHERE json_valid({argument})")))
}
