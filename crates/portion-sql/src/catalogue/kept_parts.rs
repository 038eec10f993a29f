//! Keeps the tables of a snapshot with it, so that columns are decoded once for all statements.

use std::sync::{Arc, Mutex, PoisonError};

use portion_core::path::UnresolvedPath;
use portion_core::snapshot::{Slice, Snapshot};
use portion_core::view::View;

use super::{CatalogueBuilder, CataloguePart};

/// Maximum parts that are kept with a snapshot.
const MAX_PARTS: usize = 8;
/// Bytes that are kept however small the payload is; of larger ones, half as many as the payload has.
const MIN_KEPT_BYTES: usize = 1 << 20;

/// The parts of catalogues that were built from a snapshot, the last used at the end.
#[derive(Default)]
pub(super) struct KeptParts(Mutex<Vec<(PartKey, Arc<CataloguePart>)>>);

/// The source of a part: equal sources give equal parts.
#[derive(Clone)]
pub(super) struct PartKey {
    /// Paths and texts of the view. As long as the texts are held, no others are at their place.
    subjects: Vec<(String, Slice)>,
    prefix: Option<String>,
    paths: Vec<String>,
}

impl PartialEq for PartKey {
    fn eq(&self, other: &Self) -> bool {
        let is_same = |(a, b): (&(String, Slice), &(String, Slice))| {
            a.0 == b.0 && a.1.len() == b.1.len() && std::ptr::eq(a.1.as_ptr(), b.1.as_ptr())
        };
        self.prefix == other.prefix
            && self.paths == other.paths
            && self.subjects.len() == other.subjects.len()
            && self.subjects.iter().zip(&other.subjects).all(is_same)
    }
}

/// Returns the tables of a view and at paths in it, built once for each. `prefix`: the name of another result.
pub(super) fn part(
    snapshot: &Snapshot,
    view: &View,
    prefix: Option<&str>,
    paths: &[&str],
) -> Result<Arc<CataloguePart>, UnresolvedPath> {
    let subjects = view.subjects(snapshot).into_iter();
    let key = PartKey {
        subjects: subjects.map(|(path, subject)| (path, subject.text.clone())).collect(),
        prefix: prefix.map(str::to_owned),
        paths: paths.iter().map(|path| (*path).to_owned()).collect(),
    };
    let build = || CatalogueBuilder::build_part(snapshot, view, prefix, paths).map(Arc::new);
    // What is computed from a snapshot with gaps may be computed again.
    if snapshot.is_partial() {
        return build();
    }
    let kept = snapshot.derived().get_or_default::<KeptParts>();
    let mut parts = kept.0.lock().unwrap_or_else(PoisonError::into_inner);
    let found = parts.iter().position(|(known, _)| *known == key).map(|at| parts.remove(at).1);
    let part = found.map_or_else(build, Ok)?;
    parts.push((key, Arc::clone(&part)));
    if parts.len() > MAX_PARTS {
        parts.remove(0);
    }
    Ok(part)
}

/// Counts what is kept with a snapshot, and drops the rest once it is more than half of the payload.
pub(super) fn settle(snapshot: &Snapshot) {
    let kept = snapshot.derived().get_or_default::<KeptParts>();
    let mut parts = kept.0.lock().unwrap_or_else(PoisonError::into_inner);
    let most = (snapshot.payload_bytes() / 2).max(MIN_KEPT_BYTES);
    let bytes = |parts: &[(PartKey, Arc<CataloguePart>)]| {
        parts
            .iter()
            .map(|(_, part)| part.tables.iter().map(|table| table.kept_bytes()).sum::<usize>())
            .sum::<usize>()
    };
    while parts.len() > 1 && bytes(&parts) > most {
        parts.remove(0);
    }
    // Of the last tables used, the rows stay and the columns go.
    if bytes(&parts) > most {
        parts.iter().flat_map(|(_, part)| &part.tables).for_each(|table| table.drop_columns());
    }
    snapshot.derived().set_byte_count(bytes(&parts));
}
