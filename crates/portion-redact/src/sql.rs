//! Redacts the values of SQL statements: `INSERT INTO users (name, password) VALUES ('ann', 'x')`, the same without columns
//! below the `CREATE TABLE` of the table, `COPY users (name, password) FROM stdin;`.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::columns::Columns;
use super::pattern::regex;
use super::text_value::item_len;
use super::{Findings, REDACTED, RedactionRules};

/// Maximum bytes of a list of columns, and of its columns.
const MAX_COLUMNS_BYTES: usize = 16 << 10;
const MAX_COLUMNS: usize = 1_024;
/// Maximum values without an end that are read.
const MAX_OPEN_VALUES: usize = 256;
/// Maximum bytes of the name of a table.
const MAX_TABLE_NAME_BYTES: usize = 256;
/// Words before the columns of a table, and before rows. Case does not matter.
static KEYWORDS: LazyLock<Regex> = LazyLock::new(|| regex("(?i)(create table)|(values)|from stdin"));
const QUOTES: [char; 5] = ['"', '`', '[', ']', '\''];

/// Hides the values of the statements of a text. `text` has no comments between the parts of a statement.
pub(super) fn redact(rules: &RedactionRules, text: &str, found: &mut Findings) {
    let mut statements = Statements { rules, text, tables: BTreeMap::new(), open_values: 0, found };
    let mut done = [0; 3];
    for keyword in KEYWORDS.captures_iter(text) {
        let kind = keyword.iter().skip(1).position(|group| group.is_some()).unwrap_or(2);
        let Range { start, end } = keyword.get(0).map_or(0..0, |keyword| keyword.range());
        if start >= done[kind] {
            done[kind] = match kind {
                0 => statements.read_table(end),
                1 => statements.redact_rows(start, end),
                _ => statements.redact_copy(start),
            };
        }
    }
}

struct Statements<'t, 'w> {
    rules: &'w RedactionRules,
    text: &'t str,
    /// The columns of tables by name in lower case, if one of them is hidden.
    tables: BTreeMap<String, Option<Columns>>,
    /// Values that do not end.
    open_values: usize,
    found: &'w mut Findings,
}

impl Statements<'_, '_> {
    /// Reads the columns of a `CREATE TABLE`, and returns their end.
    fn read_table(&mut self, from: usize) -> usize {
        let near = &self.text[from..self.text.floor_char_boundary(from + MAX_COLUMNS_BYTES)];
        let Some(len) = near.find('(') else { return from };
        // Constraints come after all columns, so that they change no index.
        let (definitions, end, _) = self.read_list(from + len + 1);
        let names = definitions.into_iter().map(|item| self.text[item].split_whitespace().next());
        let columns = self.columns(names.map(Option::unwrap_or_default));
        self.tables.insert(table_name(&near[..len]), columns);
        end
    }

    /// Reads the items of a list that begins at an offset. Returns them, the offset after the list, and true if it is complete. A value
    /// that does not end ends with its line.
    fn read_list(&mut self, mut at: usize) -> (Vec<Range<usize>>, usize, bool) {
        let mut items = Vec::new();
        loop {
            let rest = &self.text[at..];
            let is_read = self.open_values <= MAX_OPEN_VALUES && !is_open_mark(rest);
            let len = if is_read { item_len(rest) } else { None };
            self.open_values += usize::from(len.is_none());
            let end = at + len.unwrap_or_else(|| rest.find('\n').unwrap_or(rest.len()));
            let item = self.text[at..end].trim_start();
            let start = end - item.len();
            items.push(start..start + item.trim_end().len());
            if len.is_none() || self.text[end..].starts_with(')') || items.len() == MAX_COLUMNS {
                return (items, end + usize::from(len.is_some()), len.is_some());
            }
            at = end + 1;
        }
    }

    /// Redacts the rows of an `INSERT`, and returns their end. `at`: its keyword, which ends at `from`.
    fn redact_rows(&mut self, at: usize, from: usize) -> usize {
        let Some(columns) = self.columns_before(at) else { return from };
        let (mut done, mut is_complete) = (from, true);
        while is_complete && let Some(row) = self.redact_row(done, &columns) {
            (done, is_complete) = row;
        }
        done
    }

    /// Redacts the lines below `COPY … FROM stdin;`, up to `\.`, and returns their end.
    fn redact_copy(&mut self, at: usize) -> usize {
        let (mut start, text) = (at, self.text);
        let Some(columns) = self.columns_before(at) else { return at };
        for line in text[at..].split_inclusive('\n') {
            if line.trim_end() == "\\." {
                break;
            }
            let mut cell_start = start;
            let cells = line.trim_end_matches(['\n', '\r']).split('\t').map(|cell| {
                let cell = cell_start..cell_start + cell.len();
                cell_start = cell.end + 1;
                cell
            });
            let cells: Vec<_> = cells.collect();
            if start > at {
                columns.redact_row(self.rules, text, &cells, self.found, |_| REDACTED.into());
            }
            start += line.len();
        }
        start
    }

    /// Returns the columns that stand in parentheses before the keyword at `at`, or those of the table that is named there;
    /// `None` if none of them is hidden.
    fn columns_before(&self, at: usize) -> Option<Columns> {
        let from = self.text.ceil_char_boundary(at.saturating_sub(MAX_COLUMNS_BYTES)).min(at);
        let near = self.text[from..at].trim_end();
        match near.strip_suffix(')') {
            Some(list) => self.columns(list[list.rfind('(')? + 1..].split(',')),
            None => self.tables.get(&table_name(near)).cloned().flatten(),
        }
    }

    fn columns<'n>(&self, names: impl Iterator<Item = &'n str>) -> Option<Columns> {
        let names = names.map(|name| name.trim().trim_matches(QUOTES).to_owned()).collect();
        Some(Columns::of(self.rules, names)).filter(|columns| !columns.hide_nothing())
    }

    /// Redacts the row that begins after `from`. Returns its end and true if it is complete, or `None` if there is none.
    fn redact_row(&mut self, from: usize, columns: &Columns) -> Option<(usize, bool)> {
        let at = from + self.text[from..].find(|c: char| !c.is_whitespace() && c != ',')?;
        if !self.text[at..].starts_with('(') {
            return None;
        }
        let (cells, end, is_complete) = self.read_list(at + 1);
        let hidden = |_: &_| format!("'{REDACTED}'").into();
        columns.redact_row(self.rules, self.text, &cells, self.found, hidden);
        Some((end, is_complete))
    }
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
