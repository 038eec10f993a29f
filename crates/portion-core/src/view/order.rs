//! `sort`: a list's items by one of their fields.

use std::cmp::Ordering;

use super::{Order, Target, View, ViewError};
use crate::nearest::nearest;
use crate::path::value_at;
use crate::scan::{Kind, Reader, decoded};
use crate::snapshot::{Form, Item, Layout, List, Snapshot, Subject};
use crate::span::Span;

/// What an item is sorted by.
enum Key {
    Number(f64),
    Text(String),
    Missing,
}

/// The order of a list's items that `spec` asks for: a field, `desc` after it for the largest first.
/// Numbers come before text, items without the field last; equals keep their order.
pub(super) fn order(part: u16, subject: &Subject, spec: &str) -> Result<Order, ViewError> {
    let fail = |why: String| ViewError::Sort { given: spec.to_owned(), why };
    let Form::List(list) = &subject.form else {
        return Err(fail("only lists can be sorted".into()));
    };
    let (field, descending) = parse(spec).ok_or_else(|| fail(format!("it is {WANTS}")))?;
    let text: &str = &subject.text;
    let column = match &list.layout {
        Layout::Table { columns, .. } => columns.iter().position(|name| *name == field),
        _ => None,
    };
    let mut keys: Vec<(Key, u32)> = list
        .iter_from(text, 0)
        .map(|item| (key(text, list, &item, &field, column), item.index as u32))
        .collect();
    if keys.iter().all(|(key, _)| matches!(key, Key::Missing)) {
        let near = nearest(&field, list.profile.fields.iter().map(|field| field.path.as_str()));
        let hint = near.map_or_else(String::new, |name| format!("; did you mean {name}?"));
        return Err(fail(format!("no item has such a field with a plain value{hint}")));
    }
    keys.sort_by(|(a, _), (b, _)| compare(a, b, descending));
    let ranks = keys.into_iter().map(|(_, index)| index).collect();
    let spec = format!("{field} {}", if descending { "desc" } else { "asc" });
    Ok(Order { spec, part, asked: true, ranks, ranked: None })
}

/// The order that an operator wants of a list which nobody asked to be in any; `None` where it has no such field.
///
/// Of several parts it is the main one, where that is a list.
pub(super) fn usual(snapshot: &Snapshot, view: &View, spec: &str) -> Option<Order> {
    let (part, subject) = match &view.target {
        Target::Node(node) => (node.part, &node.subject),
        Target::Everything => {
            let part = snapshot.main_part()?;
            (part as u16, snapshot.parts().get(part)?.subject()?)
        }
    };
    let free = view.order.is_none() && view.window.is_none() && !view.raw && snapshot.answer().is_none();
    let is_list = matches!(subject.form, Form::List(_));
    let order = if free && is_list { order(part, subject, spec).ok() } else { None };
    order.map(|order| Order { asked: false, ..order })
}

/// What a `sort` says.
pub(super) const WANTS: &str = "a field, then `asc` or `desc`";

/// The field, and whether its largest comes first; `None` where no field is named.
pub(super) fn parse(spec: &str) -> Option<(String, bool)> {
    let spec = spec.trim();
    if let Some(field) = spec.strip_prefix('-') {
        return (!field.is_empty()).then(|| (field.to_owned(), true));
    }
    let (field, direction) = match spec.rsplit_once([' ', ':']) {
        Some((field, word)) if word.eq_ignore_ascii_case("desc") => (field, true),
        Some((field, word)) if word.eq_ignore_ascii_case("asc") => (field, false),
        _ => (spec, false),
    };
    let field = field.trim();
    (!field.is_empty()).then(|| (field.to_owned(), direction))
}

fn key(text: &str, list: &List, item: &Item, field: &str, column: Option<usize>) -> Key {
    let value = match (&list.layout, column) {
        (Layout::Table { .. }, Some(column)) => cell(text, item.value, column),
        _ => value_at(text, item.value, field),
    };
    let Some(value) = value else { return Key::Missing };
    let json = value.of(text);
    match Kind::of(json) {
        Kind::Number => json.parse().map_or(Key::Missing, Key::Number),
        Kind::String => Key::Text(decoded(json)),
        Kind::Bool => Key::Text(json.to_owned()),
        _ => Key::Missing,
    }
}

/// One cell of a row.
fn cell(text: &str, row: Span, column: usize) -> Option<Span> {
    let mut reader = Reader::resume(text, row.start as usize);
    reader.enter_array().ok()?;
    for _ in 0..column {
        reader.next_item().ok().filter(|more| *more)?;
        reader.skip().ok()?;
    }
    reader.next_item().ok().filter(|more| *more)?;
    reader.skip().ok()
}

fn compare(a: &Key, b: &Key, descending: bool) -> Ordering {
    let turned = |ordering: Ordering| if descending { ordering.reverse() } else { ordering };
    match (a, b) {
        (Key::Missing, Key::Missing) => Ordering::Equal,
        (Key::Missing, _) => Ordering::Greater,
        (_, Key::Missing) => Ordering::Less,
        (Key::Number(x), Key::Number(y)) => turned(x.total_cmp(y)),
        (Key::Text(x), Key::Text(y)) => turned(x.cmp(y)),
        (Key::Number(_), Key::Text(_)) => turned(Ordering::Less),
        (Key::Text(_), Key::Number(_)) => turned(Ordering::Greater),
    }
}
