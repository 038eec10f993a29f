//! A query with what is known of it before it runs, and its preparation: as it is written, or as it is meant in another
//! dialect, with other quotes or with other names.

use std::cell::OnceCell;
use std::sync::Arc;

use portion_text::column_form::ColumnForm;
use portion_text::names::equivalent_name;
use rusqlite::{Error, Statement};

use super::connection::QueryConnection;
use crate::catalogue::Catalogue;
use crate::cell::{Cell, ValueKinds};
use crate::column::{ColumnDef, Redaction};
use crate::dialect::{
    ColumnFacts, ComparedType, TableUse, TimeUnit, Tree, is_compared_value, is_used_alias, word_offsets,
};
use crate::error::quote_identifier;
use crate::limits::{QueryDeadline, QueryLimits};
use crate::records::MAX_DEPTH;
use crate::table::{OpenTable, VirtualTable};
use crate::table_rows::HINT_ROWS;
use crate::{QueryError, SqlQuery, dialect};

/// A query that is being run.
pub(super) struct QueryRun<'a> {
    pub(super) catalogue: &'a Catalogue,
    pub(super) query: &'a SqlQuery<'a>,
    /// The statement before its tables were named, for the names of columns.
    pub(super) given_sql: &'a str,
    pub(super) limits: &'a QueryLimits,
    pub(super) deadline: Arc<QueryDeadline>,
    /// The statement as a tree, and the tables that it reads.
    parsed: OnceCell<Option<(Tree, Vec<TableUse>)>>,
}

impl<'a> QueryRun<'a> {
    pub(super) fn new(
        catalogue: &'a Catalogue,
        query: &'a SqlQuery<'a>,
        given_sql: &'a str,
        limits: &'a QueryLimits,
        deadline: Arc<QueryDeadline>,
    ) -> Self {
        Self { catalogue, query, given_sql, limits, deadline, parsed: OnceCell::new() }
    }

    /// Returns the tree of the statement; `None` if it cannot be parsed.
    pub(super) fn tree(&self) -> Option<&Tree> {
        self.parsed().map(|(tree, _)| tree)
    }

    /// Returns the tables that the statement reads.
    pub(super) fn table_uses(&self) -> &[TableUse] {
        self.parsed().map_or(&[], |(_, tables)| tables)
    }

    /// Yields the tables of the catalogue that the statement reads.
    fn read_tables(&self) -> impl Iterator<Item = Arc<OpenTable>> {
        let tables = self.table_uses().iter().filter_map(|used| self.catalogue.table(&used.table));
        tables.filter_map(|table| table.open(&self.deadline))
    }

    /// Returns true if the statement reads lists, and not the main one. Other tables are of the whole result.
    pub(super) fn reads_other_lists(&self) -> bool {
        let is_other = |used: &TableUse| {
            let main = self.catalogue.tables.first();
            self.catalogue.table(&used.table).is_some_and(|table| {
                // What is at a path may be inside the main list.
                let is_beside = !table.name.contains(['/', '*']) && !WHOLE_TABLES.contains(&&*table.name);
                is_beside && main.is_some_and(|main| !Arc::ptr_eq(main, table))
            })
        };
        !self.table_uses().is_empty() && self.table_uses().iter().all(is_other)
    }

    /// Calls `work` with the tree of the statement, which may have been repaired.
    pub(super) fn with_tree<T>(&self, sql: &str, work: impl FnOnce(&Tree) -> Option<T>) -> Option<T> {
        if sql == self.query.sql { self.tree().and_then(work) } else { work(&Tree::parse(sql)?) }
    }

    fn parsed(&self) -> Option<&(Tree, Vec<TableUse>)> {
        let with_tables = |tree: Tree| {
            let tables = tree.table_uses();
            (tree, tables)
        };
        self.parsed.get_or_init(|| Tree::parse(self.query.sql).map(with_tables)).as_ref()
    }

