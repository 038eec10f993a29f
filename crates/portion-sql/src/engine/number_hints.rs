//! Says which columns a statement uses as numbers, although they have texts, arrays or objects.

use portion_text::delimited::has_decimal_comma;

use super::hints;
use crate::catalogue::Catalogue;
use crate::cell::Cell;
use crate::column::{ColumnDef, Redaction};
use crate::dialect::NumberUse;
use crate::error::quote_identifier;
use crate::functions;
use crate::table_rows::{HINT_ROWS, TableRows, find_in_column};
use crate::value_kinds::ValueKinds;

/// Returns a hint for a column with texts, arrays or objects that is used as a number.
pub(super) fn number_hint(
    catalogue: &Catalogue,
    rows: &dyn TableRows,
    at: usize,
    number_use: NumberUse,
) -> Option<String> {
    let column = &rows.columns()[at];
    if column.redaction != Redaction::Unredacted {
        return None;
    }
    if column.kinds.intersects(ValueKinds::TEXT) {
        let (quoted, counts) = (quote_identifier(&column.name), CellCounts::of(rows, at));
        // Texts of numbers are compared and sorted as numbers.
        let is_clear = column.kinds.are_number_texts() && !counts.may_have_thousands();
        return if is_clear { None } else { text_hint(&quoted, &counts, number_use) };
    }
    let is_container = column.kinds.intersects(ValueKinds::CONTAINER)
        && !column.kinds.intersects(ValueKinds::NUMERIC)
        && matches!(number_use, NumberUse::Number | NumberUse::Sum);
    is_container.then(|| container_hint(catalogue, column))
}

/// Returns the hint for a column with arrays or objects that is used as a number.
fn container_hint(catalogue: &Catalogue, column: &ColumnDef) -> String {
    if column.kinds.intersects(ValueKinds::ARRAY) {
        let advice = hints::array_hint(catalogue, Some(&column.name));
        return format!("{} has arrays; {advice}", quote_identifier(&column.name));
    }
    format!("{} has objects: use a member of them", quote_identifier(&column.name))
}

/// Kinds of the values of a column with texts.
#[derive(Default)]
struct CellCounts {
    numbers: usize,
    numbers_in_texts: usize,
    /// Texts such as `60,17`, and a number among them with points between thousands: `1.060,17`.
    decimal_commas: usize,
    has_points: bool,
    other_texts: usize,
    /// Numbers in texts with a point, and those of them in which it may stand between thousands, with the first one.
    pointed: usize,
    pointed_thousands: usize,
    pointed_example: Option<String>,
    /// The beginning of the first text that is no number.
    example: Option<String>,
}

impl CellCounts {
    fn of(rows: &dyn TableRows, at: usize) -> Self {
        let mut counts = Self::default();
        let _ = find_in_column(rows, at, HINT_ROWS, |cell| {
            match cell {
                Cell::Integer(_) | Cell::Real(_) => counts.numbers += 1,
                Cell::Text(text) => counts.add_text(&text),
                Cell::Null => {}
            }
            None::<()>
        });
        counts
    }

    /// Returns true if the point of each number may stand between thousands.
    fn may_have_thousands(&self) -> bool {
        self.pointed > 0 && self.pointed == self.pointed_thousands && self.numbers == 0
    }

    fn add_text(&mut self, text: &str) {
        let has_comma = has_decimal_comma(text);
        if !has_comma && functions::is_number(text) {
            self.numbers_in_texts += 1;
            if let Some((whole, decimals)) = text.trim().split_once('.') {
                self.pointed += 1;
                if decimals.len() == 3 && whole.len() <= 4 && !whole.starts_with('0') {
                    self.pointed_thousands += 1;
                    self.pointed_example.get_or_insert_with(|| text.trim().to_owned());
                }
            }
            return;
        }
        if has_comma {
            self.decimal_commas += 1;
            self.has_points |= text.contains('.');
        } else {
            self.other_texts += 1;
        }
        self.example.get_or_insert_with(|| text.chars().take(20).collect());
    }
}

/// Returns the hint for a column with texts, if it is used in a way in which they differ from numbers.
fn text_hint(name: &str, counts: &CellCounts, number_use: NumberUse) -> Option<String> {
    let number_count = counts.numbers + counts.numbers_in_texts;
    let (commas, others) = (counts.decimal_commas, counts.other_texts);
    let example = counts.example.as_deref().map(|example| example.replace('\'', "''"));
    let is_computed = matches!(number_use, NumberUse::Number | NumberUse::Sum);
    if !is_computed && others > number_count + commas {
        return None;
    }
    if commas > others {
        let plain = if counts.has_points { format!("replace({name}, '.', '')") } else { name.to_owned() };
        return Some(format!(
            "{name} has decimal commas ('{}'), of which SQLite reads the digits before the comma: use \
             replace({plain}, ',', '.')::numeric",
            example?
        ));
    }
    if number_count == 0 {
        let is_used = is_computed && others > 0;
        let example = example?;
        let is_plain = example.contains(|c: char| c.is_ascii_digit()) && !example.contains(',');
        let advice = if is_plain {
            format!(": use regexp_extract({name}, '-?[0-9.]+')::numeric")
        } else {
            String::new()
        };
        return is_used.then(|| format!("{name} is text that is no number ('{example}'){advice}"));
    }
    if let Some(pointed) = counts.pointed_example.as_deref().filter(|_| counts.may_have_thousands()) {
        return Some(format!(
            "{name} is text ('{pointed}'): use {name}::numeric, or replace({name}, '.', '')::numeric if the point \
             stands between thousands"
        ));
    }
    // Sums read amounts, and say themselves what they could not read.
    if number_use == NumberUse::Sum {
        return None;
    }
    let others = example.map_or(String::new(), |example| {
        let count = others + commas;
        let noun = if count == 1 { "value is" } else { "values are" };
        format!("; {count} {noun} no number ('{example}')")
    });
    let kind = if counts.numbers == 0 { "text" } else { "numbers and text" };
    Some(format!("{name} is {kind}{others}: use {name}::numeric"))
}
