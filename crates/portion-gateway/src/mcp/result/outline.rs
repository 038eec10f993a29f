//! Where the parts of a result lie.

use portion_core::payload::{Binary, Block, Content, Label, Payload};
use portion_core::redact::Redact;
use portion_core::scan::{decode, decoded, lone_surrogates};
use portion_core::span::Span;

use super::super::walk::{self, Member, Sequence};
use super::beside::Aside;
use super::tree::{Inside, Node, Object};
use super::{NOTICE, OURS, READ_URI};

/// What a result is a result of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// `tools/call`, `tasks/result`
    Tool,
    /// `resources/read`
    Resource,
    /// `prompts/get`
    Prompt,
}

/// Parts that are told apart: cursors have 16 bits for them, of which some are left for what stands beside the content.
const MOST_PARTS: usize = 50_000;
/// Bytes of an upstream's notice that are passed on.
const MOST_UPSTREAM: usize = 4096;
/// Members that are the protocol's, and stay.
const RESULT_FRAME: [&str; 4] = ["isError", "resultType", "ttlMs", "cacheScope"];
/// Bytes of such a member that can be one.
const FRAME_MEMBER: usize = 64;
/// Bytes of members that later ones hide, up to which they pass.
const DOUBLES: usize = 1024;

/// What a result is.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "one is made for each result, and taken apart at once")]
pub(crate) enum Read<'a> {
    /// Content.
    Content(Outline<'a>),
    /// Something for the client to act on: a question back (`input_required`), the handle of a task.
    Question,
    /// Nothing that the method returns.
    Odd,
}

/// A completed result.
#[derive(Debug)]
pub(crate) struct Outline<'a> {
    pub(super) text: &'a str,
    pub(super) shape: Shape,
    /// Whatever can lose members or items; the first is the result itself.
    pub(super) sequences: Vec<Held>,
    pub(super) parts: Vec<Part>,
    /// Which sequence the content is, where there is any.
    pub(super) list: Option<usize>,
    /// The `_meta` object, and what of it is ours to take out.
    pub(super) meta: Option<(Sequence, Vec<usize>)>,
    /// The notice of a Portion behind this one, where it is small.
    pub(super) upstream: Option<Span>,
    /// The member of `_meta` by which `FastMCP` has its clients show a sole member without the object around it.
    pub(super) unwraps: Option<usize>,
    /// Members of the result that must go once it is shaped: those that a later one of the same name hides.
    pub(super) hidden: Vec<usize>,
    /// What is hidden of members that pass beside the parts: where they are, and what stands there then.
    pub(super) concealed: Vec<(Span, String)>,
    /// Bytes that pass beside the parts.
    frame: usize,
    is_error: bool,
}

/// A sequence, and the item of another that goes when this one becomes empty.
#[derive(Debug)]
pub(super) struct Held {
    pub sequence: Sequence,
    pub parent: Option<(usize, usize)>,
}

/// One part of the payload.
#[derive(Debug)]
pub(super) struct Part {
    pub address: String,
    /// What its content replaces.
    pub place: Span,
    /// What goes when it is not shown: a sequence, and the index in it.
    pub slot: (usize, usize),
    pub kind: PartKind,
    /// What stands around it.
    pub label: Label,
    /// Where its MIME type stands, if it has one.
    pub mime: Option<Span>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PartKind {
    /// A string.
    Text,
    /// A content block.
    Block(Option<Binary>),
    /// An entry of `contents`.
    Entry(Option<Binary>),
    /// A whole message of a prompt, not understood.
    Message,
    /// A member beside the content.
    Aside,
    /// `structuredContent`.
    Structured,
}

impl<'a> Outline<'a> {
    /// Reads the result at a place of a valid text. What `redact` names is hidden of what passes beside the parts.
    pub(crate) fn read(text: &'a str, result: Span, shape: Shape, redact: Option<&'a Redact>) -> Read<'a> {
        let Some(node) = Node::read(text, result) else { return Read::Odd };
        let Some(object) = node.object() else { return Read::Odd };
        if object.member(text, "resultType").is_some_and(|m| !walk::is(m.value.of(text), "complete")) {
            return Read::Question;
        }
        let structured = shape == Shape::Tool && object.member(text, "structuredContent").is_some();
        let content = structured || object.member(text, shape.list_name()).is_some();
        match (content, object.member(text, "task").is_some()) {
            (true, _) => Read::Content(Self::of_object(text, &node, object, shape, redact)),
            (false, true) => Read::Question,
            (false, false) => Read::Odd,
        }
    }

