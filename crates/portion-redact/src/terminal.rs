//! Redacts the columns of tables that programs print on a terminal, below names in capitals.

use portion_text::notation::terminal_columns;

use super::value::{Form, is_secret_value};
use super::{REDACTED, RedactedNames, RedactionRules, TextEdit};

/// Adds the edits for the hidden columns of a table. Cells keep their width where they can.
pub(super) fn collect_edits(
    rules: &RedactionRules,
    text: &str,
    edits: &mut Vec<TextEdit>,
    names: &mut RedactedNames,
) {
    for column in terminal_columns(text) {
        let verdict = rules.match_name(column.name);
        if !verdict.is_hidden() {
            continue;
        }
        for cell in column.cells {
            let value = cell.slice(text).trim();
            let is_secret = || is_secret_value(verdict.kind, column.name, value, Form::Data);
            if !value.is_empty() && value != REDACTED && (verdict.is_named || is_secret()) {
                names.add(column.name.to_owned());
                let replacement = format!("{REDACTED:width$}", width = cell.len());
                edits.push(TextEdit {
                    start: cell.start as usize,
                    end: cell.end as usize,
                    replacement: replacement.into(),
                });
            }
        }
    }
}
