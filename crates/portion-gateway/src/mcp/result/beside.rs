//! What stands beside the content of a result: vendor members, annotations, `_meta`.

use portion_core::payload::Label;

use super::super::walk::{self, Member};
use super::outline::{Outline, PartKind};

/// Bytes of it that pass without being looked at. What is beyond is part of the payload, and can be left out like any part.
const ASIDE: usize = 4096;

/// What stands beside the content, as much as passes, and what is beyond.
pub(super) struct Aside {
    left: usize,
    beyond: Vec<(Member, (usize, usize), String)>,
}

impl Aside {
    pub(super) fn new() -> Self {
        Self { left: ASIDE, beyond: Vec::new() }
    }

    /// Lets a member pass, if there is room for it. `slot` as of a part.
    pub(super) fn consider(&mut self, member: Member, slot: (usize, usize), address: &str) {
        match self.left.checked_sub(member.whole().len()) {
            Some(left) => self.left = left,
            None => self.beyond.push((member, slot, address.to_owned())),
        }
    }

    /// Makes a member of the result a part, whatever its size.
    pub(super) fn put_off(&mut self, member: Member, slot: (usize, usize)) {
        self.beyond.push((member, slot, String::new()));
    }

    /// Makes parts of what is beyond, and tells how many bytes pass.
    pub(super) fn into_parts(self, outline: &mut Outline<'_>) -> usize {
        for (member, slot, address) in self.beyond {
            let address = format!("{address}/{}", walk::step(member.key.of(outline.text)));
            outline.push(&address, member.value, slot, PartKind::Aside, Label::default());
        }
        ASIDE - self.left
    }
}
