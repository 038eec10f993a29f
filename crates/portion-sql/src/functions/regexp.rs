//! Implements `text REGEXP 'pattern'` and the `regexp_…` functions with the `regex` crate, which never
//! backtracks: at worst a search takes the product of both lengths, and that product is limited.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use regex::{Regex, RegexBuilder};
use rusqlite::Result;
use rusqlite::functions::Context;

use super::values::{
    Registry, add, function_error, interrupted_error, number_argument, text_value, too_big_error,
};
use crate::dialect::pattern;
use crate::limits::QueryDeadline;

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

pub(super) fn register(registry: Registry<'_>, deadline: &Arc<QueryDeadline>, max: usize) -> Result<()> {
    add(registry, "regexp", 2, |context| {
        Ok(search(context, 1, 0)?.map(|(text, pattern)| pattern.regex.is_match(&text)))
    })?;
    // Each takes flags, or the number of a group, as a further argument.
    for arguments in [2, 3] {
        add(registry, "regexp_matches", arguments, |context| {
            Ok(search(context, 0, 2)?.map(|(text, pattern)| pattern.regex.is_match(&text)))
        })?;
        add(registry, "regexp_extract regexp_substr regexp_match", arguments, extract)?;
        let replacing = Arc::clone(deadline);
        add(registry, "regexp_replace", arguments + 1, move |context| replace(context, &replacing, max))?;
    }
    let counting = Arc::clone(deadline);
    add(registry, "regexp_count", 2, move |context| {
        let Some((text, pattern)) = search(context, 0, 2)? else { return Ok(None) };
        let mut count = 0_i64;
        for _ in pattern.regex.find_iter(&text) {
            count += 1;
            check_deadline(count as usize, &counting)?;
        }
        Ok(Some(count))
    })
}

/// A text and the pattern to search for.
type Subject<'a> = (Cow<'a, str>, Arc<CompiledPattern>);

/// Returns the text of one argument and the compiled pattern that follows it; `None` if either is NULL.
/// `flags_at` is the index of the flags, if there are so many arguments.
fn search<'a>(context: &'a Context<'_>, text_at: usize, flags_at: usize) -> Result<Option<Subject<'a>>> {
    let pattern_at = 1 - text_at;
    let (Some(pattern), Some(text)) =
        (text_value(context.get_raw(pattern_at)), text_value(context.get_raw(text_at)))
    else {
        return Ok(None);
    };
    let flags = if flags_at > 0 && context.len() > flags_at {
        text_value(context.get_raw(flags_at)).unwrap_or_default()
    } else {
        Cow::Borrowed("")
    };
    let flags: String = flags.chars().filter(|flag| matches!(flag, 'i' | 'm' | 's' | 'x')).collect();
    let compiled: Arc<CompiledPattern> = context.get_or_create_aux(pattern_at as i32, |_| {
        if flags.is_empty() { compile(&pattern) } else { compile(&format!("(?{flags}){pattern}")) }
    })?;
    if text.len().saturating_mul(compiled.size) > MAX_MATCH_WORK {
        return Err(function_error("REGEXP: the pattern is too large for a text of that length"));
    }
    Ok(Some((text, compiled)))
}

/// `regexp_extract(text, pattern)` is the match, or its first group if there is one; a third argument is the
/// number of the group.
fn extract(context: &Context<'_>) -> Result<Option<String>> {
    let Some((text, pattern)) = search(context, 0, 0)? else { return Ok(None) };
    let groups = pattern.regex.captures_len();
    let given = if context.len() > 2 { number_argument(context, 2).map(|n| n as usize) } else { None };
    let group = given.unwrap_or(usize::from(groups > 1));
    let found = pattern.regex.captures(&text);
    Ok(found.and_then(|found| found.get(group)).map(|group| group.as_str().to_owned()))
}

/// `regexp_replace(text, pattern, by)` replaces all matches; `\\1` and `$1` are groups.
fn replace(context: &Context<'_>, deadline: &QueryDeadline, max: usize) -> Result<Option<String>> {
    let Some((text, pattern)) = search(context, 0, 3)? else { return Ok(None) };
    let Some(by) = text_value(context.get_raw(2)) else { return Ok(None) };
    let by = GROUP.replace_all(&by, "$${$1}").into_owned();
    let groups = by.matches('$').count();
    let (mut out, mut end) = (String::new(), 0);
    for (count, found) in pattern.regex.captures_iter(&text).enumerate() {
        let Some(whole) = found.get(0) else { break };
        out.push_str(&text[end..whole.start()]);
        // A group is at most as long as the match. Checked before, because one expansion can exceed all memory.
        let bound = groups.saturating_mul(whole.len()).saturating_add(by.len());
        if out.len().saturating_add(bound) > max {
            return Err(too_big_error());
        }
        found.expand(&by, &mut out);
        end = whole.end();
        check_deadline(count + 1, deadline)?;
    }
    out.push_str(&text[end..]);
    Ok(Some(out))
}

/// A group as Postgres and others write it in a replacement.
static GROUP: LazyLock<Regex> = LazyLock::new(|| pattern(r"\\(\d)"));

fn check_deadline(count: usize, deadline: &QueryDeadline) -> Result<()> {
    if count.is_multiple_of(256) && deadline.is_over() { Err(interrupted_error()) } else { Ok(()) }
}

fn compile(pattern: &str) -> std::result::Result<CompiledPattern, String> {
    if pattern.len() > MAX_PATTERN_BYTES {
        return Err("REGEXP: the pattern is too long".into());
    }
    for size in SIZE_LIMITS {
        match RegexBuilder::new(pattern).size_limit(size).build() {
            Ok(regex) => return Ok(CompiledPattern { regex, size }),
            Err(regex::Error::CompiledTooBig(_)) => {}
            Err(error) => {
                // Without the drawing of its place.
                let error = error.to_string();
                let line = error.lines().last().unwrap_or_default();
                return Err(format!("REGEXP: {}", line.strip_prefix("error: ").unwrap_or(line)));
            }
        }
    }
    Err("REGEXP: the pattern is too large".into())
}
