//! Encodes the index of a text.

use std::sync::{Arc, OnceLock};

use portion_json::scan::{JsonKind, SparseOffsets};
use portion_text::chunk;

use super::super::{
    EnclosingObject, Field, FieldRank, IndexedText, Layout, LineIndex, List, ListProfile, Member,
    ObjectIndex, Structure,
};
use super::TextTable;
use crate::codec::{ByteReader, ByteWriter, DecodeError};

/// Number of offsets in one piece of an index.
pub const OFFSETS_PER_PIECE: usize = 4096;
/// Number of offsets up to which they are stored with their list.
const MAX_INLINE_OFFSETS: usize = 256;
/// Bytes of text for each coarse offset of a longer list, on average. Finding an item from there takes microseconds.
const COARSE_BYTES: usize = 16 << 10;

const RANKS: [FieldRank; 10] = [
    FieldRank::Identity,
    FieldRank::Name,
    FieldRank::Status,
    FieldRank::Important,
    FieldRank::Plain,
    FieldRank::NestedLabel,
    FieldRank::Nested,
    FieldRank::LongText,
    FieldRank::Container,
    FieldRank::Noise,
];
const KINDS: [JsonKind; 6] =
    [JsonKind::Object, JsonKind::Array, JsonKind::String, JsonKind::Number, JsonKind::Bool, JsonKind::Null];

/// Pieces that an index refers to.
pub(crate) type IndexPieces = Vec<Vec<u8>>;

/// Writes an indexed text. Long lists of offsets go to `pieces`, and only few of them are written here; without `pieces`,
/// all of them.
pub(crate) fn write_indexed(
    subject: &IndexedText,
    table: &mut TextTable,
    pieces: Option<&mut IndexPieces>,
    out: &mut ByteWriter,
) {
    table.write_slice(&subject.text, out);
    match &subject.structure {
        Structure::List(list) => {
            out.uint(0_u8);
            write_list(list, pieces, out);
        }
        Structure::Object(object) => {
            out.uint(1_u8);
            write_members(&object.listed, out);
            write_offsets(&object.key_offsets, pieces, out);
            out.span(object.span);
        }
        Structure::Text(lines) => {
            out.uint(2_u8);
            out.text(lines.chunker.name());
            write_offsets(&lines.line_offsets, pieces, out);
        }
    }
}

/// Reads an indexed text. Without `pieces`, the indexes of long lists are coarse.
pub(crate) fn read_indexed(
    table: &TextTable,
    pieces: Option<&[Vec<u8>]>,
    input: &mut ByteReader<'_>,
) -> Result<IndexedText, DecodeError> {
    let slice = table.read_slice(input)?;
    let text = slice.loaded();
    let structure = match input.uint()? {
        0 => Structure::List(Arc::new(read_list(text, pieces, input)?)),
        1 => {
            let listed = read_members(text, input)?;
            let key_offsets = read_offsets(text, pieces, input)?;
            let span = input.span(text)?;
            Structure::Object(Arc::new(ObjectIndex { listed, key_offsets, span, largest_array: None }))
        }
        2 => {
            let name = input.text()?;
            let known = chunk::CHUNKERS.iter().copied().find(|chunker| chunker.name() == name);
            let line_offsets = read_offsets(text, pieces, input)?;
            let chunker = known.ok_or(DecodeError::Invalid("kind of text"))?;
            Structure::Text(Arc::new(LineIndex {
                line_offsets,
                chunker,
                tables: OnceLock::new(),
                has_html_headings: OnceLock::new(),
            }))
        }
        _ => return Err(DecodeError::Invalid("structure")),
    };
    Ok(IndexedText { text: slice, structure })
}

fn write_list(list: &List, pieces: Option<&mut IndexPieces>, out: &mut ByteWriter) {
    match &list.layout {
        Layout::Array => out.uint(0_u8),
        Layout::Map => out.uint(1_u8),
        Layout::Lines => out.uint(2_u8),
        Layout::Table { columns, header } => {
            out.uint(3_u8);
            out.texts(columns.iter().map(String::as_str));
            out.uint(*header);
        }
    }
    write_offsets(&list.item_offsets, pieces, out);
    out.span(list.span);
    out.uint(list.enclosing_objects.len());
    for level in &list.enclosing_objects {
        write_members(&level.members, out);
        out.uint(level.list_member);
    }
    out.text(&list.pointer);
    let ListProfile { fields, samples, null_fields } = &list.profile;
    out.uint(fields.len());
    for field in fields {
        out.text(&field.path);
        out.choice(&RANKS, &field.rank);
    }
    out.uint(samples.len());
    samples.iter().for_each(|span| out.span(*span));
    out.texts(null_fields.iter().map(String::as_str));
}

