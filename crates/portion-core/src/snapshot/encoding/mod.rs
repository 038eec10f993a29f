//! Encodes snapshots for stores outside this process.
//!
//! A snapshot becomes three kinds of fields, so that a store can read some of them:
//!
//! - the *meta*: everything but the texts and the long lists of offsets, of which it has a few, so that pages can be read
//!   without the others;
//! - *index pieces*: up to [`OFFSETS_PER_PIECE`] offsets of items each;
//! - *blocks*: the texts, in pieces of up to [`MAX_BLOCK_BYTES`] that end at items where items are smaller.
//!
//! The encoding has a version. What another version wrote is an error, never a guess. Decoding restores the
//! index as it was captured, so positions in issued cursors stay valid whatever later versions detect in the
//! same text.
//!
//! ```
//! use portion_core::payload::{Block, Content, Payload};
//! use portion_core::snapshot::{EncodedSnapshot, FieldCounts, capture};
//!
//! let block = Block::new("/content/0/text", Content::Text("[1,2,3]".into()));
//! let snapshot = capture(Payload { blocks: vec![block], ..Payload::default() });
//! let encoded = EncodedSnapshot::new(&snapshot);
//! assert_eq!(FieldCounts::read(&encoded.meta)?, FieldCounts { index_pieces: 0, blocks: 1 });
//! assert_eq!(encoded.decode()?.parts()[0].text(), "[1,2,3]");
//! # Ok::<(), portion_core::DecodeError>(())
//! ```

mod index;
mod parts;

pub use index::OFFSETS_PER_PIECE;
pub(crate) use index::{read_indexed, write_indexed};

use portion_json::span::Span;

use super::slice::Gaps;
use super::{Slice, Snapshot, Structure};
use crate::codec::{ByteReader, ByteWriter, DecodeError};

/// Version of the encoding.
const VERSION: u64 = 8;
/// Largest valid number of index pieces: those of a text of 4 GiB with an offset for each byte.
const MAX_INDEX_PIECES: u32 = u32::MAX / OFFSETS_PER_PIECE as u32;

/// An encoded snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EncodedSnapshot {
    /// Everything but the other fields.
    pub meta: Vec<u8>,
    /// Offsets of the items of long lists.
    pub index_pieces: Vec<Vec<u8>>,
    /// The texts.
    pub blocks: Vec<Vec<u8>>,
}

/// Numbers of fields that belong to a meta.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldCounts {
    /// Number of index pieces.
    pub index_pieces: u32,
    /// Number of blocks.
    pub blocks: u32,
}

impl EncodedSnapshot {
    /// Encodes a snapshot.
    pub fn new(snapshot: &Snapshot) -> Self {
        Self::with_block_size(snapshot, MAX_BLOCK_BYTES)
    }

    /// Encodes a snapshot with smaller blocks: of up to `max_bytes`, and at least one character.
    pub fn with_block_size(snapshot: &Snapshot, max_bytes: usize) -> Self {
        let max_bytes = max_bytes.clamp(char::MAX.len_utf8(), MAX_BLOCK_BYTES);
        let mut table = TextTable::from_snapshot(snapshot);
        let (mut index_pieces, mut body) = (Vec::new(), ByteWriter::default());
        let blocks = write_blocks(snapshot, &table, max_bytes, &mut body);
        parts::write_snapshot(snapshot, &mut table, &mut index_pieces, &mut body);
        let mut meta = ByteWriter::default();
        meta.uint(VERSION);
        meta.uint(index_pieces.len());
        meta.uint(blocks.len());
        meta.append(body);
        Self { meta: meta.into_bytes(), index_pieces, blocks }
    }

    /// Decodes the snapshot.
    ///
    /// # Errors
    /// [`DecodeError`] for anything but the complete fields of one snapshot in this version.
    pub fn decode(&self) -> Result<Snapshot, DecodeError> {
        let blocks: Vec<Option<&[u8]>> = self.blocks.iter().map(|block| Some(&**block)).collect();
        decode_fields(&self.meta, Some(&self.index_pieces), &blocks)
    }

