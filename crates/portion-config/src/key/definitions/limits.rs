//! Keys for the size of replies and the retention of payloads.

use super::{KEY_DEFAULTS, MAX_COUNT, MIN_BUDGET, MIN_BYTES};
use crate::key::{CliFlag, Key, KeyGroup, Placement, ValueKind};

const LIMITS: Key = Key { group: KeyGroup::Limits, ..KEY_DEFAULTS };
const RETENTION: Key =
    Key { group: KeyGroup::Retention, placement: Placement::Top, is_reloadable: false, ..KEY_DEFAULTS };
/// Seconds in a year.
const YEAR_SECONDS: u64 = 365 * 24 * 60 * 60;
/// Names of client presets; a test compares them with the client table.
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
        kind: ValueKind::Choice(&["default", "lean", "soft"]),
        default: "default",
        value_name: "NAME",
        doc: "What replies are to be like where nothing more precise is written: default; lean, \
              smaller ones (replyTarget 1200, hardCap 4000, rows auto, redact secrets); or soft, pages so \
              large that few lists are paged (defaultPageSize 200)",
        ..LIMITS
    },
    Key {
        name: "tokenBudgetThreshold",
        kind: ValueKind::Integer(MIN_BUDGET, MAX_COUNT),
        default: "4000",
        value_name: "TOKENS",
        doc: "Tokens a reply may cost that was not asked to be larger",
        ..LIMITS
    },
    Key {
        name: "replyTarget",
        kind: ValueKind::Integer(MIN_BUDGET, MAX_COUNT),
        default: "the threshold",
        value_name: "TOKENS",
        doc: "Tokens such a reply aims at when the payload is oversized",
        ..LIMITS
    },
    Key {
        name: "hardCap",
        kind: ValueKind::Integer(2 * MIN_BUDGET, MAX_COUNT),
        default: "12000",
        value_name: "TOKENS",
        doc: "Tokens an explicit request (limit, fields=all, a range, maxTokens) may cost",
        ..LIMITS
    },
    Key {
        name: "hardByteLimit",
        kind: ValueKind::Size(MIN_BYTES, u64::MAX),
        default: "64KiB",
        value_name: "SIZE",
        doc: "Wire bytes of a reply, whatever its tokens",
        ..LIMITS
    },
    Key {
        name: "fallbackByteLimit",
        kind: ValueKind::Size(MIN_BYTES, u64::MAX),
        default: "10KiB",
        value_name: "SIZE",
        doc: "Wire bytes of a reply when counting tokens fails or is badly wrong",
        ..LIMITS
    },
    Key {
        name: "mediaByteLimit",
        kind: ValueKind::Size(0, u64::MAX),
        default: "5MiB",
        value_name: "SIZE",
        doc: "Bytes up to which an image or audio block passes untouched",
        ..LIMITS
    },
    Key {
        name: "mediaTokens",
        kind: ValueKind::Integer(0, MAX_COUNT),
        default: "1600",
        value_name: "TOKENS",
        doc: "Tokens an image or audio block counts as",
        ..LIMITS
    },
    Key {
        name: "fullBelow",
        kind: ValueKind::Integer(0, MAX_COUNT),
        default: "500",
        value_name: "TOKENS",
        doc: "Tokens up to which a payload passes whole, whatever it is",
        ..LIMITS
    },
    Key {
        name: "defaultPageSize",
        kind: ValueKind::Integer(1, MAX_COUNT),
        default: "50",
        value_name: "ITEMS",
        doc: "Items of a page",
        ..LIMITS
    },
    Key {
        name: "pageSize",
        kind: ValueKind::Integer(1, MAX_COUNT),
        value_name: "ITEMS",
        doc: "Items of a page: defaultPageSize, for an endpoint",
        placement: Placement::Endpoint,
        flag: CliFlag::Disabled,
        ..LIMITS
    },
    Key {
        name: "maxPageSize",
        kind: ValueKind::Integer(1, MAX_COUNT),
        default: "200",
        value_name: "ITEMS",
        doc: "The most items of a page that can be asked for",
        ..LIMITS
    },
    Key {
        name: "summarizeAbove",
        kind: ValueKind::Integer(0, MAX_COUNT),
        default: "2000",
        value_name: "TOKENS",
        doc: "Tokens above which a single object is summarized",
        ..LIMITS
    },
    Key {
        name: "chunkAbove",
        kind: ValueKind::Integer(0, MAX_COUNT),
        default: "2000",
        value_name: "TOKENS",
        doc: "Tokens above which text is chunked",
        ..LIMITS
    },
    Key {
        name: "chunkSize",
        kind: ValueKind::Integer(100, MAX_COUNT),
        default: "2000",
        value_name: "TOKENS",
        doc: "Tokens of a chunk",
        ..LIMITS
    },
    Key {
        name: "chunkLines",
        kind: ValueKind::Integer(1, MAX_COUNT),
        default: "200",
        value_name: "LINES",
        doc: "Lines of a chunk",
        ..LIMITS
    },
    Key {
        name: "warnAt",
        kind: ValueKind::Fraction,
        default: "0.8",
        value_name: "SHARE",
        doc: "Share of the budget from which a reply names a narrower call",
        ..LIMITS
    },
    Key {
        name: "sessionBudget",
        kind: ValueKind::Integer(10 * MIN_BUDGET, MAX_COUNT),
        keywords: &["none"],
        default: "none",
        value_name: "TOKENS",
        doc: "Tokens a session may be served in all: as it fills, replies get smaller; none: any \
              number",
        placement: Placement::TopOrUpstream,
        ..LIMITS
    },
    Key {
        name: "preset",
        kind: ValueKind::Choice(PRESETS),
        default: "none",
        value_name: "NAME",
        doc: "Whose limits to stay below where nothing else is given: none, auto (those of the \
              client that asks, if it is known), code (none, and callers are programs: see \
              allowWhole), or a client's, such as codex",
        placement: Placement::Top,
        ..LIMITS
    },
    Key {
        name: "tokenizer",
        kind: ValueKind::Choice(&["auto", "o200k", "cl100k", "claude", "chars4", "len4"]),
        default: "auto",
        value_name: "NAME",
        doc: "What counts tokens: auto, o200k, cl100k, claude, chars4 or len4",
        placement: Placement::Top,
        ..LIMITS
    },
    Key {
        name: "tokenizerFactor",
        kind: ValueKind::Factor,
        default: "1",
        value_name: "FACTOR",
        doc: "What every count is multiplied by, to a thousandth: portion calibrate fits it to what a model \
              charged",
        placement: Placement::Top,
        ..LIMITS
    },
    Key {
        name: "requestTimeout",
        kind: ValueKind::Duration(1, YEAR_SECONDS),
        keywords: &["off"],
        default: "10m",
        value_name: "TIME",
        doc: "How long a server may be silent about a request before that is answered with an error and cancelled; progress that \
              it reports starts the time anew",
        ..LIMITS
    },
    Key {
        name: "snapshotTtl",
        kind: ValueKind::Duration(1, YEAR_SECONDS),
        default: "10m",
        value_name: "TIME",
        doc: "How long a payload is kept after the last cursor to it",
        ..RETENTION
    },
    Key {
        name: "snapshotMemory",
        kind: ValueKind::Size(0, u64::MAX),
        default: "512MiB",
        value_name: "SIZE",
        doc: "Memory for payloads that are kept",
        ..RETENTION
    },
    Key {
        name: "upstreamMessageLimit",
        kind: ValueKind::Size(64 << 10, (4 << 30) - 1),
        default: "256MiB",
        value_name: "SIZE",
        doc: "The largest message that is taken from a server; a larger one is answered with an error",
        ..RETENTION
    },
    Key {
        name: "clientMessageLimit",
        kind: ValueKind::Size(64 << 10, (4 << 30) - 1),
        default: "64MiB",
        value_name: "SIZE",
        doc: "The largest message that is taken from a client; a larger one is answered with an error",
        ..RETENTION
    },
];
