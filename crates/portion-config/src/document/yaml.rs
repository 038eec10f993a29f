//! Parses YAML 1.2, and builds a document tree from the events of a parser, without recursion and within limits.

use std::collections::HashMap;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Span};

use super::{Document, DocumentError, EMPTY_MESSAGE, MapKey, Node, NodeValue, TextPosition, checked_text};

/// Maximum levels of a document; a valid configuration needs seven.
const MAX_DEPTH: usize = 16;

/// Maximum values of a document; the values of an anchor count at every reference.
const MAX_VALUES: usize = 20_000;

/// A tree that is being built.
#[derive(Default)]
pub(super) struct TreeBuilder {
    open_containers: Vec<OpenContainer>,
    root: Option<Node>,
    value_count: usize,
    errors: Vec<DocumentError>,
    /// Completed values with anchors, each with its number of values.
    anchors: HashMap<usize, (Node, usize)>,
}

/// A list or map that is still open.
struct OpenContainer {
    value: NodeValue,
    position: TextPosition,
    key: Option<MapKey>,
    anchor_id: usize,
    /// Number of values before it.
    value_count_before: usize,
}

impl TreeBuilder {
    /// Begins a list or map.
    pub(super) fn begin(
        &mut self,
        tree: NodeValue,
        position: TextPosition,
        anchor: usize,
    ) -> Result<(), DocumentError> {
        if self.open_containers.len() >= MAX_DEPTH {
            let fix = format!("at most {MAX_DEPTH} levels are allowed");
            return Err(DocumentError::new(position, "this is nested too deep", fix));
        }
        self.reject_container_key(position)?;
        self.open_containers.push(OpenContainer {
            value: tree,
            position,
            key: None,
            anchor_id: anchor,
            value_count_before: self.value_count,
        });
        self.add_value_count(1, position)
    }

    /// Ends the innermost list or map.
    pub(super) fn end(&mut self, last_line: usize) -> Result<(), DocumentError> {
        let Some(OpenContainer {
            value: tree, position, anchor_id: anchor, value_count_before: before, ..
        }) = self.open_containers.pop()
        else {
            return Ok(());
        };
        let node = Node { value: tree, position, last_line };
        self.store_anchor(anchor, &node, self.value_count - before);
        self.attach(node)
    }

    /// Adds a scalar.
    pub(super) fn scalar(&mut self, node: Node, anchor: usize) -> Result<(), DocumentError> {
        self.add_value_count(1, node.position)?;
        self.store_anchor(anchor, &node, 1);
        self.attach(node)
    }

    /// Adds a reference to an anchor.
    pub(super) fn alias(&mut self, anchor: usize, position: TextPosition) -> Result<(), DocumentError> {
        let Some((node, values)) = self.anchors.get(&anchor).cloned() else {
            return Err(DocumentError::new(
                position,
                "this alias refers to a value that contains it",
                "write the value instead",
            ));
        };
        self.add_value_count(values, position)?;
        self.attach(Node { position, last_line: position.line, ..node })
    }

    /// Returns the document.
    pub(super) fn finish(self) -> Option<Document> {
        self.root.map(|root| Document { root, errors: self.errors })
    }

    /// Returns true if the document has a root.
    pub(super) fn has_root(&self) -> bool {
        self.root.is_some()
    }

    fn store_anchor(&mut self, anchor: usize, node: &Node, values: usize) {
        if anchor != 0 {
            self.anchors.insert(anchor, (node.clone(), values));
        }
    }

    fn add_value_count(&mut self, values: usize, position: TextPosition) -> Result<(), DocumentError> {
        self.value_count = self.value_count.saturating_add(values);
        if self.value_count > MAX_VALUES {
            let fix = format!("at most {MAX_VALUES} are allowed; each alias counts all values of its anchor");
            return Err(DocumentError::new(position, "there are too many values", fix));
        }
        Ok(())
    }

    /// Rejects lists and maps as keys.
    fn reject_container_key(&self, position: TextPosition) -> Result<(), DocumentError> {
        match self.open_containers.last() {
            Some(OpenContainer { value: NodeValue::Map(_), key: None, .. }) => Err(DocumentError::new(
                position,
                "a key is expected here",
                "write a name, a colon and a value",
            )),
            _ => Ok(()),
        }
    }

    fn attach(&mut self, node: Node) -> Result<(), DocumentError> {
        let Some(open) = self.open_containers.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        match (&mut open.value, open.key.take()) {
            (NodeValue::Map(entries), Some(name)) => {
                match entries.iter().find(|(known, _)| known.text == name.text) {
                    Some((known, _)) => {
                        let (twice, line) = (&name.text, known.position.line);
                        let message = format!("`{twice}` is given twice, first in line {line}");
                        self.errors.push(DocumentError::new(name.position, message, "remove one of the two"));
                    }
                    None => entries.push((name, node)),
                }
            }
            (NodeValue::Map(_), None) => match node.value {
                NodeValue::Scalar { text, .. } => open.key = Some(MapKey { text, position: node.position }),
                _ => return self.reject_container_key(node.position),
            },
            (NodeValue::List(items), _) => items.push(node),
            (NodeValue::Null | NodeValue::Scalar { .. }, _) => {}
        }
        Ok(())
    }
}

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
