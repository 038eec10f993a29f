//! Implements `LIKE` and `GLOB`.
//!
//! The built-in versions try every place where a `%` may end, within one step of the statement. Here each
//! part between two of them is matched at its leftmost place, which is sufficient, and the deadline is
//! checked. `LIKE` ignores case beyond ASCII too.

use std::sync::Arc;

use rusqlite::Result;
use rusqlite::functions::Context;

use super::values::{Registry, add, function_error, interrupted_error, text_value};
use crate::limits::QueryDeadline;

/// Maximum bytes of a pattern.
const MAX_PATTERN_BYTES: usize = 10_000;

/// A condition for one character.
#[derive(Clone, Debug, PartialEq, Eq)]
enum CharMatcher {
    /// Any character.
    Any,
    /// This character.
    Literal(char),
    /// A character in one of the ranges, or with `true` in none of them.
    Ranges(Vec<(char, char)>, bool),
}

/// A compiled pattern: the segments between `%` or `*`.
#[derive(Debug, Default)]
struct LikePattern {
    segments: Vec<Vec<CharMatcher>>,
    ignores_case: bool,
}

pub(super) fn register(registry: Registry<'_>, deadline: &Arc<QueryDeadline>) -> Result<()> {
    for arguments in [2, 3] {
        let deadline = Arc::clone(deadline);
        add(registry, "like", arguments, move |context| {
            let mut escape = None;
            if arguments == 3 {
                let Some(given) = text_value(context.get_raw(2)) else { return Ok(None) };
                let mut chars = given.chars();
                escape = chars.next().filter(|_| chars.next().is_none());
                if escape.is_none() {
                    return Err(function_error("ESCAPE expression must be a single character"));
                }
            }
            evaluate(context, &deadline, |pattern| LikePattern::like(pattern, escape))
        })?;
    }
    let glob = Arc::clone(deadline);
    add(registry, "glob", 2, move |context| evaluate(context, &glob, LikePattern::glob))
}

fn evaluate(
    context: &Context<'_>,
    deadline: &QueryDeadline,
    compile: impl FnOnce(&str) -> LikePattern,
) -> Result<Option<bool>> {
    let (Some(pattern), Some(text)) = (text_value(context.get_raw(0)), text_value(context.get_raw(1))) else {
        return Ok(None);
    };
    if pattern.len() > MAX_PATTERN_BYTES {
        return Err(function_error("LIKE or GLOB pattern too complex"));
    }
    let pattern = context.get_or_create_aux(0, |_| Ok::<_, std::fmt::Error>(compile(&pattern)))?;
    pattern.matches(&text, deadline).map(Some)
}