    /// Returns the columns that a name may mean: of the table whose name or alias comes before it, else of all tables that the
    /// statement reads. `renamed`: names that were read as others.
    pub(super) fn columns_named(
        &self,
        name: &str,
        renamed: &[(String, String)],
    ) -> Vec<(Arc<OpenTable>, usize)> {
        let uses = self.table_uses();
        let (prefix, tail) = name.split_once('.').unwrap_or(("", name));
        let qualifier = uses.iter().find(|used| used.alias.eq_ignore_ascii_case(prefix));
        let tables: Vec<_> =
            match qualifier.map(|used| (used.argument.is_some(), self.catalogue.table(&used.table))) {
                Some((true, _)) => Vec::new(),
                Some((false, Some(table))) => vec![table],
                _ => uses.iter().filter_map(|used| self.catalogue.table(&used.table)).collect(),
            };
        let is_given = |wanted: &str| wanted.eq_ignore_ascii_case(name) || wanted.eq_ignore_ascii_case(tail);
        let meant = renamed.iter().find(|(given, _)| is_given(given)).map(|(_, column)| column);
        let is_named = |column: &str| is_given(column) || meant.is_some_and(|meant| column == meant);
        let opened = tables.into_iter().filter_map(|table| table.open(&self.deadline));
        opened
            .filter_map(|table| {
                let at = table.columns().iter().position(|column| is_named(&column.name))?;
                Some((table, at))
            })
            .collect()
    }
}

/// Most columns in which a text is looked for that is not in the one of a condition.
const MAX_TEXT_COLUMNS: usize = 32;
/// Tables of the whole result.
const WHOLE_TABLES: [&str; 6] = ["entries", "fields", "leaves", "lines", "record", "sections"];
/// Last words of names that say of what kind the value is.
const KIND_WORDS: [&str; 5] = ["name", "at", "on", "date", "time"];
/// Most attempts to read a statement in other dialects.
const MAX_READINGS: usize = 3;

/// A statement that can be run.
pub(super) struct PreparedQuery<'c> {
    pub(super) statement: Statement<'c>,
    /// The statement as it was prepared.
    pub(super) sql: String,
    /// Names of columns that were read as others.
    pub(super) renamed: Vec<(String, String)>,
}

