//! Where records come from: the list of a subject, an array in it, or an object by itself.

use std::sync::Arc;

use portion_core::scan::{Kind, Reader, quote};
use portion_core::snapshot::{Layout, List, Profile, Slice};
use portion_core::span::Span;

use super::shape::{self, Others};
use super::tree::Tree;
use super::{Records, Role};
use crate::column::{Column, Kinds, Names};
use crate::limits::Clock;
use crate::table::{Rows, Source, every};

/// The list of a subject.
pub(crate) struct ListOf {
    pub(crate) text: Slice,
    pub(crate) list: Arc<List>,
}

/// Another array in a text.
pub(crate) struct ArrayAt {
    pub(crate) text: Slice,
    pub(crate) span: Span,
}

/// An object without a list: one row.
pub(crate) struct ObjectAt {
    pub(crate) text: Slice,
    pub(crate) span: Span,
}

impl Source for ListOf {
    fn open(&self, clock: &Clock) -> Option<Arc<dyn Rows>> {
        let telling = self.list.profile.fields.iter().map(|field| field.path.clone()).collect();
        let records = match &self.list.layout {
            Layout::Array => Learning::new().array(&self.text, self.list.span, clock)?.done(&self.text),
            Layout::Map => Learning::new().map(&self.text, self.list.span, clock)?.done(&self.text),
            Layout::Lines => Learning::new().lines(&self.text, &self.list, clock)?.done(&self.text),
            Layout::Table { columns, .. } => table(&self.text, columns, self.list.span, clock)?,
        };
        Some(Arc::new(Records { telling, ..records }))
    }
}

impl Source for ArrayAt {
    fn open(&self, clock: &Clock) -> Option<Arc<dyn Rows>> {
        let records = Learning::new().array(&self.text, self.span, clock)?.done(&self.text);
        Some(Arc::new(records.with_profile_of_first()))
    }
}

impl Source for ObjectAt {
    fn open(&self, _: &Clock) -> Option<Arc<dyn Rows>> {
        let mut learning = Learning::new();
        let _ = learning.item(&mut Reader::resume(&self.text, self.span.start as usize));
        Some(Arc::new(learning.done(&self.text).with_profile_of_first()))
    }
}

/// Records, as far as they were looked at.
struct Learning {
    tree: Tree,
    items: Vec<Span>,
    keys: Vec<Span>,
    others: Others,
}

impl Learning {
    fn new() -> Self {
        Self { tree: Tree::new(), items: Vec::new(), keys: Vec::new(), others: Others::default() }
    }

    /// Takes in the item that the reader is before. `None` where there is none.
    fn item(&mut self, reader: &mut Reader<'_>) -> Option<()> {
        let kind = reader.peek().ok()?;
        let start = reader.at();
        if kind == Kind::Object {
            if self.tree.learn(reader, self.items.len() + 1).is_break() {
                return None;
            }
        } else {
            let value = reader.skip().ok()?;
            self.others.values += 1;
            self.others.kinds.add(Kinds::of_json(reader.text(value)));
        }
        self.items.push(Span::new(start, reader.at()));
        Some(())
    }

    fn array(mut self, text: &str, span: Span, clock: &Clock) -> Option<Self> {
        let mut reader = Reader::resume(text, span.start as usize);
        if reader.enter_array().is_ok() {
            while reader.next_item() == Ok(true) && self.item(&mut reader).is_some() {
                if every(self.items.len(), clock) {
                    return None;
                }
            }
        }
        Some(self)
    }

    fn map(mut self, text: &str, span: Span, clock: &Clock) -> Option<Self> {
        let mut reader = Reader::resume(text, span.start as usize);
        self.others.keys = true;
        if reader.enter_object().is_ok() {
            while let Ok(Some(key)) = reader.next_key()
                && self.item(&mut reader).is_some()
            {
                self.keys.push(key);
                if every(self.items.len(), clock) {
                    return None;
                }
            }
        }
        Some(self)
    }

    fn lines(mut self, text: &str, list: &List, clock: &Clock) -> Option<Self> {
        for line in list.iter_from(text, 0) {
            if self.item(&mut Reader::resume(text, line.value.start as usize)).is_none()
                || every(self.items.len(), clock)
            {
                return None;
            }
        }
        Some(self)
    }

    fn done(mut self, text: &Slice) -> Records {
        self.others.items = self.items.len();
        let shape = shape::of(self.tree, self.others);
        Records {
            text: text.clone(),
            items: self.items,
            keys: self.keys,
            tree: shape.tree,
            header: None,
            columns: shape.columns,
            roles: shape.roles,
            telling: Vec::new(),
            dropped: shape.dropped,
        }
    }
}

impl Records {
    fn with_profile_of_first(mut self) -> Self {
        let first = self.items.first().map_or("", |span| span.of(&self.text));
        self.telling = Profile::of_record(first).into_iter().map(|field| field.path).collect();
        self
    }
}

/// The rows of a columnar table.
fn table(text: &Slice, header: &[String], span: Span, clock: &Clock) -> Option<Records> {
    let mut kinds = vec![Kinds::default(); header.len()];
    let mut items = Vec::new();
    let mut reader = Reader::resume(text, span.start as usize);
    if reader.enter_array().is_ok() {
        while reader.next_item() == Ok(true) {
            let Ok(row) = reader.skip() else { break };
            for (kind, cell) in kinds.iter_mut().zip(super::tree::cells(reader.text(row))) {
                kind.add(Kinds::of_json(cell));
            }
            items.push(row);
            if every(items.len(), clock) {
                return None;
            }
        }
    }
    let mut names = Names::default();
    let tree = Tree::of_cells(&kinds);
    let (mut columns, mut roles) = (Vec::new(), Vec::new());
    for (at, (name, kinds)) in header.iter().zip(kinds).enumerate() {
        if at < shape::MOST {
            columns.push(Column::new(names.unique(name), kinds, items.len()));
            roles.push(Role::Field(at as u32));
        }
    }
    let dropped = header.len() - columns.len();
    shape::finish(&mut names, items.len(), &mut columns, &mut roles);
    Some(Records {
        text: text.clone(),
        items,
        keys: Vec::new(),
        tree,
        header: Some(header.iter().map(|name| quote(name)).collect()),
        columns,
        roles,
        telling: Vec::new(),
        dropped,
    })
}
