//! Payloads of stored snapshots, and texts of errors.

use portion_core::payload::{Block, Content, Payload};
use portion_core::snapshot::{Part, PartBody, STRUCTURED_CONTENT, Snapshot};

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
        ..Payload::default()
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
