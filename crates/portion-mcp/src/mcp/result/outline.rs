//! Parses a result into parts with their spans.

use portion_core::payload::{BinaryInfo, Block, BlockLabel, Content, NextPage, Payload, TransportPage};
use portion_core::redact::RedactionRules;
use portion_json::scan::{lone_surrogate_count, unescape, unescape_into};
use portion_json::span::Span;

use super::super::walk::{self, Member, Sequence};
use super::extra_members::{ExtraMembers, Node, NodeContent, ObjectNode};
use super::overflow::InnerNotice;
use super::{NEXT_PAGE_KEY, NOTICE_KEY, READ_URI_PREFIX, RESERVED_PREFIX};

/// Kind of a result, by its method.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ResultShape {
    /// Result of `tools/call` or `tasks/result`.
    #[default]
    Tool,
    /// Result of `resources/read`.
    Resource,
    /// Result of `prompts/get`.
    Prompt,
}

/// Largest number of parts: cursors have 16 bits for a part, and some values are reserved for extra members.
const MAX_PARTS: usize = 50_000;
/// Largest upstream notice that is passed on, in bytes.
const MAX_UPSTREAM_NOTICE_BYTES: usize = 4096;
/// Result members of the protocol, which are kept.
const PROTOCOL_MEMBERS: [&str; 4] = ["isError", "resultType", "ttlMs", "cacheScope"];
/// Largest valid value of such a member, in bytes.
const MAX_PROTOCOL_MEMBER_BYTES: usize = 64;
/// Largest total size, in bytes, of shadowed duplicates that pass.
const MAX_SHADOWED_BYTES: usize = 1024;

/// A parsed result.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "one is made for each result, and taken apart at once")]
pub(crate) enum ParsedResult<'a> {
    /// A result with content.
    Content(ResultOutline<'a>),
    /// An instruction to the client: an input request (`input_required`), or the handle of a task.
    ClientAction,
    /// Not a valid result of the method.
    Unrecognized,
}

/// A complete result.
#[derive(Debug, Default)]
pub(crate) struct ResultOutline<'a> {
    pub(super) text: &'a str,
    pub(super) shape: ResultShape,
    /// Objects and arrays that can lose members or items; the first is the result itself.
    pub(super) sequences: Vec<NestedSequence>,
    pub(super) parts: Vec<ResultPart>,
    /// Index of the content list in `sequences`, if there is one.
    pub(super) content_list: Option<usize>,
    /// The `_meta` object, and the indices of its reserved members.
    pub(super) meta: Option<(Sequence, Vec<usize>)>,
    /// Notice of another Portion in front of the upstream, if it is small.
    pub(crate) upstream_notice: Option<Span>,
    /// URL of the next page of a REST API, as JSON.
    next_page: Option<Span>,
    /// Index of the `_meta` member that makes `FastMCP` clients show an only member without its object.
    pub(super) unwrap_marker: Option<usize>,
    /// Indices of shadowed duplicates of the result, which are removed once it is shaped.
    pub(super) shadowed_members: Vec<usize>,
    /// Redactions of extra members: span and replacement.
    pub(super) redactions: Vec<(Span, String)>,
    /// Items that the part with several extra members stands for: a sequence, and the index in it.
    pub(super) other_member_slots: Vec<(usize, usize)>,
    /// Bytes that pass outside the parts.
    pub(super) frame_bytes: usize,
    /// Extra members, until all are read.
    pub(super) extras: ExtraMembers<'a>,
    /// True if the server reports an error.
    pub(crate) is_error: bool,
    /// True if `structuredContent` is no form of its own: what it adds to the text is a text.
    pub(super) is_text_only: bool,
}

/// A sequence, and the item of another sequence that is removed when this one becomes empty.
#[derive(Debug)]
pub(super) struct NestedSequence {
    pub sequence: Sequence,
    pub parent: Option<(usize, usize)>,
}

