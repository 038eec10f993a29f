//! Encodes the parts of a snapshot, and what is known of the whole.

use std::sync::Arc;

use super::super::embedded_json::{EnclosingString, JsonOrigin};
use super::super::{DerivedData, DuplicateForm, Part, PartBody, Snapshot, StructuredDuplicate};
use super::TextTable;
use super::index::{IndexPieces, read_indexed, write_indexed};
use crate::codec::{ByteReader, ByteWriter, DecodeError};
use crate::missing_codes::MissingCodes;
use crate::paging::{ArgumentValue, PagingArgument};
use crate::payload::{
    BinaryInfo, BlockLabel, DATA_POINTERS, NextPage, QueryAnswer, TransportPage, UpstreamList,
};

pub(super) fn write_snapshot(
    snapshot: &Snapshot,
    table: &mut TextTable,
    pieces: &mut IndexPieces,
    out: &mut ByteWriter,
) {
    out.uint(snapshot.parts.len());
    for part in &snapshot.parts {
        write_part(part, table, pieces, out);
    }
    out.uint(snapshot.invalid_utf8_count);
    out.uint(snapshot.lone_surrogate_count);
    out.flag(snapshot.is_text_only);
    out.uint(snapshot.frame_bytes);
    out.option(snapshot.query_answer.as_ref(), |out, answer| {
        out.uint(answer.match_count);
        out.uint(answer.word_match_count);
        out.text(&serde_json::to_string(&answer.extra_meta).unwrap_or_else(|_| "{}".to_owned()));
        out.flag(answer.has_known_fields);
        out.flag(answer.selects_all_columns);
    });
    out.texts(snapshot.redacted_fields.iter().map(String::as_str));
    out.flag(snapshot.is_list_path_missing);
    write_paging(&snapshot.paging_arguments, out);
    out.option(snapshot.transport_page.as_deref(), |out, page| {
        out.option(page.next.as_ref(), |out, next| {
            let (is_link, text) = match next {
                NextPage::Link(text) => (true, text),
                NextPage::Call(text) => (false, text),
            };
            out.flag(is_link);
            out.text(text);
        });
        // Numbers that do not fit are not reported.
        out.option(page.total.and_then(|total| usize::try_from(total).ok()), ByteWriter::uint);
    });
    out.option(snapshot.upstream_list.as_ref(), |out, list| {
        out.uint(list.fetched);
        out.option(list.total, ByteWriter::uint);
        out.flag(list.is_partial);
        out.option(list.stop_reason.as_deref(), ByteWriter::text);
        out.flag(list.has_changed);
        out.option(list.continuation.as_deref(), ByteWriter::text);
        out.uint(list.skipped);
        out.option(list.opening_count, ByteWriter::uint);
    });
    out.texts(snapshot.missing_codes.to_entries().iter().map(String::as_str));
}

