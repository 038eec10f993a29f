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
mod texts;

pub use index::OFFSETS_PER_PIECE;
pub(crate) use index::{read_indexed, write_indexed};
pub use texts::MAX_BLOCK_BYTES;
pub(crate) use texts::TextTable;

use super::Snapshot;
use crate::codec::{ByteReader, ByteWriter, DecodeError};

/// Version of the encoding.
const VERSION: u64 = 7;
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
        let blocks = texts::write_blocks(snapshot, &table, max_bytes, &mut body);
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
    let table = texts::read_blocks(blocks, &mut input)?;
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
