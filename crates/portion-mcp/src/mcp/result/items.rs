//! Parses the items of a result into parts: content blocks, entries of `contents`, prompt messages.

use portion_core::payload::{BinaryInfo, BlockLabel};
use portion_json::scan::unescape;
use portion_json::span::Span;

use super::super::walk::{self, Member, Sequence};
use super::extra_members::{Node, NodeContent, ObjectNode};
use super::outline::{NestedSequence, PartKind, ResultOutline, ResultPart, ResultShape};

/// Largest size, in bytes, of the members that the protocol names (`uri`, `mimeType` …) beside a text or binary data.
const MAX_BLOCK_FRAME_BYTES: usize = 2048;
/// Largest MIME type, in bytes (RFC 6838: two names of 127).
const MAX_MIME_BYTES: usize = 255;
/// Block members that the protocol names.
const BLOCK_MEMBERS: [&str; 9] =
    ["type", "text", "uri", "mimeType", "role", "content", "resource", "data", "blob"];
/// Members of a block with binary data that the protocol names.
const BINARY_BLOCK_MEMBERS: [&str; 6] = ["type", "uri", "mimeType", "resource", "data", "blob"];
/// Size of the quotes of a text, in bytes.
const QUOTES_BYTES: usize = 2;
/// Size of an entry that is described, in bytes, without its URI and description.
const ENTRY_FRAME_BYTES: usize = 64;

