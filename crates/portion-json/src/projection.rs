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

use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::path::{unescape_step, write_object_preview};
use crate::scan::{JsonKind, JsonReader, minify, unescape_into};
use crate::span::Span;

/// A set of fields of a record, by dotted paths. A path includes everything below it.
///
/// A key that contains dots is found by its full name. Paths step through arrays: `lines.price` is the
/// price of every line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct FieldSelection {
    paths: Vec<String>,
}

/// Maximum depth of a path, which bounds the work on any input.
const MAX_DEPTH: usize = 32;

/// Dotted paths of the fields that a projection left out.
pub type OmittedFields = BTreeSet<String>;

impl FieldSelection {
    /// Parses a list of field names; see [`split_names`].
    pub fn parse(list: &str) -> Self {
        split_names(list, |_| true).iter().map(|name| pointer_to_dotted(name)).collect()
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
        let mut projector = Projector { omitted: std::mem::take(left_out), ..Projector::new(self) };
        let any = projector.project(record, out);
        *left_out = projector.omitted;
        any
    }

    /// Writes the projection for display: where a non-empty object has no selected field, a preview of it is
    /// appended, so that it does not look empty.
    pub fn project_for_display(&self, record: &str, out: &mut String, left_out: &mut OmittedFields) {
        let mut projector = Projector { omitted: std::mem::take(left_out), ..Projector::new(self) };
        projector.project_for_display(record, out);
        *left_out = projector.omitted;
    }
}

/// Projects the records of a list. Most of them have the same members in the same order, so that what was decided about a
/// member is remembered by its place.
pub struct Projector<'s> {
    selection: &'s FieldSelection,
    omitted: OmittedFields,
    known: Vec<KnownMember>,
}

/// A member of a record that is selected as a whole, or not at all.
#[derive(Default)]
struct KnownMember {
    /// Its key as written, quotes included; empty if nothing is known about this place.
    key: String,
    is_selected: bool,
}

/// Number of members of a record that are remembered.
const MAX_KNOWN_MEMBERS: usize = 256;

impl<'s> Projector<'s> {
    /// Creates a projector for a selection.
    pub fn new(selection: &'s FieldSelection) -> Self {
        Self { selection, omitted: OmittedFields::new(), known: Vec::new() }
    }

    /// Returns the fields that were left out of the records so far.
    pub fn into_omitted(self) -> OmittedFields {
        self.omitted
    }

    /// Appends a record; see [`FieldSelection::project_for_display`].
    pub fn project_for_display(&mut self, record: &str, out: &mut String) {
        let before = out.len();
        if !self.project(record, out) {
            out.truncate(before);
            write_object_preview(record, out);
        }
    }

    fn project(&mut self, record: &str, out: &mut String) -> bool {
        let mut reader = JsonReader::new(record);
        if reader.peek() != Ok(JsonKind::Object) {
            minify(record, out);
            return true;
        }
        self.project_record(&mut reader, out)
    }

    /// Projects the record that `reader` is at. Returns true if a field was selected.
    fn project_record(&mut self, reader: &mut JsonReader<'_>, out: &mut String) -> bool {
        let (mut any, mut place, mut path) = (false, 0, String::new());
        if reader.enter_object().is_err() {
            return false;
        }
        out.push('{');
        while let Ok(Some(key)) = reader.next_key() {
            let key = reader.text(key);
            let known = self.known.get(place).filter(|known| known.key == key);
            any |= match known.map(|known| known.is_selected) {
                Some(false) => reader.skip().is_ok_and(|_| false),
                Some(true) => append_member(key, any, out, |out| append_value(reader, out)),
                None => {
                    path.clear();
                    unescape_into(key, &mut path);
                    self.remember(place, key, &path);
                    append_member(key, any, out, |out| self.project_member(reader, &mut path, MAX_DEPTH, out))
                }
            };
            place += 1;
        }
        out.push('}');
        any
    }