    /// The outline of an object that has content.
    fn of_object(
        text: &'a str,
        node: &Node,
        object: &Object,
        shape: Shape,
        redact: Option<&'a Redact>,
    ) -> Self {
        let name = shape.list_name();
        let held = Held { sequence: object.sequence(node.whole), parent: None };
        let is_error = object.member(text, "isError").is_some_and(|m| m.value.of(text) == "true");
        let mut outline = Self {
            text,
            shape,
            sequences: vec![held],
            parts: Vec::new(),
            list: None,
            meta: None,
            upstream: None,
            unwraps: None,
            hidden: Vec::new(),
            concealed: Vec::new(),
            frame: 0,
            is_error,
        };
        outline.read_meta(object);
        outline.hide_doubles(object);
        let mut aside = Aside::new(text, redact);
        if let Some(Node { whole, inside: Inside::Array(items) }) = object.opened(text, name) {
            outline.list = Some(outline.hold(*whole, items.iter().map(|item| item.whole), None));
            outline.read_items(items, &mut aside);
            if outline.parts.len() > MOST_PARTS {
                // As one value beside what there is to see, it can be told of and read.
                outline.parts.clear();
                outline.sequences.truncate(1);
                outline.list = None;
                aside = Aside::new(text, redact);
            }
        }
        for (i, member) in object.members.iter().enumerate() {
            let structured = shape == Shape::Tool && walk::is(member.key.of(text), "structuredContent");
            let known = RESULT_FRAME.iter().any(|name| walk::is(member.key.of(text), name))
                && member.value.len() <= FRAME_MEMBER;
            let list = walk::is(member.key.of(text), name);
            let unread = list && outline.list.is_none();
            if outline.hidden.contains(&i) || structured || (list && !unread) {
                continue;
            }
            if unread {
                aside.put_off(*member, (0, i));
            } else if !known {
                aside.consider(*member, (0, i), "");
            }
        }
        outline.frame = aside.into_parts(&mut outline);
        outline.read_structured(object);
        outline
    }

    /// Whether the result says of itself that it is an error.
    pub(crate) fn is_error(&self) -> bool {
        self.is_error
    }

    /// The payload: each text is unescaped once, straight into what the core keeps.
    pub(crate) fn payload(&self, invalid_utf8: usize) -> Payload {
        let (is_error, text_only) = (self.is_error, self.is_error);
        let mut payload =
            Payload { invalid_utf8, is_error, text_only, frame: self.frame, ..Payload::default() };
        for part in &self.parts {
            let json = part.place.of(self.text);
            let content = match &part.kind {
                PartKind::Text => {
                    let mut text = String::new();
                    payload.lone_surrogates += decode(json, &mut text);
                    Content::Text(text)
                }
                PartKind::Structured => {
                    payload.structured_surrogates += lone_surrogates(json);
                    Content::Structured(json.to_owned())
                }
                PartKind::Block(binary) | PartKind::Entry(binary) => {
                    Content::Atomic { json: json.to_owned(), binary: binary.clone() }
                }
                PartKind::Message => Content::Atomic { json: json.to_owned(), binary: None },
                PartKind::Aside => Content::Aside(json.to_owned()),
            };
            payload.blocks.push(Block { address: part.address.clone(), content, label: part.label.clone() });
        }
        payload
    }

    fn read_structured(&mut self, object: &Object) {
        let found = object.members.iter().rposition(|m| walk::is(m.key.of(self.text), "structuredContent"));
        let Some(i) = found.filter(|_| self.shape == Shape::Tool) else { return };
        let place = object.members[i].value;
        if place.of(self.text) != "null" {
            self.push("/structuredContent", place, (0, i), PartKind::Structured, Label::default());
        }
    }

    fn read_meta(&mut self, object: &Object) {
        let meta = object.member(self.text, "_meta").filter(|m| m.value.of(self.text).starts_with('{'));
        if let Some(meta) = meta {
            let members = walk::members(self.text, meta.value);
            let ours = |m: &Member| decoded(m.key.of(self.text)).starts_with(OURS);
            let taken = (0..members.len()).filter(|i| ours(&members[*i])).collect();
            let items = members.iter().map(|m| m.whole()).collect();
            let named = |name: &str| members.iter().rposition(|m| walk::is(m.key.of(self.text), name));
            let notice = named(NOTICE).map(|at| members[at].value);
            self.upstream = notice.filter(|notice| {
                let is_one = walk::member(self.text, *notice, "meta").is_some();
                notice.len() <= MOST_UPSTREAM && is_one
            });
            self.unwraps = named("fastmcp").filter(|at| {
                let wrap = walk::member(self.text, members[*at].value, "wrap_result");
                wrap.is_some_and(|wrap| wrap.of(self.text) == "true")
            });
            self.meta = Some((Sequence { whole: meta.value, items }, taken));
        }
    }

    fn hide_doubles(&mut self, object: &Object) {
        for name in [self.shape.list_name(), "structuredContent", "_meta"] {
            let all = object.members.iter().enumerate().filter(|(_, m)| walk::is(m.key.of(self.text), name));
            let mut all: Vec<usize> = all.map(|(i, _)| i).collect();
            all.pop();
            self.hidden.append(&mut all);
        }
    }

    /// Whether members that later ones hide are too large to pass even where nothing else is changed.
    pub(super) fn has_large_doubles(&self) -> bool {
        let items = &self.sequences[0].sequence.items;
        self.hidden.iter().map(|i| items[*i].len()).sum::<usize>() > DOUBLES
    }
}

impl Shape {
    /// The shape that a result looks to be of.
    pub(crate) fn guess(text: &str, result: Span) -> Option<Self> {
        let members = walk::members(text, result);
        let has = |name| walk::find(text, &members, name).is_some();
        let by_list =
            [Self::Tool, Self::Resource, Self::Prompt].into_iter().find(|shape| has(shape.list_name()));
        by_list.or_else(|| has("structuredContent").then_some(Self::Tool))
    }

    /// What begins the URIs that read on in a result of this shape.
    pub(crate) fn read_uri(self) -> Option<&'static str> {
        (self == Self::Resource).then_some(READ_URI)
    }

    /// The member that holds the content.
    pub(super) fn list_name(self) -> &'static str {
        match self {
            Self::Tool => "content",
            Self::Resource => "contents",
            Self::Prompt => "messages",
        }
    }
}
