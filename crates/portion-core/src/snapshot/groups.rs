//! Tells groups from records: a group has neither identity nor name, and is nearly all lists.
//!
//! The number of groups says nothing about the data in them: a report of one run, a schedule of four days. So an array of
//! groups is not the list of its document; the lists inside are named by their paths.

use portion_json::containers::{items, members};
use portion_json::path::key_matches;
use portion_json::scan::{JsonKind, JsonReader, unescape};
use portion_json::span::Span;

use super::object::Member;
use super::profile::field_names::FieldNameHints;

/// Names of the list in the response of an API.
pub(crate) const LIST_NAMES: [&str; 8] =
    ["data", "entries", "hits", "items", "records", "result", "results", "rows"];
/// Most items of an array of groups.
const MAX_GROUPS: usize = 12;
/// Smallest share of a group that its lists take, in percent.
const LIST_PERCENT: usize = 90;
/// Objects inside a group that are searched for lists: maps of lists.
const MAX_DEPTH: usize = 2;

/// Returns true if a member is an array of a few groups and nothing else. The only item of a list by name is a record.
pub(super) fn holds_groups(text: &str, member: &Member) -> bool {
    let groups: Vec<Span> = items(text, member.value).take(MAX_GROUPS + 1).collect();
    let is_sole = groups.len() == 1;
    let is_named_list = || LIST_NAMES.iter().any(|name| key_matches(text, member.key, name));
    if groups.len() > MAX_GROUPS
        || groups.iter().any(|group| is_record(text, *group))
        || is_sole && is_named_list()
    {
        return false;
    }
    let inside = groups.iter().flat_map(|group| members(text, *group)).map(|member| {
        if is_sole { container_bytes(text, member.value) } else { list_bytes(text, member.value, MAX_DEPTH) }
    });
    inside.sum::<usize>() * 100 >= member.value.len() * LIST_PERCENT
}

/// Returns the only object in a member: its value, or the only item of its array.
pub(crate) fn sole_object(text: &str, member: &Member) -> Option<Span> {
    let is_object = |value: &Span| JsonKind::of_value(value.slice(text)) == JsonKind::Object;
    if member.kind == JsonKind::Object {
        return Some(member.value);
    }
    let mut items = items(text, member.value);
    let only = items.next().filter(is_object)?;
    items.next().is_none().then_some(only)
}

/// Returns true for a value that is no object, or has an identity or a name of its own.
fn is_record(text: &str, item: Span) -> bool {
    let names_it = |member: portion_json::containers::Member| {
        let hints = FieldNameHints::from_path(&unescape(member.key.slice(text)));
        let is_scalar = !JsonKind::of_value(member.value.slice(text)).is_container();
        is_scalar && (hints.identity_rank.is_some() || hints.name_rank.is_some())
    };
    JsonKind::of_value(item.slice(text)) != JsonKind::Object || members(text, item).any(names_it)
}

fn container_bytes(text: &str, value: Span) -> usize {
    if JsonKind::of_value(value.slice(text)).is_container() { value.len() } else { 0 }
}

/// Returns the bytes of the lists of objects in a value, and in objects up to a depth.
fn list_bytes(text: &str, value: Span, depth: usize) -> usize {
    let mut reader = JsonReader::resume(text, value.start as usize);
    match JsonKind::of_value(value.slice(text)) {
        JsonKind::Array => {
            let is_list = reader.enter_array().is_ok()
                && reader.next_item() == Ok(true)
                && reader.peek() == Ok(JsonKind::Object);
            if is_list { value.len() } else { 0 }
        }
        JsonKind::Object if depth > 0 => {
            members(text, value).map(|member| list_bytes(text, member.value, depth - 1)).sum()
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use crate::snapshot::{IndexedText, Slice, Structure};

    /// Checks the pointer of the list of a document; `None` for an object.
    fn check(text: &str, expect: Option<&str>) {
        let subject = IndexedText::from_payload(Slice::new(text.to_owned()));
        let found = match &subject.structure {
            Structure::List(list) => Some(list.pointer.as_str()),
            _ => None,
        };
        assert_eq!(found, expect, "{text}");
    }

    fn records(count: usize) -> String {
        (0..count).map(|n| format!("{{\"id\":{n},\"title\":\"talk {n}\"}}")).collect::<Vec<_>>().join(",")
    }

    #[test]
    fn groups_are_no_list() {
        let talks = records(20);
        check(
            &format!(
                "{{\"version\":\"2.1.0\",\"runs\":[{{\"tool\":{{\"name\":\"lint\"}},\"results\":[{talks}]}}]}}"
            ),
            None,
        );
        let day = |n: usize| {
            format!(
                "{{\"index\":{n},\"date\":\"2024-12-{n}\",\"rooms\":{{\"A\":[{talks}],\"B\":[{talks}]}}}}"
            )
        };
        let days: Vec<String> = (24..28).map(day).collect();
        check(&format!("{{\"schedule\":{{\"days\":[{}]}}}}", days.join(",")), None);
    }

    #[test]
    fn records_that_hold_lists_are_a_list() {
        let lines = records(20);
        let order = |n: usize| format!("{{\"order_id\":{n},\"lines\":[{lines}]}}");
        check(&format!("{{\"orders\":[{},{}]}}", order(1), order(2)), Some("/orders"));
        check(&format!("{{\"orders\":[{}]}}", order(1)), Some("/orders"));
        check(&format!("{{\"items\":[{{\"lines\":[{lines}]}}]}}"), Some("/items"));
        let plain = |n: usize| {
            format!(
                "{{\"date\":\"2024-12-{n}\",\"note\":\"a longer text about this day\",\"tags\":[{{\"t\":1}}]}}"
            )
        };
        check(&format!("{{\"days\":[{},{}]}}", plain(1), plain(2)), Some("/days"));
    }
}
