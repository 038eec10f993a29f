//! Snapshots and views survive their encoding: replies from a decoded one are the same bytes. Decoding is
//! total: any bytes give a snapshot, a view or an error.

use portion_core::DecodeError;
use portion_core::paging::{ArgumentValue, PagingArgument};
use portion_core::payload::{Payload, QueryAnswer};
use portion_core::snapshot::{
    EncodedSnapshot, FieldCounts, MAX_BLOCK_BYTES, OFFSETS_PER_PIECE, Snapshot, Structure, capture,
};
use portion_core::view::View;
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

use super::choices::{Dice, dice};
use super::lossless::text_payload;
use super::session::{Reply, Session};
use super::{cases, payloads, reject, requests};

/// Follow-ups compared in each case.
const FOLLOW_UPS: usize = 12;

fn decoded(snapshot: &Snapshot) -> Snapshot {
    let encoded = EncodedSnapshot::new(snapshot);
    let decoded = encoded.decode().unwrap_or_else(|why| panic!("{why}: {snapshot:?}"));
    assert_eq!(EncodedSnapshot::new(&decoded), encoded, "another snapshot was decoded");
    decoded
}

fn assert_same(here: &[Reply], there: &[Reply]) {
    assert_eq!(here.len(), there.len());
    for (here, there) in here.iter().zip(there) {
        assert_eq!(format!("{:?}", here.pieces), format!("{:?}", there.pieces));
        assert_eq!(here.notice, there.notice);
        assert_eq!(here.view.id(), there.view.id());
    }
}

/// Compares replies from a snapshot with those from its encoding.
pub(crate) fn check(mut dice: Dice) -> TestCaseResult {
    let policy = requests::policy(&mut dice);
    let counter = requests::counter(&mut dice);
    let here = Session::new(payloads::payload(&mut dice), policy.clone(), counter);
    let mut there = Session::new(text_payload(String::new()), policy, counter);
    there.snapshot = decoded(&here.snapshot);
    let request = requests::request(&mut dice, &here.policy);
    let (Ok(first), Ok(again)) = (here.call(&request), there.call(&request)) else {
        return reject("an error");
    };
    let (Some(first), Some(again)) = (first, again) else { return reject("untouched") };
    let view = View::decode(&there.snapshot, first.view.id(), &first.view.encode(&here.snapshot));
    let view = view.unwrap_or_else(|why| panic!("{why}: {:?}", first.view));
    assert_eq!(view.encode(&there.snapshot), first.view.encode(&here.snapshot));
    let start = first.start();
    let other = requests::request(&mut dice, &here.policy);
    let beside = (here.read(&first.view, start, &other), there.read(&view, start, &other));
    match beside {
        (Ok(here), Ok(there)) => assert_same(&[here], &[there]),
        (Err(here), Err(there)) => assert_eq!(here.to_string(), there.to_string()),
        (here, there) => panic!("{here:?}, but {there:?}"),
    }
    let on = there.walk_for(Reply { view, ..again }, FOLLOW_UPS);
    assert_same(&here.walk_for(first, FOLLOW_UPS), &on);
    Ok(())
}

