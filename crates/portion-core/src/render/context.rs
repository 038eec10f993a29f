//! Inputs that all replies are rendered with, and the request for a follow-up.

use portion_tokens::TokenCounter;
use serde_json::{Map, Value};

use crate::cursor::{CursorToken, Position};
use crate::policy::Policy;

/// Inputs that all replies are rendered with.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The limits.
    pub policy: &'a Policy,
    /// Counts the tokens.
    pub counter: &'a dyn TokenCounter,
    /// Makes a cursor to a position in the view, or returns `None` if the snapshot could not be stored.
    pub issue_cursor: &'a dyn Fn(Position) -> Option<CursorToken>,
    /// Request for further pages.
    pub read_call: FollowUpCall<'a>,
    /// Name of the tool that answers queries, or over HTTP of the parameter, if there is one.
    pub query_tool: Option<&'a str>,
    /// Set if the reply is the contents of a resource, where base64 is marked as such: prefix of the URIs for
    /// further pages, completed by a cursor.
    pub read_uri: Option<&'a str>,
}

/// The request for a follow-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FollowUpCall<'a> {
    /// A call of the tool of this name: `portion_read(cursor, limit=5)`.
    Tool(&'a str),
    /// A GET request for this path, possibly after an origin (`https://host/bookings`): `GET /bookings?cursor&limit=5`.
    Http(&'a str),
}

/// Longest path that texts repeat. They have no room for a longer one: the rest of the request is relative to it.
const MAX_SHOWN_PATH_BYTES: usize = 128;

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
            Self::Http(address) => format!("GET {}?{}", shown_path(address), arguments.replace(", ", "&")),
        }
    }

    /// Returns the request without arguments.
    pub fn name(self) -> String {
        match self {
            Self::Tool(name) => name.to_owned(),
            Self::Http(address) => format!("GET {}", shown_path(address)),
        }
    }

    /// Returns the request as members of `detailsAvailable`. In an envelope, a tool is an endpoint, too.
    pub(super) fn to_members(self, arguments: Map<String, Value>, is_enveloped: bool) -> Map<String, Value> {
        let (key, name, values) = match self {
            Self::Tool(name) if !is_enveloped => ("tool", name, "arguments"),
            Self::Tool(name) => ("endpoint", name, "parameters"),
            Self::Http(address) => ("endpoint", shown_path(address), "parameters"),
        };
        let mut members = Map::new();
        members.insert(key.into(), name.into());
        members.insert(values.into(), arguments.into());
        members
    }
}

/// Splits an address into its origin, which may be empty, and its path.
pub(super) fn split_address(address: &str) -> (&str, &str) {
    let host = address.find("://").filter(|_| !address.starts_with('/'));
    let Some(host) = host.map(|at| at + "://".len()) else { return ("", address) };
    address.split_at(address[host..].find('/').map_or(address.len(), |at| host + at))
}

/// Returns the path of an address as texts show it.
fn shown_path(address: &str) -> &str {
    let (_, path) = split_address(address);
    if path.len() > MAX_SHOWN_PATH_BYTES { "" } else { path }
}

impl<'a> From<&'a str> for FollowUpCall<'a> {
    fn from(tool: &'a str) -> Self {
        Self::Tool(tool)
    }
}
