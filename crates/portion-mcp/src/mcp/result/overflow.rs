//! Makes parts of the extra members that do not pass.
//!
//! The block of text of another Portion in front of the upstream repeats its notice in `_meta` for models. It is no content: paged
//! as such, the step that continues the inner result would come after all of its pages. So it is left out, and the notice of this
//! gateway names that step.

use std::collections::{BTreeMap, BTreeSet};

use portion_core::payload::{BlockLabel, NextPage};
use portion_json::scan::{JsonKind, JsonReader, quote, unescape};
use portion_json::span::Span;

use super::outline::{PartKind, ResultOutline, ResultPart};
use crate::mcp::walk::{self, Member, Splice};

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
            let sequences: BTreeSet<usize> = slots.iter().map(|(sequence, _)| *sequence).collect();
            for sequence in sequences {
                let is_kept = |item: usize| !slots.contains(&(sequence, item));
                splice.edit_sequence(&self.sequences[sequence].sequence, is_kept, &[]);
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

/// Facts of an inner notice.
#[derive(Debug, Default)]
pub(super) struct InnerNotice {
    /// Index of the part that repeats the notice.
    pub(super) part: Option<usize>,
    pub(super) next: Option<NextPage>,
    pub(super) total: Option<u64>,
}

impl InnerNotice {
    /// Reads the notice in `_meta`, and finds the last text among `parts` if it repeats it. Without such a text the notice is not
    /// meant for models.
    pub(super) fn find(text: &str, notice: Span, parts: &[ResultPart]) -> Self {
        let last = parts.iter().rposition(|part| part.kind == PartKind::Text);
        let repeats = |at: &usize| repeats_notice(&unescape(parts[*at].span.slice(text)), text, notice);
        // The content itself stays as text, too.
        let follows_text = |at: &usize| parts[..*at].iter().any(|part| part.kind == PartKind::Text);
        let Some(part) = last.filter(follows_text).filter(repeats) else { return Self::default() };
        let string = |key: &str| walk::string_member(text, notice, key);
        let number = |key: &str| walk::member_value(text, notice, key)?.slice(text).parse().ok();
        let cursor = string("nextCursor").or_else(|| string("next_cursor"));
        let meta = walk::member_value(text, notice, "meta");
        let call = meta.and_then(|meta| walk::string_member(text, meta, "next"));
        Self {
            part: Some(part),
            next: cursor.map(|cursor| NextPage::Call(next_call(&cursor, call.as_deref()).into())),
            total: number("totalCount").or_else(|| number("total_count")),
        }
    }
}

/// Returns the call that continues the inner result. `shown` is its form in the notice: `portion_read(cursor=nextCursor)`.
fn next_call(cursor: &str, shown: Option<&str>) -> String {
    let tool = shown.and_then(|shown| shown.split_once('(')).map_or("", |(tool, _)| tool);
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    if tool.is_empty() || !tool.bytes().all(is_name) {
        return format!("nextCursor: {cursor}");
    }
    format!("{tool}(cursor={cursor})")
}

/// Returns true if `shown` is a notice for models whose facts are all in the notice for programs. A notice for models is shorter,
/// and its texts are; cursors and numbers are the same.
fn repeats_notice(shown: &str, text: &str, notice: Span) -> bool {
    let mut reader = JsonReader::new(shown);
    let Ok(whole) = reader.skip() else { return false };
    if reader.expect_end().is_err() {
        return false;
    }
    let Some(shown_meta) = walk::member_value(shown, whole, "meta") else { return false };
    let Some(meta) = walk::member_value(text, notice, "meta") else { return false };
    let is_same = |member: &Member, among: Span| {
        let key = unescape(member.key.slice(shown));
        walk::member_value(text, among, &key).map(|value| value.slice(text))
            == Some(member.value.slice(shown))
    };
    let is_fact = |member: &Member| {
        let is_text = walk::kind(shown, member.value) == JsonKind::String;
        let key = unescape(member.key.slice(shown));
        let is_exact = walk::kind(shown, member.value) == JsonKind::Number || (is_text && key == "cursor");
        if is_exact { is_same(member, meta) } else { walk::member_value(text, meta, &key).is_some() }
    };
    let facts = walk::members(shown, shown_meta);
    let beside = walk::members(shown, whole);
    !facts.is_empty()
        && facts.iter().all(is_fact)
        && beside.iter().all(|member| member.value == shown_meta || is_same(member, notice))
}
