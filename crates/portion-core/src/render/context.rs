//! Inputs that all replies are rendered with.

use portion_tokens::TokenCounter;

use super::follow_up_call::FollowUpCall;
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
