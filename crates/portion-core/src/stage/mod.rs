//! The ladder of a page: what is given up, and in which order, until the items asked for fit.
//!
//! A stage changes [`RowFormat`] items are written; the page is drawn anew and, where it still does not fit, the same
//! stage may go further or the next one begins. What the last stage does always fits.

mod condense;
mod elide;
mod fewer;
mod field_order;
mod identify;
mod minify;

pub(crate) use elide::elide;

use crate::noise::NoiseFields;
use crate::projection::FieldSelection;
use crate::snapshot::OrderedList;
use crate::tokens::TokenCounter;

/// The stages, the gentlest first.
pub(crate) const STAGES: [&dyn Stage; 5] =
    [&minify::Minify, &condense::Condense, &elide::Elide, &identify::Identify, &fewer::Fewer];

/// One way to make a page smaller.
pub(crate) trait Stage: Sync {
    /// Its name in explanations.
    fn name(&self) -> &'static str;

    /// Goes a step further. Returns whether there was one.
    fn tighten(&self, how: &mut RowFormat, case: &StageInput<'_>) -> bool;
}

/// How items are written.
#[derive(Clone, Debug, Default)]
pub(crate) struct RowFormat {
    /// As the rows of a table, which names each field once.
    pub as_table: bool,
    /// Without white space between tokens.
    pub is_minified: bool,
    /// Without these fields, which are never shown.
    pub noise: NoiseFields,
    /// With these fields only.
    pub kept_fields: Option<FieldSelection>,
    /// Whether `keep` was chosen here, rather than asked for.
    pub is_condensed: bool,
    /// With strings above so many characters shortened.
    pub elide_above: Option<usize>,
    /// As many as fit, rather than all that were asked for.
    pub allows_fewer: bool,
    /// The stages that were needed.
    pub stages: Vec<&'static str>,
}

/// What a stage decides by. Nothing in it depends on the place in the list, so every page of a walk is condensed to
/// the same fields.
pub(crate) struct StageInput<'a> {
    /// The list.
    pub rows: OrderedList<'a>,
    /// The fields that an operator wants before all others, dotted paths.
    pub preferred_fields: &'a [String],
    /// Items asked for.
    pub item_count: usize,
    /// Tokens the items may cost together.
    pub token_budget: usize,
    /// What counts them.
    pub counter: &'a dyn TokenCounter,
    /// Whether they are written as a table.
    pub as_table: bool,
    /// Whether fields may be given up.
    pub may_condense: bool,
    /// Whether strings may be shortened.
    pub may_elide: bool,
    /// Whether all items asked for have to be held, be it by what tells them apart alone.
    pub must_hold_all: bool,
}