    /// Remembers whether a member is selected, unless only something below it is.
    fn remember(&mut self, place: usize, key: &str, path: &str) {
        let is_selected = self.selection.selects(path);
        if place < MAX_KNOWN_MEMBERS && (is_selected || !self.selection.selects_below(path)) {
            if self.known.len() <= place {
                self.known.resize_with(place + 1, KnownMember::default);
            }
            self.known[place] = KnownMember { key: key.to_owned(), is_selected };
        }
    }

    /// Projects the object that `reader` is at; recursion is bounded by `depth`. Returns true if a field
    /// was selected.
    fn project_object(
        &mut self,
        reader: &mut JsonReader<'_>,
        path: &mut String,
        depth: usize,
        out: &mut String,
    ) -> bool {
        let mut any = false;
        if reader.enter_object().is_err() {
            return false;
        }
        out.push('{');
        while let Ok(Some(key)) = reader.next_key() {
            let (key, before) = (reader.text(key), path.len());
            path.push('.');
            unescape_into(key, path);
            any |= append_member(key, any, out, |out| self.project_member(reader, path, depth, out));
            path.truncate(before);
        }
        out.push('}');
        any
    }

    fn project_member(
        &mut self,
        reader: &mut JsonReader<'_>,
        path: &mut String,
        depth: usize,
        out: &mut String,
    ) -> bool {
        if self.selection.selects(path) {
            return append_value(reader, out);
        }
        let kind = reader.peek().unwrap_or(JsonKind::Null);
        if kind.is_container() && depth > 1 && self.selection.selects_below(path) {
            return match kind {
                JsonKind::Object => self.project_object(reader, path, depth - 1, out),
                _ => self.project_array(reader, path, depth - 1, out),
            };
        }
        if reader.skip().is_ok() && !self.omitted.contains(path.as_str()) {
            self.omitted.insert(path.clone());
        }
        false
    }

    fn project_array(
        &mut self,
        reader: &mut JsonReader<'_>,
        path: &mut String,
        depth: usize,
        out: &mut String,
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
            let Ok(kind) = reader.peek() else { break };
            let (before, start) = (out.len(), reader.at());
            // Items that are not records keep their places, so that indices stay valid.
            if kind == JsonKind::Object && depth > 1 {
                let some = self.project_object(reader, path, depth - 1, out);
                if !some {
                    out.truncate(before);
                    write_object_preview(reader.text(Span::new(start, reader.at())), out);
                }
                any |= some;
            } else {
                let Ok(value) = reader.skip() else { break };
                minify(reader.text(value), out);
                any = true;
            }
        }
        out.push(']');
        // An empty array has all of its items.
        any || first
    }
}

/// Appends a member, after a comma if there are others. Appends nothing if its value is not written.
fn append_member(key: &str, any: bool, out: &mut String, write: impl FnOnce(&mut String) -> bool) -> bool {
    let before = out.len();
    if any {
        out.push(',');
    }
    out.push_str(key);
    out.push(':');
    let is_written = write(out);
    if !is_written {
        out.truncate(before);
    }
    is_written
}

/// Appends the value that `reader` is at, minified. Returns false if it is not valid.
fn append_value(reader: &mut JsonReader<'_>, out: &mut String) -> bool {
    let Ok(value) = reader.skip().map(|value| reader.text(value)) else { return false };
    // Only objects and arrays can contain white space to remove.
    if value.starts_with(['{', '[']) {
        minify(value, out);
    } else {
        out.push_str(value);
    }
    true
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
            let steps: Vec<String> = steps.split('/').map(unescape_step).collect();
            steps.join(".")
        }
        None => name.to_owned(),
    }
}

