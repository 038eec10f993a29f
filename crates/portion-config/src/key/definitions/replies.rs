//! Keys for the format of replies and the sessions that are shaped.

use portion_core::policy::{EnvelopeMode, FirstRows, MetadataMode, MetadataStyle, RowStyle};

use crate::key::key_definition::{KEY_DEFAULTS, MIN_BYTES};
use crate::key::{CliFlag, Key, KeyGroup, Placement, ValueKind};

const REPLIES: Key = Key { group: KeyGroup::Replies, ..KEY_DEFAULTS };
const ROLLOUT: Key = Key { group: KeyGroup::Rollout, ..KEY_DEFAULTS };

pub(super) static KEYS: &[Key] = &[
    Key {
        name: "metadata",
        kind: ValueKind::Choice(MetadataMode::NAMES),
        default: "when-shaped",
        value_name: "WHEN",
        doc: "Replies with a notice: when-shaped, those with something left out; full, these with all \
              facts in text; always, all",
        ..REPLIES
    },
    Key {
        name: "compact",
        kind: ValueKind::Choice(&["when-shaped", "always"]),
        default: "when-shaped",
        value_name: "WHEN",
        doc: "JSON without white space: when-shaped, in replies with something left out; or always",
        ..REPLIES
    },
    Key {
        name: "metadataStyle",
        kind: ValueKind::Choice(MetadataStyle::NAMES),
        default: "camel",
        value_name: "STYLE",
        doc: "Style of the keys of a notice: camel (totalCount) or snake (total_count)",
        ..REPLIES
    },
    Key {
        name: "envelope",
        kind: ValueKind::Choice(EnvelopeMode::NAMES),
        default: "auto",
        value_name: "HOW",
        doc: "Form of a reply: auto, that of the result; wrap, one JSON object with content and notice",
        ..REPLIES
    },
    Key {
        name: "rows",
        kind: ValueKind::Choice(RowStyle::NAMES),
        default: "objects",
        value_name: "HOW",
        doc: "Form of records in text: objects, as received; auto, a table if it costs less, except in \
              portion http; tables, in portion http too",
        ..REPLIES
    },
    Key {
        name: "firstRows",
        kind: ValueKind::Choice(FirstRows::NAMES),
        default: "page",
        value_name: "WHAT",
        doc: "Content of a first reply that does not fit: page, what fits; sample, a few records that \
              differ, or lines",
        ..REPLIES
    },
    Key {
        name: "controls",
        kind: ValueKind::Boolean,
        keywords: &["auto"],
        default: "auto",
        value_name: "BOOL",
        doc: "Accept limit, cursor and fields in calls to the endpoint; auto: if its schema allows them",
        ..REPLIES
    },
    Key {
        name: "reuse",
        kind: ValueKind::Boolean,
        keywords: &["auto"],
        default: "auto",
        value_name: "BOOL",
        doc: "Answer an equal call from a kept result, whatever part it selects; auto: if the endpoint is \
              read-only",
        ..REPLIES
    },
    Key {
        name: "read",
        kind: ValueKind::Boolean,
        default: "false",
        value_name: "BOOL",
        doc: "The endpoint only reads: it may be called again for further pages, and after failures of a \
              REST API",
        placement: Placement::Endpoint,
        ..REPLIES
    },
    Key {
        name: "oversized",
        kind: ValueKind::Choice(&["shape", "refuse"]),
        default: "shape",
        value_name: "MODE",
        doc: "Treatment of a result that does not fit: shape it, or refuse it with an error",
        ..REPLIES
    },
    Key {
        name: "rollout",
        kind: ValueKind::Percent,
        default: "100",
        value_name: "PERCENT",
        doc: "Percent of sessions whose replies are shaped; a session stays shaped if the share grows",
        ..ROLLOUT
    },
    Key {
        name: "experiment",
        kind: ValueKind::Experiment,
        keywords: &["none", "shadow"],
        default: "none",
        value_name: "HOW",
        doc: "Experiment: none; shadow, relay replies and record what shaping would serve; or {split: 50}, \
              shape that percentage of sessions",
        ..ROLLOUT
    },
    Key {
        name: "split",
        kind: ValueKind::Percent,
        value_name: "PERCENT",
        doc: "Same as experiment {split: PERCENT}",
        ..ROLLOUT
    },
    Key {
        name: "unshapedByteLimit",
        kind: ValueKind::Size(MIN_BYTES, u64::MAX),
        keywords: &["none"],
        default: "none",
        value_name: "SIZE",
        doc: "Size above which replies are shaped in any case; none: no limit",
        ..ROLLOUT
    },
    Key {
        name: "allowWhole",
        kind: ValueKind::Boolean,
        default: "false",
        value_name: "BOOL",
        doc: "Allow programs whole results up to unshapedByteLimit: by _meta[\"io.portion/whole\"], the \
              header X-Portion-Whole, or preset code",
        ..ROLLOUT
    },
    Key {
        name: "dryRun",
        kind: ValueKind::Boolean,
        default: "false",
        value_name: "BOOL",
        doc: "Relay every reply unchanged, and record what shaping would serve",
        placement: Placement::Top,
        flag: CliFlag::OptionalValue("true"),
        ..ROLLOUT
    },
];
