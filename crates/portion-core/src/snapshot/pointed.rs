//! The list of a JSON text, where somebody says that it is.

use super::form::Form;
use super::list::{Layout, Level};
use super::object::{Members, is_key, items};
use super::shape::{Found, table};
use crate::path::Steps;
use crate::pointer::step;
use crate::scan::{Kind, Offsets, Reader};

/// Objects around a list that are stepped into.
const MOST_LEVELS: usize = 16;

/// The form of a JSON text with the list at a path, a JSON Pointer or dotted; `None` where the text is no JSON or no
/// array, and no object of objects, stands there.
pub(super) fn list_at(text: &str, path: &str) -> Option<Form> {
    let (mut levels, mut pointer): (Vec<Level>, _) = (Vec::new(), String::new());
    let mut reader = Reader::new(text);
    let mut rest = Steps::of(path);
    let mut known: Option<(Offsets, Layout)> = None;
    while !rest.is_empty() {
        if reader.peek().ok()? != Kind::Object || levels.len() == MOST_LEVELS {
            return None;
        }
        let mut members = Members::read(&mut reader).ok()?;
        if levels.is_empty() {
            reader.end().ok()?;
        }
        let named = |name: &str| members.list.iter().position(|member| is_key(text, member.key, name));
        let (inner, taken) = rest.next().into_iter().find_map(|taken| Some((named(&taken.name)?, taken)))?;
        if members.len() > Members::AT_HAND {
            return None;
        }
        let member = members.list[inner];
        rest = taken.rest;
        known = if member.kind == Kind::Array && rest.is_empty() {
            let layout = table(text, &members).filter(|(at, _)| *at == inner).map(|(_, layout)| layout);
            Some((members.items(text, inner)?, layout.unwrap_or(Layout::Array)))
        } else {
            None
        };
        reader = Reader::resume(text, member.value.start as usize);
        pointer = format!("{pointer}/{}", step(member.key.of(text)));
        levels.push(Level { members: members.list, inner });
    }
    reader.peek().ok()?;
    let start = reader.at();
    let (items, layout, end) = match known {
        Some((items, layout)) => {
            (items, layout, levels.last()?.members.get(levels.last()?.inner)?.value.end as usize)
        }
        None => records(&mut reader)?,
    };
    if levels.is_empty() {
        reader.end().ok()?;
    }
    let span = crate::span::Span::new(start, end);
    Some(Found { layout, items, span, levels, pointer }.into_form(text))
}

/// The items of the array that the reader is at, or the entries of the object of objects, and where it ends.
fn records(reader: &mut Reader<'_>) -> Option<(Offsets, Layout, usize)> {
    if reader.peek().ok()? == Kind::Array {
        let items = items(reader).ok()?;
        return Some((items, Layout::Array, reader.at()));
    }
    let members = Members::read(reader).ok()?;
    let of_objects = !members.is_empty() && members.list.iter().all(|member| member.kind == Kind::Object);
    of_objects.then_some((members.keys, Layout::Map, reader.at()))
}

#[cfg(test)]
mod tests {
    use super::list_at;
    use crate::snapshot::{Form, Layout};

    fn check(text: &str, path: &str, expect: Option<(&str, usize)>) {
        let found = list_at(text, path);
        let told = found.as_ref().map(|form| match form {
            Form::List(list) => (list.pointer.as_str(), list.iter_from(text, 0).count()),
            _ => panic!("no list: {form:?}"),
        });
        assert_eq!(told, expect, "{text} {path}");
    }

    #[test]
    fn a_list_is_where_it_is_said_to_be() {
        let text = r#" {"id":1,"big":["aaaaaaaaaaaaaaaaaaaaaaaaa"],"data":{"x":0,"the results":[{"a":1},{"a":2}]}} "#;
        check(text, "data.the results", Some(("/data/the results", 2)));
        check(text, "/data/the results", Some(("/data/the results", 2)));
        check(text, "$.big", Some(("/big", 1)));
        check(text, "data", None);
        check(text, "data.results", None);
        check(text, "id", None);
        check(text, "data.the results.0", None);
        check("[1,2]", "", Some(("", 2)));
        check("[1,2", "", None);
        check("[1,2] x", "", None);
        check(r#"{"a":[1]} x"#, "a", None);
        check(r#"{"a":[]}"#, "a", Some(("/a", 0)));
        check(r#"{"a.b":[1],"a":{"b":[1,2]}}"#, "a.b", Some(("/a.b", 1)));
        check(r#"{"a/b":{"c":[1]}}"#, "/a~1b/c", Some(("/a~1b/c", 1)));
    }

    #[test]
    fn an_object_of_objects_is_a_map_and_columns_are_kept() {
        check(r#"{"people":{"x":{"a":1},"y":{}}}"#, "people", Some(("/people", 2)));
        check(r#"{"x":{"a":1},"y":{"a":2}}"#, "$", Some(("", 2)));
        check(r#"{"people":{"x":1}}"#, "people", None);
        let table = r#"{"t":{"columns":["a"],"rows":[[1],[2]]}}"#;
        let Some(Form::List(list)) = list_at(table, "t.rows") else { panic!("no list") };
        assert!(matches!(list.layout, Layout::Table { .. }));
    }
}
