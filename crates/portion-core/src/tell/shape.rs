//! The keys of records as they usually come, learnt from a few: the next record is read with hardly a look at its keys.

use std::collections::HashMap;

use foldhash::fast::FixedState;

use crate::scan::{Kind, KnownKey, Reader, decode};
use crate::snapshot::{Layout, List};

/// Levels of objects that are looked into.
const DEPTH: usize = 3;
/// Keys that are learnt, at all levels together.
const MANY: usize = 1_000;
/// Keys after the expected one that are tried before all are.
const NEAR: usize = 4;

/// The objects of records, by level: the first is the record.
#[derive(Clone, Debug, Default)]
pub(super) struct Shapes {
    objects: Vec<Shape>,
    /// The paths of all values that were found, each once.
    pub paths: Vec<String>,
    index: HashMap<String, usize>,
}

/// An object with its keys in order of first sight.
#[derive(Clone, Debug, Default)]
struct Shape {
    slots: Vec<Slot>,
    by_key: HashMap<Box<str>, usize, FixedState>,
}

#[derive(Clone, Debug)]
pub(super) struct Slot {
    pub key: KnownKey,
    pub leads: Leads,
}

/// What a key leads to.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Leads {
    /// The path that it stands for, where it has values of its own.
    pub path: Option<usize>,
    /// The object that is looked into.
    pub inside: Option<usize>,
}

/// The record.
pub(super) const RECORD: usize = 0;
/// What items are called that are no records.
pub(super) const ITEMS: &str = "items";
/// What the keys of a map are called.
pub(super) const KEY: &str = "_key";

impl Shapes {
    /// Learns from the items that the list's profile looked at.
    pub(super) fn of(text: &str, list: &List) -> Self {
        let mut shapes = Self { objects: vec![Shape::default()], ..Self::default() };
        if let Layout::Table { columns, .. } = &list.layout {
            columns.iter().for_each(|column| shapes.column(column));
            return shapes;
        }
        for span in &list.profile.samples {
            let mut reader = Reader::resume(text, span.start as usize);
            if reader.peek() == Ok(Kind::Object) {
                shapes.learn(&mut reader, RECORD, &mut String::new(), DEPTH);
            }
        }
        shapes
    }

    /// How many objects are known.
    pub(super) fn len(&self) -> usize {
        self.objects.len()
    }

    /// The path of that name, added where it is new.
    pub(super) fn path(&mut self, path: &str) -> usize {
        if let Some(known) = self.index.get(path) {
            return *known;
        }
        self.index.insert(path.to_owned(), self.paths.len());
        self.paths.push(path.to_owned());
        self.paths.len() - 1
    }

    /// A column is found by its place.
    fn column(&mut self, name: &str) {
        let path = self.path(name);
        let leads = Leads { path: Some(path), inside: None };
        self.objects[RECORD].slots.push(Slot { key: KnownKey::new(name), leads });
    }

    /// What the cell at a place of a row is.
    pub(super) fn cell(&self, place: usize) -> Leads {
        self.objects[RECORD].slots.get(place).map_or(Leads::default(), |slot| slot.leads)
    }

    /// Bounded by `depth`, not by the input.
    fn learn(&mut self, reader: &mut Reader<'_>, shape: usize, path: &mut String, depth: usize) {
        if reader.enter_object().is_err() {
            return;
        }
        while let Ok(Some(key)) = reader.next_key() {
            let before = path.len();
            if before > 0 {
                path.push('.');
            }
            let key = reader.text(key);
            decode(key, path);
            let Ok(kind) = reader.peek() else { return };
            let mut inside = reader.clone();
            if reader.skip().is_err() {
                return;
            }
            if let Some(slot) = self.slot(shape, key) {
                if kind == Kind::Object && depth > 1 {
                    let next = self.inside(shape, slot);
                    self.learn(&mut inside, next, path, depth - 1);
                } else {
                    let path = self.path(path);
                    self.objects[shape].slots[slot].leads.path = Some(path);
                }
            }
            path.truncate(before);
        }
    }

    /// The place of a key in its object, added where it is new and not too many are known.
    fn slot(&mut self, shape: usize, key: &str) -> Option<usize> {
        if let Some(known) = self.objects[shape].by_key.get(key) {
            return Some(*known);
        }
        let known: usize = self.objects.iter().map(|shape| shape.slots.len()).sum();
        if known >= MANY {
            return None;
        }
        let shape = &mut self.objects[shape];
        shape.by_key.insert(key.into(), shape.slots.len());
        shape.slots.push(Slot { key: KnownKey::new(key), leads: Leads::default() });
        Some(shape.slots.len() - 1)
    }

    fn inside(&mut self, shape: usize, slot: usize) -> usize {
        if let Some(known) = self.objects[shape].slots[slot].leads.inside {
            return known;
        }
        self.objects.push(Shape::default());
        self.objects[shape].slots[slot].leads.inside = Some(self.objects.len() - 1);
        self.objects.len() - 1
    }

    /// Keeps the paths that are wanted, by their new numbers; objects that hold none are not looked into any more.
    pub(super) fn keep(&mut self, wanted: &[Option<usize>]) {
        // What is inside was found after what it is in.
        for shape in (0..self.objects.len()).rev() {
            for slot in 0..self.objects[shape].slots.len() {
                let Leads { path, inside } = self.objects[shape].slots[slot].leads;
                let path = path.and_then(|path| wanted.get(path).copied().flatten());
                let holds = |slot: &Slot| slot.leads.path.is_some() || slot.leads.inside.is_some();
                let inside = inside.filter(|inside| self.objects[*inside].slots.iter().any(holds));
                self.objects[shape].slots[slot].leads = Leads { path, inside };
            }
        }
    }

    /// The keys of an object in the order in which they are expected.
    #[inline]
    pub(super) fn slots(&self, shape: usize) -> &[Slot] {
        self.objects.get(shape).map_or(&[], |shape| &shape.slots)
    }

    /// What a key leads to, `next` being the place where it was expected.
    pub(super) fn find(&self, shape: usize, key: &str, next: &mut usize) -> Leads {
        let shape = &self.objects[shape];
        let near = shape.slots.get(*next..).unwrap_or_default().iter().take(NEAR);
        let place = near.zip(*next..).find(|(slot, _)| slot.key.quoted() == key).map(|(_, place)| place);
        match place.or_else(|| shape.by_key.get(key).copied()) {
            Some(place) => {
                *next = place + 1;
                shape.slots[place].leads
            }
            None => Leads::default(),
        }
    }
}
