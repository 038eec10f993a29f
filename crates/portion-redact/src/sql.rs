//! Redacts the values of SQL statements: `INSERT INTO users (name, password) VALUES ('ann', 'x')`, the same without columns
//! below the `CREATE TABLE` of the table, `COPY users (name, password) FROM stdin;`, `IDENTIFIED BY 'x'`.

use std::collections::BTreeMap;

use memchr::memmem;

use super::delimited::match_column_name;
use super::edit::REDACTED;
use super::value::Form;
use super::{NameMatch, RedactedNames, RedactionRules, TextEdit};

/// Maximum bytes of a list of columns, and of its columns.
const MAX_COLUMNS_BYTES: usize = 16 << 10;
const MAX_COLUMNS: usize = 1_024;
/// Maximum bytes of a value, and maximum values without an end that are searched for it.
const MAX_VALUE_BYTES: usize = 64 << 10;
const MAX_OPEN_VALUES: usize = 256;
/// Maximum bytes of a comment before a row.
const MAX_COMMENT_BYTES: usize = 1 << 10;
/// Maximum bytes of the name of a table.
const MAX_TABLE_NAME_BYTES: usize = 256;
/// Maximum comments between the columns and the rows.
const MAX_COMMENTS: usize = 8;
const CREATE_TABLE: [&str; 2] = ["CREATE TABLE", "create table"];
const VALUES: [&str; 3] = ["VALUES", "values", "Values"];
const COPY: [&str; 2] = ["FROM stdin", "FROM STDIN"];
/// Words before the password of a user.
const PASSWORD_WORDS: [&str; 4] = ["PASSWORD '", "password '", "IDENTIFIED BY '", "identified by '"];
const QUOTES: [char; 5] = ['"', '`', '[', ']', '\''];

/// Adds the edits for the statements of a text.
pub(super) fn collect_edits(
    redact: &RedactionRules,
    text: &str,
    edits: &mut Vec<TextEdit>,
    names: &mut RedactedNames,
) {
    let mut statements = Statements { redact, text, tables: BTreeMap::new(), open_values: 0, edits, names };
    CREATE_TABLE.iter().for_each(|keyword| statements.read_tables(keyword));
    VALUES.iter().for_each(|keyword| statements.redact_inserts(keyword));
    COPY.iter().for_each(|keyword| statements.redact_copies(keyword));
    if redact.hides_secrets {
        PASSWORD_WORDS.iter().for_each(|words| statements.redact_literals(words));
    }
}

/// The columns of a table, with the rules that match them.
#[derive(Clone)]
struct Columns<'t> {
    names: Vec<&'t str>,
    verdicts: Vec<NameMatch>,
}

struct Statements<'t, 'w> {
    redact: &'w RedactionRules,
    text: &'t str,
    /// The columns of tables with hidden ones, by name in lower case.
    tables: BTreeMap<String, Columns<'t>>,
    /// Values that do not end.
    open_values: usize,
    edits: &'w mut Vec<TextEdit>,
    names: &'w mut RedactedNames,
}

