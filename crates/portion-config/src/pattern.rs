//! Matches endpoints against the pattern of a rule: a name, a name with `*`, the URI of a resource, a
//! route.

use std::cmp::Ordering;

/// The pattern of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    text: String,
    matcher: Matcher,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Matcher {
    /// This name only.
    Exact,
    /// The pieces between `*`s; at least two.
    Glob(Vec<String>),
    /// A route such as `GET /bookings/{id}`.
    Route { method: Option<String>, segments: Vec<Segment> },
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Segment {
    /// Any one segment.
    Any,
    /// One segment that matches the glob of these pieces.
    Glob(Vec<String>),
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
        let form = match path.strip_prefix('/') {
            Some(path) => Matcher::Route { method, segments: parse_segments(path) },
            None if text.contains('*') => Matcher::Glob(text.split('*').map(str::to_owned).collect()),
            None => Matcher::Exact,
        };
        Self { text: text.to_owned(), matcher: form }
    }

    /// Returns the pattern as written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns true if it matches the endpoint of this name: the name of a tool or prompt, a URI, a
    /// method and path.
    pub fn matches(&self, name: &str) -> bool {
        match &self.matcher {
            Matcher::Exact => self.text == name,
            Matcher::Glob(pieces) => matches_pieces(pieces, name),
            Matcher::Route { method, segments } => {
                let (given, path) = match name.split_once(' ') {
                    Some((given, path)) if is_method(given) => (Some(given), path),
                    _ => (None, name),
                };
                let method =
                    method.as_deref().is_none_or(|method| given.is_some_and(|given| given == method));
                let Some(path) = path.strip_prefix('/') else { return false };
                method && matches_route(segments, path)
            }
        }
    }

    /// Returns true if some name matches both patterns. Known only for patterns with `*`; false for all
    /// others.
    pub fn overlaps(&self, other: &Self) -> bool {
        let (Matcher::Glob(one), Matcher::Glob(other)) = (&self.matcher, &other.matcher) else {
            return false;
        };
        let (Some(first), Some(last), Some(other_first), Some(other_last)) =
            (one.first(), one.last(), other.first(), other.last())
        else {
            return false;
        };
        // The pieces between can be written one after the other.
        (first.starts_with(other_first.as_str()) || other_first.starts_with(first.as_str()))
            && (last.ends_with(other_last.as_str()) || other_last.ends_with(last.as_str()))
    }

    /// Compares the specificity of two patterns; the more specific one is greater and decides where both
    /// match. An exact name beats every pattern, then more literal characters win.
    pub fn cmp_specificity(&self, other: &Self) -> Ordering {
        (self.is_exact(), self.literal_count()).cmp(&(other.is_exact(), other.literal_count()))
    }

    fn is_exact(&self) -> bool {
        match &self.matcher {
            Matcher::Exact => true,
            Matcher::Glob(_) => false,
            Matcher::Route { method, segments } => {
                method.is_some()
                    && segments
                        .iter()
                        .all(|segment| matches!(segment, Segment::Glob(pieces) if pieces.len() == 1))
            }
        }
    }

    /// Counts the literal characters.
    fn literal_count(&self) -> usize {
        let count = |pieces: &[String]| pieces.iter().map(|piece| piece.chars().count()).sum::<usize>();
        match &self.matcher {
            Matcher::Exact => self.text.chars().count(),
            Matcher::Glob(pieces) => count(pieces),
            Matcher::Route { method, segments } => {
                let literal = segments.iter().map(|segment| match segment {
                    Segment::Glob(pieces) => 1 + count(pieces),
                    Segment::Any | Segment::Rest => 1,
                });
                method.as_ref().map_or(0, |method| method.len() + 1) + literal.sum::<usize>()
            }
        }
    }
}

/// Returns true if `text` matches a name with `*` for any characters.
pub fn matches_glob(pattern: &str, text: &str) -> bool {
    let pieces: Vec<String> = pattern.split('*').map(str::to_owned).collect();
    matches_pieces(&pieces, text)
}

fn is_method(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_uppercase())
}

fn parse_segments(path: &str) -> Vec<Segment> {
    let mut segments: Vec<Segment> = path
        .split('/')
        .map(|segment| match segment.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
            Some(_) => Segment::Any,
            None => Segment::Glob(segment.split('*').map(str::to_owned).collect()),
        })
        .collect();
    if let Some(last) = segments.last_mut().filter(|last| matches!(last, Segment::Glob(pieces) if pieces.len() == 2 && pieces.iter().all(String::is_empty))) {
        *last = Segment::Rest;
    }
    segments
}

fn matches_route(segments: &[Segment], path: &str) -> bool {
    let mut rest = Some(path);
    for segment in segments {
        let Some(left) = rest else { return false };
        let (given, after) = match left.split_once('/') {
            Some((given, after)) => (given, Some(after)),
            None => (left, None),
        };
        match segment {
            Segment::Rest => return true,
            Segment::Any if given.is_empty() => return false,
            Segment::Glob(pieces) if !matches_pieces(pieces, given) => return false,
            Segment::Any | Segment::Glob(_) => rest = after,
        }
    }
    rest.is_none()
}

/// Returns true if the text contains the pieces in order, the first at its start, the last at its end.
/// Linear in the text: for the pieces between, the leftmost place is always sufficient.
fn matches_pieces(pieces: &[String], text: &str) -> bool {
    let [first, between @ .., last] = pieces else {
        return pieces.first().is_some_and(|piece| piece == text);
    };
    let Some(mut rest) = text.strip_prefix(first.as_str()) else { return false };
    for piece in between {
        let Some(at) = rest.find(piece.as_str()) else { return false };
        rest = rest.get(at + piece.len()..).unwrap_or_default();
    }
    rest.ends_with(last.as_str())
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
