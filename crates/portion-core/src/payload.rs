//! What an upstream said, before anything is made of it.

use std::sync::Arc;

use crate::redact::RedactionRules;

/// One result of an upstream: its content-bearing parts, in order.
#[derive(Clone, Debug, Default)]
pub struct Payload {
    /// The parts, in the order the upstream gave them; `structuredContent` last.
    pub blocks: Vec<Block>,
    /// How many byte sequences that are no UTF-8 were replaced by U+FFFD on the way here. They are
    /// told of even in a reply that is otherwise untouched.
    pub invalid_utf8_count: usize,
    /// How many lone surrogates, which JSON can hold and text cannot, were replaced by U+FFFD in the texts
    /// of the blocks.
    pub lone_surrogate_count: usize,
    /// The same of `structuredContent`. They stay there as escapes; where a string of it is shown as text, they are
    /// replaced.
    pub structured_surrogate_count: usize,
    /// Whether the upstream says that it is an error.
    pub is_error: bool,
    /// Whether `structuredContent` is shown as text like any part, for clients read nothing but the text of errors.
    pub is_text_only: bool,
    /// Wire bytes that pass beside the parts, whatever is shown of them.
    pub frame_bytes: usize,
    /// Set where this answers a question about another payload: what is to be told of the answer.
    pub query_answer: Option<QueryAnswer>,
    /// What is hidden of it before it is indexed. `None` where it is for others to say, who hide nothing if they do not.
    pub redaction_rules: Option<Arc<RedactionRules>>,
    /// Names of the arguments by which the one that was called walks its own pages: [`is_paging_argument`](crate::paging::is_paging_argument).
    pub paging_arguments: Arc<[String]>,
    /// Where its list is, a JSON Pointer or a dotted path. Where none is, and where this is `None`, it is found.
    pub list_path: Option<Arc<str>>,
}

/// What is told of the answer to a question about a payload, beside the answer itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueryAnswer {
    /// How many rows or matches there are.
    pub match_count: usize,
    /// How many units hold some words of what was looked for, where none holds all of it together.
    pub word_match_count: usize,
    /// What else is to be told, in order: it stands in `meta` as it is.
    pub extra_meta: serde_json::Map<String, serde_json::Value>,
    /// Whether the fields that are wanted of it are known to be fields of what was asked about: then no row need have them.
    pub has_known_fields: bool,
}

/// One part of a result.
#[derive(Clone, Debug)]
pub struct Block {
    /// Where in the result it stands, a JSON Pointer: `/content/0/text`.
    pub address: String,
    /// What it holds.
    pub content: Content,
    /// What is said of it around it.
    pub label: BlockLabel,
}

/// What a result says around one of its parts. Where the part is shown in another place, that is told beside it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockLabel {
    /// Whose it is: the URI of a resource, the role that says a message.
    pub source: Option<String>,
    /// The MIME type of its text, of a resource.
    pub mime_type: Option<String>,
    /// Wire bytes that stand around it in its own place, whatever is shown of it.
    pub frame_bytes: usize,
}

impl Block {
    /// A part of which nothing is said around it.
    pub fn new(address: impl Into<String>, content: Content) -> Self {
        Self { address: address.into(), content, label: BlockLabel::default() }
    }
}

/// What one part of a result holds.
#[derive(Clone, Debug)]
pub enum Content {
    /// Text, out of its JSON escapes. It may turn out to be JSON.
    Text(String),
    /// A JSON value as the upstream wrote it, which a program reads beside the text: `structuredContent`.
    Structured(String),
    /// Something passed on whole or not at all: an image, a link, a block of a kind not known.
    Atomic {
        /// The block as the upstream wrote it, JSON.
        json: String,
        /// What is known of the bytes in it, where it is an image, audio, or a blob.
        binary: Option<BinaryInfo>,
    },
    /// A JSON value beside the content, as the upstream wrote it: passed on whole or left out, for nothing else can
    /// be said in its place.
    Extra(String),
}

/// What is known of binary content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BinaryInfo {
    /// Its MIME type, or what stands for it.
    pub mime_type: String,
    /// Where in the block its base64 text stands, a JSON Pointer: `/data`.
    pub data_pointer: &'static str,
    /// Its bytes, out of the base64.
    pub decoded_bytes: usize,
    /// Whether it is an image or audio, which models are shown as such: it has a limit of its own.
    pub is_media: bool,
}