impl<'t> Statements<'t, '_> {
    /// Reads the columns of `CREATE TABLE` statements.
    fn read_tables(&mut self, keyword: &str) {
        let mut done = 0;
        for at in memmem::find_iter(self.text.as_bytes(), keyword) {
            let from = at + keyword.len();
            let near = &self.text[from..self.text.floor_char_boundary(from + MAX_COLUMNS_BYTES)];
            let Some(len) = near.find('(').filter(|_| at >= done) else { continue };
            let (mut names, mut start) = (Vec::new(), from + len + 1);
            while let Some(len) = self.value_len(start).filter(|_| names.len() < MAX_COLUMNS) {
                // Constraints come after all columns, so that they change no index.
                let definition = self.text[start..start + len].trim();
                let name = definition.split_whitespace().next().unwrap_or_default();
                names.push(name.trim_matches(QUOTES));
                start += len + 1;
                if self.text[..start].ends_with(')') {
                    break;
                }
            }
            done = start;
            let table = table_name(&near[..len]);
            if let Some(columns) = self.match_columns(names) {
                self.tables.insert(table, columns);
            } else {
                self.tables.remove(&table);
            }
        }
    }

    /// Redacts the rows of `INSERT` statements.
    fn redact_inserts(&mut self, keyword: &str) {
        let mut done = 0;
        for at in memmem::find_iter(self.text.as_bytes(), keyword) {
            if at < done {
                continue;
            }
            let Some(columns) = self.columns_before(at) else { continue };
            done = at + keyword.len();
            let mut is_complete = true;
            while is_complete && let Some(row) = self.redact_row(done, &columns) {
                (done, is_complete) = row;
            }
        }
    }

    /// Redacts the lines below `COPY … FROM stdin;`, up to `\.`.
    fn redact_copies(&mut self, keyword: &str) {
        let mut done = 0;
        for at in memmem::find_iter(self.text.as_bytes(), keyword) {
            let Some(columns) = (at >= done).then(|| self.columns_before(at)).flatten() else { continue };
            let mut start = at;
            for line in self.text[at..].split_inclusive('\n') {
                let is_statement = start == at;
                if line.trim_end() == "\\." {
                    break;
                }
                let mut cell_start = start;
                for (index, cell) in line.trim_end_matches(['\n', '\r']).split('\t').enumerate() {
                    let verdict = columns.verdicts.get(index).copied().unwrap_or_default();
                    if !is_statement
                        && verdict.is_hidden()
                        && cell != "\\N"
                        && verdict.hides(columns.names[index], cell, Form::Data)
                    {
                        self.hide(cell_start, cell, columns.names[index], REDACTED.into());
                    }
                    cell_start += cell.len() + 1;
                }
                start += line.len();
            }
            done = start;
        }
    }

    /// Redacts the literal after words whose last character is its quote.
    fn redact_literals(&mut self, words: &str) {
        for at in memmem::find_iter(self.text.as_bytes(), words) {
            let start = at + words.len();
            let near = &self.text[start..self.text.floor_char_boundary(start + MAX_VALUE_BYTES)];
            let len = near.find(['\'', '\n']).unwrap_or(near.len());
            if !matches!(&near[..len], "" | REDACTED) {
                self.hide(start, &near[..len], "password", REDACTED.into());
            }
        }
    }

    /// Returns the columns that stand in parentheses before the keyword at `at`, or those of the table that is named there;
    /// `None` if none of them is hidden.
    fn columns_before(&self, at: usize) -> Option<Columns<'t>> {
        let from = self.text.ceil_char_boundary(at.saturating_sub(MAX_COLUMNS_BYTES)).min(at);
        let near = without_comments_at_end(&self.text[from..at]);
        let Some(list) = near.strip_suffix(')') else {
            return self.tables.get(&table_name(near)).cloned();
        };
        let list = &list[list.rfind('(')? + 1..];
        let names: Vec<&str> = list.split(',').map(column_name).collect();
        self.match_columns(names)
    }

    fn match_columns(&self, names: Vec<&'t str>) -> Option<Columns<'t>> {
        let verdicts: Vec<_> = names.iter().map(|name| match_column_name(self.redact, name)).collect();
        let has_hidden = verdicts.iter().any(|verdict| verdict.is_hidden());
        (has_hidden && names.iter().all(|name| !name.is_empty())).then_some(Columns { names, verdicts })
    }

    /// Redacts the row that begins after `from`. Returns its end and true if it is complete, or `None` if there is none.
    fn redact_row(&mut self, from: usize, columns: &Columns<'t>) -> Option<(usize, bool)> {
        let lead = self.text[from..].find(|c: char| !c.is_whitespace() && c != ',')?;
        let mut at = from + lead;
        let comment = self.text[at..].strip_prefix("/*").and_then(|inside| near_start(inside).find("*/"));
        if let Some(len) = comment {
            at += len + 4;
            at += self.text[at..].find(|c: char| !c.is_whitespace())?;
        }
        if !self.text[at..].starts_with('(') {
            return None;
        }
        for index in 0.. {
            let start = at + 1;
            let rest = &self.text[start..];
            let len = self.value_len(start).filter(|_| !is_open_mark(rest));
            // A value that does not end is hidden up to the end of its line.
            at = start + len.unwrap_or_else(|| rest.find('\n').unwrap_or(rest.len()));
            let value = self.text[start..at].trim_start();
            let start = at - value.len();
            let value = value.trim_end();
            let verdict = columns.verdicts.get(index).copied().unwrap_or_default();
            if verdict.hides(
                columns.names.get(index).copied().unwrap_or_default(),
                value.trim_matches('\''),
                Form::Data,
            ) {
                self.hide(start, value, columns.names[index], format!("'{REDACTED}'"));
            }
            if len.is_none() {
                return Some((at, false));
            }
            if self.text[at..].starts_with(')') {
                break;
            }
        }
        Some((at + 1, true))
    }

    fn value_len(&mut self, start: usize) -> Option<usize> {
        if self.open_values > MAX_OPEN_VALUES {
            return None;
        }
        let len = value_len(&self.text[start..]);
        self.open_values += usize::from(len.is_none());
        len
    }

    fn hide(&mut self, start: usize, value: &str, name: &str, replacement: String) {
        self.names.add(name.to_owned());
        self.edits.push(TextEdit { start, end: start + value.len(), replacement: replacement.into() });
    }
}

