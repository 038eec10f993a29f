//! Writes a short preview of an object, so that an object with members is never shown as `{}`.

use std::fmt::Write as _;

use crate::scan::{JsonKind, JsonReader, minify};
use crate::span::Span;

/// Maximum bytes of a value that is shown whole.
const MAX_SHORT_BYTES: usize = 120;
/// Maximum members that are examined per object.
const MAX_MEMBERS: usize = 64;
/// Maximum levels of nested objects that are examined.
const MAX_LEVELS: usize = 8;

/// The part of an object that is shown.
enum Preview {
    /// A member with its value.
    ShortMember(Span, Span),
    /// A member that is an object with members of its own.
    NestedObject(Span, Span),
    /// Only long members, so none is shown.
    OnlyLong,
}

/// Appends an object with only its first short member, which may be in a nested object, or with a marker
/// that gives the number of characters inside. An object without members stays as it is.
pub(crate) fn write_object_preview(object: &str, out: &mut String) {
    let mut closing = String::new();
    let mut inside = object;
    for _ in 0..MAX_LEVELS {
        match preview_member(inside) {
            None => {
                out.push_str("{}");
                out.push_str(&closing);
                return;
            }
            Some(Preview::ShortMember(key, value)) => {
                out.push('{');
                out.push_str(key.slice(inside));
                out.push(':');
                minify(value.slice(inside), out);
                out.push('}');
                out.push_str(&closing);
                return;
            }
            Some(Preview::NestedObject(key, value)) => {
                out.push('{');
                out.push_str(key.slice(inside));
                out.push(':');
                closing.push('}');
                inside = value.slice(inside);
            }
            Some(Preview::OnlyLong) => break,
        }
    }
    let _ = write!(out, "{{\"…\":\"[+{} chars]\"}}", inside.chars().count());
    out.push_str(&closing);
}

/// Chooses the member to show; `None` where the object has no members.
fn preview_member(object: &str) -> Option<Preview> {
    let mut reader = JsonReader::new(object);
    reader.enter_object().ok()?;
    let (mut empty, mut container, mut any) = (None, None, false);
    for _ in 0..MAX_MEMBERS {
        let Some(key) = reader.next_key().ok()? else { break };
        any = true;
        let kind = reader.peek().ok()?;
        let value = reader.skip().ok()?;
        let says_nothing = matches!(value.slice(object), "null" | "\"\"" | "[]" | "{}");
        if kind == JsonKind::Object && !says_nothing {
            container.get_or_insert((key, value));
        } else if value.len() <= MAX_SHORT_BYTES {
            if !says_nothing {
                return Some(Preview::ShortMember(key, value));
            }
            empty.get_or_insert((key, value));
        }
    }
    match (container, empty) {
        (Some((key, value)), _) => Some(Preview::NestedObject(key, value)),
        (None, Some((key, value))) => Some(Preview::ShortMember(key, value)),
        (None, None) => any.then_some(Preview::OnlyLong),
    }
}

#[cfg(test)]
mod tests {
    use super::write_object_preview;

    fn check(object: &str, expect: &str) {
        let mut out = String::new();
        write_object_preview(object, &mut out);
        assert_eq!(out, expect);
    }

    #[test]
    fn an_object_with_members_never_looks_empty() {
        check("{ }", "{}");
        check(r#"{"a": null, "b": 1, "c": 2}"#, r#"{"b":1}"#);
        check(r#"{"get": {"tags": [ "x" ], "description": "y"}}"#, r#"{"get":{"tags":["x"]}}"#);
        check(r#"{"a": {}, "b": null}"#, r#"{"a":{}}"#);
        let long = format!(r#"{{"a": {{"text": "{}"}}}}"#, "x".repeat(200));
        check(&long, r#"{"a":{"…":"[+212 chars]"}}"#);
    }
}
