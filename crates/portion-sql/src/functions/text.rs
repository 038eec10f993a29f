//! Text functions of other dialects, and linear ones in place of those of SQLite. Their results are limited in size.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::sync::Arc;

use memchr::memmem;
use portion_json::containers;
use portion_json::scan::{JsonKind, is_json};
use portion_json::span::Span;
use rusqlite::functions::Context;
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Result};

use super::values::{Registry, add, compare_values, number_argument, owned_value, text_value, too_big_error};
use crate::cell::Cell;
use crate::limits::QueryDeadline;
use crate::spellings::Spelling;
use crate::table::VirtualTable;
use crate::usage::StatementUsage;

pub(super) fn register(registry: Registry<'_>, max: usize) -> Result<()> {
    add(registry, "length", 1, |context| Ok(length(context.get_raw(0))))?;
    add(registry, "replace", 3, move |context| replace(context, max))?;
    for (name, start, end) in [("trim", true, true), ("ltrim", true, false), ("rtrim", false, true)] {
        for arguments in [1, 2] {
            add(registry, name, arguments, move |context| Ok(trim(context, start, end)))?;
        }
    }
    add(registry, "left", 2, |context| Ok(part(context, true)))?;
    add(registry, "right", 2, |context| Ok(part(context, false)))?;
    add(registry, "split_part", 3, |context| Ok(split_part(context)))?;
    // Those of SQLite change ASCII letters only.
    add(registry, "lower", 1, |context| Ok(text(context, 0).map(|text| text.to_lowercase())))?;
    add(registry, "upper", 1, |context| Ok(text(context, 0).map(|text| text.to_uppercase())))?;
    add(registry, "reverse", 1, |context| {
        Ok(text(context, 0).map(|text| text.chars().rev().collect::<String>()))
    })?;
    add(registry, "initcap", 1, |context| Ok(text(context, 0).map(|t| initcap(&t))))?;
    for (names, test) in COMPARISONS {
        add(registry, names, 2, move |context| {
            Ok(text(context, 0).zip(text(context, 1)).map(|(text, part)| test(&text, &part)))
        })?;
    }
    for (names, text_at) in [("strpos instr", 0), ("charindex locate", 1)] {
        add(registry, names, 2, move |context| {
            let both = text(context, text_at).zip(text(context, 1 - text_at));
            Ok(both.map(|(text, part)| position(&text, &part)))
        })?;
    }
    for arguments in [2, 3] {
        add(registry, "lpad", arguments, move |context| pad(context, true, max))?;
        add(registry, "rpad", arguments, move |context| pad(context, false, max))?;
    }
    add(registry, "repeat", 2, move |context| {
        let (Some(text), Some(times)) = (text(context, 0), number_argument(context, 1)) else {
            return Ok(None);
        };
        let times = times.clamp(0.0, 1e9) as usize;
        if text.len().saturating_mul(times) > max {
            return Err(too_big_error());
        }
        Ok(Some(text.repeat(times)))
    })?;
    for (name, order) in [("greatest", Ordering::Greater), ("least", Ordering::Less)] {
        add(registry, name, -1, move |context| {
            let values = (0..context.len()).map(|at| context.get_raw(at));
            let values = values.filter(|value| *value != ValueRef::Null);
            let best = values.reduce(|a, b| if compare_values(b, a) == order { b } else { a });
            Ok(best.map_or(Value::Null, owned_value))
        })?;
    }
    add(registry, "list_contains", 2, |context| Ok(list_contains(context)))?;
    add(registry, "array_to_string array_join", 2, move |context| join(context, max))
}

/// A comparison of a text with a part.
type Comparison = fn(&str, &str) -> bool;

const COMPARISONS: [(&str, Comparison); 4] = [
    ("starts_with startswith", |text, part| text.starts_with(part)),
    ("ends_with endswith suffix", |text, part| text.ends_with(part)),
    ("contains", |text, part| memmem::find(text.as_bytes(), part.as_bytes()).is_some()),
    ("contains_substr", |text, part| {
        memmem::find(text.to_lowercase().as_bytes(), part.to_lowercase().as_bytes()).is_some()
    }),
];

