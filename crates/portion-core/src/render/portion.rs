//! What is served.

use crate::cursor::{CursorToken, Position};
use crate::view::Pagination;

/// A rendering of a view that fits its budget. Only [`render`](super) makes one, so nothing
/// else can be put on a wire in its place.
#[derive(Clone, Debug)]
pub struct Portion {
    pub(super) pieces: Vec<Piece>,
    pub(super) structured: Option<String>,
    pub(super) notice: String,
    pub(super) is_enveloped: bool,
    pub(super) is_whole: bool,
    pub(super) next_cursor: Option<CursorToken>,
    pub(super) start_cursor: Option<CursorToken>,
    pub(super) tokens: usize,
    pub(super) kind: &'static str,
    pub(super) stages: Vec<&'static str>,
    pub(super) dropped_count: usize,
    pub(super) served_count: Option<usize>,
    pub(super) pagination: Option<Pagination>,
    pub(super) next_position: Option<Position>,
    pub(super) notice_extras: Option<String>,
}

/// One part of a portion, in the order of the payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The address of the part it is from: `/content/0/text`.
    pub address: String,
    /// What to show there.
    pub body: PieceBody,
    /// The MIME type of what is shown, where it is known.
    pub mime: Option<String>,
}

/// What stands in a part's place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PieceBody {
    /// This text.
    Text(String),
    /// A block as the upstream wrote it, JSON.
    Block(String),
    /// A stretch of base64 that can be decoded by itself, as the bytes it stands for.
    Base64(String),
}

impl PieceBody {
    /// What it says: a text out of its escapes, JSON, base64.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Text(text) | Self::Block(text) | Self::Base64(text) => text,
        }
    }
}

impl Portion {
    /// The parts to show, at most one an address. Parts that are missing are not shown in this reply.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// The whole `structuredContent` of this reply, notice merged in, where the payload had one.
    pub fn structured(&self) -> Option<&str> {
        self.structured.as_deref()
    }

    /// The notice, a compact JSON object: `{"nextCursor":…,"totalCount":…,"meta":{…}}`, its keys in the style of the
    /// policy.
    pub fn notice(&self) -> &str {
        &self.notice
    }

    /// The notice where it is to be shown beside the pieces; `None` where one of them says all of it, in an envelope.
    pub fn separate_notice(&self) -> Option<&str> {
        (!self.is_enveloped).then_some(&self.notice)
    }

    /// Whether the whole payload is shown as it came, for nothing but a notice was wanted.
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Where it goes on; `None` where nothing follows, or nothing could be kept.
    pub fn next_cursor(&self) -> Option<&CursorToken> {
        self.next_cursor.as_ref()
    }

    /// Where it began; `None` where nothing could be kept.
    pub fn start_cursor(&self) -> Option<&CursorToken> {
        self.start_cursor.as_ref()
    }

    /// What it costs in the dearest of its forms, notice included, by the counter it was rendered with.
    pub fn tokens(&self) -> usize {
        self.tokens
    }

    /// The stages that were needed to make the items fit, the gentlest first (a page's; else empty).
    pub fn stages(&self) -> &[&'static str] {
        &self.stages
    }

    /// How many ranked items come after those that are shown: they did not fit, or were too many. 0 where nothing is
    /// ranked, and the rest is a matter of reading on.
    pub fn dropped_count(&self) -> usize {
        self.dropped_count
    }

    /// What stands beside the notice where that is repeated, members of a JSON object: what is no part of the reply, for
    /// equal inputs give equal replies.
    pub fn notice_extras(&self) -> Option<&str> {
        self.notice_extras.as_deref()
    }

    /// The same with such members.
    #[must_use]
    pub fn with_notice_extras(self, members: String) -> Self {
        Self { notice_extras: Some(members), ..self }
    }

    /// How many items of a list, rows, or matches are shown; `None` where none are counted.
    pub fn served_count(&self) -> Option<usize> {
        self.served_count
    }

    /// `page`, `summary`, `chunk`, `range`, `raw`, `query` or `whole`.
    pub fn kind(&self) -> &'static str {
        self.kind
    }
}
