//! Makes parts of the extra members that do not pass.

use std::collections::{BTreeMap, BTreeSet};

use portion_core::payload::BlockLabel;
use portion_json::scan::quote;
use portion_json::span::Span;

use super::super::splice::Splice;
use super::super::walk::{self, Member};
use super::outline::{PartKind, ResultOutline};

/// Last step of the address of the part with several members.
pub(super) const OTHER_MEMBERS_STEP: &str = "otherMembers";

/// A member, and its place.
#[derive(Debug)]
pub(super) struct ExtraMember {
    pub member: Member,
    /// A sequence of the outline, and the index in it.
    pub slot: (usize, usize),
    /// Address of the object that has the member.
    pub object_address: String,
}

/// Extra members that do not pass unread.
#[derive(Debug, Default)]
pub(super) struct Overflow {
    /// Members that become parts of their own.
    pub single: Vec<ExtraMember>,
    /// Members that become one part together.
    pub other: Vec<ExtraMember>,
    /// Redactions of members that pass, and of other ones, in order: span and replacement.
    pub redactions: Vec<(Span, String)>,
    /// Bytes of members that pass, and of the names of single ones.
    pub frame_bytes: usize,
}

impl ExtraMember {
    /// Returns the address of the member as a part of its own.
    pub(super) fn address(&self, text: &str) -> String {
        format!("{}/{}", self.object_address, walk::step_from_quoted(self.member.key.slice(text)))
    }
}

impl Overflow {
    /// Returns the redactions within a span.
    pub(super) fn redactions_within(&self, span: Span) -> &[(Span, String)] {
        let from = self.redactions.partition_point(|(place, _)| place.start < span.start);
        let count = self.redactions[from..].partition_point(|(place, _)| place.end <= span.end);
        &self.redactions[from..from + count]
    }

    /// Returns the JSON of the other members: for each object its address and its members. `None` if there are none.
    pub(super) fn other_members_json(&self, text: &str) -> Option<String> {
        let mut last: Option<&str> = None;
        let mut json = String::from("{");
        for ExtraMember { member, object_address, .. } in &self.other {
            if last == Some(object_address) {
                json.push(',');
            } else {
                json.push_str(if last.is_some() { "}," } else { "" });
                let address = if object_address.is_empty() { "/" } else { object_address };
                json.push_str(&quote(address));
                json.push_str(":{");
            }
            last = Some(object_address);
            let mut splice = Splice::new(text);
            for (place, replacement) in self.redactions_within(member.span()) {
                splice.replace(*place, replacement.clone());
            }
            json.push_str(&splice.apply_within(member.span()));
        }
        json.push_str("}}");
        last.map(|_| json)
    }
}

impl ResultOutline<'_> {
    /// Makes parts of the extra members that do not pass unread.
    pub(super) fn add_overflow(&mut self, overflow: Overflow) {
        let text = self.text;
        self.separate_overflow(&overflow);
        for extra in &overflow.single {
            let address = extra.address(text);
            self.push_part(&address, extra.member.value, extra.slot, PartKind::Extra, BlockLabel::default());
        }
        if let (Some(json), Some(first)) = (overflow.other_members_json(text), overflow.other.first()) {
            let (address, place) = (format!("/{OTHER_MEMBERS_STEP}"), first.member.span());
            self.push_part(&address, place, first.slot, PartKind::OtherMembers, BlockLabel::default());
            if let Some(part) = self.parts.last_mut() {
                part.own_json = Some(json);
            }
            self.other_member_slots = overflow.other.iter().map(|extra| extra.slot).collect();
        }
        (self.redactions, self.frame_bytes) = (overflow.redactions, overflow.frame_bytes);
    }

    /// Takes the overflow out of the JSON of the blocks that have it, because it is a part of its own, and redacts what stays.
    fn separate_overflow(&mut self, overflow: &Overflow) {
        let mut removed: BTreeMap<usize, BTreeSet<(usize, usize)>> = BTreeMap::new();
        for ExtraMember { member, slot, .. } in overflow.single.iter().chain(&overflow.other) {
            if let Some(at) = self.block_around(member.span()) {
                removed.entry(at).or_default().insert(*slot);
            }
        }
        for at in overflow.redactions.iter().filter_map(|(place, _)| self.block_around(*place)) {
            removed.entry(at).or_default();
        }
        for (at, slots) in removed {
            let part = &mut self.parts[at];
            let mut splice = Splice::new(self.text);
            for (place, replacement) in overflow.redactions_within(part.span) {
                splice.replace(*place, replacement.clone());
            }
            let held: BTreeSet<usize> = slots.iter().map(|(held, _)| *held).collect();
            for held in held {
                let is_kept = |item: usize| !slots.contains(&(held, item));
                splice.edit_sequence(&self.sequences[held].sequence, is_kept, &[]);
            }
            part.own_json = Some(splice.apply_within(part.span));
        }
    }

    /// Returns the index of the block that contains a span. The parts of blocks are in the order of the text.
    fn block_around(&self, span: Span) -> Option<usize> {
        let at = self.parts.partition_point(|part| part.span.start <= span.start).checked_sub(1)?;
        let part = &self.parts[at];
        let is_block = matches!(part.kind, PartKind::Block(_) | PartKind::Entry(_));
        (is_block && span.end <= part.span.end).then_some(at)
    }
}
