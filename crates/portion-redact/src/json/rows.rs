//! Redacts tables whose names stand once: `{"columns":[…],"rows":[[…]]}`, and rows below a row of names. A cell cannot be
//! removed, so a cell that is not a string becomes `null`.

use portion_json::columnar::column_names;
use portion_json::containers::items;
use portion_json::scan::{JsonKind, JsonReader, unescape};
use portion_json::span::Span;

use super::super::pair::{PairColumns, PairRole, may_be_pair_secret};
use super::super::short_password::{may_be_password, password_column};
use super::{JsonRedactor, MAX_READ_DEPTH, Member, NameMatch, REDACTED_STRING, SecretKind, is_secret_json};

/// The columns of a table.
struct Columns {
    names: Vec<String>,
    verdicts: Vec<NameMatch>,
    /// The column of passwords under a short name.
    short: Option<usize>,
    pairs: Option<PairColumns>,
}

impl JsonRedactor<'_, '_> {
    /// Redacts the cells of the table whose columns and rows are members of the innermost object.
    pub(super) fn redact_table(&mut self, kept: &[Member]) {
        if self.open.len() > MAX_READ_DEPTH {
            return;
        }
        let find =
            |is: fn(&Member) -> bool| kept.iter().find(|member| is(member) && member.kind == JsonKind::Array);
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
        let header = if is_nested { items(self.text, array).next() } else { None };
        let Some(header) = header else { return };
        let mut names = Vec::new();
        for cell in items(self.text, header) {
            if !cell.slice(self.text).starts_with('"') {
                return;
            }
            names.push(unescape(cell.slice(self.text)));
        }
        if names.len() > 1 {
            self.redact_cells(names, array, 1, skipped);
        }
    }

    /// Redacts the cells of rows but the first ones. `skipped`: the innermost containers that are not around the columns.
    fn redact_cells(&mut self, names: Vec<String>, rows: Span, first: usize, skipped: usize) {
        let match_name = |name: &str, mut verdict: NameMatch| {
            verdict.is_named |= verdict.may_end_path && self.matches_path(name, skipped);
            verdict
        };
        let verdicts: Vec<_> =
            names.iter().map(|name| match_name(name, self.rules.match_name(name).among(&names))).collect();
        let short = password_column(&names).filter(|_| self.rules.hides_secrets);
        let pairs = PairColumns::detect(names.iter().map(String::as_str));
        if pairs.is_none() && short.is_none() && !verdicts.iter().any(|verdict| verdict.is_hidden()) {
            return;
        }
        let columns = Columns { names, verdicts, short, pairs };
        for row in items(self.text, rows).skip(first) {
            if row.slice(self.text).starts_with('[') {
                self.redact_row(&columns, row, skipped);
            }
        }
    }

    fn redact_row(&mut self, columns: &Columns, row: Span, skipped: usize) {
        let cells: Vec<Span> = items(self.text, row).collect();
        let pair = columns.pairs.as_ref().and_then(|pairs| {
            let cell = cells.get(pairs.name).filter(|cell| cell.slice(self.text).starts_with('"'))?;
            let name = unescape(cell.slice(self.text));
            let mut verdict = self.rules.match_pair_name(&name);
            verdict.is_named |= verdict.may_end_path && self.matches_path(&name, skipped);
            verdict.is_hidden().then_some((pairs, name, verdict))
        });
        for (index, cell) in cells.into_iter().enumerate() {
            let Some(name) = columns.names.get(index) else { break };
            let written = cell.slice(self.text);
            let kind = JsonKind::of_value(written);
            let holds = |name: &str, verdict: NameMatch| match kind {
                _ if verdict.is_named => true,
                JsonKind::Bool | JsonKind::Null | JsonKind::Object => false,
                JsonKind::String => verdict.is_secret && is_secret_json(verdict.kind, name, written),
                JsonKind::Number => {
                    verdict.is_secret && verdict.kind != SecretKind::Word && !written.contains('.')
                }
                JsonKind::Array => verdict.is_secret,
            };
            let verdict = columns.verdicts.get(index).copied().unwrap_or_default();
            let is_short = columns.short == Some(index) && may_be_password(&unescape(written), true);
            let is_pair_value = pair.as_ref().is_some_and(|(pairs, name, verdict)| {
                pairs.value_role(index).is_some_and(|role: PairRole| {
                    let may_be = || {
                        kind != JsonKind::String
                            || may_be_pair_secret((pairs.name_role, name), (role, &unescape(written)))
                    };
                    verdict.is_named || holds(name, *verdict) && may_be()
                })
            });
            if !(is_pair_value || is_short || holds(name, verdict)) {
                continue;
            }
            let replacement = match kind {
                JsonKind::String if cell.len() > 2 => REDACTED_STRING,
                JsonKind::String | JsonKind::Null => continue,
                _ => "null",
            };
            let path = self.path_of(&[name], skipped);
            self.hide(cell, replacement, Some(path));
        }
    }
}
