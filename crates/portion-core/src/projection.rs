//! Field projection: some fields of a record, each as the upstream wrote it.

use std::collections::BTreeSet;

use crate::object_preview::write_object_preview;
use crate::scan::{JsonKind, JsonReader, minify, unescape_into};

/// Which fields of a record are wanted, by dotted paths. A path wants all that is below it.
///
/// A key that holds dots itself is found by its full name. Arrays are passed through: `lines.price` is the
/// price of every line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSelection {
    paths: Vec<String>,
}

/// Levels a path can lead down, which bounds the work on any input.
const MAX_DEPTH: usize = 32;

/// What a projection left out, as dotted paths.
pub type OmittedFields = BTreeSet<String>;

impl FieldSelection {
    /// The fields named in a list separated by commas.
    pub fn parse(list: &str) -> Self {
        list.split(',').map(str::trim).filter(|name| !name.is_empty()).map(pointer_to_dotted).collect()
    }

    /// The paths, sorted.
    pub fn paths(&self) -> &[String] {
        &self.paths
    }

    /// Whether a path is wanted as a whole.
    pub fn selects(&self, path: &str) -> bool {
        self.paths.binary_search_by(|own| own.as_str().cmp(path)).is_ok()
    }

    /// Whether something below a path is wanted.
    pub fn selects_below(&self, path: &str) -> bool {
        let below = |own: &str| own.strip_prefix(path).is_some_and(|rest| rest.starts_with('.'));
        let from = self.paths.partition_point(|own| own.as_str() < path);
        // `a-b` sorts between `a` and `a.b`, so the first few are looked at, not just the first.
        self.paths[from..].iter().take_while(|own| own.starts_with(path)).any(|own| below(own))
    }

    /// Appends the record with the wanted fields only, minified, and returns whether it has any. What is no object is
    /// appended whole.
    pub fn project(&self, record: &str, out: &mut String, left_out: &mut OmittedFields) -> bool {
        let mut reader = JsonReader::new(record);
        if reader.peek() != Ok(JsonKind::Object) {
            minify(record, out);
            return true;
        }
        self.project_object(&mut reader, &mut String::new(), MAX_DEPTH, out, left_out)
    }

    /// The same, to be shown: of an object with members that has none of the fields, something is appended all the same,
    /// so that it does not look empty.
    pub fn project_for_display(&self, record: &str, out: &mut String, left_out: &mut OmittedFields) {
        let before = out.len();
        if !self.project(record, out, left_out) {
            out.truncate(before);
            write_object_preview(record, out);
        }
    }

    /// Bounded by `depth`, not by the input. Returns whether anything was wanted.
    fn project_object(
        &self,
        reader: &mut JsonReader<'_>,
        path: &mut String,
        depth: usize,
        out: &mut String,
        left_out: &mut OmittedFields,
    ) -> bool {
        let mut any = false;
        if reader.enter_object().is_err() {
            return false;
        }
        out.push('{');
        while let Ok(Some(key)) = reader.next_key() {
            let (path_before, out_before) = (path.len(), out.len());
            if path_before > 0 {
                path.push('.');
            }
            unescape_into(reader.text(key), path);
            if any {
                out.push(',');
            }
            out.push_str(reader.text(key));
            out.push(':');
            let kept = self.project_member(reader, path, depth, out, left_out);
            if !kept {
                out.truncate(out_before);
            }
            any |= kept;
            path.truncate(path_before);
        }
        out.push('}');
        any
    }

    fn project_member(
        &self,
        reader: &mut JsonReader<'_>,
        path: &mut String,
        depth: usize,
        out: &mut String,
        left_out: &mut OmittedFields,
    ) -> bool {
        if self.selects(path) {
            return reader.skip().is_ok_and(|value| {
                minify(reader.text(value), out);
                true
            });
        }
        let kind = reader.peek().unwrap_or(JsonKind::Null);
        if kind.is_container() && depth > 1 && self.selects_below(path) {
            let mut inside = reader.clone();
            let whole = reader.skip().is_ok();
            return whole
                && match kind {
                    JsonKind::Object => self.project_object(&mut inside, path, depth - 1, out, left_out),
                    _ => self.project_array(&mut inside, path, depth - 1, out, left_out),
                };
        }
        if reader.skip().is_ok() && !left_out.contains(path.as_str()) {
            left_out.insert(path.clone());
        }
        false
    }

    fn project_array(
        &self,
        reader: &mut JsonReader<'_>,
        path: &mut String,
        depth: usize,
        out: &mut String,
        left_out: &mut OmittedFields,
    ) -> bool {
        let mut any = false;
        if reader.enter_array().is_err() {
            return false;
        }
        out.push('[');
        let mut first = true;
        while reader.next_item() == Ok(true) {
            if !first {
                out.push(',');
            }
            first = false;
            let mut inside = reader.clone();
            let Ok(kind) = reader.peek() else { break };
            let Ok(value) = reader.skip() else { break };
            // Items that are no records keep their place, so that indices stay true.
            any |= match kind {
                JsonKind::Object if depth > 1 => {
                    let before = out.len();
                    let some = self.project_object(&mut inside, path, depth - 1, out, left_out);
                    if !some {
                        out.truncate(before);
                        write_object_preview(reader.text(value), out);
                    }
                    some
                }
                _ => {
                    minify(reader.text(value), out);
                    true
                }
            };
        }
        out.push(']');
        any
    }
}

impl FromIterator<String> for FieldSelection {
    fn from_iter<I: IntoIterator<Item = String>>(paths: I) -> Self {
        let mut paths: Vec<String> = paths.into_iter().collect();
        paths.sort_unstable();
        paths.dedup();
        Self { paths }
    }
}

/// Whether a dotted path is that of a field, or of something inside it.
pub(crate) fn is_path_within(path: &str, field: &str) -> bool {
    path.strip_prefix(field).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// `/a/b` as `a.b`: both spellings name a field.
pub(crate) fn pointer_to_dotted(name: &str) -> String {
    match name.strip_prefix('/') {
        Some(steps) => {
            let steps: Vec<String> =
                steps.split('/').map(|s| s.replace("~1", "/").replace("~0", "~")).collect();
            steps.join(".")
        }
        None => name.to_owned(),
    }
}
