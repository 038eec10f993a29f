//! Stages that make a page smaller, in order, until the requested items fit.
//!
//! A stage changes the [`RowFormat`] of the items. The page is then rendered again. If it still does not fit,
//! the same stage may go further, or the next one begins. The result of the last stage always fits.

mod condense;
mod elide;
mod fewer;
mod field_costs;
mod field_statistics;
mod identify;
mod minify;
mod row_format;

pub(crate) use elide::elide;
pub(crate) use field_statistics::FieldStatistics;
pub(crate) use row_format::{RowFormat, Stage, StageInput};

/// The stages, the least lossy first.
pub(crate) const STAGES: [&dyn Stage; 5] =
    [&minify::Minify, &condense::Condense, &elide::Elide, &identify::Identify, &fewer::Fewer];
