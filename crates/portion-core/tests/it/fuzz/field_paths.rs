//! Fuzz target: any field of any record, any path into any payload.

use portion_core::path::resolve_path;
use portion_core::snapshot::{IndexedText, Slice};
use portion_json::projection::{FieldSelection, OmittedFields};
use serde_json::value::RawValue;

/// Input: a line of names or a path, then the payload.
pub(crate) fn check(input: &[u8]) {
    let Ok(input) = str::from_utf8(input) else { return };
    let (names, text) = input.split_once('\n').unwrap_or(("", input));
    let indexed = IndexedText::from_payload(Slice::new(text.to_owned()));
    if let Ok(resolved) = resolve_path(&indexed, names) {
        assert!(text.get(resolved.span.range()).is_some());
        let again = resolve_path(&indexed, &resolved.pointer).map(|again| again.pointer);
        assert_eq!(again, Ok(resolved.pointer));
    }
    if serde_json::from_str::<&RawValue>(text).is_ok() {
        let mut out = String::new();
        FieldSelection::parse(names).project(text, &mut out, &mut OmittedFields::new());
        assert!(out.len() <= text.len());
        assert!(serde_json::from_str::<&RawValue>(&out).is_ok(), "{out}");
    }
}