/// Returns a text without the comments at its end: `(id, password) /* … */`.
fn without_comments_at_end(text: &str) -> &str {
    let mut text = text.trim_end_matches([' ', '\t']);
    for _ in 0..MAX_COMMENTS {
        let is_on_next_line = text.ends_with('\n');
        let before = text.trim_end();
        let near = before.ceil_char_boundary(before.len().saturating_sub(MAX_COMMENT_BYTES));
        let line = before[near..].rfind('\n').map_or(near, |feed| near + feed + 1);
        let start = match before.strip_suffix("*/") {
            Some(inside) => inside.get(near..).and_then(|inside| inside.rfind("/*")).map(|at| near + at),
            None if is_on_next_line => before[line..].find("--").map(|at| line + at),
            None => None,
        };
        text = match start {
            Some(start) => &text[..start],
            None => return before,
        };
    }
    text.trim_end()
}

/// Returns the name of a column in a list, without quotes and comments.
fn column_name(column: &str) -> &str {
    let name = column.rsplit_once("*/").map_or(column, |(_, name)| name);
    let name = name.split("/*").next().unwrap_or_default();
    name.trim().trim_matches(QUOTES)
}

fn near_start(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_COMMENT_BYTES)]
}

/// Returns true if a value is hidden and did not end.
fn is_open_mark(value: &str) -> bool {
    let mark = value.trim_start().strip_prefix('\'').and_then(|value| value.strip_prefix(REDACTED));
    let after = mark.and_then(|rest| rest.strip_prefix('\''));
    after.is_some_and(|after| !after.trim_start().starts_with([',', ')']))
}

/// Returns the name of the table at the end of a text, in lower case, without its schema.
fn table_name(text: &str) -> String {
    let near = text.ceil_char_boundary(text.len().saturating_sub(MAX_TABLE_NAME_BYTES));
    let name = text[near..].split_whitespace().next_back().unwrap_or_default();
    name.rsplit('.').next().unwrap_or_default().trim_matches(QUOTES).to_lowercase()
}

/// Returns the bytes of a value of a row, up to the comma or the parenthesis after it, or `None` if it does not end.
fn value_len(text: &str) -> Option<usize> {
    let (mut depth, mut quote) = (0_usize, None);
    let mut bytes = text.bytes().take(MAX_VALUE_BYTES).enumerate();
    while let Some((at, byte)) = bytes.next() {
        match (quote, byte) {
            (Some(_), b'\\') => drop(bytes.next()),
            (Some(open), _) if byte == open => quote = None,
            (None, b'\'' | b'"' | b'`') => quote = Some(byte),
            (None, b'(') => depth += 1,
            (None, b',' | b')') if depth == 0 => return Some(at),
            (None, b')') => depth -= 1,
            _ => {}
        }
    }
    None
}
