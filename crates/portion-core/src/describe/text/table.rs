//! Describes a table: rows, and facts about the columns.

use super::super::fields_by_type;
use super::text_description::TextDescription;
use crate::snapshot::{ItemsTable, ListFacts};

/// Characters of the names of columns that a token holds, about.
const CHARS_PER_TOKEN: usize = 3;

/// Describes a table. `reserved` tokens are left for other facts.
pub(super) fn describe(table: &ItemsTable, reserved: usize, description: &mut TextDescription) {
    let columns: Vec<&String> = table.columns.iter().collect();
    describe_rows(table.row_count, &columns, &table.facts, reserved, description);
}

/// Describes rows by the facts about their columns, and names the columns without facts.
pub(super) fn describe_rows(
    row_count: usize,
    columns: &[&String],
    facts: &ListFacts,
    reserved: usize,
    description: &mut TextDescription,
) {
    description.add("rows", row_count);
    let types = facts.field_types();
    let names: usize = columns.iter().map(|name| name.len() + 1).sum();
    // Names without facts take less; a quarter is kept for those that have no place among the facts.
    let room = |description: &TextDescription| description.remaining().saturating_sub(reserved);
    let kept = (names / CHARS_PER_TOKEN).min(room(description) / 4);
    let facts = description.field_facts(facts, room(description).saturating_sub(kept));
    let others: Vec<&String> =
        columns.iter().copied().filter(|name| !facts.contains_key(name.as_str())).collect();
    if !facts.is_empty() {
        description.add("columns", facts);
    }
    let mut characters = room(description) * CHARS_PER_TOKEN;
    let key = if others.len() < columns.len() { "moreColumns" } else { "columns" };
    while !others.is_empty()
        && characters > 0
        && !description.add(key, fields_by_type(&others, &types, characters))
    {
        characters = characters * 3 / 4;
    }
}
