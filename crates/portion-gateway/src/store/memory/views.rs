//! The views kept with one snapshot: cursors name a view by a hash, so it must be there to follow them.
//!
//! The root view always is. Of the others the most recently used stay: a caller that asks for ever new
//! selections loses its oldest ones, never another snapshot.

use portion_core::cursor::ViewId;
use portion_core::snapshot::Snapshot;
use portion_core::view::View;

/// Views besides the root.
const MOST_VIEWS: usize = 32;
/// Bytes that views may weigh beside what the snapshot weighs: one that shows nearly all of it always has a place.
const LEAST_ROOM: usize = 64 << 10;
/// Bytes that a view costs besides what it holds.
const OVERHEAD: usize = 128;

#[derive(Debug)]
pub(super) struct Views {
    root: View,
    /// The most recently used last.
    others: Vec<Weighed>,
    bytes: usize,
    /// Together they weigh at most as much as the snapshot and [`LEAST_ROOM`].
    room: usize,
}

#[derive(Debug)]
struct Weighed {
    view: View,
    bytes: usize,
}

/// What a view weighs.
pub(super) fn weight(view: &View) -> usize {
    view.heap_bytes() + OVERHEAD
}

impl Views {
    /// The views of a snapshot whose first cursors go through that one.
    pub(super) fn of(snapshot: &Snapshot, first: &View) -> Self {
        let root = first.root_at_its_pace();
        Self { root, others: Vec::new(), bytes: 0, room: snapshot.heap_bytes() + LEAST_ROOM }
    }

    pub(super) fn root(&self) -> &View {
        &self.root
    }

    /// What those besides the root weigh together.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// What they may weigh together.
    pub(super) fn room(&self) -> usize {
        self.room
    }

    /// The view of that name, used.
    pub(super) fn get(&mut self, id: ViewId) -> Option<View> {
        if self.root.id() == id {
            return Some(self.root.clone());
        }
        let at = self.others.iter().position(|known| known.view.id() == id)?;
        let known = self.others.remove(at);
        let view = known.view.clone();
        self.others.push(known);
        Some(view)
    }

    /// Lets the least recently used go until one more of `bytes` has a place. Returns the bytes given back.
    pub(super) fn make_room(&mut self, bytes: usize) -> usize {
        let mut freed = 0;
        while !self.others.is_empty()
            && (self.others.len() >= MOST_VIEWS || self.bytes - freed + bytes > self.room)
        {
            freed += self.others.remove(0).bytes;
        }
        self.bytes -= freed;
        freed
    }

    /// Lets a view that is kept go on at the pace that its first reply had, unless it has one.
    pub(super) fn pace(&mut self, view: &View) {
        let others = self.others.iter_mut().map(|known| &mut known.view);
        if let Some(kept) = others.chain([&mut self.root]).find(|kept| kept.id() == view.id()) {
            *kept = std::mem::take(kept).with_pace_of(view);
        }
    }

    /// Keeps a view that is not kept yet and has a place.
    pub(super) fn add(&mut self, view: View, bytes: usize) {
        self.bytes += bytes;
        self.others.push(Weighed { view, bytes });
    }
}
