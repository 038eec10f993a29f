//! Encodes views for stores outside this process.

use std::sync::Arc;

use portion_json::projection::FieldSelection;

use super::{Base64Source, Pagination, RequestedFields, SortOrder, Target, TargetValue, TextRange, View};
use crate::codec::{ByteReader, ByteWriter, DecodeError};
use crate::cursor::ViewId;
use crate::snapshot::{IndexedText, Slice, Snapshot, Structure, TextTable, read_indexed, write_indexed};

/// Version of the encoding.
const VERSION: u64 = 3;
/// Index pieces of a view: its offsets are written with it.
const NO_PIECES: Option<&[Vec<u8>]> = Some(&[]);

impl View {
    /// Encodes the view of a snapshot.
    pub fn encode(&self, snapshot: &Snapshot) -> Vec<u8> {
        let mut table = TextTable::from_snapshot(snapshot);
        let (shared, mut body) = (table.len(), ByteWriter::default());
        match &self.target {
            Target::Everything => body.flag(false),
            Target::Value(value) => {
                body.flag(true);
                write_value(snapshot, value, &mut table, &mut body);
                let subset = value.field_subset.as_ref();
                body.option(subset, |body, (fields, whole)| {
                    write_fields(fields, body);
                    write_value(snapshot, whole, &mut table, body);
                });
            }
        }
        self.write_selection(&mut body);
        let mut out = ByteWriter::default();
        out.uint(VERSION);
        // Texts that are not in the snapshot: decoded strings and selections of fields.
        out.texts(table.texts_from(shared).iter().map(|text| &**text));
        out.append(body);
        out.into_bytes()
    }

    /// Decodes the view with this id of a snapshot.
    ///
    /// # Errors
    /// [`DecodeError`] for anything but a view of that snapshot in this version.
    pub fn decode(snapshot: &Snapshot, id: ViewId, bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut input = ByteReader::new(bytes);
        let given = input.uint()?;
        if given != VERSION {
            return Err(DecodeError::Version { given, known: VERSION });
        }
        let mut table = TextTable::from_snapshot(snapshot);
        input.texts()?.into_iter().for_each(|text| table.push(Slice::new(text)));
        let target = match input.option(|input| read_value(snapshot, &table, input))? {
            None => Target::Everything,
            Some(mut value) => {
                value.field_subset = input.option(|input| {
                    Ok((read_fields(input)?, Arc::new(read_value(snapshot, &table, input)?)))
                })?;
                Target::Value(Arc::new(value))
            }
        };
        let view = Self { id, ..Self::read_selection(snapshot, target, &mut input)? };
        input.expect_end()?;
        Ok(view)
    }

    fn write_selection(&self, out: &mut ByteWriter) {
        match &self.field_selection {
            RequestedFields::Auto => out.uint(0_u8),
            RequestedFields::All => out.uint(1_u8),
            RequestedFields::Only(fields) => {
                out.uint(2_u8);
                write_fields(fields, out);
            }
        }
        out.option(self.limit, ByteWriter::uint);
        out.option(self.order.as_ref(), |out, order| {
            out.text(&order.spec);
            out.uint(order.part);
            out.flag(order.is_requested);
            out.uint(order.item_indices.len());
            order.item_indices.iter().for_each(|index| out.uint(*index));
            out.option(order.top_count, ByteWriter::uint);
        });
        out.flag(self.raw);
        out.flag(self.is_section);
        out.option(self.range, |out, range| {
            out.span(range.span);
            out.flag(range.is_line_range);
        });
        out.option(self.pagination.as_deref(), |out, pagination| {
            out.uint(pagination.part_index);
            out.uint(pagination.page_size);
            out.flag(pagination.is_sample);
            out.option(pagination.first_page_count, ByteWriter::uint);
            out.option(pagination.kept_fields.as_ref(), |out, fields| write_fields(fields, out));
        });
    }

