//! The fields of records, as a tree that is learnt from all of them and then read by.
//!
//! Records of a list mostly have the same keys in the same order, so the field after the last one found
//! is tried first, and a key is looked up only where that guess fails.

use std::collections::HashMap;
use std::ops::ControlFlow;

use portion_core::scan::{Kind, Reader, decoded};
use portion_core::span::Span;

use crate::column::Kinds;

/// Levels of objects that are looked into for fields, as everywhere else.
const DEPTH: usize = 4;
/// Fields that are remembered; of a list with more, the later ones are reached through the record alone.
const MOST: usize = 20_000;

/// Fields below fields. The first node is the record.
#[derive(Debug, Default)]
pub(super) struct Tree {
    pub(super) nodes: Vec<Node>,
}

/// One field.
#[derive(Debug, Default)]
pub(super) struct Node {
    /// Its dotted path.
    pub(super) path: String,
    /// What its values are.
    pub(super) kinds: Kinds,
    /// How many records have it.
    pub(super) present: usize,
    /// In how many it is an object that was looked into.
    pub(super) opened: usize,
    /// The fields below it, in the order of first sight.
    pub(super) below: Vec<Below>,
    /// The place among those of every key, as it is spelled.
    pub(super) places: HashMap<Box<str>, u32>,
    /// The same by what the keys say, for a key may be spelled in more than one way.
    names: HashMap<String, u32>,
    /// The number of the last record that had it: the first of duplicate keys is meant.
    last: usize,
}

/// A field below another.
#[derive(Clone, Debug)]
pub(super) struct Below {
    /// Its key as it was first spelled, without quotes.
    pub(super) key: Box<str>,
    /// Its node.
    pub(super) node: u32,
}

/// Goes on, or ends where the text is no JSON after all or nothing more is wanted.
type Step = ControlFlow<()>;
const END: Step = ControlFlow::Break(());

impl Node {
    /// The place of a key; `next` is where it is expected, and is left behind it.
    #[inline]
    fn place(&self, key: &str, next: &mut usize) -> Option<usize> {
        let place = match self.below.get(*next) {
            Some(below) if &*below.key == key => *next,
            _ => *self.places.get(key)? as usize,
        };
        *next = place + 1;
        Some(place)
    }
}

impl Tree {
    pub(super) fn new() -> Self {
        Self { nodes: vec![Node::default()] }
    }

    /// A tree of values without names: the cells of rows.
    pub(super) fn of_cells(kinds: &[Kinds]) -> Self {
        Self { nodes: kinds.iter().map(|kinds| Node { kinds: *kinds, ..Node::default() }).collect() }
    }

    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Learns the fields of the object that the reader is before, the `number`th from 1, and passes it.
    pub(super) fn learn(&mut self, reader: &mut Reader<'_>, number: usize) -> Step {
        if let Some(record) = self.nodes.first_mut() {
            record.present += 1;
            record.opened += 1;
        }
        self.learn_object(reader, 0, number, DEPTH)
    }

    /// Bounded by `depth`, not by the input.
    fn learn_object(&mut self, reader: &mut Reader<'_>, at: u32, number: usize, depth: usize) -> Step {
        if reader.enter_object().is_err() {
            return END;
        }
        let mut next = 0;
        while let Ok(Some(key)) = reader.next_key() {
            let Ok(kind) = reader.peek() else { return END };
            let node = self.field(at, inner(reader.text(key)), &mut next);
            let node = node.filter(|node| self.note(*node, number));
            if let Some(node) = node
                && kind == Kind::Object
                && depth > 1
                && !is_empty(reader)
            {
                if let Some(node) = self.nodes.get_mut(node as usize) {
                    node.opened += 1;
                    node.kinds.add(Kinds::OBJECT);
                }
                self.learn_object(reader, node, number, depth - 1)?;
                continue;
            }
            let Ok(value) = reader.skip() else { return END };
            if let Some(node) = node.and_then(|node| self.nodes.get_mut(node as usize)) {
                node.kinds.add(Kinds::of_json(reader.text(value)));
            }
        }
        Step::Continue(())
    }

    /// Notes that a record has a field; whether this is the first of its keys of that name.
    fn note(&mut self, node: u32, number: usize) -> bool {
        let Some(node) = self.nodes.get_mut(node as usize) else { return false };
        let first = node.last != number;
        node.last = number;
        node.present += usize::from(first);
        first
    }

