//! Keys for knowledge about payloads and their treatment.

use portion_core::policy::{FillStrategy, OrderStrategy};

use crate::key::key_definition::KEY_DEFAULTS;
use crate::key::{CliFlag, Key, KeyGroup, Placement, ValueKind};

const PAYLOADS: Key = Key { group: KeyGroup::Payloads, ..KEY_DEFAULTS };

pub(super) static KEYS: &[Key] = &[
    Key {
        name: "pagination",
        kind: ValueKind::Boolean,
        default: "true",
        value_name: "BOOL",
        doc: "Split long lists into pages",
        ..PAYLOADS
    },
    Key {
        name: "summarization",
        kind: ValueKind::Boolean,
        default: "true",
        value_name: "BOOL",
        doc: "Summarize large objects",
        ..PAYLOADS
    },
    Key {
        name: "chunking",
        kind: ValueKind::Boolean,
        default: "true",
        value_name: "BOOL",
        doc: "Split long texts into chunks",
        ..PAYLOADS
    },
    Key {
        name: "query",
        kind: ValueKind::Boolean,
        default: "true",
        value_name: "BOOL",
        doc: "Allow queries on kept results",
        ..PAYLOADS
    },
    Key {
        name: "items",
        kind: ValueKind::Text,
        keywords: &["auto"],
        default: "auto",
        value_name: "PATH",
        doc: "Place of the list in a result, a JSON Pointer or a dotted path; auto: detected",
        ..PAYLOADS
    },
    Key {
        name: "pushdown",
        kind: ValueKind::Pushdown,
        keywords: &["none"],
        default: "none",
        value_name: "PRESET",
        doc: "Paging of the tool, whose pages become one list: limit-offset, page, cursor, after-id, link, \
              hostaway, education; or a map of settings (docs/pushdown.md)",
        placement: Placement::Endpoint,
        flag: CliFlag::Disabled,
        ..PAYLOADS
    },
    Key {
        name: "summaryFields",
        kind: ValueKind::Names,
        keywords: &["auto"],
        default: "auto",
        value_name: "FIELDS",
        doc: "Fields that summaries and shortened records keep first, dotted paths; auto: the most \
              informative",
        ..PAYLOADS
    },
    Key {
        name: "summaryOnly",
        kind: ValueKind::Boolean,
        default: "false",
        value_name: "BOOL",
        doc: "Summaries and shortened records have only the summaryFields",
        ..PAYLOADS
    },
    Key {
        name: "sections",
        kind: ValueKind::Sections,
        keywords: &["none"],
        default: "none",
        value_name: "MAP",
        doc: "Named sections of an object: {price: [price.total, currency]}",
        flag: CliFlag::Disabled,
        ..PAYLOADS
    },
    Key {
        name: "sort",
        kind: ValueKind::Text,
        keywords: &["none"],
        default: "none",
        value_name: "ORDER",
        doc: "Order of a list if the request gives none, such as `created desc`; none: set by strategy",
        // The option of that name is a control of the request: `portion shape --sort`.
        flag: CliFlag::Disabled,
        ..PAYLOADS
    },
    Key {
        name: "strategy",
        kind: ValueKind::Choice(OrderStrategy::NAMES),
        default: "auto",
        value_name: "NAME",
        doc: "Order of a list if the request gives none: auto, retrieval results by score; ranked, all \
              lists with scores; plain, as received",
        ..PAYLOADS
    },
    Key {
        name: "fill",
        kind: ValueKind::Choice(FillStrategy::NAMES),
        default: "stop",
        value_name: "NAME",
        doc: "Selection of ranked records: stop at the first that does not fit; skip those; value, by \
              score, similarity to the best, and cost",
        ..PAYLOADS
    },
    Key {
        name: "mode",
        kind: ValueKind::Choice(&["production", "development"]),
        default: "production",
        value_name: "NAME",
        doc: "production leaves noise (stripFields) out; development keeps it",
        ..PAYLOADS
    },
    Key {
        name: "stripFields",
        kind: ValueKind::Names,
        keywords: &["usual", "none"],
        default: "usual",
        value_name: "FIELDS",
        doc: "Fields left out as noise: usual, framework fields and null fields; names (* for any \
              characters, dotted paths); null-only; or none",
        ..PAYLOADS
    },
    Key {
        name: "missingValues",
        kind: ValueKind::Names,
        keywords: &["none"],
        default: "none",
        value_name: "CODES",
        doc: "Numbers that stand for missing values, as [-1=missing except grade, -3=suppressed]: NULL in SQL, no \
              part of facts. In columns with the word after except they are values",
        flag: CliFlag::Disabled,
        ..PAYLOADS
    },
    Key {
        name: "redact",
        kind: ValueKind::Redact,
        keywords: &["none"],
        default: "none",
        value_name: "NAMES",
        doc: "Fields whose values are hidden: secrets (passwords, tokens, door codes), also for the bare \
              option; names (* for any characters, dotted paths); or none",
        flag: CliFlag::OptionalValue("secrets"),
        ..PAYLOADS
    },
];
