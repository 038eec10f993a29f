//! The request for a follow-up, as notices write it.

use serde_json::{Map, Value};

/// The request for a follow-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FollowUpCall<'a> {
    /// A call of the tool of this name: `portion_read(cursor, limit=5)`.
    Tool(&'a str),
    /// A GET request for this path: `GET /bookings?cursor&limit=5`.
    Http(&'a str),
}

impl FollowUpCall<'_> {
    /// Returns the request with these arguments, which are written as for a tool: `cursor, limit=5`.
    ///
    /// ```
    /// use portion_core::render::FollowUpCall;
    ///
    /// assert_eq!(FollowUpCall::Tool("read").with("cursor, limit=5"), "read(cursor, limit=5)");
    /// assert_eq!(FollowUpCall::Http("/bookings").with("cursor, limit=5"), "GET /bookings?cursor&limit=5");
    /// ```
    pub fn with(self, arguments: &str) -> String {
        match self {
            Self::Tool(name) => format!("{name}({arguments})"),
            Self::Http(path) => format!("GET {path}?{}", arguments.replace(", ", "&")),
        }
    }

    /// Returns the request without arguments.
    pub fn name(self) -> String {
        match self {
            Self::Tool(name) => name.to_owned(),
            Self::Http(path) => format!("GET {path}"),
        }
    }

    /// Returns the request as members of `detailsAvailable`. In an envelope, a tool is an endpoint, too.
    pub(super) fn to_members(self, arguments: Map<String, Value>, is_enveloped: bool) -> Map<String, Value> {
        let (key, name, values) = match self {
            Self::Tool(name) if !is_enveloped => ("tool", name, "arguments"),
            Self::Tool(name) | Self::Http(name) => ("endpoint", name, "parameters"),
        };
        let mut members = Map::new();
        members.insert(key.into(), name.into());
        members.insert(values.into(), arguments.into());
        members
    }
}

impl<'a> From<&'a str> for FollowUpCall<'a> {
    fn from(tool: &'a str) -> Self {
        Self::Tool(tool)
    }
}
