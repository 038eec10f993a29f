//! The keys of records as they usually come, learnt from a few: the next record is read with hardly a look at its keys.

use std::collections::HashMap;

use foldhash::fast::FixedState;

use crate::scan::{ExpectedKey, JsonKind, JsonReader, unescape_into};
use crate::snapshot::{Layout, List};

/// Levels of objects that are looked into.
const MAX_DEPTH: usize = 3;
/// Keys that are learnt, at all levels together.
const MAX_KEYS: usize = 1_000;
/// Keys after the expected one that are tried before all are.
const MAX_LOOKAHEAD: usize = 4;

/// The objects of records, by level: the first is the record.
#[derive(Clone, Debug, Default)]
pub(super) struct RecordLayout {
    objects: Vec<ObjectLayout>,
    /// The paths of all values that were found, each once.
    pub paths: Vec<String>,
    index: HashMap<String, usize>,
}

/// An object with its keys in order of first sight.
#[derive(Clone, Debug, Default)]
struct ObjectLayout {
    keys: Vec<LayoutKey>,
    key_indices: HashMap<Box<str>, usize, FixedState>,
}

#[derive(Clone, Debug)]
pub(super) struct LayoutKey {
    pub key: ExpectedKey,
    pub target: KeyTarget,
}

/// What a key leads to.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct KeyTarget {
    /// The path that it stands for, where it has values of its own.
    pub path: Option<usize>,
    /// The object that is looked into.
    pub nested_object: Option<usize>,
}

/// The record.
pub(super) const ROOT_OBJECT: usize = 0;
/// What items are called that are no records.
pub(super) const ITEMS_FIELD: &str = "items";
/// What the keys of a map are called.
pub(super) const KEY_FIELD: &str = "_key";

impl RecordLayout {
    /// Learns from the items that the list's profile looked at.
    pub(super) fn learn_from(text: &str, list: &List) -> Self {
        let mut shapes = Self { objects: vec![ObjectLayout::default()], ..Self::default() };
        if let Layout::Table { columns, .. } = &list.layout {
            columns.iter().for_each(|column| shapes.add_column(column));
            return shapes;
        }
        for span in &list.profile.samples {
            let mut reader = JsonReader::resume(text, span.start as usize);
            if reader.peek() == Ok(JsonKind::Object) {
                shapes.learn_object(&mut reader, ROOT_OBJECT, &mut String::new(), MAX_DEPTH);
            }
        }
        shapes
    }

    /// How many objects are known.
    pub(super) fn len(&self) -> usize {
        self.objects.len()
    }

    /// The path of that name, added where it is new.
    pub(super) fn path_index(&mut self, path: &str) -> usize {
        if let Some(known) = self.index.get(path) {
            return *known;
        }
        self.index.insert(path.to_owned(), self.paths.len());
        self.paths.push(path.to_owned());
        self.paths.len() - 1
    }

    /// A column is found by its place.
    fn add_column(&mut self, name: &str) {
        let path = self.path_index(name);
        let leads = KeyTarget { path: Some(path), nested_object: None };
        self.objects[ROOT_OBJECT].keys.push(LayoutKey { key: ExpectedKey::new(name), target: leads });
    }

    /// What the cell at a place of a row is.
    pub(super) fn cell_target(&self, place: usize) -> KeyTarget {
        self.objects[ROOT_OBJECT].keys.get(place).map_or(KeyTarget::default(), |slot| slot.target)
    }

    /// Bounded by `depth`, not by the input.
    fn learn_object(&mut self, reader: &mut JsonReader<'_>, shape: usize, path: &mut String, depth: usize) {
        if reader.enter_object().is_err() {
            return;
        }
        while let Ok(Some(key)) = reader.next_key() {
            let before = path.len();
            if before > 0 {
                path.push('.');
            }
            let key = reader.text(key);
            unescape_into(key, path);
            let Ok(kind) = reader.peek() else { return };
            let mut inside = reader.clone();
            if reader.skip().is_err() {
                return;
            }
            if let Some(slot) = self.key_index(shape, key) {
                if kind == JsonKind::Object && depth > 1 {
                    let next = self.nested_object(shape, slot);
                    self.learn_object(&mut inside, next, path, depth - 1);
                } else {
                    let path = self.path_index(path);
                    self.objects[shape].keys[slot].target.path = Some(path);
                }
            }
            path.truncate(before);
        }
    }

    /// The place of a key in its object, added where it is new and not too many are known.
    fn key_index(&mut self, shape: usize, key: &str) -> Option<usize> {
        if let Some(known) = self.objects[shape].key_indices.get(key) {
            return Some(*known);
        }
        let known: usize = self.objects.iter().map(|shape| shape.keys.len()).sum();
        if known >= MAX_KEYS {
            return None;
        }
        let shape = &mut self.objects[shape];
        shape.key_indices.insert(key.into(), shape.keys.len());
        shape.keys.push(LayoutKey { key: ExpectedKey::new(key), target: KeyTarget::default() });
        Some(shape.keys.len() - 1)
    }

    fn nested_object(&mut self, shape: usize, slot: usize) -> usize {
        if let Some(known) = self.objects[shape].keys[slot].target.nested_object {
            return known;
        }
        self.objects.push(ObjectLayout::default());
        self.objects[shape].keys[slot].target.nested_object = Some(self.objects.len() - 1);
        self.objects.len() - 1
    }

    /// Keeps the paths that are wanted, by their new numbers; objects that hold none are not looked into any more.
    pub(super) fn retain_paths(&mut self, wanted: &[Option<usize>]) {
        // What is inside was found after what it is in.
        for shape in (0..self.objects.len()).rev() {
            for slot in 0..self.objects[shape].keys.len() {
                let KeyTarget { path, nested_object: inside } = self.objects[shape].keys[slot].target;
                let path = path.and_then(|path| wanted.get(path).copied().flatten());
                let holds =
                    |slot: &LayoutKey| slot.target.path.is_some() || slot.target.nested_object.is_some();
                let inside = inside.filter(|inside| self.objects[*inside].keys.iter().any(holds));
                self.objects[shape].keys[slot].target = KeyTarget { path, nested_object: inside };
            }
        }
    }

    /// The keys of an object in the order in which they are expected.
    #[inline]
    pub(super) fn object_keys(&self, shape: usize) -> &[LayoutKey] {
        self.objects.get(shape).map_or(&[], |shape| &shape.keys)
    }

    /// What a key leads to, `next` being the place where it was expected.
    pub(super) fn lookup_key(&self, shape: usize, key: &str, next: &mut usize) -> KeyTarget {
        let shape = &self.objects[shape];
        let near = shape.keys.get(*next..).unwrap_or_default().iter().take(MAX_LOOKAHEAD);
        let place = near.zip(*next..).find(|(slot, _)| slot.key.quoted() == key).map(|(_, place)| place);
        match place.or_else(|| shape.key_indices.get(key).copied()) {
            Some(place) => {
                *next = place + 1;
                shape.keys[place].target
            }
            None => KeyTarget::default(),
        }
    }
}
