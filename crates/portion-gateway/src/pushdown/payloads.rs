//! Payloads of stored snapshots, and texts of errors.

use std::sync::Arc;

use portion_core::payload::{Block, Content, Payload};
use portion_core::snapshot::{Part, PartBody, STRUCTURED_CONTENT, Snapshot, Structure};

/// Returns the payload that a snapshot was captured from.
pub(super) fn payload_of(snapshot: &Snapshot) -> Payload {
    let block = |part: &Part| {
        let text = part.text().to_owned();
        let content = match &part.body {
            PartBody::Indexed(_) if part.address == STRUCTURED_CONTENT => Content::Structured(text),
            PartBody::Indexed(_) => Content::Text(text),
            PartBody::Atomic { aside: true, .. } => Content::Extra(text),
            PartBody::Atomic { binary, .. } => Content::Atomic { json: text, binary: binary.clone() },
        };
        Block { label: part.label.clone(), ..Block::new(part.address.clone(), content) }
    };
    Payload {
        blocks: snapshot.parts().iter().map(block).collect(),
        invalid_utf8_count: snapshot.invalid_utf8(),
        frame_bytes: snapshot.frame(),
        paging_arguments: snapshot.paging().into(),
        list_path: fetched_list_path(snapshot),
        ..Payload::default()
    }
}

/// Returns the path of a list that is fetched page by page, unless its JSON is inside a text.
fn fetched_list_path(snapshot: &Snapshot) -> Option<Arc<str>> {
    let part = snapshot.main_part().filter(|_| snapshot.upstream_list().is_some())?;
    let part = snapshot.parts().get(part).filter(|part| part.json_origin.is_none())?;
    match &part.indexed_text()?.structure {
        Structure::List(list) => Some(list.pointer.as_str().into()),
        _ => None,
    }
}

/// Characters shown of an error of the upstream.
const MAX_ERROR_CHARS: usize = 200;

pub(super) fn error_text(page: &Payload) -> String {
    let texts = page.blocks.iter().filter_map(|block| match &block.content {
        Content::Text(text) | Content::Structured(text) => Some(text.as_str()),
        _ => None,
    });
    let text = texts.collect::<Vec<_>>().join(" ");
    text.chars().take(MAX_ERROR_CHARS).collect()
}
