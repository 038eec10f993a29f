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
    /// Cells with a number that may have points between thousands: `1.400`.
    pointed_count: usize,
    /// Cells with a comma before the fraction: `60,17`.
    comma_count: usize,
    /// True if a cell has a digit but is no canonical number: `007`, `1.2.3`, `1,400`.
    has_codes: bool,
}

impl ColumnCells {
    /// Counts a cell.
    pub fn insert(&mut self, cell: &str) {
        match parse_number(cell) {
            _ if cell.is_empty() => self.empty_count += 1,
            Some(CellNumber::Integer(_)) => self.integer_count += 1,
            Some(CellNumber::Real(_)) => {
                self.real_count += 1;
                self.pointed_count += usize::from(has_three_decimals(cell));
            }
            None => {
                self.text_count += 1;
                self.comma_count += usize::from(has_decimal_comma(cell));
                self.has_codes |= cell.contains(|c: char| c.is_ascii_digit());
            }
        }
    }

    /// Returns true if all cells stay texts: codes and versions are no numbers, nor are a few numbers among words.
    pub fn keeps_text(&self) -> bool {
        self.has_codes || self.text_count > self.integer_count + self.real_count
    }

    /// Keeps the cells of columns in which points may stand between thousands (`1.400`), if another column has decimal commas.
    pub fn mark_pointed_thousands(columns: &mut [Self]) {
        let has_commas = columns.iter().any(|column| 2 * column.comma_count > column.text_count);
        for column in columns.iter_mut().filter(|_| has_commas) {
            column.has_codes |= column.real_count > 0 && column.real_count == column.pointed_count;
        }
    }
}

/// Returns true for `1.400`, which is 1400 where a comma stands before fractions.
fn has_three_decimals(cell: &str) -> bool {
    let digits = cell.strip_prefix('-').unwrap_or(cell);
    digits.split_once('.').is_some_and(|(whole, rest)| whole != "0" && whole.len() <= 3 && rest.len() == 3)
}

/// Returns true for a number with a comma before its fraction: `60,17`, `-1.060,5`, `0,125`. `1,060` may be one with a comma
/// between thousands, and is none here.
pub fn has_decimal_comma(text: &str) -> bool {
    let text = text.trim();
    let Some((whole, fraction)) = text.strip_prefix('-').unwrap_or(text).split_once(',') else {
        return false;
    };
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let groups: Vec<&str> = whole.split('.').collect();
    let is_grouped = groups.len() == 1 || groups[1..].iter().all(|group| group.len() == 3);
    let is_whole = is_grouped && groups.iter().all(|group| is_digits(group));
    is_whole && is_digits(fraction) && (fraction.len() != 3 || groups.len() > 1 || whole == "0")
}
