//! How replies of an endpoint are made, budgets aside: which techniques are used, what is known of its payloads, and
//! how what we add is written.

use std::sync::Arc;

use super::StripRule;

/// How replies of an endpoint are made, budgets aside. Cheap to clone.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RenderOptions {
    /// What may be done to payloads.
    pub techniques: Techniques,
    /// When a notice is added.
    pub metadata: MetadataMode,
    /// How the keys of a notice are written.
    pub metadata_style: MetadataStyle,
    /// In what a portion is put.
    pub envelope: EnvelopeMode,
    /// Where the list of a payload is, a JSON Pointer or a dotted path; `None` where it is found.
    pub list_path: Option<Arc<str>>,
    /// The fields that summaries and condensed records keep before all others, dotted paths.
    pub summary_fields: Arc<[String]>,
    /// Parts of an object that can be asked for by a name.
    pub sections: Arc<[NamedSection]>,
    /// The order of a list that nobody asked to be in any, as the control `sort` is written.
    pub default_sort: Option<Arc<str>>,
    /// What is left out of views as noise.
    pub strip_rule: StripRule,
    /// What `structuredContent` holds of a result that is shortened.
    pub structured: StructuredMode,
    /// Whether an operator decided how large pages are: then they are as large as that, and not what first replies hold.
    pub has_fixed_page_size: bool,
}

/// What `structuredContent` holds of a result that is shortened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StructuredMode {
    /// Whole records, as many as fit, for programs that hold them against a schema.
    #[default]
    Records,
    /// The view that the text shows, for clients that show a model nothing else.
    AsText,
    /// What the upstream gave, for results that are too small to be shortened.
    AsReceived,
}

/// What may be done to payloads. What is not done leaves those as they came that it would be done to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Techniques {
    /// Lists are paged.
    pub pagination: bool,
    /// Objects are summarized.
    pub summarization: bool,
    /// Text is chunked.
    pub chunking: bool,
    /// What is kept can be asked about.
    pub query: bool,
}

impl Techniques {
    /// All of them.
    pub const ALL: Self = Self { pagination: true, summarization: true, chunking: true, query: true };
}

impl Default for Techniques {
    fn default() -> Self {
        Self::ALL
    }
}

/// When a notice is added to a reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MetadataMode {
    /// Where something was left out.
    #[default]
    WhenShaped,
    /// Always.
    Always,
}

/// How the keys of a notice are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MetadataStyle {
    /// `nextCursor`, `totalCount`.
    #[default]
    Camel,
    /// `total_count`, `current_page`, `page_size`, `has_more`, `next_page`.
    Snake,
}

impl MetadataStyle {
    /// A key, given as it is written in camel case.
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

/// In what a portion is put.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EnvelopeMode {
    /// The payload keeps its shape, the notice stands beside it.
    #[default]
    Auto,
    /// `{items,nextCursor,meta}`, `{summary,meta}`, `{content,chunkIndex,totalChunks,nextCursor,metadata}`, everywhere.
    Wrap,
}

/// A part of an object that can be asked for by a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedSection {
    /// What it is asked for by.
    pub name: String,
    /// What is in it, dotted paths.
    pub fields: Vec<String>,
}
