//! Extra members of a result: vendor members, annotations, `_meta`.

use portion_core::payload::BlockLabel;
use portion_core::redact::RedactionRules;
use portion_json::scan::JsonKind;
use portion_json::span::Span;

use super::super::member_limits;
use super::super::walk::{self, Member};
use super::outline::{PartKind, ResultOutline};

/// Largest total size, in bytes, that passes uninspected. The rest becomes part of the payload and can be
/// omitted like it.
pub(super) const MAX_EXTRA_BYTES: usize = 4096;
/// Largest redacted member, in bytes, that always passes.
const MAX_REDACTED_BYTES: usize = 256;

/// Extra members that pass, and the overflow.
pub(super) struct ExtraMembers<'a> {
    text: &'a str,
    redact: Option<&'a RedactionRules>,
    remaining_bytes: usize,
    overflow: Vec<(Member, (usize, usize), String)>,
    /// Redactions of members that pass: span and replacement.
    redactions: Vec<(Span, String)>,
}

impl<'a> ExtraMembers<'a> {
    pub(super) fn new(text: &'a str, redact: Option<&'a RedactionRules>) -> Self {
        Self { text, redact, remaining_bytes: MAX_EXTRA_BYTES, overflow: Vec::new(), redactions: Vec::new() }
    }

    /// Passes a member if the remaining bytes suffice, else adds it to the overflow. `slot`: as for a part.
    pub(super) fn add(&mut self, member: Member, slot: (usize, usize), address: &str) {
        let redactions = self.redact_member(member);
        let removed: usize = redactions.iter().map(|(span, _)| span.len()).sum();
        let len =
            member.span().len() - removed + redactions.iter().map(|(_, with)| with.len()).sum::<usize>();
        // A member redacted by its own name must not become a part, because parts have no name.
        let fits = if len <= MAX_REDACTED_BYTES && !redactions.is_empty() {
            Some(self.remaining_bytes)
        } else {
            self.remaining_bytes.checked_sub(len)
        };
        match fits {
            Some(remaining) => {
                self.remaining_bytes = remaining;
                self.redactions.extend(redactions);
            }
            None => self.overflow.push((member, slot, address.to_owned())),
        }
    }

    /// Returns the redactions of a member. Members of `_meta` are redacted one by one, because some of them are removed, and
    /// others added.
    fn redact_member(&self, member: Member) -> Vec<(Span, String)> {
        let Some(redact) = self.redact else { return Vec::new() };
        let is_meta = walk::string_equals(member.key.slice(self.text), "_meta")
            && walk::kind(self.text, member.value) == JsonKind::Object;
        let members = if is_meta { walk::members(self.text, member.value) } else { vec![member] };
        let redacted =
            |member: Member| Some((member.span(), member_limits::redact_member(redact, self.text, member)?));
        members.into_iter().filter_map(redacted).collect()
    }

    /// Makes a member of the result a part, whatever its size.
    pub(super) fn add_overflow(&mut self, member: Member, slot: (usize, usize)) {
        self.overflow.push((member, slot, String::new()));
    }

    /// Makes parts of the overflow, and returns the number of bytes that pass.
    pub(super) fn into_parts(self, outline: &mut ResultOutline<'_>) -> usize {
        outline.redactions = self.redactions;
        for (member, slot, address) in self.overflow {
            let address = format!("{address}/{}", walk::step_from_quoted(member.key.slice(outline.text)));
            outline.push_part(&address, member.value, slot, PartKind::Extra, BlockLabel::default());
        }
        MAX_EXTRA_BYTES - self.remaining_bytes
    }
}
