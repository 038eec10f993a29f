//! Keys for the size of replies and the retention of payloads.

use crate::key::key_definition::{KEY_DEFAULTS, MAX_COUNT, MIN_BUDGET, MIN_BYTES};
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
    "codex-gpt",
    "copilot-cli",
    "copilot-jetbrains",
    "vscode",
    "gemini-cli",
    "opencode",
    "goose",
    "qwen-code",
    "kimi-code",
    "cline",
    "crush",
    "chatgpt",
];

pub(super) static KEYS: &[Key] = &[
    Key {
        name: "profile",
        kind: ValueKind::Choice(&["default", "lean", "soft", "hostaway", "education-data"]),
        default: "default",
        value_name: "NAME",
        doc: "Defaults for keys that are not set: default; lean, smaller replies; soft, pages of 200; or \
              all keys for an API: hostaway, education-data (`portion config show --profile NAME` prints \
              them)",
        ..LIMITS
    },
    Key {
        name: "tokenBudgetThreshold",
        kind: ValueKind::Integer(MIN_BUDGET, MAX_COUNT),
        default: "4000",
        value_name: "TOKENS",
        doc: "Maximum tokens of a reply whose request sets no limits of its own",
        ..LIMITS
    },
    Key {
        name: "replyTarget",
        kind: ValueKind::Integer(MIN_BUDGET, MAX_COUNT),
        default: "the threshold",
        value_name: "TOKENS",
        doc: "Target tokens of such a reply if the result is too large",
        ..LIMITS
    },
    Key {
        name: "rankedTarget",
        kind: ValueKind::Integer(MIN_BUDGET, MAX_COUNT),
        default: "1800",
        value_name: "TOKENS",
        doc: "Target tokens of a first reply with ranked records; 600 with lean; replyTarget, if that or \
              the threshold is set",
        ..LIMITS
    },
    Key {
        name: "hardCap",
        kind: ValueKind::Integer(2 * MIN_BUDGET, MAX_COUNT),
        default: "12000",
        value_name: "TOKENS",
        doc: "Maximum tokens of a reply to a request for more (limit, fields=all, a range, maxTokens)",
        ..LIMITS
    },
    Key {
        name: "hardByteLimit",
        kind: ValueKind::Size(MIN_BYTES, u64::MAX),
        default: "64KiB",
        value_name: "SIZE",
        doc: "Maximum bytes of a reply, whatever its tokens",
        ..LIMITS
    },
    Key {
        name: "fallbackByteLimit",
        kind: ValueKind::Size(MIN_BYTES, u64::MAX),
        default: "10KiB",
        value_name: "SIZE",
        doc: "Maximum bytes of a reply if token counting fails or is far too low",
        ..LIMITS
    },
    Key {
        name: "mediaByteLimit",
        kind: ValueKind::Size(0, u64::MAX),
        default: "5MiB",
        value_name: "SIZE",
        doc: "Largest image or audio block that passes unchanged",
        ..LIMITS
    },
    Key {
        name: "mediaTokens",
        kind: ValueKind::Integer(0, MAX_COUNT),
        default: "1600",
        value_name: "TOKENS",
        doc: "Tokens that an image or audio block counts as",
        ..LIMITS
    },
    Key {
        name: "fullBelow",
        kind: ValueKind::Integer(0, MAX_COUNT),
        default: "500",
        value_name: "TOKENS",
        doc: "Results up to this many tokens pass whole",
        ..LIMITS
    },
    Key {
        name: "defaultPageSize",
        kind: ValueKind::Integer(1, MAX_COUNT),
        default: "50",
        value_name: "ITEMS",
        doc: "Items per page",
        ..LIMITS
    },
    Key {
        name: "pageSize",
        kind: ValueKind::Integer(1, MAX_COUNT),
        value_name: "ITEMS",
        doc: "Items per page of an endpoint, in place of defaultPageSize",
        placement: Placement::Endpoint,
        flag: CliFlag::Disabled,
        ..LIMITS
    },
    Key {
        name: "maxPageSize",
        kind: ValueKind::Integer(1, MAX_COUNT),
        default: "200",
        value_name: "ITEMS",
        doc: "Most items per page that a caller can request",
        ..LIMITS
    },
    Key {
        name: "summarizeAbove",
        kind: ValueKind::Integer(0, MAX_COUNT),
        default: "2000",
        value_name: "TOKENS",
        doc: "Single objects above this many tokens are summarized",
        ..LIMITS
    },
    Key {
        name: "chunkAbove",
        kind: ValueKind::Integer(0, MAX_COUNT),
        default: "2000",
        value_name: "TOKENS",
        doc: "Texts above this many tokens are split into chunks",
        ..LIMITS
    },
    Key {
        name: "chunkSize",
        kind: ValueKind::Integer(100, MAX_COUNT),
        default: "2000",
        value_name: "TOKENS",
        doc: "Maximum tokens of a chunk",
        ..LIMITS
    },
    Key {
        name: "chunkLines",
        kind: ValueKind::Integer(1, MAX_COUNT),
        default: "200",
        value_name: "LINES",
        doc: "Maximum lines of a chunk",
        ..LIMITS
    },
    Key {
        name: "warnAt",
        kind: ValueKind::Fraction,
        default: "0.8",
        value_name: "SHARE",
        doc: "Share of the budget from which a reply suggests a narrower call",
        ..LIMITS
    },
    Key {
        name: "sessionBudget",
        kind: ValueKind::Integer(10 * MIN_BUDGET, MAX_COUNT),
        keywords: &["none"],
        default: "none",
        value_name: "TOKENS",
        doc: "Maximum tokens served to a session; replies shrink as it fills; none: unlimited",
        placement: Placement::TopOrUpstream,
        ..LIMITS
    },
    Key {
        name: "preset",
        kind: ValueKind::Choice(PRESETS),
        default: "auto",
        value_name: "NAME",
        doc: "Client whose limits replies stay below: auto, the connected one, if it is known; none; code, \
              no limits, for callers that are programs; or the name of a client",
        placement: Placement::Top,
        ..LIMITS
    },
    Key {
        name: "tokenizer",
        kind: ValueKind::Choice(&["auto", "o200k", "cl100k", "claude", "chars4", "len4"]),
        default: "auto",
        value_name: "NAME",
        doc: "Token counter: auto, o200k, cl100k, claude, chars4 or len4",
        placement: Placement::Top,
        ..LIMITS
    },
    Key {
        name: "tokenizerFactor",
        kind: ValueKind::Factor,
        default: "1",
        value_name: "FACTOR",
        doc: "Factor for every token count, as portion calibrate computes it",
        placement: Placement::Top,
        ..LIMITS
    },
    Key {
        name: "requestTimeout",
        kind: ValueKind::Duration(1, YEAR_SECONDS),
        keywords: &["off"],
        default: "10m",
        value_name: "TIME",
        doc: "Maximum silence of a server before its request ends with an error; progress restarts the \
              time; off: no limit",
        ..LIMITS
    },
    Key {
        name: "snapshotTtl",
        kind: ValueKind::Duration(1, YEAR_SECONDS),
        default: "10m",
        value_name: "TIME",
        doc: "Time that a result is kept after its last cursor was issued; with wrap 1h",
        ..RETENTION
    },
    Key {
        name: "snapshotMemory",
        kind: ValueKind::Size(0, u64::MAX),
        default: "512MiB",
        value_name: "SIZE",
        doc: "Maximum memory for kept results",
        ..RETENTION
    },
    Key {
        name: "store",
        kind: ValueKind::StoreUrl,
        keywords: &["memory", "file"],
        default: "memory",
        value_name: "STORE",
        doc: "Place of kept results: memory; file, also private files that outlive a restart; or the URL \
              of a Redis or Valkey that instances share",
        ..RETENTION
    },
    Key {
        name: "cursorKeys",
        kind: ValueKind::CursorKeys,
        value_name: "FILE",
        doc: "File with the keys that sign cursors: on each line at least 32 bytes in base64, the newest \
              first; needed for a shared store",
        ..RETENTION
    },
    Key {
        name: "snapshotDisk",
        kind: ValueKind::Size(0, u64::MAX),
        keywords: &["off"],
        default: "2GiB",
        value_name: "SIZE",
        doc: "Maximum disk space for kept results: of a process, in a temporary file for what exceeds \
              snapshotMemory; with store file, of all processes of a user; off: no temporary file",
        ..RETENTION
    },
    Key {
        name: "upstreamMessageLimit",
        kind: ValueKind::Size(64 << 10, (4 << 30) - 1),
        default: "256MiB",
        value_name: "SIZE",
        doc: "Maximum bytes of a message from a server; a larger one becomes an error",
        ..RETENTION
    },
    Key {
        name: "clientMessageLimit",
        kind: ValueKind::Size(64 << 10, (4 << 30) - 1),
        default: "64MiB",
        value_name: "SIZE",
        doc: "Maximum bytes of a message from a client; a larger one gets an error",
        ..RETENTION
    },
];
