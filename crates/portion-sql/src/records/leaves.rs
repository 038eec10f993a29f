//! The table `leaves(path, key, value, type)`: all values of JSON documents that are no objects or arrays, and empty ones.

use std::collections::HashMap;
use std::sync::Arc;

use portion_core::redact::REDACTED;
use portion_core::render::MAX_LEAVES_BYTES;
use portion_core::snapshot::{Layout, List, Slice};
use portion_json::path::escape_step;
use portion_json::scan::{JsonKind, JsonReader, unescape};
use portion_json::span::Span;
use portion_text::column_form::{CellNumber, ColumnForm, FormLearner, plain_number};

use super::tree::{is_empty, learn_value};
use crate::cell::{Cell, ValueKinds};
use crate::column::ColumnDef;
use crate::limits::QueryDeadline;
use crate::table_rows::{FoundTable, RowBuffer, RowSource, TableRows, should_stop_at};

/// Maximum patterns of paths whose texts are told apart.
const MAX_PATTERNS: usize = 4_096;

/// Columns of the table.
pub(crate) const LEAF_COLUMNS: [&str; 4] = ["path", "key", LEAF_VALUE, "type"];
pub(crate) const LEAF_VALUE: &str = "value";

/// Source of the leaves of documents.
pub(crate) struct LeavesSource(Vec<LeafDocument>);

/// A JSON value, or lines of JSON.
#[derive(Clone)]
pub(crate) struct LeafDocument {
    /// Its pointer; empty for the main part.
    pointer: String,
    text: Slice,
    /// The list, if the text is one JSON value per line.
    lines: Option<Arc<List>>,
}

/// The step from a container to a value.
#[derive(Clone, Copy, Debug)]
enum Step {
    Root,
    /// Span of the quoted key.
    Key(Span),
    Index(u32),
}

/// A container, or a leaf.
#[derive(Clone, Copy, Debug)]
struct Node {
    /// Index of the container around it.
    parent: u32,
    step: Step,
    /// Index of its pattern: the names on the way to it, without indexes of arrays.
    pattern: u32,
}

struct LeafRows {
    /// Documents, each with the index of its first leaf.
    documents: Vec<(usize, LeafDocument)>,
    containers: Vec<Node>,
    leaves: Vec<(Node, Span)>,
    /// Forms of the texts of each pattern.
    forms: Vec<ColumnForm>,
}

impl LeafDocument {
    pub(crate) fn new(pointer: &str, text: &Slice, list: Option<&Arc<List>>) -> Self {
        let lines = list.filter(|list| list.layout == Layout::Lines).cloned();
        Self { pointer: pointer.to_owned(), text: text.clone(), lines }
    }
}

impl LeavesSource {
    /// Creates the source for documents; `None` if there are none, or if they are too long together.
    pub(crate) fn new(documents: Vec<LeafDocument>) -> Option<Self> {
        let bytes: usize = documents.iter().map(|document| document.text.len()).sum();
        (!documents.is_empty() && bytes <= MAX_LEAVES_BYTES).then_some(Self(documents))
    }
}

