//! The header of a table in text: the names of its columns, and which of them are hidden.

use std::ops::Range;

use super::super::edit::BYTE_ORDER_MARK;
use super::super::name::{SecretKind, is_plain_secret_name};
use super::super::pair::{PairColumns, is_action, may_be_pair_secret};
use super::super::short_password::password_column;
use super::super::value::Form;
use super::super::{NameMatch, REDACTED, RedactedNames, RedactionRules, TextEdit};
use super::row::{RowReader, cell_count, cells_of, is_rule};

const DELIMITERS: [char; 7] = [',', '\t', ';', '|', '│', '┃', '║'];
/// Maximum bytes of a header line.
const MAX_HEADER_BYTES: usize = 16 << 10;
/// Maximum bytes of a column name, and maximum words.
const MAX_NAME_BYTES: usize = 64;
const MAX_NAME_WORDS: usize = 8;
/// Maximum words of the name of a secret in text. More words are a sentence that mentions one.
pub(crate) const MAX_SECRET_NAME_WORDS: usize = 4;
/// Words of sentences that column names do not have.
const FUNCTION_WORDS: [&str; 22] = [
    "a", "already", "an", "any", "are", "be", "begins", "between", "her", "his", "is", "it", "its", "may",
    "must", "out", "shall", "should", "that", "the", "this", "was",
];
/// First words of statements in source code.
const STATEMENT_WORDS: [&str; 11] =
    ["assert", "await", "const", "def", "del", "import", "let", "raise", "return", "var", "yield"];
/// Names of the second of two columns that make the first one a column of names.
const VALUE_HEADINGS: [&str; 6] = ["value", "values", "val", "setting", "content", "data"];

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
#[derive(Clone)]
pub(super) struct Header<'a> {
    pub(super) delimiter: char,
    pub(super) line: &'a str,
    names: Vec<&'a str>,
    hidden: Vec<HiddenColumn>,
    pairs: Option<PairColumns>,
    /// True if a heading says that there are values, so that names in the next rows are no headings.
    pub(super) has_value_heading: bool,
}

#[derive(Clone)]
struct HiddenColumn {
    index: usize,
    name: String,
    verdict: NameMatch,
}

impl<'a> Header<'a> {
    /// Reads a line as a header; `None` if it is none, or if it hides nothing.
    pub(super) fn detect(redact: &RedactionRules, line: &'a str, is_first_line: bool) -> Option<Self> {
        if line.len() > MAX_HEADER_BYTES {
            return None;
        }
        DELIMITERS.into_iter().filter(|delimiter| line.contains(*delimiter)).find_map(|delimiter| {
            let (cells, _) = RowReader { text: line, quotes_enabled: true }.read_row(0, delimiter)?;
            let names: Vec<&str> =
                cells.iter().map(|cell| line[cell.clone()].trim_start_matches(BYTE_ORDER_MARK)).collect();
            // A line of pretty-printed JSON, or of a list in source code, ends with a comma.
            let is_line_of_list = names.last().is_some_and(|last| last.is_empty())
                && (names.len() == 2 || line.starts_with([' ', '\t']));
            // A sentence is no header.
            let may_be_heading = |name: &&str| {
                is_column_name(name)
                    || is_first_line && (line.contains('"') || !name.ends_with('.') && !is_code(name))
            };
            if names.len() < 2 || is_line_of_list || !names.iter().all(may_be_heading) {
                return None;
            }
            let hidden = names.iter().enumerate().filter(|(_, name)| is_column_name(name));
            let hidden = hidden.filter_map(|(index, name)| {
                let verdict = match_column_name(redact, name).among(&names);
                verdict.is_hidden().then(|| HiddenColumn { index, name: (*name).to_owned(), verdict })
            });
            let mut hidden: Vec<_> = hidden.collect();
            let short = password_column(&names).filter(|_| redact.hides_secrets);
            hidden.extend(short.map(|index| {
                let verdict = NameMatch { is_secret: true, ..NameMatch::default() };
                HiddenColumn { index, name: names[index].to_owned(), verdict }
            }));
            let is_only_first_hidden = names.len() == 2
                && matches!(&*hidden, [only] if only.index == 0 && only.verdict.kind != SecretKind::Word);
            let is_value =
                |name: &str| VALUE_HEADINGS.iter().any(|heading| name.eq_ignore_ascii_case(heading));
            let of_headings = match &*names {
                [_, second] => is_value(second).then(PairColumns::of_two),
                _ => PairColumns::detect(names.iter().copied()),
            };
            let has_value_heading = of_headings.is_some();
            let pairs = of_headings.or_else(|| is_only_first_hidden.then(PairColumns::of_two));
            let hides = !hidden.is_empty() || pairs.is_some();
            hides.then_some(Self { delimiter, line, names, hidden, pairs, has_value_heading })
        })
    }

    pub(super) fn width(&self) -> usize {
        self.names.len()
    }

