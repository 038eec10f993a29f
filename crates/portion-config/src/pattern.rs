//! Which endpoints a rule is for: a name, a name with `*`, the URI of a resource, a route.

use std::cmp::Ordering;

/// Which endpoints a rule is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    text: String,
    form: Form,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Form {
    /// This alone.
    Exact,
    /// What stands between `*`s; never fewer than two.
    Glob(Vec<String>),
    /// `GET /bookings/{id}`.
    Route { method: Option<String>, segments: Vec<Segment> },
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Segment {
    /// One segment, whatever it is.
    Any,
    /// One that a glob of these pieces matches.
    Like(Vec<String>),
    /// All that follows.
    Rest,
}

impl Pattern {
    /// Reads a pattern. Every text is one.
    pub fn new(text: &str) -> Self {
        let (method, path) = match text.split_once(' ') {
            Some((method, path)) if is_method(method) => (Some(method.to_owned()), path),
            _ => (None, text),
        };
        let form = match path.strip_prefix('/') {
            Some(path) => Form::Route { method, segments: segments(path) },
            None if text.contains('*') => Form::Glob(text.split('*').map(str::to_owned).collect()),
            None => Form::Exact,
        };
        Self { text: text.to_owned(), form }
    }

    /// As it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it is for the endpoint of this name: a tool's or prompt's name, a URI, a method and path.
    pub fn matches(&self, name: &str) -> bool {
        match &self.form {
            Form::Exact => self.text == name,
            Form::Glob(pieces) => glob(pieces, name),
            Form::Route { method, segments } => {
                let (given, path) = match name.split_once(' ') {
                    Some((given, path)) if is_method(given) => (Some(given), path),
                    _ => (None, name),
                };
                let method =
                    method.as_deref().is_none_or(|method| given.is_some_and(|given| given == method));
                let Some(path) = path.strip_prefix('/') else { return false };
                method && route(segments, path)
            }
        }
    }

    /// Which of two decides where both match: the more specific is the greater. A name beats any pattern, then
    /// more literal characters do.
    pub fn specificity(&self, other: &Self) -> Ordering {
        (self.is_exact(), self.literal()).cmp(&(other.is_exact(), other.literal()))
    }

    fn is_exact(&self) -> bool {
        match &self.form {
            Form::Exact => true,
            Form::Glob(_) => false,
            Form::Route { method, segments } => {
                method.is_some()
                    && segments
                        .iter()
                        .all(|segment| matches!(segment, Segment::Like(pieces) if pieces.len() == 1))
            }
        }
    }

    /// Characters that stand for themselves.
    fn literal(&self) -> usize {
        let count = |pieces: &[String]| pieces.iter().map(|piece| piece.chars().count()).sum::<usize>();
        match &self.form {
            Form::Exact => self.text.chars().count(),
            Form::Glob(pieces) => count(pieces),
            Form::Route { method, segments } => {
                let literal = segments.iter().map(|segment| match segment {
                    Segment::Like(pieces) => 1 + count(pieces),
                    Segment::Any | Segment::Rest => 1,
                });
                method.as_ref().map_or(0, |method| method.len() + 1) + literal.sum::<usize>()
            }
        }
    }
}

/// Whether a text is matched by a name with `*` for any characters.
pub fn like(pattern: &str, text: &str) -> bool {
    let pieces: Vec<String> = pattern.split('*').map(str::to_owned).collect();
    glob(&pieces, text)
}

fn is_method(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_uppercase())
}

fn segments(path: &str) -> Vec<Segment> {
    let mut segments: Vec<Segment> = path
        .split('/')
        .map(|segment| match segment.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
            Some(_) => Segment::Any,
            None => Segment::Like(segment.split('*').map(str::to_owned).collect()),
        })
        .collect();
    if let Some(last) = segments.last_mut().filter(|last| matches!(last, Segment::Like(pieces) if pieces.len() == 2 && pieces.iter().all(String::is_empty))) {
        *last = Segment::Rest;
    }
    segments
}

fn route(segments: &[Segment], path: &str) -> bool {
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
            Segment::Like(pieces) if !glob(pieces, given) => return false,
            Segment::Any | Segment::Like(_) => rest = after,
        }
    }
    rest.is_none()
}

/// Whether the pieces stand in the text in order, the first at its beginning, the last at its end. Linear in the text:
/// of what lies between, the first place is as good as any.
fn glob(pieces: &[String], text: &str) -> bool {
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
