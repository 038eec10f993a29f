//! Names of the fields of a chunk.

use super::json;

/// Members that usually hold the text of a chunk, the most common first.
const TEXT: &[&str] = &[
    "text",
    "content",
    "page_content",
    "pageContent",
    "chunk",
    "chunk_text",
    "passage",
    "body",
    "snippet",
    "excerpt",
    "document",
    "document.text",
    "document.content",
    "document.page_content",
    "content.text",
    "payload.text",
    "payload.content",
    "payload.page_content",
    "metadata.text",
    "metadata.content",
    "node.text",
    "entity.text",
    "fields.text",
    "_source.text",
    "_source.content",
];
/// Members that usually hold the relevance. Distances, where less is better, are not among them.
const SCORE: &[&str] = &[
    "score",
    "relevance_score",
    "relevanceScore",
    "relevance",
    "similarity",
    "similarity_score",
    "_score",
    "@search.score",
    "rerank_score",
    "confidence",
    "metadata.score",
];
/// Members that usually hold the identifier.
const ID: &[&str] = &[
    "id",
    "chunk_id",
    "chunkId",
    "_id",
    "doc_id",
    "docId",
    "document_id",
    "uuid",
    "document.id",
    "node.id_",
    "metadata.id",
];

/// Names of the fields of a chunk: a member, or members joined by dots (`payload.text`). A name that is `None` is found
/// among the common ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldNames {
    /// Text that is counted.
    pub text: Option<String>,
    /// Relevance, higher is better.
    pub score: Option<String>,
    /// Identifier.
    pub id: Option<String>,
    /// Member that holds the list of chunks.
    pub list: Option<String>,
}

impl FieldNames {
    /// Returns the text of a record.
    pub(super) fn text_of(&self, members: &[(String, &str)]) -> Option<String> {
        candidates(self.text.as_ref(), TEXT)
            .find_map(|name| json::at_path(members, name).and_then(json::string))
    }

    /// Returns the identifier of a record, as JSON: a string or a number.
    pub(super) fn id_of(&self, members: &[(String, &str)]) -> Option<String> {
        let scalar =
            |value: &&str| value.starts_with(['"', '-']) || value.starts_with(|c: char| c.is_ascii_digit());
        candidates(self.id.as_ref(), ID)
            .find_map(|name| json::at_path(members, name).filter(scalar))
            .map(str::to_owned)
    }

    /// Returns the name under which the records of one list have their scores: scores of different names cannot be
    /// compared.
    pub(super) fn score_name<'a>(&'a self, records: &[Vec<(String, &str)>]) -> Option<&'a str> {
        candidates(self.score.as_ref(), SCORE).find(|name| {
            records.iter().any(|members| json::at_path(members, name).and_then(json::number).is_some())
        })
    }
}

/// Returns the given name alone, or the common ones.
fn candidates<'a>(given: Option<&'a String>, common: &'a [&'a str]) -> impl Iterator<Item = &'a str> {
    let common = if given.is_some() { &[] } else { common };
    given.map(String::as_str).into_iter().chain(common.iter().copied())
}
