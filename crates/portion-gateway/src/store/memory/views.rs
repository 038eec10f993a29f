//! Views of one snapshot: cursors contain only the hash of a view, so the view must be stored to follow them.
//!
//! The root view is always stored. Of the others the most recently used stay: a caller with ever new
//! selections loses its oldest views, never another snapshot.

use portion_core::cursor::ViewId;
use portion_core::snapshot::Snapshot;
use portion_core::view::View;

/// Largest number of views besides the root.
const MAX_VIEWS: usize = 32;
/// Bytes for views beyond the size of the snapshot: a view that shows nearly all of it always fits.
const MIN_CAPACITY_BYTES: usize = 64 << 10;
/// Bytes per view besides its content.
const OVERHEAD_BYTES: usize = 128;

#[derive(Debug)]
pub(super) struct ViewCache {
    pub(super) root: View,
    /// The most recently used last.
    recent: Vec<SizedView>,
    /// Total size of the views besides the root.
    pub(super) bytes: usize,
    /// Largest total size: that of the snapshot plus [`MIN_CAPACITY_BYTES`].
    pub(super) capacity_bytes: usize,
}

#[derive(Debug)]
struct SizedView {
    view: View,
    bytes: usize,
}

/// Returns the size of a view in bytes.
pub(super) fn view_bytes(view: &View) -> usize {
    view.heap_bytes() + OVERHEAD_BYTES
}

impl ViewCache {
    /// Creates the views of a snapshot. `first`: the view of its first cursors.
    pub(super) fn new(snapshot: &Snapshot, first: &View) -> Self {
        let capacity_bytes = snapshot.heap_bytes() + MIN_CAPACITY_BYTES;
        Self { root: first.root_with_pagination(), recent: Vec::new(), bytes: 0, capacity_bytes }
    }

    /// Returns the views besides the root, the most recently used last.
    pub(super) fn recent(&self) -> impl Iterator<Item = &View> {
        self.recent.iter().map(|known| &known.view)
    }

    /// Returns a view by its id, and marks it as used.
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

    /// Evicts least recently used views until a view of `bytes` bytes fits. Returns the bytes freed.
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

    /// Copies the pagination of a view's first reply to the stored view, unless that has one.
    pub(super) fn inherit_pace(&mut self, view: &View) {
        let others = self.recent.iter_mut().map(|known| &mut known.view);
        if let Some(kept) = others.chain([&mut self.root]).find(|kept| kept.id() == view.id()) {
            *kept = std::mem::take(kept).with_pagination_of(view);
        }
    }

    /// Adds a view that is not stored yet and fits.
    pub(super) fn add(&mut self, view: View, bytes: usize) {
        self.bytes += bytes;
        self.recent.push(SizedView { view, bytes });
    }
}
