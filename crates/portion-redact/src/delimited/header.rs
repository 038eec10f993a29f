//! The header of a table in text: the names of its columns, and which of them are hidden.

use std::ops::Range;

use portion_text::row_ranges::{RowReader, cells_of, is_rule};

use super::super::RedactionRules;
use super::super::columns::{Columns, is_code, is_column_name, is_year};
use super::super::name::is_plain_secret_name;
use super::super::pair::PairColumns;
use super::super::pattern::is_in;
use super::single_column::hidden_name;

const DELIMITERS: [char; 7] = [',', '\t', ';', '|', '│', '┃', '║'];
/// Maximum bytes of a header line.
const MAX_HEADER_BYTES: usize = 16 << 10;
/// Names of the second of two columns that make the first one a column of names.
const VALUE_HEADINGS: &str = "value values val setting content data";

/// The lines around a line, without blank ones and rules.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LinesAround<'t> {
    pub before_previous: Option<&'t str>,
    pub previous: Option<&'t str>,
    /// True if a blank line or a row of one cell stands between the line and the previous one.
    pub has_gap: bool,
    /// The line directly below.
    pub next: &'t str,
}

/// A header with hidden columns, or with columns of names and values.
pub(super) struct Header<'a> {
    pub(super) rules: &'a RedactionRules,
    pub(super) delimiter: char,
    pub(super) line: &'a str,
    pub(super) columns: Columns,
}

impl<'a> Header<'a> {
    /// Reads a line as a header; `None` if it is none, or if it hides nothing.
    pub(super) fn detect(rules: &'a RedactionRules, line: &'a str, is_first_line: bool) -> Option<Self> {
        if line.len() > MAX_HEADER_BYTES {
            return None;
        }
        // TOON writes them in braces: `rows[2]{id,price}:`.
        let in_braces = line.trim_end().strip_suffix("}:").and_then(|head| head.rsplit_once("]{"));
        let line = in_braces.map_or(line, |(_, names)| names);
        DELIMITERS.into_iter().filter(|delimiter| line.contains(*delimiter)).find_map(|delimiter| {
            let names = cells_of(line, delimiter);
            if let [name] = names[..]
                && !(is_framed(line, delimiter) && hidden_name(rules, name).is_some())
            {
                return None;
            }
            // A line of pretty-printed JSON, or of a list in source code, ends with a comma.
            let is_line_of_list = names.last().is_some_and(|last| last.is_empty())
                && (names.len() == 2 || line.starts_with([' ', '\t']));
            // A sentence is no header.
            let may_be_heading = |name: &&str| {
                is_column_name(name)
                    || is_first_line && !is_code(name) && (line.contains('"') || !name.ends_with('.'))
            };
            // Words with commas between them are a sentence or code, unless they are names of one word or of secrets alone.
            let is_spaced = delimiter == ',' && line.contains(", ") && !line.contains('"');
            let is_part = |name: &&str| name.contains(' ') && !is_plain_secret_name(name);
            if names.is_empty() || is_line_of_list || !names.iter().all(may_be_heading) {
                return None;
            }
            let mut columns = Columns::of(rules, names.into_iter().map(str::to_owned).collect());
            if is_spaced && columns.hidden().any(|index| is_part(&columns.names[index].as_str())) {
                return None;
            }
            if let [_, value] = &columns.names[..] {
                let has_heading = is_in(VALUE_HEADINGS, &value.to_ascii_lowercase());
                let is_only_first_hidden = columns.hidden().eq([0]);
                columns.pairs =
                    (has_heading || is_only_first_hidden).then(|| PairColumns::of_two(has_heading));
            }
            (!columns.hide_nothing()).then_some(Self { rules, delimiter, line, columns })
        })
    }

    /// Returns true if a heading says that there are values, so that names in the next rows are no headings.
    pub(super) fn has_value_heading(&self) -> bool {
        self.columns.pairs.as_ref().is_some_and(|pairs| pairs.has_heading)
    }

    pub(super) fn width(&self) -> usize {
        self.columns.names.len()
    }

    /// Returns true for a table of one column, which has lines around it.
    pub(super) fn is_single(&self) -> bool {
        self.width() == 1
    }

    /// Reads the cells of the row at an offset; `None` if it is no row of a table.
    pub(super) fn read_row(
        &self,
        reader: &mut RowReader<'_>,
        at: usize,
    ) -> Option<(Vec<Range<usize>>, usize)> {
        let is_row = |cells: &[_], end: usize| {
            cells.len() > 1
                || self.is_single() && is_framed(&reader.text[at..end.min(reader.text.len())], self.delimiter)
        };
        reader.read_row(at, self.delimiter).filter(|(cells, end)| is_row(cells, *end))
    }

    /// Reads another line as a header, which is not the first one of the text.
    pub(super) fn detect_below(&self, line: &'a str) -> Option<Self> {
        Self::detect(self.rules, line, false)
    }

    /// Returns true if the line of this header begins a table, given the lines around it. A line with as many cells as the
    /// line before it is a row: its cells may look like the names of secrets.
    pub(super) fn begins_table(&self, around: &LinesAround<'_>) -> bool {
        let is_row = |line: &&str| cells_of(line, self.delimiter).len().max(1) == self.width();
        if self.is_single() {
            return is_rule(around.next);
        }
        let Some(previous) = around.previous.filter(is_row) else { return true };
        let is_second = around.before_previous.is_none_or(|line| !is_row(&line));
        around.has_gap && (is_rule(around.next) || self.is_certain())
            || is_second && self.is_below_title(previous)
    }

    /// Returns true if a line with as many cells is a title above this header: `Report for Acme, 2024`, `Report,,`.
    pub(super) fn is_below_title(&self, line: &str) -> bool {
        let cells = cells_of(line, self.delimiter);
        let has_spaces = |line: &str| line.matches(self.delimiter).count() == line.matches(", ").count();
        let is_spaced = self.delimiter == ','
            && has_spaces(line)
            && cells.iter().any(|cell| cell.contains(' '))
            && !has_spaces(self.line);
        let is_title = is_spaced || cells.iter().skip(1).any(|cell| cell.is_empty() || is_year(cell));
        is_title && self.is_plain()
    }

    /// Returns true if all cells are different names without digits, and the hidden ones have no other words than those of
    /// secrets. A value hardly looks so.
    pub(super) fn is_certain(&self) -> bool {
        let Columns { names, verdicts, .. } = &self.columns;
        let is_certain = |index: usize| verdicts[index].is_named || is_plain_secret_name(&names[index]);
        self.is_plain() && self.columns.hidden().next().is_some() && self.columns.hidden().all(is_certain)
    }

    fn is_plain(&self) -> bool {
        let names = &self.columns.names;
        let mut unique: Vec<_> = names.iter().map(|name| name.to_lowercase()).collect();
        unique.sort_unstable();
        unique.dedup();
        let is_plain = |name: &String| !name.is_empty() && !name.contains(|c: char| c.is_ascii_digit());
        unique.len() == names.len() && names.iter().all(is_plain)
    }

    /// Returns true if a row repeats the header.
    pub(super) fn is_repeated(&self, text: &str, cells: &[Range<usize>]) -> bool {
        cells.iter().map(|cell| &text[cell.clone()]).eq(self.columns.names.iter())
    }
}

/// Returns true for a row with lines at its ends.
fn is_framed(row: &str, delimiter: char) -> bool {
    let row = row.trim();
    !matches!(delimiter, ',' | ';' | '\t')
        && row.len() > delimiter.len_utf8()
        && row.starts_with(delimiter)
        && row.ends_with(delimiter)
}
