//! Parses a pattern into the matchers that are tried in turn, and recognises patterns of another syntax.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation as _;

use super::FindError;
use super::error::Fuel;
use super::literal::{Literal, is_unspaced};
use super::regex_engine::RegexEngine;
use crate::render::FollowUpCall;

/// Longest pattern, in bytes.
const MAX_PATTERN_BYTES: usize = 4 << 10;
/// Metacharacters of regular expressions.
const METACHARACTERS: [char; 12] = ['.', '*', '+', '?', '|', '(', '[', '{', '^', '$', '\\', ')'];
/// Largest number of words that are searched one by one.
const MAX_WORDS: usize = 24;

/// A pattern as given.
#[derive(Debug)]
pub(super) struct Pattern<'a> {
    text: &'a str,
    literal: Literal,
}

/// A way to match a pattern in a text.
pub(super) enum Matcher {
    /// As written.
    Literal(Literal),
    /// By an expression. If a literal is given, the expression matches it without regard to case.
    Regex(Box<RegexEngine>, Option<Literal>),
}

impl<'a> Pattern<'a> {
    /// Parses a pattern.
    ///
    /// # Errors
    /// Returns an error if the pattern is empty or too long.
    pub(super) fn parse(text: &'a str) -> Result<Self, FindError> {
        if text.len() > MAX_PATTERN_BYTES {
            return Err(FindError::TooLong { given: text.len(), max: MAX_PATTERN_BYTES });
        }
        let literal = Literal::new(text).ok_or(FindError::Empty)?;
        Ok(Self { text, literal })
    }

    /// Returns the pattern without surrounding white space.
    pub(super) fn text(&self) -> &'a str {
        self.text.trim()
    }

    /// Returns a matcher for the pattern as written.
    pub(super) fn literal(&self) -> Matcher {
        Matcher::Literal(self.literal.clone())
    }

    /// Returns a matcher for the regular expression between slashes, if there are slashes.
    pub(super) fn regex(&self) -> Option<Result<Matcher, FindError>> {
        let (inside, flags) = self.text.trim().strip_prefix('/')?.rsplit_once('/')?;
        let known = |c: char| matches!(c, 'i' | 'g' | 'm' | 's' | 'u' | 'x' | 'y');
        if inside.is_empty() || flags.len() > 4 || !flags.chars().all(known) {
            return None;
        }
        let own: String = flags.chars().filter(|c| matches!(c, 's' | 'x')).collect();
        let written = if own.is_empty() { inside.to_owned() } else { format!("(?{own}){inside}") };
        let engine = RegexEngine::new(&written, flags.contains('i'));
        Some(engine.map(|engine| Matcher::Regex(Box::new(engine), None)))
    }

    /// Returns a matcher for text without slashes that looks like a regular expression and cannot match empty
    /// text.
    pub(super) fn implied_regex(&self, ignore_case: bool) -> Option<Matcher> {
        if !self.text.contains(METACHARACTERS) {
            return None;
        }
        let engine =
            RegexEngine::new(self.text, ignore_case).ok().filter(|engine| !engine.can_match_empty())?;
        Some(Matcher::Regex(Box::new(engine), None))
    }

    /// Returns a matcher that ignores case, or `None` if the pattern is too long for one.
    pub(super) fn ignoring_case(&self) -> Option<Matcher> {
        let engine = RegexEngine::new(&self.literal.to_regex(), true).ok()?;
        Some(Matcher::Regex(Box::new(engine), Some(self.literal.clone())))
    }

    /// Returns the distinct words in lower case, or none if the pattern is a single word.
    pub(super) fn words(&self) -> Vec<String> {
        let mut words: Vec<String> = Vec::new();
        if !self.text.trim().contains(|c: char| c.is_whitespace() || is_unspaced(c)) {
            return words;
        }
        for word in self.text.unicode_words().map(str::to_lowercase) {
            if words.len() < MAX_WORDS && !words.contains(&word) {
                words.push(word);
            }
        }
        words
    }
}

impl Matcher {
    /// Returns the first match from an offset on.
    pub(super) fn find(
        &mut self,
        text: &str,
        from: usize,
        fuel: &mut Fuel<'_>,
    ) -> Result<Option<Range<usize>>, FindError> {
        match self {
            Self::Literal(literal) => literal.find(text, from, fuel),
            Self::Regex(engine, _) => engine.find(text, from, fuel),
        }
    }

    /// Returns true if every occurrence is counted, rather than lines with an occurrence.
    pub(super) fn counts_occurrences(&self) -> bool {
        matches!(self, Self::Literal(_))
    }

    /// Returns true if the whole value matches.
    pub(super) fn matches_whole(&self, value: &str) -> bool {
        match self {
            Self::Literal(literal) | Self::Regex(_, Some(literal)) => literal.matches_whole(value),
            Self::Regex(_, None) => false,
        }
    }

    /// Returns the part that is written without escapes in JSON and true if its case is ignored, or `None` if
    /// no part is.
    pub(super) fn longest_unescaped(&self) -> Option<(&str, bool)> {
        match self {
            Self::Literal(literal) => literal.longest_unescaped().map(|part| (part, false)),
            Self::Regex(_, Some(literal)) => literal.longest_unescaped().map(|part| (part, true)),
            Self::Regex(_, None) => None,
        }
    }
}

/// Maximum characters of a pattern that is recognized.
const MAX_PATTERN_CHARS: usize = 120;

