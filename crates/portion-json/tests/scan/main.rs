//! Tests of the scanner: tables of examples, comparison with `serde_json`, and arbitrary input.

use portion_json::scan::{JsonReader, ScanError};
use portion_json::span::Span;

mod fuzz;
mod hostile;
mod json;
mod reading;
mod strings;
mod syntax;
mod tokens;

/// Returns the span of a text that is a single value.
fn scan(text: &str) -> Result<Span, ScanError> {
    let mut reader = JsonReader::new(text);
    let span = reader.skip()?;
    reader.expect_end()?;
    Ok(span)
}
