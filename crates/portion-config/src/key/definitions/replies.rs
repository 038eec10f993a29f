//! Keys for the format of replies and the sessions that are shaped.

use super::{KEY_DEFAULTS, MIN_BYTES};
use crate::key::{CliFlag, Key, KeyGroup, Placement, ValueKind};

const REPLIES: Key = Key { group: KeyGroup::Replies, ..KEY_DEFAULTS };
const ROLLOUT: Key = Key { group: KeyGroup::Rollout, ..KEY_DEFAULTS };

pub(super) static KEYS: &[Key] = &[
    Key {
        name: "metadata",
        kind: ValueKind::Choice(&["when-shaped", "always"]),
        default: "when-shaped",
        value_name: "WHEN",
        doc: "When a notice is added to a reply: when-shaped, where something was left out, or \
              always",
        ..REPLIES
    },
    Key {
        name: "metadataStyle",
        kind: ValueKind::Choice(&["camel", "snake"]),
        default: "camel",
        value_name: "STYLE",
        doc: "How the keys of a notice are written: camel (totalCount) or snake (total_count, \
              current_page, page_size, has_more, next_page)",
        ..REPLIES
    },
    Key {
        name: "envelope",
        kind: ValueKind::Choice(&["auto", "wrap"]),
        default: "auto",
        value_name: "HOW",
        doc: "In what a portion is put: auto, the payload keeps its shape; wrap, an object of \
              our own",
        ..REPLIES
    },
    Key {
        name: "rows",
        kind: ValueKind::Choice(&["objects", "auto"]),
        default: "objects",
        value_name: "HOW",
        doc: "How records are written in text: objects, as they came, or auto, as a table where \
              that costs less",
        ..REPLIES
    },
    Key {
        name: "controls",
        kind: ValueKind::Boolean,
        keywords: &["auto"],
        default: "auto",
        value_name: "BOOL",
        doc: "Whether limit, cursor and fields are taken on calls of an endpoint itself; auto: \
              where its schema leaves room for them",
        ..REPLIES
    },
    Key {
        name: "reuse",
        kind: ValueKind::Boolean,
        keywords: &["auto"],
        default: "auto",
        value_name: "BOOL",
        doc: "Whether an equal call may be answered from what is kept, whatever is selected of \
              it; auto: where the endpoint says that it is read-only",
        ..REPLIES
    },
    Key {
        name: "rollout",
        kind: ValueKind::Percent,
        default: "100",
        value_name: "PERCENT",
        doc: "For how many sessions in a hundred replies are shaped; a session that is in stays \
              in as the share grows",
        ..ROLLOUT
    },
    Key {
        name: "experiment",
        kind: ValueKind::Experiment,
        keywords: &["none", "shadow"],
        default: "none",
        value_name: "HOW",
        doc: "What is compared: none; shadow, replies are relayed as they come and what shaping \
              would have served is recorded; or {split: 50}, so many sessions in a hundred are shaped",
        ..ROLLOUT
    },
    Key {
        name: "split",
        kind: ValueKind::Percent,
        value_name: "PERCENT",
        doc: "The same as an experiment {split: PERCENT}",
        ..ROLLOUT
    },
    Key {
        name: "unshapedByteLimit",
        kind: ValueKind::Size(MIN_BYTES, u64::MAX),
        keywords: &["none"],
        default: "none",
        value_name: "SIZE",
        doc: "Bytes above which even a reply that is to be relayed as it comes is shaped; none: \
              whatever its size",
        ..ROLLOUT
    },
    Key {
        name: "allowWhole",
        kind: ValueKind::Boolean,
        default: "false",
        value_name: "BOOL",
        doc: "Whether programs may have results as they come, up to unshapedByteLimit: by \
              _meta[\"io.portion/whole\"] of a call, by the header X-Portion-Whole, or all of them \
              with the preset code",
        ..ROLLOUT
    },
    Key {
        name: "dryRun",
        kind: ValueKind::Boolean,
        default: "false",
        value_name: "BOOL",
        doc: "Relay every reply as it comes, and record what shaping would have served",
        placement: Placement::Top,
        flag: CliFlag::OptionalValue("true"),
        ..ROLLOUT
    },
];
