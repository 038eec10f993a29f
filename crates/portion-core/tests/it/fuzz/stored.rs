//! Fuzz target: stored snapshots and views, damaged in any way. Decoding gives a value or an error; a value can be rendered, and
//! encoding keeps it.

use portion_core::cursor::{CursorTarget, Keyring, Position, Scope};
use portion_core::payload::{Block, Content, Payload};
use portion_core::ranking::rank;
use portion_core::render::{
    Context, FirstReply, Portion, first_reply, follow_up_reply, view_with_pagination,
};
use portion_core::snapshot::{EncodedSnapshot, Snapshot, capture};
use portion_core::view::{Request, View, resolve};
use portion_tokens::Tokenizer;

use crate::laws::choices::Dice;
use crate::laws::requests;

/// Separates the sections of the input. It is no byte of UTF-8.
const SEPARATOR: u8 = 0xff;
/// Follow-ups that are rendered.
const FOLLOW_UPS: usize = 3;

/// Input: a byte for limits and request, then the parts of a payload, with form feeds between them. After a separator, the
/// damage to the encoded snapshot; after another one, that to an encoded view. Or a separator, the length of a meta in one
/// byte, the meta, and blocks with separators between them.
pub(crate) fn check(input: &[u8]) {
    if let [SEPARATOR, meta_len, fields @ ..] = input {
        let (meta, blocks) = fields.split_at(fields.len().min(usize::from(*meta_len)));
        let blocks = blocks.split(|byte| *byte == SEPARATOR).map(<[u8]>::to_vec);
        let blocks = blocks.filter(|block| !block.is_empty()).collect();
        check_fields(&EncodedSnapshot { meta: meta.to_vec(), index_pieces: Vec::new(), blocks }, 0);
    } else if let Some((seed, rest)) = input.split_first() {
        let mut sections = rest.splitn(3, |byte| *byte == SEPARATOR);
        let mut section = || sections.next().unwrap_or_default();
        let Ok(text) = str::from_utf8(section()) else { return };
        check_damaged(*seed, text, section(), section());
    }
}

fn check_damaged(seed: u8, text: &str, damage: &[u8], view_damage: &[u8]) {
    let parts = text.split('\u{c}').enumerate();
    let blocks = parts
        .map(|(i, text)| Block::new(format!("/content/{i}/text"), Content::Text(text.to_owned())))
        .collect();
    let snapshot = capture(Payload { blocks, ..Payload::default() });
    let mut encoded = EncodedSnapshot::new(&snapshot);
    if damage.is_empty() {
        let decoded = encoded.decode().expect("an encoded snapshot");
        assert_eq!(EncodedSnapshot::new(&decoded), encoded);
        assert_eq!(replies(&decoded, None, seed), replies(&snapshot, None, seed));
    }
    apply_damage(&mut encoded, damage);
    check_fields(&encoded, seed);
    check_view(&snapshot, seed, view_damage);
}

/// Replaces a byte for every three bytes, or inserts one: two of its position, and one that is added to it. The fields are
/// damaged as if they followed one another.
fn apply_damage(encoded: &mut EncodedSnapshot, damage: &[u8]) {
    let EncodedSnapshot { meta, index_pieces, blocks } = encoded;
    for edit in damage.as_chunks::<3>().0 {
        let mut fields: Vec<&mut Vec<u8>> =
            std::iter::once(&mut *meta).chain(&mut *index_pieces).chain(&mut *blocks).collect();
        let total: usize = fields.iter().map(|field| field.len()).sum();
        let mut at = usize::from(u16::from_le_bytes([edit[0], edit[1]]) & 0x7fff) % total.max(1);
        let Some(field) = fields.iter_mut().find(|field| {
            let is_inside = at < field.len();
            at -= if is_inside { 0 } else { field.len() };
            is_inside
        }) else {
            return;
        };
        damage_at(field, at, *edit);
    }
}

fn damage_at(field: &mut Vec<u8>, at: usize, [_, high, value]: [u8; 3]) {
    if high & 0x80 == 0 {
        field[at] = field[at].wrapping_add(value);
    } else {
        field.insert(at, value);
    }
}

