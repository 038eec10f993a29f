//! Something of an object that would look empty without it: an object with members is never shown as `{}`.

use std::fmt::Write as _;

use crate::scan::{Kind, Reader, minify};
use crate::span::Span;

/// Bytes of a value that is shown as it is.
const SHORT: usize = 120;
/// Members that are looked at in each object.
const MEMBERS: usize = 64;
/// Objects inside each other that are looked into.
const LEVELS: usize = 8;

/// What of an object is shown.
enum Found {
    /// A member with its value.
    Short(Span, Span),
    /// A member that is an object with members of its own.
    Object(Span, Span),
    /// Nothing but what is long.
    Long,
}

/// Appends an object with its first short member only, be it in an object inside, or with a mark that says how many
/// characters are inside. An object without members stays as it is.
pub(crate) fn glimpse(object: &str, out: &mut String) {
    let mut closing = String::new();
    let mut inside = object;
    for _ in 0..LEVELS {
        match first_of(inside) {
            None => {
                out.push_str("{}");
                out.push_str(&closing);
                return;
            }
            Some(Found::Short(key, value)) => {
                out.push('{');
                out.push_str(key.of(inside));
                out.push(':');
                minify(value.of(inside), out);
                out.push('}');
                out.push_str(&closing);
                return;
            }
            Some(Found::Object(key, value)) => {
                out.push('{');
                out.push_str(key.of(inside));
                out.push(':');
                closing.push('}');
                inside = value.of(inside);
            }
            Some(Found::Long) => break,
        }
    }
    let _ = write!(out, "{{\"…\":\"[+{} chars]\"}}", inside.chars().count());
    out.push_str(&closing);
}

/// What is shown of an object; `None` where it has no members.
fn first_of(object: &str) -> Option<Found> {
    let mut reader = Reader::new(object);
    reader.enter_object().ok()?;
    let (mut empty, mut container, mut any) = (None, None, false);
    for _ in 0..MEMBERS {
        let Some(key) = reader.next_key().ok()? else { break };
        any = true;
        let kind = reader.peek().ok()?;
        let value = reader.skip().ok()?;
        let says_nothing = matches!(value.of(object), "null" | "\"\"" | "[]" | "{}");
        if kind == Kind::Object && !says_nothing {
            container.get_or_insert((key, value));
        } else if value.len() <= SHORT {
            if !says_nothing {
                return Some(Found::Short(key, value));
            }
            empty.get_or_insert((key, value));
        }
    }
    match (container, empty) {
        (Some((key, value)), _) => Some(Found::Object(key, value)),
        (None, Some((key, value))) => Some(Found::Short(key, value)),
        (None, None) => any.then_some(Found::Long),
    }
}

#[cfg(test)]
mod tests {
    use super::glimpse;

    fn check(object: &str, expect: &str) {
        let mut out = String::new();
        glimpse(object, &mut out);
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
