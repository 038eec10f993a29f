//! Types of cells: which cells of a column are numbers.

/// A number in a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CellNumber {
    /// A 64-bit integer.
    Integer(i64),
    /// Any other number.
    Real(f64),
}

/// Returns the number in a cell that is written in canonical form, so that `007` stays text.
///
/// ```
/// use portion_text::delimited::{CellNumber, parse_number};
///
/// assert_eq!(parse_number("-12"), Some(CellNumber::Integer(-12)));
/// assert_eq!(parse_number("007"), None);
/// ```
pub fn parse_number(cell: &str) -> Option<CellNumber> {
    let digits = cell.strip_prefix('-').unwrap_or(cell);
    let json = digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.bytes().all(|b| matches!(b, b'0'..=b'9' | b'.'))
        && !digits.ends_with('.')
        && (digits == "0" || digits.starts_with("0.") || !digits.starts_with('0'));
    if !json || digits.len() > 17 {
        return None;
    }
    match cell.parse() {
        Ok(integer) => Some(CellNumber::Integer(integer)),
        Err(_) => cell.parse().ok().map(CellNumber::Real),
    }
}

/// Counts of the cells of a column, by type.
#[derive(Clone, Copy, Debug, Default)]
pub struct ColumnCells {
    /// Cells with an integer.
    pub integer_count: usize,
    /// Cells with any other number.
    pub real_count: usize,
    /// Cells with a text.
    pub text_count: usize,
    /// Empty cells.
    pub empty_count: usize,
    /// True if a cell has a digit but is no canonical number: `007`, `1.2.3`, `1,400`.
    has_codes: bool,
}

impl ColumnCells {
    /// Counts a cell.
    pub fn insert(&mut self, cell: &str) {
        match parse_number(cell) {
            _ if cell.is_empty() => self.empty_count += 1,
            Some(CellNumber::Integer(_)) => self.integer_count += 1,
            Some(CellNumber::Real(_)) => self.real_count += 1,
            None => {
                self.text_count += 1;
                self.has_codes |= cell.contains(|c: char| c.is_ascii_digit());
            }
        }
    }

    /// Returns true if all cells stay texts: codes and versions are no numbers, nor are a few numbers among words.
    pub fn keeps_text(&self) -> bool {
        self.has_codes || self.text_count > self.integer_count + self.real_count
    }
}
