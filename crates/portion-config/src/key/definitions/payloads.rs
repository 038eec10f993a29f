//! Keys for knowledge about payloads and their treatment.

use super::KEY_DEFAULTS;
use crate::key::{CliFlag, Key, KeyGroup, ValueKind};

const PAYLOADS: Key = Key { group: KeyGroup::Payloads, ..KEY_DEFAULTS };

pub(super) static KEYS: &[Key] = &[
    Key {
        name: "pagination",
        kind: ValueKind::Boolean,
        default: "true",
        value_name: "BOOL",
        doc: "Whether lists are paged",
        ..PAYLOADS
    },
    Key {
        name: "summarization",
        kind: ValueKind::Boolean,
        default: "true",
        value_name: "BOOL",
        doc: "Whether objects are summarized",
        ..PAYLOADS
    },
    Key {
        name: "chunking",
        kind: ValueKind::Boolean,
        default: "true",
        value_name: "BOOL",
        doc: "Whether text is chunked",
        ..PAYLOADS
    },
    Key {
        name: "query",
        kind: ValueKind::Boolean,
        default: "true",
        value_name: "BOOL",
        doc: "Whether what is kept can be asked about",
        ..PAYLOADS
    },
    Key {
        name: "items",
        kind: ValueKind::Text,
        keywords: &["auto"],
        default: "auto",
        value_name: "PATH",
        doc: "Where the list of a payload is, a JSON Pointer or a dotted path; auto: it is found",
        ..PAYLOADS
    },
    Key {
        name: "summaryFields",
        kind: ValueKind::Names,
        keywords: &["auto"],
        default: "auto",
        value_name: "FIELDS",
        doc: "Fields that summaries and condensed records keep before all others, dotted paths; \
              auto: those that tell most",
        ..PAYLOADS
    },
    Key {
        name: "sections",
        kind: ValueKind::Sections,
        keywords: &["none"],
        default: "none",
        value_name: "MAP",
        doc: "Parts of an object that can be asked for by a name: {price: [price.total, \
              currency]}",
        flag: CliFlag::Disabled,
        ..PAYLOADS
    },
    Key {
        name: "sort",
        kind: ValueKind::Text,
        keywords: &["none"],
        default: "none",
        value_name: "ORDER",
        doc: "The order of a list that nobody asked to be in any, such as `created desc`; none: \
              as strategy says",
        // The option of that name is a control of the request: `portion shape --sort`.
        flag: CliFlag::Disabled,
        ..PAYLOADS
    },
    Key {
        name: "strategy",
        kind: ValueKind::Choice(&["auto", "plain", "ranked"]),
        default: "auto",
        value_name: "NAME",
        doc: "The order of a list that nobody asked to be in any: ranked, by score where every \
              record has one; auto, so where it is what retrieval brings; or plain, as it came",
        ..PAYLOADS
    },
    Key {
        name: "fill",
        kind: ValueKind::Choice(&["stop", "skip", "value"]),
        default: "stop",
        value_name: "NAME",
        doc: "Which of ranked records are shown: stop, the best until the next would exceed the \
              budget; skip, passing over those that do not fit; or value, by score and likeness to the \
              best, and at the end for what they cost",
        ..PAYLOADS
    },
    Key {
        name: "mode",
        kind: ValueKind::Choice(&["production", "development"]),
        default: "production",
        value_name: "NAME",
        doc: "Whether noise (stripFields) is left out of views: production, it is; development, \
              it is not",
        ..PAYLOADS
    },
    Key {
        name: "stripFields",
        kind: ValueKind::Names,
        keywords: &["usual", "none"],
        default: "usual",
        value_name: "FIELDS",
        doc: "Fields that are noise: usual, a short list of what frameworks add, and fields that are \
              null; or names with * for any characters, dotted paths, null-only; fields=all and raw \
              bring them back; none: no field is",
        ..PAYLOADS
    },
    Key {
        name: "redact",
        kind: ValueKind::Redact,
        keywords: &["none"],
        default: "none",
        value_name: "NAMES",
        doc: "Hide values by the names of their fields: secrets (passwords, tokens, door codes), \
              which it is alone, names with * for any characters, dotted paths, or none",
        flag: CliFlag::OptionalValue("secrets"),
        ..PAYLOADS
    },
];
