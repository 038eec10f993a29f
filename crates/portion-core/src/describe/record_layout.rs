//! Learns the usual keys of records from a sample, so that other records can be read with few key lookups.

use std::collections::HashMap;

use foldhash::fast::FixedState;
use portion_json::scan::{ExpectedKey, JsonKind, JsonReader, unescape_into};

use crate::snapshot::{Layout, List, MAX_FIELD_DEPTH};

/// Largest number of keys learned, at all levels together.
const MAX_KEYS: usize = 1_000;
/// Number of keys after the expected one that are compared before a lookup of all keys.
const MAX_LOOKAHEAD: usize = 4;

/// Layout of records: their objects by level, beginning with the record itself.
#[derive(Clone, Debug, Default)]
pub(super) struct RecordLayout {
    objects: Vec<ObjectLayout>,
    /// Distinct paths of all values found.
    pub paths: Vec<String>,
    index: HashMap<String, usize, FixedState>,
}

/// Keys of an object, in the order of first occurrence.
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

/// Target of a key.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct KeyTarget {
    /// Index of the path, if it has values of its own.
    pub path: Option<usize>,
    /// Index of the nested object, if it is visited.
    pub nested_object: Option<usize>,
}

/// Index of the record itself.
pub(super) const ROOT_OBJECT: usize = 0;
/// Field name of items that are not records.
pub(super) const ITEMS_FIELD: &str = "items";
/// Field name of the keys of a map.
pub(super) const KEY_FIELD: &str = "_key";

impl RecordLayout {
    /// Learns the layout from the samples of the list's profile.
    pub(super) fn learn_from(text: &str, list: &List) -> Self {
        let mut shapes = Self { objects: vec![ObjectLayout::default()], ..Self::default() };
        if let Layout::Table { columns, .. } = &list.layout {
            columns.iter().for_each(|column| shapes.add_column(column));
            return shapes;
        }
        for span in &list.profile.samples {
            let mut reader = JsonReader::resume(text, span.start as usize);
            if reader.peek() == Ok(JsonKind::Object) {
                shapes.learn_object(&mut reader, ROOT_OBJECT, &mut String::new(), MAX_FIELD_DEPTH);
            }
        }
        shapes
    }

    /// Returns the number of known objects.
    pub(super) fn len(&self) -> usize {
        self.objects.len()
    }

    /// Returns the index of a path, which is added if it is new.
    pub(super) fn path_index(&mut self, path: &str) -> usize {
        if let Some(known) = self.index.get(path) {
            return *known;
        }
        self.index.insert(path.to_owned(), self.paths.len());
        self.paths.push(path.to_owned());
        self.paths.len() - 1
    }

    /// Adds a column. Columns are found by position.
    fn add_column(&mut self, name: &str) {
        let path = self.path_index(name);
        let target = KeyTarget { path: Some(path), nested_object: None };
        self.objects[ROOT_OBJECT].keys.push(LayoutKey { key: ExpectedKey::new(name), target });
    }

    /// Returns the target of the cell at a position of a row.
    pub(super) fn cell_target(&self, place: usize) -> KeyTarget {
        self.objects[ROOT_OBJECT].keys.get(place).map_or(KeyTarget::default(), |slot| slot.target)
    }

    /// Learns the keys of an object. Recursion is bounded by `depth`, not by the input.
    fn learn_object(&mut self, reader: &mut JsonReader<'_>, shape: usize, path: &mut String, depth: usize) {
        if reader.enter_object().is_err() {
            return;
        }
        let mut next = 0;
        loop {
            // Most records have the same keys in the same order.
            let is_next = |slot: &LayoutKey| reader.try_skip_key(&slot.key);
            let slot = if self.objects[shape].keys.get(next).is_some_and(is_next) {
                Some(next)
            } else {
                let Ok(Some(key)) = reader.next_key() else { return };
                self.key_index(shape, reader.text(key))
            };
            let Ok(kind) = reader.peek() else { return };
            let mut inside = reader.clone();
            if reader.skip().is_err() {
                return;
            }
            let Some(slot) = slot else { continue };
            next = slot + 1;
            let is_nested = kind == JsonKind::Object && depth > 1;
            let LayoutKey { key, target } = &self.objects[shape].keys[slot];
            if !is_nested && target.path.is_some() {
                continue;
            }
            let before = path.len();
            if before > 0 {
                path.push('.');
            }
            unescape_into(key.quoted(), path);
            if is_nested {
                let nested = self.nested_object(shape, slot);
                self.learn_object(&mut inside, nested, path, depth - 1);
            } else {
                let path = self.path_index(path);
                self.objects[shape].keys[slot].target.path = Some(path);
            }
            path.truncate(before);
        }
    }

    /// Returns the index of a key in its object. A new key is added unless too many are known.
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

    /// Renumbers the wanted paths and drops the others. Objects without wanted paths are no longer visited.
    pub(super) fn retain_paths(&mut self, wanted: &[Option<usize>]) {
        // Nested objects have higher indices than their parents.
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

    /// Returns the keys of an object in expected order.
    #[inline]
    pub(super) fn object_keys(&self, shape: usize) -> &[LayoutKey] {
        self.objects.get(shape).map_or(&[], |shape| &shape.keys)
    }

    /// Returns the target of a key. `next` is the index of the expected key.
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