/// A part of the payload.
#[derive(Debug)]
pub(super) struct ResultPart {
    pub address: String,
    /// Span that its content replaces.
    pub span: Span,
    /// Item that is removed if the part is not shown: a sequence, and the index in it.
    pub slot: (usize, usize),
    pub kind: PartKind,
    /// Label of the enclosing block.
    pub label: BlockLabel,
    /// Span of its MIME type, if it has one.
    pub mime_span: Option<Span>,
    /// Its JSON, where it is not the one at its span.
    pub own_json: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PartKind {
    /// A string.
    Text,
    /// A content block.
    Block(Option<BinaryInfo>),
    /// An entry of `contents`.
    Entry(Option<BinaryInfo>),
    /// A whole prompt message that was not recognized.
    Message,
    /// An extra member.
    Extra,
    /// Several extra members, with their names.
    OtherMembers,
    /// `structuredContent`.
    Structured,
}

impl<'a> ResultOutline<'a> {
    /// Parses a result of a valid text. `redact` applies to extra members.
    pub(crate) fn parse(
        text: &'a str,
        result: Span,
        shape: ResultShape,
        redact: Option<&'a RedactionRules>,
    ) -> ParsedResult<'a> {
        let Some(node) = Node::parse(text, result) else { return ParsedResult::Unrecognized };
        let Some(object) = node.as_object() else { return ParsedResult::Unrecognized };
        if object
            .member(text, "resultType")
            .is_some_and(|m| !walk::string_equals(m.value.slice(text), "complete"))
        {
            return ParsedResult::ClientAction;
        }
        let structured = shape == ResultShape::Tool && object.member(text, "structuredContent").is_some();
        let content = structured || object.member(text, shape.content_member()).is_some();
        match (content, object.member(text, "task").is_some()) {
            (true, _) => ParsedResult::Content(Self::from_object(text, &node, object, shape, redact)),
            (false, true) => ParsedResult::ClientAction,
            (false, false) => ParsedResult::Unrecognized,
        }
    }

    /// Builds the outline of an object with content.
    fn from_object(
        text: &'a str,
        node: &Node,
        object: &ObjectNode,
        shape: ResultShape,
        redact: Option<&'a RedactionRules>,
    ) -> Self {
        let name = shape.content_member();
        let nested = NestedSequence { sequence: object.to_sequence(node.span), parent: None };
        let is_error = object.member(text, "isError").is_some_and(|m| m.value.slice(text) == "true");
        let mut outline = Self {
            text,
            shape,
            sequences: vec![nested],
            is_error,
            is_text_only: is_error,
            extras: ExtraMembers::new(text, redact),
            ..Self::default()
        };
        outline.read_meta(object);
        outline.mark_shadowed_members(object);
        if let Some(Node { span: whole, content: NodeContent::Array(items) }) =
            object.opened_member(text, name)
        {
            outline.content_list =
                Some(outline.add_sequence(*whole, items.iter().map(|item| item.span), None));
            outline.read_items(items);
            if outline.parts.len() > MAX_PARTS {
                // As a single value among the extra members, it can be described and read.
                outline.parts.clear();
                outline.sequences.truncate(1);
                outline.content_list = None;
                outline.extras = ExtraMembers::new(text, redact);
            }
        }
        outline.read_members(object);
        let overflow = outline.extras.take_overflow();
        outline.add_overflow(overflow);
        outline.read_structured(object);
        outline
    }

    /// Adds the members of the result beside its content to the extra members.
    fn read_members(&mut self, object: &ObjectNode) {
        let (text, list) = (self.text, self.shape.content_member());
        let is_named = |member: &Member, name: &str| walk::string_equals(member.key.slice(text), name);
        // Of equal names, the last counts.
        let protocol = PROTOCOL_MEMBERS.map(|name| object.member(text, name).map(|member| member.key));
        let is_protocol = |member: &Member| {
            protocol.contains(&Some(member.key)) && member.value.len() <= MAX_PROTOCOL_MEMBER_BYTES
        };
        for (i, member) in object.members.iter().enumerate() {
            let structured = self.shape == ResultShape::Tool && is_named(member, "structuredContent");
            let is_list = is_named(member, list);
            if self.shadowed_members.contains(&i) || structured || (is_list && self.content_list.is_some()) {
                continue;
            }
            if is_list {
                self.extras.add_overflow(*member, (0, i));
            } else if !is_protocol(member) {
                self.extras.add(*member, (0, i), "");
            }
        }
    }
    /// Returns true if the result has images or audio.
    pub(crate) fn has_media(&self) -> bool {
        let is_media =
            |part: &ResultPart| matches!(&part.kind, PartKind::Block(Some(binary)) if binary.is_media);
        self.parts.iter().any(is_media)
    }

    /// Leaves `structuredContent` out. What it adds to the text becomes a text.
    pub(crate) fn leave_out_structured(&mut self) {
        self.is_text_only |= self.parts.iter().any(|part| part.kind == PartKind::Structured);
    }

