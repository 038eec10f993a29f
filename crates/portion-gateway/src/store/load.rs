//! Reads snapshots from the store: whole, or as much as a page needs.
//!
//! The first request reads the meta and the beginning of the text, where first pages and much of what every page repeats
//! are. A small snapshot is then read whole. Rendering a page of a large one notes which blocks it needs, and these are read.
//!
//! Another instance may still be writing what its reply has promised, so that a snapshot or a view that is not there is
//! waited for, whatever the store.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use portion_core::cursor::ViewId;
use portion_core::snapshot::{FieldCounts, Snapshot};
use portion_core::view::View;
use tokio::time::sleep;

use super::record::{self, Header};
use super::write_behind::WriteBehind;
use super::{FieldName, SnapshotKey, StoreLookupError, StoreReadError, StoredSnapshot};
use crate::offload::offload;

/// Content that is read together with the header.
const PREFETCHED: [FieldName; 2] = [FieldName::Block(0), FieldName::Block(1)];
/// Number of blocks up to which a snapshot is read whole: 512 KiB.
const MAX_WHOLE_BLOCKS: u32 = 8;
/// Longest wait for what another instance is still writing: it writes after its reply.
const MAX_WRITE_DELAY: Duration = Duration::from_secs(3);
/// Time between attempts to read it.
const RETRY_INTERVAL: Duration = Duration::from_millis(20);
/// Attempts to read a list that is replaced between two reads, because it grows.
const MAX_ATTEMPTS: usize = 5;

/// A snapshot with its root view, and a view of it, if the store has that view.
type Loaded = (StoredSnapshot, Option<View>);

/// Part of a snapshot that a request may need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// All of it.
    Whole,
    /// A page. Blocks may be missing, and [`Snapshot::needed_blocks`] tells which of them are needed.
    Page,
}

/// Reads a snapshot and a view of it.
pub(super) async fn load(
    behind: &WriteBehind,
    key: SnapshotKey,
    view: ViewId,
    extent: Extent,
) -> Result<Loaded, StoreLookupError> {
    for _ in 0..MAX_ATTEMPTS {
        if let Some(loaded) = load_unchanged(behind, key, view, extent).await? {
            return Ok(loaded);
        }
    }
    Err(unreadable())
}

/// Reads as [`load`] does; `None` if the snapshot is replaced meanwhile.
async fn load_unchanged(
    behind: &WriteBehind,
    key: SnapshotKey,
    view: ViewId,
    extent: Extent,
) -> Result<Option<Loaded>, StoreLookupError> {
    let root_id = View::root().id();
    let first = [FieldName::Header, FieldName::Meta, FieldName::View(view), FieldName::View(root_id)];
    let names: Vec<FieldName> = first.into_iter().chain(PREFETCHED).collect();
    let mut fields = get_written(behind, key, &names).await?;
    let prefetched = fields.split_off(first.len().min(fields.len()));
    let Ok([Some(header), Some(meta), packed_view, packed_root]) = <[_; 4]>::try_from(fields) else {
        return Err(unreadable());
    };
    let header = Header::decode(&header).filter(|header| header.may_belong_to(key.id));
    let header = header.ok_or_else(unreadable)?;
    let FieldCounts { blocks, .. } = record::field_counts(&meta).ok_or_else(unreadable)?;
    let mut found: HashMap<FieldName, Vec<u8>> =
        PREFETCHED.into_iter().zip(prefetched).filter_map(|(name, field)| Some((name, field?))).collect();
    let is_whole = extent == Extent::Whole || blocks <= MAX_WHOLE_BLOCKS;
    let content = record::content_fields(&meta).ok_or_else(unreadable)?;
    let rest: Vec<FieldName> =
        content.into_iter().filter(|name| is_whole && !found.contains_key(name)).collect();
    let mut has_rest = !rest.is_empty();
    if has_rest {
        let fields = behind.store.get(key, &rest).await?;
        found.extend(rest.into_iter().zip(fields).filter_map(|(name, field)| Some((name, field?))));
    }
    let packed_meta = meta.clone();
    let decoded = offload(usize::MAX, move || record::decode_snapshot(&packed_meta, &found)).await;
    let Some(decoded) = decoded else {
        return if is_replaced(behind, key, &meta).await { Ok(None) } else { Err(unreadable()) };
    };
    let mut snapshot = Arc::new(decoded);
    let decode_view = |snapshot: &Snapshot, id, packed: &Option<Vec<u8>>| {
        record::decode_view(snapshot, id, packed.as_deref()?)
    };
    let serves_pages = |view: Option<View>| view.is_none_or(|view| view.is_of_everything());
    let must_be_whole = extent == Extent::Whole
        || snapshot.upstream_list().is_some()
        || !serves_pages(decode_view(&snapshot, view, &packed_view));
    let grows = snapshot.upstream_list().is_some();
    if snapshot.is_partial() && must_be_whole {
        has_rest = true;
        let read = read_blocks(behind, key, &snapshot, snapshot.missing_blocks()).await;
        if read.is_err() && grows && is_replaced(behind, key, &meta).await {
            return Ok(None);
        }
        snapshot = read?;
    }
    if has_rest && grows && is_replaced(behind, key, &meta).await {
        return Ok(None);
    }
    let root_view = decode_view(&snapshot, root_id, &packed_root).unwrap_or_else(View::root);
    let view = decode_view(&snapshot, view, &packed_view);
    let stored = StoredSnapshot {
        id: key.id,
        snapshot,
        view: root_view,
        endpoint: header.endpoint.map(Arc::from),
        arguments: header.arguments.map(Arc::from),
        reuse_key: None,
        rule: None,
        redaction: Some(header.redaction),
        origin_snapshot: header.origin_snapshot,
    };
    Ok(Some((stored, view)))
}

