//! The skeleton of a result, read in one pass: only the members that lead to content are opened.

use portion_core::scan::{Kind, Reader, ScanError};
use portion_core::span::Span;

use super::super::walk::{Member, Sequence, find, is};

/// Members whose objects and arrays are opened; everything else is passed over.
const OPENED: [&str; 4] = ["content", "contents", "messages", "resource"];
/// result, list, message, list, block, resource.
const DEEPEST: usize = 6;

/// A value of which the inside may be known.
#[derive(Debug)]
pub(super) struct Node {
    pub whole: Span,
    pub inside: Inside,
}

#[derive(Debug)]
pub(super) enum Inside {
    Object(Object),
    Array(Vec<Node>),
    Closed,
}

#[derive(Debug, Default)]
pub(super) struct Object {
    pub members: Vec<Member>,
    /// What was opened: the index of its member, and what is in it.
    opened: Vec<(usize, Node)>,
}

impl Node {
    /// Reads the object at a place of a valid text.
    pub(super) fn read(text: &str, at: Span) -> Option<Self> {
        node(&mut Reader::resume(text, at.start as usize), DEEPEST).ok()
    }

    pub(super) fn object(&self) -> Option<&Object> {
        match &self.inside {
            Inside::Object(object) => Some(object),
            _ => None,
        }
    }
}

impl Object {
    /// The member of that name: the last, of several.
    pub(super) fn member(&self, text: &str, name: &str) -> Option<Member> {
        find(text, &self.members, name)
    }

    /// The value of a member that is a string.
    pub(super) fn string(&self, text: &str, name: &str) -> Option<Span> {
        let value = self.member(text, name)?.value;
        value.of(text).starts_with('"').then_some(value)
    }

    /// The inside of the member of that name.
    pub(super) fn opened(&self, text: &str, name: &str) -> Option<&Node> {
        let last = self.members.iter().rposition(|member| is(member.key.of(text), name))?;
        self.opened.iter().find(|(i, _)| *i == last).map(|(_, node)| node)
    }

    /// As something whose members can be left out.
    pub(super) fn sequence(&self, whole: Span) -> Sequence {
        Sequence { whole, items: self.members.iter().map(|member| member.whole()).collect() }
    }
}

fn node(reader: &mut Reader<'_>, deeper: usize) -> Result<Node, ScanError> {
    let kind = reader.peek()?;
    let start = reader.at();
    let inside = match kind {
        Kind::Object if deeper > 0 => {
            let mut object = Object::default();
            reader.enter_object()?;
            while let Some(key) = reader.next_key()? {
                let open = OPENED.iter().any(|name| is(reader.text(key), name));
                let value = if open && reader.peek()?.is_container() {
                    let node = node(reader, deeper - 1)?;
                    let whole = node.whole;
                    object.opened.push((object.members.len(), node));
                    whole
                } else {
                    reader.skip()?
                };
                object.members.push(Member { key, value });
            }
            Inside::Object(object)
        }
        Kind::Array if deeper > 0 => {
            let mut items = Vec::new();
            reader.enter_array()?;
            while reader.next_item()? {
                items.push(node(reader, deeper - 1)?);
            }
            Inside::Array(items)
        }
        _ => {
            reader.skip()?;
            Inside::Closed
        }
    };
    Ok(Node { whole: Span::new(start, reader.at()), inside })
}
