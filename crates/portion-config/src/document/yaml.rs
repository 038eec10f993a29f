//! Parses YAML 1.2 from the events of a parser.

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Span};

use super::builder::TreeBuilder;
use super::{Document, DocumentError, EMPTY_MESSAGE, Node, NodeValue, TextPosition, checked_text};

/// Parses a document.
///
/// # Errors
/// The first syntax error.
pub fn parse(text: &str) -> Result<Document, DocumentError> {
    let text = checked_text(text)?;
    let mut build = TreeBuilder::default();
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| {
            let message = format!("this is not valid YAML: {}", error.info());
            DocumentError::new(position(*error.marker()), message, "correct it here or just before")
        })?;
        push_event(&mut build, event, span)?;
    }
    build.finish().ok_or_else(|| empty_document(TextPosition::START))
}

/// Returns the error for a document without content.
pub(super) fn empty_document(position: TextPosition) -> DocumentError {
    DocumentError::new(position, EMPTY_MESSAGE, "write {} to mean the defaults")
}

fn push_event(build: &mut TreeBuilder, event: Event<'_>, span: Span) -> Result<(), DocumentError> {
    let at = position(span.start);
    match event {
        Event::DocumentStart(_) if build.has_root() => {
            Err(DocumentError::new(at, "a second document begins here", "write one document, without `---`"))
        }
        Event::Alias(anchor) => build.alias(anchor, at),
        Event::Scalar(text, style, anchor, tag) => {
            let mut plain = style == ScalarStyle::Plain;
            match tag {
                Some(tag) if tag.is_yaml_core_schema() => plain &= tag.suffix != "str",
                Some(_) => return Err(unsupported_tag(at)),
                None => {}
            }
            let null = plain && matches!(&*text, "" | "~" | "null" | "Null" | "NULL");
            let tree = if null {
                NodeValue::Null
            } else {
                NodeValue::Scalar { text: text.into_owned(), is_plain: plain }
            };
            build.scalar(Node { value: tree, position: at, last_line: last_line(span) }, anchor)
        }
        Event::SequenceStart(_, Some(tag)) | Event::MappingStart(_, Some(tag))
            if !tag.is_yaml_core_schema() =>
        {
            Err(unsupported_tag(at))
        }
        Event::SequenceStart(anchor, _) => build.begin(NodeValue::List(Vec::new()), at, anchor),
        Event::MappingStart(anchor, _) => build.begin(NodeValue::Map(Vec::new()), at, anchor),
        Event::SequenceEnd | Event::MappingEnd => build.end(last_line(span)),
        _ => Ok(()),
    }
}

fn unsupported_tag(at: TextPosition) -> DocumentError {
    DocumentError::new(at, "tags are not supported", "write the value without the tag")
}

fn position(marker: Marker) -> TextPosition {
    TextPosition { line: marker.line(), column: marker.col() + 1 }
}

fn last_line(span: Span) -> usize {
    span.end.line().max(span.start.line())
}
