//! The object that a match lies in, where that is further inside than the record: `{"id":7,"lines":[{"sku":"A1"}]}`.

use super::records::Show;
use crate::projection::{Fields, LeftOut};
use crate::scan::{Reader, after_string};
use crate::snapshot::{Profile, Rank};
use crate::span::Span;

/// The innermost object around a value, with the fields that are shown; `None` where it has none of them.
pub(super) fn shown(text: &str, record: Span, value: Span, show: &Show) -> Option<String> {
    let object = innermost(text, record, value)?.of(text);
    let fields: Fields = match show {
        Show::All => return None,
        Show::Some(fields) => fields.clone(),
        Show::Identity => {
            let fields = Profile::of_record(object).into_iter();
            fields.filter(|field| field.rank <= Rank::Status).map(|field| field.path).collect()
        }
    };
    let mut out = String::new();
    fields.project(object, &mut out, &mut LeftOut::new());
    (out.len() > 2).then_some(out)
}

/// The innermost object in a record that holds a value.
fn innermost(text: &str, record: Span, value: Span) -> Option<Span> {
    let bytes = text.as_bytes();
    let (mut at, end) = (record.start as usize, value.start as usize);
    let mut open = Vec::new();
    while at < end {
        match bytes.get(at)? {
            b'"' => {
                at = after_string(bytes, at);
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
    let mut reader = Reader::resume(text, open.pop()?);
    reader.skip().ok()
}