fn read_list(
    text: &str,
    pieces: Option<&[Vec<u8>]>,
    input: &mut ByteReader<'_>,
) -> Result<List, DecodeError> {
    let layout = match input.uint()? {
        0 => Layout::Array,
        1 => Layout::Map,
        2 => Layout::Lines,
        3 => Layout::Table { columns: input.texts()?, header: input.number()? },
        _ => return Err(DecodeError::Invalid("layout")),
    };
    let item_offsets = read_offsets(text, pieces, input)?;
    let span = input.span(text)?;
    let mut enclosing_objects = Vec::new();
    for _ in 0..input.count()? {
        let members = read_members(text, input)?;
        let list_member = input.number()?;
        if list_member >= members.len() {
            return Err(DecodeError::Invalid("list member"));
        }
        enclosing_objects.push(EnclosingObject { members, list_member });
    }
    if let Layout::Table { header, .. } = &layout
        && enclosing_objects.last().is_none_or(|level| *header >= level.members.len())
    {
        return Err(DecodeError::Invalid("table header"));
    }
    let pointer = input.text()?;
    let fields = (0..input.count()?)
        .map(|_| Ok(Field { path: input.text()?, rank: input.choice(&RANKS, "field rank")? }))
        .collect::<Result<_, _>>()?;
    let samples = (0..input.count()?).map(|_| input.span(text)).collect::<Result<_, _>>()?;
    let profile = ListProfile { fields, samples, null_fields: input.texts()? };
    Ok(List {
        layout,
        item_offsets,
        span,
        enclosing_objects,
        pointer,
        profile,
        facts: OnceLock::new(),
        null_columns: OnceLock::new(),
    })
}

fn write_members(members: &[Member], out: &mut ByteWriter) {
    out.uint(members.len());
    for member in members {
        out.span(member.key);
        out.span(member.value);
        out.choice(&KINDS, &member.kind);
    }
}

fn read_members(text: &str, input: &mut ByteReader<'_>) -> Result<Vec<Member>, DecodeError> {
    let member = |input: &mut ByteReader<'_>| {
        Ok(Member {
            key: input.span(text)?,
            value: input.span(text)?,
            kind: input.choice(&KINDS, "kind of value")?,
        })
    };
    (0..input.count()?).map(|_| member(input)).collect()
}

fn write_offsets(offsets: &SparseOffsets, pieces: Option<&mut IndexPieces>, out: &mut ByteWriter) {
    let entries = offsets.entries();
    out.uint(offsets.len());
    out.uint(offsets.stride_log2());
    match pieces.filter(|_| entries.len() > MAX_INLINE_OFFSETS) {
        None => {
            out.flag(false);
            write_ascending(entries, out);
        }
        Some(pieces) => {
            out.flag(true);
            let coarse = coarse_step_log2(entries);
            out.uint(coarse);
            write_ascending(&entries.iter().copied().step_by(1 << coarse).collect::<Vec<_>>(), out);
            out.uint(pieces.len());
            out.uint(entries.len().div_ceil(OFFSETS_PER_PIECE));
            pieces.extend(entries.chunks(OFFSETS_PER_PIECE).map(|entries| {
                let mut piece = ByteWriter::default();
                write_ascending(entries, &mut piece);
                piece.into_bytes()
            }));
        }
    }
}

/// Returns the binary logarithm of the number of offsets for each coarse one.
fn coarse_step_log2(entries: &[u32]) -> u32 {
    let text = entries.last().zip(entries.first()).map_or(0, |(last, first)| (last - first) as usize);
    let max = (text / COARSE_BYTES).max(MAX_INLINE_OFFSETS);
    entries.len().div_ceil(max).next_power_of_two().ilog2()
}

fn read_offsets(
    text: &str,
    pieces: Option<&[Vec<u8>]>,
    input: &mut ByteReader<'_>,
) -> Result<SparseOffsets, DecodeError> {
    let (len, mut stride_log2): (usize, u32) = (input.number()?, input.number()?);
    let mut entries = Vec::new();
    if input.flag()? {
        let step_log2: u32 = input.number()?;
        read_ascending(input, &mut entries)?;
        let (first, count): (usize, usize) = (input.number()?, input.number()?);
        if let Some(pieces) = pieces {
            entries.clear();
            let pieces = first.checked_add(count).and_then(|end| pieces.get(first..end));
            for piece in pieces.ok_or(DecodeError::Invalid("index piece"))? {
                let mut piece = ByteReader::new(piece);
                read_ascending(&mut piece, &mut entries)?;
                piece.expect_end()?;
            }
        } else {
            stride_log2 = stride_log2.saturating_add(step_log2);
        }
    } else {
        read_ascending(input, &mut entries)?;
    }
    // An item has at least one byte. Memory is reserved for the number of items.
    let in_text = len <= text.len() && entries.iter().all(|at| text.is_char_boundary(*at as usize));
    let offsets = SparseOffsets::from_entries(entries, len, stride_log2).filter(|_| in_text);
    offsets.ok_or(DecodeError::Invalid("offsets"))
}

fn write_ascending(entries: &[u32], out: &mut ByteWriter) {
    out.uint(entries.len());
    let mut before = 0;
    for entry in entries {
        out.uint(entry.saturating_sub(before));
        before = *entry;
    }
}

fn read_ascending(input: &mut ByteReader<'_>, entries: &mut Vec<u32>) -> Result<(), DecodeError> {
    let mut at: u32 = 0;
    for _ in 0..input.count()? {
        at = at.checked_add(input.number()?).ok_or(DecodeError::Invalid("offset"))?;
        entries.push(at);
    }
    Ok(())
}
