//! Fields of a stored snapshot: how snapshots are written to a [`SnapshotStore`](super::SnapshotStore) and
//! read back.
//!
//! Fields are packed for a store: compressed with LZ4 where that saves space, and with a checksum. A packed field is one byte for the form, four bytes with the CRC-32 of the plain bytes, four bytes with
//! their number (both little-endian), then the bytes.

use std::collections::HashMap;
use std::sync::Arc;

use lz4_flex::block;
use portion_core::cursor::{SnapshotId, ViewId};
use portion_core::payload::UpstreamList;
use portion_core::redact::RedactionRules;
use portion_core::snapshot::{EncodedSnapshot, FieldCounts, Snapshot};
use portion_core::view::View;
use portion_policy::endpoint::{Endpoint, EndpointKind};
use serde::{Deserialize, Serialize};

use super::{FieldName, Fields, StoredSnapshot};

/// Version of the header.
const HEADER_VERSION: u32 = 1;

/// Facts about a snapshot that outlive it in its store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Header {
    version: u32,
    /// The snapshot itself; earlier versions did not write it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<SnapshotId>,
    pub(super) endpoint: Option<StoredEndpoint>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) arguments: Option<String>,
    #[serde(rename = "origin")]
    pub(super) origin_snapshot: SnapshotId,
    /// Redaction under which it was captured.
    pub(super) redaction: RedactionId,
}

/// An endpoint as headers have it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StoredEndpoint(#[serde(with = "EndpointJson")] Endpoint);

impl From<StoredEndpoint> for Arc<Endpoint> {
    fn from(stored: StoredEndpoint) -> Self {
        Self::new(stored.0)
    }
}

/// Identifies redaction rules, so that a snapshot is only served under the rules of its capture.
pub type RedactionId = [u8; 16];

/// Returns the id of redaction rules.
pub(crate) fn redaction_id(rules: Option<&RedactionRules>) -> RedactionId {
    rules.map_or([0; 16], RedactionRules::fingerprint)
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Endpoint")]
struct EndpointJson {
    name: String,
    #[serde(with = "EndpointKindJson")]
    kind: EndpointKind,
    read_only: bool,
    idempotent: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "EndpointKind", rename_all = "lowercase")]
enum EndpointKindJson {
    Tool,
    Resource,
    Prompt,
}

/// Encodes and packs all fields of a snapshot with its first views.
pub(super) fn encode(new: &StoredSnapshot) -> Fields {
    let StoredSnapshot { snapshot, view, .. } = new;
    let redact = new.rule.as_ref().and_then(|rule| rule.config().redact.as_deref());
    let header = Header {
        version: HEADER_VERSION,
        id: Some(new.id),
        endpoint: new.endpoint.as_deref().cloned().map(StoredEndpoint),
        arguments: new.arguments.as_deref().map(str::to_owned),
        origin_snapshot: new.origin_snapshot,
        redaction: new.redaction.unwrap_or_else(|| redaction_id(redact)),
    };
    let mut fields = vec![(FieldName::Header, pack(&serde_json::to_vec(&header).unwrap_or_default()))];
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
    /// Returns true unless it says that it belongs to another snapshot.
    pub(super) fn may_belong_to(&self, id: SnapshotId) -> bool {
        self.id.is_none_or(|own| own == id)
    }

    /// Decodes a packed header; `None` if it is damaged or of another version.
    pub(super) fn decode(packed: &[u8]) -> Option<Self> {
        let header = serde_json::from_slice(&unpack(packed)?).ok();
        header.filter(|header: &Self| header.version == HEADER_VERSION)
    }
}

const HEADER_BYTES: usize = 9;
const PLAIN: u8 = 0;
const LZ4: u8 = 1;
/// A hundredth of the plain bytes must be saved, otherwise they are stored as they are.
const MIN_SAVED_FRACTION: usize = 100;
/// LZ4 compresses to one byte in 255 at best: a larger claim is invalid, and reserves no memory.
const MAX_RATIO: usize = 255;

/// Packs a field.
pub(crate) fn pack(plain: &[u8]) -> Vec<u8> {
    let compressed = block::compress(plain);
    let saves = compressed.len() + plain.len() / MIN_SAVED_FRACTION < plain.len();
    let (form, bytes) = if saves { (LZ4, &*compressed) } else { (PLAIN, plain) };
    let mut packed = Vec::with_capacity(HEADER_BYTES + bytes.len());
    packed.push(form);
    packed.extend_from_slice(&crc32fast::hash(plain).to_le_bytes());
    packed.extend_from_slice(&(plain.len() as u32).to_le_bytes());
    packed.extend_from_slice(bytes);
    packed
}

/// Unpacks a field; `None` if it is damaged.
pub(crate) fn unpack(packed: &[u8]) -> Option<Vec<u8>> {
    let (header, bytes) = packed.split_first_chunk::<HEADER_BYTES>()?;
    let [form, c0, c1, c2, c3, l0, l1, l2, l3] = *header;
    let len = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
    let plain = match form {
        PLAIN => bytes.to_vec(),
        LZ4 if len <= bytes.len().saturating_mul(MAX_RATIO) => block::decompress(bytes, len).ok()?,
        _ => return None,
    };
    let is_intact = plain.len() == len && crc32fast::hash(&plain) == u32::from_le_bytes([c0, c1, c2, c3]);
    is_intact.then_some(plain)
}

