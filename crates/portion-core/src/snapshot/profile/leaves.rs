//! The fields of a record, those of objects inside it included.

use crate::scan::{Kind, Reader};
use crate::span::Span;

/// Levels of objects that are looked into for fields.
const DEPTH: usize = 3;
/// Fields of a record from which objects inside are fields as they are, so that a map in a record is no flood.
const MANY: usize = 1_000;
/// Calls `visit` with the dotted path, the key and the value of each field of a record. Objects and arrays of
/// objects are looked into three levels deep; a field inside an array is visited once for every object there.
pub fn leaves(record: &str, visit: &mut dyn FnMut(&str, Span, Span)) {
    let mut reader = Reader::new(record);
    if reader.peek() == Ok(Kind::Object) {
        let mut walk = Walk { path: String::new(), seen: 0, visit };
        walk.object(&mut reader, DEPTH);
    }
}

/// A walk over the fields of a record.
struct Walk<'a> {
    path: String,
    seen: usize,
    visit: &'a mut dyn FnMut(&str, Span, Span),
}

impl Walk<'_> {
    /// Bounded by `depth`, not by the input.
    fn object(&mut self, reader: &mut Reader<'_>, depth: usize) {
        if reader.enter_object().is_err() {
            return;
        }
        while let Ok(Some(key)) = reader.next_key() {
            let before = self.path.len();
            if before > 0 {
                self.path.push('.');
            }
            crate::scan::decode(reader.text(key), &mut self.path);
            let Ok(kind) = reader.peek() else { return };
            let mut inside = reader.clone();
            let Ok(value) = reader.skip() else { return };
            let open = depth > 1 && self.seen < MANY && reader.text(value).len() > 2;
            match kind {
                Kind::Object if open => self.object(&mut inside, depth - 1),
                Kind::Array if open && holds_records(&inside) => self.array(&mut inside, depth - 1),
                _ => {
                    self.seen += 1;
                    (self.visit)(&self.path, key, value);
                }
            }
            self.path.truncate(before);
        }
    }

    fn array(&mut self, reader: &mut Reader<'_>, depth: usize) {
        if reader.enter_array().is_err() {
            return;
        }
        while reader.next_item() == Ok(true) {
            let mut inside = reader.clone();
            if reader.skip().is_err() {
                return;
            }
            if inside.peek() == Ok(Kind::Object) && self.seen < MANY {
                self.object(&mut inside, depth);
            }
        }
    }
}

/// Whether the array that the reader is before begins with an object.
fn holds_records(reader: &Reader<'_>) -> bool {
    let mut reader = reader.clone();
    reader.enter_array().is_ok() && reader.next_item() == Ok(true) && reader.peek() == Ok(Kind::Object)
}
