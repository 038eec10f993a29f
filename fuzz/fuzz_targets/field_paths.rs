//! Any field of any record, any path into any payload.
#![no_main]

use libfuzzer_sys::fuzz_target;
use portion_core::path::resolve_path;
use portion_json::projection::{FieldSelection, OmittedFields};
use portion_core::snapshot::{IndexedText, Slice};
use serde_json::value::RawValue;

// A line of names or a path, then the payload.
fuzz_target!(|input: &str| {
    let (names, text) = input.split_once('\n').unwrap_or(("", input));
    let indexed = IndexedText::from_payload(Slice::new(text.to_owned()));
    if let Ok(resolved) = resolve_path(&indexed, names) {
        assert!(text.get(resolved.span.range()).is_some());
        assert_eq!(resolve_path(&indexed, &resolved.pointer).map(|again| again.pointer), Ok(resolved.pointer));
    }
    if serde_json::from_str::<&RawValue>(text).is_ok() {
        let mut out = String::new();
        FieldSelection::parse(names).project(text, &mut out, &mut OmittedFields::new());
        assert!(out.len() <= text.len());
        assert!(serde_json::from_str::<&RawValue>(&out).is_ok(), "{out}");
    }
});