impl QueryRun<'_> {
    /// Prepares the statement as it is written. One that SQLite rejects is read in other dialects, and with other quotes and
    /// column names where that is unambiguous.
    pub(super) fn prepare<'c>(
        &self,
        opened: &'c QueryConnection,
        sql: &str,
    ) -> Result<PreparedQuery<'c>, QueryError> {
        let connection = &opened.connection;
        let mut sql = sql.to_owned();
        let mut renamed = Vec::new();
        let (mut is_rewritten, mut readings) = (false, 0);
        let types = dialect::ColumnTypes {
            is_time: &|name| self.may_be_time(name),
            compared: &|table, name| self.compared_type(table, name),
            facts: &|table, name| self.column_facts(table, name),
        };
        'attempts: for attempt in 0.. {
            opened.usage.columns.reset();
            let error = match connection.prepare(&sql) {
                Ok(_) if !is_rewritten => {
                    is_rewritten = true;
                    let other = self.with_tree(&sql, |tree| dialect::rewrite_misread(tree, &types));
                    if other.is_some() {
                        opened.add_functions(&self.deadline, self.limits).map_err(|e| self.explain(e))?;
                    }
                    match other.map(|other| (connection.prepare(&other).err(), other)) {
                        Some((None, other)) => sql = other,
                        // An index that counts from 0 in some dialects and from 1 in others.
                        Some((Some(error), _)) if error.to_string().contains("_subscript") => {
                            return Err(self.explain(error));
                        }
                        _ => {}
                    }
                    continue;
                }
                Ok(statement) if statement.column_count() == 0 && statement.readonly() => {
                    return Err(self.invalid_error("the statement is empty".into()));
                }
                Ok(statement) if !statement.readonly() || statement.is_explain() != 0 => {
                    return Err(self.invalid_error("only SELECT is allowed".into()));
                }
                Ok(statement) => return Ok(PreparedQuery { statement, sql, renamed }),
                Err(error) => error,
            };
            if attempt >= MAX_REPAIRS {
                return Err(self.explain(error));
            }
            let is_column = |name: &str| self.has_column(name);
            // A keyword may be a part of another dialect, or the name of a column.
            let is_syntax = error.to_string().contains("syntax error");
            for is_reading in [is_syntax, !is_syntax] {
                if !is_reading && let Some(better) = repair_quotes(&error, &sql, is_column) {
                    sql = better;
                    continue 'attempts;
                }
                if is_reading && !is_rewritten && readings < MAX_READINGS {
                    readings += 1;
                    if let Some(other) = self.with_tree(&sql, |tree| Some(dialect::rewrite(tree, &types))) {
                        opened.add_functions(&self.deadline, self.limits).map_err(|e| self.explain(e))?;
                        (sql, is_rewritten) = (other, true);
                        continue 'attempts;
                    }
                }
            }
            // A list without elements has no columns, and so has none that is wrong.
            let has_no_rows =
                || !self.table_uses().is_empty() && self.read_tables().all(|table| table.len() == 0);
            if let Some(better) = without_column(&error, &sql).filter(|_| has_no_rows()) {
                sql = better;
                continue;
            }
            let meant = |table: &str, name: &str| self.column_meant(table, name);
            let Some((better, names)) = repair_spelling(&error, &sql, meant) else {
                return Err(self.explain(error));
            };
            sql = better;
            if !renamed.contains(&names) {
                renamed.push(names);
            }
        }
        Err(self.invalid_error("the statement cannot be read".into()))
    }

    /// Returns true for the name of a column with times, or of no column, in a statement that reads a table with times.
    fn may_be_time(&self, name: &str) -> bool {
        let is_time = |column: &ColumnDef| matches!(column.form, ColumnForm::Time(_));
        let named = self.columns_named(name, &[]);
        named.iter().any(|(table, at)| {
            is_time(&table.columns()[*at])
                || matches!(time_unit(table, *at), Some(TimeUnit::DateDigits | TimeUnit::TimeDigits))
        }) || named.is_empty() && self.read_tables().any(|table| table.columns().iter().any(is_time))
    }

    /// Returns a column by its table and its name. Without a table, it is the column that is meant by the name.
    fn column_at(&self, table: &str, name: &str) -> Option<(Arc<OpenTable>, usize)> {
        if table.is_empty() {
            let (table, tail) = name.split_once('.').unwrap_or(("", name));
            let meant =
                [("", name), (table, tail)].iter().find_map(|(table, name)| self.column_meant(table, name));
            return self.columns_named(&meant?, &[]).into_iter().next();
        }
        let table = self.catalogue.table(table)?.open(&self.deadline)?;
        let at = table.columns().iter().position(|column| column.name.eq_ignore_ascii_case(name))?;
        Some((table, at))
    }

    /// Returns what is known of a column beside its type.
    fn column_facts(&self, table: &str, name: &str) -> Option<ColumnFacts> {
        let (table, at) = self.column_at(table, name)?;
        let column = &table.columns()[at];
        let is_own = |own: &&Arc<VirtualTable>| own.opened().is_some_and(|own| Arc::ptr_eq(own, &table));
        // Numbers are written otherwise than SQL does: `$2.50`, `15.50`, `true`.
        let has_other_texts =
            column.has_written_numbers() && (column.form != ColumnForm::Number || column.has_fractions);
        let own = self.catalogue.tables.iter().find(is_own).filter(|_| has_other_texts);
        let is_unread = column.has_other_times && matches!(column.form, ColumnForm::Time(_));
        let has = |kinds| column.kinds.intersects(kinds);
        Some(ColumnFacts {
            written: own.map(|own| [own.name.clone(), column.name.clone()]),
            unread_times: is_unread.then_some(column.form),
            has_some_fractions: has(ValueKinds::INTEGER) && has(ValueKinds::REAL),
        })
    }

    /// Returns the type of a column.
    fn compared_type(&self, table: &str, name: &str) -> Option<ComparedType> {
        let (table, at) = self.column_at(table, name)?;
        let column = &table.columns()[at];
        Some(match column.form {
            _ if column.is_boolean() => ComparedType::Boolean,
            ColumnForm::Amount | ColumnForm::DecimalComma | ColumnForm::Time(_) => {
                ComparedType::Form(column.form)
            }
            ColumnForm::Text if column.kinds.are_texts() && (column.has_codes || column.has_number_codes) => {
                ComparedType::Codes { is_numbered: column.has_number_codes }
            }
            _ if column.is_numeric() || column.form == ColumnForm::Number => {
                time_unit(&table, at).map_or(ComparedType::Number, ComparedType::TimeNumbers)
            }
            _ => ComparedType::Other,
        })
    }

    /// Returns the only column of a table, or of all which the statement reads, that differs from a name in nothing but case and
    /// separators, or has a path that ends in such a name: `location.latitude` for `latitude`, else `channelName` for
    /// `channel`. `table`: what is before the name.
    fn column_meant(&self, table: &str, name: &str) -> Option<String> {
        let uses = self.table_uses();
        let is_table = |used: &&TableUse| used.alias.eq_ignore_ascii_case(table);
        let named = uses.iter().find(is_table);
        let read = named.map_or(uses, std::slice::from_ref);
        let tables = read.iter().filter_map(|used| self.catalogue.table(&used.table));
        let rows: Vec<_> = tables.filter_map(|table| table.open(&self.deadline)).collect();
        let columns = rows.iter().flat_map(|rows| rows.columns().iter());
        let hidden = columns.clone().filter(|column| column.is_hidden).map(|column| column.name.as_str());
        let visible = columns.filter(|column| !column.is_hidden).map(|column| column.name.as_str());
        // Names that differ in case only are numbered.
        let is_variant = |column: &&str| {
            let stem = column.rsplit_once('_').filter(|(_, number)| number.parse::<usize>().is_ok());
            stem.is_some_and(|(stem, _)| stem.eq_ignore_ascii_case(name))
        };
        let variants: Vec<&str> = visible.clone().filter(is_variant).collect();
        let mut exact = variants.iter().filter(|column| column.starts_with(name));
        if let (2.., Some(column), None) = (variants.len(), exact.next(), exact.next()) {
            return Some((*column).to_owned());
        }
        // The column of an object that does not exist is not that of another one.
        let may_be_nested = table.is_empty() || named.is_some();
        let only_ending_in = |endings: &[String]| {
            let ends = |column: &&str| {
                endings.iter().any(|ending| equivalent_name(ending, column.rsplit('.').next()).is_some())
            };
            let mut found = visible.clone().filter(ends);
            let only = found.next().filter(|_| may_be_nested && found.next().is_none());
            // An object of this name that is less deep is meant, rather than what another one has inside.
            let depth = |column: &str| column.matches('.').count();
            let object = hidden.clone().filter(ends).min_by_key(|column| depth(column));
            object.filter(|object| only.is_some_and(|only| depth(object) < depth(only))).or(only)
        };
        let longer = || only_ending_in(&KIND_WORDS.map(|kind| format!("{name}_{kind}")));
        equivalent_name(name, visible.clone())
            .or_else(|| only_ending_in(&[name.to_owned()]))
            .or_else(longer)
            .map(str::to_owned)
    }

    /// Returns the names of the columns with texts that the caller may see, of the tables which the statement reads.
    pub(super) fn text_columns(&self) -> Vec<String> {
        let is_text = |column: &&ColumnDef| {
            !column.is_hidden && column.kinds.are_texts() && column.redaction == Redaction::Unredacted
        };
        let names = |rows: Arc<OpenTable>| {
            let columns = rows.columns().iter().filter(is_text).map(|column| quote_identifier(&column.name));
            columns.collect::<Vec<_>>()
        };
        self.read_tables().flat_map(names).take(MAX_TEXT_COLUMNS).collect()
    }

    /// Returns true for a column of a table that the statement reads; of any table if it cannot be parsed.
    fn has_column(&self, name: &str) -> bool {
        let is_named = |table: Arc<OpenTable>| {
            table.columns().iter().any(|column| column.name.eq_ignore_ascii_case(name))
        };
        if self.table_uses().is_empty() {
            let mut all = self.catalogue.tables.iter().filter_map(|table| table.open(&self.deadline));
            return all.any(is_named);
        }
        self.read_tables().any(is_named)
    }
}