pub(super) fn read_snapshot(
    table: &TextTable,
    pieces: Option<&[Vec<u8>]>,
    input: &mut ByteReader<'_>,
) -> Result<Snapshot, DecodeError> {
    let count = input.count()?;
    let parts = (0..count).map(|_| read_part(table, pieces, input)).collect::<Result<Vec<_>, _>>()?;
    check_duplicates(&parts)?;
    Ok(Snapshot {
        parts,
        invalid_utf8_count: input.number()?,
        // A store keeps the text.
        passes_as_bytes: false,
        derived: DerivedData::default(),
        lone_surrogate_count: input.number()?,
        is_text_only: input.flag()?,
        frame_bytes: input.number()?,
        query_answer: input.option(|input| {
            Ok(QueryAnswer {
                match_count: input.number()?,
                word_match_count: input.number()?,
                extra_meta: serde_json::from_str(&input.text()?)
                    .map_err(|_| DecodeError::Invalid("facts about an answer"))?,
                has_known_fields: input.flag()?,
                selects_all_columns: input.flag()?,
                reads_other_lists: false,
            })
        })?,
        redacted_fields: input.texts()?,
        is_list_path_missing: input.flag()?,
        paging_arguments: read_paging(input)?,
        transport_page: input.option(|input| {
            Ok(Box::new(TransportPage {
                next: input.option(|input| {
                    let is_link = input.flag()?;
                    let text = input.text()?.into_boxed_str();
                    Ok(if is_link { NextPage::Link(text) } else { NextPage::Call(text) })
                })?,
                total: input.option(ByteReader::number)?,
            }))
        })?,
        upstream_list: input.option(|input| {
            Ok(UpstreamList {
                fetched: input.number()?,
                total: input.option(ByteReader::number)?,
                is_partial: input.flag()?,
                stop_reason: input.option(ByteReader::text)?,
                has_changed: input.flag()?,
                continuation: input.option(ByteReader::text)?,
                skipped: input.number()?,
                opening_count: input.option(ByteReader::number)?,
            })
        })?,
        missing_codes: MissingCodes::parse(input.texts()?.iter().map(String::as_str))
            .map_err(|_| DecodeError::Invalid("codes of missing values"))?,
    })
}

fn write_part(part: &Part, table: &mut TextTable, pieces: &mut IndexPieces, out: &mut ByteWriter) {
    out.text(&part.address);
    match &part.body {
        PartBody::Indexed(subject) => {
            out.flag(true);
            write_indexed(subject, table, Some(pieces), out);
        }
        PartBody::Atomic { json, binary, aside } => {
            out.flag(false);
            table.write_slice(json, out);
            out.option(binary.as_ref(), |out, binary| {
                out.text(&binary.mime_type);
                out.choice(DATA_POINTERS, &binary.data_pointer);
                out.uint(binary.decoded_bytes);
                out.flag(binary.is_media);
            });
            out.flag(*aside);
        }
    }
    out.option(part.duplicate, |out, duplicate| {
        out.uint(duplicate.part);
        match duplicate.form {
            DuplicateForm::Whole => out.uint(0_u8),
            DuplicateForm::UnderKey { key, as_string } => {
                out.uint(1 + u8::from(as_string));
                out.span(key);
            }
            DuplicateForm::Blocks(span) => {
                out.uint(3_u8);
                out.span(span);
            }
        }
    });
    out.option(part.label.source.as_deref(), ByteWriter::text);
    out.option(part.label.mime_type.as_deref(), ByteWriter::text);
    out.uint(part.label.frame_bytes);
    out.option(part.json_origin.as_ref(), |out, origin| write_origin(origin, table, out));
    out.flag(part.item_blocks);
}

fn read_part(
    table: &TextTable,
    pieces: Option<&[Vec<u8>]>,
    input: &mut ByteReader<'_>,
) -> Result<Part, DecodeError> {
    let address = input.text()?;
    let body = if input.flag()? {
        PartBody::Indexed(read_indexed(table, pieces, input)?)
    } else {
        let json = table.read_slice(input)?;
        let binary = input.option(|input| {
            Ok(BinaryInfo {
                mime_type: input.text()?,
                data_pointer: input.choice(DATA_POINTERS, "place of binary data")?,
                decoded_bytes: input.number()?,
                is_media: input.flag()?,
            })
        })?;
        PartBody::Atomic { json, binary, aside: input.flag()? }
    };
    let text = match &body {
        PartBody::Indexed(subject) => subject.text.clone(),
        PartBody::Atomic { json, .. } => json.clone(),
    };
    let duplicate = input.option(|input| {
        let part = input.number()?;
        let form = match input.uint()? {
            0 => DuplicateForm::Whole,
            kind @ 1..=2 => DuplicateForm::UnderKey { key: input.span(text.loaded())?, as_string: kind == 2 },
            3 => DuplicateForm::Blocks(input.span(text.loaded())?),
            _ => return Err(DecodeError::Invalid("form of a repeated part")),
        };
        Ok(StructuredDuplicate { part, form })
    })?;
    let label = BlockLabel {
        source: input.option(ByteReader::text)?,
        mime_type: input.option(ByteReader::text)?,
        frame_bytes: input.number()?,
    };
    let json_origin = input.option(|input| read_origin(table, text.len(), input))?;
    Ok(Part { address, body, duplicate, label, json_origin, item_blocks: input.flag()? })
}

