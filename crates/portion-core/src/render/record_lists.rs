//! Finds the largest lists of records in an object, so that a notice can name their paths.

use portion_json::json_pointer::step_from_quoted;
use portion_json::scan::{JsonKind, JsonReader};

use crate::snapshot::{List, Member, ObjectIndex, main_lists, sole_object};

/// Most lists that are named of an object, and beside a list.
const MAX_LISTS: usize = 2;
const MAX_SIBLINGS: usize = 1;
/// Smallest list that is named, in bytes.
const MIN_LIST_BYTES: usize = 400;
/// Longest path that is named, in bytes.
pub(super) const MAX_PATH_BYTES: usize = 60;

/// Returns the patterns of the largest lists of records in the object, the largest first.
pub(super) fn record_lists(text: &str, object: &ObjectIndex) -> Vec<String> {
    let found = main_lists(text, object.span).into_iter().map(|lists| (lists.byte_count, lists.pattern));
    largest(found.filter(|(bytes, _)| *bytes >= MIN_LIST_BYTES).collect(), MAX_LISTS)
}

/// Returns the JSON Pointers of the largest arrays of texts, numbers or arrays in the object at a pointer, and in the objects
/// in it.
pub(super) fn value_lists(text: &str, pointer: &str, object: &ObjectIndex) -> Vec<String> {
    let mut found = Vec::new();
    let is_value_list =
        |text: &str, member: &Member| member.kind == JsonKind::Array && !is_record_list(text, member);
    collect(text, pointer, object.listed.clone(), is_value_list, &mut found);
    largest(found, MAX_LISTS)
}

/// Returns the same as [`record_lists`] of the objects around a list, without the list.
pub(super) fn sibling_lists(text: &str, list: &List) -> Vec<String> {
    let (mut found, mut pointer) = (Vec::new(), String::new());
    for level in &list.enclosing_objects {
        let list_member = level.members[level.list_member];
        let others = level.members.iter().filter(|member| member.key != list_member.key);
        collect(text, &pointer, others.copied().collect(), is_record_list, &mut found);
        pointer = member_pointer(text, &pointer, &list_member);
    }
    largest(found, MAX_SIBLINGS)
}

/// Adds the size and the pointer of each list that is wanted among the members of the object at a pointer, and of the objects
/// in it. An array of one object is that object.
fn collect(
    text: &str,
    pointer: &str,
    members: Vec<Member>,
    is_wanted: impl Fn(&str, &Member) -> bool,
    found: &mut Vec<(usize, String)>,
) {
    let mut open = vec![(pointer.to_owned(), members, 1)];
    while let Some((pointer, members, depth)) = open.pop() {
        for member in members.iter().filter(|member| member.value.len() >= MIN_LIST_BYTES) {
            let path = member_pointer(text, &pointer, member);
            let inner = sole_object(text, member);
            let is_wrapper = member.kind == JsonKind::Array && inner.is_some();
            if !is_wrapper && is_wanted(text, member) {
                found.push(match longer_map_inside(text, member) {
                    Some(inner) => (inner.value.len(), member_pointer(text, &path, &inner)),
                    None => (member.value.len(), path),
                });
            } else if let Some(inner) = inner.filter(|_| is_wrapper || depth > 0)
                && let Ok(object) = ObjectIndex::parse(&mut JsonReader::resume(text, inner.start as usize))
            {
                let (index, left) = if is_wrapper { ("/0", depth) } else { ("", depth - 1) };
                open.push((format!("{path}{index}"), object.listed, left));
            }
        }
    }
}

/// Returns the largest member of an object if it is a list or a map of records with more entries than the object has
/// members: then the object is no map of records, but a group of maps (`components` of an `OpenAPI` document).
fn longer_map_inside(text: &str, object: &Member) -> Option<Member> {
    let parse =
        |member: &Member| ObjectIndex::parse(&mut JsonReader::resume(text, member.value.start as usize)).ok();
    let outer = parse(object).filter(|_| object.kind == JsonKind::Object)?;
    let largest = *outer.listed.iter().max_by_key(|member| member.value.len())?;
    let inner = parse(&largest).filter(|_| is_record_list(text, &largest))?;
    (inner.len() > outer.len()).then_some(largest)
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

#[cfg(test)]
mod tests {
    use super::{record_lists, sibling_lists};
    use crate::snapshot::{IndexedText, Slice, Structure};

    fn check(text: &str, expect: &[&str]) {
        let subject = IndexedText::from_payload(Slice::new(text.to_owned()));
        let found = match &subject.structure {
            Structure::List(list) => sibling_lists(text, list),
            Structure::Object(object) => record_lists(text, object),
            Structure::Text(_) => Vec::new(),
        };
        assert_eq!(found, expect, "{text}");
    }

    /// Returns the members of a map of records.
    fn map(name: &str, count: usize) -> String {
        let member =
            |n: usize| format!(r#""{name}{n}":{{"a":{{"text":"{}"}},"b":{{"n":{n}}}}}"#, "x".repeat(90));
        (0..count).map(member).collect::<Vec<_>>().join(",")
    }

    #[test]
    fn maps_of_records_are_found_among_other_members() {
        let (paths, schemas) = (map("/p", 30), map("S", 20));
        let document = |components: &str| {
            format!(r#"{{"info":{{"title":"t"}},"paths":{{{paths}}},"components":{{{components}}}}}"#)
        };
        check(&document(&format!(r#""schemas":{{{schemas}}}"#)), &["/components/schemas"]);
        check(
            &document(&format!(r#""schemas":{{{schemas}}},"security":{{"k":{{"in":"header"}}}}"#)),
            &["/components/schemas"],
        );
        let list = "{\"id\":1,\"name\":\"n\"}".to_owned() + &",{\"id\":2,\"name\":\"m\"}".repeat(40);
        check(
            &format!(r#"{{"title":"t","latest":{{"users":[{list}],"note":"{}"}},"n":1}}"#, "y".repeat(9_000)),
            &["/latest/users"],
        );
    }
}
