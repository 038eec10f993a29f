//! Visits the fields of a record, including those of nested objects.

use portion_json::scan::{JsonKind, JsonReader};
use portion_json::span::Span;

/// Maximum levels of objects that are searched for fields.
const MAX_DEPTH: usize = 3;
/// Maximum visited fields before nested objects count as single fields, so that a map in a record does
/// not add thousands.
const MAX_NESTED_FIELDS: usize = 1_000;
/// Calls `visit` with the dotted path, the key and the value of each field of a record. Objects and
/// arrays of objects are searched three levels deep; a field inside an array is visited once for every
/// object there.
pub fn visit_fields(record: &str, visit: &mut dyn FnMut(&str, Span, Span)) {
    let mut reader = JsonReader::new(record);
    if reader.peek() == Ok(JsonKind::Object) {
        let mut walk = FieldVisitor { path: String::new(), visited: 0, visit };
        walk.visit_object(&mut reader, MAX_DEPTH);
    }
}

/// A walk over the fields of a record.
struct FieldVisitor<'a> {
    path: String,
    visited: usize,
    visit: &'a mut dyn FnMut(&str, Span, Span),
}

impl FieldVisitor<'_> {
    /// Visits the fields of an object; recursion is bounded by `depth`.
    fn visit_object(&mut self, reader: &mut JsonReader<'_>, depth: usize) {
        if reader.enter_object().is_err() {
            return;
        }
        while let Ok(Some(key)) = reader.next_key() {
            let before = self.path.len();
            if before > 0 {
                self.path.push('.');
            }
            portion_json::scan::unescape_into(reader.text(key), &mut self.path);
            let Ok(kind) = reader.peek() else { return };
            let mut inside = reader.clone();
            let Ok(value) = reader.skip() else { return };
            let open = depth > 1 && self.visited < MAX_NESTED_FIELDS && reader.text(value).len() > 2;
            match kind {
                JsonKind::Object if open => self.visit_object(&mut inside, depth - 1),
                JsonKind::Array if open && holds_records(&inside) => self.visit_array(&mut inside, depth - 1),
                _ => {
                    self.visited += 1;
                    (self.visit)(&self.path, key, value);
                }
            }
            self.path.truncate(before);
        }
    }

    fn visit_array(&mut self, reader: &mut JsonReader<'_>, depth: usize) {
        if reader.enter_array().is_err() {
            return;
        }
        while reader.next_item() == Ok(true) {
            let mut inside = reader.clone();
            if reader.skip().is_err() {
                return;
            }
            if inside.peek() == Ok(JsonKind::Object) && self.visited < MAX_NESTED_FIELDS {
                self.visit_object(&mut inside, depth);
            }
        }
    }
}

/// Returns true if the array at the reader begins with an object.
fn holds_records(reader: &JsonReader<'_>) -> bool {
    let mut reader = reader.clone();
    reader.enter_array().is_ok() && reader.next_item() == Ok(true) && reader.peek() == Ok(JsonKind::Object)
}