fn write_paging(arguments: &[PagingArgument], out: &mut ByteWriter) {
    out.uint(arguments.len());
    for PagingArgument { name, value, default } in arguments {
        out.text(name);
        let (kind, number) = match *value {
            ArgumentValue::Absent => (0u64, 0),
            ArgumentValue::Other => (1, 0),
            ArgumentValue::Number(number) => (2, number),
            ArgumentValue::Translated(number) => (3, number),
        };
        out.uint(kind);
        out.uint(number);
        out.option(*default, ByteWriter::uint);
    }
}

fn read_paging(input: &mut ByteReader<'_>) -> Result<Arc<[PagingArgument]>, DecodeError> {
    let read = |input: &mut ByteReader<'_>| {
        let name = input.text()?;
        let (kind, number) = (input.uint()?, input.uint()?);
        let value = match kind {
            0 => ArgumentValue::Absent,
            1 => ArgumentValue::Other,
            2 => ArgumentValue::Number(number),
            3 => ArgumentValue::Translated(number),
            _ => return Err(DecodeError::Invalid("paging argument")),
        };
        Ok(PagingArgument { name, value, default: input.option(ByteReader::uint)? })
    };
    (0..input.count()?).map(|_| read(input)).collect()
}

fn write_origin(origin: &JsonOrigin, table: &mut TextTable, out: &mut ByteWriter) {
    table.write_slice(&origin.text, out);
    out.text(&origin.description);
    out.text(&origin.short_description);
    out.option(origin.enclosing_string.as_ref(), |out, string| {
        out.text(&string.pointer);
        out.span(string.span);
    });
    out.flag(origin.has_replacements);
    out.option(origin.offset_map.as_ref(), |out, (start, shorter)| {
        out.uint(*start);
        out.uint(shorter.len());
        shorter.iter().for_each(|at| out.uint(*at));
    });
}

fn read_origin(
    table: &TextTable,
    indexed_len: usize,
    input: &mut ByteReader<'_>,
) -> Result<JsonOrigin, DecodeError> {
    let text = table.read_slice(input)?;
    let (description, short_description) = (input.text()?, input.text()?);
    let enclosing_string = input
        .option(|input| Ok(EnclosingString { pointer: input.text()?, span: input.span(text.loaded())? }))?;
    let has_replacements = input.flag()?;
    let offset_map = input.option(|input| {
        let start: usize = input.number()?;
        let count = input.count()?;
        let shorter = (0..count).map(|_| input.number()).collect::<Result<Arc<[u32]>, _>>()?;
        let fits = start.checked_add(indexed_len).and_then(|end| end.checked_sub(shorter.len()));
        if shorter.is_sorted() && fits.is_some_and(|end| end <= text.len()) {
            Ok((start, shorter))
        } else {
            Err(DecodeError::Invalid("offset map"))
        }
    })?;
    Ok(JsonOrigin { text, description, short_description, enclosing_string, has_replacements, offset_map })
}

/// Fails if `structuredContent` repeats a part that is not there.
fn check_duplicates(parts: &[Part]) -> Result<(), DecodeError> {
    let exists = |at: usize| parts.get(at).is_some_and(|part| part.indexed_text().is_some());
    let mut duplicates = parts.iter().filter_map(|part| part.duplicate);
    if duplicates.all(|duplicate| exists(duplicate.part)) {
        Ok(())
    } else {
        Err(DecodeError::Invalid("repeated part"))
    }
}
