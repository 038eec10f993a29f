//! What stands beside the content of a result: vendor members, annotations, `_meta`.

use portion_core::payload::Label;
use portion_core::redact::Redact;
use portion_core::span::Span;

use super::super::bound;
use super::super::walk::{self, Member};
use super::outline::{Outline, PartKind};

/// Bytes of it that pass without being looked at. What is beyond is part of the payload, and can be left out like any part.
pub(super) const ASIDE: usize = 4096;
/// Bytes of a member that is nothing but hidden.
const HIDDEN: usize = 256;

/// What stands beside the content, as much as passes, and what is beyond.
pub(super) struct Aside<'a> {
    text: &'a str,
    redact: Option<&'a Redact>,
    left: usize,
    beyond: Vec<(Member, (usize, usize), String)>,
    /// What is hidden of what passes: where, and what stands there then.
    hidden: Vec<(Span, String)>,
}

impl<'a> Aside<'a> {
    pub(super) fn new(text: &'a str, redact: Option<&'a Redact>) -> Self {
        Self { text, redact, left: ASIDE, beyond: Vec::new(), hidden: Vec::new() }
    }

    /// Lets a member pass, if there is room for it. `slot` as of a part.
    pub(super) fn consider(&mut self, member: Member, slot: (usize, usize), address: &str) {
        let hidden = self.redact.and_then(|redact| bound::hidden(redact, self.text, member));
        let len = hidden.as_ref().map_or(member.whole().len(), String::len);
        // What is hidden by its own name must not become a part, which has no name.
        let fits =
            if len <= HIDDEN && hidden.is_some() { Some(self.left) } else { self.left.checked_sub(len) };
        match fits {
            Some(left) => {
                self.left = left;
                self.hidden.extend(hidden.map(|said| (member.whole(), said)));
            }
            None => self.beyond.push((member, slot, address.to_owned())),
        }
    }

    /// Makes a member of the result a part, whatever its size.
    pub(super) fn put_off(&mut self, member: Member, slot: (usize, usize)) {
        self.beyond.push((member, slot, String::new()));
    }

    /// Makes parts of what is beyond, and tells how many bytes pass.
    pub(super) fn into_parts(self, outline: &mut Outline<'_>) -> usize {
        outline.concealed = self.hidden;
        for (member, slot, address) in self.beyond {
            let address = format!("{address}/{}", walk::step(member.key.of(outline.text)));
            outline.push(&address, member.value, slot, PartKind::Aside, Label::default());
        }
        ASIDE - self.left
    }
}
