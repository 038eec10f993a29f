//! The columns of a table, and which of them are hidden by their names; tables of HTML, and those that programs print on a terminal.

use std::ops::Range;

use portion_text::document_table::{HtmlGrid, html_grid, html_tables};
use portion_text::html::plain_text;
use portion_text::notation::terminal_columns;

use super::edit::Replacement;
use super::name::SecretKind;
use super::pair::{PairColumns, may_be_pair_secret};
use super::pattern::is_in;
use super::value::{Form, facts_of_name};
use super::{Findings, NameMatch, REDACTED, RedactionRules};

/// Maximum words of the name of a secret in text. More words are a sentence that mentions one.
pub(super) const MAX_SECRET_NAME_WORDS: usize = 4;
/// Maximum bytes of a column name, and maximum words.
const MAX_NAME_BYTES: usize = 64;
const MAX_NAME_WORDS: usize = 8;
/// Maximum bytes of a heading, with its marks.
const MAX_HEADING_BYTES: usize = 256;
/// Words of sentences that column names do not have.
const FUNCTION_WORDS: &str =
    "a already an any are be begins between her his is it its may must out shall should that the this was";

/// Names of columns of results.
const RESULT_NAMES: &str = "error errors fail failed score skip skipped total";

/// The columns of a table.
#[derive(Clone)]
pub(super) struct Columns {
    pub names: Vec<String>,
    pub verdicts: Vec<NameMatch>,
    /// The columns of names and values among them.
    pub pairs: Option<PairColumns>,
}

impl Columns {
    /// Matches the names of columns.
    pub(super) fn of(rules: &RedactionRules, names: Vec<String>) -> Self {
        let facts = names.iter().fold(0, |all, name| all | facts_of_name(name));
        let mut verdicts: Vec<NameMatch> = Vec::with_capacity(names.len());
        for (at, name) in names.iter().enumerate() {
            let is_repeated = at > 0 && names[at - 1] == *name;
            let verdict = if is_repeated { verdicts[at - 1] } else { match_column_name(rules, name) };
            verdicts.push(NameMatch { kind: verdict.kind.beside(facts), ..verdict });
        }
        // Beside results, a pass is one.
        let has_results = names.iter().any(|name| is_in(RESULT_NAMES, &name.to_lowercase()));
        for verdict in &mut verdicts {
            verdict.is_secret &= match verdict.kind {
                SecretKind::Pass => false,
                SecretKind::PassOfUser => !has_results,
                _ => true,
            };
        }
        let pairs = PairColumns::detect(names.iter().map(String::as_str));
        Self { names, verdicts, pairs }
    }

    /// Returns true if no cell of any row is hidden.
    pub(super) fn hide_nothing(&self) -> bool {
        self.pairs.is_none() && self.hidden().next().is_none()
    }

    /// Hides the cells of a row: those of hidden columns, and the values of hidden names. `replacement`: what stands in place of a cell.
    pub(super) fn redact_row(
        &self,
        rules: &RedactionRules,
        text: &str,
        cells: &[Range<usize>],
        found: &mut Findings,
        replacement: impl Fn(&Range<usize>) -> Replacement,
    ) {
        let shown = |place: usize| text[cells[place].clone()].trim().trim_matches('\'');
        let mut hide = |column: usize, place: usize| {
            let name = self.names.get(column).map_or("", String::as_str);
            found.replace(name, cells[place].clone(), replacement(&cells[place]));
        };
        for column in self.hidden() {
            let is_hidden =
                |place: &usize| self.verdicts[column].hides(&self.names[column], shown(*place), Form::Data);
            self.places(column, cells.len()).filter(is_hidden).for_each(|place| hide(column, place));
        }
        let Some(pairs) = &self.pairs else { return };
        for name in self.places(pairs.name, cells.len()).map(shown) {
            let is_name = is_column_name(name.trim_end_matches(':'));
            if !is_name || !pairs.has_heading && name.contains(|c: char| c.is_ascii_digit()) {
                continue;
            }
            let verdict = rules.match_pair_name(name);
            for &(column, role) in &pairs.values {
                let may_be =
                    |value| verdict.is_named || may_be_pair_secret((pairs.name_role, name), (role, value));
                let is_hidden =
                    |place: &usize| verdict.hides(name, shown(*place), Form::Data) && may_be(shown(*place));
                // Without a heading of values, the names in the rows may be secrets themselves.
                let heading = if pairs.has_heading { column } else { pairs.name };
                self.places(column, cells.len()).filter(is_hidden).for_each(|place| hide(heading, place));
            }
        }
    }

    /// Returns the places of a column in a row: in a faulty row, with another number of cells, it is counted from both ends.
    fn places(&self, column: usize, cell_count: usize) -> impl Iterator<Item = usize> + use<> {
        let from_end = (column + cell_count).checked_sub(self.names.len());
        let from_end = from_end.filter(|place| *place != column && cell_count > 1);
        [Some(column), from_end].into_iter().flatten().filter(move |place| *place < cell_count)
    }

