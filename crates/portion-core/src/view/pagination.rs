//! Pagination of a walk: what its first reply fixes for the replies after it.

use std::sync::Arc;

use portion_json::projection::FieldSelection;

use super::{Target, View};

/// Pagination that the first reply of a walk through a list or a text fixed for the others.
///
/// It is not part of a view's id: cursors are signed while the first reply is rendered, before its pagination
/// is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pagination {
    /// Index of the part.
    pub part_index: u16,
    /// Items per page, or lines per chunk.
    pub page_size: u32,
    /// True if the first reply showed a sample: only numbered pages have its size.
    pub is_sample: bool,
    /// Number of them that the first reply showed, if it began at the first one.
    pub first_page_count: Option<u32>,
    /// Fields that its items were condensed to.
    pub kept_fields: Option<FieldSelection>,
}

impl Pagination {
    /// Creates the pagination of a first reply that showed all of its fields.
    pub(crate) fn of_size(part_index: u16, page_size: u32) -> Self {
        Self { part_index, page_size, is_sample: false, first_page_count: None, kept_fields: None }
    }
}

impl View {
    /// Returns the view with the pagination of its first reply, unless it has one.
    #[must_use]
    pub(crate) fn with_pagination(self, pace: Option<Pagination>) -> Self {
        if self.pagination.is_some() {
            return self;
        }
        Self { pagination: pace.map(Arc::new), ..self }
    }

    /// Returns the view as it was before its first reply.
    #[must_use]
    pub(crate) fn without_pagination(self) -> Self {
        Self { pagination: None, ..self }
    }

    /// Returns the root view of a snapshot whose first reply used `self`. Its pagination is that of the first reply only if
    /// that used the root view: another page size or selection says nothing about it.
    #[must_use]
    pub fn root_with_pagination(&self) -> Self {
        if self.id == Self::default().id { self.clone() } else { Self::root() }
    }

    /// Returns the view with the pagination of another view, unless it has one.
    #[must_use]
    pub fn with_pagination_of(self, other: &Self) -> Self {
        Self { pagination: self.pagination.or_else(|| other.pagination.clone()), ..self }
    }

    /// Returns the same view with another target.
    pub(crate) fn with_target(&self, target: Target) -> Self {
        Self { target, ..self.clone() }.with_id()
    }

    /// Returns the items per page, or lines per chunk, if they are fixed.
    pub fn page_size(&self) -> Option<u32> {
        self.limit.or(self.pagination.as_ref().map(|pace| pace.page_size))
    }
}
