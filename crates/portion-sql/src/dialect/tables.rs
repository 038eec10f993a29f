//! Rewrites the names of tables, and statements that list tables and columns: `items('/a/b')` is the list at a path, `b.items` a table of another result, and
//! `b.items('/a/b')` the list at a path of it.

use std::ops::ControlFlow;
use std::sync::LazyLock;

use regex::Regex;
use sqlparser::ast::{Query, TableFactor, Visit, Visitor};

use super::edits::{Edits, TokenKind, pattern};
use super::scopes;
use crate::error::quoted_name;

/// A statement whose tables have names of their own.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct NamedTables {
    /// The statement, if it was changed.
    pub(crate) sql: Option<String>,
    /// Lists at paths that are tables.
    pub(crate) paths: Vec<PathTable>,
}

/// A list at a path that is a table. The name of the table is the path, after the name of another result.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PathTable {
    /// Name of the other result; `None` for the main one.
    pub(crate) result: Option<String>,
    pub(crate) path: String,
}

/// Words after which FROM ends.
const FROM_ENDS: &str = "where group order having limit window union except intersect on using select";
/// Words that may follow a table and are not its alias.
const NO_ALIASES: &str = "where group order having limit window union except intersect on using join left right inner \
    outer cross full natural";

/// Rewrites the tables of a statement; `joined`: the names of other results.
pub(crate) fn name_tables(sql: &str, joined: &[&str]) -> NamedTables {
    let mut edits = Edits::new(sql);
    let targets = targets(&edits);
    // The names of tables of other results, and what stands for each before the name of a column.
    let mut qualifiers: Vec<(String, String)> = Vec::new();
    let mut named = NamedTables::default();
    for at in targets.iter().copied() {
        if let Some((path, last)) = path_table(&edits, at) {
            let has_name = matches!(edits.kind(at), Some(TokenKind::Word));
            let has_name = has_name && !has_alias(&edits, last);
            let alias = if has_name { format!(" AS {}", edits.text(at)) } else { String::new() };
            edits.remove(at, last);
            edits.replace(at, format!("{}{alias}", quoted_name(&path)));
            named.paths.push(PathTable { result: None, path });
        } else if let Some(name) = joined_name(&edits, at, joined).filter(|_| edits.is_sign(at + 1, ".")) {
            let table = unquoted(edits.text(at + 2));
            let written = format!("{name}.{table}");
            let at_path = path_table(&edits, at + 2).filter(|(_, last)| *last > at + 2);
            let last = at_path.as_ref().map_or(at + 2, |(_, last)| *last);
            let full = at_path.as_ref().map_or_else(|| written.clone(), |(path, _)| format!("{name}.{path}"));
            named.paths.extend(at_path.map(|(path, _)| PathTable { result: Some(name), path }));
            // The last part of the name of a table.
            let last_of = |at: usize| edits.text(if edits.is_sign(at + 1, ".") { at + 2 } else { at });
            let is_same = |other: &&usize| unquoted(last_of(**other)).eq_ignore_ascii_case(&table);
            let is_unique = targets.iter().filter(is_same).count() == 1;
            edits.remove(at, last);
            if is_unique && !has_alias(&edits, last) {
                edits.replace(at, format!("{} AS {}", quoted_name(&full), quoted_name(&table)));
                qualifiers.push((written, table));
            } else {
                edits.replace(at, quoted_name(&full));
                qualifiers.push((written, full));
            }
        }
    }
    // `b.items.id` is a column of the table `b.items`, if the statement reads that, and else `items.id` one of `b`.
    for at in 0..edits.len() {
        let is_column = edits.is_sign(at + 1, ".") && edits.is_sign(at + 3, ".") && !targets.contains(&at);
        let Some(name) = joined_name(&edits, at, joined).filter(|_| is_column) else { continue };
        let written = format!("{name}.{}", unquoted(edits.text(at + 2)));
        let qualifier = qualifiers.iter().find(|(table, _)| table.eq_ignore_ascii_case(&written));
        if let Some((_, qualifier)) = qualifier {
            let replacement = quoted_name(qualifier);
            edits.remove(at, at + 2);
            edits.replace(at, replacement);
        }
    }
    NamedTables { sql: edits.apply(), ..named }
}

