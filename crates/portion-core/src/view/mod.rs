//! What part of a snapshot is looked at, and how.
//!
//! A [`Request`] is what a caller wrote; [`resolve`] holds it against a snapshot and makes it a
//! [`View`], in which everything is known to exist. A view carries no budget and no place: the same view serves
//! every page of a walk.

mod error;
mod order;
mod pagination;
mod rank;
mod request;
mod resolve;
mod section;
mod target;

use std::sync::Arc;

use sha2::{Digest as _, Sha256};

pub use error::ViewError;
pub(crate) use pagination::Pagination;
pub use rank::rank;
pub use request::{CONTROLS, Request};
pub use resolve::{ResolvedRequest, resolve};
pub(crate) use resolve::{line_start_place, list_field_names, select_fields};
pub(crate) use section::{CustomSection, SectionScope, core_object, custom_sections, sections};

use crate::cursor::ViewId;
use crate::projection::FieldSelection;
use crate::snapshot::{IndexedText, Slice, Snapshot};
use crate::span::Span;

/// A part of a snapshot, and how it is wanted.
#[derive(Clone, Debug, Default)]
pub struct View {
    id: ViewId,
    pub(crate) target: Target,
    pub(crate) field_selection: RequestedFields,
    pub(crate) limit: Option<u32>,
    pub(crate) order: Option<SortOrder>,
    pub(crate) raw: bool,
    /// Whether the target is a section that was asked for by its name: it is served whole where it fits.
    pub(crate) is_section: bool,
    pub(crate) range: Option<TextRange>,
    /// What its first reply fixed for the others, once there was one.
    pub(crate) pagination: Option<Arc<Pagination>>,
}

/// What is looked at.
#[derive(Clone, Debug, Default)]
pub(crate) enum Target {
    /// All parts of the payload, in order.
    #[default]
    Everything,
    /// One value in one part.
    Value(Arc<TargetValue>),
}

/// A value in a part.
#[derive(Debug)]
pub(crate) struct TargetValue {
    /// The index of the part.
    pub part: u16,
    /// Where the value stands in it, a JSON Pointer; empty for all of it.
    pub pointer: String,
    /// The value.
    pub subject: IndexedText,
    /// Its bytes as the upstream wrote them.
    pub source: Slice,
    /// Set on the base64 of a block, which is always shown as its bytes: their MIME type.
    pub base64: Option<String>,
    /// Set where the subject is not the value but some fields of it: which, and the node that they were asked for in.
    pub field_subset: Option<(FieldSelection, Arc<TargetValue>)>,
    /// What it holds beyond what the snapshot holds already, in bytes.
    pub extra_bytes: usize,
}

/// Which fields of records are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum RequestedFields {
    /// What fits best.
    #[default]
    Auto,
    /// Every one.
    All,
    /// These.
    Only(FieldSelection),
}

/// An order of a list's items.
#[derive(Clone, Debug)]
pub(crate) struct SortOrder {
    /// As asked for, in canonical spelling.
    pub spec: String,
    /// The index of the part that the list is.
    pub part: u16,
    /// Whether a caller asked for it.
    pub is_requested: bool,
    /// Indices of items.
    pub item_indices: Arc<[u32]>,
    /// Set where records are ranked, and shown whole: how many of them are shown before others may be.
    pub top_count: Option<u32>,
}

impl SortOrder {
    /// As it is told of: at most some 60 characters.
    pub(crate) fn label(&self) -> &str {
        &self.spec[..self.spec.floor_char_boundary(60)]
    }
}

/// A stretch of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TextRange {
    /// Its bytes.
    pub span: Span,
    /// Whether it was asked for by line numbers, and so is a range, served as wide as it can be.
    pub is_line_range: bool,
}

impl View {
    /// The view of everything, as best fits.
    pub fn root() -> Self {
        Self::default().with_id()
    }

    /// Its name: a hash of its canonical form.
    pub fn id(&self) -> ViewId {
        self.id
    }

    /// Heap bytes it holds beside the snapshot's.
    pub fn heap_bytes(&self) -> usize {
        let node = match &self.target {
            Target::Everything => 0,
            Target::Value(node) => node.extra_bytes + node.pointer.len(),
        };
        let order = self.order.as_ref().map_or(0, |order| order.item_indices.len() * size_of::<u32>());
        let keep = self.pagination.as_ref().and_then(|pace| pace.kept_fields.as_ref());
        let pace = keep.map_or(0, |keep| keep.paths().iter().map(String::len).sum());
        size_of::<Self>() + node + order + pace
    }

    /// What it looks at, each with the path that a caller reaches it by: empty for the main part.
    ///
    /// `structuredContent` that repeats another part is not told of twice.
    pub fn subjects<'a>(&'a self, snapshot: &'a Snapshot) -> Vec<(String, &'a IndexedText)> {
        let main = snapshot.main_part();
        let base = |part: usize| match snapshot.parts().get(part) {
            Some(whole) if main != Some(part) => whole.address.as_str(),
            _ => "",
        };
        match &self.target {
            Target::Value(node) => {
                vec![(format!("{}{}", base(usize::from(node.part)), node.pointer), &node.subject)]
            }
            Target::Everything => {
                let own = snapshot.parts().iter().enumerate().filter(|(_, part)| part.duplicate.is_none());
                own.filter_map(|(at, part)| Some((base(at).to_owned(), part.indexed_text()?))).collect()
            }
        }
    }

    /// Whether the bytes of what it looks at are those of the payload, which a raw reply is told by.
    pub(crate) fn has_payload_bytes(&self) -> bool {
        match &self.target {
            Target::Everything => true,
            Target::Value(node) => node.source.len() == node.subject.text.len(),
        }
    }

    /// Whether it was asked for so explicitly that it may cost up to the hard cap.
    pub(crate) fn is_explicit(&self) -> bool {
        self.limit.is_some()
            || self.field_selection == RequestedFields::All
            || self.range.is_some_and(|window| window.is_line_range)
    }

    /// Whether it looks at a section that an operator made.
    pub(crate) fn is_custom_section(&self) -> bool {
        matches!(&self.target, Target::Value(node) if node.field_subset.is_some())
    }

    /// How many records are shown before others may be, where they are ranked.
    pub(crate) fn top_count(&self) -> Option<u32> {
        self.order.as_ref().and_then(|order| order.top_count)
    }

    /// The view under the name of its canonical form.
    fn with_id(mut self) -> Self {
        let digest = Sha256::digest(self.canonical_form().as_bytes());
        self.id.copy_from_slice(&digest[..size_of::<ViewId>()]);
        self
    }

    /// Everything that tells views apart. Names are quoted, so that none can pass for something else.
    fn canonical_form(&self) -> String {
        let target = match &self.target {
            Target::Everything => None,
            Target::Value(node) => Some((node.part, &node.pointer, node.subject.is_json())),
        };
        let made = match &self.target {
            Target::Value(node) => node.field_subset.as_ref(),
            Target::Everything => None,
        };
        let made = made.map_or_else(String::new, |(fields, _)| format!(" {:?}", fields.paths()));
        let sort = self.order.as_ref().map(|order| &order.spec);
        format!(
            "{target:?} {:?} {:?} {sort:?} {} {} {:?}{made}",
            self.field_selection, self.limit, self.raw, self.is_section, self.range
        )
    }
}
