//! Redacts the columns of tables that programs print on a terminal, below names in capitals.

use portion_text::notation::terminal_columns;

use super::value::Form;
use super::{Findings, REDACTED, RedactionRules};

/// Hides the columns of a table with hidden names. Cells keep their width where they can.
pub(super) fn redact(rules: &RedactionRules, text: &str, found: &mut Findings) {
    for column in terminal_columns(text) {
        let verdict = rules.match_name(column.name);
        for cell in column.cells {
            if verdict.hides(column.name, cell.slice(text).trim(), Form::Data) {
                found.replace(column.name, cell.range(), format!("{REDACTED:width$}", width = cell.len()));
            }
        }
    }
}
