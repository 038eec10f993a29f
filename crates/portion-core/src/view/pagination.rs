//! The pace of a walk: what its first reply fixed for the replies after it.

use std::sync::Arc;

use super::{RequestedFields, Target, View};
use crate::projection::FieldSelection;

/// What the first reply of a walk through a list, or through a text, fixed for the others.
///
/// It is no part of a view's name: cursors are signed while the first reply is drawn, before its pace is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pagination {
    /// The index of the part that is walked.
    pub part_index: u16,
    /// Items of a page, or lines of a chunk.
    pub page_size: u32,
    /// How many of them the first reply showed, where it began at the first one.
    pub first_page_count: Option<u32>,
    /// The fields that its items were condensed to.
    pub kept_fields: Option<FieldSelection>,
}

impl View {
    /// The same at the pace of its first reply, unless it has one.
    #[must_use]
    pub(crate) fn with_pagination(self, pace: Option<Pagination>) -> Self {
        if self.pagination.is_some() {
            return self;
        }
        Self { pagination: pace.map(Arc::new), ..self }
    }

    /// The root view, for a snapshot whose first reply went through `self`: pages are as large there.
    #[must_use]
    pub fn root_with_pagination(&self) -> Self {
        let whole = match &self.target {
            Target::Everything => true,
            Target::Value(node) => node.pointer.is_empty() && node.field_subset.is_none(),
        };
        let pace = self.pagination.as_ref().filter(|_| whole && !self.raw && self.range.is_none());
        let same_columns = self.field_selection == RequestedFields::Auto;
        let pace = pace.map(|pace| Pagination {
            kept_fields: pace.kept_fields.clone().filter(|_| same_columns),
            ..(**pace).clone()
        });
        Self::root().with_pagination(pace)
    }

    /// The same with the pace of another view, if that has one.
    #[must_use]
    pub fn with_pagination_of(self, other: &Self) -> Self {
        Self { pagination: self.pagination.or_else(|| other.pagination.clone()), ..self }
    }

    /// The same of another target.
    pub(crate) fn with_target(&self, target: Target) -> Self {
        Self { target, ..self.clone() }
    }

    /// Items of a page, or lines of a chunk, where the first reply fixed that.
    pub(crate) fn page_size(&self) -> Option<u32> {
        self.limit.or(self.pagination.as_ref().map(|pace| pace.page_size))
    }
}
