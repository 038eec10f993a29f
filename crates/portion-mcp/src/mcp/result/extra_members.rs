//! Extra members of a result: vendor members, annotations, `_meta`.
//!
//! Small ones pass. A larger one becomes a part of the payload, and its name a step of the part's address. Members whose names are
//! too long for that, or too many, become one part together: its JSON contains the names, so that they count like values.
//!
//! The skeleton of a result is parsed in one pass: only members that lead to content are opened.

use portion_core::redact::RedactionRules;
use portion_json::scan::{JsonKind, JsonReader, ScanError, unescape};
use portion_json::span::Span;

use super::overflow::{ExtraMember, OTHER_MEMBERS_STEP, Overflow};
use crate::mcp::walk::{Member, Sequence, find_member, string_equals};
use crate::mcp::{member_limits, walk};

/// Largest total size, in bytes, that passes uninspected. The rest becomes part of the payload and can be
/// omitted like it.
const MAX_EXTRA_BYTES: usize = 4096;
/// Longest name, as written, of a member that is a part of its own.
const MAX_NAME_BYTES: usize = 256;
/// Largest total size, in bytes, of the names of members that are parts of their own.
const MAX_NAMES_BYTES: usize = 4096;
/// Longest replacement of a value that is hidden because of its name, in bytes.
const MAX_REPLACEMENT_BYTES: usize = 64;

/// Extra members that pass, and the overflow.
#[derive(Debug, Default)]
pub(super) struct ExtraMembers<'a> {
    text: &'a str,
    redact: Option<&'a RedactionRules>,
    remaining_bytes: usize,
    remaining_name_bytes: usize,
    overflow: Overflow,
}

impl<'a> ExtraMembers<'a> {
    pub(super) fn new(text: &'a str, redact: Option<&'a RedactionRules>) -> Self {
        Self {
            text,
            redact,
            remaining_bytes: MAX_EXTRA_BYTES,
            remaining_name_bytes: MAX_NAMES_BYTES,
            overflow: Overflow::default(),
        }
    }

    /// Passes a member if the remaining bytes suffice, else adds it to the overflow. `slot`: as for a part.
    pub(super) fn add(&mut self, member: Member, slot: (usize, usize), object_address: &str) {
        let redactions = self.redact_member(member);
        let removed: usize = redactions.iter().map(|(span, _)| span.len()).sum();
        let len =
            member.span().len() - removed + redactions.iter().map(|(_, with)| with.len()).sum::<usize>();
        // Includes the comma.
        if let Some(remaining) = self.remaining_bytes.checked_sub(len + 1) {
            self.remaining_bytes = remaining;
            self.overflow.redactions.extend(redactions);
            return;
        }
        let extra = ExtraMember { member, slot, object_address: object_address.to_owned() };
        // A part has no name, so a member that is hidden by its name must not become one.
        let may_be_hidden = !redactions.is_empty() && len <= member.key.len() + MAX_REPLACEMENT_BYTES;
        if may_be_hidden || !self.can_be_single(member) {
            self.overflow.redactions.extend(redactions);
            self.overflow.other.push(extra);
        } else {
            self.add_single(extra);
        }
    }

    /// Makes a member of the result a part, whatever its size.
    pub(super) fn add_overflow(&mut self, member: Member, slot: (usize, usize)) {
        self.add_single(ExtraMember { member, slot, object_address: String::new() });
    }

    /// Returns the overflow, after all members were added.
    pub(super) fn take_overflow(&mut self) -> Overflow {
        let mut overflow = std::mem::take(&mut self.overflow);
        overflow.frame_bytes += MAX_EXTRA_BYTES - self.remaining_bytes;
        overflow.redactions.sort_by_key(|(span, _)| span.start);
        overflow
    }

    fn add_single(&mut self, extra: ExtraMember) {
        let name = extra.member.key.len();
        self.remaining_name_bytes = self.remaining_name_bytes.saturating_sub(name);
        self.overflow.frame_bytes += name;
        self.overflow.single.push(extra);
    }

    /// Returns true if the name of a member can be a step of an address.
    fn can_be_single(&self, member: Member) -> bool {
        let key = member.key.slice(self.text);
        let has_secret = || self.redact.is_some_and(|redact| redact.redact_name(&unescape(key)).is_some());
        key.len() <= MAX_NAME_BYTES.min(self.remaining_name_bytes)
            && !string_equals(key, OTHER_MEMBERS_STEP)
            && !has_secret()
    }

    /// Redacts a member that the protocol names.
    pub(super) fn redact(&mut self, member: Member) {
        let redactions = self.redact_member(member);
        self.overflow.redactions.extend(redactions);
    }

    /// Returns the redactions of a member. Members of `_meta` are redacted one by one, because some of them are removed, and
    /// others added.
    fn redact_member(&self, member: Member) -> Vec<(Span, String)> {
        let Some(redact) = self.redact else { return Vec::new() };
        let is_meta = string_equals(member.key.slice(self.text), "_meta")
            && walk::kind(self.text, member.value) == JsonKind::Object;
        let members = if is_meta { walk::members(self.text, member.value) } else { vec![member] };
        let redacted =
            |member: Member| Some((member.span(), member_limits::redact_member(redact, self.text, member)?));
        members.into_iter().filter_map(redacted).collect()
    }
}

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
        Sequence::of_members(whole, &self.members)
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