    fn read_selection(
        snapshot: &Snapshot,
        target: Target,
        input: &mut ByteReader<'_>,
    ) -> Result<Self, DecodeError> {
        let field_selection = match input.uint()? {
            0 => RequestedFields::Auto,
            1 => RequestedFields::All,
            2 => RequestedFields::Only(read_fields(input)?),
            _ => return Err(DecodeError::Invalid("selection of fields")),
        };
        let limit = input.option(ByteReader::number)?;
        let order = input.option(|input| {
            let spec = input.text()?;
            let (part, is_requested) = (input.number()?, input.flag()?);
            let count = input.count()?;
            let item_indices = (0..count).map(|_| input.number()).collect::<Result<Arc<[u32]>, _>>()?;
            let order = SortOrder {
                spec,
                part,
                is_requested,
                item_indices,
                top_count: input.option(ByteReader::number)?,
            };
            Some(order).filter(|order| fits(snapshot, &target, order)).ok_or(DecodeError::Invalid("order"))
        })?;
        let (raw, is_section) = (input.flag()?, input.flag()?);
        let text = match &target {
            Target::Value(value) => value.subject.text.clone(),
            Target::Everything => Slice::new(String::new()),
        };
        let range = input.option(|input| {
            Ok(TextRange { span: input.span(text.loaded())?, is_line_range: input.flag()? })
        })?;
        let pagination = input.option(|input| {
            Ok(Arc::new(Pagination {
                part_index: input.number()?,
                page_size: input.number()?,
                is_sample: input.flag()?,
                first_page_count: input.option(ByteReader::number)?,
                kept_fields: input.option(read_fields)?,
            }))
        })?;
        Ok(Self {
            target,
            field_selection,
            limit,
            order,
            raw,
            is_section,
            range,
            pagination,
            ..Self::default()
        })
    }
}

/// Returns true if an order is one of the items of a view's list.
fn fits(snapshot: &Snapshot, target: &Target, order: &SortOrder) -> bool {
    let subject = match target {
        Target::Value(value) => Some(&value.subject),
        Target::Everything => part_index(snapshot, order.part),
    };
    let Some(Structure::List(list)) = subject.map(|subject| &subject.structure) else { return false };
    order.item_indices.iter().all(|index| (*index as usize) < list.len())
}

fn part_index(snapshot: &Snapshot, part: u16) -> Option<&IndexedText> {
    snapshot.parts().get(usize::from(part))?.indexed_text()
}

/// Writes a value without its [`TargetValue::field_subset`].
fn write_value(snapshot: &Snapshot, value: &TargetValue, table: &mut TextTable, out: &mut ByteWriter) {
    out.uint(value.part);
    out.text(&value.pointer);
    let own = part_index(snapshot, value.part).filter(|own| is_same(own, &value.subject));
    out.flag(own.is_some());
    if own.is_none() {
        write_indexed(&value.subject, table, None, out);
    }
    table.write_slice(&value.source, out);
    out.option(value.base64.as_ref(), |out, base64| {
        out.text(&base64.mime_type);
        out.option(base64.text_encoding.as_deref(), ByteWriter::text);
    });
    out.uint(value.extra_bytes);
}

fn read_value(
    snapshot: &Snapshot,
    table: &TextTable,
    input: &mut ByteReader<'_>,
) -> Result<TargetValue, DecodeError> {
    let (part, pointer) = (input.number()?, input.text()?);
    if usize::from(part) >= snapshot.parts().len() {
        return Err(DecodeError::Invalid("part"));
    }
    let subject = if input.flag()? {
        part_index(snapshot, part).cloned().ok_or(DecodeError::Invalid("part"))?
    } else {
        read_indexed(table, NO_PIECES, input)?
    };
    Ok(TargetValue {
        part,
        pointer,
        subject,
        source: table.read_slice(input)?,
        base64: input.option(|input| {
            Ok(Base64Source { mime_type: input.text()?, text_encoding: input.option(ByteReader::text)? })
        })?,
        field_subset: None,
        extra_bytes: input.number()?,
    })
}

/// Returns true if both share one index.
fn is_same(one: &IndexedText, other: &IndexedText) -> bool {
    match (&one.structure, &other.structure) {
        (Structure::List(one), Structure::List(other)) => Arc::ptr_eq(one, other),
        (Structure::Object(one), Structure::Object(other)) => Arc::ptr_eq(one, other),
        (Structure::Text(one), Structure::Text(other)) => Arc::ptr_eq(one, other),
        _ => false,
    }
}

fn write_fields(fields: &FieldSelection, out: &mut ByteWriter) {
    out.texts(fields.paths().iter().map(String::as_str));
}

fn read_fields(input: &mut ByteReader<'_>) -> Result<FieldSelection, DecodeError> {
    Ok(input.texts()?.into_iter().collect())
}
