//! The skeleton of a result, read in one pass: only the members that lead to content are opened.

use portion_core::scan::{JsonKind, JsonReader, ScanError};
use portion_core::span::Span;

use super::super::walk::{Member, Sequence, find_member, string_equals};

/// Members whose objects and arrays are opened; everything else is passed over.
const OPENED_MEMBERS: [&str; 4] = ["content", "contents", "messages", "resource"];
/// result, list, message, list, block, resource.
const MAX_DEPTH: usize = 6;

/// A value of which the inside may be known.
#[derive(Debug)]
pub(super) struct Node {
    pub span: Span,
    pub content: NodeContent,
}

#[derive(Debug)]
pub(super) enum NodeContent {
    Object(ObjectNode),
    Array(Vec<Node>),
    Unparsed,
}

#[derive(Debug, Default)]
pub(super) struct ObjectNode {
    pub members: Vec<Member>,
    /// What was opened: the index of its member, and what is in it.
    opened_members: Vec<(usize, Node)>,
}

impl Node {
    /// Reads the object at a place of a valid text.
    pub(super) fn parse(text: &str, at: Span) -> Option<Self> {
        parse_node(&mut JsonReader::resume(text, at.start as usize), MAX_DEPTH).ok()
    }

    pub(super) fn as_object(&self) -> Option<&ObjectNode> {
        match &self.content {
            NodeContent::Object(object) => Some(object),
            _ => None,
        }
    }
}

impl ObjectNode {
    /// The member of that name: the last, of several.
    pub(super) fn member(&self, text: &str, name: &str) -> Option<Member> {
        find_member(text, &self.members, name)
    }

    /// The value of a member that is a string.
    pub(super) fn string_member(&self, text: &str, name: &str) -> Option<Span> {
        let value = self.member(text, name)?.value;
        value.slice(text).starts_with('"').then_some(value)
    }

    /// The inside of the member of that name.
    pub(super) fn opened_member(&self, text: &str, name: &str) -> Option<&Node> {
        let last = self.members.iter().rposition(|member| string_equals(member.key.slice(text), name))?;
        self.opened_members.iter().find(|(i, _)| *i == last).map(|(_, node)| node)
    }

    /// As something whose members can be left out.
    pub(super) fn to_sequence(&self, whole: Span) -> Sequence {
        Sequence { span: whole, items: self.members.iter().map(|member| member.span()).collect() }
    }
}

fn parse_node(reader: &mut JsonReader<'_>, deeper: usize) -> Result<Node, ScanError> {
    let kind = reader.peek()?;
    let start = reader.at();
    let inside = match kind {
        JsonKind::Object if deeper > 0 => {
            let mut object = ObjectNode::default();
            reader.enter_object()?;
            while let Some(key) = reader.next_key()? {
                let open = OPENED_MEMBERS.iter().any(|name| string_equals(reader.text(key), name));
                let value = if open && reader.peek()?.is_container() {
                    let node = parse_node(reader, deeper - 1)?;
                    let whole = node.span;
                    object.opened_members.push((object.members.len(), node));
                    whole
                } else {
                    reader.skip()?
                };
                object.members.push(Member { key, value });
            }
            NodeContent::Object(object)
        }
        JsonKind::Array if deeper > 0 => {
            let mut items = Vec::new();
            reader.enter_array()?;
            while reader.next_item()? {
                items.push(parse_node(reader, deeper - 1)?);
            }
            NodeContent::Array(items)
        }
        _ => {
            reader.skip()?;
            NodeContent::Unparsed
        }
    };
    Ok(Node { span: Span::new(start, reader.at()), content: inside })
}
