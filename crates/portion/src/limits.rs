//! The limits as options and environment variables, the same for every command that shapes.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueEnum};
use portion_core::policy::{self, Given, LEAST_BUDGET, Manner, PolicyError, Profile, Room};
use portion_core::redact::{Redact, RedactError};
use portion_core::tokens::Tokenizer;
use portion_gateway::book::Written;
use portion_gateway::client::{Limit, Preset};
use portion_gateway::rules::Rules;

/// Limits that replies obey.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct Limits {
    /// Tokens a reply may cost that was not asked to be larger (default: 4000)
    #[arg(long, value_name = "TOKENS", env = "PORTION_TOKEN_BUDGET_THRESHOLD", value_parser = whole, allow_negative_numbers = true, hide_env_values = true)]
    token_budget_threshold: Option<usize>,
    /// Tokens such a reply aims at when the payload is oversized (default: the threshold)
    #[arg(long, value_name = "TOKENS", env = "PORTION_REPLY_TARGET", value_parser = whole, allow_negative_numbers = true, hide_env_values = true)]
    reply_target: Option<usize>,
    /// Tokens an explicit request (limit, fields=all, a range, maxTokens) may cost (default: 12000)
    #[arg(long, value_name = "TOKENS", env = "PORTION_HARD_CAP", value_parser = whole, allow_negative_numbers = true, hide_env_values = true)]
    hard_cap: Option<usize>,
    /// Wire bytes of a reply, whatever its tokens (default: 64KiB)
    #[arg(long, value_name = "SIZE", env = "PORTION_HARD_BYTE_LIMIT", value_parser = size, hide_env_values = true)]
    hard_byte_limit: Option<u64>,
    /// Wire bytes of a reply when counting tokens fails or is badly wrong (default: 10KiB)
    #[arg(long, value_name = "SIZE", env = "PORTION_FALLBACK_BYTE_LIMIT", value_parser = size, hide_env_values = true)]
    fallback_byte_limit: Option<u64>,
    /// Bytes up to which an image or audio block passes untouched (default: 5MiB)
    #[arg(long, value_name = "SIZE", env = "PORTION_MEDIA_BYTE_LIMIT", value_parser = size, hide_env_values = true)]
    media_byte_limit: Option<u64>,
    /// Tokens up to which a payload passes whole, whatever it is (default: 500)
    #[arg(long, value_name = "TOKENS", env = "PORTION_FULL_BELOW", value_parser = whole, allow_negative_numbers = true, hide_env_values = true)]
    full_below: Option<usize>,
    /// Items of a page (default: 50)
    #[arg(long, value_name = "ITEMS", env = "PORTION_DEFAULT_PAGE_SIZE", value_parser = whole, allow_negative_numbers = true, hide_env_values = true)]
    default_page_size: Option<usize>,
    /// The most items of a page that can be asked for (default: 200)
    #[arg(long, value_name = "ITEMS", env = "PORTION_MAX_PAGE_SIZE", value_parser = whole, allow_negative_numbers = true, hide_env_values = true)]
    max_page_size: Option<usize>,
    /// Tokens above which a single object is summarized (default: 2000)
    #[arg(long, value_name = "TOKENS", env = "PORTION_SUMMARIZE_ABOVE", value_parser = whole, allow_negative_numbers = true, hide_env_values = true)]
    summarize_above: Option<usize>,
    /// Tokens above which text is chunked (default: 2000)
    #[arg(long, value_name = "TOKENS", env = "PORTION_CHUNK_ABOVE", value_parser = whole, allow_negative_numbers = true, hide_env_values = true)]
    chunk_above: Option<usize>,
    /// Tokens of a chunk (default: 2000)
    #[arg(long, value_name = "TOKENS", env = "PORTION_CHUNK_SIZE", value_parser = whole, allow_negative_numbers = true, hide_env_values = true)]
    chunk_size: Option<usize>,
    /// Lines of a chunk (default: 200)
    #[arg(long, value_name = "LINES", env = "PORTION_CHUNK_LINES", value_parser = whole, allow_negative_numbers = true, hide_env_values = true)]
    chunk_lines: Option<usize>,
    /// Share of the budget from which a reply names a narrower call (default: 0.8)
    #[arg(long, value_name = "SHARE", env = "PORTION_WARN_AT", value_parser = share, hide_env_values = true)]
    warn_at: Option<f64>,
    /// How records are written in text: objects, as they came, or auto, as a table where that costs less (default: objects)
    #[arg(
        long,
        value_name = "HOW",
        env = "PORTION_ROWS",
        hide_env_values = true,
        hide_possible_values = true
    )]
    rows: Option<Rows>,
    /// The order of a list that nobody asked to be in any: ranked, by score where every record has one; auto, so where it
    /// is what retrieval brings; or plain, as it came (default: auto)
    #[arg(
        long,
        value_name = "NAME",
        env = "PORTION_STRATEGY",
        hide_env_values = true,
        hide_possible_values = true
    )]
    strategy: Option<Strategy>,
    /// Which of ranked records are shown: stop, the best until the next would exceed the budget; skip, passing over those
    /// that do not fit; or value, by score and likeness to the best, and at the end for what they cost (default: stop)
    #[arg(
        long,
        value_name = "NAME",
        env = "PORTION_FILL",
        hide_env_values = true,
        hide_possible_values = true
    )]
    fill: Option<Fill>,
    /// Aim at smaller replies: replyTarget 1200, hardCap 4000, rows auto, redact secrets
    #[arg(long)]
    lean: bool,
    /// Hide values by the names of their fields: secrets (passwords, tokens, door codes), which it is alone, names with
    /// * for any characters, dotted paths, or none
    #[arg(long, value_name = "NAMES", env = "PORTION_REDACT", num_args = 0..=1, default_missing_value = "secrets", value_parser = redact, hide_env_values = true)]
    redact: Option<Redact>,
    /// Whose limits to stay below where nothing else is given: none, auto (those of the client that asks, if it is
    /// known), or a client's, such as codex
    #[arg(long, value_name = "NAME", env = "PORTION_PRESET", default_value_t = Preset::None, hide_env_values = true)]
    preset: Preset,
    /// What counts tokens: auto, o200k, cl100k, claude, chars4 or len4
    #[arg(long, value_name = "NAME", env = "PORTION_TOKENIZER", default_value_t = Tokenizer::Auto, hide_env_values = true)]
    pub(crate) tokenizer: Tokenizer,
}

