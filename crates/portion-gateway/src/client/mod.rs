//! Who asks: the clients that are known, told by the name they give themselves.
//!
//! What is known of each is in `table`, and nowhere else.

mod preset;
mod table;

use portion_core::policy::Room;
use portion_core::tokens::Tokenizer;

pub use preset::{Preset, UnknownPreset};
pub use table::CLIENTS;

/// A program that shows results to a model, and what it does with large ones.
#[derive(Debug, PartialEq, Eq)]
pub struct Client {
    /// Its name as a preset.
    pub preset: &'static str,
    /// What people call it.
    pub title: &'static str,
    /// What it calls itself (`clientInfo.name`), whatever the case and punctuation. A `*` at the end stands for
    /// anything.
    pub names: &'static [&'static str],
    /// What a result may have, unless its user has set something else.
    pub limits: &'static [Limit],
    /// What becomes of a result above.
    pub above: &'static str,
    /// What its models count by, where they are of one family.
    pub tokenizer: Option<Tokenizer>,
    /// It goes by what a listed tool says of its own results: [`TOOL_LIMIT`].
    pub heeds_tools: bool,
    /// It shows its model `structuredContent` and not the text, where a result has both.
    pub shows_structured: bool,
    /// Where this was read.
    pub sources: &'static [&'static str],
}

/// What a listed tool's `_meta` says of its results: characters that they may have.
///
/// Source: <https://code.claude.com/docs/en/mcp>, "Raise the limit for a specific tool".
pub const TOOL_LIMIT: &str = "anthropic/maxResultSizeChars";

/// A bound that a client sets to results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Tokens, as the client counts them.
    Tokens(usize),
    /// Characters of text.
    Characters(usize),
    /// Bytes of text.
    Bytes(usize),
    /// Bytes of everything, images included.
    AllBytes(usize),
}

impl Client {
    /// The client that calls itself so.
    pub fn named(name: &str) -> Option<&'static Self> {
        CLIENTS.iter().find(|client| client.names.iter().any(|known| matches(known, name)))
    }

    /// What a reply to it may have, 10 % below its limits.
    pub fn room(&self) -> Room {
        self.limits.iter().fold(Room::UNKNOWN, |room, limit| room.and(limit.room()))
    }
}

impl Limit {
    /// What a reply may have under it, 10 % below.
    pub fn room(self) -> Room {
        let (Self::Tokens(limit) | Self::Characters(limit) | Self::Bytes(limit) | Self::AllBytes(limit)) =
            self;
        let within = Some(Room::within(limit));
        match self {
            Self::Tokens(_) => Room { tokens: within, ..Room::UNKNOWN },
            // No character is less than a byte.
            Self::Characters(_) | Self::Bytes(_) => Room { bytes: within, ..Room::UNKNOWN },
            Self::AllBytes(_) => Room { bytes: within, media_bytes: within, ..Room::UNKNOWN },
        }
    }
}

/// Whether a name is the known one: `Visual-Studio-Code` is `Visual Studio Code`.
fn matches(known: &str, name: &str) -> bool {
    let mut name = letters(name);
    letters(known).all(|c| name.next() == Some(c)) && (known.ends_with('*') || name.next().is_none())
}

fn letters(name: &str) -> impl Iterator<Item = char> {
    name.chars().filter(|c| c.is_alphanumeric()).map(|c| c.to_ascii_lowercase())
}

#[cfg(test)]
mod tests;
