//! The members of an object, found in one pass.

use crate::scan::{JsonKind, JsonReader, ScanError, SparseOffsets};
use crate::span::Span;

/// One member of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its key, quotes included.
    pub key: Span,
    /// Its value.
    pub value: Span,
    /// What its value is.
    pub kind: JsonKind,
}

/// The members of an object: all of them counted and findable, the first ones at hand.
#[derive(Clone, Debug)]
pub struct ObjectIndex {
    /// The first [`ObjectIndex::MAX_LISTED`] members.
    pub listed: Vec<Member>,
    /// Where every member's key begins.
    pub key_offsets: SparseOffsets,
    /// The object, braces included.
    pub span: Span,
    /// The largest array among the members at hand: which member, and where its items begin.
    pub(super) largest_array: Option<(usize, SparseOffsets)>,
}

impl ObjectIndex {
    /// Members listed one by one. An object of more is a map, whatever it holds.
    pub const MAX_LISTED: usize = 512;

    /// Reads the object that the reader is at, validating it.
    ///
    /// # Errors
    /// Where the text is not JSON.
    pub fn parse(reader: &mut JsonReader<'_>) -> Result<Self, ScanError> {
        reader.peek()?;
        let start = reader.at();
        reader.enter_object()?;
        let mut members = Self {
            listed: Vec::new(),
            key_offsets: SparseOffsets::default(),
            span: Span::default(),
            largest_array: None,
        };
        let mut largest = 0;
        while let Some(key) = reader.next_key()? {
            members.key_offsets.push(key.start as usize);
            if members.listed.len() == Self::MAX_LISTED {
                reader.skip()?;
                continue;
            }
            let kind = reader.peek()?;
            let from = reader.at();
            if kind == JsonKind::Array {
                let items = read_item_offsets(reader)?;
                let value = Span::new(from, reader.at());
                if value.len() > largest {
                    largest = value.len();
                    members.largest_array = Some((members.listed.len(), items));
                }
                members.listed.push(Member { key, value, kind });
            } else {
                let value = reader.skip()?;
                members.listed.push(Member { key, value, kind });
            }
        }
        members.span = Span::new(start, reader.at());
        members.key_offsets.shrink_to_fit();
        Ok(members)
    }

    /// How many members there are.
    pub fn len(&self) -> usize {
        self.key_offsets.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.key_offsets.is_empty()
    }

    /// The member of that key, among those at hand.
    pub fn get(&self, text: &str, key: &str) -> Option<&Member> {
        self.listed.iter().find(|member| key_matches(text, member.key, key))
    }

    /// Where the items of the member at hand begin that is an array.
    pub(super) fn take_item_offsets(&mut self, text: &str, at: usize) -> Option<SparseOffsets> {
        match self.largest_array.take() {
            Some((largest, items)) if largest == at => Some(items),
            _ => read_item_offsets(&mut JsonReader::resume(text, self.listed.get(at)?.value.start as usize))
                .ok(),
        }
    }
}

/// Whether the key at a span is that name.
pub(crate) fn key_matches(text: &str, key: Span, name: &str) -> bool {
    let quoted = key.slice(text);
    let inner = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default();
    inner == name || (inner.contains('\\') && crate::scan::unescape(quoted) == name)
}

/// Where the items of the array begin that the reader is at.
pub(super) fn read_item_offsets(reader: &mut JsonReader<'_>) -> Result<SparseOffsets, ScanError> {
    reader.enter_array()?;
    let mut items = SparseOffsets::default();
    while reader.next_item()? {
        items.push(reader.at());
        reader.skip()?;
    }
    items.shrink_to_fit();
    Ok(items)
}