proptest! {
    #![proptest_config(cases(250))]
    #[test]
    fn replies_from_an_encoded_snapshot_are_the_same(dice in dice()) {
        check(dice)?;
    }

    #[test]
    fn any_bytes_decode_to_a_snapshot_or_an_error(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        seed in any::<u64>(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let fields = EncodedSnapshot { meta: bytes.clone(), blocks: vec![bytes.clone()], index_pieces: vec![bytes.clone()] };
        let _ = fields.decode();
        let snapshot = capture(payloads::payload(&mut Dice::new(seed)));
        let _ = View::decode(&snapshot, [0; 5], &bytes);
        let mut encoded = EncodedSnapshot::new(&snapshot);
        let mut view = View::root().encode(&snapshot);
        for (at, byte) in damage {
            let at_meta = at.index(encoded.meta.len());
            encoded.meta[at_meta] = byte;
            let at_view = at.index(view.len());
            view[at_view] = byte;
        }
        let _ = encoded.decode();
        let _ = View::decode(&snapshot, [0; 5], &view);
        encoded.meta.truncate(encoded.meta.len() / 2);
        prop_assert!(encoded.decode().is_err());
    }
}

fn records(count: usize, filler: usize) -> Payload {
    let records: Vec<String> = (0..count)
        .map(|id| format!("{{\"id\":{id},\"name\":\"Größe {id}\",\"about\":\"{}\"}}", "é".repeat(filler)))
        .collect();
    text_payload(format!("[{}]", records.join(",")))
}

/// A long list has several index pieces, and its blocks begin at items.
#[test]
fn blocks_end_at_items() {
    let snapshot = capture(records(20_000, 40));
    let encoded = EncodedSnapshot::new(&snapshot);
    let Some(Structure::List(list)) = snapshot.parts()[0].indexed_text().map(|subject| &subject.structure)
    else {
        panic!("it is a list")
    };
    let pieces = list.item_offsets.entries().len().div_ceil(OFFSETS_PER_PIECE);
    assert!(pieces > 1, "{pieces}");
    assert_eq!(encoded.index_pieces.len(), pieces);
    let counts = FieldCounts::read(&encoded.meta).expect("a meta");
    assert_eq!((counts.index_pieces as usize, counts.blocks as usize), (pieces, encoded.blocks.len()));
    for block in &encoded.blocks[1..] {
        assert!(block.starts_with(b"{\"id\":"), "{:?}", String::from_utf8_lossy(&block[..20]));
        assert!(block.len() <= MAX_BLOCK_BYTES);
    }
    decoded(&snapshot);
}

/// An item larger than a block is cut between characters.
#[test]
fn an_item_larger_than_a_block_is_cut() {
    let snapshot = capture(records(3, 3 * MAX_BLOCK_BYTES));
    let encoded = EncodedSnapshot::new(&snapshot);
    assert!(encoded.blocks.iter().all(|block| (1..=MAX_BLOCK_BYTES).contains(&block.len())));
    decoded(&snapshot);
}

#[test]
fn facts_about_answers_and_redaction_are_kept() {
    let mut extra_meta = serde_json::Map::new();
    extra_meta.insert("cut".into(), "more".into());
    let answer = QueryAnswer {
        match_count: 3,
        word_match_count: 1,
        extra_meta,
        has_known_fields: true,
        selects_all_columns: true,
        reads_other_lists: false,
    };
    let paging = |value, default| PagingArgument { value, default, ..PagingArgument::new("page") };
    let paging = [
        PagingArgument::new("cursor"),
        paging(ArgumentValue::Number(u64::MAX), Some(1)),
        paging(ArgumentValue::Translated(60), None),
        paging(ArgumentValue::Other, Some(0)),
    ];
    let payload = Payload {
        query_answer: Some(answer.clone()),
        paging_arguments: paging.clone().into(),
        list_path: Some("/nowhere".into()),
        redaction_rules: Some(std::sync::Arc::new(portion_core::redact::RedactionRules::default_secrets())),
        ..text_payload(r#"[{"id":1,"password":"x"}]"#.into())
    };
    let snapshot = decoded(&capture(payload));
    assert_eq!(snapshot.answer(), Some(&answer));
    assert_eq!(snapshot.paging(), paging);
    assert_eq!(snapshot.redacted(), ["password"]);
    assert!(snapshot.has_missing_list_path());
}

#[test]
fn another_version_is_refused() {
    let snapshot = capture(records(2, 1));
    let mut encoded = EncodedSnapshot::new(&snapshot);
    let known = u64::from(encoded.meta[0]);
    encoded.meta[0] += 1;
    assert_eq!(encoded.decode().err(), Some(DecodeError::Version { given: known + 1, known }));
    let mut view = View::root().encode(&snapshot);
    view[0] += 1;
    assert!(matches!(View::decode(&snapshot, [0; 5], &view), Err(DecodeError::Version { .. })));
}

/// Memory is reserved for the number of items, so a list has no more of them than its text has bytes.
#[test]
fn a_list_longer_than_its_text_is_not_decoded() {
    let mut encoded = EncodedSnapshot::new(&capture(text_payload("[1,2,3]".into())));
    // The number of items, the distance of stored ones, and the offsets of these: their number, and their differences.
    let offsets = [3, 0, 0, 3, 1, 2, 2];
    let at = encoded.meta.windows(offsets.len()).position(|bytes| bytes == offsets).expect("offsets");
    // 2 to the power of 40 items, of which the first is stored.
    let claimed = [0x80, 0x80, 0x80, 0x80, 0x80, 0x20, 40, 0, 1, 1];
    encoded.meta.splice(at..at + offsets.len(), claimed);
    assert_eq!(encoded.decode().err(), Some(DecodeError::Invalid("offsets")));
}
