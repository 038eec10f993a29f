//! Where the parts of a result lie.

use portion_core::payload::{Block, Content, Media, Payload};
use portion_core::scan::{decode, decoded};
use portion_core::span::Span;

use super::super::walk::{self, Member, Sequence};
use super::OURS;
use super::tree::{Inside, Node, Object};

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

/// Bytes of vendor members, annotations and `_meta` that pass beside the content. What is beyond is part of the
/// payload, and can be left out like any part.
const ASIDE: usize = 4096;
/// Bytes that a block may need to say what it is (`uri`, `mimeType` …) and still be taken for text.
const BLOCK_FRAME: usize = 2048;
/// Members that are the protocol's, and stay whatever their size.
const RESULT_FRAME: [&str; 7] =
    ["isError", "resultType", "ttlMs", "cacheScope", "content", "contents", "messages"];
/// The same, of a block.
const BLOCK_MEMBERS: [&str; 9] =
    ["type", "text", "uri", "mimeType", "role", "content", "resource", "data", "blob"];

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
    /// Members of the result that must go once it is shaped: those that a later one of the same name hides.
    pub(super) hidden: Vec<usize>,
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
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PartKind {
    /// A string.
    Text,
    /// A content block.
    Block(Option<Media>),
    /// An entry of `contents`.
    Entry(Option<Media>),
    /// A whole message of a prompt, not understood.
    Message,
    /// A member beside the content.
    Aside,
    /// `structuredContent`.
    Structured,
}

impl<'a> Outline<'a> {
    /// The outline of the result at a place of a valid text.
    ///
    /// `None` where it is not a completed result: a question back (`input_required`), a task handle, no object.
    pub(crate) fn of(text: &'a str, result: Span, shape: Shape) -> Option<Self> {
        let node = Node::read(text, result)?;
        let object = node.object()?;
        if object.member(text, "resultType").is_some_and(|m| !walk::is(m.value.of(text), "complete")) {
            return None;
        }
        let name = shape.list_name();
        let content = [name, "structuredContent"].iter().any(|name| object.member(text, name).is_some());
        if object.member(text, "task").is_some() && !content {
            return None;
        }
        let held = Held { sequence: object.sequence(node.whole), parent: None };
        let is_error = object.member(text, "isError").is_some_and(|m| m.value.of(text) == "true");
        let mut outline = Self {
            text,
            shape,
            sequences: vec![held],
            parts: Vec::new(),
            list: None,
            meta: None,
            hidden: Vec::new(),
            is_error,
        };
        outline.read_meta(object);
        outline.hide_doubles(object);
        let mut aside = Aside::new();
        if let Some(Node { whole, inside: Inside::Array(items) }) = object.opened(text, name) {
            let list = outline.hold(*whole, items.iter().map(|item| item.whole), None);
            outline.list = Some(list);
            for (i, item) in items.iter().enumerate() {
                outline.item(item, (list, i), &format!("/{name}/{i}"), &mut aside);
            }
        }
        for (i, member) in object.members.iter().enumerate() {
            let structured = shape == Shape::Tool && walk::is(member.key.of(text), "structuredContent");
            let known = RESULT_FRAME.iter().any(|name| walk::is(member.key.of(text), name));
            let unread = walk::is(member.key.of(text), name) && outline.list.is_none();
            if outline.hidden.contains(&i) || structured {
                continue;
            }
            if unread {
                aside.beyond.push((*member, (0, i), String::new()));
            } else if !known {
                aside.consider(*member, (0, i), "");
            }
        }
        aside.into_parts(&mut outline);
        outline.read_structured(object);
        Some(outline)
    }

    /// Whether the result says of itself that it is an error.
    pub(crate) fn is_error(&self) -> bool {
        self.is_error
    }

    /// The payload: each text is unescaped once, straight into what the core keeps.
    pub(crate) fn payload(&self, invalid_utf8: usize) -> Payload {
        let mut payload = Payload { invalid_utf8, text_only: self.is_error, ..Payload::default() };
        for part in &self.parts {
            let json = part.place.of(self.text);
            let content = match &part.kind {
                PartKind::Text => {
                    let mut text = String::new();
                    payload.lone_surrogates += decode(json, &mut text);
                    Content::Text(text)
                }
                PartKind::Structured => Content::Structured(json.to_owned()),
                PartKind::Block(media) | PartKind::Entry(media) => {
                    Content::Atomic { json: json.to_owned(), media: media.clone() }
                }
                PartKind::Message => Content::Atomic { json: json.to_owned(), media: None },
                PartKind::Aside => Content::Aside(json.to_owned()),
            };
            payload.blocks.push(Block { address: part.address.clone(), content });
        }
        payload
    }

    fn item(&mut self, item: &Node, slot: (usize, usize), address: &str, aside: &mut Aside) {
        match self.shape {
            Shape::Tool => self.block(item, slot, address, aside),
            Shape::Resource => self.entry(item, slot, address, aside),
            Shape::Prompt => self.message(item, slot, address, aside),
        }
    }

    /// A content block: `{"type":"text",…}`, `{"type":"resource",…}` …
    fn block(&mut self, item: &Node, slot: (usize, usize), address: &str, aside: &mut Aside) {
        let text = self.text;
        let object = item.object();
        let is_type = |name: &str| {
            object.and_then(|o| o.member(text, "type")).is_some_and(|m| walk::is(m.value.of(text), name))
        };
        if is_type("text") && self.text_in(item, "text", slot, address, aside) {
            return;
        }
        let resource = object.and_then(|o| o.opened(text, "resource")).filter(|_| is_type("resource"));
        if let Some(resource) = resource {
            let frame = item.whole.len().saturating_sub(resource.whole.len());
            let inner = format!("{address}/resource");
            if frame <= BLOCK_FRAME && self.text_in(resource, "text", slot, &inner, aside) {
                return;
            }
        }
        let media = if is_type("image") || is_type("audio") {
            media(text, object, "data", "/data")
        } else {
            resource.and_then(|r| media(text, r.object(), "blob", "/resource/blob"))
        };
        self.push(address, item.whole, slot, PartKind::Block(media));
    }