impl RowSource for LeavesSource {
    fn open(&self, deadline: &QueryDeadline) -> Option<FoundTable> {
        let mut scan = LeafScan::default();
        let mut documents = Vec::with_capacity(self.0.len());
        for document in &self.0 {
            documents.push((scan.leaves.len(), document.clone()));
            scan.add_document(document, deadline)?;
        }
        let (count, text) = (scan.leaves.len(), ValueKinds::TEXT);
        // A text is found by `value = 'true'` only as a text: other values of the column are none.
        let form = |pattern: &FormLearner| match pattern.form_among(true) {
            ColumnForm::Boolean => ColumnForm::Text,
            form => form,
        };
        let forms: Vec<ColumnForm> = scan.patterns.iter().map(form).collect();
        let kinds = |name: &str| if name == LEAF_VALUE { scan.kinds } else { text };
        let mut columns = LEAF_COLUMNS.map(|name| ColumnDef::new(name, kinds(name), count)).to_vec();
        let has_codes = scan.patterns.iter().any(FormLearner::has_number_codes);
        let has_numbers = has_codes || forms.iter().any(|form| form.is_numeric());
        for column in &mut columns {
            column.is_computed = matches!(column.name.as_str(), "path" | "key");
            column.is_written = column.name == LEAF_VALUE && has_numbers;
        }
        let LeafScan { containers, leaves, .. } = scan;
        let heap_bytes = size_of_val(containers.as_slice()) + size_of_val(leaves.as_slice());
        let text = self.0.first().map_or_else(|| Slice::new(String::new()), |first| first.text.clone());
        let rows = LeafRows { documents, containers, leaves, forms };
        // `1.10` would be 1.1 in a column of numbers.
        let has_versions = has_numbers && (0..count).any(|leaf| rows.is_version(leaf));
        columns.iter_mut().for_each(|column| column.has_codes = has_versions);
        Some(FoundTable { heap_bytes, ..FoundTable::new(&text, columns, count, rows) })
    }
}

/// A scan for leaves.
#[derive(Default)]
struct LeafScan {
    containers: Vec<Node>,
    leaves: Vec<(Node, Span)>,
    kinds: ValueKinds,
    /// Texts of each pattern: the names on the way to values that are alike.
    patterns: Vec<FormLearner>,
    /// Patterns by the one around them and the name.
    pattern_by_step: HashMap<(u32, Box<str>), u32>,
}

/// A container that is being read.
struct OpenContainer {
    index: u32,
    is_object: bool,
    count: u32,
    pattern: u32,
}

impl LeafScan {
    /// Adds the leaves of a document.
    fn add_document(&mut self, document: &LeafDocument, deadline: &QueryDeadline) -> Option<()> {
        let text = &document.text;
        self.patterns.push(FormLearner::default());
        let pattern = self.patterns.len() as u32 - 1;
        let root = Node { parent: self.containers.len() as u32, step: Step::Root, pattern };
        self.containers.push(root);
        let Some(list) = &document.lines else {
            return self.add_value(text, JsonReader::new(text), root, deadline);
        };
        for (index, line) in list.iter_from(text, 0).enumerate() {
            let node = Node { step: Step::Index(index as u32), ..root };
            self.add_value(text, JsonReader::resume(text, line.value.start as usize), node, deadline)?;
        }
        Some(())
    }

    /// Adds the leaves of the value at the reader. The containers around it are on a stack of its own.
    fn add_value(
        &mut self,
        text: &str,
        mut reader: JsonReader<'_>,
        node: Node,
        deadline: &QueryDeadline,
    ) -> Option<()> {
        let mut open: Vec<OpenContainer> = Vec::new();
        let mut next = Some(node);
        loop {
            let Some(node) = next.take() else {
                let Some(container) = open.last_mut() else { return Some(()) };
                let step = if container.is_object {
                    reader.next_key().ok().flatten().map(Step::Key)
                } else {
                    let index = Step::Index(container.count);
                    (reader.next_item() == Ok(true)).then_some(index)
                };
                container.count += 1;
                match step {
                    Some(step) => {
                        let (parent, above) = (container.index, container.pattern);
                        next = Some(Node { parent, step, pattern: self.pattern(text, above, step) });
                    }
                    None => {
                        open.pop();
                    }
                }
                continue;
            };
            let Ok(kind) = reader.peek() else { return Some(()) };
            if kind.is_container() && !is_empty(&reader, kind) {
                let index = self.containers.len() as u32;
                self.containers.push(node);
                let is_object = kind == JsonKind::Object;
                let entered = if is_object { reader.enter_object() } else { reader.enter_array() };
                if entered.is_err() {
                    return Some(());
                }
                open.push(OpenContainer { index, is_object, count: 0, pattern: node.pattern });
                continue;
            }
            let Ok(value) = reader.skip() else { return Some(()) };
            if let Some(pattern) = self.patterns.get_mut(node.pattern as usize) {
                learn_value(value.slice(text), &mut self.kinds, pattern);
            }
            self.leaves.push((node, value));
            if should_stop_at(self.leaves.len(), deadline) {
                return None;
            }
        }
    }

