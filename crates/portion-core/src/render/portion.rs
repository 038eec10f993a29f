//! The portion: the content of one reply, and the plan of its page.

use std::fmt;
use std::fmt::{Display, Formatter};

use crate::cursor::{CursorToken, Position};
use crate::named_choices::named_choices;
use crate::view::Pagination;

/// A rendering of a view that fits its budget. Only [`render`](super) builds one, so nothing else can be sent
/// in its place.
#[derive(Clone, Debug)]
pub struct Portion {
    pub(super) pieces: Vec<Piece>,
    pub(super) structured: Option<String>,
    pub(super) notice: String,
    pub(super) text_notice: String,
    pub(super) is_enveloped: bool,
    pub(super) whole_value: Option<String>,
    pub(super) is_whole: bool,
    pub(super) next_cursor: Option<CursorToken>,
    pub(super) start_cursor: Option<CursorToken>,
    pub(super) tokens: usize,
    pub(super) charged_cursors: Vec<CursorToken>,
    pub(super) kind: PortionKind,
    pub(super) stages: Vec<StageName>,
    pub(super) dropped_count: usize,
    pub(super) served_count: Option<usize>,
    pub(super) total_count: Option<usize>,
    pub(super) upstream_total: Option<usize>,
    pub(super) pagination: Option<Pagination>,
    pub(super) next_position: Option<Position>,
    pub(super) notice_extras: Option<String>,
    pub(super) plan: Option<Plan>,
}

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

/// Kind of a portion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortionKind {
    /// Items of a list.
    Page,
    /// The highest-ranked fields of an object.
    Summary,
    /// Lines of a text.
    Chunk,
    /// Lines of a text that the caller chose by their numbers.
    Range,
    /// Bytes as the upstream wrote them.
    Raw,
    /// Answer to a query.
    Query,
    /// The whole content.
    Whole,
}

impl PortionKind {
    /// Returns the name, as in a notice.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Page => "page",
            Self::Summary => "summary",
            Self::Chunk => "chunk",
            Self::Range => "range",
            Self::Raw => "raw",
            Self::Query => "query",
            Self::Whole => "whole",
        }
    }
}

/// One part of a portion, in the order of the payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Address of its part: `/content/0/text`.
    pub address: String,
    /// Content at that address.
    pub body: PieceBody,
    /// MIME type of the content, if it is known.
    pub mime: Option<String>,
}

impl Piece {
    /// Returns true unless it is an empty text.
    pub(super) fn shows_anything(&self) -> bool {
        !matches!(&self.body, PieceBody::Text(text) if text.is_empty())
    }
}

/// Content of a piece.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PieceBody {
    /// A text.
    Text(String),
    /// A block as received, JSON.
    Block(String),
    /// A range of base64 that can be decoded on its own.
    Base64(String),
}

impl PieceBody {
    /// Returns the unescaped text, the JSON or the base64.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Text(text) | Self::Block(text) | Self::Base64(text) => text,
        }
    }
}

impl Portion {
    /// Returns the pieces, at most one per address. Parts without a piece are not shown in this reply.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// Returns the whole `structuredContent` of this reply, with the notice merged in, if the payload has
    /// one.
    pub fn structured(&self) -> Option<&str> {
        self.structured.as_deref()
    }

    /// Returns the full notice, a compact JSON object: `{"nextCursor":…,"totalCount":…,"meta":{…}}`. Its keys
    /// have the style of the policy.
    pub fn notice(&self) -> &str {
        &self.notice
    }

    /// Returns the notice to show beside the pieces, or `None` if an envelope contains the full notice. It holds
    /// what a model acts on: cursors, totals, missing content and the next call.
    pub fn separate_notice(&self) -> Option<&str> {
        (!self.is_enveloped).then_some(&self.text_notice)
    }

    /// Returns the JSON value that an envelope contains whole, for transports that send the notice beside the content.
    pub fn whole_value(&self) -> Option<&str> {
        self.whole_value.as_deref()
    }

    /// Returns true if the whole payload is shown as received, with only a notice added.
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Returns true if a larger reply would show more.
    pub(super) fn leaves_content(&self) -> bool {
        self.next_position.is_some() || !self.stages.is_empty()
    }

    /// Returns the cursor to the next page, or `None` if nothing follows or nothing could be stored.
    pub fn next_cursor(&self) -> Option<&CursorToken> {
        self.next_cursor.as_ref()
    }

    /// Returns the cursor to the start of this reply, or `None` if nothing could be stored.
    pub fn start_cursor(&self) -> Option<&CursorToken> {
        self.start_cursor.as_ref()
    }

    /// Returns the cost of the more expensive form, notice included, by the counter that it was rendered
    /// with. It contains the charge of each of the [charged cursors](Self::charged_cursors).
    pub fn tokens(&self) -> usize {
        self.tokens
    }

    /// Returns the cursors that cost less than they are charged: see [`charged`](crate::cursor::charged).
    pub fn charged_cursors(&self) -> &[CursorToken] {
        &self.charged_cursors
    }

    /// Returns the names of the [stages](Self::stages).
    pub fn stage_names(&self) -> Vec<&'static str> {
        self.stages.iter().map(|stage| stage.name()).collect()
    }

    /// Returns the stages that made the items of a page fit, in the order applied; empty for other kinds.
    pub fn stages(&self) -> &[StageName] {
        &self.stages
    }

    /// Returns the plan of a page; `None` for other kinds.
    pub fn plan(&self) -> Option<&Plan> {
        self.plan.as_ref()
    }

    /// Returns the number of ranked items after the shown ones: they did not fit, or exceeded the requested
    /// number. Returns 0 for an unranked list, which is read page by page.
    pub fn dropped_count(&self) -> usize {
        self.dropped_count
    }

    /// Returns JSON object members to add to repeated copies of the notice. They are no part of the reply,
    /// because equal inputs give equal replies.
    pub fn notice_extras(&self) -> Option<&str> {
        self.notice_extras.as_deref()
    }

    /// Returns the same portion with such members.
    #[must_use]
    pub fn with_notice_extras(self, members: String) -> Self {
        Self { notice_extras: Some(members), ..self }
    }

    /// Returns the number of list items, rows or matches shown, or `None` if none are counted.
    pub fn served_count(&self) -> Option<usize> {
        self.served_count
    }

    /// Returns the number of all items, rows or matches, or `None` if none are counted.
    pub fn total_count(&self) -> Option<usize> {
        self.total_count
    }

    /// Returns the upstream's number of items, if the payload is one page of them.
    pub fn upstream_total(&self) -> Option<usize> {
        self.upstream_total
    }

    /// Returns the position at which the next page begins, or `None` if nothing follows.
    pub fn next_position(&self) -> Option<Position> {
        self.next_position
    }

    /// Returns what the portion shows of the payload.
    pub fn kind(&self) -> PortionKind {
        self.kind
    }
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

/// A stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StageName {
    /// Records are written as rows of a table.
    Dense,
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
    Condense = "condense",
    Elide = "elide",
    Identify = "identify",
    Fewer = "fewer"
});