    /// The node of a key below another, made where it is new and there is room.
    fn field(&mut self, at: u32, key: &str, next: &mut usize) -> Option<u32> {
        let made = self.nodes.len();
        let above = self.nodes.get_mut(at as usize)?;
        if let Some(place) = above.place(key, next) {
            return above.below.get(place).map(|below| below.node);
        }
        if made >= MOST {
            return None;
        }
        let name = decoded(&format!("\"{key}\""));
        if let Some(place) = above.names.get(&name).copied() {
            above.places.insert(key.into(), place);
            *next = place as usize + 1;
            return above.below.get(place as usize).map(|below| below.node);
        }
        let path = if at == 0 { name.clone() } else { format!("{}.{name}", above.path) };
        let place = above.below.len() as u32;
        above.names.insert(name, place);
        above.places.insert(key.into(), place);
        above.below.push(Below { key: key.into(), node: made as u32 });
        *next = place as usize + 1;
        self.nodes.push(Node { path, ..Node::default() });
        Some(made as u32)
    }

    /// Finds the values of fields of the record that the reader is before: those whose places are `wanted`, `count` in all.
    pub(super) fn read(&self, reader: &mut Reader<'_>, wanted: &[bool], count: usize, spans: &mut [Span]) {
        let mut search = Search { tree: self, wanted, left: count, spans };
        let _ = search.object(reader, 0, DEPTH);
    }
}

/// A search for the values of one record.
struct Search<'a> {
    tree: &'a Tree,
    wanted: &'a [bool],
    left: usize,
    spans: &'a mut [Span],
}

impl Search<'_> {
    /// Bounded by `depth`, not by the input. Ends as soon as all that is wanted was found.
    fn object(&mut self, reader: &mut Reader<'_>, at: u32, depth: usize) -> Step {
        let tree = self.tree;
        let Some(above) = tree.nodes.get(at as usize) else { return END };
        if reader.enter_object().is_err() {
            return END;
        }
        let mut next = 0;
        while let Ok(Some(key)) = reader.next_key() {
            let Ok(kind) = reader.peek() else { return END };
            let place = above.place(inner(reader.text(key)), &mut next);
            let node = place.and_then(|place| above.below.get(place)).map(|below| below.node);
            let node = node.filter(|node| self.spans.get(*node as usize).is_some_and(|span| span.is_empty()));
            let start = reader.at();
            let inside =
                node.and_then(|node| tree.nodes.get(node as usize)).is_some_and(|n| !n.below.is_empty());
            match node {
                Some(node) if inside && kind == Kind::Object && depth > 1 => {
                    self.object(reader, node, depth - 1)?;
                }
                _ if reader.skip().is_err() => return END,
                _ => {}
            }
            if let Some(node) = node {
                self.found(node as usize, Span::new(start, reader.at()))?;
            }
        }
        Step::Continue(())
    }

    fn found(&mut self, node: usize, span: Span) -> Step {
        if let Some(place) = self.spans.get_mut(node) {
            *place = span;
        }
        if self.wanted.get(node) == Some(&true) {
            self.left = self.left.saturating_sub(1);
        }
        if self.left == 0 { END } else { Step::Continue(()) }
    }
}

/// A key without its quotes.
#[inline]
fn inner(quoted: &str) -> &str {
    quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default()
}

/// Whether nothing is in the object that the reader is before.
fn is_empty(reader: &Reader<'_>) -> bool {
    let mut ahead = reader.clone();
    ahead.enter_object().is_err() || !matches!(ahead.next_key(), Ok(Some(_)))
}

/// The items of an array.
pub(super) fn cells(row: &str) -> impl Iterator<Item = &str> {
    let mut reader = Reader::new(row);
    let mut open = reader.enter_array().is_ok();
    std::iter::from_fn(move || {
        open = open && reader.next_item() == Ok(true);
        let cell = if open { reader.skip().ok() } else { None }?;
        Some(reader.text(cell))
    })
}

/// Where the cells are of the row that the reader is before.
pub(super) fn read_cells(reader: &mut Reader<'_>, spans: &mut [Span]) {
    if reader.enter_array().is_err() {
        return;
    }
    for place in spans {
        if reader.next_item() != Ok(true) {
            return;
        }
        let Ok(span) = reader.skip() else { return };
        *place = span;
    }
}
