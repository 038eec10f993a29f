//! Matches in the names of members, where no value matches.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher as _};

use super::FindError;
use super::candidates::{Candidates, Nearest};
use super::fuel::Fuel;
use super::hits::Hits;
use super::item::Item;
use super::leaves::{Leaves, Token};
use super::members::value_after;
use super::pattern::Matcher;
use super::records::Records;
use super::value::said;
use crate::snapshot::{Layout, List};

/// Looks through the names of the fields of a list: a match is a field, told by the first record that has it and by how
/// many times it is there.
pub(super) fn search(
    text: &str,
    list: &List,
    records: &Records<'_>,
    matcher: &mut Matcher,
    nearest: Nearest,
    hits: &mut Hits,
    fuel: &mut Fuel<'_>,
) -> Result<(), FindError> {
    if let Layout::Table { columns, .. } = &list.layout {
        for column in columns {
            if matcher.find(column, 0, fuel)?.is_some() {
                hits.add(matcher.is_all_of(column), || {
                    let mut item = Item::default();
                    item.text("in", column);
                    item.number("count", list.len());
                    item.finish()
                });
            }
        }
    }
    let mut seen: HashMap<u64, usize> = HashMap::new();
    let mut found: Vec<Field> = Vec::new();
    let most = hits.room();
    let mut candidates = Candidates::known(matcher, nearest);
    records.each_candidate(&mut candidates, fuel, &mut |record, candidates, fuel| {
        let mut leaves = Leaves::of(text, record.value, &[]);
        fuel.burn(record.value.len() / 2 + 16)?;
        let own = record.key.map(|key| (key, said(key.of(text))));
        if let Some((key, name)) = own
            && matcher.find(&name, 0, fuel)?.is_some()
        {
            let mut item = Item::default();
            if found.len() < most {
                item.text("path", &records.path_to(&record));
                value_after(text, key, &mut item);
            }
            found.push(Field { exact: matcher.is_all_of(&name), count: 1, item });
        }
        while let Some(token) = leaves.next() {
            let Token::Key(key) = token else { continue };
            let Some(next) = candidates.from(text, key.start as usize, fuel)? else { break };
            if next >= record.value.end as usize {
                break;
            }
            let name = said(key.of(text));
            if next >= key.end as usize || matcher.find(&name, 0, fuel)?.is_none() {
                continue;
            }
            let field = leaves.field();
            let mut hasher = DefaultHasher::new();
            hasher.write(field.as_bytes());
            let at = *seen.entry(hasher.finish()).or_insert(found.len());
            if let Some(known) = found.get_mut(at) {
                known.count += 1;
                continue;
            }
            let mut item = Item::default();
            if found.len() < most {
                // What leads to the record always leads there; a field further inside may have a namesake before it.
                item.text("path", &records.path_to(&record));
                item.text("in", &field);
                value_after(text, key, &mut item);
            }
            found.push(Field { exact: matcher.is_all_of(&name), count: 1, item });
        }
        Ok(())
    })?;
    for (at, Field { exact, count, mut item }) in found.into_iter().enumerate() {
        if at >= most {
            hits.add_all(1, Vec::new());
            continue;
        }
        hits.add(exact, || {
            if count > 1 {
                item.number("count", count);
            }
            item.finish()
        });
    }
    Ok(())
}

/// A field whose name matches.
struct Field {
    exact: bool,
    count: usize,
    item: Item,
}
