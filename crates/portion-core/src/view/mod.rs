//! Views: which part of a snapshot is shown, and how.
//!
//! A [`Request`] is what a caller wrote. [`resolve`] checks it against a snapshot and returns a [`View`], in
//! which everything is known to exist. A view has no budget and no position: the same view serves every page
//! of a walk.
//!
//! ```
//! use portion_core::policy::Policy;
//! use portion_core::view::Request;
//!
//! let mut request = Request::default();
//! request.set_control("limit", "20", &Policy::default())?;
//! assert_eq!(request.limit, Some(20));
//! # Ok::<(), portion_core::view::ViewError>(())
//! ```

mod controls;
mod encoding;
mod error;
mod field_names;
pub(crate) mod media;
pub(crate) mod order;
mod page_start;
mod query;
mod request;
mod resolve;
mod section;
mod target;

pub use controls::{CONTROLS, ControlNames, control_named};
pub use error::ViewError;
pub(crate) use field_names::{list_field_names, select_fields};
pub use order::parse_sort;
pub(crate) use page_start::{Pagination, line_start_place, skipped_count};
pub use query::{Query, is_statement};
pub use request::{Request, is_absent};
pub use resolve::{ResolvedRequest, resolve};
pub(crate) use section::{
    CustomSection, NestedObject, Section, SectionScope, core_object, custom_sections, record_has_any,
    same_headings, sections, subject_has_any,
};
pub(crate) use target::target_at_path;

use std::sync::Arc;

use portion_json::projection::FieldSelection;
use portion_json::span::Span;
use sha2::{Digest as _, Sha256};

use crate::cursor::ViewId;
use crate::snapshot::{IndexedText, Slice, Snapshot, Structure};

/// A part of a snapshot, and how it is shown.
#[derive(Clone, Debug, Default)]
pub struct View {
    id: ViewId,
    pub(crate) target: Target,
    pub(crate) field_selection: RequestedFields,
    pub(crate) limit: Option<u32>,
    pub(crate) order: Option<SortOrder>,
    pub(crate) raw: bool,
    /// True if the target is a section requested by name, which is served whole if it fits.
    pub(crate) is_section: bool,
    pub(crate) range: Option<TextRange>,
    /// Pagination that the first reply fixed, once there is one.
    pub(crate) pagination: Option<Arc<Pagination>>,
}

/// Target of a view.
#[derive(Clone, Debug, Default)]
pub(crate) enum Target {
    /// All parts of the payload, in order.
    #[default]
    Everything,
    /// One value in one part.
    Value(Arc<TargetValue>),
}

impl Target {
    /// Returns true for the whole of one part, or of all.
    pub(crate) fn is_whole(&self) -> bool {
        match self {
            Self::Everything => true,
            Self::Value(value) => value.pointer.is_empty() && value.field_subset.is_none(),
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Everything, Self::Everything) => true,
            (Self::Value(value), Self::Value(other)) => value.is_same(other),
            _ => false,
        }
    }
}

/// A value in a part.
#[derive(Debug)]
pub(crate) struct TargetValue {
    /// Index of the part.
    pub part: u16,
    /// JSON Pointer of the value in the part; empty for all of it.
    pub pointer: String,
    /// The value.
    pub subject: IndexedText,
    /// Its bytes as the upstream wrote them.
    pub source: Slice,
    /// Set for the base64 of a block.
    pub base64: Option<Base64Source>,
    /// Set if the subject is a selection of fields: the fields, and the node that they belong to.
    pub field_subset: Option<(FieldSelection, Arc<TargetValue>)>,
    /// Heap bytes beyond those of the snapshot.
    pub extra_bytes: usize,
}

/// The base64 that a value is, or was decoded from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Base64Source {
    /// MIME type of the decoded bytes.
    pub mime_type: String,
    /// Set for a text: its encoding, as notices say it. Other base64 is always shown raw.
    pub text_encoding: Option<String>,
}

