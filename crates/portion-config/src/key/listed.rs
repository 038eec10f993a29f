//! The table of all keys. A key is added here, and given its meaning where [`config`](crate::config) makes a
//! [`Written`](portion_gateway::book::Written) of it; all else follows.

use portion_core::policy;

use super::{Flag, Group, Key, Kind, Standing};

const LEAST_BUDGET: u64 = policy::LEAST_BUDGET as u64;
const LEAST_BYTES: u64 = policy::LEAST_BYTES as u64;
/// The most of anything that is counted: far above what any model takes.
const MOST: u64 = 1_000_000_000;
/// Seconds.
const YEAR: u64 = 365 * 24 * 60 * 60;
/// Held against the table of clients by a test.
const PRESETS: &[&str] = &[
    "none",
    "auto",
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

/// What most keys are.
const USUAL: Key = Key {
    name: "",
    kind: Kind::Truth,
    or: &[],
    default: "",
    value_name: "",
    doc: "",
    group: Group::Limits,
    standing: Standing::Everywhere,
    reloads: true,
    flag: Flag::Named,
};

/// Every key.
pub static KEYS: &[Key] = &[
    Key {
        name: "profile",
        kind: Kind::Word(&["default", "lean", "soft"]),
        default: "default",
        value_name: "NAME",
        doc: "What replies are to be like where nothing more precise is written: default; lean, \
              smaller ones (replyTarget 1200, hardCap 4000, rows auto, redact secrets); or soft, pages \
              so large that few lists are paged (defaultPageSize 200)",
        group: Group::Limits,
        ..USUAL
    },
    Key {
        name: "tokenBudgetThreshold",
        kind: Kind::Whole(LEAST_BUDGET, MOST),
        default: "4000",
        value_name: "TOKENS",
        doc: "Tokens a reply may cost that was not asked to be larger",
        group: Group::Limits,
        ..USUAL
    },
    Key {
        name: "replyTarget",
        kind: Kind::Whole(LEAST_BUDGET, MOST),
        default: "the threshold",
        value_name: "TOKENS",
        doc: "Tokens such a reply aims at when the payload is oversized",
        group: Group::Limits,
        ..USUAL
    },
    Key {
        name: "hardCap",
        kind: Kind::Whole(2 * LEAST_BUDGET, MOST),
        default: "12000",
        value_name: "TOKENS",
        doc: "Tokens an explicit request (limit, fields=all, a range, maxTokens) may cost",
        group: Group::Limits,
        ..USUAL
    },
    Key {
        name: "hardByteLimit",
        kind: Kind::Size(LEAST_BYTES, u64::MAX),
        default: "64KiB",
        value_name: "SIZE",
        doc: "Wire bytes of a reply, whatever its tokens",
        group: Group::Limits,
        ..USUAL
    },
    Key {
        name: "fallbackByteLimit",
        kind: Kind::Size(LEAST_BYTES, u64::MAX),
        default: "10KiB",
        value_name: "SIZE",
        doc: "Wire bytes of a reply when counting tokens fails or is badly wrong",
        group: Group::Limits,
        ..USUAL
    },
    Key {
        name: "mediaByteLimit",
        kind: Kind::Size(0, u64::MAX),
        default: "5MiB",
        value_name: "SIZE",
        doc: "Bytes up to which an image or audio block passes untouched",
        group: Group::Limits,
        ..USUAL
    },
    Key {
        name: "mediaTokens",
        kind: Kind::Whole(0, MOST),
        default: "1600",
        value_name: "TOKENS",
        doc: "Tokens an image or audio block counts as",
        group: Group::Limits,
        ..USUAL
    },
    Key {
        name: "fullBelow",
        kind: Kind::Whole(0, MOST),
        default: "500",
        value_name: "TOKENS",
        doc: "Tokens up to which a payload passes whole, whatever it is",
        group: Group::Limits,
        ..USUAL
    },
    Key {
        name: "defaultPageSize",
        kind: Kind::Whole(1, MOST),
        default: "50",
        value_name: "ITEMS",
        doc: "Items of a page",
        group: Group::Limits,
        ..USUAL
    },
    Key {
        name: "pageSize",
        kind: Kind::Whole(1, MOST),
        value_name: "ITEMS",
        doc: "Items of a page: defaultPageSize, for an endpoint",
        group: Group::Limits,
        standing: Standing::Endpoint,
        flag: Flag::Never,
        ..USUAL
    },
    Key {
        name: "maxPageSize",
        kind: Kind::Whole(1, MOST),
        default: "200",
        value_name: "ITEMS",
        doc: "The most items of a page that can be asked for",
        group: Group::Limits,
        ..USUAL
    },
    Key {
        name: "summarizeAbove",
        kind: Kind::Whole(0, MOST),
        default: "2000",
        value_name: "TOKENS",
        doc: "Tokens above which a single object is summarized",
        group: Group::Limits,
        ..USUAL
    },
    Key {
        name: "chunkAbove",
        kind: Kind::Whole(0, MOST),
        default: "2000",
        value_name: "TOKENS",
        doc: "Tokens above which text is chunked",
        group: Group::Limits,
        ..USUAL
    },
    Key {
        name: "chunkSize",
        kind: Kind::Whole(100, MOST),
        default: "2000",
        value_name: "TOKENS",
        doc: "Tokens of a chunk",
        group: Group::Limits,
        ..USUAL
    },
    Key {
        name: "chunkLines",
        kind: Kind::Whole(1, MOST),
        default: "200",
        value_name: "LINES",
        doc: "Lines of a chunk",
        group: Group::Limits,
        ..USUAL
    },
    Key {
        name: "warnAt",
        kind: Kind::Share,
        default: "0.8",
        value_name: "SHARE",
        doc: "Share of the budget from which a reply names a narrower call",
        group: Group::Limits,
        ..USUAL
    },
    Key {
        name: "sessionBudget",
        kind: Kind::Whole(10 * LEAST_BUDGET, MOST),
        or: &["none"],
        default: "none",
        value_name: "TOKENS",
        doc: "Tokens a session may be served in all: as it fills, replies get smaller; none: any \
              number",
        group: Group::Limits,
        standing: Standing::Server,
        ..USUAL
    },
    Key {
        name: "preset",
        kind: Kind::Word(PRESETS),
        default: "none",
        value_name: "NAME",
        doc: "Whose limits to stay below where nothing else is given: none, auto (those of the client \
              that asks, if it is known), or a client's, such as codex",
        group: Group::Limits,
        standing: Standing::Top,
        ..USUAL
    },
    Key {
        name: "tokenizer",
        kind: Kind::Word(&["auto", "o200k", "cl100k", "claude", "chars4", "len4"]),
        default: "auto",
        value_name: "NAME",
        doc: "What counts tokens: auto, o200k, cl100k, claude, chars4 or len4",
        group: Group::Limits,
        standing: Standing::Top,
        ..USUAL
    },
    Key {
        name: "snapshotTtl",
        kind: Kind::Time(1, YEAR),
        default: "10m",
        value_name: "TIME",
        doc: "How long a payload is kept after the last cursor to it",
        group: Group::Keeping,
        standing: Standing::Top,
        reloads: false,
        ..USUAL
    },
    Key {
        name: "snapshotMemory",
        kind: Kind::Size(0, u64::MAX),
        default: "512MiB",
        value_name: "SIZE",
        doc: "Memory for payloads that are kept",
        group: Group::Keeping,
        standing: Standing::Top,
        reloads: false,
        ..USUAL
    },
    Key {
        name: "upstreamMessageLimit",
        kind: Kind::Size(64 << 10, (4 << 30) - 1),
        default: "256MiB",
        value_name: "SIZE",
        doc: "The largest message that is taken; a larger one is answered with an error",
        group: Group::Keeping,
        standing: Standing::Top,
        reloads: false,
        ..USUAL
    },
    Key {
        name: "pagination",
        kind: Kind::Truth,
        default: "true",
        value_name: "BOOL",
        doc: "Whether lists are paged",
        group: Group::Payloads,
        ..USUAL
    },
    Key {
        name: "summarization",
        kind: Kind::Truth,
        default: "true",
        value_name: "BOOL",
        doc: "Whether objects are summarized",
        group: Group::Payloads,
        ..USUAL
    },
    Key {
        name: "chunking",
        kind: Kind::Truth,
        default: "true",
        value_name: "BOOL",
        doc: "Whether text is chunked",
        group: Group::Payloads,
        ..USUAL
    },
    Key {
        name: "query",
        kind: Kind::Truth,
        default: "true",
        value_name: "BOOL",
        doc: "Whether what is kept can be asked about",
        group: Group::Payloads,
        ..USUAL
    },
    Key {
        name: "items",
        kind: Kind::Text,
        or: &["auto"],
        default: "auto",
        value_name: "PATH",
        doc: "Where the list of a payload is, a JSON Pointer or a dotted path; auto: it is found",
        group: Group::Payloads,
        ..USUAL
    },
    Key {
        name: "summaryFields",
        kind: Kind::Names,
        or: &["auto"],
        default: "auto",
        value_name: "FIELDS",
        doc: "Fields that summaries and condensed records keep before all others, dotted paths; auto: \
              those that tell most",
        group: Group::Payloads,
        ..USUAL
    },
    Key {
        name: "sections",
        kind: Kind::Sections,
        or: &["none"],
        default: "none",
        value_name: "MAP",
        doc: "Parts of an object that can be asked for by a name: {price: [price.total, currency]}",
        group: Group::Payloads,
        flag: Flag::Never,
        ..USUAL
    },
    Key {
        name: "sort",
        kind: Kind::Text,
        or: &["none"],
        default: "none",
        value_name: "ORDER",
        doc: "The order of a list that nobody asked to be in any, such as `created desc`; none: as \
              strategy says",
        group: Group::Payloads,
        ..USUAL
    },
    Key {
        name: "strategy",
        kind: Kind::Word(&["auto", "plain", "ranked"]),
        default: "auto",
        value_name: "NAME",
        doc: "The order of a list that nobody asked to be in any: ranked, by score where every record \
              has one; auto, so where it is what retrieval brings; or plain, as it came",
        group: Group::Payloads,
        ..USUAL
    },
    Key {
        name: "fill",
        kind: Kind::Word(&["stop", "skip", "value"]),
        default: "stop",
        value_name: "NAME",
        doc: "Which of ranked records are shown: stop, the best until the next would exceed the \
              budget; skip, passing over those that do not fit; or value, by score and likeness to the \
              best, and at the end for what they cost",
        group: Group::Payloads,
        ..USUAL
    },
    Key {
        name: "mode",
        kind: Kind::Word(&["production", "development"]),
        default: "production",
        value_name: "NAME",
        doc: "Whether noise (stripFields) is left out of views: production, it is; development, it is \
              not",
        group: Group::Payloads,
        ..USUAL
    },
    Key {
        name: "stripFields",
        kind: Kind::Names,
        or: &["none"],
        default: "_links,__typename,debug,trace",
        value_name: "FIELDS",
        doc: "Fields that are noise: names with * for any characters, dotted paths; fields=all and raw \
              bring them back; none: no field is",
        group: Group::Payloads,
        ..USUAL
    },
    Key {
        name: "redact",
        kind: Kind::Redact,
        or: &["none"],
        default: "none",
        value_name: "NAMES",
        doc: "Hide values by the names of their fields: secrets (passwords, tokens, door codes), which \
              it is alone, names with * for any characters, dotted paths, or none",
        group: Group::Payloads,
        flag: Flag::Bare("secrets"),
        ..USUAL
    },
    Key {
        name: "metadata",
        kind: Kind::Word(&["when-shaped", "always"]),
        default: "when-shaped",
        value_name: "WHEN",
        doc: "When a notice is added to a reply: when-shaped, where something was left out, or always",
        group: Group::Replies,
        ..USUAL
    },
    Key {
        name: "metadataStyle",
        kind: Kind::Word(&["camel", "snake"]),
        default: "camel",
        value_name: "STYLE",
        doc: "How the keys of a notice are written: camel (totalCount) or snake (total_count, \
              current_page, page_size, has_more, next_page)",
        group: Group::Replies,
        ..USUAL
    },
    Key {
        name: "envelope",
        kind: Kind::Word(&["auto", "wrap"]),
        default: "auto",
        value_name: "HOW",
        doc: "In what a portion is put: auto, the payload keeps its shape; wrap, an object of our own",
        group: Group::Replies,
        ..USUAL
    },
    Key {
        name: "rows",
        kind: Kind::Word(&["objects", "auto"]),
        default: "objects",
        value_name: "HOW",
        doc: "How records are written in text: objects, as they came, or auto, as a table where that \
              costs less",
        group: Group::Replies,
        ..USUAL
    },
    Key {
        name: "controls",
        kind: Kind::Truth,
        or: &["auto"],
        default: "auto",
        value_name: "BOOL",
        doc: "Whether limit, cursor and fields are taken on calls of an endpoint itself; auto: where \
              its schema leaves room for them",
        group: Group::Replies,
        ..USUAL
    },
    Key {
        name: "reuse",
        kind: Kind::Truth,
        or: &["auto"],
        default: "auto",
        value_name: "BOOL",
        doc: "Whether an equal call may be answered from what is kept, whatever is selected of it; \
              auto: where the endpoint says that it is read-only",
        group: Group::Replies,
        ..USUAL
    },
    Key {
        name: "rollout",
        kind: Kind::Percent,
        default: "100",
        value_name: "PERCENT",
        doc: "For how many sessions in a hundred replies are shaped; a session that is in stays in as \
              the share grows",
        group: Group::Rollout,
        ..USUAL
    },
    Key {
        name: "experiment",
        kind: Kind::Experiment,
        or: &["none", "shadow"],
        default: "none",
        value_name: "HOW",
        doc: "What is compared: none; shadow, replies are relayed as they come and what shaping would \
              have served is recorded; or {split: 50}, so many sessions in a hundred are shaped",
        group: Group::Rollout,
        ..USUAL
    },
    Key {
        name: "split",
        kind: Kind::Percent,
        value_name: "PERCENT",
        doc: "The same as an experiment {split: PERCENT}",
        group: Group::Rollout,
        ..USUAL
    },
    Key {
        name: "unshapedByteLimit",
        kind: Kind::Size(LEAST_BYTES, u64::MAX),
        or: &["none"],
        default: "none",
        value_name: "SIZE",
        doc: "Bytes above which even a reply that is to be relayed as it comes is shaped; none: \
              whatever its size",
        group: Group::Rollout,
        ..USUAL
    },
    Key {
        name: "dryRun",
        kind: Kind::Truth,
        default: "false",
        value_name: "BOOL",
        doc: "Relay every reply as it comes, and record what shaping would have served",
        group: Group::Rollout,
        standing: Standing::Top,
        flag: Flag::Bare("true"),
        ..USUAL
    },
    Key {
        name: "catalog",
        kind: Kind::Word(&["full", "trim", "lazy"]),
        default: "full",
        value_name: "STYLE",
        doc: "How much the list of tools says: full, trim (first sentences, schemas without noise) or \
              lazy (one line each, and a tool that describes the others)",
        group: Group::Tools,
        standing: Standing::Server,
        reloads: false,
        ..USUAL
    },
    Key {
        name: "advertise",
        kind: Kind::Names,
        or: &["lists", "all", "none"],
        default: "lists",
        value_name: "TOOLS",
        doc: "Which tools are listed with limit, cursor and fields: lists (those that answer with \
              lists), all, none, or names with * for any characters",
        group: Group::Tools,
        standing: Standing::Server,
        reloads: false,
        ..USUAL
    },
    Key {
        name: "readTool",
        kind: Kind::ToolName,
        default: "portion_read",
        value_name: "NAME",
        doc: "The name under which our reading tool is listed",
        group: Group::Tools,
        standing: Standing::Server,
        reloads: false,
        ..USUAL
    },
    Key {
        name: "queryTool",
        kind: Kind::ToolName,
        or: &["none"],
        default: "portion_query",
        value_name: "NAME",
        doc: "The name under which our querying tool is listed; none: it is not",
        group: Group::Tools,
        standing: Standing::Server,
        reloads: false,
        ..USUAL
    },
    Key {
        name: "describeTool",
        kind: Kind::ToolName,
        default: "portion_describe",
        value_name: "NAME",
        doc: "The name under which our describing tool is listed, with catalog lazy",
        group: Group::Tools,
        standing: Standing::Server,
        reloads: false,
        ..USUAL
    },
    Key {
        name: "endpoints",
        kind: Kind::Endpoints,
        value_name: "MAP",
        doc: "Settings for what a pattern matches: a name, a name with * for any characters, a \
              resource's URI, a route (GET /bookings/{id})",
        group: Group::Servers,
        standing: Standing::Server,
        flag: Flag::Never,
        ..USUAL
    },
    Key {
        name: "upstreams",
        kind: Kind::Upstreams,
        value_name: "MAP",
        doc: "The servers that we stand in front of, by name, each with url or command and settings of \
              its own",
        group: Group::Servers,
        standing: Standing::Top,
        reloads: false,
        flag: Flag::Never,
        ..USUAL
    },
    Key {
        name: "url",
        kind: Kind::Url,
        value_name: "URL",
        doc: "Where a server over HTTP is",
        group: Group::Servers,
        standing: Standing::Upstream,
        reloads: false,
        flag: Flag::Never,
        ..USUAL
    },
    Key {
        name: "headers",
        kind: Kind::Secrets,
        value_name: "MAP",
        doc: "What each request to it carries; secrets by ${NAME} or ${file:/path}",
        group: Group::Servers,
        standing: Standing::Upstream,
        reloads: false,
        flag: Flag::Never,
        ..USUAL
    },
    Key {
        name: "transport",
        kind: Kind::Word(&["auto", "http", "sse"]),
        default: "auto",
        value_name: "NAME",
        doc: "How it speaks: auto finds out, http is streamable HTTP, sse that of 2024-11-05",
        group: Group::Servers,
        standing: Standing::Upstream,
        reloads: false,
        flag: Flag::Never,
        ..USUAL
    },
    Key {
        name: "command",
        kind: Kind::Command,
        value_name: "CMD",
        doc: "What starts a server: a list of words, or a line as a shell would take it",
        group: Group::Servers,
        standing: Standing::Upstream,
        reloads: false,
        flag: Flag::Never,
        ..USUAL
    },
    Key {
        name: "env",
        kind: Kind::Secrets,
        value_name: "MAP",
        doc: "Variables that it gets beside ours; secrets by ${NAME} or ${file:/path}",
        group: Group::Servers,
        standing: Standing::Upstream,
        reloads: false,
        flag: Flag::Never,
        ..USUAL
    },
    Key {
        name: "listen",
        kind: Kind::Address,
        default: "127.0.0.1:8765",
        value_name: "ADDRESS",
        doc: "Where to listen; port 0 takes a free one",
        group: Group::Listeners,
        standing: Standing::Top,
        reloads: false,
        ..USUAL
    },
    Key {
        name: "admin",
        kind: Kind::Address,
        or: &["off"],
        default: "127.0.0.1:9465",
        value_name: "ADDRESS",
        doc: "Where health, metrics and records are served; off: nowhere",
        group: Group::Listeners,
        standing: Standing::Top,
        reloads: false,
        ..USUAL
    },
    Key {
        name: "allowHosts",
        kind: Kind::Names,
        or: &["none"],
        default: "none",
        value_name: "HOSTS",
        doc: "Further Hosts by which we may be asked, on loopback",
        group: Group::Listeners,
        standing: Standing::Top,
        reloads: false,
        flag: Flag::Called("allow-host"),
        ..USUAL
    },
    Key {
        name: "allowOrigins",
        kind: Kind::Names,
        or: &["none"],
        default: "none",
        value_name: "ORIGINS",
        doc: "Origins whose pages may ask, such as https://app.example.com",
        group: Group::Listeners,
        standing: Standing::Top,
        reloads: false,
        flag: Flag::Called("allow-origin"),
        ..USUAL
    },
    Key {
        name: "telemetry",
        kind: Kind::Text,
        or: &["off", "auto"],
        default: "auto",
        value_name: "FILE",
        doc: "Where requests are recorded, in sizes and codes, never content: auto, the user's data directory; a file; or \
              off",
        group: Group::Log,
        standing: Standing::Top,
        reloads: false,
        ..USUAL
    },
    Key {
        name: "logLevel",
        kind: Kind::Word(&["off", "error", "warn", "info", "debug", "trace"]),
        default: "warn",
        value_name: "LEVEL",
        doc: "What is told on stderr: off, error, warn, info, debug or trace",
        group: Group::Log,
        standing: Standing::Top,
        reloads: false,
        ..USUAL
    },
    Key {
        name: "logFormat",
        kind: Kind::Word(&["text", "json"]),
        default: "text",
        value_name: "FORMAT",
        doc: "How it is told: text or json",
        group: Group::Log,
        standing: Standing::Top,
        reloads: false,
        ..USUAL
    },
];