    /// Yields the indices of the hidden columns.
    pub(super) fn hidden(&self) -> impl Iterator<Item = usize> {
        (0..self.names.len()).filter(|index| self.verdicts[*index].is_hidden())
    }
}

/// Hides the columns of the table of a terminal, whose names are in capitals. Cells keep their width where they can.
pub(super) fn redact_terminal(rules: &RedactionRules, text: &str, found: &mut Findings) {
    let found_columns = terminal_columns(text);
    let columns = Columns::of(rules, found_columns.iter().map(|column| column.name.to_owned()).collect());
    let rows =
        found_columns.first().filter(|_| !columns.hide_nothing()).map_or(0, |column| column.cells.len());
    for row in 0..rows {
        let cells: Vec<_> = found_columns.iter().map(|column| column.cells[row].range()).collect();
        let padded = |cell: &Range<usize>| format!("{REDACTED:width$}", width = cell.len()).into();
        columns.redact_row(rules, text, &cells, found, padded);
    }
}

/// Hides the cells of the tables of HTML: the columns with a hidden heading, in any row of the header, and the second cell of a row of
/// two whose first one is a hidden name.
pub(super) fn redact_html(rules: &RedactionRules, text: &str, found: &mut Findings) {
    let plain = |cell: &Range<usize>| {
        let content = text.get(cell.clone()).filter(|content| content.len() <= MAX_HEADING_BYTES);
        plain_text(content.unwrap_or_default())
    };
    for span in html_tables(text) {
        let HtmlGrid { rows, header_count, has_headings } = html_grid(text, span);
        let header = &rows[..header_count.min(rows.len())];
        let width = header.iter().map(Vec::len).max().unwrap_or_default();
        // The name of a column is the first one that is hidden.
        let name = |column: usize| {
            let mut names = header.iter().filter_map(|row| row.get(column)).map(plain);
            let is_hidden = |name: &String| match_column_name(rules, name).is_hidden();
            names.clone().find(is_hidden).or_else(|| names.next_back()).unwrap_or_default()
        };
        let mut names: Vec<String> = Vec::new();
        for column in 0..width {
            let is_repeated = column > 0 && header.iter().all(|row| row.get(column) == row.get(column - 1));
            names.push(if is_repeated { names[column - 1].clone() } else { name(column) });
        }
        let mut columns = Columns::of(rules, names);
        // Rows of a name and a value.
        let are_pairs = !has_headings && width == 2 && facts_of_name(&columns.names[1]) == 0;
        if are_pairs {
            columns.verdicts[0] = NameMatch::default();
            columns.pairs = Some(PairColumns::of_two(false));
        }
        for row in rows.iter().skip(if are_pairs { 0 } else { header_count }) {
            let trimmed = |cell: &Range<usize>| {
                let content = &text[cell.clone()];
                let start = cell.end - content.trim_start().len();
                start..start + content.trim().len()
            };
            let cells: Vec<_> = row.iter().map(trimmed).collect();
            columns.redact_row(rules, text, &cells, found, |_| REDACTED.into());
        }
    }
}

/// Matches the name of a column: `Door code?` is the name `Door_code`.
pub(super) fn match_column_name(rules: &RedactionRules, name: &str) -> NameMatch {
    let verdict = rules.match_pair_name(name);
    NameMatch { is_secret: verdict.is_secret && !is_part_of_sentence(name), ..verdict }
}

/// Returns true for words that are a part of a sentence rather than a name: `this token SHOULD`.
fn is_part_of_sentence(name: &str) -> bool {
    let words: Vec<&str> = name.split_whitespace().collect();
    let is_function_word = |word: &&str| is_in(FUNCTION_WORDS, &word.to_ascii_lowercase());
    words.len() > MAX_SECRET_NAME_WORDS || words.len() > 2 && words.iter().any(is_function_word)
}

/// Returns true for a name of a few words; an empty one is that of an index column, and it may be a year.
pub(super) fn is_column_name(name: &str) -> bool {
    name.len() <= MAX_NAME_BYTES
        && !name.ends_with('.')
        && !is_code(name)
        && name.split(' ').count() <= MAX_NAME_WORDS
        && name.chars().all(|c| c.is_alphanumeric() || " _-./()[]#%*&'’?@+$€£°`".contains(c))
        && (matches!(name, "" | "#") || is_year(name) || name.contains(|c: char| c.is_alphabetic()))
}

/// Returns true for a part of a line of source code or of settings, with an open bracket or a value.
pub(super) fn is_code(name: &str) -> bool {
    let has_open = |open: char, close: char| name.matches(open).count() != name.matches(close).count();
    has_open('(', ')') || has_open('[', ']') || has_open('{', '}') || name.contains('=')
}

pub(super) fn is_year(name: &str) -> bool {
    name.len() == 4
        && (name.starts_with("19") || name.starts_with("20"))
        && name.bytes().all(|byte| byte.is_ascii_digit())
}