impl TargetValue {
    /// Creates a value that is no selection of fields and no base64.
    pub(crate) fn new(
        part: u16,
        pointer: String,
        subject: IndexedText,
        source: Slice,
        extra_bytes: usize,
    ) -> Self {
        Self { part, pointer, subject, source, base64: None, field_subset: None, extra_bytes }
    }

    /// Returns true for base64 that is not of a text.
    pub(crate) fn is_binary(&self) -> bool {
        self.base64.as_ref().is_some_and(|base64| base64.text_encoding.is_none())
    }

    /// Returns true for the same value of the same part, with the same selection of fields.
    fn is_same(&self, other: &Self) -> bool {
        let (fields, others) = (self.field_subset.as_ref(), other.field_subset.as_ref());
        (self.part, &self.pointer) == (other.part, &other.pointer)
            && fields.map(|(fields, _)| fields) == others.map(|(fields, _)| fields)
    }
}

/// Fields of records to show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum RequestedFields {
    /// Fields that fit best.
    #[default]
    Auto,
    /// All fields.
    All,
    /// These fields.
    Only(FieldSelection),
}

/// Order of the items of a list.
#[derive(Clone, Debug)]
pub(crate) struct SortOrder {
    /// Order in canonical spelling.
    pub spec: String,
    /// Index of the list's part.
    pub part: u16,
    /// True if the caller asked for it.
    pub is_requested: bool,
    /// Item indices in this order.
    pub item_indices: Arc<[u32]>,
    /// Set for ranked records, which are shown whole: number of records selected to be shown first.
    pub top_count: Option<u32>,
}

impl SortOrder {
    /// Returns the order as shown in notices: at most 60 bytes.
    pub(crate) fn label(&self) -> &str {
        &self.spec[..self.spec.floor_char_boundary(60)]
    }
}

/// A range of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TextRange {
    /// Its bytes.
    pub span: Span,
    /// True if it was requested by line numbers. Such a range is served as completely as the budget allows.
    pub is_line_range: bool,
}

impl View {
    /// Returns the same view of a snapshot that contains more items of the same list. Returns `None` for a view that
    /// selects a value inside the list or an order: both depend on the items.
    pub fn rebased(&self, snapshot: &Snapshot) -> Option<Self> {
        let target = match &self.target {
            Target::Everything => Target::Everything,
            Target::Value(value)
                if value.pointer.is_empty() && value.field_subset.is_none() && self.range.is_none() =>
            {
                Target::Value(Arc::new(target::whole_part_value(snapshot, usize::from(value.part))?))
            }
            Target::Value(_) => return None,
        };
        self.order.is_none().then(|| Self { target, ..self.clone() })
    }

    /// Returns the view of everything, with automatic selection.
    pub fn root() -> Self {
        Self::default().with_id()
    }

    /// Returns the id of the view: a hash of its canonical form.
    pub fn id(&self) -> ViewId {
        self.id
    }

    /// Returns the heap bytes that it holds beyond the snapshot.
    pub fn heap_bytes(&self) -> usize {
        let value = match &self.target {
            Target::Everything => 0,
            Target::Value(value) => value.extra_bytes + value.pointer.len(),
        };
        let order = self.order.as_ref().map_or(0, |order| order.item_indices.len() * size_of::<u32>());
        let keep = self.pagination.as_ref().and_then(|pagination| pagination.kept_fields.as_ref());
        let pagination = keep.map_or(0, |keep| keep.paths().iter().map(String::len).sum());
        size_of::<Self>() + value + order + pagination
    }

