//! The pagination that a first reply fixes, and the position at which a numbered page or an offset begins.

use std::sync::Arc;

use portion_json::projection::FieldSelection;

use super::target::{focused_value, whole_part_value};
use super::{Request, Target, TargetValue, View, ViewError};
use crate::cursor::{PartOffset, Position};
use crate::policy::Policy;
use crate::snapshot::{LineIndex, Part, STRUCTURED_CONTENT, Snapshot, Structure};

/// Smallest part that has pages if there are others, in bytes. Smaller ones are shown whole.
const MIN_PAGED_BYTES: usize = 1_000;

/// A page requested by number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NumberedPage {
    /// Number of the page, from 1.
    pub number: u32,
    /// Number of pages requested at once.
    pub page_count: u32,
    /// True if the page size is known. Otherwise it is the size of the first reply.
    pub has_known_size: bool,
}

/// Position, number of items wanted there, and the page that it is.
pub(super) type PageStart = (Position, Option<u32>, Option<NumberedPage>);

/// Returns where the page or the offset of a request begins. `from`: the start of the view.
pub(super) fn page_start(
    snapshot: &Snapshot,
    view: &mut View,
    from: Position,
    request: &Request,
    policy: &Policy,
) -> Result<PageStart, ViewError> {
    if view.raw {
        let first = view.range.map_or(0, |window| window.span.start);
        let byte = first.saturating_add(request.offset.unwrap_or(0));
        return Ok((Position { offset: PartOffset::Byte(byte), ordinal: 0, ..from }, None, None));
    }
    let value = match numbered_value(snapshot, view) {
        // The first page of several parts is the first reply.
        Err(ViewError::PartsWithPages(_)) if request.first_item(1).unwrap_or_default() == 0 => {
            return Ok((from, None, None));
        }
        value => value?,
    };
    let fixed = view.page_size().or_else(|| {
        let list = matches!(value.subject.structure, Structure::List(_))
            && policy.render_options.has_fixed_page_size;
        list.then_some(policy.default_page_size as u32)
    });
    let size = fixed.unwrap_or(match &value.subject.structure {
        Structure::Text(_) => policy.chunk_lines as u32,
        _ => policy.default_page_size as u32,
    });
    let at = match request.page {
        Some(page) => (page - 1).saturating_mul(size),
        None => request.offset.unwrap_or(0),
    };
    let place = match &value.subject.structure {
        Structure::List(_) => PartOffset::Item(at_fetched_item(snapshot, view, at)?),
        Structure::Text(text) => line_start_place(text, &value.subject.text, view, at),
        Structure::Object(_) if at == 0 || request.page == Some(1) => PartOffset::Item(0),
        Structure::Object(_) => return Err(ViewError::NoPages),
    };
    let part = value.part;
    view.target = Target::Value(value);
    let ordinal = request.page.map_or(0, |page| (page - 1).min(u32::from(u16::MAX)) as u16);
    let pages = request.page_count.unwrap_or(1);
    // A first page without a fixed size is as large as fits.
    let open = place.is_start() && fixed.is_none() && request.page_count.is_none();
    let count = (!open).then(|| size.saturating_mul(pages));
    let sized = fixed.is_some() || request.page_count.is_some();
    let numbered =
        request.page.map(|page| NumberedPage { number: page, page_count: pages, has_known_size: sized });
    Ok((Position { part, ordinal, offset: place }, count, numbered))
}

/// Returns the value whose items or lines are numbered: that of the view, the only list if it is the largest part, or the only
/// part that is too large to be shown whole.
fn numbered_value(snapshot: &Snapshot, view: &View) -> Result<Arc<TargetValue>, ViewError> {
    let Target::Everything = &view.target else { return focused_value(snapshot, view) };
    let texts = |is_meant: &dyn Fn(&Part, &Structure) -> bool| -> Vec<usize> {
        let parts = snapshot.parts().iter().enumerate();
        let own = parts.filter(|(_, part)| part.duplicate.is_none() && part.address != STRUCTURED_CONTENT);
        let is_meant = |part: &Part| part.indexed_text().is_some_and(|text| is_meant(part, &text.structure));
        own.filter(|(_, part)| is_meant(part)).map(|(at, _)| at).collect()
    };
    let lists = texts(&|_, structure| matches!(structure, Structure::List(_)));
    if snapshot.main_part().is_some_and(|main| lists == [main]) {
        return focused_value(snapshot, view);
    }
    let large = texts(&|part, structure| {
        part.text_len() >= MIN_PAGED_BYTES && !matches!(structure, Structure::Object(_))
    });
    // A short text beside `structuredContent` sums it up.
    if let Some(list) = structured_list(snapshot).filter(|_| large.is_empty()) {
        return Ok(Arc::new(list));
    }
    let paged = if large.is_empty() { texts(&|_, _| true) } else { large };
    match paged[..] {
        [] => focused_value(snapshot, view),
        [only] => whole_part_value(snapshot, only).map(Arc::new).ok_or(ViewError::NoPages),
        _ => {
            let address = |at: &usize| snapshot.parts()[*at].address.clone();
            Err(ViewError::PartsWithPages(paged.iter().map(address).collect()))
        }
    }
}

/// Returns the list in `structuredContent`, if no text repeats it.
fn structured_list(snapshot: &Snapshot) -> Option<TargetValue> {
    let own = |part: &Part| part.address == STRUCTURED_CONTENT && part.duplicate.is_none();
    let at = snapshot.parts().iter().position(own)?;
    let list =
        snapshot.parts()[at].indexed_text().filter(|text| matches!(text.structure, Structure::List(_)));
    list.and_then(|_| whole_part_value(snapshot, at))
}

/// Returns the index of an item in a snapshot that may lack the first items of the upstream's list.
fn at_fetched_item(snapshot: &Snapshot, view: &View, at: u32) -> Result<u32, ViewError> {
    let skipped = skipped_count(snapshot, view);
    at.checked_sub(skipped).ok_or(ViewError::BeforeFetched { first: skipped })
}

/// Returns the number of items that the upstream's list has before those of a snapshot.
pub(crate) fn skipped_count(snapshot: &Snapshot, view: &View) -> u32 {
    let is_main_list = matches!(&view.target, Target::Everything)
        || matches!(&view.target, Target::Value(value) if value.pointer.is_empty());
    let skipped = snapshot.upstream_list().filter(|_| is_main_list).map_or(0, |list| list.skipped);
    u32::try_from(skipped).unwrap_or(u32::MAX)
}

/// Returns the offset of a line of a text, counted from the start of the view's range.
pub(crate) fn line_start_place(text: &LineIndex, whole: &str, view: &View, line: u32) -> PartOffset {
    let first = view.range.map_or(0, |window| window.span.start as usize);
    let line = text.line_at(whole, first).saturating_add(line as usize);
    PartOffset::Byte(text.line_start(whole, line) as u32)
}

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
    pub(crate) fn with_pagination(self, pagination: Option<Pagination>) -> Self {
        if self.pagination.is_some() {
            return self;
        }
        Self { pagination: pagination.map(Arc::new), ..self }
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
        self.limit.or(self.pagination.as_ref().map(|pagination| pagination.page_size))
    }
}
