//! Finds the largest lists of records in an object, so that a notice can name their paths.

use portion_json::containers::members;
use portion_json::json_pointer::step_from_quoted;
use portion_json::scan::JsonKind;
use portion_json::span::Span;

use crate::snapshot::{List, MIN_LIST_BYTES, Member, ObjectIndex, main_lists};

/// Most lists that are named of an object, and beside a list.
const MAX_LISTS: usize = 2;
const MAX_SIBLINGS: usize = 1;
/// Longest path that is named, in bytes.
pub(super) const MAX_PATH_BYTES: usize = 60;

/// Returns the patterns of the largest lists of records in the object, the largest first.
pub(super) fn record_lists(text: &str, object: &ObjectIndex) -> Vec<String> {
    let found = main_lists(text, object.span).into_iter().map(|lists| (lists.byte_count, lists.pattern));
    largest(found.filter(|(bytes, _)| *bytes >= MIN_LIST_BYTES).collect(), MAX_LISTS)
}

/// Returns the JSON Pointers of the largest arrays of texts, numbers or arrays in an object, and in the objects in it.
pub(super) fn value_lists(text: &str, object: Span) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![(object, String::new())];
    while let Some((object, pointer)) = open.pop() {
        for member in members(text, object) {
            let path = format!("{pointer}/{}", step_from_quoted(member.key.slice(text)));
            match JsonKind::of_value(member.value.slice(text)) {
                JsonKind::Array if member.value.len() >= MIN_LIST_BYTES => {
                    found.push((member.value.len(), path));
                }
                JsonKind::Object if pointer.is_empty() => open.push((member.value, path)),
                _ => {}
            }
        }
    }
    largest(found, MAX_LISTS)
}

/// Returns the patterns of the largest lists of records in the objects around a list, without the list.
pub(super) fn sibling_lists(text: &str, list: &List) -> Vec<String> {
    let (mut found, mut pointer) = (Vec::new(), String::new());
    for level in &list.enclosing_objects {
        let list_member = level.members[level.list_member];
        let path = |member: &Member| format!("{pointer}/{}", step_from_quoted(member.key.slice(text)));
        for member in level.members.iter().filter(|member| member.key != list_member.key) {
            let lists = main_lists(text, member.value).into_iter();
            found.extend(lists.map(|lists| (lists.byte_count, format!("{}{}", path(member), lists.pattern))));
        }
        pointer = path(&list_member);
    }
    found.retain(|(bytes, _)| *bytes >= MIN_LIST_BYTES);
    largest(found, MAX_SIBLINGS)
}

fn largest(mut found: Vec<(usize, String)>, most: usize) -> Vec<String> {
    found.retain(|(_, path)| path.len() <= MAX_PATH_BYTES && !path.contains('\''));
    found.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    found.into_iter().take(most).map(|(_, path)| path).collect()
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
