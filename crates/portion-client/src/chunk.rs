//! Chunks, and the result of a fetch.

use portion_json::scan::{minify, quote};

use crate::read::json;

/// A chunk of text that a retrieval tool returned.
#[derive(Clone, Debug, PartialEq)]
pub struct Chunk {
    /// The text; `None` if the record has none, or one that is not a string.
    pub text: Option<String>,
    /// Relevance, higher is better; `None` if the record has none.
    pub score: Option<f64>,
    /// Identifier as JSON: a quoted string or a number.
    pub id: Option<String>,
    /// Place in the tool's result, from 0.
    pub position: usize,
    /// The record as JSON, as the tool wrote it. A plain text is an object with the member `text`.
    pub record: String,
    /// True if the caller named the text field: then a member `text` of the record keeps its meaning.
    pub(crate) has_named_text: bool,
}

/// The chunks that were kept, and what was left out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FetchResult {
    /// Kept chunks, best first.
    pub chunks: Vec<Chunk>,
    /// Chunks that were left out, in the order of the list.
    pub dropped: Vec<DroppedChunk>,
    /// Tokens of the texts that were kept.
    pub tokens: usize,
}

/// A chunk that was left out.
#[derive(Clone, Debug, PartialEq)]
pub struct DroppedChunk {
    /// Place in the tool's result, from 0.
    pub position: usize,
    /// Identifier as JSON.
    pub id: Option<String>,
    /// Relevance.
    pub score: Option<f64>,
    /// Tokens of its text; 0 without a text.
    pub tokens: usize,
    /// Reason.
    pub reason: DropReason,
}

/// Reason that a chunk was left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropReason {
    /// Its text alone exceeds the budget.
    Oversized,
    /// It does not fit beside the chunks that were kept.
    NoRoom,
    /// It comes after the chunk at which the selection stopped.
    AfterStop,
    /// It has no text, so that its tokens cannot be counted.
    NoText,
}

impl FetchResult {
    /// Returns true if anything was left out.
    pub fn is_truncated(&self) -> bool {
        !self.dropped.is_empty()
    }

    /// Counts the chunks that were left out for a reason.
    pub fn dropped_for(&self, reason: DropReason) -> usize {
        self.dropped.iter().filter(|chunk| chunk.reason == reason).count()
    }

    /// Writes the result as compact JSON: `chunks`, `truncated`, `dropped` (a number), `tokens`.
    pub fn to_json(&self) -> String {
        let chunks: Vec<String> = self.chunks.iter().map(Chunk::to_json).collect();
        format!(
            r#"{{"chunks":[{}],"truncated":{},"dropped":{},"tokens":{}}}"#,
            chunks.join(","),
            self.is_truncated(),
            self.dropped.len(),
            self.tokens
        )
    }
}

impl Chunk {
    /// Writes the record as compact JSON. Where the record has its id, text or score under another name, they are added
    /// as `id`, `text` and `score`.
    pub fn to_json(&self) -> String {
        let members = json::members(&self.record).unwrap_or_default();
        let text = self.text.as_deref().map(quote);
        let score = self.score.map(|score| score.to_string());
        let wanted = [("id", self.id.clone()), ("text", text), ("score", score)];
        let added: Vec<(&str, String)> = wanted
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)))
            .filter(|(name, value)| match json::member(&members, name) {
                None => true,
                // Another member of that name was passed over, such as a text that is null.
                Some(present) => {
                    *name == "text" && !self.has_named_text && json::string(present) != json::string(value)
                }
            })
            .collect();
        let mut out = String::new();
        if added.is_empty() {
            minify(&self.record, &mut out);
            return out;
        }
        let kept = members.iter().filter(|(name, _)| added.iter().all(|(new, _)| new != name));
        let kept = kept.map(|(name, value)| (quote(name), (*value).to_owned()));
        let all = kept.chain(added.iter().map(|(name, value)| (quote(name), value.clone())));
        let all: Vec<String> = all.map(|(name, value)| format!("{name}:{value}")).collect();
        minify(&format!("{{{}}}", all.join(",")), &mut out);
        out
    }
}