/// Checks the fields of a snapshot. Those of an equal one need not be the same bytes: numbers can be written in several ways.
fn check_fields(encoded: &EncodedSnapshot, seed: u8) {
    let missing = vec![None; encoded.blocks.len()];
    if let Ok(partial) = EncodedSnapshot::decode_partial(&encoded.meta, &missing) {
        replies(&partial, None, seed);
        let blocks: Vec<_> = (0..).zip(encoded.blocks.iter().cloned()).collect();
        if let Ok(whole) = partial.with_blocks(&blocks) {
            assert!(!whole.is_partial());
            replies(&whole, None, seed);
        }
    }
    let Ok(snapshot) = encoded.decode() else { return };
    let written = EncodedSnapshot::new(&snapshot);
    let again = written.decode().expect("an encoded snapshot");
    assert_eq!(EncodedSnapshot::new(&again), written);
    assert_eq!(replies(&again, None, seed), replies(&snapshot, None, seed));
}

fn check_view(snapshot: &Snapshot, seed: u8, damage: &[u8]) {
    let mut dice = Dice::new(seed.into());
    let policy = requests::policy(&mut dice);
    let request = requests::request(&mut dice, &policy);
    let Ok(resolved) = resolve(snapshot, None, &request, &policy) else { return };
    let mut bytes = resolved.view.encode(snapshot);
    for edit in damage.as_chunks::<3>().0 {
        let at = usize::from(u16::from_le_bytes([edit[0], edit[1]]) & 0x7fff) % bytes.len();
        damage_at(&mut bytes, at, *edit);
    }
    let Ok(view) = View::decode(snapshot, *b"aview", &bytes) else {
        assert!(!damage.is_empty(), "an encoded view is not decoded");
        return;
    };
    let written = view.encode(snapshot);
    let again = View::decode(snapshot, *b"aview", &written).expect("an encoded view");
    assert_eq!(again.encode(snapshot), written);
    assert_eq!(replies(snapshot, Some(&again), seed), replies(snapshot, Some(&view), seed));
}

/// Renders a first reply and a few follow-ups, and returns their text.
fn replies(snapshot: &Snapshot, view: Option<&View>, seed: u8) -> Vec<String> {
    let mut dice = Dice::new(seed.into());
    let policy = requests::policy(&mut dice);
    let request = if view.is_some() { Request::default() } else { requests::request(&mut dice, &policy) };
    let keyring = Keyring::new(&[7; 32]);
    let issue_cursor = |position| {
        let target = CursorTarget { snapshot: *b"a shot", view: *b"aview", position };
        Some(keyring.sign(&target, &Scope::from_principal("caller")))
    };
    let cx = Context {
        policy: &policy,
        counter: Tokenizer::Chars4.counter(),
        issue_cursor: &issue_cursor,
        read_call: "portion_read".into(),
        query_tool: None,
        read_uri: None,
    };
    let Ok(first) = resolve(snapshot, view.map(|view| (view, Position::default())), &request, &policy) else {
        return Vec::new();
    };
    let first = rank(snapshot, first, &policy, cx.counter);
    let FirstReply::Portion(portion) = first_reply(snapshot, &first, &cx) else { return Vec::new() };
    let mut view = view_with_pagination(first.view, &portion);
    let mut shown = vec![written(&portion)];
    let position_after = |portion: &Portion| {
        let scope = Scope::from_principal("caller");
        let target = keyring.verify(portion.next_cursor()?.as_str(), &scope);
        Some(target.expect("an issued cursor").position)
    };
    let mut next = position_after(&portion);
    while let Some(position) = next.filter(|_| shown.len() <= FOLLOW_UPS) {
        let Ok(resolved) = resolve(snapshot, Some((&view, position)), &Request::default(), &policy) else {
            break;
        };
        let resolved = rank(snapshot, resolved, &policy, cx.counter);
        let portion = follow_up_reply(snapshot, &resolved, &cx);
        view = view_with_pagination(resolved.view, &portion);
        shown.push(written(&portion));
        next = position_after(&portion);
    }
    shown
}

fn written(portion: &Portion) -> String {
    format!("{:?} {}", portion.pieces(), portion.notice())
}