impl LikePattern {
    /// Compiles a pattern. Without `ESCAPE`, in `\%`, `\_` and `\\` the second character stands for itself, as in Postgres
    /// and `MySQL`.
    fn like(pattern: &str, escape: Option<char>) -> Self {
        let mut like = Self { segments: vec![Vec::new()], ignores_case: true };
        let mut chars = pattern.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                c if Some(c) == escape => match chars.next() {
                    Some(c) => like.push(CharMatcher::Literal(fold_case(c))),
                    // Nothing follows the escape character: the pattern matches nothing.
                    None => like.push(CharMatcher::Ranges(Vec::new(), false)),
                },
                '\\' if escape.is_none() && matches!(chars.peek(), Some('%' | '_' | '\\')) => {
                    like.push(CharMatcher::Literal(chars.next().unwrap_or(c)));
                }
                '%' => like.segments.push(Vec::new()),
                '_' => like.push(CharMatcher::Any),
                c => like.push(CharMatcher::Literal(fold_case(c))),
            }
        }
        like
    }

    fn glob(pattern: &str) -> Self {
        let mut glob = Self { segments: vec![Vec::new()], ignores_case: false };
        let mut chars = pattern.chars();
        while let Some(c) = chars.next() {
            match c {
                '*' => glob.segments.push(Vec::new()),
                '?' => glob.push(CharMatcher::Any),
                '[' => glob.push(parse_brackets(&mut chars)),
                c => glob.push(CharMatcher::Literal(c)),
            }
        }
        glob
    }

    fn push(&mut self, matcher: CharMatcher) {
        if let Some(part) = self.segments.last_mut() {
            part.push(matcher);
        }
    }

    /// Returns true if the whole text matches.
    fn matches(&self, text: &str, deadline: &QueryDeadline) -> Result<bool> {
        let [first, rest @ ..] = self.segments.as_slice() else { return Ok(text.is_empty()) };
        let mut steps = StepBudget { remaining: STEPS_PER_CHECK, deadline };
        let Some(mut left) = self.match_prefix(first, text, &mut steps)? else { return Ok(false) };
        let Some((last, between)) = rest.split_last() else { return Ok(left.is_empty()) };
        for part in between {
            loop {
                if let Some(after) = self.match_prefix(part, left, &mut steps)? {
                    left = after;
                    break;
                }
                let mut chars = left.chars();
                if chars.next().is_none() {
                    return Ok(false);
                }
                left = chars.as_str();
            }
        }
        // The last segment is at the end: it is compared with that many last characters.
        let start = match last.len().checked_sub(1) {
            None => return Ok(true),
            Some(nth) => left.char_indices().rev().nth(nth).map(|(at, _)| at),
        };
        let Some(end) = start.and_then(|at| left.get(at..)) else { return Ok(false) };
        Ok(self.match_prefix(last, end, &mut steps)?.is_some())
    }

    /// Returns the rest of a text that begins with a segment.
    fn match_prefix<'a>(
        &self,
        part: &[CharMatcher],
        text: &'a str,
        steps: &mut StepBudget<'_>,
    ) -> Result<Option<&'a str>> {
        let mut chars = text.chars();
        steps.spend()?;
        for matcher in part {
            steps.spend()?;
            let Some(c) = chars.next() else { return Ok(None) };
            let fits = match matcher {
                CharMatcher::Any => true,
                CharMatcher::Literal(wanted) => *wanted == if self.ignores_case { fold_case(c) } else { c },
                CharMatcher::Ranges(ranges, not) => {
                    ranges.iter().any(|(from, to)| (*from..=*to).contains(&c)) != *not
                }
            };
            if !fits {
                return Ok(None);
            }
        }
        Ok(Some(chars.as_str()))
    }
}

/// Steps between two checks of the deadline: well under a millisecond.
const STEPS_PER_CHECK: u32 = 1 << 16;

struct StepBudget<'a> {
    remaining: u32,
    deadline: &'a QueryDeadline,
}

impl StepBudget<'_> {
    #[inline]
    fn spend(&mut self) -> Result<()> {
        self.remaining -= 1;
        if self.remaining == 0 {
            self.remaining = STEPS_PER_CHECK;
            if self.deadline.is_over() {
                return Err(interrupted_error());
            }
        }
        Ok(())
    }
}

#[inline]
fn fold_case(c: char) -> char {
    if c.is_ascii() { c.to_ascii_lowercase() } else { c.to_lowercase().next().unwrap_or(c) }
}

/// Parses the content of brackets: `a-z]`, `^a-z]`, `]a]`. An unclosed bracket matches nothing.
fn parse_brackets(chars: &mut std::str::Chars<'_>) -> CharMatcher {
    let not = chars.as_str().starts_with('^');
    if not {
        chars.next();
    }
    let mut ranges: Vec<(char, char)> = Vec::new();
    while let Some(c) = chars.next() {
        if c == ']' && !ranges.is_empty() {
            return CharMatcher::Ranges(ranges, not);
        }
        let mut ahead = chars.clone();
        let to = if ahead.next() == Some('-') { ahead.next().filter(|to| *to != ']') } else { None };
        if to.is_some() {
            *chars = ahead;
        }
        ranges.push((c, to.unwrap_or(c)));
    }
    CharMatcher::Ranges(Vec::new(), false)
}