impl ResultOutline<'_> {
    /// Adds the parts of the result's content list.
    pub(super) fn read_items(&mut self, items: &[Node]) {
        let Some(list) = self.content_list else { return };
        for (i, item) in items.iter().enumerate() {
            let (slot, address) = ((list, i), format!("/{}/{i}", self.shape.content_member()));
            match self.shape {
                ResultShape::Tool => self.add_block(item, slot, &address, &BlockLabel::default()),
                ResultShape::Resource => self.add_entry(item, slot, &address),
                ResultShape::Prompt => self.add_message(item, slot, &address),
            }
        }
    }

    /// Adds a content block: `{"type":"text",…}`, `{"type":"resource",…}` … `around`: label of the enclosing
    /// object.
    fn add_block(&mut self, item: &Node, slot: (usize, usize), address: &str, around: &BlockLabel) {
        let text = self.text;
        let object = item.as_object();
        let is_type = |name: &str| {
            object
                .and_then(|o| o.member(text, "type"))
                .is_some_and(|m| walk::string_equals(m.value.slice(text), name))
        };
        if is_type("text") && self.try_add_text(item, slot, address, around) {
            return;
        }
        let resource = object.and_then(|o| o.opened_member(text, "resource")).filter(|_| is_type("resource"));
        let inner = format!("{address}/resource");
        if let (Some(resource), Some(object)) = (resource, object) {
            let frame = frame_bytes(text, object, &BLOCK_MEMBERS).saturating_sub(resource.span.len());
            let label = BlockLabel { frame_bytes: around.frame_bytes + frame, ..around.clone() };
            if frame <= MAX_BLOCK_FRAME_BYTES && self.try_add_text(resource, slot, &inner, &label) {
                self.add_extras(item, &BLOCK_MEMBERS, address);
                return;
            }
        }
        let binary = if is_type("image") || is_type("audio") {
            binary_member(text, object, "data", "/data")
                .map(|binary| BinaryInfo { is_media: true, ..binary })
                .filter(|_| self.separate_extras(&[(item, address)], "data"))
        } else {
            resource.and_then(|resource| {
                binary_member(text, resource.as_object(), "blob", "/resource/blob")
                    .filter(|_| self.separate_extras(&[(item, address), (resource, &inner)], "blob"))
            })
        };
        let of = around.source.clone().or_else(|| resource_uri(text, resource.and_then(Node::as_object)));
        let label = BlockLabel { source: of, mime_type: None, frame_bytes: around.frame_bytes };
        self.push_part(address, item.span, slot, PartKind::Block(binary), label);
    }

    /// Adds an entry of `contents`.
    fn add_entry(&mut self, item: &Node, slot: (usize, usize), address: &str) {
        if !self.try_add_text(item, slot, address, &BlockLabel::default()) {
            let binary = binary_member(self.text, item.as_object(), "blob", "/blob")
                .filter(|_| self.separate_extras(&[(item, address)], "blob"));
            let of = resource_uri(self.text, item.as_object());
            let frame = ENTRY_FRAME_BYTES + of.as_ref().map_or(0, String::len);
            let label = BlockLabel { source: of, mime_type: None, frame_bytes: frame };
            self.push_part(address, item.span, slot, PartKind::Entry(binary), label);
        }
    }

    /// Adds a prompt message, whose content is a block or, since 2025-11-25, an array of blocks.
    fn add_message(&mut self, item: &Node, slot: (usize, usize), address: &str) {
        let content = item.as_object().and_then(|o| o.opened_member(self.text, "content"));
        let whole = item.as_object().map_or(0, |object| frame_bytes(self.text, object, &BLOCK_MEMBERS));
        let frame = content.map(|content| whole.saturating_sub(content.span.len()));
        let role = item
            .as_object()
            .and_then(|o| o.string_member(self.text, "role"))
            .map(|role| role.slice(self.text));
        let of = role.filter(|role| role.len() <= MAX_MIME_BYTES).map(unescape);
        let label = BlockLabel { source: of, mime_type: None, frame_bytes: frame.unwrap_or_default() };
        match content {
            Some(block @ Node { content: NodeContent::Object(_), .. })
                if frame <= Some(MAX_BLOCK_FRAME_BYTES) =>
            {
                self.add_block(block, slot, &format!("{address}/content"), &label);
                self.add_extras(item, &BLOCK_MEMBERS, address);
            }
            Some(Node { span: whole, content: NodeContent::Array(blocks) })
                if frame <= Some(MAX_BLOCK_FRAME_BYTES) && !blocks.is_empty() =>
            {
                let list = self.add_sequence(*whole, blocks.iter().map(|block| block.span), Some(slot));
                for (j, block) in blocks.iter().enumerate() {
                    self.add_block(block, (list, j), &format!("{address}/content/{j}"), &label);
                }
                self.add_extras(item, &BLOCK_MEMBERS, address);
            }
            _ => self.push_part(
                address,
                item.span,
                slot,
                PartKind::Message,
                BlockLabel { frame_bytes: 0, ..label },
            ),
        }
    }

    /// Adds the member `text` as a text if the rest of its object is small. Returns true if it was added.
    fn try_add_text(
        &mut self,
        item: &Node,
        slot: (usize, usize),
        address: &str,
        around: &BlockLabel,
    ) -> bool {
        let text = self.text;
        let Some((object, place)) = item.as_object().and_then(|o| Some((o, o.string_member(text, "text")?)))
        else {
            return false;
        };
        let frame = frame_bytes(text, object, &BLOCK_MEMBERS).saturating_sub(place.len());
        if frame > MAX_BLOCK_FRAME_BYTES {
            return false;
        }
        let label = BlockLabel {
            source: around.source.clone().or_else(|| resource_uri(text, Some(object))),
            mime_type: short_string_member(text, object, "mimeType", MAX_MIME_BYTES),
            frame_bytes: around.frame_bytes + frame + QUOTES_BYTES,
        };
        self.push_part(&format!("{address}/text"), place, slot, PartKind::Text, label);
        if let Some(part) = self.parts.last_mut() {
            part.mime_span = object.string_member(text, "mimeType");
        }
        // Whoever asks for the contents of a resource knows its URI.
        if let Some(uri) = object.member(text, "uri").filter(|_| self.shape != ResultShape::Resource) {
            self.extras.redact(uri);
        }
        self.add_extras(item, &BLOCK_MEMBERS, address);
        true
    }

    /// Adds the members of an object whose names are not among `known` to the extra members.
    fn add_extras(&mut self, item: &Node, known: &[&str], address: &str) {
        let Some(object) = item.as_object() else { return };
        let is_extra = |member: &Member| !is_named(self.text, member, known);
        if !object.members.iter().any(is_extra) {
            return;
        }
        let sequence = self.sequences.len();
        for (i, member) in object.members.iter().enumerate().filter(|(_, member)| is_extra(member)) {
            self.extras.add(*member, (sequence, i), address);
        }
        self.sequences.push(NestedSequence { sequence: object.to_sequence(item.span), parent: None });
    }

    /// Adds the members beside binary data to the extra members: only the data have a limit of their own. `holders`: the
    /// enclosing objects with their addresses, outermost first; the last one has the data. Returns false if the members that the
    /// protocol names are too large; then the block counts as text.
    fn separate_extras(&mut self, holders: &[(&Node, &str)], data: &str) -> bool {
        let text = self.text;
        let objects = holders.iter().filter_map(|(node, _)| node.as_object());
        let whole: usize = objects.map(|object| frame_bytes(text, object, &BINARY_BLOCK_MEMBERS)).sum();
        let inner: usize = holders.iter().skip(1).map(|(node, _)| node.span.len()).sum();
        let holder = holders.last().and_then(|(node, _)| node.as_object());
        let value = holder.and_then(|object| object.string_member(text, data)).map_or(0, Span::len);
        if whole.saturating_sub(inner + value) > MAX_BLOCK_FRAME_BYTES {
            return false;
        }
        for (node, address) in holders {
            self.add_extras(node, &BINARY_BLOCK_MEMBERS, address);
        }
        true
    }

    pub(super) fn add_sequence(
        &mut self,
        whole: Span,
        items: impl Iterator<Item = Span>,
        parent: Option<(usize, usize)>,
    ) -> usize {
        self.sequences
            .push(NestedSequence { sequence: Sequence { span: whole, items: items.collect() }, parent });
        self.sequences.len() - 1
    }

    pub(super) fn push_part(
        &mut self,
        address: &str,
        place: Span,
        slot: (usize, usize),
        kind: PartKind,
        label: BlockLabel,
    ) {
        self.parts.push(ResultPart {
            address: address.to_owned(),
            span: place,
            slot,
            kind,
            label,
            mime_span: None,
            own_json: None,
        });
    }
}

