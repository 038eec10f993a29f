//! Implements `instr`, `replace` and the trim functions in linear time.

use memchr::memmem;
use rusqlite::functions::Context;
use rusqlite::{Connection, Result};

use super::{PURE, text_value, too_big_error};

pub(super) fn register(connection: &Connection, most: usize) -> Result<()> {
    connection.create_scalar_function("instr", 2, PURE, |context| Ok(instr(context)))?;
    connection.create_scalar_function("replace", 3, PURE, move |context| replace(context, most))?;
    for (name, start, end) in [("trim", true, true), ("ltrim", true, false), ("rtrim", false, true)] {
        for arguments in [1, 2] {
            let trimmed = move |context: &Context<'_>| Ok(trim(context, start, end));
            connection.create_scalar_function(name, arguments, PURE, trimmed)?;
        }
    }
    Ok(())
}

/// Returns the position of a part, in characters from 1; 0 if it is not found.
fn instr(context: &Context<'_>) -> Option<i64> {
    let (whole, part) = text_value(context.get_raw(0)).zip(text_value(context.get_raw(1)))?;
    let found = memmem::find(whole.as_bytes(), part.as_bytes()).and_then(|at| whole.get(..at));
    i64::try_from(found.map_or(0, |before| before.chars().count() + 1)).ok()
}

fn replace(context: &Context<'_>, most: usize) -> Result<Option<String>> {
    let [whole, part, by] = [0, 1, 2].map(|at| text_value(context.get_raw(at)));
    let (Some(whole), Some(part), Some(by)) = (whole, part, by) else { return Ok(None) };
    if part.is_empty() {
        return Ok(Some(whole.into_owned()));
    }
    let times = memmem::find_iter(whole.as_bytes(), part.as_bytes()).count();
    let added = times.saturating_mul(by.len().saturating_sub(part.len()));
    if whole.len().saturating_add(added) > most {
        return Err(too_big_error());
    }
    Ok(Some(whole.replace(&*part, &by)))
}

fn trim(context: &Context<'_>, start: bool, end: bool) -> Option<String> {
    let whole = text_value(context.get_raw(0))?;
    let signs = if context.len() > 1 { text_value(context.get_raw(1))? } else { " ".into() };
    let mut signs: Vec<char> = signs.chars().collect();
    signs.sort_unstable();
    let is_sign = |c: char| signs.binary_search(&c).is_ok();
    let whole = if start { whole.trim_start_matches(is_sign) } else { &whole };
    let whole = if end { whole.trim_end_matches(is_sign) } else { whole };
    Some(whole.to_owned())
}
