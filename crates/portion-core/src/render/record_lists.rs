//! Finds the largest lists of records in an object, so that a notice can name their paths.

use portion_json::json_pointer::step_from_quoted;
use portion_json::scan::{JsonKind, JsonReader};

use crate::snapshot::{List, Member, ObjectIndex};

/// Most lists that are named of an object, and beside a list.
const MAX_LISTS: usize = 2;
const MAX_SIBLINGS: usize = 1;
/// Smallest list that is named, in bytes.
const MIN_LIST_BYTES: usize = 400;
/// Longest path that is named, in bytes.
const MAX_PATH_BYTES: usize = 60;

/// Returns the JSON Pointers of the largest lists and maps of records among the members of the object at a pointer, and of
/// the objects in it, the largest first.
pub(super) fn record_lists(text: &str, pointer: &str, object: &ObjectIndex) -> Vec<String> {
    let mut found = Vec::new();
    for object in collect(text, pointer, &object.listed, &mut found) {
        let inner = ObjectIndex::parse(&mut JsonReader::resume(text, object.value.start as usize));
        let pointer = member_pointer(text, pointer, &object);
        collect(text, &pointer, &inner.map_or_else(|_| Vec::new(), |inner| inner.listed), &mut found);
    }
    largest(found, MAX_LISTS)
}

/// Returns the same of the objects around a list, without the list.
pub(super) fn sibling_lists(text: &str, list: &List) -> Vec<String> {
    let (mut found, mut pointer) = (Vec::new(), String::new());
    for level in &list.enclosing_objects {
        collect(text, &pointer, &level.members, &mut found);
        pointer = member_pointer(text, &pointer, &level.members[level.list_member]);
    }
    // A member on the path to the list can look like a map of records.
    found.retain(|(_, path)| !list.pointer.starts_with(path.as_str()));
    largest(found, MAX_SIBLINGS)
}

/// Adds the size and the pointer of each list and map of records among these members. Returns the other objects.
fn collect(text: &str, pointer: &str, members: &[Member], found: &mut Vec<(usize, String)>) -> Vec<Member> {
    let mut others = Vec::new();
    for member in members.iter().filter(|member| member.value.len() >= MIN_LIST_BYTES) {
        if is_record_list(text, member) {
            found.push((member.value.len(), member_pointer(text, pointer, member)));
        } else if member.kind == JsonKind::Object {
            others.push(*member);
        }
    }
    others
}

fn member_pointer(text: &str, pointer: &str, member: &Member) -> String {
    format!("{pointer}/{}", step_from_quoted(member.key.slice(text)))
}

fn largest(mut found: Vec<(usize, String)>, most: usize) -> Vec<String> {
    found.retain(|(_, path)| path.len() <= MAX_PATH_BYTES && !path.contains('\''));
    found.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    found.into_iter().take(most).map(|(_, path)| path).collect()
}

/// Returns true if a member is an array that begins with an object, or an object that begins with two objects.
fn is_record_list(text: &str, member: &Member) -> bool {
    let mut reader = JsonReader::resume(text, member.value.start as usize);
    if member.kind == JsonKind::Array {
        let begins = reader.enter_array().is_ok() && reader.next_item() == Ok(true);
        return begins && reader.peek() == Ok(JsonKind::Object);
    }
    member.kind == JsonKind::Object
        && reader.enter_object().is_ok()
        && (0..2).all(|_| {
            matches!(reader.next_key(), Ok(Some(_)))
                && reader.peek() == Ok(JsonKind::Object)
                && reader.skip().is_ok()
        })
}
