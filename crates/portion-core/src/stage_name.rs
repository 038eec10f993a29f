//! Names of the stages that make a page smaller, as records and explanations show them.
//!
//! ```
//! use portion_core::stage_name::StageName;
//!
//! assert_eq!(StageName::Condense.name(), "condense");
//! assert_eq!(StageName::from_name("condense"), Some(StageName::Condense));
//! ```

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

impl StageName {
    /// All stages, the least lossy first.
    pub const ALL: [Self; 6] =
        [Self::Dense, Self::Minify, Self::Condense, Self::Elide, Self::Identify, Self::Fewer];

    /// Returns the name in records and explanations.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dense => "dense",
            Self::Minify => "minify",
            Self::Condense => "condense",
            Self::Elide => "elide",
            Self::Identify => "identify",
            Self::Fewer => "fewer",
        }
    }

    /// Returns the stage of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|stage| stage.name() == name)
    }
}
