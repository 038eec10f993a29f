//! Searches the names of members, if no value matches.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher as _};

use super::FindError;
use super::candidates::{Candidates, NextPositions};
use super::error::Fuel;
use super::hits::{Hits, JsonObjectWriter};
use super::leaf_tokens::{LeafTokens, Token, value_text};
use super::pattern::Matcher;
use super::record_search::RecordSearch;
use super::value_search::add_value_after;
use crate::snapshot::{Layout, List};

/// Searches the field names of a list. A match is a field: its first record, and the number of its
/// occurrences.
pub(super) fn search(
    text: &str,
    list: &List,
    records: &RecordSearch<'_>,
    matcher: &mut Matcher,
    nearest: NextPositions,
    hits: &mut Hits,
    fuel: &mut Fuel<'_>,
) -> Result<(), FindError> {
    search_columns(list, matcher, hits, fuel)?;
    let mut field_indices: HashMap<u64, usize> = HashMap::new();
    let mut found: Vec<MatchedField> = Vec::new();
    let max = hits.remaining_capacity();
    let mut candidates = Candidates::with_positions(matcher, nearest);
    records.for_each_candidate(&mut candidates, fuel, &mut |record, candidates, fuel| {
        let mut leaves = LeafTokens::new(text, record.value, &[]);
        fuel.burn(record.value.len() / 2 + 16)?;
        let own = record.key.map(|key| (key, value_text(key.slice(text))));
        if let Some((key, name)) = own
            && matcher.find(&name, 0, fuel)?.is_some()
        {
            let mut item = JsonObjectWriter::default();
            if found.len() < max {
                item.add_text("path", &records.path_to(&record));
                add_value_after(text, key, &mut item);
            }
            found.push(MatchedField { is_exact: matcher.matches_whole(&name), count: 1, writer: item });
        }
        while let Some(token) = leaves.next() {
            let Token::Key(key) = token else { continue };
            let Some(next) = candidates.next_from(text, key.start as usize, fuel)? else { break };
            if next >= record.value.end as usize {
                break;
            }
            let name = value_text(key.slice(text));
            if next >= key.end as usize || matcher.find(&name, 0, fuel)?.is_none() {
                continue;
            }
            let field = leaves.field_path();
            let mut hasher = DefaultHasher::new();
            hasher.write(field.as_bytes());
            let at = *field_indices.entry(hasher.finish()).or_insert(found.len());
            if let Some(known) = found.get_mut(at) {
                known.count += 1;
                continue;
            }
            let mut item = JsonObjectWriter::default();
            if found.len() < max {
                // The path ends at the record: a field further inside may have a duplicate name before it.
                item.add_text("path", &records.path_to(&record));
                item.add_text("in", &field);
                add_value_after(text, key, &mut item);
            }
            found.push(MatchedField { is_exact: matcher.matches_whole(&name), count: 1, writer: item });
        }
        Ok(())
    })?;
    add_fields(found, max, hits);
    Ok(())
}

/// Searches the columns of a table.
fn search_columns(
    list: &List,
    matcher: &mut Matcher,
    hits: &mut Hits,
    fuel: &mut Fuel<'_>,
) -> Result<(), FindError> {
    let Layout::Table { columns, .. } = &list.layout else { return Ok(()) };
    for column in columns {
        if matcher.find(column, 0, fuel)?.is_some() {
            hits.add(matcher.matches_whole(column), || {
                let mut item = JsonObjectWriter::default();
                item.add_text("in", column);
                item.add_number("count", list.len());
                item.finish()
            });
        }
    }
    Ok(())
}

/// Adds the fields that were found; only the first `max` are written.
fn add_fields(found: Vec<MatchedField>, max: usize, hits: &mut Hits) {
    for (at, MatchedField { is_exact, count, writer: mut item }) in found.into_iter().enumerate() {
        if at >= max {
            hits.add_all(1, Vec::new());
            continue;
        }
        hits.add(is_exact, || {
            if count > 1 {
                item.add_number("count", count);
            }
            item.finish()
        });
    }
}

/// A field whose name matches.
struct MatchedField {
    is_exact: bool,
    count: usize,
    writer: JsonObjectWriter,
}
