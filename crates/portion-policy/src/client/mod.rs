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

use std::fmt;
use std::str::FromStr;

use portion_core::policy::ClientLimits;
use portion_text::names::matches_pattern;
use portion_tokens::Tokenizer;

pub use known::CLIENTS;

/// A program that shows results to a model, and its handling of large results.
#[derive(Debug, PartialEq, Eq)]
pub struct ClientProfile {
    /// Name of the preset.
    pub preset: &'static str,
    /// Name for people.
    pub title: &'static str,
    /// Names that it sends in `clientInfo.name`, compared without case and punctuation. `*` matches any
    /// characters.
    pub name_patterns: &'static [&'static str],
    /// Models to which the row applies, patterns with `*`; empty for any. Only some clients name the model of a call.
    pub models: &'static [&'static str],
    /// Result limits, unless its user changed them.
    pub limits: &'static [ResultLimit],
    /// Limit of an error, if it differs.
    pub error_limit: Option<ResultLimit>,
    /// Handling of larger results.
    pub overflow_behaviour: &'static str,
    /// Tokenizer of its models, if they are of one family.
    pub tokenizer: Option<Tokenizer>,
    /// True if it applies the result limit that a listed tool states: [`TOOL_LIMIT_META_KEY`].
    pub honours_tool_limits: bool,
    /// Form of a result that its model sees, if the result has both.
    pub shown_form: ShownForm,
    /// Sources of these facts.
    pub sources: &'static [&'static str],
}

/// Form of a result that a client shows to its model, where the result has text and `structuredContent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShownForm {
    /// The text; `structuredContent` is for programs.
    Text,
    /// `structuredContent`, and nothing beside it: no text, and of most clients no image.
    Structured,
    /// Both, so that the model reads the same twice.
    Both,
}

impl ShownForm {
    /// Returns the name of the form, for tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Structured => "structured",
            Self::Both => "both",
        }
    }
}

/// `_meta` key of a listed tool with the largest result in characters.
///
/// Source: <https://code.claude.com/docs/en/mcp>, "Raise the limit for a specific tool".
pub const TOOL_LIMIT_META_KEY: &str = "anthropic/maxResultSizeChars";

/// Largest value of [`TOOL_LIMIT_META_KEY`] that a client applies. Source: as there.
pub const MAX_TOOL_LIMIT: usize = 500_000;
/// Largest input schema of a tool in bytes: claude.ai drops tools with larger ones.
pub const MAX_INPUT_SCHEMA_BYTES: usize = 16_384;
/// Longest description of a tool in characters that Claude Code shows its model:
/// <https://github.com/anthropics/claude-code/issues/87650>.
pub const MAX_DESCRIPTION_CHARS: usize = 2_048;

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
        let is_named = |client: &&Self| client.name_patterns.iter().any(|known| name_matches(known, name));
        CLIENTS.iter().find(|client| client.models.is_empty() && is_named(client))
    }

    /// Returns the row of the same client for a model, if there is one.
    pub fn for_model(&'static self, model: &str) -> &'static Self {
        let is_row = |row: &&Self| {
            row.name_patterns == self.name_patterns
                && row.models.iter().any(|known| matches_pattern(known, model))
        };
        CLIENTS.iter().find(is_row).unwrap_or(self)
    }

    /// Returns the limits of a reply to this client, 10 % below its own.
    pub fn reply_room(&self) -> ClientLimits {
        self.limits.iter().fold(ClientLimits::UNKNOWN, |room, limit| room.intersect(limit.reply_room()))
    }

    /// Returns the limit of an error in bytes, 10 % below that of the client, if it has one.
    pub fn error_room(&self) -> Option<usize> {
        self.error_limit.and_then(|limit| limit.reply_room().max_bytes)
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

/// Client whose limits bound the defaults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Preset {
    /// No client.
    None,
    /// The client of the request, if it is known.
    #[default]
    Auto,
    /// This client, whatever the client of the request.
    Named(&'static ClientProfile),
    /// No client: the caller is a program that takes unshaped results if that is allowed.
    Code,
}

/// Error for an unknown preset.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown preset `{given}`: use {}", Preset::names())]
pub struct UnknownPreset {
    /// The given name.
    pub given: String,
}

impl Preset {
    fn names() -> String {
        let names = ["none", "auto", "code"].into_iter().chain(CLIENTS.iter().map(|client| client.preset));
        names.collect::<Vec<_>>().join(", ")
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Auto => "auto",
            Self::Code => "code",
            Self::Named(client) => client.preset,
        })
    }
}

impl FromStr for Preset {
    type Err = UnknownPreset;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "none" => Ok(Self::None),
            "auto" => Ok(Self::Auto),
            "code" => Ok(Self::Code),
            name => CLIENTS
                .iter()
                .find(|client| client.preset == name)
                .map(Self::Named)
                .ok_or_else(|| UnknownPreset { given: name.to_owned() }),
        }
    }
}

/// Returns true if a name matches a known one: `Visual-Studio-Code` matches `Visual Studio Code`.
fn name_matches(known: &str, name: &str) -> bool {
    let normalized = |name: &str, keeps: fn(char) -> bool| -> String {
        name.chars().filter(|c| keeps(*c)).map(|c| c.to_ascii_lowercase()).collect()
    };
    let known = normalized(known, |c| c.is_alphanumeric() || c == '*');
    matches_pattern(&known, &normalized(name, char::is_alphanumeric))
}

#[cfg(test)]
mod tests;
