//! Keys for the format of replies and the sessions that are shaped.

use portion_core::policy::{EnvelopeMode, FirstRows, MetadataMode, MetadataStyle, RowStyle};

use crate::key::key_definition::{KEY_DEFAULTS, MIN_BYTES};
use crate::key::{CliFlag, Key, KeyGroup, Placement, ValueKind};

const REPLIES: Key = Key { group: KeyGroup::Replies, ..KEY_DEFAULTS };
const ROLLOUT: Key = Key { group: KeyGroup::Rollout, ..KEY_DEFAULTS };

keys! {
    REPLIES {
        "metadata" "WHEN": Choice(MetadataMode::NAMES) = "when-shaped",
            "Replies with a notice: when-shaped, those with something left out; full, these with all facts \
             in text; always, all";
        "compact" "WHEN": Choice(&["when-shaped", "always"]) = "when-shaped",
            "JSON without white space: when-shaped, in replies with something left out; or always";
        "metadataStyle" "STYLE": Choice(MetadataStyle::NAMES) = "camel",
            "Style of the keys of a notice: camel (totalCount) or snake (total_count)";
        "envelope" "HOW": Choice(EnvelopeMode::NAMES) = "auto",
            "Form of a reply: auto, that of the result; wrap, one JSON object with content and notice";
        "rows" "HOW": Choice(RowStyle::NAMES) = "objects",
            "Form of records in text: objects, as received; auto, a table if it costs less, except in \
             portion http; tables, in portion http too";
        "firstRows" "WHAT": Choice(FirstRows::NAMES) = "page",
            "Content of a first reply that does not fit: page, what fits; sample, a few records that differ, \
             or lines";
        "controls" "BOOL": Boolean or ["auto"] = "auto",
            "Accept limit, cursor and fields in calls to the endpoint; auto: if its schema allows them";
        "reuse" "BOOL": Boolean or ["auto"] = "auto",
            "Answer an equal call from a kept result, whatever part it selects; auto: if the endpoint is \
             read-only";
        "read" "BOOL": Boolean = "false", placement: Placement::Endpoint,
            "The endpoint only reads: it may be called again for further pages, and after failures of a REST \
             API";
        "oversized" "MODE": Choice(&["shape", "refuse"]) = "shape",
            "Treatment of a result that does not fit: shape it, or refuse it with an error";
    }

    ROLLOUT {
        "rollout" "PERCENT": Percent = "100",
            "Percent of sessions whose replies are shaped; a session stays shaped if the share grows";
        "experiment" "HOW": Experiment or ["none", "shadow"] = "none",
            "Experiment: none; shadow, relay replies and record what shaping would serve; or {split: 50}, \
             shape that percentage of sessions";
        "split" "PERCENT": Percent,
            "Same as experiment {split: PERCENT}";
        "unshapedByteLimit" "SIZE": Size(MIN_BYTES, u64::MAX) or ["none"] = "none",
            "Size above which replies are shaped in any case; none: no limit";
        "allowWhole" "BOOL": Boolean = "false",
            "Allow programs whole results up to unshapedByteLimit: by _meta[\"io.portion/whole\"], the \
             header X-Portion-Whole, or preset code";
        "dryRun" "BOOL": Boolean = "false", placement: Placement::Top, flag: CliFlag::OptionalValue("true"),
            "Relay every reply unchanged, and record what shaping would serve";
    }
}
