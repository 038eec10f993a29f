//! Paths of described tools: `/{level}/{topic}[/{filters.year*}]/`.

use thiserror::Error;

/// Reason that a path cannot be read.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum InvalidPath {
    /// A brace or bracket has no counterpart.
    #[error("has a path with an unmatched brace or bracket")]
    UnmatchedBracket,
    /// `*` stands behind a name that is no member of an argument.
    #[error("has a path with `*` behind an argument; it belongs behind a member: `{{argument.member*}}`")]
    NotAMember,
    /// It does not begin with a slash.
    #[error("has a path that does not begin with a slash")]
    NoSlash,
}

/// A path with places for arguments. A part in brackets is left out if one of its arguments is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathPattern {
    /// Its parts, in order.
    pub groups: Vec<PathGroup>,
}

/// A part of a path that is written as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathGroup {
    /// True if it stands in brackets.
    pub is_optional: bool,
    /// The pieces that it consists of, in order.
    pub pieces: Vec<PathPiece>,
}

/// Text, or the place of an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathPiece {
    /// Text.
    Text(String),
    /// The place of an argument.
    Argument {
        /// Name of the argument.
        name: String,
        /// Member of the argument, an object.
        member: Option<String>,
        /// True if a list of values makes one request for each.
        is_repeated: bool,
    },
}

impl PathPattern {
    /// Parses a path.
    ///
    /// # Errors
    /// Returns [`InvalidPath`] if a bracket or brace has no counterpart, or the path begins without a slash.
    pub fn parse(path: &str) -> Result<Self, InvalidPath> {
        if !path.starts_with('/') {
            return Err(InvalidPath::NoSlash);
        }
        let mut groups = Vec::new();
        let mut rest = path;
        while !rest.is_empty() {
            let (text, is_optional, after) = if let Some(inner) = rest.strip_prefix('[') {
                let (text, after) = inner.split_once(']').ok_or(InvalidPath::UnmatchedBracket)?;
                (text, true, after)
            } else {
                let end = rest.find('[').unwrap_or(rest.len());
                (&rest[..end], false, &rest[end..])
            };
            if text.contains(['[', ']']) {
                return Err(InvalidPath::UnmatchedBracket);
            }
            groups.push(PathGroup { is_optional, pieces: pieces(text)? });
            rest = after;
        }
        Ok(Self { groups })
    }

    /// Yields the names of its arguments.
    pub fn arguments(&self) -> impl Iterator<Item = &str> {
        self.pieces().filter_map(|piece| match piece {
            PathPiece::Argument { name, .. } => Some(name.as_str()),
            PathPiece::Text(_) => None,
        })
    }

    /// Returns true if a member of an argument is in the path.
    pub fn has_member(&self, argument: &str, wanted: &str) -> bool {
        self.pieces().any(|piece| {
            matches!(piece, PathPiece::Argument { name, member: Some(member), .. } if name == argument && member == wanted)
        })
    }

    /// Yields the arguments and members of which a list makes several requests.
    pub fn repeated_members(&self) -> impl Iterator<Item = (&str, &str)> {
        self.pieces().filter_map(|piece| match piece {
            PathPiece::Argument { name, member: Some(member), is_repeated: true } => {
                Some((name.as_str(), member.as_str()))
            }
            _ => None,
        })
    }

    fn pieces(&self) -> impl Iterator<Item = &PathPiece> {
        self.groups.iter().flat_map(|group| &group.pieces)
    }
}

fn pieces(text: &str) -> Result<Vec<PathPiece>, InvalidPath> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        let (inside, after) = after.split_once('}').ok_or(InvalidPath::UnmatchedBracket)?;
        if before.contains('}') || inside.is_empty() || inside.contains('{') {
            return Err(InvalidPath::UnmatchedBracket);
        }
        if !before.is_empty() {
            pieces.push(PathPiece::Text(before.to_owned()));
        }
        let is_repeated = inside.ends_with('*');
        let (name, member) = match inside.trim_end_matches('*').split_once('.') {
            Some((name, member)) => (name, Some(member.to_owned())),
            None if is_repeated => return Err(InvalidPath::NotAMember),
            None => (inside, None),
        };
        pieces.push(PathPiece::Argument { name: name.to_owned(), member, is_repeated });
        rest = after;
    }
    if rest.contains('}') {
        return Err(InvalidPath::UnmatchedBracket);
    }
    if !rest.is_empty() {
        pieces.push(PathPiece::Text(rest.to_owned()));
    }
    Ok(pieces)
}
