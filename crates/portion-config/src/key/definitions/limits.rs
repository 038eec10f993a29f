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

keys! {
    LIMITS {
        "profile" "NAME": Choice(&["default", "lean", "soft", "hostaway", "education-data"]) = "default",
            "Defaults for keys that are not set: default; lean, smaller replies; soft, pages of 200; or all \
             keys for an API: hostaway, education-data (`portion config show --profile NAME` prints them)";
        "tokenBudgetThreshold" "TOKENS": Integer(MIN_BUDGET, MAX_COUNT) = "4000",
            "Maximum tokens of a reply whose request sets no limits of its own";
        "replyTarget" "TOKENS": Integer(MIN_BUDGET, MAX_COUNT) = "the threshold",
            "Target tokens of such a reply if the result is too large";
        "rankedTarget" "TOKENS": Integer(MIN_BUDGET, MAX_COUNT) = "1800",
            "Target tokens of a first reply with ranked records; 600 with lean; replyTarget, if that or the \
             threshold is set";
        "hardCap" "TOKENS": Integer(2 * MIN_BUDGET, MAX_COUNT) = "12000",
            "Maximum tokens of a reply to a request for more (limit, fields=all, a range, maxTokens)";
        "hardByteLimit" "SIZE": Size(MIN_BYTES, u64::MAX) = "64KiB",
            "Maximum bytes of a reply, whatever its tokens";
        "fallbackByteLimit" "SIZE": Size(MIN_BYTES, u64::MAX) = "10KiB",
            "Maximum bytes of a reply if token counting fails or is far too low";
        "mediaByteLimit" "SIZE": Size(0, u64::MAX) = "5MiB",
            "Largest image or audio block that passes unchanged";
        "mediaTokens" "TOKENS": Integer(0, MAX_COUNT) = "1600",
            "Tokens that an image or audio block counts as";
        "fullBelow" "TOKENS": Integer(0, MAX_COUNT) = "500",
            "Results up to this many tokens pass whole";
        "defaultPageSize" "ITEMS": Integer(1, MAX_COUNT) = "50",
            "Items per page";
        "pageSize" "ITEMS": Integer(1, MAX_COUNT), placement: Placement::Endpoint, flag: CliFlag::Disabled,
            "Items per page of an endpoint, in place of defaultPageSize";
        "maxPageSize" "ITEMS": Integer(1, MAX_COUNT) = "200",
            "Most items per page that a caller can request";
        "summarizeAbove" "TOKENS": Integer(0, MAX_COUNT) = "2000",
            "Single objects above this many tokens are summarized";
        "chunkAbove" "TOKENS": Integer(0, MAX_COUNT) = "2000",
            "Texts above this many tokens are split into chunks";
        "chunkSize" "TOKENS": Integer(100, MAX_COUNT) = "2000",
            "Maximum tokens of a chunk";
        "chunkLines" "LINES": Integer(1, MAX_COUNT) = "200",
            "Maximum lines of a chunk";
        "warnAt" "SHARE": Fraction = "0.8",
            "Share of the budget from which a reply suggests a narrower call";
        "sessionBudget" "TOKENS": Integer(10 * MIN_BUDGET, MAX_COUNT) or ["none"] = "none",
            placement: Placement::TopOrUpstream,
            "Maximum tokens served to a session; replies shrink as it fills; none: unlimited";
        "preset" "NAME": Choice(PRESETS) = "auto", placement: Placement::Top,
            "Client whose limits replies stay below: auto, the connected one, if it is known; none; code, no \
             limits, for callers that are programs; or the name of a client";
        "tokenizer" "NAME": Choice(&["auto", "o200k", "cl100k", "claude", "chars4", "len4"]) = "auto",
            placement: Placement::Top,
            "Token counter: auto, o200k, cl100k, claude, chars4 or len4";
        "tokenizerFactor" "FACTOR": Factor = "1", placement: Placement::Top,
            "Factor for every token count, as portion calibrate computes it";
        "requestTimeout" "TIME": Duration(1, YEAR_SECONDS) or ["off"] = "10m",
            "Maximum silence of a server before its request ends with an error; progress restarts the time; \
             off: no limit";
    }

    RETENTION {
        "snapshotTtl" "TIME": Duration(1, YEAR_SECONDS) = "10m",
            "Time that a result is kept after its last cursor was issued; with wrap 1h";
        "snapshotMemory" "SIZE": Size(0, u64::MAX) = "512MiB",
            "Maximum memory for kept results";
        "store" "STORE": StoreUrl or ["memory", "file"] = "memory",
            "Place of kept results: memory; file, also private files that outlive a restart; or the URL of a \
             Redis or Valkey that instances share";
        "cursorKeys" "FILE": CursorKeys,
            "File with the keys that sign cursors: on each line at least 32 bytes in base64, the newest \
             first; needed for a shared store";
        "snapshotDisk" "SIZE": Size(0, u64::MAX) or ["off"] = "2GiB",
            "Maximum disk space for kept results: of a process, in a temporary file for what exceeds \
             snapshotMemory; with store file, of all processes of a user; off: no temporary file";
        "upstreamMessageLimit" "SIZE": Size(64 << 10, (4 << 30) - 1) = "256MiB",
            "Maximum bytes of a message from a server; a larger one becomes an error";
        "clientMessageLimit" "SIZE": Size(64 << 10, (4 << 30) - 1) = "64MiB",
            "Maximum bytes of a message from a client; a larger one gets an error";
    }
}
