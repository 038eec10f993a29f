//! What a page was planned to show, as a value that explains itself.

use std::fmt::{self, Display, Formatter};

/// The plan of a page: chosen by arithmetic from the costs of its fields, before anything is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// True if the records are written as a table.
    pub is_table: bool,
    /// Fields that are shown of each record; `None` for all that were requested.
    pub columns: Option<Vec<String>>,
    /// Number of fields at the front of `columns` that identify a record and say what it is about.
    pub main_count: usize,
    /// Characters above which strings are shortened.
    pub elide_above: Option<usize>,
    /// Records that are shown.
    pub item_count: usize,
    /// Records that a page of this size would show.
    pub wanted_count: usize,
    /// Planned tokens of the records with the members around them, at least what they cost.
    pub tokens: usize,
    /// Tokens that the notice leaves to them.
    pub budget: usize,
}

impl Display for Plan {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let form = if self.is_table { "rows of a table" } else { "records" };
        write!(f, "{} of {} {form}, ", self.item_count, self.wanted_count)?;
        match &self.columns {
            Some(columns) => write!(f, "{} columns ({} main)", columns.len(), self.main_count)?,
            None => f.write_str("all columns")?,
        }
        if let Some(characters) = self.elide_above {
            write!(f, ", strings above {characters} characters shortened")?;
        }
        write!(f, "; {} of {} tokens planned", self.tokens, self.budget)
    }
}
