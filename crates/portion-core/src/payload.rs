//! The result of an upstream before it is captured: its content parts and what is known of them.

use std::fmt;
use std::sync::Arc;

use portion_redact::RedactionRules;

use crate::missing_codes::MissingCodes;
use crate::paging::PagingArgument;

/// One result of an upstream: its parts with content, in order.
#[derive(Clone, Debug, Default)]
pub struct Payload {
    /// Parts in the order of the upstream; `structuredContent` is last.
    pub blocks: Vec<Block>,
    /// Number of invalid UTF-8 sequences that were replaced by U+FFFD on the way here. They are reported
    /// even in a reply that is otherwise untouched.
    pub invalid_utf8_count: usize,
    /// True if the bytes of the upstream are sent where the payload passes as received. Replaced bytes are
    /// then not reported: none is replaced.
    pub passes_as_bytes: bool,
    /// Number of lone surrogates in the texts of the blocks that were replaced by U+FFFD. JSON can hold
    /// them, text cannot.
    pub lone_surrogate_count: usize,
    /// The same count for `structuredContent`. There they stay as escapes; they are replaced where a
    /// string of it is shown as text.
    pub structured_surrogate_count: usize,
    /// True if the upstream marks the result as an error.
    pub is_error: bool,
    /// True if `structuredContent` is shown as text like any part, because clients read only the text of
    /// errors.
    pub is_text_only: bool,
    /// Bytes on the wire around the parts, which are sent whatever is shown of them.
    pub frame_bytes: usize,
    /// Facts to report about an answer; set where this payload answers a query on another payload.
    pub query_answer: Option<QueryAnswer>,
    /// Rules for hiding fields before indexing. With `None`, code that passes the payload on may set its own;
    /// otherwise nothing is hidden.
    pub redaction_rules: Option<Arc<dyn Redact>>,
    /// Arguments by which the called tool pages its own results, with their values in the call.
    pub paging_arguments: Arc<[PagingArgument]>,
    /// Path of the list: a JSON Pointer or a dotted path. Where it is `None` or leads to no list, the
    /// list is detected.
    pub list_path: Option<Arc<str>>,
    /// Numbers that stand for missing values.
    pub missing_codes: MissingCodes,
    /// What the transport says about this page of the upstream.
    pub transport_page: Option<Box<TransportPage>>,
    /// Extent of the list, where the gateway fetches it from the upstream page by page.
    pub upstream_list: Option<Box<UpstreamList>>,
}

/// Facts about a page of the upstream that are not in its content: header fields of HTTP, or the notice of another gateway.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TransportPage {
    /// The next page.
    pub next: Option<NextPage>,
    /// Number of items of the whole list.
    pub total: Option<u64>,
}

/// Way to the upstream's next page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextPage {
    /// URL.
    Link(Box<str>),
    /// Call, as text for the caller.
    Call(Box<str>),
}

impl Payload {
    /// Returns the URL of the upstream's next page, where the transport names it.
    pub fn next_link(&self) -> Option<&str> {
        self.transport_page.as_ref()?.next_link()
    }
}

impl TransportPage {
    /// Returns the URL of the next page.
    pub fn next_link(&self) -> Option<&str> {
        match self.next.as_ref()? {
            NextPage::Link(link) => Some(link),
            NextPage::Call(_) => None,
        }
    }

    /// Returns the facts as a field of a payload; `None` if there are none.
    pub fn into_field(self) -> Option<Box<Self>> {
        (self != Self::default()).then(|| Box::new(self))
    }
}

/// Extent of a list that is fetched from the upstream page by page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UpstreamList {
    /// Number of items of the upstream's list before the first fetched one.
    pub skipped: usize,
    /// Number of fetched items.
    pub fetched: usize,
    /// Number of items that the upstream reports, if it reports one.
    pub total: Option<usize>,
    /// True if the upstream has, or may have, more items than were fetched.
    pub is_partial: bool,
    /// Reason why fetching stopped before the end; `None` while it goes on.
    pub stop_reason: Option<String>,
    /// True if the total or the order changed between pages.
    pub has_changed: bool,
    /// State from which the fetch can go on, in the format of the code that fetches.
    pub continuation: Option<String>,
    /// Number of items of the first page, if the first reply shows no others.
    pub opening_count: Option<usize>,
}

impl UpstreamList {
    /// Reason in a list that is served while it is fetched.
    pub const STILL_FETCHING: &str = "still being fetched; the next call waits for more";
    /// Reason where the upstream ignores what selects a page.
    pub const SAME_PAGE: &str = "the upstream returns the same page again";

    /// Returns the number of items of the whole list, if it is known.
    pub fn total_count(&self) -> Option<usize> {
        let end = self.skipped + self.fetched;
        match self.is_partial {
            true => self.total.filter(|total| *total > end),
            // A fetch that begins after the end has no items: only the upstream knows the total.
            false if self.fetched == 0 && self.skipped > 0 => self.total,
            false => Some(end),
        }
    }