/// Returns true if the name of a member is among `names`.
fn is_named(text: &str, member: &Member, names: &[&str]) -> bool {
    names.iter().any(|name| walk::string_equals(member.key.slice(text), name))
}

/// Returns the size of an object's members with these names, with a comma and a space after each, and the braces.
fn frame_bytes(text: &str, object: &ObjectNode, names: &[&str]) -> usize {
    let known = object.members.iter().filter(|member| is_named(text, member, names));
    2 + known.map(|member| member.span().len() + 2).sum::<usize>()
}

/// Returns the URI of a resource.
fn resource_uri(text: &str, object: Option<&ObjectNode>) -> Option<String> {
    short_string_member(text, object?, "uri", MAX_BLOCK_FRAME_BYTES)
}

/// Returns a string member, unless it is longer than `max`.
fn short_string_member(text: &str, object: &ObjectNode, name: &str, max: usize) -> Option<String> {
    let value = object.string_member(text, name).filter(|value| value.len() <= max)?;
    Some(unescape(value.slice(text)))
}

fn binary_member(
    text: &str,
    object: Option<&ObjectNode>,
    member: &str,
    pointer: &'static str,
) -> Option<BinaryInfo> {
    let object = object?;
    let data = object.string_member(text, member)?.slice(text);
    if !is_base64(data) {
        return None;
    }
    let mime = short_string_member(text, object, "mimeType", MAX_MIME_BYTES);
    let mime = mime.unwrap_or_else(|| "application/octet-stream".to_owned());
    let media =
        mime.get(..6).is_some_and(|kind| ["image/", "audio/"].iter().any(|k| kind.eq_ignore_ascii_case(k)));
    Some(BinaryInfo {
        is_media: media,
        mime_type: mime,
        data_pointer: pointer,
        decoded_bytes: base64_decoded_bytes(data),
    })
}

/// Returns true if a JSON string has only characters of base64 and line breaks. Anything else is a text.
fn is_base64(quoted: &str) -> bool {
    let mut bytes = quoted.trim_matches('"').bytes();
    while let Some(byte) = bytes.next() {
        let is_valid = match byte {
            b'\\' => matches!(bytes.next(), Some(b'/' | b'n' | b'r')),
            byte => byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'-' | b'_'),
        };
        if !is_valid {
            return false;
        }
    }
    true
}

/// Returns the decoded size of a JSON string with base64. An escape counts as the one character that it
/// encodes.
fn base64_decoded_bytes(quoted: &str) -> usize {
    let inner = quoted.trim_matches('"');
    let escapes = memchr::memchr_iter(b'\\', inner.as_bytes()).count();
    let digits = inner.trim_end_matches('=').len() - escapes;
    digits / 4 * 3 + digits % 4 * 3 / 4
}
