//! Matches endpoints against the pattern of a rule: a name, a name with `*`, the URI of a resource, a
//! route.
//!
//! ```
//! use portion_config::pattern::Pattern;
//!
//! let (lists, all) = (Pattern::new("list_*"), Pattern::new("*"));
//! assert!(lists.matches("list_bookings") && !lists.matches("get_booking"));
//! assert!(lists.overlaps(&all));
//! ```

use std::cmp::Ordering;

use portion_text::names::matches_pattern;

/// The pattern of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    text: String,
    matcher: Matcher,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Matcher {
    /// A name, in which `*` stands for any characters.
    Name,
    /// A route such as `GET /bookings/{id}`.
    Route { method: Option<String>, segments: Vec<Segment> },
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Segment {
    /// Any one segment.
    Any,
    /// One segment of this name, in which `*` stands for any characters.
    Glob(String),
    /// All remaining segments.
    Rest,
}

impl Pattern {
    /// Parses a pattern. Every text is valid.
    pub fn new(text: &str) -> Self {
        let (method, path) = match text.split_once(' ') {
            Some((method, path)) if is_method(method) => (Some(method.to_owned()), path),
            _ => (None, text),
        };
        let matcher = match path.strip_prefix('/') {
            Some(path) => Matcher::Route { method, segments: parse_segments(path) },
            None => Matcher::Name,
        };
        Self { text: text.to_owned(), matcher }
    }

    /// Returns the pattern as written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns true if it matches the endpoint of this name: the name of a tool or prompt, a URI, a
    /// method and path.
    pub fn matches(&self, name: &str) -> bool {
        match &self.matcher {
            Matcher::Name => matches_pattern(&self.text, name),
            Matcher::Route { method, segments } => {
                let (requested, path) = match name.split_once(' ') {
                    Some((requested, path)) if is_method(requested) => (Some(requested), path),
                    _ => (None, name),
                };
                let has_method = method.as_deref().is_none_or(|method| requested == Some(method));
                let Some(path) = path.strip_prefix('/') else { return false };
                has_method && matches_route(segments, path)
            }
        }
    }

    /// Returns true if some name matches both patterns. Known only for patterns with `*`; false for all
    /// others.
    pub fn overlaps(&self, other: &Self) -> bool {
        let ends = |pattern: &Self| match pattern.matcher {
            Matcher::Name => {
                let (first, rest) = pattern.text.split_once('*')?;
                Some((first.to_owned(), rest.rsplit('*').next().unwrap_or_default().to_owned()))
            }
            Matcher::Route { .. } => None,
        };
        let (Some((first, last)), Some((other_first, other_last))) = (ends(self), ends(other)) else {
            return false;
        };
        // The parts between can be written one after the other.
        (first.starts_with(&other_first) || other_first.starts_with(&first))
            && (last.ends_with(&other_last) || other_last.ends_with(&last))
    }

    /// Compares the specificity of two patterns; the more specific one is greater and decides where both
    /// match. An exact name beats every pattern, then more literal characters win.
    pub fn cmp_specificity(&self, other: &Self) -> Ordering {
        (self.is_exact(), self.literal_count()).cmp(&(other.is_exact(), other.literal_count()))
    }

    fn is_exact(&self) -> bool {
        match &self.matcher {
            Matcher::Name => !self.text.contains('*'),
            Matcher::Route { method, segments } => {
                let is_exact =
                    |segment: &Segment| matches!(segment, Segment::Glob(name) if !name.contains('*'));
                method.is_some() && segments.iter().all(is_exact)
            }
        }
    }

    /// Counts the literal characters.
    fn literal_count(&self) -> usize {
        let count = |pattern: &str| pattern.chars().filter(|c| *c != '*').count();
        match &self.matcher {
            Matcher::Name => count(&self.text),
            Matcher::Route { method, segments } => {
                let literal = segments.iter().map(|segment| match segment {
                    Segment::Glob(pattern) => 1 + count(pattern),
                    Segment::Any | Segment::Rest => 1,
                });
                method.as_ref().map_or(0, |method| method.len() + 1) + literal.sum::<usize>()
            }
        }
    }
}

fn is_method(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_uppercase())
}

fn parse_segments(path: &str) -> Vec<Segment> {
    let mut segments: Vec<Segment> = path
        .split('/')
        .map(|segment| match segment.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
            Some(_) => Segment::Any,
            None => Segment::Glob(segment.to_owned()),
        })
        .collect();
    if let Some(last) = segments.last_mut().filter(|last| **last == Segment::Glob("*".to_owned())) {
        *last = Segment::Rest;
    }
    segments
}

fn matches_route(segments: &[Segment], path: &str) -> bool {
    let mut rest = Some(path);
    for segment in segments {
        let Some(path) = rest else { return false };
        let (name, after) = match path.split_once('/') {
            Some((name, after)) => (name, Some(after)),
            None => (path, None),
        };
        match segment {
            Segment::Rest => return true,
            Segment::Any if name.is_empty() => return false,
            Segment::Glob(pattern) if !matches_pattern(pattern, name) => return false,
            Segment::Any | Segment::Glob(_) => rest = after,
        }
    }
    rest.is_none()
}

#[cfg(test)]
mod tests {
    use super::Pattern;

    fn check(pattern: &str, name: &str, expect: bool) {
        assert_eq!(Pattern::new(pattern).matches(name), expect, "{pattern} {name}");
    }

    #[test]
    fn names_and_globs() {
        check("list_x", "list_x", true);
        check("list_x", "list_xy", false);
        check("list_*", "list_", true);
        check("list_*", "a_list_x", false);
        check("*_x*y", "a_xby", true);
        check("*_x*y", "a_y", false);
        check("a*a", "a", false);
        check("ab*ba", "aba", false);
        check("*", "", true);
        check("**", "any thing", true);
        check("file:///logs/*", "file:///logs/a/b?c", true);
        check("file:///logs/*", "file:///log", false);
        check("é*é", "éaé", true);
    }

    #[test]
    fn routes() {
        check("GET /bookings/{id}", "GET /bookings/7", true);
        check("GET /bookings/{id}", "GET /bookings/", false);
        check("GET /bookings/{id}", "GET /bookings/7/x", false);
        check("GET /bookings/{id}", "POST /bookings/7", false);
        check("GET /bookings/{id}", "/bookings/7", false);
        check("/bookings/{id}/*", "PUT /bookings/7/a/b", true);
        check("/bookings/{id}/*", "PUT /bookings/7", false);
        check("/bookings/b*/x", "/bookings/b7/x", true);
        check("/bookings/b*/x", "/bookings/b/7/x", false);
        check("/*", "GET /", true);
        check("GET list", "GET list", true);
    }

    #[test]
    fn more_specific_patterns_are_greater() {
        let rising = ["*", "list_*", "list_b*", "GET /b/{id}", "GET /b/*/longer/{x}", "a"];
        for pair in rising.windows(2) {
            let [one, other] = pair else { continue };
            assert!(Pattern::new(one).cmp_specificity(&Pattern::new(other)).is_lt(), "{one} {other}");
        }
    }

    #[test]
    fn patterns_overlap_if_a_name_matches_both() {
        let check = |one: &str, other: &str, expect| {
            assert_eq!(Pattern::new(one).overlaps(&Pattern::new(other)), expect, "{one} {other}");
        };
        check("list_*", "*_all", true);
        check("list_*", "get_*", false);
        check("*_one", "*_all", false);
        check("a*b", "ab*", true);
        check("a", "*", false);
    }
}
