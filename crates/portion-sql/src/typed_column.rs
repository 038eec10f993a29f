//! The values of a column, decoded once and kept compactly, each in its storage class.

use std::collections::HashMap;

use portion_core::snapshot::Slice;

use crate::cell::Cell;

/// Code of NULL among those of distinct texts, and so the largest number of texts that are kept once each.
const NULL_CODE: u16 = u16::MAX;
/// Integers beyond are not exact as 64-bit floats.
const MAX_EXACT: u64 = 1 << 53;

/// The decoded values of a column.
pub(crate) struct TypedColumn {
    values: Values,
    /// Text that is not a slice of the source.
    heap: String,
    source: Slice,
    /// True if values were left out because their numbers stand for missing ones.
    pub(crate) has_missing: bool,
}

/// Values of one class, or of several. The least integer of its width, not-a-number and the last place are NULL.
enum Values {
    Small(Vec<i16>),
    Medium(Vec<i32>),
    Large(Vec<i64>),
    /// Numbers, and those of them that are integers.
    Numbers(Vec<f64>, Vec<u64>),
    /// Places of the distinct texts, and one of them for each row.
    Distinct(Vec<u16>, Vec<Value>),
    Texts(Vec<TextPlace>),
    Mixed(Vec<Value>),
}

/// A part of the source, or of the heap if it begins at [`HEAP_START`] or later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TextPlace {
    start: u32,
    len: u32,
}

/// Sources are shorter; places after it are those of the heap.
const HEAP_START: u32 = 1 << 31;
const NO_TEXT: TextPlace = TextPlace { start: u32::MAX, len: 0 };

/// One value.
#[derive(Clone, Copy, Debug)]
enum Value {
    Null,
    Integer(i64),
    Real(f64),
    Text(TextPlace),
}

/// A column that is being decoded.
pub(crate) struct ColumnBuilder {
    values: Vec<Value>,
    heap: String,
    source: Slice,
    pub(crate) has_missing: bool,
}

impl ColumnBuilder {
    /// Creates a builder; `source`: the text of which most texts are slices.
    pub(crate) fn new(source: Slice, rows: usize) -> Self {
        Self { values: Vec::with_capacity(rows), heap: String::new(), source, has_missing: false }
    }

    /// Adds the value of the next row; returns false if there is no room for it.
    pub(crate) fn push(&mut self, cell: &Cell<'_>) -> bool {
        let value = match cell {
            Cell::Null => Value::Null,
            Cell::Integer(n) => Value::Integer(*n),
            Cell::Real(n) if n.is_nan() => Value::Null,
            Cell::Real(n) => Value::Real(*n),
            Cell::Text(text) => match self.place_of(text) {
                Some(place) => Value::Text(place),
                None => return false,
            },
        };
        self.values.push(value);
        true
    }

    /// Returns the place of a text: in the source if it is a slice of that, else in the heap.
    fn place_of(&mut self, text: &str) -> Option<TextPlace> {
        let len = u32::try_from(text.len()).ok()?;
        let offset = (text.as_ptr() as usize).wrapping_sub(self.source.as_ptr() as usize);
        if offset < HEAP_START as usize && offset + text.len() <= self.source.len() {
            return Some(TextPlace { start: offset as u32, len });
        }
        let start = HEAP_START.checked_add(u32::try_from(self.heap.len()).ok()?)?;
        start.checked_add(len).filter(|end| *end < u32::MAX)?;
        self.heap.push_str(text);
        Some(TextPlace { start, len })
    }

    /// Packs the values.
    pub(crate) fn finish(mut self) -> TypedColumn {
        self.heap.shrink_to_fit();
        let values = self.pack();
        TypedColumn { values, heap: self.heap, source: self.source, has_missing: self.has_missing }
    }