/// A table that a statement reads.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TableUse {
    pub(crate) table: String,
    /// Its alias, or its name.
    pub(crate) alias: String,
    /// The name that it gives to its first column: `e` of `UNNEST(tags) AS t(e)`.
    pub(crate) element: Option<String>,
    /// The first argument of a function: `tags` of `json_each(tags)`; empty without one.
    pub(crate) argument: Option<String>,
}

/// Returns the tables in the FROM clauses of a statement whose tables have names of their own, functions included.
pub(super) fn table_uses(query: &Query) -> Vec<TableUse> {
    let mut uses = Uses(Vec::new());
    let _ = query.visit(&mut uses);
    uses.0
}

struct Uses(Vec<TableUse>);

impl Visitor for Uses {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        let (table, alias, argument) = match factor {
            TableFactor::Table { name, alias, args, .. } => {
                let first = args.as_ref().map(|args| args.args.first().map(ToString::to_string));
                (scopes::unquoted(name), alias, first)
            }
            TableFactor::Function { name, alias, args, .. } => {
                (scopes::unquoted(name), alias, Some(args.first().map(ToString::to_string)))
            }
            TableFactor::UNNEST { array_exprs, alias: alias @ Some(_), .. } => {
                ("unnest".to_owned(), alias, Some(array_exprs.first().map(ToString::to_string)))
            }
            _ => return ControlFlow::Continue(()),
        };
        let element = alias.as_ref().and_then(|alias| Some(alias.columns.first()?.name.value.clone()));
        let alias = alias.as_ref().map_or_else(|| table.clone(), |alias| alias.name.value.clone());
        self.0.push(TableUse { table, alias, element, argument: argument.map(Option::unwrap_or_default) });
        ControlFlow::Continue(())
    }
}

/// Returns the first token of each table in the FROM clauses.
fn targets(edits: &Edits<'_>) -> Vec<usize> {
    let (mut found, mut in_from, mut outside) = (Vec::new(), false, Vec::new());
    let begins_clause = |at: usize| edits.is_word(at, "join") || is_from_clause(edits, at);
    for at in 0..edits.len() {
        let is_name =
            matches!(edits.kind(at), Some(TokenKind::Word | TokenKind::QuotedName | TokenKind::Text));
        let before = at.checked_sub(1);
        let begins = before.is_some_and(|before| {
            begins_clause(before) || edits.is_sign(before, ",") || edits.is_sign(before, "(")
        });
        if edits.is_sign(at, "(") {
            outside.push(in_from);
            in_from = in_from && begins;
        } else if edits.is_sign(at, ")") {
            in_from = outside.pop().unwrap_or(false);
        } else if begins_clause(at) {
            in_from = true;
        } else if edits.is_word_of(at, FROM_ENDS) {
            in_from = false;
        } else if in_from && begins && is_name {
            found.push(at);
        }
    }
    found
}

/// Returns true if `FROM` begins a clause: not in `EXTRACT(year FROM x)`, and not in `x IS DISTINCT FROM y`.
fn is_from_clause(edits: &Edits<'_>, at: usize) -> bool {
    if !edits.is_word(at, "from") {
        return false;
    }
    let is_comparison = at > 1 && edits.is_word(at - 1, "distinct") && edits.is_word_of(at - 2, "is not");
    // The call around this word begins at the last parenthesis that is still open.
    let opened = (0..at)
        .rev()
        .find(|open| edits.is_sign(*open, "(") && edits.partner(*open).is_some_and(|end| end > at));
    let is_argument = opened.is_some_and(|open| {
        open > 0
            && edits.is_word_of(open - 1, "extract substring substr trim ltrim rtrim overlay position")
            && !edits.is_word_of(open + 1, "select with")
    });
    !is_comparison && !is_argument
}