/// Splits a list of names at its commas. A name in double quotes may have commas, and two quotes stand for one. A quoted name
/// with commas that is not known is a list itself.
pub fn split_names(list: &str, is_known: impl Fn(&str) -> bool) -> Vec<String> {
    let mut names = Vec::new();
    let mut rest = list;
    while !rest.is_empty() {
        if let Some((name, after)) = quoted_name(rest) {
            if name.contains(',') && !is_known(&name) {
                names.extend(name.split(',').map(|part| part.trim().to_owned()));
            } else {
                names.push(name);
            }
            rest = after;
        } else {
            let (name, after) = rest.split_once(',').unwrap_or((rest, ""));
            names.push(name.trim().to_owned());
            rest = after;
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

/// Returns a name as an item of a list of names, in quotes if it would be read as something else without them.
pub fn quote_name(name: &str) -> Cow<'_, str> {
    if name.contains(',') || name.starts_with('"') || name.trim() != name {
        format!("\"{}\"", name.replace('"', "\"\"")).into()
    } else {
        name.into()
    }
}

/// Returns the quoted name at the beginning of a list, and what follows its comma; `None` if the name is not in quotes.
fn quoted_name(list: &str) -> Option<(String, &str)> {
    let inner = list.trim_start().strip_prefix('"')?;
    let mut end = inner.find('"')?;
    while inner[end + 1..].starts_with('"') {
        end += 2;
        end += inner[end..].find('"')?;
    }
    let after = inner[end + 1..].trim_start();
    let after = if after.is_empty() { after } else { after.strip_prefix(',')? };
    Some((inner[..end].replace("\"\"", "\""), after))
}

#[cfg(test)]
mod tests {
    use super::{FieldSelection, OmittedFields, Projector, quote_name, split_names};

    #[test]
    fn what_is_known_of_earlier_records_changes_nothing() {
        let records = [
            r#"{"id":1,"price":{"total":2,"tax":1},"note":"x"}"#,
            r#"{"id":2,"note":"y","price":{"total":3}}"#,
            r#"{"note":4,"id":5,"price":6,"more":{"a":1}}"#,
            r#"{"id" : [ 1 ],"price":{"tax":7},"note":{"id":8}}"#,
            r#"{"more":1}"#,
            "[1, 2]",
            r#"{"i\u0064":9,"id":10,"id":11}"#,
        ];
        let selection = FieldSelection::parse("id,price.total");
        let mut projector = Projector::new(&selection);
        let mut alone = OmittedFields::new();
        for record in records {
            let (mut together, mut single) = (String::new(), String::new());
            projector.project_for_display(record, &mut together);
            selection.project_for_display(record, &mut single, &mut alone);
            assert_eq!(together, single, "{record}");
        }
        assert_eq!(projector.into_omitted(), alone);
    }

    #[test]
    fn empty_arrays_on_a_path_stay() {
        let mut out = String::new();
        let record = r#"{"id":1,"lines":[],"tags":[],"deep":[{"x":[]}]}"#;
        let selection = FieldSelection::parse("id,lines.price,deep.x.y");
        assert!(selection.project(record, &mut out, &mut OmittedFields::new()));
        assert_eq!(out, r#"{"id":1,"lines":[],"deep":[{"x":[]}]}"#);
    }

    #[test]
    fn names_are_split_at_commas_outside_of_quotes() {
        let check = |list: &str, expect: &[&str]| assert_eq!(split_names(list, |_| true), expect, "{list}");
        check("id, price.total,,", &["id", "price.total"]);
        check(r#""a,b" , id"#, &["a,b", "id"]);
        check(r#"id,"a ""b"", c""#, &["id", r#"a "b", c"#]);
        check(r#""""#, &[]);
        check(r#""""""#, &["\""]);
        check(r#""a,b"#, &["\"a", "b"]);
        check(r#""a"b,c"#, &["\"a\"b", "c"]);
        check(r#"a"b,c"d"#, &["a\"b", "c\"d"]);
        assert_eq!(split_names(r#""a, b",c"#, |name| name == "c"), ["a", "b", "c"]);
    }

    #[test]
    fn a_quoted_name_is_one_name() {
        for name in ["id", "a,b", "\"", "\"a\"", "\"a\",\"b\"", " a ", "a\"b", "a\"\",b", ",", "é,\u{2003}"]
        {
            let list = format!("x,{},y", quote_name(name));
            assert_eq!(split_names(&list, |_| true), ["x", name, "y"], "{list}");
        }
    }
}
