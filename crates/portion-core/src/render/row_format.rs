//! The format in which the items of a page are written.

use portion_json::projection::FieldSelection;

use crate::noise::NoiseFields;
use crate::stage_name::StageName;

/// The format in which items are written, without white space between tokens.
#[derive(Clone, Debug, Default)]
pub(crate) struct RowFormat {
    /// Writes items as rows of a table, with each field name once.
    pub as_table: bool,
    /// Fields that are never written.
    pub noise: NoiseFields,
    /// Fields that are written; all if `None`.
    pub kept_fields: Option<FieldSelection>,
    /// True if `kept_fields` was chosen by a plan rather than requested.
    pub is_condensed: bool,
    /// Shortens strings above this many characters.
    pub elide_above: Option<usize>,
    /// Stages that were applied.
    pub stages: Vec<StageName>,
}