/// Names in the JSON that is searched.
pub(super) trait Names {
    /// Returns true if a name is a key.
    fn has_key(&self, name: &str) -> bool;
    /// Returns true if a path leads to a value.
    fn has_path(&self, path: &str) -> bool;
    /// Returns true if a dotted name is that of a field.
    fn has_field(&self, name: &str) -> bool;
}

/// Returns how to ask for what a pattern without matches seems to mean.
pub(super) fn syntax_hint(pattern: &str, names: &impl Names, read_call: FollowUpCall<'_>) -> Option<String> {
    let pattern = pattern.trim();
    if is_statement(pattern) {
        return Some("find searches values, then keys; give this statement as sql".to_owned());
    }
    if pattern.len() > MAX_PATTERN_CHARS {
        return None;
    }
    if let Some((key, value)) = member(pattern) {
        let is_known = names.has_key(key);
        let value = if value.parse::<f64>().is_ok() {
            value.to_owned()
        } else {
            format!("'{}'", value.replace('\'', "''"))
        };
        return is_known.then(|| {
            format!("find searches values, then keys; for a member use sql: SELECT * FROM items WHERE \"{key}\" = {value}")
        });
    }
    let path = pattern.strip_prefix("$.").or_else(|| pattern.strip_prefix('$')).unwrap_or(pattern);
    let is_plain = !path.is_empty()
        && !path.contains(|c: char| c.is_whitespace() || matches!(c, '*' | '(' | '\\' | '|'));
    let is_path = is_plain && path.trim_start_matches('/').contains(['/', '.', '[']) && !path.ends_with('/');
    if !is_path {
        return None;
    }
    let dotted = path.replace("['", ".").replace("']", "").replace('[', ".").replace(']', "");
    let dotted = dotted.trim_start_matches('.');
    let (what, argument) = if names.has_path(dotted) {
        ("a path", "path")
    } else if names.has_field(dotted) {
        ("a field", "fields")
    } else {
        return None;
    };
    let call = read_call.with(&format!("cursor, {argument}={dotted}"));
    Some(format!("find searches values, then keys; for {what} use {call}"))
}

/// Returns true for a statement of SQL that reads a table.
fn is_statement(pattern: &str) -> bool {
    let mut words = pattern.split_whitespace();
    let is_query =
        words.next().is_some_and(|word| ["select", "with"].iter().any(|one| word.eq_ignore_ascii_case(one)));
    is_query && words.any(|word| word.eq_ignore_ascii_case("from"))
}

/// Returns the key and the value of `"key": "value"`, `key: value` or `key=value`.
fn member(pattern: &str) -> Option<(&str, &str)> {
    let inside = pattern.trim_matches(|c: char| matches!(c, '{' | '}' | ',') || c.is_whitespace());
    let (key, value) = inside.split_once([':', '='])?;
    let (key, value) = (key.trim().trim_matches(['"', '\'']), value.trim());
    let value =
        value.strip_prefix(['"', '\'']).and_then(|rest| rest.strip_suffix(['"', '\''])).unwrap_or(value);
    let is_name = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'));
    (is_name && !value.is_empty()).then_some((key, value))
}

#[cfg(test)]
mod tests {
    use super::{Names, syntax_hint};
    use crate::render::FollowUpCall;

    struct Sample;

    impl Names for Sample {
        fn has_key(&self, name: &str) -> bool {
            matches!(name, "status" | "price" | "guest.name")
        }

        fn has_path(&self, path: &str) -> bool {
            matches!(path, "/price/total" | "price.0.total" | "price.total")
        }

        fn has_field(&self, name: &str) -> bool {
            name == "guest.name"
        }
    }

    #[test]
    fn recognizes_members_and_paths() {
        let check = |pattern: &str, expect: Option<&str>| {
            let hint = syntax_hint(pattern, &Sample, FollowUpCall::Tool("read"));
            assert_eq!(hint.is_some(), expect.is_some(), "{pattern}: {hint:?}");
            assert!(hint.unwrap_or_default().ends_with(expect.unwrap_or_default()), "{pattern}");
        };
        for pattern in [
            "\"status\":\"new\"",
            "\"status\": \"new\"",
            "{\"status\":\"new\"}",
            "status=new",
            "status: 'new'",
        ] {
            check(pattern, Some("WHERE \"status\" = 'new'"));
        }
        check("\"price\": 12.5,", Some("WHERE \"price\" = 12.5"));
        check("guest.name: it's", Some("WHERE \"guest.name\" = 'it''s'"));
        check("/price/total", Some("path=/price/total)"));
        check("$.price[0].total", Some("path=price.0.total)"));
        check("price['total']", Some("path=price.total)"));
        check("$['price'].total", Some("path=price.total)"));
        check("$.guest.name", Some("fields=guest.name)"));
        check("SELECT count(*) FROM items WHERE status = 'new'", Some("give this statement as sql"));
        check("with a as (select 1) select * from a", Some("give this statement as sql"));
        check("select a room from", Some("give this statement as sql"));
        let call = |read_call| syntax_hint("/price/total", &Sample, read_call).unwrap_or_default();
        assert!(call(FollowUpCall::Tool("get")).ends_with("use get(cursor, path=/price/total)"));
        assert!(call(FollowUpCall::Http("/a")).ends_with("use GET /a?cursor&path=/price/total"));
        for pattern in [
            "new",
            "select a room",
            "with love",
            "from select",
            "no: such",
            "price",
            "/regex/",
            "12:30",
            "a = b",
            "",
            "://",
            "status",
            "price total.",
            "$.price.tax",
            "/price/tax",
            "é:",
            "\":\"",
        ] {
            check(pattern, None);
        }
    }
}
