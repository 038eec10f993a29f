//! Steps through the members of an object and the items of an array.
//!
//! ```
//! use portion_json::containers::{items, members};
//! use portion_json::span::Span;
//!
//! let text = r#"{"ids": [1, 2]}"#;
//! let ids = members(text, Span::new(0, text.len())).next().expect("a member");
//! assert_eq!(ids.key.slice(text), "\"ids\"");
//! assert_eq!(items(text, ids.value).count(), 2);
//! ```

use crate::scan::{JsonKind, JsonReader, ScanError, unescape};
use crate::span::Span;

/// A member of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// Span of the key, quotes included.
    pub key: Span,
    /// Span of the value.
    pub value: Span,
}

impl Member {
    /// Returns the span of key and value.
    pub fn span(self) -> Span {
        Span { start: self.key.start, end: self.value.end }
    }
}

/// Yields the members of the object at a span, in order, up to the first error; none if it is not an object.
pub fn members(text: &str, object: Span) -> impl Iterator<Item = Member> + use<'_> {
    let mut reader = JsonReader::resume(text, object.start as usize);
    let mut is_open = !object.is_empty() && reader.enter_object().is_ok();
    std::iter::from_fn(move || {
        let key = if is_open { reader.next_key().ok().flatten() } else { None };
        let member = key.and_then(|key| Some(Member { key, value: reader.skip().ok()? }));
        is_open = member.is_some();
        member
    })
}

/// Yields the items of the array at a span, in order, up to the first error; none if it is not an array.
pub fn items(text: &str, array: Span) -> impl Iterator<Item = Span> + use<'_> {
    let mut reader = JsonReader::resume(text, array.start as usize);
    let mut is_open = !array.is_empty() && reader.enter_array().is_ok();
    std::iter::from_fn(move || {
        is_open = is_open && reader.next_item() == Ok(true);
        let item = if is_open { reader.skip().ok() } else { None };
        is_open = item.is_some();
        item
    })
}

/// Returns all members of the object at a span.
///
/// # Errors
/// Returns an error if it is not an object, or invalid.
pub fn read_members(text: &str, object: Span) -> Result<Vec<Member>, ScanError> {
    let mut reader = JsonReader::resume(text, object.start as usize);
    reader.enter_object()?;
    let mut members = Vec::new();
    while let Some(key) = reader.next_key()? {
        members.push(Member { key, value: reader.skip()? });
    }
    Ok(members)
}

/// Returns all items of the array at a span.
///
/// # Errors
/// Returns an error if it is not an array, or invalid.
pub fn read_items(text: &str, array: Span) -> Result<Vec<Span>, ScanError> {
    let mut reader = JsonReader::resume(text, array.start as usize);
    reader.enter_array()?;
    let mut items = Vec::new();
    while reader.next_item()? {
        items.push(reader.skip()?);
    }
    Ok(items)
}

/// Maximum columns.
const MAX_COLUMNS: usize = 4_096;

/// Returns the names of columns in an array: strings, or objects with a `name` or `ColumnName`. Returns `None` for other arrays.
///
/// ```
/// use portion_json::containers::column_names;
///
/// assert_eq!(column_names(r#"["id",{"name":"city"}]"#), Some(vec!["id".to_owned(), "city".to_owned()]));
/// assert_eq!(column_names("[1]"), None);
/// ```
pub fn column_names(json: &str) -> Option<Vec<String>> {
    let mut names = Vec::new();
    for item in items(json, Span::new(0, json.len())) {
        let name = match JsonKind::of_value(item.slice(json)) {
            JsonKind::String => item,
            JsonKind::Object => {
                let is_name =
                    |key: String| matches!(key.to_ascii_lowercase().as_str(), "name" | "columnname");
                members(json, item).find(|member| is_name(unescape(member.key.slice(json))))?.value
            }
            _ => return None,
        };
        let is_name = JsonKind::of_value(name.slice(json)) == JsonKind::String && names.len() < MAX_COLUMNS;
        is_name.then(|| names.push(unescape(name.slice(json))))?;
    }
    (!names.is_empty()).then_some(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: &[&str]) {
        let whole = Span::new(0, text.len());
        let members: Vec<&str> = members(text, whole).map(|member| member.span().slice(text)).collect();
        let items: Vec<&str> = items(text, whole).map(|item| item.slice(text)).collect();
        assert_eq!([members, items].concat(), expect, "{text}");
        if let Ok(all) = read_members(text, whole) {
            assert_eq!(all, super::members(text, whole).collect::<Vec<_>>(), "{text}");
        }
        if let Ok(all) = read_items(text, whole) {
            assert_eq!(all, super::items(text, whole).collect::<Vec<_>>(), "{text}");
        }
    }

    #[test]
    fn invalid_containers_are_not_read_whole() {
        for text in [r#"{"a":1,"b":"#, "[1,2", "7", ""] {
            let whole = Span::new(0, text.len());
            assert!(read_members(text, whole).is_err() && read_items(text, whole).is_err(), "{text}");
        }
        assert_eq!(read_items("[1, 2]", Span::new(0, 6)).map(|items| items.len()), Ok(2));
        assert_eq!(read_members(r#"{"a": 1}"#, Span::new(0, 8)).map(|members| members.len()), Ok(1));
    }

    #[test]
    fn containers_are_read_up_to_the_first_error() {
        check(r#"{"a": [1, 2], "b":{"c":3}}"#, &[r#""a": [1, 2]"#, r#""b":{"c":3}"#]);
        check(r#" [1, {"a":2}, "x"]"#, &["1", r#"{"a":2}"#, r#""x""#]);
        check(r#"{"a":1,"b":"#, &[r#""a":1"#]);
        check("[1,2", &["1", "2"]);
        for empty in ["", "{}", "[]", "7", "null"] {
            check(empty, &[]);
        }
    }
}
