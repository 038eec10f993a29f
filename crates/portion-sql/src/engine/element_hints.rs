//! Says which members of elements of arrays a statement compares as they are written, and where they have types.

use portion_json::containers::items;
use portion_json::path::value_at;
use portion_json::scan::{JsonKind, unescape};
use portion_json::span::Span;
use portion_text::column_form::{ColumnForm, FormLearner};

use super::query_run::QueryRun;
use crate::cell::Cell;
use crate::dialect::{self, ColumnUse, TimeUnit};
use crate::table::OpenTable;
use crate::table_rows::HINT_ROWS;

/// Returns a hint for the first member of an element, `l.amount` of `UNNEST(lines) AS l`, that is used as a number or a time, and is
/// a text of another form. Tables of joined lists have types for the same values.
pub(super) fn element_hint(run: &QueryRun<'_>) -> Option<String> {
    dialect::column_uses(run.tree()?).into_iter().find_map(|(name, column_use)| {
        let (alias, member) = name.split_once('.')?;
        let used = run.table_uses().iter().find(|used| used.alias.eq_ignore_ascii_case(alias))?;
        let array = used.argument.as_deref()?;
        let (table, at) = run.columns_named(&array.replace('"', ""), &[]).into_iter().next()?;
        let what = Members::of(&table, at, member).misread_as(column_use)?;
        if member.eq_ignore_ascii_case("value") {
            return Some(format!("{name} has texts: use {name}::numeric"));
        }
        let list = array.rsplit('.').next().unwrap_or(array).replace(['"', '\''], "");
        Some(format!("{name} is compared as it is written: in items('*/{list}'), {member} {what}"))
    })
}

/// The values of a member in the elements of a column.
#[derive(Default)]
struct Members {
    texts: FormLearner,
    /// True if the numbers are times.
    are_times: bool,
}

impl Members {
    fn of(table: &OpenTable, at: usize, member: &str) -> Self {
        let mut members = Self::default();
        let _ = table.find_in_column(at, HINT_ROWS, |cell| {
            let Cell::Text(json) = cell else { return None };
            for element in items(&json, Span::new(0, json.len())) {
                let is_object = JsonKind::of_value(element.slice(&json)) == JsonKind::Object;
                let value = if is_object { value_at(&json, element, member) } else { Some(element) };
                members.add(value.map_or("null", |value| value.slice(&json)));
            }
            None::<()>
        });
        members
    }

    fn add(&mut self, value: &str) {
        match JsonKind::of_value(value) {
            JsonKind::String => self.texts.insert(&unescape(value)),
            JsonKind::Number => self.are_times |= value.parse().ok().and_then(TimeUnit::of).is_some(),
            _ => {}
        }
    }

    /// Returns what the values are, if a use of them as they are written is wrong.
    fn misread_as(&self, column_use: ColumnUse) -> Option<&'static str> {
        let is_range = matches!(column_use, ColumnUse::Range | ColumnUse::DateRange | ColumnUse::Order);
        match self.texts.form() {
            ColumnForm::Number | ColumnForm::Amount | ColumnForm::DecimalComma
                if is_range || matches!(column_use, ColumnUse::Number | ColumnUse::Sum) =>
            {
                Some("is a number")
            }
            ColumnForm::Time(_) if self.texts.has_other_times() => {
                (is_range || column_use == ColumnUse::Date).then_some("is a time")
            }
            _ if self.are_times && column_use == ColumnUse::DateRange => Some("is a time"),
            _ => None,
        }
    }
}