/// Returns the unit of a column of numbers that are times: that of its first ones. No time is 0 or less.
fn time_unit(table: &OpenTable, at: usize) -> Option<TimeUnit> {
    let (mut unit, mut count) = (None, 0);
    let is_mixed = table.find_in_column(at, HINT_ROWS, |cell| {
        let number = match cell {
            Cell::Integer(n) => n,
            Cell::Real(n) => n as i64,
            Cell::Text(text) => text.trim().parse().ok()?,
            Cell::Null => return None,
        };
        if number <= 0 {
            return None;
        }
        count += 1;
        let this = TimeUnit::of(number);
        let is_other = this.is_none() || this != *unit.get_or_insert(this);
        (is_other || count == TIME_SAMPLES).then_some(is_other)
    });
    unit.flatten().filter(|_| is_mixed != Some(true))
}

/// Numbers of a column that are looked at for their unit of time.
const TIME_SAMPLES: usize = 32;

/// Maximum names and texts in one statement that are corrected.
pub(crate) const MAX_REPAIRS: usize = 64;

/// Returns the statement with other quotes at the place of an error: of a column that was not found, or of a text
/// that was taken for a column.
pub(crate) fn repair_quotes(error: &Error, sql: &str, is_column: impl Fn(&str) -> bool) -> Option<String> {
    let (message, offset) = match error {
        Error::SqlInputError { msg, offset, .. } => (msg, usize::try_from(*offset).ok()),
        Error::SqliteFailure(_, Some(message)) => (message, None),
        _ => return None,
    };
    if message.ends_with(": syntax error") {
        return quote_keyword(sql, offset?, is_column);
    }
    let name = message.strip_prefix("no such column: ")?;
    if let Some((quoted, _)) = name.split_once(" - should this be a string literal") {
        // A value in double quotes that is compared with another one is a text.
        let (at, inside) = (offset?, quoted.strip_prefix('"')?.strip_suffix('"')?);
        let text = format!("'{}'", inside.replace("\"\"", "\"").replace('\'', "''"));
        let rest = sql.get(at..)?.strip_prefix(quoted)?;
        return is_compared_value(sql, at).then(|| format!("{}{text}{rest}", &sql[..at]));
    }
    let at = place_of(name, sql, offset)?;
    let (before, rest) = (sql.get(..at)?, sql.get(at + name.len()..)?);
    if is_column(name) {
        return Some(format!("{before}\"{name}\"{rest}"));
    }
    // After the name or alias of a table: `i.price.total`.
    let (table, column) = name.split_once('.')?;
    (column.contains('.') && is_column(column)).then(|| format!("{before}{table}.\"{column}\"{rest}"))
}

