//! Extra members of a result: vendor members, annotations, `_meta`.
//!
//! Small ones pass. A larger one becomes a part of the payload, and its name a step of the part's address. Members whose names are
//! too long for that, or too many, become one part together: its JSON contains the names, so that they count like values.

use portion_core::redact::RedactionRules;
use portion_json::scan::{JsonKind, unescape};
use portion_json::span::Span;

use super::super::member_redaction;
use super::super::walk::{self, Member};
use super::overflow::{ExtraMember, OTHER_MEMBERS_STEP, Overflow};

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

    /// Returns the overflow.
    pub(super) fn into_overflow(self) -> Overflow {
        let mut overflow = self.overflow;
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
            && !walk::string_equals(key, OTHER_MEMBERS_STEP)
            && !has_secret()
    }

    /// Returns the redactions of a member. Members of `_meta` are redacted one by one, because some of them are removed, and
    /// others added.
    fn redact_member(&self, member: Member) -> Vec<(Span, String)> {
        let Some(redact) = self.redact else { return Vec::new() };
        let is_meta = walk::string_equals(member.key.slice(self.text), "_meta")
            && walk::kind(self.text, member.value) == JsonKind::Object;
        let members = if is_meta { walk::members(self.text, member.value) } else { vec![member] };
        let redacted = |member: Member| {
            Some((member.span(), member_redaction::redact_member(redact, self.text, member)?))
        };
        members.into_iter().filter_map(redacted).collect()
    }
}