    /// Returns true if the line of this header begins a table, given the lines around it. A line with as many cells as the
    /// line before it is a row: its cells may look like the names of secrets.
    pub(super) fn begins_table(&self, around: &LinesAround<'_>) -> bool {
        let is_row = |line: &&str| cell_count(line, self.delimiter) == self.width();
        let Some(previous) = around.previous.filter(is_row) else { return true };
        let is_second = around.before_previous.is_none_or(|line| !is_row(&line));
        around.has_gap && is_rule(around.next) || is_second && self.is_below_title(previous)
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
        let is_certain =
            |column: &HiddenColumn| column.verdict.is_named || is_plain_secret_name(&column.name);
        self.is_plain() && !self.hidden.is_empty() && self.hidden.iter().all(is_certain)
    }

    fn is_plain(&self) -> bool {
        let mut unique: Vec<_> = self.names.iter().map(|name| name.to_lowercase()).collect();
        unique.sort_unstable();
        unique.dedup();
        let is_plain = |name: &&str| !name.is_empty() && !name.contains(|c: char| c.is_ascii_digit());
        unique.len() == self.names.len() && self.names.iter().all(is_plain)
    }

    /// Returns true if a row repeats the header.
    pub(super) fn is_repeated(&self, text: &str, cells: &[Range<usize>]) -> bool {
        let cells = cells.iter().map(|cell| &text[cell.clone()]);
        cells.eq(self.names.iter().copied())
    }

    /// Adds the hidden columns of a later header. Returns the columns that are hidden in the row of that header: those that it
    /// does not name.
    pub(super) fn add_columns(&mut self, later: &Self) -> Self {
        let is_new = |column: &HiddenColumn| later.hidden.iter().all(|named| named.index != column.index);
        self.hidden.retain(is_new);
        let above = self.clone();
        self.hidden.extend(later.hidden.iter().cloned());
        above
    }

    /// Returns the places of a column in a row: in a faulty row, with another number of cells, it is counted from both
    /// ends.
    fn places(&self, column: usize, cell_count: usize) -> impl Iterator<Item = usize> {
        let from_end = (column + cell_count).checked_sub(self.width()).filter(|place| *place != column);
        [Some(column), from_end].into_iter().flatten().filter(move |place| *place < cell_count)
    }

    /// Adds the edits for a row.
    pub(super) fn collect_row_edits(
        &self,
        redact: &RedactionRules,
        text: &str,
        cells: &[Range<usize>],
        edits: &mut Vec<TextEdit>,
        names: &mut RedactedNames,
    ) {
        let mut hide = |value: &Range<usize>, name: &str| {
            let Range { start, end } = *value;
            edits.push(TextEdit { start, end, replacement: REDACTED.into() });
            names.add(name.to_owned());
        };
        for column in &self.hidden {
            for place in self.places(column.index, cells.len()) {
                if column.verdict.hides(&column.name, &text[cells[place].clone()], Form::Data) {
                    hide(&cells[place], &column.name);
                }
            }
        }
        let Some(pairs) = &self.pairs else { return };
        for place in self.places(pairs.name, cells.len()) {
            let name = &text[cells[place].clone()];
            if !is_column_name(name) {
                continue;
            }
            let verdict = redact.match_pair_name(name);
            if !self.has_value_heading && name.contains(|c: char| c.is_ascii_digit()) {
                continue;
            }
            for (index, role) in pairs.values() {
                for value in self.places(index, cells.len()).map(|place| &cells[place]) {
                    let shown = &text[value.clone()];
                    let is_secret =
                        verdict.is_secret && may_be_pair_secret((pairs.name_role, name), (role, shown));
                    if (is_secret || verdict.is_named) && verdict.hides(name, shown, Form::Data) {
                        // Without a heading of values, the names in the rows may be secrets themselves.
                        let index = if self.has_value_heading { index } else { pairs.name };
                        hide(value, self.names.get(index).copied().unwrap_or_default());
                    }
                }
            }
        }
    }
}

/// Matches the name of a column: `Door code?` is the name `Door_code`.
pub(crate) fn match_column_name(redact: &RedactionRules, name: &str) -> NameMatch {
    let verdict =
        redact.match_name(&name.trim_matches(['?', ':', '*', '`']).trim_end_matches('_').replace(' ', "_"));
    NameMatch { is_secret: verdict.is_secret && !is_part_of_sentence(name) && !is_action(name), ..verdict }
}

/// Returns true for words that are a part of a sentence rather than a name: `this token SHOULD`.
fn is_part_of_sentence(name: &str) -> bool {
    let words: Vec<&str> = name.split_whitespace().collect();
    let is_function_word = |word: &&str| FUNCTION_WORDS.iter().any(|other| word.eq_ignore_ascii_case(other));
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

/// Returns true for a part of a line of source code: with an open bracket, or a word of a statement.
fn is_code(name: &str) -> bool {
    let has_open = |open: char, close: char| name.matches(open).count() != name.matches(close).count();
    let is_statement = || {
        let first_word = name.split_once(' ').map(|(first, _)| first);
        first_word.is_some_and(|word| STATEMENT_WORDS.contains(&word)) || name.contains(" import ")
    };
    has_open('(', ')') || has_open('[', ']') || is_statement()
}

fn is_year(name: &str) -> bool {
    name.len() == 4
        && (name.starts_with("19") || name.starts_with("20"))
        && name.bytes().all(|byte| byte.is_ascii_digit())
}
