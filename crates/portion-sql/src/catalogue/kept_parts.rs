//! Keeps the tables of a snapshot with it, so that columns are decoded once for all statements.

use std::sync::{Mutex, PoisonError};

use portion_core::path::UnresolvedPath;
use portion_core::snapshot::{Slice, Snapshot};
use portion_core::view::View;

use super::{Catalogue, CatalogueBuilder};

/// Maximum parts that are kept with a snapshot.
const MAX_PARTS: usize = 8;
/// Maximum tables at paths that are kept with a part.
const MAX_PATHS: usize = 16;
/// Bytes that are kept however small the payload is; of larger ones, half as many as the payload has.
const MIN_KEPT_BYTES: usize = 1 << 20;

/// The parts of catalogues that were built from a snapshot, the last used at the end.
#[derive(Default)]
pub(super) struct KeptParts(Mutex<Vec<KeptPart>>);

/// The tables of a view, with those at the paths that statements named.
struct KeptPart {
    subjects: Subjects,
    prefix: Option<String>,
    builder: CatalogueBuilder,
}

/// Paths and texts of a view. As long as the texts are held, no others are at their place.
type Subjects = Vec<(String, Slice)>;

fn place((path, text): &(String, Slice)) -> (&str, *const u8, usize) {
    (path, text.as_ptr(), text.len())
}

/// Returns the tables of a view and at paths in it, each built once. `prefix`: the name of another result.
pub(super) fn part(
    snapshot: &Snapshot,
    view: &View,
    prefix: Option<&str>,
    paths: &[&str],
) -> Result<Catalogue, UnresolvedPath> {
    let build = || CatalogueBuilder::of_view(snapshot, view, prefix);
    // What is computed from a snapshot with gaps may be computed again.
    if snapshot.is_partial() {
        return build().part(snapshot, view, paths);
    }
    let subjects: Subjects =
        view.subjects(snapshot).into_iter().map(|(path, subject)| (path, subject.text.clone())).collect();
    let kept = snapshot.derived().get_or_default::<KeptParts>();
    let mut parts = kept.0.lock().unwrap_or_else(PoisonError::into_inner);
    let is_wanted = |part: &KeptPart| {
        part.prefix.as_deref() == prefix && part.subjects.iter().map(place).eq(subjects.iter().map(place))
    };
    let found = parts.iter().position(is_wanted).map(|at| parts.remove(at));
    let found = found.filter(|part| part.builder.path_count() + paths.len() <= MAX_PATHS);
    let mut part =
        found.unwrap_or_else(|| KeptPart { subjects, prefix: prefix.map(str::to_owned), builder: build() });
    let tables = part.builder.part(snapshot, view, paths);
    parts.push(part);
    if parts.len() > MAX_PARTS {
        parts.remove(0);
    }
    tables
}

/// Counts what is kept with a snapshot, and drops the rest once it is more than half of the payload.
pub(super) fn settle(snapshot: &Snapshot) {
    let kept = snapshot.derived().get_or_default::<KeptParts>();
    let mut parts = kept.0.lock().unwrap_or_else(PoisonError::into_inner);
    let max = (snapshot.payload_bytes() / 2).max(MIN_KEPT_BYTES);
    let bytes = |parts: &[KeptPart]| {
        parts.iter().flat_map(|part| part.builder.tables()).map(|table| table.kept_bytes()).sum::<usize>()
    };
    while parts.len() > 1 && bytes(&parts) > max {
        parts.remove(0);
    }
    // Of the last tables used, the rows stay and the columns go.
    if bytes(&parts) > max {
        parts.iter().flat_map(|part| part.builder.tables()).for_each(|table| table.drop_columns());
    }
    snapshot.derived().set_byte_count(bytes(&parts));
}
