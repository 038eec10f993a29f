//! One pass over all records of a list.

use super::field::Gathered;
use super::shape::{ITEMS, KEY, Leads, RECORD, Shapes};
use crate::scan::{Kind, Reader, ScanError};
use crate::snapshot::{Layout, List, Rank};

/// Fields that are gathered, the most telling first.
const FIELDS: usize = 96;
/// Bytes of text that pay for one hash that is held.
const TEXT_PER_HASH: usize = 48;
/// Hashes that may be held whatever the text.
const ALWAYS_HELD: usize = 4_096;

/// Gathers the fields of all records, in the order of `Profile`.
pub(super) fn gather(text: &str, list: &List) -> Vec<Gathered> {
    let mut shapes = Shapes::of(text, list);
    // Items that are no records have a name of their own, unless a field has it.
    let items = (!shapes.paths.iter().any(|path| path == ITEMS)).then(|| shapes.path(ITEMS));
    let key = (list.layout == Layout::Map).then(|| shapes.path(KEY));
    let (fields, numbers) = chosen(list, &shapes.paths, key);
    shapes.keep(&numbers);
    let number = |path: Option<usize>| path.and_then(|path| numbers.get(path).copied().flatten());
    let mut walk = Walk {
        text,
        fields,
        opened: vec![0; shapes.len()],
        shapes: &shapes,
        item: Leads { path: number(items), inside: None },
        key: number(key),
        room: (text.len() / TEXT_PER_HASH).max(ALWAYS_HELD),
        record: 0,
    };
    // The text was validated when it was captured.
    let _ = walk.list(list);
    walk.fields.retain(|field| field.present() + field.nulls > 0);
    walk.fields
}

/// The fields to be gathered, and the number of each path among them.
fn chosen(list: &List, paths: &[String], key: Option<usize>) -> (Vec<Gathered>, Vec<Option<usize>>) {
    let ranked = &list.profile.fields;
    let rank = |path: usize| {
        let place = ranked.iter().position(|field| field.path == paths[path]);
        match place {
            Some(place) => (place, ranked[place].rank),
            None if key == Some(path) => (0, Rank::Name),
            None => (ranked.len(), Rank::Container),
        }
    };
    let mut order: Vec<(usize, Rank, usize)> =
        (0..paths.len()).map(|path| (rank(path).0, rank(path).1, path)).collect();
    order.sort_by_key(|(place, rank, path)| (*rank, *place, *path));
    let mut numbers = vec![None; paths.len()];
    let mut fields = Vec::new();
    for (_, rank, path) in order.into_iter().take(FIELDS) {
        numbers[path] = Some(fields.len());
        fields.push(Gathered::new(paths[path].clone(), rank));
    }
    (fields, numbers)
}

struct Walk<'s> {
    text: &'s str,
    shapes: &'s Shapes,
    fields: Vec<Gathered>,
    /// The number, from 1, of the last record in which each object was looked into.
    opened: Vec<usize>,
    /// What an item is that is no record.
    item: Leads,
    /// The field of a map's keys.
    key: Option<usize>,
    /// Hashes that may be held yet.
    room: usize,
    record: usize,
}

impl Walk<'_> {
    fn list(&mut self, list: &List) -> Result<(), ScanError> {
        let text = self.text;
        if list.layout == Layout::Lines {
            for item in list.iter_from(text, 0) {
                self.item(&mut Reader::resume(text, item.value.start as usize))?;
                self.record += 1;
            }
            return Ok(());
        }
        let Some((_, start)) = list.items.before(0) else { return Ok(()) };
        let mut reader = Reader::resume(text, start);
        while self.record < list.len() {
            if list.layout == Layout::Map {
                let Some(key) = reader.next_key()? else { break };
                if let Some(field) = self.key {
                    let field = &mut self.fields[field];
                    if field.is_first(self.record) {
                        field.string(text, key, &mut self.room);
                    }
                }
            } else if !reader.next_item()? {
                break;
            }
            if matches!(list.layout, Layout::Table { .. }) {
                self.row(&mut reader)?;
            } else {
                self.item(&mut reader)?;
            }
            self.record += 1;
        }
        Ok(())
    }

    fn item(&mut self, reader: &mut Reader<'_>) -> Result<(), ScanError> {
        if reader.peek()? == Kind::Object {
            self.object(reader, RECORD)
        } else {
            self.value(reader, self.item)
        }
    }

    fn row(&mut self, reader: &mut Reader<'_>) -> Result<(), ScanError> {
        reader.enter_array()?;
        let mut place = 0;
        while reader.next_item()? {
            let leads = self.shapes.cell(place);
            self.value(reader, leads)?;
            place += 1;
        }
        Ok(())
    }

    /// As deep as the shapes are, whatever the input.
    fn object(&mut self, reader: &mut Reader<'_>, shape: usize) -> Result<(), ScanError> {
        if std::mem::replace(&mut self.opened[shape], self.record + 1) == self.record + 1 {
            return reader.skip().map(drop);
        }
        reader.enter_object()?;
        let shapes = self.shapes;
        let slots = shapes.slots(shape);
        let mut next = 0;
        loop {
            let leads = match slots.get(next) {
                Some(slot) if reader.pass_key(&slot.key) => {
                    next += 1;
                    slot.leads
                }
                _ => match reader.next_key()? {
                    Some(key) => shapes.find(shape, reader.text(key), &mut next),
                    None => return Ok(()),
                },
            };
            // Most values of most records are numbers of a few digits.
            let start = reader.at();
            if let Some(field) = leads.path.and_then(|path| self.fields.get_mut(path))
                && let Some(number) = reader.pass_whole()
            {
                if field.is_first(self.record) {
                    field.whole(number, start..reader.at(), self.record, &mut self.room);
                }
            } else {
                self.value(reader, leads)?;
            }
        }
    }

    fn value(&mut self, reader: &mut Reader<'_>, leads: Leads) -> Result<(), ScanError> {
        let kind = reader.peek()?;
        let field = leads.path.and_then(|path| self.fields.get_mut(path));
        let field = field.and_then(|field| field.is_first(self.record).then_some(field));
        match (kind, field, leads.inside) {
            (Kind::Object, field, Some(inside)) => {
                if let Some(field) = field {
                    field.objects += 1;
                }
                return self.object(reader, inside);
            }
            (_, None, _) => {
                reader.skip()?;
            }
            (Kind::Array, Some(field), _) => {
                let mut items = 0;
                reader.enter_array()?;
                while reader.next_item()? {
                    reader.skip()?;
                    items += 1;
                }
                field.array(items);
            }
            (Kind::Number, Some(field), _) => {
                let at = reader.skip_number()?;
                field.number(reader.text(at), at, self.record, &mut self.room);
            }
            (Kind::String, Some(field), _) => {
                let at = reader.skip_string()?;
                field.string(self.text, at, &mut self.room);
            }
            (Kind::Null, Some(field), _) => {
                reader.skip_word()?;
                field.nulls += 1;
            }
            (Kind::Bool, Some(field), _) => {
                let word = reader.skip_word()?;
                let is_true = reader.text(word) == "true";
                field.trues += usize::from(is_true);
                field.falses += usize::from(!is_true);
            }
            (Kind::Object, Some(field), None) => {
                reader.skip()?;
                field.objects += 1;
            }
        }
        Ok(())
    }
}
