//! Fields of a stored snapshot: how snapshots are written to a [`SnapshotStore`](super::SnapshotStore) and
//! read back.

use std::collections::HashMap;
use std::sync::Arc;

use portion_core::cursor::{SnapshotId, ViewId};
use portion_core::payload::UpstreamList;
use portion_core::redact::RedactionRules;
use portion_core::snapshot::{EncodedSnapshot, FieldCounts, Snapshot};
use portion_core::view::View;
use serde::{Deserialize, Serialize};

use super::packed::{pack, unpack};
use super::{FieldName, NewSnapshot};
use portion_policy::endpoint::{Endpoint, EndpointKind};

/// Version of the header.
const HEADER_VERSION: u32 = 1;

/// Facts about a snapshot that outlive it in its store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// The snapshot itself; earlier versions did not write it.
    id: Option<SnapshotId>,
    pub(super) endpoint: Option<Arc<Endpoint>>,
    pub(super) arguments: Option<Arc<str>>,
    pub(super) origin_snapshot: SnapshotId,
    /// Redaction under which it was captured.
    pub(super) redaction: RedactionId,
}

/// Identifies redaction rules, so that a snapshot is only served under the rules of its capture.
pub type RedactionId = [u8; 16];

/// Returns the id of redaction rules.
pub(crate) fn redaction_id(rules: Option<&RedactionRules>) -> RedactionId {
    rules.map_or([0; 16], RedactionRules::fingerprint)
}

#[derive(Serialize, Deserialize)]
struct HeaderJson {
    version: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<SnapshotId>,
    endpoint: Option<EndpointJson>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    arguments: Option<String>,
    origin: SnapshotId,
    redaction: RedactionId,
}

#[derive(Serialize, Deserialize)]
struct EndpointJson {
    name: String,
    kind: EndpointKindJson,
    read_only: bool,
    idempotent: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum EndpointKindJson {
    Tool,
    Resource,
    Prompt,
}

/// Encodes and packs all fields of a snapshot with its first views.
pub(super) fn encode(new: &NewSnapshot) -> Vec<(FieldName, Vec<u8>)> {
    let NewSnapshot { snapshot, view, .. } = new;
    let redact = new.rule.as_ref().and_then(|rule| rule.config().redact.as_deref());
    let header = Header {
        id: Some(new.id),
        endpoint: new.endpoint.clone(),
        arguments: new.arguments.clone(),
        origin_snapshot: new.origin_snapshot,
        redaction: new.redaction.unwrap_or_else(|| redaction_id(redact)),
    };
    let mut fields = vec![(FieldName::Header, pack(&header.to_json()))];
    fields.extend(encode_content(snapshot));
    let root = view.root_with_pagination();
    if view.id() != root.id() {
        fields.push(encode_view(snapshot, view));
    }
    fields.push(encode_view(snapshot, &root));
    fields
}

/// Encodes and packs a snapshot: its meta, then its content.
pub(super) fn encode_content(snapshot: &Snapshot) -> impl Iterator<Item = (FieldName, Vec<u8>)> {
    let EncodedSnapshot { meta, index_pieces, blocks } = EncodedSnapshot::new(snapshot);
    let index_pieces = (0..).map(FieldName::IndexPiece).zip(index_pieces);
    let content = index_pieces.chain((0..).map(FieldName::Block).zip(blocks));
    [(FieldName::Meta, meta)].into_iter().chain(content).map(|(name, plain)| (name, pack(&plain)))
}

/// Encodes and packs a view.
pub(super) fn encode_view(snapshot: &Snapshot, view: &View) -> (FieldName, Vec<u8>) {
    (FieldName::View(view.id()), pack(&view.encode(snapshot)))
}

pub(super) fn decode_view(snapshot: &Snapshot, id: ViewId, packed: &[u8]) -> Option<View> {
    View::decode(snapshot, id, &unpack(packed)?).ok()
}

/// Returns the numbers of fields that belong to a meta; `None` if it is damaged or of another version.
pub(super) fn field_counts(packed_meta: &[u8]) -> Option<FieldCounts> {
    FieldCounts::read(&unpack(packed_meta)?).ok()
}

/// Returns the fields that belong to a meta; `None` if it is damaged or of another version.
pub(super) fn content_fields(packed_meta: &[u8]) -> Option<Vec<FieldName>> {
    let FieldCounts { index_pieces, blocks } = field_counts(packed_meta)?;
    let pieces = (0..index_pieces).map(FieldName::IndexPiece);
    Some(pieces.chain((0..blocks).map(FieldName::Block)).collect())
}

/// Returns the extent of the list that belongs to a meta; `None` if there is none, or the meta is damaged or of another
/// version.
pub(super) fn upstream_list(packed_meta: &[u8]) -> Option<UpstreamList> {
    let meta = unpack(packed_meta)?;
    let blocks: Vec<Option<&[u8]>> = vec![None; FieldCounts::read(&meta).ok()?.blocks as usize];
    let snapshot = EncodedSnapshot::decode_partial(&meta, &blocks).ok()?;
    snapshot.upstream_list().cloned()
}

/// Decodes a snapshot from its meta and fields that belong to it. If some are missing, it is partial.
pub(super) fn decode_snapshot(packed_meta: &[u8], content: &HashMap<FieldName, Vec<u8>>) -> Option<Snapshot> {
    let meta = unpack(packed_meta)?;
    let counts = FieldCounts::read(&meta).ok()?;
    let piece = |number| unpack(content.get(&FieldName::IndexPiece(number))?);
    let block = |number| match content.get(&FieldName::Block(number)) {
        Some(packed) => unpack(packed).map(Some),
        None => Some(None),
    };
    let blocks: Vec<Option<Vec<u8>>> = (0..counts.blocks).map(block).collect::<Option<_>>()?;
    let index_pieces: Option<Vec<Vec<u8>>> = (0..counts.index_pieces).map(piece).collect();
    if let Some(index_pieces) = index_pieces
        && blocks.iter().all(Option::is_some)
    {
        let blocks = blocks.into_iter().flatten().collect();
        return EncodedSnapshot { meta, index_pieces, blocks }.decode().ok();
    }
    let blocks: Vec<Option<&[u8]>> = blocks.iter().map(Option::as_deref).collect();
    EncodedSnapshot::decode_partial(&meta, &blocks).ok()
}

/// Returns a snapshot with missing blocks of these numbers; `None` if one of them is damaged or lost.
pub(super) fn add_blocks(
    snapshot: &Snapshot,
    numbers: &[u32],
    packed: &[Option<Vec<u8>>],
) -> Option<Snapshot> {
    let blocks =
        numbers.iter().zip(packed).map(|(number, packed)| Some((*number, unpack(packed.as_deref()?)?)));
    let blocks: Vec<(u32, Vec<u8>)> = blocks.collect::<Option<_>>()?;
    snapshot.with_blocks(&blocks).ok()
}

impl Header {
    fn to_json(&self) -> Vec<u8> {
        let endpoint = self.endpoint.as_deref().map(|endpoint| EndpointJson {
            name: endpoint.name.clone(),
            kind: match endpoint.kind {
                EndpointKind::Tool => EndpointKindJson::Tool,
                EndpointKind::Resource => EndpointKindJson::Resource,
                EndpointKind::Prompt => EndpointKindJson::Prompt,
            },
            read_only: endpoint.read_only,
            idempotent: endpoint.idempotent,
        });
        let Self { id, origin_snapshot: origin, redaction, .. } = *self;
        let arguments = self.arguments.as_deref().map(str::to_owned);
        serde_json::to_vec(&HeaderJson {
            version: HEADER_VERSION,
            id,
            endpoint,
            arguments,
            origin,
            redaction,
        })
        .unwrap_or_default()
    }

