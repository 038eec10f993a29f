//! The fields of records as a tree, which is learnt from all records and then used to read them.
//!
//! Records of a list mostly have the same keys in the same order, so the field after the last one found
//! is tried first, and a key is looked up only if that guess fails.

use std::collections::HashMap;
use std::ops::ControlFlow;

use portion_json::scan::{JsonKind, JsonReader, unescape};
use portion_json::span::Span;
use portion_text::column_form::FormLearner;

use crate::cell::{Cell, ValueKinds};

/// Maximum levels of objects that are searched for fields.
pub(crate) const MAX_DEPTH: usize = 4;
/// Maximum fields in the tree; in a list with more, the later ones are reached only through the record.
const MAX_FIELDS: usize = 20_000;

/// A tree of fields. The first node is the record.
#[derive(Debug)]
pub(super) struct FieldTree {
    pub(super) nodes: Vec<FieldNode>,
}

/// One field.
#[derive(Debug, Default)]
pub(super) struct FieldNode {
    /// Dotted path.
    pub(super) path: String,
    /// Kinds of its values.
    pub(super) kinds: ValueKinds,
    /// Form of its texts.
    pub(super) learner: FormLearner,
    /// Place of its column; `None` if it is not listed.
    pub(super) column: Option<u32>,
    /// Number of records that have it.
    pub(super) present_count: usize,
    /// Number of records in which it is a non-empty object.
    pub(super) object_count: usize,
    /// Child fields, in order of first occurrence.
    pub(super) children: Vec<ChildField>,
    /// Index in `children` by key as written.
    pub(super) child_by_raw_key: HashMap<Box<str>, u32>,
    /// Index in `children` by decoded key, because a key can be escaped in several ways.
    child_by_name: HashMap<String, u32>,
    /// Number of the last record that had it: only the first of duplicate keys counts.
    last_record: usize,
}

/// A child field.
#[derive(Clone, Debug)]
pub(super) struct ChildField {
    /// Key as first written, without quotes.
    pub(super) key: Box<str>,
    /// Index of its node.
    pub(super) node: u32,
}

/// Continues, or ends because the text is not JSON or nothing more is wanted.
type Step = ControlFlow<()>;
const STOP: Step = ControlFlow::Break(());

impl FieldNode {
    /// Returns the index of a key; `next` is the expected index, and is set to the one after the result.
    #[inline]
    fn child_index(&self, key: &str, next: &mut usize) -> Option<usize> {
        let slot = match self.children.get(*next) {
            Some(below) if &*below.key == key => *next,
            _ => *self.child_by_raw_key.get(key)? as usize,
        };
        *next = slot + 1;
        Some(slot)
    }
}

impl Default for FieldTree {
    fn default() -> Self {
        Self { nodes: vec![FieldNode::default()] }
    }
}

impl FieldTree {
    /// Learns the fields of the object at the reader, which is record `number` from 1, and moves past it.
    pub(super) fn add_record(&mut self, reader: &mut JsonReader<'_>, number: usize) -> Step {
        if let Some(record) = self.nodes.first_mut() {
            record.present_count += 1;
            record.object_count += 1;
        }
        self.add_object(reader, 0, number, MAX_DEPTH)
    }

    /// Learns an object; recursion is bounded by `depth`.
    fn add_object(&mut self, reader: &mut JsonReader<'_>, at: u32, number: usize, depth: usize) -> Step {
        if reader.enter_object().is_err() {
            return STOP;
        }
        let mut next = 0;
        while let Ok(Some(key)) = reader.next_key() {
            let Ok(kind) = reader.peek() else { return STOP };
            let node = self.find_or_add_child(at, strip_quotes(reader.text(key)), &mut next);
            let node = node.filter(|node| self.mark_present(*node, number));
            if let Some(node) = node
                && kind == JsonKind::Object
                && depth > 1
                && !is_empty(reader, kind)
            {
                if let Some(node) = self.nodes.get_mut(node as usize) {
                    node.object_count += 1;
                    node.kinds.insert(ValueKinds::OBJECT);
                }
                self.add_object(reader, node, number, depth - 1)?;
                continue;
            }
            let Ok(value) = reader.skip() else { return STOP };
            if let Some(node) = node.and_then(|node| self.nodes.get_mut(node as usize)) {
                learn_value(reader.text(value), &mut node.kinds, &mut node.learner);
            }
        }
        Step::Continue(())
    }

    /// Records that a field occurs in a record; returns true if this is its first key of that name.
    fn mark_present(&mut self, node: u32, number: usize) -> bool {
        let Some(node) = self.nodes.get_mut(node as usize) else { return false };
        let first = node.last_record != number;
        node.last_record = number;
        node.present_count += usize::from(first);
        first
    }