/// Returns true if a snapshot was replaced since its meta was read.
async fn is_replaced(behind: &WriteBehind, key: SnapshotKey, meta: &[u8]) -> bool {
    let fields = behind.store.get(key, &[FieldName::Meta]).await.unwrap_or_default();
    fields.into_iter().flatten().next().is_some_and(|current| current != meta)
}

/// Returns a snapshot with some of its missing blocks.
pub(super) async fn read_blocks(
    behind: &WriteBehind,
    key: SnapshotKey,
    snapshot: &Arc<Snapshot>,
    blocks: Vec<u32>,
) -> Result<Arc<Snapshot>, StoreLookupError> {
    let names: Vec<FieldName> = blocks.iter().copied().map(FieldName::Block).collect();
    let fields = behind.store.get(key, &names).await?;
    let snapshot = Arc::clone(snapshot);
    let added = offload(usize::MAX, move || record::add_blocks(&snapshot, &blocks, &fields)).await;
    added.map(Arc::new).ok_or_else(unreadable)
}

/// Reads a view of a snapshot that is in memory.
pub(super) async fn load_view(
    behind: &WriteBehind,
    key: SnapshotKey,
    snapshot: &Snapshot,
    view: ViewId,
) -> Option<View> {
    let fields = get_written(behind, key, &[FieldName::View(view)]).await.unwrap_or_default();
    record::decode_view(snapshot, view, fields.first()?.as_deref()?)
}

/// Reads fields of a snapshot. If the snapshot or one of the views is not there, it may still be written.
async fn get_written(
    WriteBehind { store, is_shared, .. }: &WriteBehind,
    key: SnapshotKey,
    names: &[FieldName],
) -> Result<Vec<Option<Vec<u8>>>, StoreReadError> {
    let begun = Instant::now();
    loop {
        let read = store.get(key, names).await;
        let may_be_written = match &read {
            Ok(fields) => lacks_view(names, fields),
            Err(error) => *error == StoreReadError::Unknown,
        };
        // A store that is lost keeps nobody waiting.
        if !is_shared || !may_be_written || begun.elapsed() >= MAX_WRITE_DELAY || !store.status().is_available
        {
            return read;
        }
        sleep(RETRY_INTERVAL).await;
    }
}

fn lacks_view(names: &[FieldName], fields: &[Option<Vec<u8>>]) -> bool {
    names.iter().zip(fields).any(|(name, field)| matches!(name, FieldName::View(_)) && field.is_none())
}

/// Returns the error for a snapshot that is damaged, of another version, or under the key of another.
fn unreadable() -> StoreLookupError {
    tracing::warn!("a stored snapshot cannot be read; its cursors read cursor_expired");
    StoreLookupError::Unknown
}

#[cfg(test)]
mod tests;
