//! What is known of payloads, and done to them.

use super::USUAL;
use crate::key::{Flag, Group, Key, Kind};

const PAYLOADS: Key = Key { group: Group::Payloads, ..USUAL };

pub(super) static KEYS: &[Key] = &[
    Key {
        name: "pagination",
        kind: Kind::Truth,
        default: "true",
        value_name: "BOOL",
        doc: "Whether lists are paged",
        ..PAYLOADS
    },
    Key {
        name: "summarization",
        kind: Kind::Truth,
        default: "true",
        value_name: "BOOL",
        doc: "Whether objects are summarized",
        ..PAYLOADS
    },
    Key {
        name: "chunking",
        kind: Kind::Truth,
        default: "true",
        value_name: "BOOL",
        doc: "Whether text is chunked",
        ..PAYLOADS
    },
    Key {
        name: "query",
        kind: Kind::Truth,
        default: "true",
        value_name: "BOOL",
        doc: "Whether what is kept can be asked about",
        ..PAYLOADS
    },
    Key {
        name: "items",
        kind: Kind::Text,
        or: &["auto"],
        default: "auto",
        value_name: "PATH",
        doc: "Where the list of a payload is, a JSON Pointer or a dotted path; auto: it is found",
        ..PAYLOADS
    },
    Key {
        name: "summaryFields",
        kind: Kind::Names,
        or: &["auto"],
        default: "auto",
        value_name: "FIELDS",
        doc: "Fields that summaries and condensed records keep before all others, dotted paths; \
              auto: those that tell most",
        ..PAYLOADS
    },
    Key {
        name: "sections",
        kind: Kind::Sections,
        or: &["none"],
        default: "none",
        value_name: "MAP",
        doc: "Parts of an object that can be asked for by a name: {price: [price.total, \
              currency]}",
        flag: Flag::Never,
        ..PAYLOADS
    },
    Key {
        name: "sort",
        kind: Kind::Text,
        or: &["none"],
        default: "none",
        value_name: "ORDER",
        doc: "The order of a list that nobody asked to be in any, such as `created desc`; none: \
              as strategy says",
        // As an option it is what a caller asks for: `portion shape --sort`.
        flag: Flag::Never,
        ..PAYLOADS
    },
    Key {
        name: "strategy",
        kind: Kind::Word(&["auto", "plain", "ranked"]),
        default: "auto",
        value_name: "NAME",
        doc: "The order of a list that nobody asked to be in any: ranked, by score where every \
              record has one; auto, so where it is what retrieval brings; or plain, as it came",
        ..PAYLOADS
    },
    Key {
        name: "fill",
        kind: Kind::Word(&["stop", "skip", "value"]),
        default: "stop",
        value_name: "NAME",
        doc: "Which of ranked records are shown: stop, the best until the next would exceed the \
              budget; skip, passing over those that do not fit; or value, by score and likeness to the \
              best, and at the end for what they cost",
        ..PAYLOADS
    },
    Key {
        name: "mode",
        kind: Kind::Word(&["production", "development"]),
        default: "production",
        value_name: "NAME",
        doc: "Whether noise (stripFields) is left out of views: production, it is; development, \
              it is not",
        ..PAYLOADS
    },
    Key {
        name: "stripFields",
        kind: Kind::Names,
        or: &["usual", "none"],
        default: "usual",
        value_name: "FIELDS",
        doc: "Fields that are noise: usual, a short list of what frameworks add, and fields that are \
              null; or names with * for any characters, dotted paths, null-only; fields=all and raw \
              bring them back; none: no field is",
        ..PAYLOADS
    },
    Key {
        name: "redact",
        kind: Kind::Redact,
        or: &["none"],
        default: "none",
        value_name: "NAMES",
        doc: "Hide values by the names of their fields: secrets (passwords, tokens, door codes), \
              which it is alone, names with * for any characters, dotted paths, or none",
        flag: Flag::Bare("secrets"),
        ..PAYLOADS
    },
];
