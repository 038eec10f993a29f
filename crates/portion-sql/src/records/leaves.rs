//! The table `leaves(path, key, value, type)`: all values of a JSON document that are no objects or arrays.

use std::sync::Arc;

use portion_core::redact::REDACTED;
use portion_core::snapshot::{Layout, List, Slice};
use portion_json::scan::{JsonKind, JsonReader, unescape};
use portion_json::span::Span;

use crate::cell::Cell;
use crate::column::ColumnDef;
use crate::limits::QueryDeadline;
use crate::table_rows::{RowBuffer, RowSource, TableRows, should_stop_at};
use crate::value_kinds::ValueKinds;

/// Maximum bytes of a document whose leaves are a table; parts of a longer one are reached by `path`.
pub(crate) const MAX_LEAVES_BYTES: usize = 8 << 20;

/// Source of the leaves of a value, or of the lines of JSON.
pub(crate) struct LeavesSource {
    pub(crate) text: Slice,
    /// The list, if the text is one JSON value per line.
    pub(crate) lines: Option<Arc<List>>,
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
}

struct LeafRows {
    text: Slice,
    containers: Vec<Node>,
    leaves: Vec<(Node, Span)>,
    columns: Vec<ColumnDef>,
}

impl LeavesSource {
    /// Creates the source for a value; `None` if it is too long.
    pub(crate) fn new(text: &Slice, list: Option<&Arc<List>>) -> Option<Self> {
        let lines = list.filter(|list| list.layout == Layout::Lines).cloned();
        (text.len() <= MAX_LEAVES_BYTES).then(|| Self { text: text.clone(), lines })
    }
}

impl RowSource for LeavesSource {
    fn open(&self, clock: &QueryDeadline) -> Option<Arc<dyn TableRows>> {
        let root = Node { parent: 0, step: Step::Root };
        let mut scan = LeafScan {
            text: &self.text,
            containers: vec![root],
            leaves: Vec::new(),
            kinds: ValueKinds::default(),
        };
        match &self.lines {
            None => scan.add_value(JsonReader::new(&self.text), root, clock)?,
            Some(list) => {
                for (index, line) in list.iter_from(&self.text, 0).enumerate() {
                    let node = Node { parent: 0, step: Step::Index(index as u32) };
                    scan.add_value(JsonReader::resume(&self.text, line.value.start as usize), node, clock)?;
                }
            }
        }
        let (count, text) = (scan.leaves.len(), ValueKinds::TEXT);
        let columns = vec![
            ColumnDef::new("path", text, count),
            ColumnDef::new("key", text, count),
            ColumnDef::new("value", scan.kinds, count),
            ColumnDef::new("type", text, count),
        ];
        let (containers, leaves) = (scan.containers, scan.leaves);
        Some(Arc::new(LeafRows { text: self.text.clone(), containers, leaves, columns }))
    }
}

/// A scan for leaves.
struct LeafScan<'a> {
    text: &'a str,
    containers: Vec<Node>,
    leaves: Vec<(Node, Span)>,
    kinds: ValueKinds,
}

/// A container that is being read.
struct OpenContainer {
    index: u32,
    is_object: bool,
    count: u32,
}

impl LeafScan<'_> {
    /// Adds the leaves of the value at the reader. The containers around it are on a stack of its own.
    fn add_value(&mut self, mut reader: JsonReader<'_>, node: Node, clock: &QueryDeadline) -> Option<()> {
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
                    Some(step) => next = Some(Node { parent: container.index, step }),
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
                open.push(OpenContainer { index, is_object, count: 0 });
                continue;
            }
            let Ok(value) = reader.skip() else { return Some(()) };
            self.kinds.insert(ValueKinds::from_json(value.slice(self.text)));
            self.leaves.push((node, value));
            if should_stop_at(self.leaves.len(), clock) {
                return None;
            }
        }
    }
}

fn is_empty(reader: &JsonReader<'_>, kind: JsonKind) -> bool {
    let mut ahead = reader.clone();
    if kind == JsonKind::Object {
        ahead.enter_object().is_err() || !matches!(ahead.next_key(), Ok(Some(_)))
    } else {
        ahead.enter_array().is_err() || ahead.next_item() != Ok(true)
    }
}

impl LeafRows {
    fn step_name(&self, step: Step) -> String {
        match step {
            Step::Root => String::new(),
            Step::Key(key) => unescape(key.slice(&self.text)),
            Step::Index(index) => index.to_string(),
        }
    }

    /// Returns the JSON Pointer of a leaf.
    fn path(&self, leaf: Node) -> String {
        let (mut steps, mut node) = (Vec::new(), leaf);
        // The first container is the root, and each one comes after the one around it.
        loop {
            if matches!(node.step, Step::Root) {
                break;
            }
            steps.push(self.step_name(node.step).replace('~', "~0").replace('/', "~1"));
            match self.containers.get(node.parent as usize) {
                Some(parent) => node = *parent,
                None => break,
            }
        }
        steps.iter().rev().flat_map(|step| ["/", step.as_str()]).collect()
    }
}

impl TableRows for LeafRows {
    fn columns(&self) -> &[ColumnDef] {
        &self.columns
    }

    fn len(&self) -> usize {
        self.leaves.len()
    }

    fn cell<'a>(&'a self, row: &'a RowBuffer, column: usize) -> Cell<'a> {
        let Some((node, value)) = self.leaves.get(row.index) else { return Cell::Null };
        let value = value.slice(&self.text);
        let is_redacted = value.len() == REDACTED.len() + 2 && value.trim_matches('"') == REDACTED;
        match column {
            0 => Cell::Text(self.path(*node).into()),
            1 => Cell::Text(self.step_name(node.step).into()),
            2 if is_redacted => Cell::Null,
            2 => Cell::from_json(value),
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
