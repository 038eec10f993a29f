//! Finds the object around a match if it is nested in the record: `{"id":7,"lines":[{"sku":"A1"}]}`.

use portion_json::projection::{FieldSelection, OmittedFields};
use portion_json::scan::{JsonReader, string_end};
use portion_json::span::Span;

use super::record_search::ShownFields;
use crate::snapshot::{FieldRank, ListProfile};

/// Returns the shown fields of the innermost object around a value, or `None` if it has none of them.
pub(super) fn project_enclosing_object(
    text: &str,
    record: Span,
    value: Span,
    show: &ShownFields,
) -> Option<String> {
    let object = innermost_object(text, record, value)?.slice(text);
    let fields: FieldSelection = match show {
        ShownFields::All => return None,
        ShownFields::Selected(fields) => fields.clone(),
        ShownFields::Identity => {
            let fields = ListProfile::record_fields(object).into_iter();
            fields.filter(|field| field.rank <= FieldRank::Status).map(|field| field.path).collect()
        }
    };
    let mut out = String::new();
    fields.project(object, &mut out, &mut OmittedFields::new());
    (out.len() > 2).then_some(out)
}

/// Returns the span of the innermost object around a value in a record.
fn innermost_object(text: &str, record: Span, value: Span) -> Option<Span> {
    let bytes = text.as_bytes();
    let (mut at, end) = (record.start as usize, value.start as usize);
    let mut open = Vec::new();
    while at < end {
        match bytes.get(at)? {
            b'"' => {
                at = string_end(bytes, at);
                continue;
            }
            b'{' => open.push(at),
            b'}' => {
                open.pop();
            }
            _ => {}
        }
        at += 1;
    }
    let mut reader = JsonReader::resume(text, open.pop()?);
    reader.skip().ok()
}
