//! The views kept with one snapshot: cursors name a view by a hash, so it must be there to follow them.
//!
//! The root view always is. Of the others the most recently used stay: a caller that asks for ever new
//! selections loses its oldest ones, never another snapshot.

use portion_core::cursor::ViewId;
use portion_core::snapshot::Snapshot;
use portion_core::view::View;

/// Views besides the root.
const MAX_VIEWS: usize = 32;
/// Bytes that views may weigh beside what the snapshot weighs: one that shows nearly all of it always has a place.
const MIN_CAPACITY_BYTES: usize = 64 << 10;
/// Bytes that a view costs besides what it holds.
const OVERHEAD_BYTES: usize = 128;

#[derive(Debug)]
pub(super) struct ViewCache {
    root: View,
    /// The most recently used last.
    recent: Vec<SizedView>,
    bytes: usize,
    /// Together they weigh at most as much as the snapshot and [`MIN_CAPACITY_BYTES`].
    capacity_bytes: usize,
}

#[derive(Debug)]
struct SizedView {
    view: View,
    bytes: usize,
}

/// What a view weighs.
pub(super) fn view_bytes(view: &View) -> usize {
    view.heap_bytes() + OVERHEAD_BYTES
}

impl ViewCache {
    /// The views of a snapshot whose first cursors go through that one.
    pub(super) fn new(snapshot: &Snapshot, first: &View) -> Self {
        let root = first.root_with_pagination();
        Self {
            root,
            recent: Vec::new(),
            bytes: 0,
            capacity_bytes: snapshot.heap_bytes() + MIN_CAPACITY_BYTES,
        }
    }

    pub(super) fn root(&self) -> &View {
        &self.root
    }

    /// What those besides the root weigh together.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// What they may weigh together.
    pub(super) fn capacity_bytes(&self) -> usize {
        self.capacity_bytes
    }

    /// The view of that name, used.
    pub(super) fn get(&mut self, id: ViewId) -> Option<View> {
        if self.root.id() == id {
            return Some(self.root.clone());
        }
        let at = self.recent.iter().position(|known| known.view.id() == id)?;
        let known = self.recent.remove(at);
        let view = known.view.clone();
        self.recent.push(known);
        Some(view)
    }

    /// Lets the least recently used go until one more of `bytes` has a place. Returns the bytes given back.
    pub(super) fn evict_for(&mut self, bytes: usize) -> usize {
        let mut freed = 0;
        while !self.recent.is_empty()
            && (self.recent.len() >= MAX_VIEWS || self.bytes - freed + bytes > self.capacity_bytes)
        {
            freed += self.recent.remove(0).bytes;
        }
        self.bytes -= freed;
        freed
    }

    /// Lets a view that is kept go on at the pace that its first reply had, unless it has one.
    pub(super) fn inherit_pace(&mut self, view: &View) {
        let others = self.recent.iter_mut().map(|known| &mut known.view);
        if let Some(kept) = others.chain([&mut self.root]).find(|kept| kept.id() == view.id()) {
            *kept = std::mem::take(kept).with_pagination_of(view);
        }
    }

    /// Keeps a view that is not kept yet and has a place.
    pub(super) fn add(&mut self, view: View, bytes: usize) {
        self.bytes += bytes;
        self.recent.push(SizedView { view, bytes });
    }
}
