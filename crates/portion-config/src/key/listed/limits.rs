//! How much a reply may be, and how long payloads are kept.

use super::{LEAST_BUDGET, LEAST_BYTES, MOST, USUAL};
use crate::key::{Flag, Group, Key, Kind, Standing};

const LIMITS: Key = Key { group: Group::Limits, ..USUAL };
const KEEPING: Key = Key { group: Group::Keeping, standing: Standing::Top, reloads: false, ..USUAL };
/// Seconds.
const YEAR: u64 = 365 * 24 * 60 * 60;
/// Held against the table of clients by a test.
const PRESETS: &[&str] = &[
    "none",
    "auto",
    "code",
    "claude-code",
    "claude-desktop",
    "codex",
    "copilot-cli",
    "vscode",
    "gemini-cli",
    "opencode",
    "goose",
    "chatgpt",
];

pub(super) static KEYS: &[Key] = &[
    Key {
        name: "profile",
        kind: Kind::Word(&["default", "lean", "soft"]),
        default: "default",
        value_name: "NAME",
        doc: "What replies are to be like where nothing more precise is written: default; lean, \
              smaller ones (replyTarget 1200, hardCap 4000, rows auto, redact secrets); or soft, pages so \
              large that few lists are paged (defaultPageSize 200)",
        ..LIMITS
    },
    Key {
        name: "tokenBudgetThreshold",
        kind: Kind::Whole(LEAST_BUDGET, MOST),
        default: "4000",
        value_name: "TOKENS",
        doc: "Tokens a reply may cost that was not asked to be larger",
        ..LIMITS
    },
    Key {
        name: "replyTarget",
        kind: Kind::Whole(LEAST_BUDGET, MOST),
        default: "the threshold",
        value_name: "TOKENS",
        doc: "Tokens such a reply aims at when the payload is oversized",
        ..LIMITS
    },
    Key {
        name: "hardCap",
        kind: Kind::Whole(2 * LEAST_BUDGET, MOST),
        default: "12000",
        value_name: "TOKENS",
        doc: "Tokens an explicit request (limit, fields=all, a range, maxTokens) may cost",
        ..LIMITS
    },
    Key {
        name: "hardByteLimit",
        kind: Kind::Size(LEAST_BYTES, u64::MAX),
        default: "64KiB",
        value_name: "SIZE",
        doc: "Wire bytes of a reply, whatever its tokens",
        ..LIMITS
    },
    Key {
        name: "fallbackByteLimit",
        kind: Kind::Size(LEAST_BYTES, u64::MAX),
        default: "10KiB",
        value_name: "SIZE",
        doc: "Wire bytes of a reply when counting tokens fails or is badly wrong",
        ..LIMITS
    },
    Key {
        name: "mediaByteLimit",
        kind: Kind::Size(0, u64::MAX),
        default: "5MiB",
        value_name: "SIZE",
        doc: "Bytes up to which an image or audio block passes untouched",
        ..LIMITS
    },
    Key {
        name: "mediaTokens",
        kind: Kind::Whole(0, MOST),
        default: "1600",
        value_name: "TOKENS",
        doc: "Tokens an image or audio block counts as",
        ..LIMITS
    },
    Key {
        name: "fullBelow",
        kind: Kind::Whole(0, MOST),
        default: "500",
        value_name: "TOKENS",
        doc: "Tokens up to which a payload passes whole, whatever it is",
        ..LIMITS
    },
    Key {
        name: "defaultPageSize",
        kind: Kind::Whole(1, MOST),
        default: "50",
        value_name: "ITEMS",
        doc: "Items of a page",
        ..LIMITS
    },
    Key {
        name: "pageSize",
        kind: Kind::Whole(1, MOST),
        value_name: "ITEMS",
        doc: "Items of a page: defaultPageSize, for an endpoint",
        standing: Standing::Endpoint,
        flag: Flag::Never,
        ..LIMITS
    },
    Key {
        name: "maxPageSize",
        kind: Kind::Whole(1, MOST),
        default: "200",
        value_name: "ITEMS",
        doc: "The most items of a page that can be asked for",
        ..LIMITS
    },
    Key {
        name: "summarizeAbove",
        kind: Kind::Whole(0, MOST),
        default: "2000",
        value_name: "TOKENS",
        doc: "Tokens above which a single object is summarized",
        ..LIMITS
    },
    Key {
        name: "chunkAbove",
        kind: Kind::Whole(0, MOST),
        default: "2000",
        value_name: "TOKENS",
        doc: "Tokens above which text is chunked",
        ..LIMITS
    },
    Key {
        name: "chunkSize",
        kind: Kind::Whole(100, MOST),
        default: "2000",
        value_name: "TOKENS",
        doc: "Tokens of a chunk",
        ..LIMITS
    },
    Key {
        name: "chunkLines",
        kind: Kind::Whole(1, MOST),
        default: "200",
        value_name: "LINES",
        doc: "Lines of a chunk",
        ..LIMITS
    },
    Key {
        name: "warnAt",
        kind: Kind::Share,
        default: "0.8",
        value_name: "SHARE",
        doc: "Share of the budget from which a reply names a narrower call",
        ..LIMITS
    },
    Key {
        name: "sessionBudget",
        kind: Kind::Whole(10 * LEAST_BUDGET, MOST),
        or: &["none"],
        default: "none",
        value_name: "TOKENS",
        doc: "Tokens a session may be served in all: as it fills, replies get smaller; none: any \
              number",
        standing: Standing::Server,
        ..LIMITS
    },
    Key {
        name: "preset",
        kind: Kind::Word(PRESETS),
        default: "none",
        value_name: "NAME",
        doc: "Whose limits to stay below where nothing else is given: none, auto (those of the \
              client that asks, if it is known), code (none, and callers are programs: see \
              allowWhole), or a client's, such as codex",
        standing: Standing::Top,
        ..LIMITS
    },
    Key {
        name: "tokenizer",
        kind: Kind::Word(&["auto", "o200k", "cl100k", "claude", "chars4", "len4"]),
        default: "auto",
        value_name: "NAME",
        doc: "What counts tokens: auto, o200k, cl100k, claude, chars4 or len4",
        standing: Standing::Top,
        ..LIMITS
    },
    Key {
        name: "tokenizerFactor",
        kind: Kind::Factor,
        default: "1",
        value_name: "FACTOR",
        doc: "What every count is multiplied by, to a thousandth: portion calibrate fits it to what a model \
              charged",
        standing: Standing::Top,
        ..LIMITS
    },
    Key {
        name: "requestTimeout",
        kind: Kind::Time(1, YEAR),
        or: &["off"],
        default: "10m",
        value_name: "TIME",
        doc: "How long a server may be silent about a request before that is answered with an error and cancelled; progress that \
              it reports starts the time anew",
        ..LIMITS
    },
    Key {
        name: "snapshotTtl",
        kind: Kind::Time(1, YEAR),
        default: "10m",
        value_name: "TIME",
        doc: "How long a payload is kept after the last cursor to it",
        ..KEEPING
    },
    Key {
        name: "snapshotMemory",
        kind: Kind::Size(0, u64::MAX),
        default: "512MiB",
        value_name: "SIZE",
        doc: "Memory for payloads that are kept",
        ..KEEPING
    },
    Key {
        name: "upstreamMessageLimit",
        kind: Kind::Size(64 << 10, (4 << 30) - 1),
        default: "256MiB",
        value_name: "SIZE",
        doc: "The largest message that is taken from a server; a larger one is answered with an error",
        ..KEEPING
    },
    Key {
        name: "clientMessageLimit",
        kind: Kind::Size(64 << 10, (4 << 30) - 1),
        default: "64MiB",
        value_name: "SIZE",
        doc: "The largest message that is taken from a client; a larger one is answered with an error",
        ..KEEPING
    },
];
