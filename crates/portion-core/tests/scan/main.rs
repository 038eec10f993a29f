//! What the scanner accepts, finds and writes: by table, against `serde_json`, and on anything at all.

use portion_core::scan::{JsonReader, ScanError};
use portion_core::span::Span;

mod hostile;
mod json;
mod reading;
mod strings;
mod syntax;
mod tokens;

/// The span of the one value that a text is.
fn scan(text: &str) -> Result<Span, ScanError> {
    let mut reader = JsonReader::new(text);
    let span = reader.skip()?;
    reader.expect_end()?;
    Ok(span)
}
