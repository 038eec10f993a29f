//! Profiles of known clients, identified by the names that they send.
//!
//! The table in `known` is the only place with facts about clients.
//!
//! ```
//! use portion_policy::client::ClientProfile;
//!
//! let client = ClientProfile::find_by_name("Claude Code").expect("a known client");
//! assert_eq!(client.preset, "claude-code");
//! assert_eq!(ClientProfile::find_by_name("somebody else"), None);
//! ```

mod known;
mod preset;

use portion_core::policy::ClientLimits;
use portion_tokens::Tokenizer;

pub use known::CLIENTS;
pub use preset::{Preset, UnknownPreset};

/// A program that shows results to a model, and its handling of large results.
#[derive(Debug, PartialEq, Eq)]
pub struct ClientProfile {
    /// Name of the preset.
    pub preset: &'static str,
    /// Name for people.
    pub title: &'static str,
    /// Names that it sends in `clientInfo.name`, compared without case and punctuation. A final `*` matches
    /// any characters.
    pub name_patterns: &'static [&'static str],
    /// Result limits, unless its user changed them.
    pub limits: &'static [ResultLimit],
    /// Handling of larger results.
    pub overflow_behaviour: &'static str,
    /// Tokenizer of its models, if they are of one family.
    pub tokenizer: Option<Tokenizer>,
    /// True if it applies the result limit that a listed tool states: [`TOOL_LIMIT_META_KEY`].
    pub honours_tool_limits: bool,
    /// True if it shows `structuredContent` to its model in place of the text, if a result has both.
    pub shows_structured: bool,
    /// Sources of these facts.
    pub sources: &'static [&'static str],
}

/// `_meta` key of a listed tool with the largest result in characters.
///
/// Source: <https://code.claude.com/docs/en/mcp>, "Raise the limit for a specific tool".
pub const TOOL_LIMIT_META_KEY: &str = "anthropic/maxResultSizeChars";

/// A limit that a client applies to results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultLimit {
    /// Tokens, as the client counts them.
    Tokens(usize),
    /// Characters of text.
    Characters(usize),
    /// Bytes of text.
    Bytes(usize),
    /// Bytes of everything, images included.
    TotalBytes(usize),
}

impl ClientProfile {
    /// Finds the client with a name.
    pub fn find_by_name(name: &str) -> Option<&'static Self> {
        CLIENTS.iter().find(|client| client.name_patterns.iter().any(|known| name_matches(known, name)))
    }

    /// Returns the limits of a reply to this client, 10 % below its own.
    pub fn reply_room(&self) -> ClientLimits {
        self.limits.iter().fold(ClientLimits::UNKNOWN, |room, limit| room.intersect(limit.reply_room()))
    }
}

impl ResultLimit {
    /// Returns the limits of a reply under this limit, 10 % below it.
    pub fn reply_room(self) -> ClientLimits {
        let (Self::Tokens(limit) | Self::Characters(limit) | Self::Bytes(limit) | Self::TotalBytes(limit)) =
            self;
        let within = Some(ClientLimits::with_headroom(limit));
        match self {
            Self::Tokens(_) => ClientLimits { max_tokens: within, ..ClientLimits::UNKNOWN },
            // Every character has at least one byte.
            Self::Characters(_) | Self::Bytes(_) => {
                ClientLimits { max_bytes: within, ..ClientLimits::UNKNOWN }
            }
            Self::TotalBytes(_) => {
                ClientLimits { max_bytes: within, max_media_bytes: within, ..ClientLimits::UNKNOWN }
            }
        }
    }
}

/// Returns true if a name matches a known one: `Visual-Studio-Code` matches `Visual Studio Code`.
fn name_matches(known: &str, name: &str) -> bool {
    let mut name = normalized_chars(name);
    normalized_chars(known).all(|c| name.next() == Some(c)) && (known.ends_with('*') || name.next().is_none())
}

fn normalized_chars(name: &str) -> impl Iterator<Item = char> {
    name.chars().filter(|c| c.is_alphanumeric()).map(|c| c.to_ascii_lowercase())
}

#[cfg(test)]
mod tests;