    /// Returns the pattern of a step from the container with a pattern.
    fn pattern(&mut self, text: &str, above: u32, step: Step) -> u32 {
        let name = if let Step::Key(key) = step { key.slice(text) } else { "" };
        if let Some(known) = self.pattern_by_step.get(&(above, name.into())) {
            return *known;
        }
        // Members of large maps are alike: their names are values.
        if self.patterns.len() >= MAX_PATTERNS {
            return above;
        }
        let pattern = self.patterns.len() as u32;
        self.patterns.push(FormLearner::default());
        self.pattern_by_step.insert((above, name.into()), pattern);
        pattern
    }
}

impl LeafRows {
    /// Returns the document of a leaf.
    fn document(&self, leaf: usize) -> Option<&LeafDocument> {
        let after = self.documents.partition_point(|(first, _)| *first <= leaf);
        self.documents.get(after.checked_sub(1)?).map(|(_, document)| document)
    }

    /// Returns true for a text that is no number, but would be equal to one that is written in another way.
    fn is_version(&self, leaf: usize) -> bool {
        let (Some((node, value)), Some(document)) = (self.leaves.get(leaf), self.document(leaf)) else {
            return false;
        };
        let quoted = value.slice(&document.text).strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        let Some(text) = quoted else { return false };
        text.ends_with('0')
            && self.forms.get(node.pattern as usize) == Some(&ColumnForm::Text)
            && matches!(plain_number(text), Some(CellNumber::Real(_)))
    }

    /// Returns the JSON Pointer of a leaf.
    fn path(&self, document: &LeafDocument, leaf: Node) -> String {
        let (mut steps, mut node) = (Vec::new(), leaf);
        // A document begins with its root, and each container comes after the one around it.
        while !matches!(node.step, Step::Root) {
            steps.push(escape_step(&step_name(&document.text, node.step)));
            let Some(parent) = self.containers.get(node.parent as usize) else { break };
            node = *parent;
        }
        let pointer: String = steps.iter().rev().flat_map(|step| ["/", step.as_str()]).collect();
        format!("{}{pointer}", document.pointer)
    }
}

fn step_name(text: &str, step: Step) -> String {
    match step {
        Step::Root => String::new(),
        Step::Key(key) => unescape(key.slice(text)),
        Step::Index(index) => index.to_string(),
    }
}

impl TableRows for LeafRows {
    fn written_cell<'a>(&'a self, row: &'a RowBuffer, column: usize) -> Cell<'a> {
        match (self.leaves.get(row.index), self.document(row.index)) {
            (Some((_, value)), Some(document)) if column == 2 => Cell::from_json(value.slice(&document.text)),
            _ => Cell::Null,
        }
    }

    fn cell<'a>(&'a self, row: &'a RowBuffer, column: usize) -> Cell<'a> {
        let (Some((node, value)), Some(document)) = (self.leaves.get(row.index), self.document(row.index))
        else {
            return Cell::Null;
        };
        let value = value.slice(&document.text);
        let is_redacted = value.len() == REDACTED.len() + 2 && value.trim_matches('"') == REDACTED;
        match column {
            0 => Cell::Text(self.path(document, *node).into()),
            1 => Cell::Text(step_name(&document.text, node.step).into()),
            2 if is_redacted => Cell::Null,
            2 => match (self.written_cell(row, column), self.forms.get(node.pattern as usize)) {
                (Cell::Text(text), Some(form)) => form.number(&text).map_or(Cell::Text(text), Cell::from),
                (cell, _) => cell,
            },
            _ if is_redacted => Cell::text("redacted"),
            _ => Cell::text(match JsonKind::of_value(value) {
                JsonKind::Object => "object",
                JsonKind::Array => "array",
                JsonKind::String => "string",
                JsonKind::Number => "number",
                JsonKind::Bool => "boolean",
                JsonKind::Null => "null",
            }),
        }
    }
}