    /// Returns true if the upstream returned the same page again for another one.
    pub fn is_stuck(&self) -> bool {
        self.stop_reason.as_deref() == Some(Self::SAME_PAGE)
    }

    /// Returns true if the list has, or may have, items that were not fetched.
    pub fn is_incomplete(&self) -> bool {
        self.is_partial || self.skipped > 0
    }

    /// Describes a list that was not fetched completely: `of 300 fetched; the upstream has 500`.
    pub fn describe_gap(&self) -> Option<String> {
        let start = (self.skipped > 0).then(|| {
            let doubt = if self.total.is_none() {
                ", if the upstream applies offset (unconfirmed): compare the first items with those of a call without offset"
            } else {
                "; a call without offset begins at the first item"
            };
            format!("fetched from offset {}{doubt}", self.skipped)
        });
        match (start, self.describe_end()) {
            (Some(start), Some(end)) => Some(format!("{start}; {end}")),
            (start, end) => start.or(end),
        }
    }

    fn describe_end(&self) -> Option<String> {
        let reason = self.stop_reason.as_ref().filter(|_| self.is_partial)?;
        let rest = match self.total_count() {
            Some(total) => format!("the upstream has {total}"),
            None => "the upstream has more".to_owned(),
        };
        Some(format!("of {} fetched; {rest} ({reason})", self.fetched))
    }
}

/// Hides parts of texts before they are indexed.
pub trait Redact: fmt::Debug + Send + Sync {
    /// Returns the text without what is hidden, and the paths of the hidden fields; `None` if nothing is hidden.
    fn redact(&self, text: &str) -> Option<(String, Vec<String>)>;

    /// Returns true if nothing is hidden in any text.
    fn hides_nothing(&self) -> bool;
}

impl Redact for RedactionRules {
    fn redact(&self, text: &str) -> Option<(String, Vec<String>)> {
        Self::redact(self, text)
    }

    fn hides_nothing(&self) -> bool {
        *self == Self::none()
    }
}

/// Facts to report about the answer to a query on a payload.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueryAnswer {
    /// Number of rows or matches.
    pub match_count: usize,
    /// Number of units that contain some of the search words, where no unit contains all of them
    /// together.
    pub word_match_count: usize,
    /// Further facts, in order, which go into `meta` unchanged.
    pub extra_meta: serde_json::Map<String, serde_json::Value>,
    /// True if the selected fields are known fields of the queried payload: then an answer that lacks one of them is shown with
    /// all of its columns.
    pub has_known_fields: bool,
    /// True for a statement that selects all columns or whole records: long strings may be shortened, so that more rows fit.
    pub selects_all_columns: bool,
    /// True for a statement over other lists than the main one, whose total says nothing about them.
    pub reads_other_lists: bool,
}

/// One part of a result.
#[derive(Clone, Debug)]
pub struct Block {
    /// Address within the result, a JSON Pointer: `/content/0/text`.
    pub address: String,
    /// The content.
    pub content: Content,
    /// Metadata around the content.
    pub label: BlockLabel,
}

/// Metadata of a part in its result. Where the part is shown in another place, the metadata is shown
/// beside it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockLabel {
    /// Source of the part: the URI of a resource, or the role that a message belongs to.
    pub source: Option<String>,
    /// MIME type of the text of a resource.
    pub mime_type: Option<String>,
    /// Bytes on the wire around the part in its own place, whatever is shown of it.
    pub frame_bytes: usize,
}

impl Block {
    /// Creates a part without metadata.
    pub fn new(address: impl Into<String>, content: Content) -> Self {
        Self { address: address.into(), content, label: BlockLabel::default() }
    }
}

/// The content of one part of a result.
#[derive(Clone, Debug)]
pub enum Content {
    /// Text, with JSON escapes decoded. It may turn out to be JSON.
    Text(String),
    /// A JSON value as the upstream wrote it, which programs read beside the text: `structuredContent`.
    Structured(String),
    /// A block that is passed on whole or not at all: an image, a link, a block of an unknown kind.
    Atomic {
        /// The block as the upstream wrote it, JSON.
        json: String,
        /// Facts about its binary data, where it is an image, audio, or a blob.
        binary: Option<BinaryInfo>,
    },
    /// A JSON value beside the content, as the upstream wrote it: passed on whole or left out, because no
    /// text can replace it.
    Extra(String),
}

/// Places of base64 text in blocks of the Model Context Protocol, as JSON Pointers.
pub(crate) const DATA_POINTERS: &[&str] = &["/data", "/blob", "/resource/blob"];

/// Facts about binary content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BinaryInfo {
    /// MIME type, or a substitute for it.
    pub mime_type: String,
    /// Place of the base64 text within the block, a JSON Pointer: `/data`.
    pub data_pointer: &'static str,
    /// Size in bytes after decoding the base64.
    pub decoded_bytes: usize,
    /// True for an image or audio, which is shown to models as such and has a limit of its own.
    pub is_media: bool,
}
