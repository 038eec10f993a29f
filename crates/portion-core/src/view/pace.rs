//! The pace of a walk: what its first reply fixed for the replies after it.

use std::sync::Arc;

use super::{Target, View, Wanted};
use crate::projection::Fields;

/// What the first reply of a walk through a list, or through a text, fixed for the others.
///
/// It is no part of a view's name: cursors are signed while the first reply is drawn, before its pace is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pace {
    /// The index of the part that is walked.
    pub part: u16,
    /// Items of a page, or lines of a chunk.
    pub size: u32,
    /// How many of them the first reply showed, where it began at the first one.
    pub opened: Option<u32>,
    /// The fields that its items were condensed to.
    pub keep: Option<Fields>,
}

impl View {
    /// The same at the pace of its first reply, unless it has one.
    #[must_use]
    pub(crate) fn at_pace(self, pace: Option<Pace>) -> Self {
        if self.pace.is_some() {
            return self;
        }
        Self { pace: pace.map(Arc::new), ..self }
    }

    /// The root view, for a snapshot whose first reply went through `self`: pages are as large there.
    #[must_use]
    pub fn root_at_its_pace(&self) -> Self {
        let whole = match &self.target {
            Target::Everything => true,
            Target::Node(node) => node.pointer.is_empty() && node.fields.is_none(),
        };
        let pace = self.pace.as_ref().filter(|_| whole && !self.raw && self.window.is_none());
        let same_columns = self.wanted == Wanted::Best;
        let pace =
            pace.map(|pace| Pace { keep: pace.keep.clone().filter(|_| same_columns), ..(**pace).clone() });
        Self::root().at_pace(pace)
    }

    /// The same with the pace of another view, if that has one.
    #[must_use]
    pub fn with_pace_of(self, other: &Self) -> Self {
        Self { pace: self.pace.or_else(|| other.pace.clone()), ..self }
    }

    /// The same of another target.
    pub(crate) fn of_target(&self, target: Target) -> Self {
        Self { target, ..self.clone() }
    }

    /// Items of a page, or lines of a chunk, where the first reply fixed that.
    pub(crate) fn page_size(&self) -> Option<u32> {
        self.limit.or(self.pace.as_ref().map(|pace| pace.size))
    }
}