    /// Returns the node of a key below another, created if it is new and the tree is not full.
    fn find_or_add_child(&mut self, at: u32, key: &str, next: &mut usize) -> Option<u32> {
        let made = self.nodes.len();
        let above = self.nodes.get_mut(at as usize)?;
        if let Some(slot) = above.child_index(key, next) {
            return above.children.get(slot).map(|below| below.node);
        }
        if made >= MAX_FIELDS {
            return None;
        }
        let name = unescape(&format!("\"{key}\""));
        if let Some(slot) = above.child_by_name.get(&name).copied() {
            above.child_by_raw_key.insert(key.into(), slot);
            *next = slot as usize + 1;
            return above.children.get(slot as usize).map(|below| below.node);
        }
        let path = if at == 0 { name.clone() } else { format!("{}.{name}", above.path) };
        let slot = above.children.len() as u32;
        above.child_by_name.insert(name, slot);
        above.child_by_raw_key.insert(key.into(), slot);
        above.children.push(ChildField { key: key.into(), node: made as u32 });
        *next = slot as usize + 1;
        self.nodes.push(FieldNode { path, ..FieldNode::default() });
        Some(made as u32)
    }

    /// Locates the fields of the record at the reader. `wanted`: their columns, and the number of those.
    pub(super) fn read_fields(
        &self,
        reader: &mut JsonReader<'_>,
        (wanted, remaining): (&[bool], usize),
        spans: &mut [Span],
    ) {
        let mut search = FieldSearch { tree: self, wanted, remaining, spans };
        let _ = search.search_object(reader, 0, MAX_DEPTH);
    }
}

/// A search for the values of one record.
struct FieldSearch<'a> {
    tree: &'a FieldTree,
    wanted: &'a [bool],
    remaining: usize,
    spans: &'a mut [Span],
}

impl FieldSearch<'_> {
    /// Searches an object; recursion is bounded by `depth`. Ends as soon as all wanted values were found.
    fn search_object(&mut self, reader: &mut JsonReader<'_>, at: u32, depth: usize) -> Step {
        let tree = self.tree;
        let Some(above) = tree.nodes.get(at as usize) else { return STOP };
        if reader.enter_object().is_err() {
            return STOP;
        }
        let mut next = 0;
        while let Ok(Some(key)) = reader.next_key() {
            let Ok(kind) = reader.peek() else { return STOP };
            let slot = above.child_index(strip_quotes(reader.text(key)), &mut next);
            let below = slot.and_then(|slot| above.children.get(slot)).map(|below| below.node);
            let node = below.and_then(|below| Some((below, tree.nodes.get(below as usize)?)));
            let found = node.and_then(|(below, node)| Some((below, node, node.column? as usize)));
            let found =
                found.filter(|(.., column)| self.spans.get(*column).is_some_and(|span| span.is_empty()));
            let start = reader.at();
            match found {
                Some((below, node, _))
                    if !node.children.is_empty() && kind == JsonKind::Object && depth > 1 =>
                {
                    self.search_object(reader, below, depth - 1)?;
                }
                _ if reader.skip().is_err() => return STOP,
                _ => {}
            }
            if let Some((.., column)) = found {
                self.spans[column] = Span::new(start, reader.at());
                self.remaining -= usize::from(self.remaining > 0 && self.wanted.get(column) == Some(&true));
                if self.remaining == 0 {
                    return STOP;
                }
            }
        }
        Step::Continue(())
    }
}

/// Learns the kind of a JSON value, and the form of a text.
pub(super) fn learn_value(value: &str, kinds: &mut ValueKinds, learner: &mut FormLearner) {
    kinds.insert(ValueKinds::from_json(value));
    let may_be_code = |text: &str| text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '('));
    if value.starts_with('"')
        && (!learner.is_settled() || !learner.has_number_codes() && may_be_code(&value[1..]))
        && let Cell::Text(text) = Cell::from_json(value)
    {
        learner.insert(&text);
    }
}

/// Returns a key without its quotes.
#[inline]
fn strip_quotes(quoted: &str) -> &str {
    quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default()
}

/// Returns true if the object or array at the reader is empty.
pub(super) fn is_empty(reader: &JsonReader<'_>, kind: JsonKind) -> bool {
    let mut ahead = reader.clone();
    if kind == JsonKind::Object {
        ahead.enter_object().is_err() || !matches!(ahead.next_key(), Ok(Some(_)))
    } else {
        ahead.enter_array().is_err() || ahead.next_item() != Ok(true)
    }
}
