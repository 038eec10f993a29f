//! Converts a table back to its records.

use portion_core::snapshot::{IndexedText, Layout, Structure};

use super::json::Json;

/// Converts the table of a page back to a list in its original layout, or returns `None` if the page has no
/// table.
pub(crate) fn expanded(text: &str, subject: &IndexedText) -> Option<String> {
    let Structure::List(list) = &subject.structure else { return None };
    let is_table = matches!(list.layout, Layout::Table { .. });
    let mut page = Json::parse(text)?;
    let place = if is_table { return None } else { at_mut(&mut page, &list.pointer)? };
    if !matches!(place.get("rows"), Some(Json::Array(_))) {
        return None;
    }
    let records = records(place);
    match list.layout {
        Layout::Map => {
            let entry = |mut record: Json| {
                let Json::Object(members) = &mut record else { panic!("no object") };
                let at = members.iter().position(|(key, _)| key == "\"_key\"").expect("a key");
                let Json::Text(key) = members.remove(at).1 else { panic!("no text") };
                (key, record)
            };
            *place = Json::Object(records.into_iter().map(entry).collect());
        }
        Layout::Lines => {
            return Some(records.iter().map(Json::minified).collect::<Vec<_>>().join("\n"));
        }
        _ => *place = Json::Array(records),
    }
    Some(page.minified())
}

/// Returns the records of a table.
fn records(table: &Json) -> Vec<Json> {
    let Json::Object(members) = table else { panic!("no object") };
    let known = ["constants", "columns", "nullIsAbsent", "absentAt", "rows"].map(|key| format!("\"{key}\""));
    let order: Vec<Option<usize>> =
        members.iter().map(|(key, _)| known.iter().position(|own| own == key)).collect();
    assert!(order.is_sorted_by(|a, b| a.is_some() && a < b), "{table:?}");
    let list = |key: &str| match table.get(key) {
        Some(Json::Array(items)) => items.clone(),
        None => Vec::new(),
        other => panic!("{key}: {other:?}"),
    };
    let columns = list("columns");
    let null_is_absent = list("nullIsAbsent");
    let row = |(at, row): (usize, Json)| {
        let Json::Array(cells) = row else { panic!("no row: {row:?}") };
        assert!(cells.len() <= columns.len());
        let mut record = Json::Object(Vec::new());
        if let Some(Json::Object(constants)) = table.get("constants") {
            constants.iter().for_each(|(name, value)| put(&mut record, name, value.clone()));
        }
        for (name, cell) in columns.iter().zip(cells) {
            let Json::Text(quoted) = name else { panic!("no name: {name:?}") };
            let absent_at = table.get("absentAt").and_then(|rows| rows.get(quoted.trim_matches('"')));
            let here =
                matches!(absent_at, Some(Json::Array(rows)) if rows.contains(&Json::Word(at.to_string())));
            let absent = here || cell == Json::Word("null".into()) && null_is_absent.contains(name);
            if !absent {
                put(&mut record, quoted, cell);
            }
        }
        record
    };
    list("rows").into_iter().enumerate().map(row).collect()
}

/// Adds a value under a dotted name.
fn put(record: &mut Json, name: &str, value: Json) {
    let mut steps = name[1..name.len() - 1].split('.');
    let last = steps.next_back().expect("a name has a last step");
    let mut at = record;
    for step in steps {
        let Json::Object(members) = at else { panic!("{name} leads through no object") };
        let key = format!("\"{step}\"");
        let found = members.iter().position(|(own, _)| *own == key).unwrap_or_else(|| {
            members.push((key, Json::Object(Vec::new())));
            members.len() - 1
        });
        at = &mut members[found].1;
    }
    let Json::Object(members) = at else { panic!("{name} leads through no object") };
    members.push((format!("\"{last}\""), value));
}

fn at_mut<'a>(whole: &'a mut Json, pointer: &str) -> Option<&'a mut Json> {
    let mut at = whole;
    for step in pointer.split('/').skip(1) {
        let name = step.replace("~1", "/").replace("~0", "~");
        let Json::Object(members) = at else { return None };
        let (_, value) = members.iter_mut().find(|(key, _)| portion_json::scan::unescape(key) == name)?;
        at = value;
    }
    Some(at)
}