    fn pack(&mut self) -> Values {
        let (mut integers, mut reals, mut texts) = (0, 0, 0);
        let (mut min, mut max) = (i64::MAX, i64::MIN);
        for value in &self.values {
            match value {
                Value::Null => {}
                Value::Integer(n) => {
                    integers += 1;
                    (min, max) = (min.min(*n), max.max(*n));
                }
                Value::Real(_) => reals += 1,
                Value::Text(_) => texts += 1,
            }
        }
        let fits = |lower: i64, upper: i64| min > lower && max <= upper;
        let integer = |value: &Value| if let Value::Integer(n) = value { Some(*n) } else { None };
        if texts == 0 && reals == 0 && min > i64::MIN {
            let values = self.values.iter();
            return if integers == 0 || fits(i64::from(i16::MIN), i64::from(i16::MAX)) {
                Values::Small(values.map(|v| integer(v).map_or(i16::MIN, |n| n as i16)).collect())
            } else if fits(i64::from(i32::MIN), i64::from(i32::MAX)) {
                Values::Medium(values.map(|v| integer(v).map_or(i32::MIN, |n| n as i32)).collect())
            } else {
                Values::Large(values.map(|v| integer(v).unwrap_or(i64::MIN)).collect())
            };
        }
        let are_exact = integers == 0 || min.unsigned_abs() <= MAX_EXACT && max.unsigned_abs() <= MAX_EXACT;
        if texts == 0 && are_exact {
            let mut are_integers =
                vec![0_u64; if integers == 0 { 0 } else { self.values.len().div_ceil(64) }];
            let number = |(at, value): (usize, &Value)| match value {
                Value::Integer(n) => {
                    are_integers[at / 64] |= 1 << (at % 64);
                    *n as f64
                }
                Value::Real(n) => *n,
                Value::Null | Value::Text(_) => f64::NAN,
            };
            let numbers = self.values.iter().enumerate().map(number).collect();
            return Values::Numbers(numbers, are_integers);
        }
        if integers + reals == 0 {
            if let Some(distinct) = self.distinct_texts() {
                return distinct;
            }
            let place = |value: &Value| if let Value::Text(place) = value { *place } else { NO_TEXT };
            return Values::Texts(self.values.iter().map(place).collect());
        }
        Values::Mixed(std::mem::take(&mut self.values))
    }

    /// Keeps equal texts once, if there are few distinct ones.
    fn distinct_texts(&mut self) -> Option<Values> {
        let max = usize::from(NULL_CODE).min(self.values.len() / 4);
        let mut numbers: HashMap<&str, u16> = HashMap::new();
        let mut texts = Vec::new();
        let mut codes = Vec::with_capacity(self.values.len());
        for value in &self.values {
            let Value::Text(place) = value else {
                codes.push(NULL_CODE);
                continue;
            };
            let next = texts.len();
            let code = *numbers.entry(text_at(&self.source, &self.heap, *place)).or_insert(next as u16);
            if usize::from(code) == next {
                if next >= max {
                    return None;
                }
                texts.push(*place);
            }
            codes.push(code);
        }
        let mut heap = String::new();
        let mut kept = Vec::with_capacity(texts.len());
        for place in texts {
            let start = HEAP_START + heap.len() as u32;
            if place.start < HEAP_START {
                kept.push(Value::Text(place));
            } else {
                heap.push_str(text_at(&self.source, &self.heap, place));
                kept.push(Value::Text(TextPlace { start, len: place.len }));
            }
        }
        self.heap = heap;
        Some(Values::Distinct(codes, kept))
    }
}