#[cfg(test)]
mod tests {
    use portion_policy::endpoint::{Endpoint, EndpointKind};
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::{HEADER_BYTES, HEADER_VERSION, Header, StoredEndpoint, pack, unpack};

    fn packed(header: &Header) -> Vec<u8> {
        pack(&serde_json::to_vec(header).expect("JSON"))
    }

    #[test]
    fn headers_survive_their_encoding() {
        for kind in [EndpointKind::Tool, EndpointKind::Resource, EndpointKind::Prompt] {
            let endpoint = Endpoint { name: "päge \"1\"".into(), kind, read_only: true, idempotent: false };
            let endpoint = Some(StoredEndpoint(endpoint));
            let arguments = Some("{\"city\":\"Köln\"}".into());
            let (id, origin_snapshot, redaction) = (Some([3; 6]), [1; 6], [2; 16]);
            let header =
                Header { version: HEADER_VERSION, id, endpoint, arguments, origin_snapshot, redaction };
            assert_eq!(Header::decode(&packed(&header)), Some(header));
        }
        assert_eq!(Header::decode(&pack(b"{\"version\":2}")), None);
        assert_eq!(Header::decode(b""), None);
    }

    #[test]
    fn a_header_belongs_to_one_snapshot_unless_it_names_none() {
        let (id, redaction) = (Some([1; 6]), [2; 16]);
        let (version, origin_snapshot) = (HEADER_VERSION, [1; 6]);
        let named = Header { version, id, endpoint: None, arguments: None, origin_snapshot, redaction };
        let unnamed = Header { id: None, ..named.clone() };
        assert!(named.may_belong_to([1; 6]) && !named.may_belong_to([2; 6]));
        assert!(!serde_json::to_string(&unnamed).expect("JSON").contains("\"id\""));
        let decoded = Header::decode(&packed(&unnamed));
        assert_eq!(decoded.as_ref(), Some(&unnamed));
        assert!(unnamed.may_belong_to([1; 6]) && unnamed.may_belong_to([2; 6]));
    }

    #[test]
    fn only_what_compresses_well_is_compressed() {
        let mut state = 7_u64;
        let noise: Vec<u8> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 40) as u8
        })
        .take(1_000)
        .collect();
        for (plain, is_compressed) in [
            (noise.clone(), false),
            (noise[..1].to_vec(), false),
            (Vec::new(), false),
            (noise.repeat(9), true),
            // Less than a hundredth is saved.
            ([vec![0; 25], noise.clone(), noise.iter().rev().skip(25).copied().collect()].concat(), false),
        ] {
            let packed = pack(&plain);
            assert_eq!(packed[0], u8::from(is_compressed), "{} bytes", plain.len());
            assert_eq!(packed.len() == HEADER_BYTES + plain.len(), !is_compressed);
            assert_eq!(unpack(&packed), Some(plain));
        }
        // The best ratio there is.
        let zeros = vec![0_u8; 4 << 20];
        let packed = pack(&zeros);
        assert!(packed.len() < zeros.len() / 200, "{} bytes", packed.len());
        assert_eq!(unpack(&packed), Some(zeros));
    }

    #[test]
    fn another_form_or_length_is_damage() {
        for plain in [b"plain".to_vec(), b"compressed ".repeat(50)] {
            let packed = pack(&plain);
            let changed = |at: usize, to: u8| {
                let mut changed = packed.clone();
                changed[at] = to;
                unpack(&changed)
            };
            assert_eq!(changed(0, 2), None);
            assert_eq!(changed(0, 1 - packed[0]), None);
            assert_eq!(changed(5, packed[5] + 1), None);
            assert_eq!(changed(5, packed[5] - 1), None);
            assert_eq!(changed(8, 0xff), None, "more bytes than it can have");
            assert_eq!(unpack(&packed[..HEADER_BYTES - 1]), None);
            assert_eq!(unpack(&packed[..packed.len() - 1]), None);
        }
    }

    proptest! {
        #[test]
        fn what_was_packed_is_unpacked(plain in vec(any::<u8>(), 0..2_000), again in 1..40_usize) {
            let plain = plain.repeat(again);
            prop_assert_eq!(unpack(&pack(&plain)), Some(plain));
        }

        #[test]
        fn damage_is_noticed(plain in vec(any::<u8>(), 1..300), at in any::<prop::sample::Index>(), to in any::<u8>()) {
            let plain = plain.repeat(3);
            let mut packed = pack(&plain);
            let at = at.index(packed.len());
            packed[at] = to;
            let unpacked = unpack(&packed);
            prop_assert!(unpacked.is_none() || unpacked == Some(plain));
        }

        #[test]
        fn any_bytes_unpack_or_fail(bytes in vec(any::<u8>(), 0..200)) {
            let _ = unpack(&bytes);
        }
    }
}