    /// Returns the payload: each text is unescaped once, directly into the string that the core stores.
    pub(crate) fn payload(&self, invalid_utf8: usize) -> Payload {
        let inner = self.upstream_notice.map(|notice| InnerNotice::find(self.text, notice, &self.parts));
        let inner = inner.unwrap_or_default();
        let next_link = self.next_page.map(|next| NextPage::Link(unescape(next.slice(self.text)).into()));
        let mut payload = Payload {
            invalid_utf8_count: invalid_utf8,
            is_error: self.is_error,
            is_text_only: self.is_text_only,
            frame_bytes: self.frame_bytes,
            transport_page: TransportPage { next: inner.next.or(next_link), total: inner.total }.into_field(),
            ..Payload::default()
        };
        for (at, part) in self.parts.iter().enumerate() {
            if inner.part == Some(at) {
                continue;
            }
            let json = part.own_json.as_deref().unwrap_or(part.span.slice(self.text));
            let content = match &part.kind {
                PartKind::Text => {
                    let mut text = String::new();
                    payload.lone_surrogate_count += unescape_into(json, &mut text);
                    Content::Text(text)
                }
                PartKind::Structured => {
                    payload.structured_surrogate_count += lone_surrogate_count(json);
                    Content::Structured(json.to_owned())
                }
                PartKind::Block(binary) | PartKind::Entry(binary) => {
                    Content::Atomic { json: json.to_owned(), binary: binary.clone() }
                }
                PartKind::Message => Content::Atomic { json: json.to_owned(), binary: None },
                PartKind::Extra | PartKind::OtherMembers => Content::Extra(json.to_owned()),
            };
            payload.blocks.push(Block { address: part.address.clone(), content, label: part.label.clone() });
        }
        payload
    }

    fn read_structured(&mut self, object: &ObjectNode) {
        let found = object
            .members
            .iter()
            .rposition(|m| walk::string_equals(m.key.slice(self.text), "structuredContent"));
        let Some(i) = found.filter(|_| self.shape == ResultShape::Tool) else { return };
        let place = object.members[i].value;
        if place.slice(self.text) != "null" {
            self.push_part("/structuredContent", place, (0, i), PartKind::Structured, BlockLabel::default());
        }
    }

    fn read_meta(&mut self, object: &ObjectNode) {
        let meta = object.member(self.text, "_meta").filter(|m| m.value.slice(self.text).starts_with('{'));
        if let Some(meta) = meta {
            let members = walk::members(self.text, meta.value);
            let is_reserved = |m: &Member| unescape(m.key.slice(self.text)).starts_with(RESERVED_PREFIX);
            let taken = (0..members.len()).filter(|i| is_reserved(&members[*i])).collect();
            let named =
                |name: &str| members.iter().rposition(|m| walk::string_equals(m.key.slice(self.text), name));
            let notice = named(NOTICE_KEY).map(|at| members[at].value);
            self.upstream_notice = notice.filter(|notice| {
                let is_one = walk::member_value(self.text, *notice, "meta").is_some();
                notice.len() <= MAX_UPSTREAM_NOTICE_BYTES && is_one
            });
            self.next_page = named(NEXT_PAGE_KEY).map(|at| members[at].value);
            self.unwrap_marker = named("fastmcp").filter(|at| {
                let wrap = walk::member_value(self.text, members[*at].value, "wrap_result");
                wrap.is_some_and(|wrap| wrap.slice(self.text) == "true")
            });
            self.meta = Some((Sequence::of_members(meta.value, &members), taken));
        }
    }

    fn mark_shadowed_members(&mut self, object: &ObjectNode) {
        for name in [self.shape.content_member(), "structuredContent", "_meta"] {
            let all = object
                .members
                .iter()
                .enumerate()
                .filter(|(_, m)| walk::string_equals(m.key.slice(self.text), name));
            let mut all: Vec<usize> = all.map(|(i, _)| i).collect();
            all.pop();
            self.shadowed_members.append(&mut all);
        }
    }

    /// Returns true if shadowed duplicates are too large to pass even in an unchanged result.
    pub(super) fn has_large_shadowed_members(&self) -> bool {
        let items = &self.sequences[0].sequence.items;
        self.shadowed_members.iter().map(|i| items[*i].len()).sum::<usize>() > MAX_SHADOWED_BYTES
    }
}

impl ResultShape {
    /// Guesses the shape of a result from its members.
    pub(crate) fn guess(text: &str, result: Span) -> Option<Self> {
        let members = walk::members(text, result);
        let has = |name| walk::find_member(text, &members, name).is_some();
        let by_list =
            [Self::Tool, Self::Resource, Self::Prompt].into_iter().find(|shape| has(shape.content_member()));
        by_list.or_else(|| has("structuredContent").then_some(Self::Tool))
    }

    /// Returns the prefix of the read URIs in a result of this shape.
    pub(crate) fn read_uri_prefix(self) -> Option<&'static str> {
        (self == Self::Resource).then_some(READ_URI_PREFIX)
    }

    /// Returns the name of the member with the content.
    pub(super) fn content_member(self) -> &'static str {
        match self {
            Self::Tool => "content",
            Self::Resource => "contents",
            Self::Prompt => "messages",
        }
    }
}