    /// Decodes a snapshot without index pieces, and without the blocks that are `None`. Its indexes are coarse: an item is
    /// found from the beginning of a few kilobytes.
    ///
    /// # Errors
    /// [`DecodeError`] for anything but the fields of one snapshot in this version.
    pub fn decode_partial(meta: &[u8], blocks: &[Option<&[u8]>]) -> Result<Snapshot, DecodeError> {
        decode_fields(meta, None, blocks)
    }
}

fn decode_fields(
    meta: &[u8],
    index_pieces: Option<&[Vec<u8>]>,
    blocks: &[Option<&[u8]>],
) -> Result<Snapshot, DecodeError> {
    let mut input = ByteReader::new(meta);
    let counts = read_counts(&mut input)?;
    let has_pieces = index_pieces.is_none_or(|pieces| pieces.len() == counts.index_pieces as usize);
    if !has_pieces || blocks.len() != counts.blocks as usize {
        return Err(DecodeError::Invalid("number of fields"));
    }
    let table = read_blocks(blocks, &mut input)?;
    let snapshot = parts::read_snapshot(&table, index_pieces, &mut input)?;
    input.expect_end()?;
    Ok(snapshot)
}

impl FieldCounts {
    /// Reads from a meta how many other fields there are.
    ///
    /// # Errors
    /// [`DecodeError`] if it is no meta of this version.
    pub fn read(meta: &[u8]) -> Result<Self, DecodeError> {
        read_counts(&mut ByteReader::new(meta))
    }
}

fn read_counts(input: &mut ByteReader<'_>) -> Result<FieldCounts, DecodeError> {
    let given = input.uint()?;
    if given != VERSION {
        return Err(DecodeError::Version { given, known: VERSION });
    }
    let index_pieces = input.number()?;
    if index_pieces > MAX_INDEX_PIECES {
        return Err(DecodeError::Invalid("number of index pieces"));
    }
    // The size of each block follows.
    let blocks = u32::try_from(input.count()?).map_err(|_| DecodeError::Invalid("number of blocks"))?;
    Ok(FieldCounts { index_pieces, blocks })
}

/// Largest size of a block in bytes.
pub const MAX_BLOCK_BYTES: usize = 64 << 10;

/// The distinct texts that the slices of a snapshot refer to, in the order of their first use.
#[derive(Clone, Debug, Default)]
pub(crate) struct TextTable {
    texts: Vec<Slice>,
}

impl TextTable {
    /// Collects the texts of a snapshot.
    pub(crate) fn from_snapshot(snapshot: &Snapshot) -> Self {
        let mut table = Self::default();
        for part in snapshot.parts() {
            table.add(part.source());
            if let Some(subject) = part.indexed_text() {
                table.add(&subject.text);
            }
        }
        table
    }

    /// Adds the text of a slice, unless it is there. Returns its index.
    pub(crate) fn add(&mut self, slice: &Slice) -> usize {
        let known = self.texts.iter().position(|text| text.shares_buffer(slice));
        known.unwrap_or_else(|| {
            self.texts.push(slice.whole_buffer());
            self.texts.len() - 1
        })
    }

    pub(crate) fn push(&mut self, text: Slice) {
        self.texts.push(text);
    }

    /// Returns the texts from index `from` on.
    pub(crate) fn texts_from(&self, from: usize) -> &[Slice] {
        self.texts.get(from..).unwrap_or_default()
    }

    pub(crate) fn len(&self) -> usize {
        self.texts.len()
    }

    /// Writes which part of which text a slice is.
    pub(crate) fn write_slice(&mut self, slice: &Slice, out: &mut ByteWriter) {
        out.uint(self.add(slice));
        out.uint(slice.start());
        out.uint(slice.len());
    }

    pub(crate) fn read_slice(&self, input: &mut ByteReader<'_>) -> Result<Slice, DecodeError> {
        let text: usize = input.number()?;
        let text = self.texts.get(text).ok_or(DecodeError::Invalid("text index"))?;
        Ok(text.subslice(input.span(text.loaded())?))
    }
}

