//! The members of `meta` in the notice of a rendering, as typed values. They become JSON once, when the notice is written.

use portion_tokens::TextSize;
use serde_json::{Map, Value};

/// Members of `meta` that a rendering sets. What is `None`, false or empty is not written.
#[derive(Default)]
pub(super) struct RenderingMeta {
    /// Number of items of a page.
    pub page_size: Option<usize>,
    /// Number of items shown.
    pub served: Option<usize>,
    /// True if more items follow.
    pub has_more: Option<bool>,
    /// Index of the first item shown.
    pub offset: Option<usize>,
    /// Index of a chunk of text.
    pub chunk_index: Option<usize>,
    /// Number of chunks of the text.
    pub total_chunks: Option<ChunkCount>,
    /// First and last line shown, from 1.
    pub lines: Option<(usize, usize)>,
    /// Number of lines of the text.
    pub total_lines: Option<usize>,
    /// The argument that was sent to the upstream in place of one of the call.
    pub sent: Option<String>,
    /// Total that the upstream states.
    pub upstream_total: Option<u64>,
    /// Request for the upstream's next page.
    pub upstream_next: Option<String>,
    /// Number of items after the shown ones, if the items are ranked.
    pub dropped_count: Option<usize>,
    /// Order of the items, if the caller did not ask for it.
    pub sort: Option<String>,
    /// Description of the missing items of a list that is fetched page by page.
    pub upstream_gap: Option<String>,
    /// True if the list changed while it was fetched.
    pub has_changed: bool,
    /// First byte of a raw range.
    pub start_byte: Option<usize>,
    /// Byte after a raw range.
    pub end_byte: Option<usize>,
    /// Bytes of a chunk or a range of lines.
    pub chunk_bytes: Option<usize>,
    /// Bytes of the whole text.
    pub total_bytes: Option<usize>,
    /// True if the request begins after the end.
    pub is_past_end: bool,
    /// Tokens of the whole text.
    pub total_tokens: Option<TextSize>,
    /// Pointer of what is shown.
    pub path: Option<String>,
    /// True if the items are written as a table.
    pub is_dense: bool,
    /// Number of fields of a summarized object.
    pub total_fields: Option<usize>,
    /// Fields that a summary shows.
    pub projected_fields: Option<NameList>,
    /// Number of values that were replaced by a mark.
    pub elided_count: usize,
    /// Path and bytes of members around a list that are not shown.
    pub omitted_members: Vec<(String, usize)>,
    /// Fields that condensing omitted.
    pub condensed: Option<NameList>,
    /// Encoding of a text that was decoded from base64.
    pub decoded: Option<String>,
    /// Other headings with the words of the requested one.
    pub same_headings: Option<NameList>,
}

/// The number of chunks of a text.
#[derive(Clone, Copy)]
pub(super) struct ChunkCount {
    pub count: usize,
    pub is_estimate: bool,
}

/// A member of `meta`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MetaKey {
    PageSize,
    Served,
    HasMore,
    Offset,
    ChunkIndex,
    TotalChunks,
    TotalChunksEstimated,
    StartLine,
    EndLine,
    TotalLines,
    Sent,
    UpstreamTotal,
    UpstreamNext,
    Strategy,
    Truncated,
    Dropped,
    Sort,
    Upstream,
    Changed,
    StartByte,
    EndByte,
    BytesInChunk,
    TotalBytes,
    PastEnd,
    TotalTokens,
    Path,
    Rows,
    TotalFields,
    ProjectedFields,
    Elided,
    Omitted,
    Condensed,
    Decoded,
    SameHeadings,
}

/// All members with their names in camel case, in the order in which they are written.
pub(super) const META_KEYS: [(MetaKey, &str); 34] = [
    (MetaKey::PageSize, "pageSize"),
    (MetaKey::Served, "served"),
    (MetaKey::HasMore, "hasMore"),
    (MetaKey::Offset, "offset"),
    (MetaKey::ChunkIndex, "chunkIndex"),
    (MetaKey::TotalChunks, "totalChunks"),
    (MetaKey::TotalChunksEstimated, "totalChunksEstimated"),
    (MetaKey::StartLine, "startLine"),
    (MetaKey::EndLine, "endLine"),
    (MetaKey::TotalLines, "totalLines"),
    (MetaKey::Sent, "sent"),
    (MetaKey::UpstreamTotal, "upstreamTotal"),
    (MetaKey::UpstreamNext, "upstreamNext"),
    (MetaKey::Strategy, "strategy"),
    (MetaKey::Truncated, "truncated"),
    (MetaKey::Dropped, "dropped"),
    (MetaKey::Sort, "sort"),
    (MetaKey::Upstream, "upstream"),
    (MetaKey::Changed, "changed"),
    (MetaKey::StartByte, "startByte"),
    (MetaKey::EndByte, "endByte"),
    (MetaKey::BytesInChunk, "bytesInChunk"),
    (MetaKey::TotalBytes, "totalBytes"),
    (MetaKey::PastEnd, "pastEnd"),
    (MetaKey::TotalTokens, "totalTokens"),
    (MetaKey::Path, "path"),
    (MetaKey::Rows, "rows"),
    (MetaKey::TotalFields, "totalFields"),
    (MetaKey::ProjectedFields, "projectedFields"),
    (MetaKey::Elided, "elided"),
    (MetaKey::Omitted, "omitted"),
    (MetaKey::Condensed, "condensed"),
    (MetaKey::Decoded, "decoded"),
    (MetaKey::SameHeadings, "sameHeading"),
];

