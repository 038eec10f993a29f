//! A rendered part: its text, the format of its items, the offset of the next page, and the content of its notice.

use portion_json::projection::FieldSelection;
use portion_json::scan::JsonKind;
use portion_json::span::Span;
use serde_json::{Map, Value};

use super::budget::RemainingBudget;
use super::context::FollowUpCall;
use super::meta::{NameList, RenderingMeta};
use super::page::{Cost, Measured};
use super::portion::{Plan, PortionKind, StageName};
use super::query_tables::QueryTables;
use crate::cursor::{CursorToken, PartOffset, Position};
use crate::noise::NoiseFields;
use crate::paging::{PagingArgument, selects_pages};
use crate::payload::{TransportPage, UpstreamList};
use crate::policy::{EnvelopeMode, FirstRows, Policy, StripRule};
use crate::snapshot::{IndexedText, Slice, Structure};
use crate::view::{Pagination, RequestedFields, SortOrder, View};

/// A part to render, and how.
#[derive(Clone, Copy)]
pub(super) struct RenderTarget<'a> {
    /// The text or JSON.
    pub subject: &'a IndexedText,
    /// Its pointer, as written in a caller's path; empty for the main part.
    pub pointer: &'a str,
    /// The view.
    pub view: &'a View,
    /// True if a path or section selects it.
    pub is_singled_out: bool,
    /// Offset at which to begin.
    pub start: PartOffset,
    /// Number of portions before this one.
    pub portion_index: u16,
    /// Tokens of the description beside it, which a chunk of text leaves.
    pub described_tokens: usize,
    /// Items wanted, if not the usual number of a page.
    pub wanted_count: Option<u32>,
    /// Items that a numbered page must hold.
    pub required_count: Option<u32>,
    /// Pagination that the first reply to the walk through this part fixed.
    pub pagination: Option<&'a Pagination>,
    /// Index of the part.
    pub part_index: usize,
    /// True if a list may be written as a table where that costs less.
    pub allows_table: bool,
    /// True if a sample may be shown.
    pub allows_sample: bool,
    /// True if this is an answer: each item holds what was asked for, so fewer items are served, each of them
    /// whole.
    pub is_answer: bool,
    /// True for an answer with all columns, of which no one was asked for.
    pub selects_all_columns: bool,
    /// Order in which a list is shown, if not its own.
    pub order: Option<&'a SortOrder>,
    /// Paging arguments of the tool that was called.
    pub paging_arguments: &'a [PagingArgument],
    /// Request for further pages.
    pub read_call: FollowUpCall<'a>,
    /// Makes a cursor to a position in the view.
    pub issue_cursor: &'a dyn Fn(Position) -> Option<CursorToken>,
    /// What the transport says about this page of the upstream.
    pub transport_page: Option<&'a TransportPage>,
    /// Extent of the list, where it is fetched from the upstream page by page.
    pub upstream_list: Option<&'a UpstreamList>,
    /// True if the caller gave the size of the reply, which a chunk of text then may use up.
    pub has_explicit_size: bool,
    /// Costs of the lists and texts of the reply, as far as they were measured.
    pub measured: &'a Measured,
    /// True if only the notice of the reply is wanted: planned records need not be written.
    pub is_draft: bool,
    /// The limits.
    pub policy: &'a Policy,
}

