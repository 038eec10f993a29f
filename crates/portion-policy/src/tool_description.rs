//! Tools for requests to a REST API that an operator describes, without an `OpenAPI` document.

use serde_json::{Map, Value};
use thiserror::Error;

/// Methods of described tools.
pub const METHODS: [&str; 6] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"];

/// Property of an argument's schema that marks it as a control of Portion. Such an argument is not sent.
pub const CONTROL_MARK: &str = "x-portion-control";

/// Member of `_meta` in the listing of a tool whose result can be a list. Tools of REST APIs have no `outputSchema`.
pub const RETURNS_LIST_META_KEY: &str = "openapi/returnsList";

/// A tool that an operator describes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolDescription {
    /// Name.
    pub name: String,
    /// Description for models.
    pub description: String,
    /// Method, one of [`METHODS`].
    pub method: &'static str,
    /// Path below the base URL, with `{argument}`, `{argument.member}`, and optional parts in brackets.
    pub path: String,
    /// Query parameters of each request.
    pub query: Vec<(String, String)>,
    /// Members of the body of each request.
    pub body: Vec<(String, Value)>,
    /// Encoding of the body.
    pub body_encoding: BodyEncoding,
    /// Arguments, in order.
    pub arguments: Vec<ArgumentDescription>,
    /// True if a call changes nothing, whatever the method.
    pub is_read: bool,
}

/// Encoding of the body of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BodyEncoding {
    /// JSON.
    #[default]
    Json,
    /// `application/x-www-form-urlencoded`.
    Form,
}

/// An argument of a described tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgumentDescription {
    /// Name of the argument.
    pub name: String,
    /// Place of its value in the request.
    pub place: ArgumentPlace,
    /// Name in the request.
    pub sent_as: String,
    /// True if calls without it are refused.
    pub is_required: bool,
    /// True if a single value is sent as a list.
    pub is_list: bool,
    /// JSON Schema of its value.
    pub schema: Map<String, Value>,
}

/// Place of an argument in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentPlace {
    /// Named in the path.
    Path,
    /// In the query. If the schema has the type `object`, the members of an object are parameters of their own, except
    /// those in the path.
    Query,
    /// A member of the body.
    Body,
    /// A control of Portion, which is not sent.
    Control,
}

/// Reason that a description gives no tool.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum DescriptionError {
    /// The path cannot be read.
    #[error(transparent)]
    InvalidPath(#[from] InvalidPath),
    /// The path names an argument that the tool does not have.
    #[error("has `{0}` in its path, which is none of its arguments")]
    UnknownArgument(String),
    /// An argument is in the path by its place, and not by its name.
    #[error("has the argument `{0}` in its path, but the path does not name it")]
    NotInPath(String),
}

impl Default for ToolDescription {
    fn default() -> Self {
        Self {
            name: String::new(),
            description: String::new(),
            method: METHODS[0],
            path: "/".to_owned(),
            query: Vec::new(),
            body: Vec::new(),
            body_encoding: BodyEncoding::Json,
            arguments: Vec::new(),
            is_read: false,
        }
    }
}

impl ToolDescription {
    /// Returns the parsed path.
    ///
    /// # Errors
    /// Returns [`DescriptionError`] if it does not agree with the arguments.
    pub fn path_pattern(&self) -> Result<PathPattern, DescriptionError> {
        let path = PathPattern::parse(&self.path)?;
        let is_known = |name: &str| self.arguments.iter().any(|argument| argument.name == name);
        if let Some(unknown) = path.arguments().find(|name| !is_known(name)) {
            return Err(DescriptionError::UnknownArgument(unknown.to_owned()));
        }
        let unnamed = self.arguments.iter().find(|argument| {
            argument.place == ArgumentPlace::Path && !path.arguments().any(|name| name == argument.name)
        });
        match unnamed {
            Some(argument) => Err(DescriptionError::NotInPath(argument.name.clone())),
            None => Ok(path),
        }
    }
}

impl ArgumentDescription {
    /// Creates an optional argument that is sent under its own name.
    pub fn new(name: &str, place: ArgumentPlace) -> Self {
        Self {
            name: name.to_owned(),
            place,
            sent_as: name.to_owned(),
            is_required: false,
            is_list: false,
            schema: Map::new(),
        }
    }
}

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
