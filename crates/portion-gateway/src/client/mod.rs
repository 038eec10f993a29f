//! Who asks: the clients that are known, told by the name they give themselves.
//!
//! What is known of each is in `table`, and nowhere else.

mod known;
mod preset;

use portion_core::policy::ClientLimits;
use portion_core::tokens::Tokenizer;

pub use known::CLIENTS;
pub use preset::{Preset, UnknownPreset};

/// A program that shows results to a model, and what it does with large ones.
#[derive(Debug, PartialEq, Eq)]
pub struct ClientProfile {
    /// Its name as a preset.
    pub preset: &'static str,
    /// What people call it.
    pub title: &'static str,
    /// What it calls itself (`clientInfo.name`), whatever the case and punctuation. A `*` at the end stands for
    /// anything.
    pub name_patterns: &'static [&'static str],
    /// What a result may have, unless its user has set something else.
    pub limits: &'static [ResultLimit],
    /// What becomes of a result above.
    pub overflow_behaviour: &'static str,
    /// What its models count by, where they are of one family.
    pub tokenizer: Option<Tokenizer>,
    /// It goes by what a listed tool says of its own results: [`TOOL_LIMIT_META_KEY`].
    pub honours_tool_limits: bool,
    /// It shows its model `structuredContent` and not the text, where a result has both.
    pub shows_structured: bool,
    /// Where this was read.
    pub sources: &'static [&'static str],
}

/// What a listed tool's `_meta` says of its results: characters that they may have.
///
/// Source: <https://code.claude.com/docs/en/mcp>, "Raise the limit for a specific tool".
pub const TOOL_LIMIT_META_KEY: &str = "anthropic/maxResultSizeChars";

/// A bound that a client sets to results.
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
    /// The client that calls itself so.
    pub fn find_by_name(name: &str) -> Option<&'static Self> {
        CLIENTS.iter().find(|client| client.name_patterns.iter().any(|known| name_matches(known, name)))
    }

    /// What a reply to it may have, 10 % below its limits.
    pub fn reply_room(&self) -> ClientLimits {
        self.limits.iter().fold(ClientLimits::UNKNOWN, |room, limit| room.intersect(limit.reply_room()))
    }
}

impl ResultLimit {
    /// What a reply may have under it, 10 % below.
    pub fn reply_room(self) -> ClientLimits {
        let (Self::Tokens(limit) | Self::Characters(limit) | Self::Bytes(limit) | Self::TotalBytes(limit)) =
            self;
        let within = Some(ClientLimits::with_headroom(limit));
        match self {
            Self::Tokens(_) => ClientLimits { max_tokens: within, ..ClientLimits::UNKNOWN },
            // No character is less than a byte.
            Self::Characters(_) | Self::Bytes(_) => {
                ClientLimits { max_bytes: within, ..ClientLimits::UNKNOWN }
            }
            Self::TotalBytes(_) => {
                ClientLimits { max_bytes: within, max_media_bytes: within, ..ClientLimits::UNKNOWN }
            }
        }
    }
}

/// Whether a name is the known one: `Visual-Studio-Code` is `Visual Studio Code`.
fn name_matches(known: &str, name: &str) -> bool {
    let mut name = normalized_chars(name);
    normalized_chars(known).all(|c| name.next() == Some(c)) && (known.ends_with('*') || name.next().is_none())
}

fn normalized_chars(name: &str) -> impl Iterator<Item = char> {
    name.chars().filter(|c| c.is_alphanumeric()).map(|c| c.to_ascii_lowercase())
}

#[cfg(test)]
mod tests;
