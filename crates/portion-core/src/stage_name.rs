//! Names of the stages that make a page smaller, as records and explanations show them.
//!
//! ```
//! use portion_core::stage_name::StageName;
//!
//! assert_eq!(StageName::Condense.name(), "condense");
//! assert_eq!(StageName::from_name("condense"), Some(StageName::Condense));
//! ```

use crate::named_choices::named_choices;

/// A stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StageName {
    /// Records are written as rows of a table.
    Dense,
    /// White space between values is removed.
    Minify,
    /// The least informative fields are left out of every item.
    Condense,
    /// Long strings are shortened.
    Elide,
    /// Every item is reduced to the field that identifies it.
    Identify,
    /// Fewer items than requested are served.
    Fewer,
}

named_choices!(StageName {
    Dense = "dense",
    Minify = "minify",
    Condense = "condense",
    Elide = "elide",
    Identify = "identify",
    Fewer = "fewer"
});
