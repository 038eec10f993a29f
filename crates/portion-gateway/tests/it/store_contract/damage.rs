//! A result that is damaged or lost in the store, between its meta and the blocks of a page, is an error. It is never a wrong
//! page.

use std::sync::Arc;
use std::time::{Duration, Instant};

use portion_core::cursor::Scope;
use portion_core::view::{Request, View};
use portion_gateway::store::{FieldName, SnapshotKey, SnapshotStore, StoreLookupError};

use super::files::put;
use super::named;
use super::pages::{instance, records};
use super::shared::RedisServer;
use crate::samples::drawers;
use crate::samples::list_bookings;
use crate::samples::trial::{fault, next_cursor, portion, shown};

/// Runs a Lua statement for each field `f` with a value `v` of each hash `k` that is a block after the first two.
fn for_each_block(statement: &str) -> String {
    format!(
        "for _, k in ipairs(redis.call('KEYS', '*')) do if redis.call('TYPE', k).ok == 'hash' then \
         for _, f in ipairs(redis.call('HKEYS', k)) do local n = tonumber(string.match(f, '^block%-(%d+)$')) \
         if n and n > 1 then local v = redis.call('HGET', k, f) {statement} end end end end"
    )
}

#[tokio::test]
async fn a_damaged_result_is_no_page() {
    let hashes = |statement: &str| {
        format!(
            "for _, k in ipairs(redis.call('KEYS', '*')) do if redis.call('TYPE', k).ok == 'hash' then {statement} end end"
        )
    };
    let cases = [
        ("cursor_expired", for_each_block("redis.call('HDEL', k, f)")),
        ("cursor_expired", for_each_block("redis.call('HSET', k, f, 'garbage')")),
        ("cursor_expired", for_each_block("redis.call('HSET', k, f, '')")),
        ("cursor_expired", for_each_block("redis.call('HSET', k, f, string.sub(v, 1, #v / 2))")),
        (
            "cursor_expired",
            for_each_block("redis.call('HSET', k, f, string.sub(v, 1, 999) .. 'x' .. string.sub(v, 1001))"),
        ),
        // Another block, intact.
        ("cursor_expired", for_each_block("redis.call('HSET', k, f, redis.call('HGET', k, 'block-0'))")),
        ("cursor_expired", hashes("redis.call('DEL', k)")),
        ("store_unavailable", hashes("redis.call('SET', k, 'text')")),
    ];
    for (code, script) in cases {
        let server = RedisServer::start();
        let (one, _) = instance(&server, 1 << 30);
        let first = portion(one.fresh(list_bookings(), records(8_000), Request::default()).await);
        let near = next_cursor(&first).expect("there is more");
        let mut far = near.clone();
        for _ in 0..20 {
            far = next_cursor(&portion(one.follow(far).await)).expect("there is more");
        }
        assert!(one.gateway.flush_store(Duration::from_mins(1)));
        let ((other, _), (third, _)) = (instance(&server, 1 << 30), instance(&server, 1 << 30));
        let page = portion(other.follow(near.clone()).await);
        let said = server.ask(&["EVAL", &script, "0"]);
        assert!(!said.contains("ERR"), "{said}");
        for instance in [&other, &third] {
            assert_eq!(fault(instance.follow(far.clone()).await).code.name(), code, "{script}");
        }
        assert_eq!(shown(&portion(other.follow(near).await)), shown(&page), "what was read is served");
    }
}

/// A snapshot in the encoding of another version, as instances of two versions write them side by side, is not there.
#[tokio::test]
async fn another_version_is_not_read() {
    let (server, scope, snapshot) =
        (RedisServer::start(), Scope::from_principal("ada"), Arc::new(drawers(20_000)));
    let find = async || {
        server.store(1 << 30, &[[7; 32]]).find(&scope, named(1), View::root().id(), Instant::now()).await
    };
    put(&server.store(0, &[[7; 32]]), &scope, 1, &snapshot).await.expect("it answers");
    assert_eq!(find().await.expect("it is there").snapshot.parts()[0].text(), snapshot.parts()[0].text());
    let (store, key) = (server.open(&[[7; 32]], "names"), SnapshotKey { scope, id: named(1) });
    let blocks = (0..).map(FieldName::Block).take(64);
    let pieces = (0..).map(FieldName::IndexPiece).take(64);
    let names: Vec<FieldName> = [FieldName::Header, FieldName::Meta, FieldName::View(View::root().id())]
        .into_iter()
        .chain(blocks)
        .chain(pieces)
        .collect();
    let fields = store.get(key, &names).await.expect("it answers");
    let fields: Vec<(FieldName, Vec<u8>)> =
        names.into_iter().zip(fields).filter_map(|(name, field)| Some((name, field?))).collect();
    let known = unpacked(&fields[1].1)[0];
    for version in [known - 1, known + 1, known] {
        let mut changed = fields.clone();
        let mut meta = unpacked(&fields[1].1);
        meta[0] = version;
        changed[1].1 = packed(&meta);
        store.put(key, changed).await.expect("it answers");
        match find().await {
            Ok(_) => assert_eq!(version, known),
            Err(error) => {
                assert!(version != known && matches!(error, StoreLookupError::Unknown), "version {version}");
            }
        }
    }
}

/// A whole result under the key of another is not there.
#[tokio::test]
async fn a_result_under_another_key_is_not_read() {
    let (server, scope) = (RedisServer::start(), Scope::from_principal("ada"));
    for (id, count) in [(1, 9), (2, 20)] {
        put(&server.store(0, &[[7; 32]]), &scope, id, &Arc::new(drawers(count))).await.expect("it answers");
    }
    let store = server.open(&[[7; 32]], "names");
    let names = [
        FieldName::Header,
        FieldName::Meta,
        FieldName::View(View::root().id()),
        FieldName::IndexPiece(0),
        FieldName::Block(0),
    ];
    let fields = store.get(SnapshotKey { scope, id: named(2) }, &names).await.expect("it is there");
    let fields = names.into_iter().zip(fields).filter_map(|(name, field)| Some((name, field?))).collect();
    store.put(SnapshotKey { scope, id: named(1) }, fields).await.expect("it answers");
    let find = async |id| {
        server.store(0, &[[7; 32]]).find(&scope, named(id), View::root().id(), Instant::now()).await
    };
    let found = find(1).await;
    assert!(matches!(found, Err(StoreLookupError::Unknown)), "{found:?}");
    assert_eq!(find(2).await.expect("it is there").id, named(2));
}

/// Unpacks a compressed field: a byte for the form, the checksum and the length of the content.
fn unpacked(field: &[u8]) -> Vec<u8> {
    let len = u32::from_le_bytes(field[5..9].try_into().expect("four bytes"));
    match field[0] {
        0 => field[9..].to_vec(),
        _ => lz4_flex::block::decompress(&field[9..], len as usize).expect("it is compressed"),
    }
}

/// Packs a field without compression.
fn packed(plain: &[u8]) -> Vec<u8> {
    let len = (plain.len() as u32).to_le_bytes();
    [&[0][..], &crc32fast::hash(plain).to_le_bytes(), &len, plain].concat()
}
