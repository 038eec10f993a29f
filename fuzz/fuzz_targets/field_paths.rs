//! Any field of any record, any path into any payload.
#![no_main]

use libfuzzer_sys::fuzz_target;
use portion_core::path::follow;
use portion_core::projection::{Fields, LeftOut};
use portion_core::snapshot::{Slice, Subject};
use serde_json::value::RawValue;

// A line of names or a path, then the payload.
fuzz_target!(|input: &str| {
    let (names, text) = input.split_once('\n').unwrap_or(("", input));
    let subject = Subject::of_payload(Slice::new(text.to_owned()));
    if let Ok(reached) = follow(&subject, names) {
        assert!(text.get(reached.value.range()).is_some());
        assert_eq!(follow(&subject, &reached.pointer).map(|again| again.pointer), Ok(reached.pointer));
    }
    if serde_json::from_str::<&RawValue>(text).is_ok() {
        let mut out = String::new();
        Fields::parse(names).project(text, &mut out, &mut LeftOut::new());
        assert!(out.len() <= text.len());
        assert!(serde_json::from_str::<&RawValue>(&out).is_ok(), "{out}");
    }
});
