//! Implements `replace` and the trim functions in linear time, and `length` of arrays.

use memchr::memmem;
use portion_json::scan::JsonReader;
use rusqlite::Result;
use rusqlite::functions::Context;
use rusqlite::types::ValueRef;

use super::{Registry, add, text_value, too_big_error};

pub(super) fn register(registry: Registry<'_>, most: usize) -> Result<()> {
    add(registry, "length", 1, |context| Ok(length(context.get_raw(0))))?;
    add(registry, "replace", 3, move |context| replace(context, most))?;
    for (name, start, end) in [("trim", true, true), ("ltrim", true, false), ("rtrim", false, true)] {
        for arguments in [1, 2] {
            add(registry, name, arguments, move |context| Ok(trim(context, start, end)))?;
        }
    }
    Ok(())
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
            count_items(&text).unwrap_or_else(|| text.chars().count())
        }
    };
    i64::try_from(count).ok()
}

/// Returns the number of items of a text that is a JSON array.
fn count_items(text: &str) -> Option<usize> {
    let mut reader = JsonReader::new(text.starts_with('[').then_some(text)?);
    let mut count = 0;
    reader.enter_array().ok()?;
    while reader.next_item().ok()? {
        reader.skip().ok()?;
        count += 1;
    }
    reader.expect_end().ok()?;
    Some(count)
}

fn replace(context: &Context<'_>, most: usize) -> Result<Option<String>> {
    let [text, part, by] = [0, 1, 2].map(|at| text_value(context.get_raw(at)));
    let (Some(text), Some(part), Some(by)) = (text, part, by) else { return Ok(None) };
    if part.is_empty() {
        return Ok(Some(text.into_owned()));
    }
    let times = memmem::find_iter(text.as_bytes(), part.as_bytes()).count();
    let added = times.saturating_mul(by.len().saturating_sub(part.len()));
    if text.len().saturating_add(added) > most {
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
