//! The columns of a table, and which of them are hidden by their names; the tables that programs print on a terminal.

use std::ops::Range;

use portion_text::notation::terminal_columns;

use super::pair::{PairColumns, PairRole, may_be_pair_secret};
use super::pattern::is_in;
use super::short_password::password_column;
use super::value::Form;
use super::{Findings, NameMatch, REDACTED, RedactionRules};

/// Maximum words of the name of a secret in text. More words are a sentence that mentions one.
pub(super) const MAX_SECRET_NAME_WORDS: usize = 4;
/// Words of sentences that column names do not have.
const FUNCTION_WORDS: &str =
    "a already an any are be begins between her his is it its may must out shall should that the this was";

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
        let matched = |name: &String| match_column_name(rules, name).among(&names);
        let mut verdicts: Vec<_> = names.iter().map(matched).collect();
        if let Some(short) = password_column(&names).filter(|_| rules.hides_secrets) {
            verdicts[short].is_secret = true;
        }
        let pairs = PairColumns::detect(names.iter().map(String::as_str));
        Self { names, verdicts, pairs }
    }

    /// Returns the indices of the values in a row of names and values whose name is hidden.
    pub(super) fn pair_values(&self, rules: &RedactionRules, cells: &[&str]) -> Vec<usize> {
        let hidden = self.pairs.as_ref().and_then(|pairs| {
            let name = cells.get(pairs.name)?;
            let verdict = rules.match_pair_name(name);
            let is_hidden = |(index, role): &&(usize, PairRole)| {
                cells.get(*index).is_some_and(|value| {
                    verdict.hides(name, value, Form::Data)
                        && may_be_pair_secret((pairs.name_role, name), (*role, value))
                })
            };
            Some(pairs.values.iter().filter(is_hidden).map(|(index, _)| *index).collect())
        });
        hidden.unwrap_or_default()
    }

    /// Yields the indices of the hidden columns.
    pub(super) fn hidden(&self) -> impl Iterator<Item = usize> {
        (0..self.names.len()).filter(|index| self.verdicts[*index].is_hidden())
    }

    /// Hides a cell of the text if it is in a hidden column.
    pub(super) fn hide_cell(&self, index: usize, text: &str, cell: Range<usize>, found: &mut Findings) {
        if self.hides(index, &text[cell.clone()]) {
            found.hide(&self.names[index], cell);
        }
    }

    /// Returns true if a value in a column is hidden.
    pub(super) fn hides(&self, index: usize, value: &str) -> bool {
        self.verdicts.get(index).is_some_and(|verdict| verdict.hides(&self.names[index], value, Form::Data))
    }
}

/// Hides the columns of the table of a terminal, whose names are in capitals. Cells keep their width where they can.
pub(super) fn redact_terminal(rules: &RedactionRules, text: &str, found: &mut Findings) {
    let found_columns = terminal_columns(text);
    let columns = Columns::of(rules, found_columns.iter().map(|column| column.name.to_owned()).collect());
    let is_hidden = columns.pairs.is_some() || columns.hidden().next().is_some();
    let row_count = found_columns.first().filter(|_| is_hidden).map_or(0, |column| column.cells.len());
    for row in 0..row_count {
        let cells: Vec<&str> =
            found_columns.iter().map(|column| column.cells[row].slice(text).trim()).collect();
        let pairs = columns.pair_values(rules, &cells);
        for (index, column) in found_columns.iter().enumerate() {
            if columns.hides(index, cells[index]) || pairs.contains(&index) {
                let width = column.cells[row].len();
                found.replace(column.name, column.cells[row].range(), format!("{REDACTED:width$}"));
            }
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
