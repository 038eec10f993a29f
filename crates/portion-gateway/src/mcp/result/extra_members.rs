//! What stands beside the content of a result: vendor members, annotations, `_meta`.

use portion_core::payload::BlockLabel;
use portion_core::redact::RedactionRules;
use portion_core::span::Span;

use super::super::member_limits;
use super::super::walk::{self, Member};
use super::outline::{PartKind, ResultOutline};

/// Bytes of it that pass without being looked at. What is beyond is part of the payload, and can be left out like any part.
pub(super) const MAX_EXTRA_BYTES: usize = 4096;
/// Bytes of a member that is nothing but hidden.
const MAX_REDACTED_BYTES: usize = 256;

/// What stands beside the content, as much as passes, and what is beyond.
pub(super) struct ExtraMembers<'a> {
    text: &'a str,
    redact: Option<&'a RedactionRules>,
    remaining_bytes: usize,
    overflow: Vec<(Member, (usize, usize), String)>,
    /// What is hidden of what passes: where, and what stands there then.
    redactions: Vec<(Span, String)>,
}

impl<'a> ExtraMembers<'a> {
    pub(super) fn new(text: &'a str, redact: Option<&'a RedactionRules>) -> Self {
        Self { text, redact, remaining_bytes: MAX_EXTRA_BYTES, overflow: Vec::new(), redactions: Vec::new() }
    }

    /// Lets a member pass, if there is room for it. `slot` as of a part.
    pub(super) fn add(&mut self, member: Member, slot: (usize, usize), address: &str) {
        let hidden = self.redact.and_then(|redact| member_limits::redact_member(redact, self.text, member));
        let len = hidden.as_ref().map_or(member.span().len(), String::len);
        // What is hidden by its own name must not become a part, which has no name.
        let fits = if len <= MAX_REDACTED_BYTES && hidden.is_some() {
            Some(self.remaining_bytes)
        } else {
            self.remaining_bytes.checked_sub(len)
        };
        match fits {
            Some(left) => {
                self.remaining_bytes = left;
                self.redactions.extend(hidden.map(|said| (member.span(), said)));
            }
            None => self.overflow.push((member, slot, address.to_owned())),
        }
    }

    /// Makes a member of the result a part, whatever its size.
    pub(super) fn add_overflow(&mut self, member: Member, slot: (usize, usize)) {
        self.overflow.push((member, slot, String::new()));
    }

    /// Makes parts of what is beyond, and tells how many bytes pass.
    pub(super) fn into_parts(self, outline: &mut ResultOutline<'_>) -> usize {
        outline.redactions = self.redactions;
        for (member, slot, address) in self.overflow {
            let address = format!("{address}/{}", walk::pointer_step(member.key.slice(outline.text)));
            outline.push_part(&address, member.value, slot, PartKind::Extra, BlockLabel::default());
        }
        MAX_EXTRA_BYTES - self.remaining_bytes
    }
}
