//! `LIKE` and `GLOB`.
//!
//! SQLite's own try every place where a `%` may end, inside one step of the statement. Here what stands between two
//! of them is found leftmost, which is enough, and the clock is looked at. `LIKE` ignores case beyond ASCII too.

use std::sync::Arc;

use rusqlite::functions::Context;
use rusqlite::{Connection, Result};

use super::{PURE, failure, interrupted, text};
use crate::limits::Clock;

/// Bytes of a pattern.
const MOST: usize = 10_000;

/// What a character of the text must be.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Sign {
    /// Anything.
    Any,
    /// This.
    This(char),
    /// In one of those ranges, or else (`true`) in none.
    Among(Vec<(char, char)>, bool),
}

/// A pattern: what stands between the signs for any number of characters.
#[derive(Debug, Default)]
struct Pattern {
    parts: Vec<Vec<Sign>>,
    ignores_case: bool,
}

pub(super) fn register(connection: &Connection, clock: &Arc<Clock>) -> Result<()> {
    let (like, escaped, glob) = (Arc::clone(clock), Arc::clone(clock), Arc::clone(clock));
    connection.create_scalar_function("like", 2, PURE, move |context| {
        matches(context, &like, |pattern| Pattern::like(pattern, None))
    })?;
    connection.create_scalar_function("like", 3, PURE, move |context| {
        let Some(escape) = text(context.get_raw(2)) else { return Ok(None) };
        let mut signs = escape.chars();
        let (Some(escape), None) = (signs.next(), signs.next()) else {
            return Err(failure("ESCAPE expression must be a single character"));
        };
        matches(context, &escaped, move |pattern| Pattern::like(pattern, Some(escape)))
    })?;
    connection.create_scalar_function("glob", 2, PURE, move |context| matches(context, &glob, Pattern::glob))
}

fn matches(
    context: &Context<'_>,
    clock: &Clock,
    compile: impl FnOnce(&str) -> Pattern,
) -> Result<Option<bool>> {
    let (Some(pattern), Some(whole)) = (text(context.get_raw(0)), text(context.get_raw(1))) else {
        return Ok(None);
    };
    if pattern.len() > MOST {
        return Err(failure("LIKE or GLOB pattern too complex"));
    }
    let pattern = context.get_or_create_aux(0, |_| Ok::<_, std::fmt::Error>(compile(&pattern)))?;
    pattern.matches(&whole, clock).map(Some).ok_or_else(interrupted)
}

impl Pattern {
    fn like(pattern: &str, escape: Option<char>) -> Self {
        let mut like = Self { parts: vec![Vec::new()], ignores_case: true };
        let mut signs = pattern.chars();
        while let Some(c) = signs.next() {
            match c {
                c if Some(c) == escape => match signs.next() {
                    Some(c) => like.push(Sign::This(fold(c))),
                    // Nothing is escaped: nothing is like it.
                    None => like.push(Sign::Among(Vec::new(), false)),
                },
                '%' => like.parts.push(Vec::new()),
                '_' => like.push(Sign::Any),
                c => like.push(Sign::This(fold(c))),
            }
        }
        like
    }

    fn glob(pattern: &str) -> Self {
        let mut glob = Self { parts: vec![Vec::new()], ignores_case: false };
        let mut signs = pattern.chars();
        while let Some(c) = signs.next() {
            match c {
                '*' => glob.parts.push(Vec::new()),
                '?' => glob.push(Sign::Any),
                '[' => glob.push(among(&mut signs)),
                c => glob.push(Sign::This(c)),
            }
        }
        glob
    }

    fn push(&mut self, sign: Sign) {
        if let Some(part) = self.parts.last_mut() {
            part.push(sign);
        }
    }

    /// Whether all of a text is as the pattern says; `None` where the clock stopped it.
    fn matches(&self, text: &str, clock: &Clock) -> Option<bool> {
        let [first, rest @ ..] = self.parts.as_slice() else { return Some(text.is_empty()) };
        let mut steps = Steps { left: STEPS, clock };
        let Some(mut left) = self.begins(first, text, &mut steps)? else { return Some(false) };
        let Some((last, between)) = rest.split_last() else { return Some(left.is_empty()) };
        for part in between {
            loop {
                if let Some(after) = self.begins(part, left, &mut steps)? {
                    left = after;
                    break;
                }
                let mut signs = left.chars();
                if signs.next().is_none() {
                    return Some(false);
                }
                left = signs.as_str();
            }
        }
        // The last part stands at the end: as many characters before it as it has.
        let start = match last.len().checked_sub(1) {
            None => return Some(true),
            Some(nth) => left.char_indices().rev().nth(nth).map(|(at, _)| at),
        };
        let Some(end) = start.and_then(|at| left.get(at..)) else { return Some(false) };
        Some(self.begins(last, end, &mut steps)?.is_some())
    }

    /// What is left of a text that begins with a part.
    fn begins<'a>(&self, part: &[Sign], text: &'a str, steps: &mut Steps<'_>) -> Option<Option<&'a str>> {
        let mut signs = text.chars();
        steps.take()?;
        for sign in part {
            steps.take()?;
            let Some(c) = signs.next() else { return Some(None) };
            let fits = match sign {
                Sign::Any => true,
                Sign::This(wanted) => *wanted == if self.ignores_case { fold(c) } else { c },
                Sign::Among(ranges, not) => {
                    ranges.iter().any(|(from, to)| (*from..=*to).contains(&c)) != *not
                }
            };
            if !fits {
                return Some(None);
            }
        }
        Some(Some(signs.as_str()))
    }
}

/// Steps until the clock is looked at: well under a millisecond's.
const STEPS: u32 = 1 << 16;

struct Steps<'a> {
    left: u32,
    clock: &'a Clock,
}

impl Steps<'_> {
    #[inline]
    fn take(&mut self) -> Option<()> {
        self.left -= 1;
        if self.left == 0 {
            self.left = STEPS;
            return (!self.clock.is_over()).then_some(());
        }
        Some(())
    }
}

#[inline]
fn fold(c: char) -> char {
    if c.is_ascii() { c.to_ascii_lowercase() } else { c.to_lowercase().next().unwrap_or(c) }
}

/// What stands in brackets: `a-z]`, `^a-z]`, `]a]`. A bracket that is not closed fits nothing.
fn among(signs: &mut std::str::Chars<'_>) -> Sign {
    let not = signs.as_str().starts_with('^');
    if not {
        signs.next();
    }
    let mut ranges: Vec<(char, char)> = Vec::new();
    while let Some(c) = signs.next() {
        if c == ']' && !ranges.is_empty() {
            return Sign::Among(ranges, not);
        }
        let mut ahead = signs.clone();
        let to = if ahead.next() == Some('-') { ahead.next().filter(|to| *to != ']') } else { None };
        if to.is_some() {
            *signs = ahead;
        }
        ranges.push((c, to.unwrap_or(c)));
    }
    Sign::Among(Vec::new(), false)
}