impl RenderingMeta {
    /// Returns a member as JSON, or `None` if it is not set.
    pub(super) fn value(&self, key: MetaKey) -> Option<Value> {
        let flag = |is_set: bool| is_set.then_some(Value::Bool(true));
        match key {
            MetaKey::PageSize => self.page_size.map(Value::from),
            MetaKey::Served => self.served.map(Value::from),
            MetaKey::HasMore => self.has_more.map(Value::from),
            MetaKey::Offset => self.offset.map(Value::from),
            MetaKey::ChunkIndex => self.chunk_index.map(Value::from),
            MetaKey::TotalChunks => self.total_chunks.map(|chunks| chunks.count.into()),
            MetaKey::TotalChunksEstimated => flag(self.total_chunks.is_some_and(|chunks| chunks.is_estimate)),
            MetaKey::StartLine => self.lines.map(|(first, _)| first.into()),
            MetaKey::EndLine => self.lines.map(|(_, last)| last.into()),
            MetaKey::TotalLines => self.total_lines.map(Value::from),
            MetaKey::Sent => self.sent.clone().map(Value::from),
            MetaKey::UpstreamTotal => self.upstream_total.map(Value::from),
            MetaKey::UpstreamNext => self.upstream_next.clone().map(Value::from),
            MetaKey::Strategy => self.dropped_count.map(|_| "ranked".into()),
            MetaKey::Truncated => self.dropped_count.map(|dropped| (dropped > 0).into()),
            MetaKey::Dropped => self.dropped_count.map(Value::from),
            MetaKey::Sort => self.sort.clone().map(Value::from),
            MetaKey::Upstream => self.upstream_gap.clone().map(Value::from),
            MetaKey::Changed => flag(self.has_changed),
            MetaKey::StartByte => self.start_byte.map(Value::from),
            MetaKey::EndByte => self.end_byte.map(Value::from),
            MetaKey::BytesInChunk => self.chunk_bytes.map(Value::from),
            MetaKey::TotalBytes => self.total_bytes.map(Value::from),
            MetaKey::PastEnd => flag(self.is_past_end),
            MetaKey::TotalTokens => self
                .total_tokens
                .as_ref()
                .map(|size| if size.is_exact { size.tokens.into() } else { size.to_string().into() }),
            MetaKey::Path => self.path.clone().map(Value::from),
            MetaKey::Rows => self.is_dense.then(|| "dense".into()),
            MetaKey::TotalFields => self.total_fields.map(Value::from),
            MetaKey::ProjectedFields => self.projected_fields.as_ref().map(NameList::to_json),
            MetaKey::Elided => (self.elided_count > 0).then(|| self.elided_count.into()),
            MetaKey::Omitted => (!self.omitted_members.is_empty()).then(|| self.omitted_sizes().into()),
            MetaKey::Condensed => self.condensed.as_ref().map(NameList::to_json),
            MetaKey::Decoded => self.decoded.clone().map(Value::from),
            MetaKey::SameHeadings => self.same_headings.as_ref().map(NameList::to_json),
        }
    }

    /// Returns true if content is missing that is not on another page.
    pub(super) fn omits_content(&self) -> bool {
        self.condensed.is_some() || self.elided_count > 0 || !self.omitted_members.is_empty()
    }

    fn omitted_sizes(&self) -> Map<String, Value> {
        let sizes = self.omitted_members.iter();
        sizes.map(|(path, bytes)| (path.clone(), format!("{bytes} bytes").into())).collect()
    }
}

/// The first names of a list, and the number of the others.
pub(super) struct NameList {
    shown: Vec<String>,
    missing_count: usize,
}

impl NameList {
    /// Creates a list of all names.
    pub(super) fn whole(all: impl IntoIterator<Item = String>) -> Self {
        Self { shown: all.into_iter().collect(), missing_count: 0 }
    }

    /// Creates a list of the first names that fit into this many characters.
    pub(super) fn new(all: impl IntoIterator<Item = String>, characters: usize) -> Self {
        let mut left = characters;
        let (mut shown, mut missing_count) = (Vec::new(), 0);
        for name in all {
            let cost = name.len() + 3;
            if missing_count == 0 && cost <= left {
                left -= cost;
                shown.push(name);
            } else {
                missing_count += 1;
            }
        }
        Self { shown, missing_count }
    }

    /// Returns the number of all names.
    pub(super) fn total_count(&self) -> usize {
        self.shown.len() + self.missing_count
    }

    /// Returns a list of fewer names.
    pub(super) fn shortened(&self, characters: usize) -> Self {
        let Self { shown, missing_count } = Self::new(self.shown.iter().cloned(), characters);
        Self { shown, missing_count: missing_count + self.missing_count }
    }

    /// Returns an array of the names; the last entry counts the missing ones.
    pub(super) fn to_json(&self) -> Value {
        let missing = (self.missing_count > 0).then(|| format!("+{} more", self.missing_count));
        self.shown.iter().cloned().chain(missing).collect()
    }
}