    /// Returns true unless it says that it belongs to another snapshot.
    pub(super) fn may_belong_to(&self, id: SnapshotId) -> bool {
        self.id.is_none_or(|own| own == id)
    }

    /// Decodes a packed header; `None` if it is damaged or of another version.
    pub(super) fn decode(packed: &[u8]) -> Option<Self> {
        let json: HeaderJson = serde_json::from_slice(&unpack(packed)?).ok()?;
        let endpoint = json.endpoint.map(|endpoint| {
            let kind = match endpoint.kind {
                EndpointKindJson::Tool => EndpointKind::Tool,
                EndpointKindJson::Resource => EndpointKind::Resource,
                EndpointKindJson::Prompt => EndpointKind::Prompt,
            };
            let EndpointJson { name, read_only, idempotent, .. } = endpoint;
            Arc::new(Endpoint { name, kind, read_only, idempotent })
        });
        let arguments = json.arguments.map(Arc::from);
        let (id, origin_snapshot, redaction) = (json.id, json.origin, json.redaction);
        let header = Self { id, endpoint, arguments, origin_snapshot, redaction };
        (json.version == HEADER_VERSION).then_some(header)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::Header;
    use crate::store::packed::pack;
    use portion_policy::endpoint::{Endpoint, EndpointKind};

    #[test]
    fn headers_survive_their_encoding() {
        for kind in [EndpointKind::Tool, EndpointKind::Resource, EndpointKind::Prompt] {
            let endpoint = Endpoint { name: "päge \"1\"".into(), kind, read_only: true, idempotent: false };
            let endpoint = Some(Arc::new(endpoint));
            let arguments = Some("{\"city\":\"Köln\"}".into());
            let (id, origin_snapshot, redaction) = (Some([3; 6]), [1; 6], [2; 16]);
            let header = Header { id, endpoint, arguments, origin_snapshot, redaction };
            assert_eq!(Header::decode(&pack(&header.to_json())), Some(header));
        }
        assert_eq!(Header::decode(&pack(b"{\"version\":2}")), None);
        assert_eq!(Header::decode(b""), None);
    }

    #[test]
    fn a_header_belongs_to_one_snapshot_unless_it_names_none() {
        let (id, redaction) = (Some([1; 6]), [2; 16]);
        let named = Header { id, endpoint: None, arguments: None, origin_snapshot: [1; 6], redaction };
        let unnamed = Header { id: None, ..named.clone() };
        assert!(named.may_belong_to([1; 6]) && !named.may_belong_to([2; 6]));
        assert!(!String::from_utf8_lossy(&unnamed.to_json()).contains("\"id\""));
        let decoded = Header::decode(&pack(&unnamed.to_json()));
        assert_eq!(decoded.as_ref(), Some(&unnamed));
        assert!(unnamed.may_belong_to([1; 6]) && unnamed.may_belong_to([2; 6]));
    }
}
