//! Steps through JSON text without building values.

use std::collections::BTreeSet;

use portion_json::containers::{self, Member};
use portion_json::scan::{JsonKind, unescape};
use portion_json::span::Span;

/// Returns the members of an object in order; `None` if the text is not an object.
pub(crate) fn members(object: &str) -> Option<Vec<(String, &str)>> {
    let members = containers::read_members(object, Span::new(0, object.len())).ok()?;
    let decoded = |member: Member| (unescape(member.key.slice(object)), member.value.slice(object));
    Some(members.into_iter().map(decoded).collect())
}

/// Returns the members of an object in order. Of equal keys only the last is returned, as in Python and JavaScript.
pub(crate) fn distinct_members(object: &str) -> Option<Vec<(String, &str)>> {
    let mut members = members(object)?;
    let mut seen = BTreeSet::new();
    members.reverse();
    members.retain(|(name, _)| seen.insert(name.clone()));
    members.reverse();
    Some(members)
}

/// Returns the items of an array; `None` if the text is not an array.
pub(crate) fn items(array: &str) -> Option<Vec<&str>> {
    let items = containers::read_items(array, Span::new(0, array.len())).ok()?;
    Some(items.into_iter().map(|item| item.slice(array)).collect())
}

/// Returns the value of a member. Of equal keys the last counts, as in Python and JavaScript.
pub(crate) fn member<'a>(members: &[(String, &'a str)], name: &str) -> Option<&'a str> {
    members.iter().rev().find(|(key, _)| key == name).map(|(_, value)| *value)
}

/// Returns the value at a path: a key as it is, or keys joined by dots.
pub(crate) fn at_path<'a>(members: &[(String, &'a str)], path: &str) -> Option<&'a str> {
    if let Some(value) = member(members, path) {
        return Some(value);
    }
    let (first, mut rest) = path.split_once('.')?;
    let mut value = member(members, first)?;
    loop {
        let members = self::members(value)?;
        if let Some(value) = member(&members, rest) {
            return Some(value);
        }
        let (first, after) = rest.split_once('.')?;
        value = member(&members, first)?;
        rest = after;
    }
}

/// Returns the text of a JSON string; `None` for other values.
pub(crate) fn string(value: &str) -> Option<String> {
    (JsonKind::of_value(value) == JsonKind::String).then(|| unescape(value))
}

/// Returns a finite number, also one that is written as a string.
pub(crate) fn number(value: &str) -> Option<f64> {
    let number = match JsonKind::of_value(value) {
        JsonKind::Number => value.parse(),
        JsonKind::String => unescape(value).trim().parse(),
        _ => return None,
    };
    number.ok().filter(|number: &f64| number.is_finite())
}
