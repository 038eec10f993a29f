//! Selects fields of a record, each with the bytes that the upstream wrote.
//!
//! ```
//! use portion_json::projection::{FieldSelection, OmittedFields};
//!
//! let (mut out, mut omitted) = (String::new(), OmittedFields::new());
//! let record = r#"{"id": 1, "price": {"total": 12.50, "tax": 1}, "note": "late"}"#;
//! assert!(FieldSelection::parse("id, price.total").project(record, &mut out, &mut omitted));
//! assert_eq!(out, r#"{"id":1,"price":{"total":12.50}}"#);
//! assert!(omitted.contains("note") && omitted.contains("price.tax"));
//! ```

use std::collections::BTreeSet;

use crate::object_preview::write_object_preview;
use crate::scan::{JsonKind, JsonReader, minify, unescape_into};

/// A set of fields of a record, by dotted paths. A path includes everything below it.
///
/// A key that contains dots is found by its full name. Paths step through arrays: `lines.price` is the
/// price of every line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSelection {
    paths: Vec<String>,
}

/// Maximum depth of a path, which bounds the work on any input.
const MAX_DEPTH: usize = 32;

/// Dotted paths of the fields that a projection left out.
pub type OmittedFields = BTreeSet<String>;

impl FieldSelection {
    /// Parses a list of field names, separated by commas.
    pub fn parse(list: &str) -> Self {
        list.split(',').map(str::trim).filter(|name| !name.is_empty()).map(pointer_to_dotted).collect()
    }

    /// Returns the paths, sorted.
    pub fn paths(&self) -> &[String] {
        &self.paths
    }

    /// Returns true if the value at a path is selected as a whole.
    pub fn selects(&self, path: &str) -> bool {
        self.paths.binary_search_by(|own| own.as_str().cmp(path)).is_ok()
    }

    /// Returns true if something below a path is selected.
    pub fn selects_below(&self, path: &str) -> bool {
        let below = |own: &str| own.strip_prefix(path).is_some_and(|rest| rest.starts_with('.'));
        let from = self.paths.partition_point(|own| own.as_str() < path);
        // `a-b` sorts between `a` and `a.b`, so all paths with the prefix are checked, not only the
        // first.
        self.paths[from..].iter().take_while(|own| own.starts_with(path)).any(|own| below(own))
    }

    /// Appends the record with only the selected fields, minified, and returns true if it has any of
    /// them. A value that is not an object is appended whole.
    pub fn project(&self, record: &str, out: &mut String, left_out: &mut OmittedFields) -> bool {
        let mut reader = JsonReader::new(record);
        if reader.peek() != Ok(JsonKind::Object) {
            minify(record, out);
            return true;
        }
        self.project_object(&mut reader, &mut String::new(), MAX_DEPTH, out, left_out)
    }

    /// Does the same for display: where a non-empty object has no selected field, a preview of it is
    /// appended, so that it does not look empty.
    pub fn project_for_display(&self, record: &str, out: &mut String, left_out: &mut OmittedFields) {
        let before = out.len();
        if !self.project(record, out, left_out) {
            out.truncate(before);
            write_object_preview(record, out);
        }
    }

    /// Projects the object that `reader` is at; recursion is bounded by `depth`. Returns true if a field
    /// was selected.
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
            // Items that are not records keep their places, so that indices stay valid.
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
        // An empty array has all of its items.
        any || first
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

/// Returns true if a dotted path is that of a field, or of something inside the field.
pub fn is_path_within(path: &str, field: &str) -> bool {
    path.strip_prefix(field).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Converts `/a/b` to `a.b`: both spellings name a field.
pub fn pointer_to_dotted(name: &str) -> String {
    match name.strip_prefix('/') {
        Some(steps) => {
            let steps: Vec<String> =
                steps.split('/').map(|s| s.replace("~1", "/").replace("~0", "~")).collect();
            steps.join(".")
        }
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{FieldSelection, OmittedFields};

    #[test]
    fn empty_arrays_on_a_path_stay() {
        let mut out = String::new();
        let record = r#"{"id":1,"lines":[],"tags":[],"deep":[{"x":[]}]}"#;
        let selection = FieldSelection::parse("id,lines.price,deep.x.y");
        assert!(selection.project(record, &mut out, &mut OmittedFields::new()));
        assert_eq!(out, r#"{"id":1,"lines":[],"deep":[{"x":[]}]}"#);
    }
}
