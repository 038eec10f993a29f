//! Finds blocks of content that are one table: records (`{"id":1,…}`, `{"id":2,…}`), or lists of similar records.

use std::collections::BTreeSet;
use std::sync::Arc;

use portion_json::scan::{JsonKind, JsonReader, unescape};

use super::indexed_text::{IndexedText, Structure};
use super::list::{Layout, List};
use super::object::ObjectIndex;
use super::slice::Slice;

/// Number of blocks from which lists in them are fields of records.
const MANY_BLOCKS: usize = 3;

/// A block that is one record.
#[derive(Clone, Debug)]
pub struct RecordBlock<'a> {
    /// The text of the block.
    pub text: &'a Slice,
    /// Its members.
    pub members: &'a ObjectIndex,
}

/// Returns the blocks that are JSON objects, in order, if there are several, no other JSON, and all have similar members. Two
/// objects with lists of records in them are no table.
pub fn record_blocks<'a>(subjects: impl Iterator<Item = &'a IndexedText>) -> Vec<RecordBlock<'a>> {
    let (mut blocks, mut first_keys) = (Vec::new(), BTreeSet::new());
    for subject in subjects {
        let Structure::Object(members) = &subject.structure else {
            if subject.is_json() {
                return Vec::new();
            }
            continue;
        };
        let block = RecordBlock { text: &subject.text, members };
        let keys: BTreeSet<String> = block.names().into_iter().collect();
        if blocks.is_empty() {
            first_keys.clone_from(&keys);
        }
        if !are_similar(&keys, &first_keys) {
            return Vec::new();
        }
        blocks.push(block);
    }
    let is_few = blocks.len() < MANY_BLOCKS && blocks.first().is_some_and(RecordBlock::has_records);
    if blocks.len() < 2 || is_few { Vec::new() } else { blocks }
}

/// Returns the blocks that are lists of records, with their index in `subjects`, if there are several and all have similar fields.
pub fn list_blocks<'a>(subjects: impl Iterator<Item = &'a IndexedText>) -> Vec<(usize, &'a Arc<List>)> {
    let lists = subjects.enumerate().filter_map(|(at, subject)| match &subject.structure {
        Structure::List(list) => Some((at, list)),
        Structure::Object(_) | Structure::Text(_) => None,
    });
    let blocks: Vec<(usize, &Arc<List>)> = lists.collect();
    let keys = |list: &List| -> BTreeSet<String> {
        let names = list.profile.fields.iter().map(|field| field.path.split('.').next().unwrap_or_default());
        names.map(str::to_owned).collect()
    };
    let first_keys = blocks.first().map(|(_, list)| keys(list)).unwrap_or_default();
    let is_similar = |list: &List| {
        matches!(list.layout, Layout::Array | Layout::Lines) && are_similar(&keys(list), &first_keys)
    };
    if blocks.len() > 1 && blocks.iter().all(|(_, list)| is_similar(list)) { blocks } else { Vec::new() }
}

/// Returns true if more than half of the names are in both sets.
fn are_similar(names: &BTreeSet<String>, others: &BTreeSet<String>) -> bool {
    2 * names.intersection(others).count() > names.len().max(others.len())
}

impl RecordBlock<'_> {
    /// Returns the names of its members, in order.
    pub fn names(&self) -> Vec<String> {
        self.members.listed.iter().map(|member| unescape(member.key.slice(self.text))).collect()
    }

    fn has_records(&self) -> bool {
        let first_kind = |array: u32| JsonReader::resume(self.text, array as usize + 1).peek().ok();
        let arrays = self.members.listed.iter().filter(|member| member.kind == JsonKind::Array);
        arrays.into_iter().any(|member| first_kind(member.value.start) == Some(JsonKind::Object))
    }
}

#[cfg(test)]
mod tests {
    use super::record_blocks;
    use crate::snapshot::{IndexedText, Slice};

    fn check(blocks: &[&str], expect: usize) {
        let subjects: Vec<IndexedText> =
            blocks.iter().map(|text| IndexedText::from_payload(Slice::new((*text).to_owned()))).collect();
        assert_eq!(record_blocks(subjects.iter()).len(), expect, "{blocks:?}");
    }

    #[test]
    fn similar_objects_are_records() {
        let (one, two) = (r#"{"id":1,"name":"a"}"#, r#"{"id":2,"name":"b","n":1}"#);
        check(&[one, two], 2);
        check(&["Found two.", one, two], 2);
        check(&[one], 0);
        check(&[one, r#"{"url":"x","size":1}"#], 0);
        check(&[one, two, "[1,2]"], 0);
        let team = r#"{"team":"A team with a long name","city":"Oslo","members":[{"id":1}]}"#;
        check(&[team, team], 0);
        check(&[team, team, team], 3);
    }
}