/// How records are written in text.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Rows {
    Objects,
    Auto,
}

impl From<Rows> for policy::Rows {
    fn from(rows: Rows) -> Self {
        match rows {
            Rows::Objects => Self::Objects,
            Rows::Auto => Self::Auto,
        }
    }
}

/// In which order a list is shown.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Strategy {
    Auto,
    Plain,
    Ranked,
}

impl From<Strategy> for policy::Strategy {
    fn from(strategy: Strategy) -> Self {
        match strategy {
            Strategy::Auto => Self::Auto,
            Strategy::Plain => Self::Plain,
            Strategy::Ranked => Self::Ranked,
        }
    }
}

/// Which of ranked records are shown.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Fill {
    Stop,
    Skip,
    Value,
}

impl From<Fill> for policy::Fill {
    fn from(fill: Fill) -> Self {
        match fill {
            Fill::Stop => Self::Stop,
            Fill::Skip => Self::Skip,
            Fill::Value => Self::Value,
        }
    }
}

/// How long, and how much, payloads are kept for follow-ups.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct Keeping {
    /// How long a payload is kept after the last cursor to it
    #[arg(long, value_name = "TIME", env = "PORTION_SNAPSHOT_TTL", default_value = "10m", value_parser = time, hide_env_values = true)]
    pub(crate) snapshot_ttl: Duration,
    /// Memory for payloads that are kept
    #[arg(long, value_name = "SIZE", env = "PORTION_SNAPSHOT_MEMORY", default_value = "512MiB", value_parser = size, hide_env_values = true)]
    pub(crate) snapshot_memory: u64,
    /// The largest message that is taken; a larger one is answered with an error
    #[arg(long, value_name = "SIZE", env = "PORTION_UPSTREAM_MESSAGE_LIMIT", default_value = "256MiB", value_parser = message_size, hide_env_values = true)]
    pub(crate) upstream_message_limit: u64,
}

impl Limits {
    /// What these limits decide for each client, where nothing else is known than what our surroundings say.
    ///
    /// # Errors
    /// Where the limits cannot be obeyed together.
    pub(crate) fn rules(&self) -> Result<Rules, LimitsError> {
        let given = self.given();
        given.policy(Room::UNKNOWN).validate().map_err(LimitsError)?;
        let (tokenizer, preset, redact) = (self.tokenizer, self.preset, self.hidden());
        let written = Written { limits: given, tokenizer, preset, redact, ..Written::default() };
        Ok(Rules::new(Arc::new(written), surroundings()))
    }

    /// What is hidden: what was asked for, or secrets where nothing was and replies are to be lean.
    fn hidden(&self) -> Option<Arc<Redact>> {
        let asked = self.redact.clone().or_else(|| self.lean.then(Redact::default_secrets));
        asked.filter(|redact| *redact != Redact::nothing()).map(Arc::new)
    }

