//! Implements `text REGEXP 'pattern'` with the `regex` crate, which never backtracks: at worst it takes
//! the product of both lengths, and that product is limited.

use regex::{Regex, RegexBuilder};
use rusqlite::{Connection, Result};

use super::{PURE, function_error, text_value};

/// Size limits for compiled patterns, in bytes: the first one that a pattern fits is taken as its size.
const SIZE_LIMITS: [usize; 5] = [1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20];
/// Maximum product of the bytes of a text and of the pattern; the slowest search takes some two seconds
/// for it.
const MAX_MATCH_WORK: usize = 1 << 34;

/// Maximum bytes of a pattern as written.
const MAX_PATTERN_BYTES: usize = 10_000;

struct CompiledPattern {
    regex: Regex,
    size: usize,
}

pub(super) fn register(connection: &Connection) -> Result<()> {
    connection.create_scalar_function("regexp", 2, PURE, |context| {
        let (Some(_), Some(text)) = (text_value(context.get_raw(0)), text_value(context.get_raw(1))) else {
            return Ok(None);
        };
        let pattern =
            context.get_or_create_aux(0, |value| compile(&text_value(value).unwrap_or_default()))?;
        if text.len().saturating_mul(pattern.size) > MAX_MATCH_WORK {
            return Err(function_error("REGEXP: the pattern is too large for a text of that length"));
        }
        Ok(Some(pattern.regex.is_match(&text)))
    })
}

fn compile(pattern: &str) -> std::result::Result<CompiledPattern, String> {
    if pattern.len() > MAX_PATTERN_BYTES {
        return Err("REGEXP: the pattern is too long".into());
    }
    for size in SIZE_LIMITS {
        match RegexBuilder::new(pattern).size_limit(size).build() {
            Ok(regex) => return Ok(CompiledPattern { regex, size }),
            Err(regex::Error::CompiledTooBig(_)) => {}
            Err(error) => return Err(format!("REGEXP: {}", last_line(&error.to_string()))),
        }
    }
    Err("REGEXP: the pattern is too large".into())
}

/// Returns the error without the drawing of its place.
fn last_line(error: &str) -> &str {
    let line = error.lines().last().unwrap_or_default();
    line.strip_prefix("error: ").unwrap_or(line)
}