fn text<'a>(context: &'a Context<'_>, at: usize) -> Option<Cow<'a, str>> {
    text_value(context.get_raw(at))
}

/// Returns so many characters of a text; a negative number leaves out that many at the other end.
fn part(context: &Context<'_>, at_start: bool) -> Option<String> {
    let (text, count) = (text(context, 0)?, number_argument(context, 1)? as i64);
    let length = text.chars().count() as i64;
    let count = if count < 0 { (length + count).max(0) } else { count.min(length) };
    let skipped = if at_start { 0 } else { length - count };
    Some(text.chars().skip(skipped as usize).take(count as usize).collect())
}

/// Returns one part of a text between delimiters, from 1; a negative number counts from the end.
fn split_part(context: &Context<'_>) -> Option<String> {
    let (text, delimiter) = (text(context, 0)?, text(context, 1)?);
    let number = number_argument(context, 2)? as i64;
    if delimiter.is_empty() {
        return Some(if number.abs() == 1 { text.into_owned() } else { String::new() });
    }
    let nth = usize::try_from(number.unsigned_abs()).ok()?.checked_sub(1)?;
    let found = if number > 0 { text.split(&*delimiter).nth(nth) } else { text.rsplit(&*delimiter).nth(nth) };
    Some(found.unwrap_or_default().to_owned())
}

fn initcap(text: &str) -> String {
    let mut in_word = false;
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if in_word {
            out.extend(c.to_lowercase());
        } else {
            out.extend(c.to_uppercase());
        }
        in_word = c.is_alphanumeric();
    }
    out
}

/// Returns the position of a part, in characters from 1; 0 if it is not found.
fn position(text: &str, part: &str) -> i64 {
    let found = memmem::find(text.as_bytes(), part.as_bytes()).and_then(|at| text.get(..at));
    found.map_or(0, |before| before.chars().count() as i64 + 1)
}

fn pad(context: &Context<'_>, at_start: bool, max: usize) -> Result<Option<String>> {
    let (Some(text), Some(width)) = (text(context, 0), number_argument(context, 1)) else { return Ok(None) };
    let filling = if context.len() == 3 { text_value(context.get_raw(2)) } else { Some(" ".into()) };
    let Some(filling) = filling else { return Ok(None) };
    let (length, width) = (text.chars().count(), width.clamp(0.0, 1e9) as usize);
    if width.saturating_mul(4) > max {
        return Err(too_big_error());
    }
    let padding: String = filling.chars().cycle().take(width.saturating_sub(length)).collect();
    let kept: String = text.chars().take(width).collect();
    Ok(Some(if at_start { padding + &kept } else { kept + &padding }))
}

/// Returns true if a JSON array has an element that equals a value.
fn list_contains(context: &Context<'_>) -> Option<bool> {
    let (list, wanted) = (text(context, 0)?, context.get_raw(1));
    if JsonKind::of_value(&list) != JsonKind::Array {
        return None;
    }
    let mut items = containers::items(&list, Span::new(0, list.len()));
    Some(items.any(|item| match Cell::from_json(item.slice(&list)) {
        Cell::Null => false,
        Cell::Integer(n) => compare_values(ValueRef::Integer(n), wanted).is_eq(),
        Cell::Real(n) => compare_values(ValueRef::Real(n), wanted).is_eq(),
        Cell::Text(text) => wanted.as_str().is_ok_and(|wanted| wanted == text),
    }))
}

