//! Parses JSON. `serde_json` validates the text and describes errors; our own reader supplies the
//! positions.

use portion_json::scan::{JsonKind, JsonReader, ScanError, unescape};
use portion_json::span::Span;
use serde_json::Value;

use super::yaml::{TreeBuilder, empty_document};
use super::{Document, DocumentError, Node, NodeValue, TextPosition, checked_text};

/// Parses a document.
///
/// # Errors
/// The first syntax error.
pub fn parse(text: &str) -> Result<Document, DocumentError> {
    let text = checked_text(text)?;
    if text.trim().is_empty() {
        return Err(empty_document(TextPosition::START));
    }
    serde_json::from_str::<Value>(text).map_err(|error| {
        let message = error.to_string();
        // The position comes after the message.
        let message = message.split(" at line ").next().unwrap_or_default();
        let position = TextPosition { line: error.line().max(1), column: error.column().max(1) };
        DocumentError::new(
            position,
            format!("this is not valid JSON: {message}"),
            "correct it here or just before",
        )
    })?;
    let mut build = TreeBuilder::default();
    build_tree(text, &LineIndex::new(text), &mut build)?;
    build.finish().ok_or_else(|| empty_document(TextPosition::START))
}

fn build_tree(text: &str, lines: &LineIndex<'_>, build: &mut TreeBuilder) -> Result<(), DocumentError> {
    let strange = |error: ScanError| {
        DocumentError::new(
            lines.position(error.offset),
            format!("this is not valid JSON: {} is expected", error.expected),
            "correct it here",
        )
    };
    let mut reader = JsonReader::new(text);
    let mut open: Vec<JsonKind> = Vec::new();
    loop {
        let kind = reader.peek().map_err(strange)?;
        let at = reader.at();
        match kind {
            JsonKind::Object => {
                reader.enter_object().map_err(strange)?;
                build.begin(NodeValue::Map(Vec::new()), lines.position(at), 0)?;
                open.push(kind);
            }
            JsonKind::Array => {
                reader.enter_array().map_err(strange)?;
                build.begin(NodeValue::List(Vec::new()), lines.position(at), 0)?;
                open.push(kind);
            }
            kind => {
                let span = reader.skip().map_err(strange)?;
                build.scalar(scalar_node(kind, span, text, lines), 0)?;
            }
        }
        loop {
            let more = match open.last() {
                None => return Ok(()),
                Some(JsonKind::Object) => match reader.next_key().map_err(strange)? {
                    Some(key) => {
                        build.scalar(scalar_node(JsonKind::String, key, text, lines), 0)?;
                        true
                    }
                    None => false,
                },
                Some(_) => reader.next_item().map_err(strange)?,
            };
            if more {
                break;
            }
            open.pop();
            build.end(lines.position(reader.at().saturating_sub(1)).line)?;
        }
    }
}

fn scalar_node(kind: JsonKind, span: Span, text: &str, lines: &LineIndex<'_>) -> Node {
    let written = span.slice(text);
    let tree = match kind {
        JsonKind::Null => NodeValue::Null,
        JsonKind::String => NodeValue::Scalar { text: unescape(written), is_plain: false },
        _ => NodeValue::Scalar { text: written.to_owned(), is_plain: true },
    };
    let position = lines.position(span.start as usize);
    Node { value: tree, position, last_line: position.line }
}

/// Offsets of the line starts.
struct LineIndex<'a> {
    text: &'a str,
    line_starts: Vec<usize>,
}

impl<'a> LineIndex<'a> {
    fn new(text: &'a str) -> Self {
        let starts = [0].into_iter().chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { text, line_starts: starts }
    }

    fn position(&self, at: usize) -> TextPosition {
        let line = self.line_starts.partition_point(|start| *start <= at);
        let start = self.line_starts.get(line.saturating_sub(1)).copied().unwrap_or_default();
        let column = self.text.get(start..at).map_or(at - start, |before| before.chars().count()) + 1;
        TextPosition { line, column }
    }
}