    fn given(&self) -> Given {
        let bytes = |size: Option<u64>| size.map(|size| usize::try_from(size).unwrap_or(usize::MAX));
        Given {
            token_budget_threshold: self.token_budget_threshold,
            reply_target: self.reply_target,
            hard_cap: self.hard_cap,
            hard_byte_limit: bytes(self.hard_byte_limit),
            fallback_byte_limit: bytes(self.fallback_byte_limit),
            media_byte_limit: bytes(self.media_byte_limit),
            media_tokens: None,
            full_below: self.full_below,
            default_page_size: self.default_page_size,
            max_page_size: self.max_page_size,
            summarize_above: self.summarize_above,
            chunk_above: self.chunk_above,
            chunk_size: self.chunk_size,
            chunk_lines: self.chunk_lines,
            warn_at: self.warn_at,
            rows: self.rows.map(Into::into),
            strategy: self.strategy.map(Into::into),
            fill: self.fill.map(Into::into),
            profile: if self.lean { Profile::Lean } else { Profile::Default },
            manner: Manner::default(),
        }
    }
}

/// The variable by which Claude Code bounds results, in tokens. It hands its environment on to the servers that it
/// starts.
///
/// Source: <https://code.claude.com/docs/en/mcp#mcp-output-limits-and-warnings>.
const MAX_MCP_OUTPUT_TOKENS: &str = "MAX_MCP_OUTPUT_TOKENS";

/// The room that whoever started us says there is. What makes no sense is told and left aside: it is not ours to refuse.
fn surroundings() -> Room {
    let Some(said) = std::env::var_os(MAX_MCP_OUTPUT_TOKENS) else { return Room::UNKNOWN };
    let said = said.to_string_lossy();
    let Some(tokens) = said.trim().parse().ok().filter(|tokens| *tokens > 0) else {
        tracing::warn!("{MAX_MCP_OUTPUT_TOKENS} is {said}, which is no number of tokens: it is left aside");
        return Room::UNKNOWN;
    };
    let room = Limit::Tokens(tokens).room();
    let least = 2 * LEAST_BUDGET;
    if room.tokens < Some(least) {
        tracing::warn!("{MAX_MCP_OUTPUT_TOKENS} is {tokens}, but what is asked for may need {least}");
    }
    room
}

/// Limits that contradict each other, named as they are given here.
#[derive(Debug)]
pub(crate) struct LimitsError(PolicyError);

impl Error for LimitsError {}

impl fmt::Display for LimitsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            PolicyError::TooSmall { key, given, least } => {
                write!(f, "{} is {given}, but at least {least} is needed", option(key))
            }
            PolicyError::Crossed { lower, low, upper, high } => {
                let (lower, upper) = (option(lower), option(upper));
                write!(f, "{lower} is {low}, above {upper}, which is {high}; raise {upper} or lower {lower}")
            }
            PolicyError::NotAShare(given) => {
                write!(f, "--warn-at is {given}, but it is a share of the budget, above 0 and up to 1")
            }
        }
    }
}

/// The option for a key: `hardCap` is `--hard-cap`.
fn option(key: &str) -> String {
    let mut option = String::from("--");
    for c in key.chars() {
        if c.is_ascii_uppercase() {
            option.push('-');
        }
        option.push(c.to_ascii_lowercase());
    }
    option
}

fn whole(text: &str) -> Result<usize, &'static str> {
    text.parse().map_err(|_| "it is a whole number, such as 4000")
}

fn share(text: &str) -> Result<f64, &'static str> {
    text.parse().map_err(|_| "it is a share, such as 0.8")
}

/// A time: `90s`, `10m`, `1h`.
fn time(text: &str) -> Result<Duration, &'static str> {
    humantime::parse_duration(text).map_err(|_| "it is a number with a unit, such as 90s, 10m or 1h")
}

/// A size in bytes: `65536`, `64KiB`, `5MiB`.
fn size(text: &str) -> Result<u64, &'static str> {
    let parsed: Result<bytesize::ByteSize, _> = text.parse();
    parsed
        .map(|size| size.as_u64())
        .map_err(|_| "it is a number of bytes, or one with a unit, such as 64KiB or 5MiB")
}

/// A size that a message can have: places in it are told by 32 bits.
fn message_size(text: &str) -> Result<u64, &'static str> {
    // Offsets are 32 bits wide; and what cannot hold a handshake cannot relay one.
    size(text).and_then(|size| {
        if (64 << 10..4 << 30).contains(&size) { Ok(size) } else { Err("it is from 64KiB to below 4GiB") }
    })
}

/// What is to be hidden.
fn redact(names: &str) -> Result<Redact, RedactError> {
    if names == "none" { Ok(Redact::nothing()) } else { Redact::parse(names) }
}
