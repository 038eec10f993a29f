//! Redacts tables whose names stand once: `{"columns":[…],"rows":[[…]]}`, and rows below a row of names. A cell cannot be
//! removed, so a cell that is not a string becomes `null`.

use portion_json::containers::{column_names, items, members};
use portion_json::scan::{JsonKind, JsonReader, unescape};
use portion_json::span::Span;

use super::super::columns::Columns;
use super::super::value::is_name;
use super::{JsonRedactor, MAX_READ_DEPTH, Member, REDACTED_STRING};

/// Maximum lists of columns that are remembered.
const MAX_LISTS: usize = 64;

impl JsonRedactor<'_, '_> {
    /// Redacts the cells of the table whose columns and rows are members of the innermost object.
    pub(super) fn redact_table(&mut self, kept: &[Member]) {
        if self.open.len() > MAX_READ_DEPTH {
            return;
        }
        let find = |is: fn(&Member) -> bool| {
            kept.iter().find(|member| is(member) && self.kind_of(member.value) == JsonKind::Array)
        };
        let columns = find(|member| member.facts.is_columns);
        let Some(rows) = find(|member| member.facts.is_rows) else { return };
        if let Some(names) = columns.and_then(|columns| column_names(columns.value.slice(self.text))) {
            self.redact_cells(names, rows.value, 0, 1);
        } else {
            self.set_key(rows);
            self.redact_rows_below_header(rows.value, 0);
        }
    }

    /// Redacts the cells of an array of arrays, the first of which has the names of the columns.
    pub(super) fn redact_rows_below_header(&mut self, array: Span, skipped: usize) {
        if self.open.len() > MAX_READ_DEPTH {
            return;
        }
        let mut reader = JsonReader::resume(self.text, array.start as usize);
        let is_nested = reader.enter_array().is_ok()
            && reader.next_item() == Ok(true)
            && reader.peek() == Ok(JsonKind::Array);
        let header = items(self.text, array).next().filter(|_| is_nested);
        let names = header.and_then(|header| column_names(header.slice(self.text))).unwrap_or_default();
        if names.len() > 1 {
            self.redact_cells(names, array, 1, skipped);
        }
    }

    /// Redacts the cells of rows but the first ones. `skipped`: the innermost containers that are not around the columns.
    fn redact_cells(&mut self, names: Vec<String>, rows: Span, first: usize, skipped: usize) {
        let mut columns = Columns::of(self.rules, names);
        for (name, verdict) in columns.names.iter().zip(&mut columns.verdicts) {
            verdict.is_named |= verdict.may_end_path && self.matches_path(name, skipped);
        }
        if columns.hide_nothing() {
            return;
        }
        for row in items(self.text, rows).skip(first) {
            self.redact_row(&columns, row, skipped);
        }
    }

    /// Records a list of columns, the array that ends here. In the second walk, redacts the row whose columns stand elsewhere, if
    /// the array is one: an array of cells, or of objects with one in each, in an array of rows.
    pub(super) fn redact_row_apart(&mut self, array: Span) {
        let around = |skipped: usize| self.open.iter().rev().nth(skipped).copied().unwrap_or_default();
        if !self.is_second_walk {
            let is_list = !around(1).is_array && around(1).facts.is_columns && self.columns.len() < MAX_LISTS;
            let names = if is_list { column_names(array.slice(self.text)) } else { None };
            let columns = names.map(|names| Columns::of(self.rules, names));
            self.columns.extend(columns.filter(|columns| columns.hidden().next().is_some()));
            return;
        }
        let is_row = around(1).is_array && around(2).facts.is_rows
            || !around(1).is_array && around(2).is_array && around(3).facts.is_rows;
        if !is_row {
            return;
        }
        let cells: Vec<Span> = items(self.text, array).collect();
        let columns = self.columns.iter().find(|columns| columns.names.len() == cells.len()).cloned();
        if let Some(columns) = columns {
            self.redact_row(&columns, array, 3);
        }
    }

    fn redact_row(&mut self, columns: &Columns, row: Span, skipped: usize) {
        let cells: Vec<Span> = items(self.text, row).collect();
        let pair = columns.pairs.as_ref().and_then(|pairs| {
            let name = cells.get(pairs.name).filter(|cell| self.kind_of(**cell) == JsonKind::String)?;
            Some((pairs, self.match_pair_name(pairs.name_role, *name, skipped)?))
        });
        for ((index, name), cell) in columns.names.iter().enumerate().zip(cells) {
            let verdict = columns.verdicts[index];
            let is_pair_value = || {
                let (pairs, pair) = pair.as_ref()?;
                let (_, role) = pairs.values.iter().find(|(value, _)| *value == index)?;
                self.may_be_value(pair, *role, cell).then_some(())
            };
            let is_whole = verdict.is_named || is_pair_value().is_some();
            // A cell may be an object of a typed value.
            let typed: Vec<Span> = members(self.text, cell).map(|member| member.value).collect();
            for value in typed.into_iter().filter(|_| verdict.is_secret).chain([cell]) {
                let is_heading = || is_name(name, &unescape(value.slice(self.text)));
                let is_secret =
                    || verdict.is_secret && self.may_be_secret(value, name, verdict.kind) && !is_heading();
                let replacement = match self.kind_of(value) {
                    JsonKind::Null => continue,
                    JsonKind::String if value.len() <= 2 => continue,
                    JsonKind::String => REDACTED_STRING,
                    _ => "null",
                };
                if is_whole && value == cell || is_secret() {
                    let path = self.path_of(&[name], skipped);
                    self.hide(value, replacement, vec![path]);
                }
            }
        }
    }
}
