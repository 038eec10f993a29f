//! The items of a result, as parts: content blocks, entries of `contents`, messages of prompts.

use portion_core::payload::{Binary, Label};
use portion_core::scan::decoded;
use portion_core::span::Span;

use super::super::walk::{self, Member, Sequence};
use super::beside::Aside;
use super::outline::{Held, Outline, Part, PartKind, Shape};
use super::tree::{Inside, Node, Object};

/// Bytes that a block may need to say what it is (`uri`, `mimeType` …) and still be taken for text.
const BLOCK_FRAME: usize = 2048;
/// Bytes of a MIME type that can be one (RFC 6838: two names of 127).
const MIME: usize = 255;
/// Members of a block that are the protocol's.
const BLOCK_MEMBERS: [&str; 9] =
    ["type", "text", "uri", "mimeType", "role", "content", "resource", "data", "blob"];
/// Bytes of an entry that is described, beside its URI and what is said.
const ENTRY: usize = 64;

impl Outline<'_> {
    /// Takes the parts out of the result's list of content.
    pub(super) fn read_items(&mut self, items: &[Node], aside: &mut Aside<'_>) {
        let Some(list) = self.list else { return };
        for (i, item) in items.iter().enumerate() {
            let (slot, address) = ((list, i), format!("/{}/{i}", self.shape.list_name()));
            match self.shape {
                Shape::Tool => self.block(item, slot, &address, &Label::default(), aside),
                Shape::Resource => self.entry(item, slot, &address, aside),
                Shape::Prompt => self.message(item, slot, &address, aside),
            }
        }
    }

    /// A content block: `{"type":"text",…}`, `{"type":"resource",…}` … What stands around it is known already.
    fn block(
        &mut self,
        item: &Node,
        slot: (usize, usize),
        address: &str,
        around: &Label,
        aside: &mut Aside<'_>,
    ) {
        let text = self.text;
        let object = item.object();
        let is_type = |name: &str| {
            object.and_then(|o| o.member(text, "type")).is_some_and(|m| walk::is(m.value.of(text), name))
        };
        if is_type("text") && self.text_in(item, "text", slot, address, around, aside) {
            return;
        }
        let resource = object.and_then(|o| o.opened(text, "resource")).filter(|_| is_type("resource"));
        if let Some(resource) = resource {
            let frame = item.whole.len().saturating_sub(resource.whole.len());
            let inner = format!("{address}/resource");
            let label = Label { frame: around.frame + frame, ..around.clone() };
            if frame <= BLOCK_FRAME && self.text_in(resource, "text", slot, &inner, &label, aside) {
                return;
            }
        }
        let binary = if is_type("image") || is_type("audio") {
            binary(text, object, "data", "/data").map(|binary| Binary { media: true, ..binary })
        } else {
            resource.and_then(|r| binary(text, r.object(), "blob", "/resource/blob"))
        };
        let of = around.of.clone().or_else(|| uri(text, resource.and_then(Node::object)));
        let label = Label { of, mime: None, frame: around.frame };
        self.push(address, item.whole, slot, PartKind::Block(binary), label);
    }

    /// An entry of `contents`.
    fn entry(&mut self, item: &Node, slot: (usize, usize), address: &str, aside: &mut Aside<'_>) {
        if !self.text_in(item, "text", slot, address, &Label::default(), aside) {
            let binary = binary(self.text, item.object(), "blob", "/blob");
            let of = uri(self.text, item.object());
            let frame = ENTRY + of.as_ref().map_or(0, String::len);
            let label = Label { of, mime: None, frame };
            self.push(address, item.whole, slot, PartKind::Entry(binary), label);
        }
    }

    /// A message of a prompt, whose content is a block or, since 2025-11-25, an array of such.
    fn message(&mut self, item: &Node, slot: (usize, usize), address: &str, aside: &mut Aside<'_>) {
        let content = item.object().and_then(|o| o.opened(self.text, "content"));
        let frame = content.map(|c| item.whole.len().saturating_sub(c.whole.len()));
        let role = item.object().and_then(|o| o.string(self.text, "role")).map(|role| role.of(self.text));
        let of = role.filter(|role| role.len() <= MIME).map(decoded);
        let label = Label { of, mime: None, frame: frame.unwrap_or_default() };
        match content {
            Some(block @ Node { inside: Inside::Object(_), .. }) if frame <= Some(BLOCK_FRAME) => {
                self.block(block, slot, &format!("{address}/content"), &label, aside);
            }
            Some(Node { whole, inside: Inside::Array(blocks) })
                if frame <= Some(BLOCK_FRAME) && !blocks.is_empty() =>
            {
                let list = self.hold(*whole, blocks.iter().map(|block| block.whole), Some(slot));
                for (j, block) in blocks.iter().enumerate() {
                    self.block(block, (list, j), &format!("{address}/content/{j}"), &label, aside);
                }
            }
            _ => self.push(address, item.whole, slot, PartKind::Message, Label { frame: 0, ..label }),
        }
    }

    /// Takes the string member of that name for a text, where the rest of its object is small.
    fn text_in(
        &mut self,
        item: &Node,
        name: &str,
        slot: (usize, usize),
        address: &str,
        around: &Label,
        aside: &mut Aside<'_>,
    ) -> bool {
        let text = self.text;
        let Some((object, place)) = item.object().and_then(|o| Some((o, o.string(text, name)?))) else {
            return false;
        };
        let ours = |member: &Member| BLOCK_MEMBERS.iter().any(|name| walk::is(member.key.of(text), name));
        let protocol = object.members.iter().filter(|member| ours(member));
        // With the comma after each, and the braces.
        let whole: usize = 2 + protocol.map(|member| member.whole().len() + 1).sum::<usize>();
        let frame = whole.saturating_sub(place.len());
        if frame > BLOCK_FRAME {
            return false;
        }
        let label = Label {
            of: around.of.clone().or_else(|| uri(text, Some(object))),
            mime: short(text, object, "mimeType", MIME),
            frame: around.frame + frame,
        };
        self.push(&format!("{address}/{name}"), place, slot, PartKind::Text, label);
        if let Some(part) = self.parts.last_mut() {
            part.mime = object.string(text, "mimeType");
        }
        if object.members.iter().any(|member| !ours(member)) {
            let held = self.sequences.len();
            self.sequences.push(Held { sequence: object.sequence(item.whole), parent: None });
            for (i, member) in object.members.iter().enumerate().filter(|(_, member)| !ours(member)) {
                aside.consider(*member, (held, i), address);
            }
        }
        true
    }

    pub(super) fn hold(
        &mut self,
        whole: Span,
        items: impl Iterator<Item = Span>,
        parent: Option<(usize, usize)>,
    ) -> usize {
        self.sequences.push(Held { sequence: Sequence { whole, items: items.collect() }, parent });
        self.sequences.len() - 1
    }

    pub(super) fn push(
        &mut self,
        address: &str,
        place: Span,
        slot: (usize, usize),
        kind: PartKind,
        label: Label,
    ) {
        self.parts.push(Part { address: address.to_owned(), place, slot, kind, label, mime: None });
    }
}