    /// An entry of `contents`.
    fn entry(&mut self, item: &Node, slot: (usize, usize), address: &str, aside: &mut Aside) {
        if !self.text_in(item, "text", slot, address, aside) {
            let media = media(self.text, item.object(), "blob", "/blob");
            self.push(address, item.whole, slot, PartKind::Entry(media));
        }
    }

    /// A message of a prompt, whose content is a block or, since 2025-11-25, an array of such.
    fn message(&mut self, item: &Node, slot: (usize, usize), address: &str, aside: &mut Aside) {
        let content = item.object().and_then(|o| o.opened(self.text, "content"));
        let frame = content.map(|c| item.whole.len().saturating_sub(c.whole.len()));
        match content {
            Some(block @ Node { inside: Inside::Object(_), .. }) if frame <= Some(BLOCK_FRAME) => {
                self.block(block, slot, &format!("{address}/content"), aside);
            }
            Some(Node { whole, inside: Inside::Array(blocks) })
                if frame <= Some(BLOCK_FRAME) && !blocks.is_empty() =>
            {
                let list = self.hold(*whole, blocks.iter().map(|block| block.whole), Some(slot));
                for (j, block) in blocks.iter().enumerate() {
                    self.block(block, (list, j), &format!("{address}/content/{j}"), aside);
                }
            }
            _ => self.push(address, item.whole, slot, PartKind::Message),
        }
    }

    /// Takes the string member of that name for a text, where the rest of its object is small.
    fn text_in(
        &mut self,
        item: &Node,
        name: &str,
        slot: (usize, usize),
        address: &str,
        aside: &mut Aside,
    ) -> bool {
        let text = self.text;
        let Some((object, place)) = item.object().and_then(|o| Some((o, o.string(text, name)?))) else {
            return false;
        };
        let ours = |member: &Member| BLOCK_MEMBERS.iter().any(|name| walk::is(member.key.of(text), name));
        let frame: usize =
            object.members.iter().filter(|m| ours(m) && m.value != place).map(|m| m.whole().len()).sum();
        if frame > BLOCK_FRAME {
            return false;
        }
        self.push(&format!("{address}/{name}"), place, slot, PartKind::Text);
        if object.members.iter().any(|member| !ours(member)) {
            let held = self.sequences.len();
            self.sequences.push(Held { sequence: object.sequence(item.whole), parent: None });
            for (i, member) in object.members.iter().enumerate().filter(|(_, member)| !ours(member)) {
                aside.consider(*member, (held, i), address);
            }
        }
        true
    }

    fn read_structured(&mut self, object: &Object) {
        let found = object.members.iter().rposition(|m| walk::is(m.key.of(self.text), "structuredContent"));
        let Some(i) = found.filter(|_| self.shape == Shape::Tool) else { return };
        let place = object.members[i].value;
        if place.of(self.text) != "null" {
            self.push("/structuredContent", place, (0, i), PartKind::Structured);
        }
    }

    fn read_meta(&mut self, object: &Object) {
        let meta = object.member(self.text, "_meta").filter(|m| m.value.of(self.text).starts_with('{'));
        if let Some(meta) = meta {
            let members = walk::members(self.text, meta.value);
            let ours = |m: &Member| decoded(m.key.of(self.text)).starts_with(OURS);
            let taken = (0..members.len()).filter(|i| ours(&members[*i])).collect();
            let items = members.iter().map(|m| m.whole()).collect();
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

    fn hold(
        &mut self,
        whole: Span,
        items: impl Iterator<Item = Span>,
        parent: Option<(usize, usize)>,
    ) -> usize {
        self.sequences.push(Held { sequence: Sequence { whole, items: items.collect() }, parent });
        self.sequences.len() - 1
    }

    fn push(&mut self, address: &str, place: Span, slot: (usize, usize), kind: PartKind) {
        self.parts.push(Part { address: address.to_owned(), place, slot, kind });
    }
}

impl Shape {
    /// The member that holds the content.
    pub(super) fn list_name(self) -> &'static str {
        match self {
            Self::Tool => "content",
            Self::Resource => "contents",
            Self::Prompt => "messages",
        }
    }
}

/// What stands beside the content, as much as passes without being looked at.
struct Aside {
    left: usize,
    beyond: Vec<(Member, (usize, usize), String)>,
}

impl Aside {
    fn new() -> Self {
        Self { left: ASIDE, beyond: Vec::new() }
    }

    fn consider(&mut self, member: Member, slot: (usize, usize), address: &str) {
        match self.left.checked_sub(member.whole().len()) {
            Some(left) => self.left = left,
            None => self.beyond.push((member, slot, address.to_owned())),
        }
    }

    fn into_parts(self, outline: &mut Outline<'_>) {
        for (member, slot, address) in self.beyond {
            let address = format!("{address}/{}", walk::step(member.key.of(outline.text)));
            outline.push(&address, member.value, slot, PartKind::Aside);
        }
    }
}

fn media(text: &str, object: Option<&Object>, member: &str, pointer: &'static str) -> Option<Media> {
    let object = object?;
    let data = object.string(text, member)?;
    let mime = object.string(text, "mimeType").map(|mime| decoded(mime.of(text)));
    Some(Media {
        mime: mime.unwrap_or_else(|| "application/octet-stream".to_owned()),
        data: pointer,
        encoded_bytes: data.len().saturating_sub(2),
    })
}
