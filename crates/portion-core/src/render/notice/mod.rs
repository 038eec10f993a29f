//! Builds the notice of a reply: totals, what is missing, and the exact next call.

mod calls;
mod facts;
mod model;
mod object;
mod text;

pub(super) use model::is_full_in_text;
pub(super) use text::NoticeText;

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::envelope_type::EnvelopeType;
use super::follow_up_call::FollowUpCall;
use super::portion::PortionKind;
use super::query_tables::QueryTables;
use super::rendering::Rendering;
use crate::cursor::CursorToken;
use crate::paging::UnshownRange;
use crate::payload::QueryAnswer;
use crate::policy::MetadataStyle;
use crate::snapshot::{FieldType, JsonOrigin, Part};

/// Number of missing parts that a notice names; it counts the others.
pub(super) const MAX_NAMED_PARTS: usize = 12;

/// Everything that a notice is built from.
pub(super) struct Notice<'a> {
    /// The rendering that the notice is about.
    pub rendering: &'a Rendering,
    /// Set if the payload answers a query.
    pub answer: Option<&'a QueryAnswer>,
    /// Facts about the whole.
    pub facts: Option<&'a Map<String, Value>>,
    /// Types of the fields of the described list.
    pub field_types: Option<&'a HashMap<String, FieldType>>,
    /// Cursor to the start of the reply; `None` if the snapshot could not be stored.
    pub start_cursor: Option<CursorToken>,
    /// Cursor to the next page.
    pub next_cursor: Option<CursorToken>,
    /// Request for further pages.
    pub read_call: FollowUpCall<'a>,
    /// Name of the tool that answers queries, if there is one.
    pub query_tool: Option<&'a str>,
    /// Tables of blocks that are records.
    pub block_tables: Option<&'a QueryTables>,
    /// Address and bytes of each part that is not in the reply.
    pub missing_parts: &'a [(String, usize)],
    /// All parts.
    pub parts: &'a [Part],
    /// Address of the first image or audio among them.
    pub missing_media: Option<&'a str>,
    /// Number of invalid sequences that were replaced.
    pub replaced_count: usize,
    /// Fields with redacted values.
    pub redacted_fields: &'a [String],
    /// Items or bytes that the previous page did not show.
    pub unshown: Option<&'a UnshownRange>,
    /// Origin of the shown JSON, if it was found in a text.
    pub read_as: Option<&'a JsonOrigin>,
    /// Address of the part that the notice is about, if there are several parts.
    pub part_address: Option<&'a str>,
    /// Source of each piece, if it is reported: the URI of a resource or the role of a message.
    pub piece_owners: Vec<Option<&'a str>>,
    /// Prefix of the URIs for further pages, if the reply is the contents of a resource.
    pub read_uri: Option<&'a str>,
    /// Tokens that the reply may cost.
    pub budget: usize,
    /// Share of the budget from which a warning is added, if any.
    pub warning_threshold: Option<f64>,
    /// Style of its keys.
    pub key_style: MetadataStyle,
    /// True if the content is put in an envelope.
    pub is_enveloped: bool,
    /// True if everything is shown as received.
    pub is_whole: bool,
    /// Content that the text shows and `structuredContent` lacks.
    pub structured_gap: Option<Value>,
    /// True if this is the first reply to a call.
    pub is_first_reply: bool,
    /// True if it shows the whole, from its beginning, and so describes it.
    pub describes_whole: bool,
    /// True if the text form has the full notice.
    pub is_full_in_text: bool,
}

/// Reader of a notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Audience {
    /// Programs, which read `_meta`, `structuredContent` or an envelope: they get every fact.
    Programs,
    /// A model, which reads the text: it gets what it can act on.
    Model,
}

/// Amount of detail in a notice: everything, the essential members, or the minimum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Detail {
    Full,
    Essential,
    Minimal,
}

impl Notice<'_> {
    /// Returns the cursors that the notice may contain.
    pub(super) fn cursors(&self) -> Vec<CursorToken> {
        let unshown = self.unshown.and_then(|unshown| unshown.cursor.as_ref());
        let cursors = [self.start_cursor.as_ref(), self.next_cursor.as_ref(), unshown];
        cursors.into_iter().flatten().cloned().collect()
    }

    /// Returns true if the content is put in an envelope of this type.
    pub(super) fn is_envelope_of(&self, envelope: EnvelopeType) -> bool {
        self.is_enveloped && self.rendering.envelope_type() == envelope
    }

    /// Returns the kind of the reply: `Query` for an answer, however it is rendered.
    pub(super) fn kind(&self) -> PortionKind {
        if self.answer.is_some() { PortionKind::Query } else { self.rendering.kind }
    }
}

/// Returns the notice with only `nextCursor`, `totalCount` and `meta` at the top level: a closed schema lists
/// no other keys.
pub(super) fn nest_under_meta(notice: &Map<String, Value>, style: MetadataStyle) -> Map<String, Value> {
    let mut notice = notice.clone();
    let mut meta = Map::new();
    for key in ["cut".to_owned(), style.key("notShown")] {
        meta.extend(notice.shift_remove(&key).map(|value| (key, value)));
    }
    if let (false, Some(Value::Object(told))) = (meta.is_empty(), notice.get_mut("meta")) {
        meta.append(told);
        *told = meta;
    }
    notice
}
