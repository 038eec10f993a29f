//! Parses the skeleton of a result in one pass: only members that lead to content are opened.

use portion_json::scan::{JsonKind, JsonReader, ScanError};
use portion_json::span::Span;

use super::super::walk::{Member, Sequence, find_member, string_equals};

/// Members whose objects and arrays are opened; all others are skipped.
const OPENED_MEMBERS: [&str; 4] = ["content", "contents", "messages", "resource"];
/// Levels: result, list, message, list, block, resource.
const MAX_DEPTH: usize = 6;

/// A value whose content may be parsed.
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
    /// Opened members: index of the member, and its value.
    opened_members: Vec<(usize, Node)>,
}

impl Node {
    /// Parses the object at a span of valid text.
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
    /// Returns a member by name; of duplicates, the last.
    pub(super) fn member(&self, text: &str, name: &str) -> Option<Member> {
        find_member(text, &self.members, name)
    }

    /// Returns the value of a string member.
    pub(super) fn string_member(&self, text: &str, name: &str) -> Option<Span> {
        let value = self.member(text, name)?.value;
        value.slice(text).starts_with('"').then_some(value)
    }

    /// Returns the parsed value of an opened member.
    pub(super) fn opened_member(&self, text: &str, name: &str) -> Option<&Node> {
        let last = self.members.iter().rposition(|member| string_equals(member.key.slice(text), name))?;
        self.opened_members.iter().find(|(i, _)| *i == last).map(|(_, node)| node)
    }

    /// Returns the members as a sequence for editing.
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