impl TypedColumn {
    /// Returns the value of a row.
    pub(crate) fn value(&self, at: usize) -> Cell<'_> {
        let integer = |n: Option<i64>| n.map_or(Cell::Null, Cell::Integer);
        let value = match &self.values {
            Values::Small(values) => {
                return integer(values.get(at).filter(|n| **n != i16::MIN).map(|n| i64::from(*n)));
            }
            Values::Medium(values) => {
                return integer(values.get(at).filter(|n| **n != i32::MIN).map(|n| i64::from(*n)));
            }
            Values::Large(values) => return integer(values.get(at).copied().filter(|n| *n != i64::MIN)),
            Values::Numbers(values, integers) => match values.get(at) {
                Some(n) if n.is_nan() => Value::Null,
                Some(n) if integers.get(at / 64).is_some_and(|bits| bits >> (at % 64) & 1 == 1) => {
                    Value::Integer(*n as i64)
                }
                Some(n) => Value::Real(*n),
                None => Value::Null,
            },
            Values::Distinct(codes, texts) => {
                codes.get(at).and_then(|code| texts.get(usize::from(*code))).copied().unwrap_or(Value::Null)
            }
            Values::Texts(places) => match places.get(at) {
                Some(place) if *place != NO_TEXT => Value::Text(*place),
                _ => Value::Null,
            },
            Values::Mixed(values) => values.get(at).copied().unwrap_or(Value::Null),
        };
        match value {
            Value::Null => Cell::Null,
            Value::Integer(n) => Cell::Integer(n),
            Value::Real(n) => Cell::Real(n),
            Value::Text(place) => Cell::text(text_at(&self.source, &self.heap, place)),
        }
    }

    /// Returns the heap size in bytes, without the source.
    pub(crate) fn heap_bytes(&self) -> usize {
        let values = match &self.values {
            Values::Small(values) => size_of_val(values.as_slice()),
            Values::Medium(values) => size_of_val(values.as_slice()),
            Values::Large(values) => size_of_val(values.as_slice()),
            Values::Numbers(values, bits) => size_of_val(values.as_slice()) + size_of_val(bits.as_slice()),
            Values::Distinct(codes, texts) => size_of_val(codes.as_slice()) + size_of_val(texts.as_slice()),
            Values::Texts(places) => size_of_val(places.as_slice()),
            Values::Mixed(values) => size_of_val(values.as_slice()),
        };
        values + self.heap.capacity()
    }
}

fn text_at<'a>(source: &'a Slice, heap: &'a str, place: TextPlace) -> &'a str {
    let (text, start) = match place.start.checked_sub(HEAP_START) {
        Some(start) => (heap, start),
        None => (&**source, place.start),
    };
    text.get(start as usize..(start + place.len) as usize).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use portion_core::snapshot::Slice;

    use super::ColumnBuilder;
    use crate::cell::Cell;

    #[test]
    fn null_is_no_text_however_many_there_are() {
        for count in [u16::MAX - 1, u16::MAX] {
            let mut builder = ColumnBuilder::new(Slice::new(String::new()), 0);
            let texts: Vec<String> = (0..=count).map(|n| n.to_string()).collect();
            let mut rows = texts.iter().cycle().take(4 * texts.len());
            assert!(rows.all(|text| builder.push(&Cell::text(text))) && builder.push(&Cell::Null));
            let column = builder.finish();
            assert_eq!(column.value(4 * texts.len()), Cell::Null, "{count}");
            assert_eq!(column.value(texts.len() - 1), Cell::text(&texts[texts.len() - 1]), "{count}");
        }
    }

    #[test]
    fn values_keep_their_class() {
        let long = "x".repeat(40);
        let texts: Vec<Cell<'_>> =
            (0..40).map(|n| Cell::text(if n % 2 == 0 { "a" } else { &long })).collect();
        for cells in [
            vec![Cell::Integer(1), Cell::Null, Cell::Integer(-32_767)],
            vec![Cell::Integer(i64::from(i32::MIN)), Cell::Integer(70_000)],
            vec![Cell::Integer(i64::MIN), Cell::Integer(i64::MAX), Cell::Null],
            vec![Cell::Real(0.5), Cell::Integer(3), Cell::Null, Cell::Real(-2.0)],
            vec![Cell::Real(0.5), Cell::Integer((1 << 53) + 1)],
            vec![Cell::text("a"), Cell::Null, Cell::text("")],
            vec![Cell::text("a"), Cell::Integer(1), Cell::Real(1.0), Cell::Null],
            vec![Cell::Null; 3],
            texts,
        ] {
            let mut builder = ColumnBuilder::new(Slice::new("source".to_owned()), cells.len());
            assert!(cells.iter().all(|cell| builder.push(cell)));
            let column = builder.finish();
            let read: Vec<Cell<'_>> = (0..cells.len()).map(|at| column.value(at)).collect();
            assert_eq!(read, cells);
            assert_eq!(column.value(cells.len()), Cell::Null);
        }
    }
}