impl RenderTarget<'_> {
    /// Returns true if the caller selected an object as a whole, even if it contains a list. Without an envelope, that list is
    /// still described.
    pub(super) fn is_one_object(&self) -> bool {
        let is_selected = self.view.is_custom_section() || self.is_singled_out && self.uses_envelope();
        is_selected && JsonKind::of_value(self.subject.text.trim_start()) == JsonKind::Object
    }

    /// Returns the rule for stripped fields, or `None` if the caller selected what to show.
    pub(super) fn strip_rule(&self) -> Option<&StripRule> {
        let request = self.view.field_selection != RequestedFields::Auto
            || self.view.is_section
            || self.is_singled_out
            || self.is_answer;
        Some(&self.policy.render_options.strip_rule).filter(|strip| !request && !strip.is_empty())
    }

    /// Returns true if this is the first reply of its walk.
    pub(super) fn is_first(&self) -> bool {
        let start = self.view.range.map_or(0, |window| window.span.start);
        self.start.is_start() || self.start == PartOffset::Byte(start)
    }

    /// Returns true if it is shown as a sample of the whole.
    pub(super) fn is_sample(&self) -> bool {
        self.policy.first_rows == FirstRows::Sample && self.may_be_sample()
    }

    /// Returns true if it is the first reply to a plain request, which the caller gave no size.
    pub(super) fn may_be_sample(&self) -> bool {
        self.allows_sample
            && self.view.is_whole_list()
            && !self.is_singled_out
            && !self.is_answer
            && !self.has_explicit_size
            && self.wanted_count.is_none()
            && self.upstream_list.is_none()
            && self.is_first()
            && self.pagination.is_none_or(|pagination| pagination.is_sample)
            && !self.is_page_of_program()
    }

    /// Returns true for a page over HTTP that says which one it is: a program goes on with the next one.
    fn is_page_of_program(&self) -> bool {
        let Structure::List(list) = &self.subject.structure else { return false };
        let page = || list.upstream_page(&self.subject.text, selects_pages(self.paging_arguments));
        matches!(self.read_call, FollowUpCall::Http(_)) && page().is_some()
    }

    /// Returns the number of items of each page, if the first reply to the walk fixed it.
    pub(super) fn fixed_page_size(&self) -> Option<u32> {
        let fixed = self.pagination.filter(|fixed| !fixed.is_sample || self.required_count.is_some());
        fixed.map(|fixed| fixed.page_size)
    }

    /// Returns true if the result may be put in an envelope.
    pub(super) fn uses_envelope(&self) -> bool {
        self.policy.render_options.envelope == EnvelopeMode::Wrap
    }
}

/// Dotted paths of fields stripped as noise.
#[derive(Default)]
pub(super) struct StrippedFields {
    /// Stripped by name.
    pub named: Vec<String>,
    /// Stripped because they are `null`.
    pub nulls: Vec<String>,
}

impl StrippedFields {
    /// Returns true if any field was stripped.
    pub(super) fn has_any(&self) -> bool {
        !self.named.is_empty() || !self.nulls.is_empty()
    }
}

/// An optional member of the notice that describes the content.
pub(super) enum NoticeExtra {
    /// Fields of an object that are not shown.
    Condensed(NameList),
    /// Headings of a text.
    Headings(NameList),
    /// MIME type of base64.
    MimeType(String),
}

impl NoticeExtra {
    /// Returns the key and the value in the notice.
    pub(super) fn member(&self) -> (&'static str, Value) {
        match self {
            Self::Condensed(fields) => ("condensed", fields.to_json()),
            Self::Headings(names) => ("sections", names.to_json()),
            Self::MimeType(mime) => ("mimeType", mime.as_str().into()),
        }
    }
}

/// A part rendered within a budget.
pub(super) struct Rendering {
    /// Its text.
    pub body: String,
    /// Its plan and the planned cost of its text.
    pub plan: Option<(Plan, Cost)>,
    /// True if the text is JSON that can replace the whole value.
    pub is_json: bool,
    /// Offset of the next page.
    pub next: Option<PartOffset>,
    /// Kind of portion.
    pub kind: PortionKind,
    /// Number of items in a list.
    pub total_count: Option<usize>,
    /// Required members of the notice.
    pub meta: RenderingMeta,
    /// Optional members of the notice, the most useful first.
    pub extras: Vec<NoticeExtra>,
    /// Set on a summary: names and sizes of its sections.
    pub sections: Option<Map<String, Value>>,
    /// Number of items or lines that it should hold, if that is fixed.
    pub required_count: Option<usize>,
    /// Pagination that it fixes for the rest of its walk, if it is the first reply.
    pub pagination: Option<Pagination>,
    /// Stages that were applied.
    pub stages: Vec<StageName>,
    /// Cursors in its text.
    pub linked_cursors: Vec<CursorToken>,
    /// Names of all fields and the characters that they may take, if the notice lists them.
    pub available_fields: Option<(Vec<String>, usize)>,
    /// Fields stripped as noise.
    pub stripped: StrippedFields,
    /// Tokens of the largest possible chunk, if more follows and the caller gave no size.
    pub larger_budget: Option<usize>,
    /// Tables that a query can read, if one is useful.
    pub query_tables: Option<QueryTables>,
    /// A list taken apart, for an envelope.
    pub page_parts: Option<PageParts>,
    /// Set on a range of bytes: the text and the span that its offsets count from.
    pub source: Option<(Slice, Span)>,
}

