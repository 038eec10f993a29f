//! Options for the replies of an endpoint other than limits: modes, techniques, knowledge about its payloads,
//! and the style of notices.

use std::sync::Arc;

use super::StripRule;
use crate::missing_codes::MissingCodes;
use crate::named_choices::named_choices;

/// Options for the replies of an endpoint, other than limits. Cheap to clone.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RenderOptions {
    /// Techniques that may be applied to payloads.
    pub techniques: Techniques,
    /// True if JSON that passes whole is minified.
    pub is_compact: bool,
    /// Condition for adding a notice, and its extent in text.
    pub metadata: MetadataMode,
    /// Style of the keys of a notice.
    pub metadata_style: MetadataStyle,
    /// Envelope of a portion.
    pub envelope: EnvelopeMode,
    /// Path of the list in a payload, a JSON Pointer or a dotted path; `None` if it is detected.
    pub list_path: Option<Arc<str>>,
    /// Dotted paths of the fields that summaries and condensed records keep first.
    pub summary_fields: Arc<[String]>,
    /// True if summaries and condensed records have no other fields than `summary_fields`.
    pub summary_only: bool,
    /// Named parts of an object that can be requested.
    pub sections: Arc<[NamedSection]>,
    /// Order of a list when the request asks for none, in the syntax of the control `sort`.
    pub default_sort: Option<Arc<str>>,
    /// Fields that views leave out as noise.
    pub strip_rule: StripRule,
    /// Numbers that stand for missing values.
    pub missing_codes: MissingCodes,
    /// Content of `structuredContent` in a shortened result.
    pub structured: StructuredMode,
    /// Limit of the bytes of text and `structuredContent` together, if the policy's own limit is that of the form that a client
    /// shows.
    pub two_form_byte_limit: Option<usize>,
    /// True if an operator set the page size: then pages have exactly that size, instead of what first
    /// replies hold.
    pub has_fixed_page_size: bool,
}

/// Content of `structuredContent` in a shortened result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StructuredMode {
    /// Whole records, as many as fit, for programs that validate them against a schema.
    #[default]
    Records,
    /// The same view as the text, for clients that show a model nothing else.
    AsText,
    /// The same view as the text, which is then left out, for clients that show a model both.
    InPlaceOfText,
    /// The upstream's content, for results that are too small to be shortened.
    AsReceived,
}

impl StructuredMode {
    /// Returns true if it is the same view as the text, condensed alike.
    pub fn is_view_of_text(self) -> bool {
        matches!(self, Self::AsText | Self::InPlaceOfText)
    }
}

/// Techniques that may be applied to payloads. A payload that would need a disabled one is passed on
/// unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Techniques {
    /// Lists are paged.
    pub pagination: bool,
    /// Objects are summarized.
    pub summarization: bool,
    /// Text is chunked.
    pub chunking: bool,
    /// Stored snapshots can be queried.
    pub query: bool,
}

impl Techniques {
    /// All techniques.
    pub const ALL: Self = Self { pagination: true, summarization: true, chunking: true, query: true };
}

impl Default for Techniques {
    fn default() -> Self {
        Self::ALL
    }
}

/// Condition for adding a notice to a reply, and its extent in text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MetadataMode {
    /// If something was left out; in text, what a model acts on.
    #[default]
    WhenShaped,
    /// If something was left out; in full.
    Full,
    /// Always; in full.
    Always,
}

/// Style of the keys of a notice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MetadataStyle {
    /// `nextCursor`, `totalCount`.
    #[default]
    Camel,
    /// `total_count`, `current_page`, `page_size`, `has_more`, `next_page`.
    Snake,
}

impl MetadataStyle {
    /// Converts a key from camel case to this style.
    pub fn key(self, camel: &str) -> String {
        if self == Self::Camel {
            return camel.to_owned();
        }
        let mut snake = String::with_capacity(camel.len() + 2);
        for c in camel.chars() {
            if c.is_ascii_uppercase() {
                snake.push('_');
            }
            snake.push(c.to_ascii_lowercase());
        }
        snake
    }
}

/// Envelope of a portion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EnvelopeMode {
    /// The payload keeps its shape, and the notice is beside it.
    #[default]
    Auto,
    /// `{items,nextCursor,meta}`, `{summary,meta}`, `{content,chunkIndex,totalChunks,nextCursor,metadata}`, everywhere.
    Wrap,
}

named_choices!(MetadataMode { WhenShaped = "when-shaped", Full = "full", Always = "always" });

named_choices!(MetadataStyle { Camel = "camel", Snake = "snake" });

named_choices!(EnvelopeMode { Auto = "auto", Wrap = "wrap" });

/// A named part of an object that can be requested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedSection {
    /// Name of the part.
    pub name: String,
    /// Dotted paths of its fields.
    pub fields: Vec<String>,
}

/// Format of the records of a page in text. Structured content for programs is never changed by it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RowStyle {
    /// As the upstream wrote them.
    #[default]
    Objects,
    /// As a table with the columns named once, where that costs less. Not in bodies of HTTP, where programs expect lists.
    Auto,
    /// Like [`Self::Auto`], in bodies of HTTP, too.
    Tables,
}

/// Content of a first reply beside its description of the whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FirstRows {
    /// A page of records, or a chunk of text.
    #[default]
    Page,
    /// A few records or lines as an example.
    Sample,
}

/// Order of a list when the request asks for none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OrderStrategy {
    /// By score if the records look like search results, else in the upstream's order.
    #[default]
    Auto,
    /// In the upstream's order.
    Plain,
    /// By score, if every record has one.
    Ranked,
}

/// Selection of ranked records when not all fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FillStrategy {
    /// The best ones, until the next would exceed the budget.
    #[default]
    Stop,
    /// The best ones, skipping those that do not fit.
    Skip,
    /// Those of the highest value by score and similarity to the best; near the end of the budget, of the
    /// highest value per token.
    Value,
}

named_choices!(RowStyle { Objects = "objects", Auto = "auto", Tables = "tables" });

named_choices!(FirstRows { Page = "page", Sample = "sample" });

named_choices!(OrderStrategy { Auto = "auto", Plain = "plain", Ranked = "ranked" });

named_choices!(FillStrategy { Stop = "stop", Skip = "skip", Value = "value" });