/// The URI of a resource.
fn uri(text: &str, object: Option<&Object>) -> Option<String> {
    short(text, object?, "uri", BLOCK_FRAME)
}

/// The string member of that name, unless it is longer than what it is for.
fn short(text: &str, object: &Object, name: &str, most: usize) -> Option<String> {
    let value = object.string(text, name).filter(|value| value.len() <= most)?;
    Some(decoded(value.of(text)))
}

fn binary(text: &str, object: Option<&Object>, member: &str, pointer: &'static str) -> Option<Binary> {
    let object = object?;
    let data = object.string(text, member)?.of(text);
    let mime = short(text, object, "mimeType", MIME);
    let mime = mime.unwrap_or_else(|| "application/octet-stream".to_owned());
    let media =
        mime.get(..6).is_some_and(|kind| ["image/", "audio/"].iter().any(|k| kind.eq_ignore_ascii_case(k)));
    Some(Binary { media, mime, data: pointer, bytes: bytes(data) })
}

/// The bytes that a JSON string of base64 stands for. An escape is taken for the one character that it is.
fn bytes(quoted: &str) -> usize {
    let inner = quoted.trim_matches('"');
    let escapes = memchr::memchr_iter(b'\\', inner.as_bytes()).count();
    let digits = inner.trim_end_matches('=').len() - escapes;
    digits / 4 * 3 + digits % 4 * 3 / 4
}
