//! The function `as_written`, by which text functions read the numbers of a column as they are written.

use std::sync::Arc;

use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Result};

use super::values::{Registry, add, owned_value, text_value};
use crate::cell::Cell;
use crate::limits::QueryDeadline;
use crate::spellings::Spelling;
use crate::table::VirtualTable;
use crate::usage::StatementUsage;

/// Registers `as_written(value, table, column)`.
pub(crate) fn register(
    connection: &Connection,
    tables: &[Arc<VirtualTable>],
    deadline: &Arc<QueryDeadline>,
    usage: &Arc<StatementUsage>,
) -> Result<()> {
    let (tables, deadline, usage) = (tables.to_vec(), Arc::clone(deadline), Arc::clone(usage));
    add(Registry { connection, wanted: None }, "as_written", 3, move |context| {
        let number = match context.get_raw(0) {
            ValueRef::Integer(n) => Cell::Integer(n),
            ValueRef::Real(n) => Cell::Real(n),
            other => return Ok(owned_value(other)),
        };
        let names = text_value(context.get_raw(1)).zip(text_value(context.get_raw(2)));
        let text = names.and_then(|(table, name)| {
            let table = tables.iter().find(|known| known.name == table)?.opened()?;
            let at = table.columns().iter().position(|column| column.name == name)?;
            if table.columns()[at].is_boolean() {
                return Some(if number == Cell::Integer(0) { "false" } else { "true" }.to_owned());
            }
            match table.spellings(at, &deadline)?.get(&number)? {
                Spelling::Text(text) => Some(text.to_string()),
                Spelling::Number => None,
                Spelling::Several => {
                    usage.record_several_texts(&name);
                    None
                }
            }
        });
        Ok(text.map_or_else(|| owned_value(context.get_raw(0)), Value::Text))
    })
}
