//! Keys for knowledge about payloads and their treatment.

use portion_core::policy::{FillStrategy, OrderStrategy};

use crate::key::key_definition::KEY_DEFAULTS;
use crate::key::{CliFlag, Key, KeyGroup, Placement, ValueKind};

const PAYLOADS: Key = Key { group: KeyGroup::Payloads, ..KEY_DEFAULTS };

keys! {
    PAYLOADS {
        "pagination" "BOOL": Boolean = "true",
            "Split long lists into pages";
        "summarization" "BOOL": Boolean = "true",
            "Summarize large objects";
        "chunking" "BOOL": Boolean = "true",
            "Split long texts into chunks";
        "query" "BOOL": Boolean = "true",
            "Allow queries on kept results";
        "items" "PATH": Text or ["auto"] = "auto",
            "Place of the list in a result, a JSON Pointer or a dotted path; auto: detected";
        "pushdown" "PRESET": Pushdown or ["none"] = "none", placement: Placement::Endpoint,
            flag: CliFlag::Disabled,
            "Paging of the tool, whose pages become one list: limit-offset, page, cursor, after-id, link, \
             hostaway, education; or a map of settings (docs/pushdown.md)";
        "summaryFields" "FIELDS": Names or ["auto"] = "auto",
            "Fields that summaries and shortened records keep first, dotted paths; auto: the most \
             informative";
        "summaryOnly" "BOOL": Boolean = "false",
            "Summaries and shortened records have only the summaryFields";
        "sections" "MAP": Sections or ["none"] = "none", flag: CliFlag::Disabled,
            "Named sections of an object: {price: [price.total, currency]}";
        // The option of that name is a control of the request: `portion shape --sort`.
        "sort" "ORDER": Text or ["none"] = "none", flag: CliFlag::Disabled,
            "Order of a list if the request gives none, such as `created desc`; none: set by strategy";
        "strategy" "NAME": Choice(OrderStrategy::NAMES) = "auto",
            "Order of a list if the request gives none: auto, retrieval results by score; ranked, all lists \
             with scores; plain, as received";
        "fill" "NAME": Choice(FillStrategy::NAMES) = "stop",
            "Selection of ranked records: stop at the first that does not fit; skip those; value, by score, \
             similarity to the best, and cost";
        "mode" "NAME": Choice(&["production", "development"]) = "production",
            "production leaves noise (stripFields) out; development keeps it";
        "stripFields" "FIELDS": Names or ["usual", "none"] = "usual",
            "Fields left out as noise: usual, framework fields and null fields; names (* for any characters, \
             dotted paths); null-only; or none";
        "missingValues" "CODES": Names or ["none"] = "none", flag: CliFlag::Disabled,
            "Numbers that stand for missing values, as [-1=missing except grade, -3=suppressed]: NULL in \
             SQL, no part of facts. In columns with the word after except they are values";
        "redact" "NAMES": Redact or ["none"] = "none", flag: CliFlag::OptionalValue("secrets"),
            "Fields whose values are hidden: secrets (passwords, tokens, door codes), also for the bare \
             option; names (* for any characters, dotted paths); or none";
    }
}
