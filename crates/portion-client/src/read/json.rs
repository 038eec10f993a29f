//! Steps through JSON text without building values.

use portion_json::scan::{JsonKind, JsonReader, unescape};

/// Returns the members of an object in order; `None` if the text is not an object.
pub(crate) fn members(object: &str) -> Option<Vec<(String, &str)>> {
    let mut reader = JsonReader::new(object);
    reader.enter_object().ok()?;
    let mut members = Vec::new();
    while let Some(key) = reader.next_key().ok()? {
        let value = reader.skip().ok()?;
        members.push((unescape(reader.text(key)), reader.text(value)));
    }
    Some(members)
}

/// Returns the items of an array; `None` if the text is not an array.
pub(crate) fn items(array: &str) -> Option<Vec<&str>> {
    let mut reader = JsonReader::new(array);
    reader.enter_array().ok()?;
    let mut items = Vec::new();
    while reader.next_item().ok()? {
        let value = reader.skip().ok()?;
        items.push(reader.text(value));
    }
    Some(items)
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