/// Quotes the column at the place of a syntax error: its name is a keyword, or has more steps than the name of a column
/// can have in SQL, after the name of a table or not.
fn quote_keyword(sql: &str, at: usize, is_column: impl Fn(&str) -> bool) -> Option<String> {
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '.');
    let before = sql.get(..at)?;
    let is_step = sql.get(at..)?.starts_with('.') || before.ends_with('.');
    let start = if is_step { before.trim_end_matches(is_name).len() } else { at };
    let rest = sql.get(start..)?;
    let full = rest.get(..rest.find(|c| !is_name(c)).unwrap_or(rest.len()))?.trim_end_matches('.');
    let table = full.split_once('.').filter(|_| is_step).map_or(0, |(table, _)| table.len() + 1);
    for skipped in [0, table] {
        let mut name = &full[skipped..];
        while !name.is_empty() && !is_column(name) {
            name = name.rsplit_once('.').map_or("", |(shorter, _)| shorter);
        }
        let (begin, end) = (start + skipped, start + full.len());
        let steps = full[skipped..].strip_prefix(name).unwrap_or_default();
        // Deeper members are no columns.
        if !steps.is_empty() && name.split('.').count() == MAX_DEPTH {
            let table = &full[..skipped];
            return Some(format!("{}({table}\"{name}\" ->> '${steps}'){}", &sql[..start], &sql[end..]));
        }
        if !name.is_empty() {
            return Some(format!("{}\"{name}\"{steps}{}", &sql[..begin], &sql[end..]));
        }
    }
    None
}

/// Returns the statement with NULL in place of a column that was not found.
fn without_column(error: &Error, sql: &str) -> Option<String> {
    let Error::SqlInputError { msg, offset, .. } = error else { return None };
    let name = msg.strip_prefix("no such column: ")?;
    let at = place_of(name, sql, usize::try_from(*offset).ok())?;
    Some(format!("{}NULL{}", sql.get(..at)?, sql.get(at + name.len()..)?))
}

