//! The interface of all stages: the format of items, and the page that it is for.

use portion_json::projection::FieldSelection;

use super::FieldStatistics;
use crate::noise::NoiseFields;
use crate::snapshot::OrderedList;
use crate::stage_name::StageName;

/// One way to make a page smaller.
pub(crate) trait Stage: Sync {
    /// Returns its name.
    fn name(&self) -> StageName;

    /// Goes one step further. Returns `false` if there is no further step.
    fn tighten(&self, how: &mut RowFormat, case: &StageInput<'_>) -> bool;
}

/// Format in which items are written.
#[derive(Clone, Debug, Default)]
pub(crate) struct RowFormat {
    /// Writes items as rows of a table, with each field name once.
    pub as_table: bool,
    /// Writes no white space between tokens.
    pub is_minified: bool,
    /// Fields that are never written.
    pub noise: NoiseFields,
    /// Fields that are written; all if `None`.
    pub kept_fields: Option<FieldSelection>,
    /// True if `kept_fields` was chosen by a stage rather than requested.
    pub is_condensed: bool,
    /// Shortens strings above this many characters.
    pub elide_above: Option<usize>,
    /// Serves as many items as fit rather than all that were requested.
    pub allows_fewer: bool,
    /// Stages that were applied.
    pub stages: Vec<StageName>,
}

/// Input of a stage. It does not depend on the position in the list, so every page of a walk is condensed to
/// the same fields.
pub(crate) struct StageInput<'a> {
    /// The list.
    pub rows: OrderedList<'a>,
    /// Dotted paths of the fields that an operator prefers.
    pub preferred_fields: &'a [String],
    /// Items requested.
    pub item_count: usize,
    /// Tokens that the items may cost together.
    pub token_budget: usize,
    /// True if the dates and the amount that say what a record is about are kept, whatever they cost.
    pub requires_leading: bool,
    /// Returns the ranks and costs of the fields, which are computed when first used.
    pub statistics: &'a dyn Fn() -> &'a FieldStatistics<'a>,
    /// True if items are written as a table.
    pub as_table: bool,
    /// True if fields may be omitted.
    pub may_condense: bool,
    /// True if strings may be shortened.
    pub may_elide: bool,
    /// True if the page must hold all requested items, even reduced to their identity.
    pub must_hold_all: bool,
}
