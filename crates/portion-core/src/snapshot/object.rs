//! Indexes the members of an object in one pass.

use portion_json::path::key_matches;
use portion_json::scan::{JsonKind, JsonReader, ScanError, SparseOffsets};
use portion_json::span::Span;

/// One member of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// Span of the key, quotes included.
    pub key: Span,
    /// Span of the value.
    pub value: Span,
    /// Kind of the value.
    pub kind: JsonKind,
}

/// Index of the members of an object: the offsets of all, and the spans of the first ones.
#[derive(Clone, Debug)]
pub struct ObjectIndex {
    /// The first [`ObjectIndex::MAX_LISTED`] members.
    pub listed: Vec<Member>,
    /// Offset of the key of every member.
    pub key_offsets: SparseOffsets,
    /// Span of the object, braces included.
    pub span: Span,
    /// The largest array among the listed members: index of the member, and offsets of its items.
    pub(super) largest_array: Option<(usize, SparseOffsets)>,
}

impl ObjectIndex {
    /// Maximum listed members. An object with more is a map, whatever it holds.
    pub const MAX_LISTED: usize = 512;

    /// Reads and validates the object at the reader.
    ///
    /// # Errors
    /// If the text is not JSON.
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

    /// Returns the number of members.
    pub fn len(&self) -> usize {
        self.key_offsets.len()
    }

    /// Returns true if there are no members.
    pub fn is_empty(&self) -> bool {
        self.key_offsets.is_empty()
    }

    /// Returns the member with that key, among the listed ones.
    pub fn get(&self, text: &str, key: &str) -> Option<&Member> {
        self.listed.iter().find(|member| key_matches(text, member.key, key))
    }

    /// Returns the item offsets of the listed member `at`, if it is an array.
    pub(super) fn take_item_offsets(&mut self, text: &str, at: usize) -> Option<SparseOffsets> {
        match self.largest_array.take() {
            Some((largest, items)) if largest == at => Some(items),
            _ => read_item_offsets(&mut JsonReader::resume(text, self.listed.get(at)?.value.start as usize))
                .ok(),
        }
    }
}

/// Returns the item offsets of the array at the reader.
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