/// Returns the statement with another name in place of a column that was not found, the part of that column that is replaced,
/// and the other name: of `guest_name`, `guestName`. `column_meant` returns the column that a name means after that of a table,
/// which may be empty.
pub(crate) fn repair_spelling(
    error: &Error,
    sql: &str,
    column_meant: impl Fn(&str, &str) -> Option<String>,
) -> Option<(String, (String, String))> {
    let Error::SqlInputError { msg, offset, .. } = error else { return None };
    let name = msg.strip_prefix("no such column: ").filter(|name| !name.contains('"'))?;
    let at = place_of(name, sql, usize::try_from(*offset).ok())?;
    // The statement would read other places as the alias.
    if is_used_alias(sql, name.rsplit('.').next()?) {
        return None;
    }
    // The whole name, or what is after the name or alias of a table.
    let (wrong, right) = std::iter::once(("", name))
        .chain(name.split_once('.'))
        .find_map(|(table, wrong)| Some((wrong, column_meant(table, wrong)?)))?;
    let (start, end) = (at + name.len() - wrong.len(), at + name.len());
    let repaired = format!("{}{}{}", sql.get(..start)?, quote_identifier(&right), sql.get(end..)?);
    Some((repaired, (wrong.to_owned(), right)))
}

/// Returns the place of a name: the one that SQLite tells, or for the condition of a JOIN, of which it tells none, the first
/// outside of texts, quoted names and comments.
fn place_of(name: &str, sql: &str, given: Option<usize>) -> Option<usize> {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '.');
    let is_name = |at: &usize| {
        let rest = sql.get(*at..).and_then(|rest| rest.strip_prefix(name));
        rest.is_some_and(|rest| !rest.starts_with(is_word))
            && !sql.get(..*at).is_some_and(|before| before.ends_with('.'))
    };
    let given = given.filter(|at| sql.get(*at..).is_some_and(|rest| rest.starts_with(name)));
    given.or_else(|| word_offsets(sql).into_iter().find(is_name))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use portion_core::payload::{Block, Content, Payload};
    use portion_core::snapshot::capture;
    use portion_core::view::View;

    use super::QueryRun;
    use crate::engine::connection;
    use crate::limits::{QueryDeadline, QueryLimits};
    use crate::{SqlQuery, catalogue};

    #[test]
    fn statements_that_sqlite_accepts_are_never_changed() {
        let rows = r#"[{"u":"7","q":"15.50","d":"2024-01-05","name":"Ann","tags":["a"],"n":1}]"#;
        let block = Block::new("/content/0/text", Content::Text(rows.to_owned()));
        let snapshot = capture(Payload { blocks: vec![block], ..Payload::default() });
        let catalogue = catalogue::build(&snapshot, &View::root(), &[], &[]).expect("tables");
        for sql in [
            "SELECT count(*) FROM items WHERE u IN (SELECT u FROM items)",
            "SELECT max(q), sum(q) FROM items WHERE q > 10 AND u IN ('7', '8', '9')",
            "select  u,u||'x'  from items order by q desc -- x::int",
            "SELECT CAST(q AS REAL), CAST(u AS INTEGER), CAST(n AS TEXT) FROM items",
            "SELECT strftime('%Y', d) = 2024, substr(d, 1, 4) > 2000 FROM items",
            "SELECT ifnull(q, 0) > 10, CASE WHEN q IS NULL THEN 0 ELSE q END > 10 FROM items",
            "SELECT count(*) FROM items WHERE name = 'true' AND n = 007 AND q <> '015.50' OR 'false' = name",
            "SELECT item->>'q' > 10, n - 1, -n, n+n FROM items WHERE name LIKE 'a%'",
            "WITH a AS (SELECT u AS e FROM items) SELECT count(DISTINCT e) FROM a GROUP BY e HAVING count(*) > 0",
            "SELECT sum(n) OVER (ORDER BY u ROWS 1 PRECEDING), \"name\" FROM items, json_each(tags) AS t",
        ] {
            let limits = QueryLimits::default();
            let query = SqlQuery { sql, params: &[] };
            let deadline = Arc::new(QueryDeadline::new(&limits));
            let opened = connection::open(&catalogue, sql, &deadline, &limits).expect("a connection");
            let run = QueryRun::new(&catalogue, &query, sql, &limits, deadline);
            let prepared = run.prepare(&opened, sql).map(|prepared| prepared.sql);
            assert_eq!(prepared.as_deref(), Ok(sql));
        }
    }
}