/// A page taken apart, as JSON.
#[derive(Clone)]
pub(super) struct PageParts {
    /// The items with their brackets.
    pub items: String,
    /// Enclosing objects without the list; empty if they have no other members.
    pub outer_members: String,
}

impl Rendering {
    /// Creates a rendering with this text and nothing to report.
    pub(super) fn new(kind: PortionKind, body: String) -> Self {
        Self {
            body,
            plan: None,
            is_json: false,
            next: None,
            kind,
            total_count: None,
            meta: RenderingMeta::default(),
            extras: Vec::new(),
            sections: None,
            required_count: None,
            pagination: None,
            stages: Vec::new(),
            linked_cursors: Vec::new(),
            available_fields: None,
            stripped: StrippedFields::default(),
            larger_budget: None,
            query_tables: None,
            page_parts: None,
            source: None,
        }
    }

    /// Returns the items or lines shown and the number that it should hold, if it falls short of that number.
    pub(super) fn shortfall(&self) -> Option<(usize, usize)> {
        // Bytes of an item are no lines of a page.
        let lines = self.meta.lines.filter(|_| self.kind != PortionKind::Raw);
        let lines = lines.map(|(first, last)| (last + 1).saturating_sub(first));
        let served = self.meta.served.or(lines).unwrap_or(0);
        let of = self.required_count.filter(|of| served < *of && self.next.is_some())?;
        Some((served, of))
    }

    /// Returns true if the notice must report missing content or another row format.
    pub(super) fn needs_notice(&self) -> bool {
        self.omits_content() || self.meta.is_dense
    }

    /// Returns true if content is missing that no follow-up returns by default.
    pub(super) fn omits_content(&self) -> bool {
        self.meta.omits_content()
            || self.stripped.has_any()
            || matches!(self.kind, PortionKind::Summary | PortionKind::Raw)
    }

    /// Returns the type of the envelope that holds this rendering.
    pub(super) fn envelope_type(&self) -> EnvelopeType {
        if self.page_parts.is_some() {
            EnvelopeType::Page
        } else if self.is_json && JsonKind::of_value(self.body.trim_start()) == JsonKind::Object {
            EnvelopeType::Summary
        } else {
            EnvelopeType::Chunk
        }
    }

    /// Returns true if all of an object is shown.
    pub(super) fn is_full(&self) -> bool {
        self.next.is_none() && self.meta.offset.unwrap_or(0) == 0 && !self.needs_notice()
    }
}

/// Returns the characters that lists of names in a notice may take: about a tenth of the budget, with a
/// minimum.
pub(super) fn max_name_chars(room: &RemainingBudget<'_>) -> usize {
    (room.tokens / 3).max(MIN_NAME_CHARS)
}

/// Characters of about a dozen names.
const MIN_NAME_CHARS: usize = 250;

/// Type of an envelope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EnvelopeType {
    /// Items of a list.
    Page,
    /// An object, or fields of it.
    Summary,
    /// A text, a range of bytes, or a single value.
    Chunk,
}

/// The format in which items are written, without white space between tokens.
#[derive(Clone, Debug, Default)]
pub(crate) struct RowFormat {
    /// Writes items as rows of a table, with each field name once.
    pub as_table: bool,
    /// Fields that are never written.
    pub noise: NoiseFields,
    /// Fields that are written; all if `None`.
    pub kept_fields: Option<FieldSelection>,
    /// True if `kept_fields` was chosen by a plan rather than requested.
    pub is_condensed: bool,
    /// Shortens strings above this many characters.
    pub elide_above: Option<usize>,
    /// Stages that were applied.
    pub stages: Vec<StageName>,
}
