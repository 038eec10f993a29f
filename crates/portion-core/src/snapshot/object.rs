//! The members of an object, found in one pass.

use crate::scan::{Kind, Offsets, Reader, ScanError};
use crate::span::Span;

/// One member of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its key, quotes included.
    pub key: Span,
    /// Its value.
    pub value: Span,
    /// What its value is.
    pub kind: Kind,
}

/// The members of an object: all of them counted and findable, the first ones at hand.
#[derive(Clone, Debug)]
pub struct Members {
    /// The first [`Members::AT_HAND`] members.
    pub list: Vec<Member>,
    /// Where every member's key begins.
    pub keys: Offsets,
    /// The object, braces included.
    pub span: Span,
    /// The largest array among the members at hand: which member, and where its items begin.
    pub(super) largest_array: Option<(usize, Offsets)>,
}

impl Members {
    /// Members listed one by one. An object of more is a map, whatever it holds.
    pub const AT_HAND: usize = 512;

    /// Reads the object that the reader is at, validating it.
    ///
    /// # Errors
    /// Where the text is not JSON.
    pub fn read(reader: &mut Reader<'_>) -> Result<Self, ScanError> {
        reader.peek()?;
        let start = reader.at();
        reader.enter_object()?;
        let mut members =
            Self { list: Vec::new(), keys: Offsets::default(), span: Span::default(), largest_array: None };
        let mut largest = 0;
        while let Some(key) = reader.next_key()? {
            members.keys.push(key.start as usize);
            if members.list.len() == Self::AT_HAND {
                reader.skip()?;
                continue;
            }
            let kind = reader.peek()?;
            let from = reader.at();
            if kind == Kind::Array {
                let items = items(reader)?;
                let value = Span::new(from, reader.at());
                if value.len() > largest {
                    largest = value.len();
                    members.largest_array = Some((members.list.len(), items));
                }
                members.list.push(Member { key, value, kind });
            } else {
                let value = reader.skip()?;
                members.list.push(Member { key, value, kind });
            }
        }
        members.span = Span::new(start, reader.at());
        members.keys.shrink();
        Ok(members)
    }

    /// How many members there are.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The member of that key, among those at hand.
    pub fn get(&self, text: &str, key: &str) -> Option<&Member> {
        self.list.iter().find(|member| is_key(text, member.key, key))
    }

    /// Where the items of the member at hand begin that is an array.
    pub(super) fn items(&mut self, text: &str, at: usize) -> Option<Offsets> {
        match self.largest_array.take() {
            Some((largest, items)) if largest == at => Some(items),
            _ => items(&mut Reader::resume(text, self.list.get(at)?.value.start as usize)).ok(),
        }
    }
}

/// Whether the key at a span is that name.
pub(crate) fn is_key(text: &str, key: Span, name: &str) -> bool {
    let quoted = key.of(text);
    let inner = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default();
    inner == name || (inner.contains('\\') && crate::scan::decoded(quoted) == name)
}

/// Where the items of the array begin that the reader is at.
pub(super) fn items(reader: &mut Reader<'_>) -> Result<Offsets, ScanError> {
    reader.enter_array()?;
    let mut items = Offsets::default();
    while reader.next_item()? {
        items.push(reader.at());
        reader.skip()?;
    }
    items.shrink();
    Ok(items)
}