/// Joins the elements of a JSON array.
fn join(context: &Context<'_>, max: usize) -> Result<Option<String>> {
    let (Some(list), Some(separator)) = (text(context, 0), text(context, 1)) else { return Ok(None) };
    if JsonKind::of_value(&list) != JsonKind::Array {
        return Ok(None);
    }
    let text_of = |item: Span| match Cell::from_json(item.slice(&list)) {
        Cell::Null => None,
        Cell::Text(text) => Some(text),
        Cell::Integer(_) | Cell::Real(_) => Some(item.slice(&list).into()),
    };
    let items = containers::items(&list, Span::new(0, list.len()));
    let texts: Vec<Cow<'_, str>> = items.filter_map(text_of).collect();
    let bytes = texts.iter().map(|text| text.len().saturating_add(separator.len())).sum::<usize>();
    if bytes > max.saturating_add(separator.len()) {
        return Err(too_big_error());
    }
    Ok(Some(texts.join(&*separator)))
}

/// Returns the number of items of an array, the characters of another text, or the bytes of a blob.
fn length(value: ValueRef<'_>) -> Option<i64> {
    let count = match value {
        ValueRef::Null => return None,
        ValueRef::Integer(n) => n.to_string().len(),
        ValueRef::Real(n) => format!("{n:?}").len(),
        ValueRef::Blob(bytes) => bytes.len(),
        ValueRef::Text(_) => {
            let text = text_value(value)?;
            if text.starts_with('[') && is_json(&text) {
                containers::items(&text, Span::new(0, text.len())).count()
            } else {
                text.chars().count()
            }
        }
    };
    i64::try_from(count).ok()
}

fn replace(context: &Context<'_>, max: usize) -> Result<Option<String>> {
    let [text, part, by] = [0, 1, 2].map(|at| text(context, at));
    let (Some(text), Some(part), Some(by)) = (text, part, by) else { return Ok(None) };
    if part.is_empty() {
        return Ok(Some(text.into_owned()));
    }
    let times = memmem::find_iter(text.as_bytes(), part.as_bytes()).count();
    let added = times.saturating_mul(by.len().saturating_sub(part.len()));
    if text.len().saturating_add(added) > max {
        return Err(too_big_error());
    }
    Ok(Some(text.replace(&*part, &by)))
}

fn trim(context: &Context<'_>, start: bool, end: bool) -> Option<String> {
    let text = text_value(context.get_raw(0))?;
    let trim_chars = if context.len() > 1 { text_value(context.get_raw(1))? } else { " ".into() };
    let mut trim_chars: Vec<char> = trim_chars.chars().collect();
    trim_chars.sort_unstable();
    let is_sign = |c: char| trim_chars.binary_search(&c).is_ok();
    let text = if start { text.trim_start_matches(is_sign) } else { &text };
    let text = if end { text.trim_end_matches(is_sign) } else { text };
    Some(text.to_owned())
}

/// Registers `as_written(value, table, column)`, by which text functions read the numbers of a column as they are written.
pub(crate) fn register_as_written(
    connection: &Connection,
    tables: &[Arc<VirtualTable>],
    deadline: &Arc<QueryDeadline>,
    usage: &Arc<StatementUsage>,
) -> Result<()> {
    let (tables, deadline, usage) = (tables.to_vec(), Arc::clone(deadline), Arc::clone(usage));
    add(Registry { connection, wanted: None }, "as_written", 3, move |context| {
        let number = match context.get_raw(0) {
            ValueRef::Integer(n) => Cell::Integer(n),
            ValueRef::Real(n) => Cell::Real(n),
            other => return Ok(owned_value(other)),
        };
        let names = text_value(context.get_raw(1)).zip(text_value(context.get_raw(2)));
        let text = names.and_then(|(table, name)| {
            let table = tables.iter().find(|known| known.name == table)?.opened()?;
            let at = table.columns().iter().position(|column| column.name == name)?;
            if table.columns()[at].is_boolean() {
                return Some(if number == Cell::Integer(0) { "false" } else { "true" }.to_owned());
            }
            match table.spellings(at, &deadline)?.get(&number)? {
                Spelling::Text(text) => Some(text.to_string()),
                Spelling::Number => None,
                Spelling::Several => {
                    usage.record_several_texts(&name);
                    None
                }
            }
        });
        Ok(text.map_or_else(|| owned_value(context.get_raw(0)), Value::Text))
    })
}