/// Cuts the texts of a snapshot into blocks of up to `max_bytes`, and writes their sizes.
fn write_blocks(
    snapshot: &Snapshot,
    table: &TextTable,
    max_bytes: usize,
    out: &mut ByteWriter,
) -> Vec<Vec<u8>> {
    let mut blocks = Vec::new();
    out.uint(table.len());
    for text in table.texts_from(0) {
        let sizes = block_sizes(text, &item_starts(snapshot, text), max_bytes);
        out.uint(sizes.len());
        let mut rest = text.as_bytes();
        for size in sizes {
            out.uint(size);
            let (block, after) = rest.split_at(size);
            blocks.push(block.to_vec());
            rest = after;
        }
    }
    blocks
}

/// Joins the blocks to texts, with gaps for those that are `None`.
fn read_blocks(blocks: &[Option<&[u8]>], input: &mut ByteReader<'_>) -> Result<TextTable, DecodeError> {
    let (mut table, mut number) = (TextTable::default(), 0_usize);
    for _ in 0..input.count()? {
        let sizes = (0..input.count()?).map(|_| input.number()).collect::<Result<Vec<usize>, _>>()?;
        // A size is at most 64 KiB, and their sum fits into a span.
        let len = sizes.iter().fold(0_usize, |sum, size| sum.saturating_add(*size));
        if sizes.iter().any(|size| *size > MAX_BLOCK_BYTES) || u32::try_from(len).is_err() {
            return Err(DecodeError::Invalid("block size"));
        }
        let blocks = blocks.get(number..number + sizes.len()).ok_or(DecodeError::Invalid("block"))?;
        // Checked before memory is reserved for the sum.
        if blocks.iter().zip(&sizes).any(|(block, size)| block.is_some_and(|block| block.len() != *size)) {
            return Err(DecodeError::Invalid("block"));
        }
        // Most of a text with gaps is zero pages that are never written.
        let (mut text, mut at, mut gaps) = (vec![0; len], 0, Gaps::default());
        for (block, size) in blocks.iter().zip(sizes) {
            match block {
                Some(block) => text[at..at + size].copy_from_slice(block),
                None => gaps.push(Span::new(at, at + size), number as u32),
            }
            (at, number) = (at + size, number + 1);
        }
        let text = String::from_utf8(text).map_err(|_| DecodeError::Invalid("text"))?;
        table.push(Slice::new(text).with_gaps(gaps));
    }
    if number < blocks.len() { Err(DecodeError::Invalid("block count")) } else { Ok(table) }
}

/// Returns the offsets in a text at which a block should begin: those of indexed items, members and lines.
fn item_starts(snapshot: &Snapshot, text: &Slice) -> Vec<u32> {
    let subjects = snapshot.parts().iter().filter_map(|part| part.indexed_text());
    let mut starts: Vec<u32> = Vec::new();
    for subject in subjects.filter(|subject| subject.text.shares_buffer(text)) {
        let offsets = match &subject.structure {
            Structure::List(list) => &list.item_offsets,
            Structure::Object(members) => &members.key_offsets,
            Structure::Text(lines) => &lines.line_offsets,
        };
        let shift = subject.text.start() as u32;
        starts.extend(offsets.entries().iter().map(|at| at.saturating_add(shift)));
    }
    starts.sort_unstable();
    starts
}

/// Returns the sizes of the blocks of a text. Each block ends at the last item start within the limit, or
/// inside an item that is larger than a block.
fn block_sizes(text: &str, starts: &[u32], max_bytes: usize) -> Vec<usize> {
    let (mut sizes, mut from) = (Vec::new(), 0);
    while from < text.len() {
        let limit = from + max_bytes;
        let end = if limit >= text.len() {
            text.len()
        } else {
            let before = starts.partition_point(|start| *start as usize <= limit);
            let item = before.checked_sub(1).map(|last| starts[last] as usize);
            let item = item.filter(|item| *item > from && text.is_char_boundary(*item));
            item.unwrap_or_else(|| text.floor_char_boundary(limit))
        };
        sizes.push(end - from);
        from = end;
    }
    sizes
}