    /// Returns the subjects of the view, each with the path by which a caller reaches it: empty for the main
    /// part.
    ///
    /// A `structuredContent` that duplicates another part is not included.
    pub fn subjects<'a>(&'a self, snapshot: &'a Snapshot) -> Vec<(String, &'a IndexedText)> {
        let main = snapshot.main_part();
        let base = |part: usize| match snapshot.parts().get(part) {
            Some(whole) if main != Some(part) => whole.address.as_str(),
            _ => "",
        };
        match &self.target {
            Target::Value(value) => {
                vec![(format!("{}{}", base(usize::from(value.part)), value.pointer), &value.subject)]
            }
            Target::Everything => {
                let own = snapshot.parts().iter().enumerate().filter(|(_, part)| part.duplicate.is_none());
                own.filter_map(|(at, part)| Some((base(at).to_owned(), part.indexed_text()?))).collect()
            }
        }
    }

    /// Returns the first and the last line of a section of a text, if the view is one.
    pub fn section_lines(&self) -> Option<(usize, usize)> {
        let Target::Value(value) = &self.target else { return None };
        let range = self.range.filter(|range| !range.is_line_range)?;
        let Structure::Text(index) = &value.subject.structure else { return None };
        let line = |byte: u32| index.line_at(&value.subject.text, byte as usize) + 1;
        Some((line(range.span.start), line(range.span.end.saturating_sub(1).max(range.span.start))))
    }

    /// Returns true if another view has the same content in the same order. Fields and page sizes may differ.
    pub(crate) fn selects_same(&self, other: &Self) -> bool {
        let (order, others) = (self.order.as_ref(), other.order.as_ref());
        self.target.is_same(&other.target)
            && self.raw == other.raw
            && self.range == other.range
            && order.map(|order| (&order.spec, order.part)) == others.map(|order| (&order.spec, order.part))
    }

    /// Returns true if a whole part is shown from its beginning, with automatic selection and in its own order.
    pub(crate) fn is_whole_list(&self) -> bool {
        self.target.is_whole()
            && self.field_selection == RequestedFields::Auto
            && self.limit.is_none()
            && self.range.is_none()
            && !self.raw
            && self.order.as_ref().is_none_or(|order| !order.is_requested && order.top_count.is_none())
    }

    /// Returns true if the view is of all parts of a payload.
    pub fn is_of_everything(&self) -> bool {
        matches!(self.target, Target::Everything)
    }

    /// Returns true if everything is shown, with automatic selection.
    pub(crate) fn is_whole(&self) -> bool {
        matches!(self.target, Target::Everything)
            && self.field_selection == RequestedFields::Auto
            && self.range.is_none()
            && !self.raw
    }

    /// Returns true if the target has the same length as in the payload, which raw replies show.
    pub(crate) fn has_payload_bytes(&self) -> bool {
        match &self.target {
            Target::Everything => true,
            Target::Value(value) => value.source.len() == value.subject.text.len(),
        }
    }

    /// Returns true if the request is so explicit that the reply may cost up to the hard cap.
    pub(crate) fn is_explicit(&self) -> bool {
        self.limit.is_some()
            || self.field_selection == RequestedFields::All
            || self.range.is_some_and(|window| window.is_line_range)
    }

    /// Returns true if the target is a section defined by an operator.
    pub(crate) fn is_custom_section(&self) -> bool {
        matches!(&self.target, Target::Value(value) if value.field_subset.is_some())
    }

    /// Returns the number of ranked records selected to be shown first, if records are ranked.
    pub(crate) fn top_count(&self) -> Option<u32> {
        self.order.as_ref().and_then(|order| order.top_count)
    }

    /// Returns the view with its records in another order.
    pub(crate) fn with_order(self, order: SortOrder) -> Self {
        Self { order: Some(order), ..self }.with_id()
    }

    /// Returns the view with the id of its canonical form. The id of the whole result is zero, which cursors omit.
    fn with_id(mut self) -> Self {
        let form = self.canonical_form();
        self.id = ViewId::default();
        if form != Self::default().canonical_form() {
            let digest = Sha256::digest(form.as_bytes());
            self.id.copy_from_slice(&digest[..size_of::<ViewId>()]);
        }
        self
    }

    /// Returns everything that distinguishes views. Names are quoted, so that they cannot imitate other
    /// members.
    fn canonical_form(&self) -> String {
        let target = match &self.target {
            Target::Everything => None,
            Target::Value(value) => Some((value.part, &value.pointer, value.subject.is_json())),
        };
        let made = match &self.target {
            Target::Value(value) => value.field_subset.as_ref(),
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