/// Returns the path of `items('/a')`, `'/a'` or `"/a"`, and its last token.
fn path_table(edits: &Edits<'_>, at: usize) -> Option<(String, usize)> {
    let is_path = |at: usize| {
        matches!(edits.kind(at), Some(TokenKind::Text | TokenKind::QuotedName))
            && edits.text(at).get(1..2) == Some("/")
    };
    if edits.kind(at) != Some(TokenKind::Word) {
        return is_path(at).then(|| (unquoted(edits.text(at)), at));
    }
    let is_call = edits.is_word_of(at, "items") && edits.call_end(at) == Some(at + 3);
    (is_call && edits.kind(at + 2) == Some(TokenKind::Text)).then(|| (unquoted(edits.text(at + 2)), at + 3))
}

fn joined_name(edits: &Edits<'_>, at: usize, joined: &[&str]) -> Option<String> {
    if !matches!(edits.kind(at), Some(TokenKind::Word | TokenKind::QuotedName)) {
        return None;
    }
    let name = unquoted(edits.text(at));
    joined.iter().find(|joined| joined.eq_ignore_ascii_case(&name)).map(|name| (*name).to_owned())
}

fn has_alias(edits: &Edits<'_>, last: usize) -> bool {
    match edits.kind(last + 1) {
        Some(TokenKind::Word) => !edits.is_word_of(last + 1, NO_ALIASES),
        Some(TokenKind::QuotedName) => true,
        _ => false,
    }
}

fn unquoted(name: &str) -> String {
    let inner = name.get(1..name.len().saturating_sub(1)).unwrap_or_default();
    match name.chars().next() {
        Some(quote @ ('"' | '`' | '\'')) if name.len() > 1 && name.ends_with(quote) => {
            inner.replace(&format!("{quote}{quote}"), &quote.to_string())
        }
        Some('[') if name.ends_with(']') => inner.to_owned(),
        _ => name.to_owned(),
    }
}

/// A statement about tables and columns.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum CatalogStatement {
    /// The tables.
    Tables,
    /// The columns of the table of this name.
    Columns(String),
}

/// A statement about all tables, and one about the columns of a table.
static TABLES: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"(?i)^(?:show\s+(?:(?:all|full)\s+)?tables|(?:describe|desc|summarize)(?:\s+tables)?)$")
});
static COLUMNS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"(?ix)^(?: show\s+(?:(?:all|full)\s+)?(?:columns|fields)\s+(?:from|in)\s+ | pragma\s+table_x?info\s*\(\s*
        | (?:describe|desc|summarize)\s+(?:table\s+)? ) (?: ([\w$]+) | "(.*)" | '(.*)' | `(.*)` ) \s*\)?$"#,
    )
});

/// Reads a statement about tables and columns; `None` if it is another statement.
pub(crate) fn parse_catalog_statement(sql: &str) -> Option<CatalogStatement> {
    let sql = sql.trim().trim_end_matches(|c: char| c == ';' || c.is_whitespace());
    if TABLES.is_match(sql) {
        return Some(CatalogStatement::Tables);
    }
    let name = COLUMNS.captures(sql)?.iter().skip(1).flatten().next()?;
    Some(CatalogStatement::Columns(name.as_str().to_owned()))
}

impl CatalogStatement {
    /// Returns the SELECT; `fields`: the name of the table of all columns.
    pub(crate) fn to_select(&self, fields: &str) -> String {
        match self {
            Self::Tables => format!(
                "SELECT table_name AS name, max(present) AS \"rows\", count(*) AS columns FROM \"{fields}\" \
                 GROUP BY table_name ORDER BY min(rowid)"
            ),
            Self::Columns(table) => {
                let table = table.replace('\'', "''");
                format!("SELECT name, kind, present FROM \"{fields}\" WHERE table_name = '{table}'")
            }
        }
    }
}
