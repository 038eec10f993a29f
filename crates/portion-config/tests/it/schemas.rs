//! Tests that the schema accepts and rejects the same files as the parser.

use boon::{Compiler, Draft, Schemas};
use portion_config::key::{Key, SettingsLevel};
use portion_config::schema;
use serde_json::{Value, json};

use super::{file, load};

const RICH: &str = include_str!("rich.json");

/// Returns the errors of a document by the schema, which is checked against the schema of schemas.
fn errors(document: &Value) -> Option<String> {
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    compiler.set_default_draft(Draft::V2020_12);
    compiler.add_resource("portion.schema.json", schema()).expect("a schema");
    let index = compiler.compile("portion.schema.json", &mut schemas).expect("a valid schema");
    schemas.validate(document, index).err().map(|error| error.to_string())
}

fn check(document: &Value, expect: bool) {
    let errors = errors(document);
    assert_eq!(errors.is_none(), expect, "{document}: {errors:?}");
    let ours = load(&file("portion.json", &document.to_string()));
    assert_eq!(ours.is_ok(), expect, "{document}: {ours:?}");
}

#[test]
fn a_rich_example_is_accepted() {
    let rich: Value = serde_json::from_str(RICH).expect("JSON");
    for key in Key::all().filter(|key| key.is_allowed_at(SettingsLevel::Top) && key.name != "split") {
        assert!(rich.get(key.name).is_some(), "{} is missing in the example", key.name);
    }
    check(&rich, true);
    check(&json!({}), true);
}

#[test]
fn unusual_files_are_accepted() {
    for strange in [
        json!({ "sections": { "a": 5, "b": "c,d" } }),
        json!({ "summaryFields": [5, "a b"], "items": 5 }),
        json!({ "hardByteLimit": "1.5 MB", "fallbackByteLimit": "4096", "mediaByteLimit": "5M" }),
        json!({ "snapshotTtl": "1h 30m", "$schema": "https://example.com/portion.json" }),
        json!({ "upstreams": {}, "endpoints": { "a": {} } }),
        json!({ "endpoints": { "a": { "pushdown": "hostaway", "read": true } } }),
        json!({ "endpoints": { "a": { "pushdown": { "offset": "skip", "pageSize": 50, "maxFetchBytes": "1MiB" } } } }),
        json!({ "upstreams": { "a": { "command": ["x", 5], "env": { "PORT": 5, "ON": true } } } }),
    ] {
        check(&strange, true);
    }
}

#[test]
fn invalid_files_are_rejected() {
    for wrong in [
        json!([]),
        json!({ "hardcap": 1 }),
        json!({ "hardCap": "4000" }),
        json!({ "hardCap": 10 }),
        json!({ "pushdown": "page" }),
        json!({ "endpoints": { "a": { "pushdown": "pages" } } }),
        json!({ "endpoints": { "a": { "pushdown": { "page": "page", "colour": "red" } } } }),
        json!({ "hardCap": 700.5 }),
        json!({ "warnAt": 0 }),
        json!({ "rollout": 101 }),
        json!({ "hardByteLimit": "lots" }),
        json!({ "hardByteLimit": 5 }),
        json!({ "snapshotTtl": 600 }),
        json!({ "snapshotTtl": "600" }),
        json!({ "rows": "table" }),
        json!({ "pagination": "true" }),
        json!({ "controls": "maybe" }),
        json!({ "experiment": { "split": 50, "x": 1 } }),
        json!({ "experiment": "split" }),
        json!({ "sections": { "a": {} } }),
        json!({ "sections": { "a": [] } }),
        json!({ "sections": ["a"] }),
        json!({ "summaryFields": [["a"]] }),
        json!({ "summaryFields": true }),
        json!({ "redact": [""] }),
        json!({ "pageSize": 5 }),
        json!({ "readTool": "a b" }),
        json!({ "endpoints": { "": {} } }),
        json!({ "endpoints": { "a": { "listen": "127.0.0.1:1" } } }),
        json!({ "endpoints": [] }),
        json!({ "upstreams": { "a": {} } }),
        json!({ "upstreams": { "a": { "url": "http://x/", "command": "y" } } }),
        json!({ "upstreams": { "a/b": { "command": "y" } } }),
        json!({ "hardCap": null }),
    ] {
        check(&wrong, false);
    }
}

#[test]
fn documented_keys_are_in_the_schema() {
    let schema = schema();
    let promised = "tokenBudgetThreshold replyTarget hardCap hardByteLimit fallbackByteLimit mediaByteLimit mediaTokens fullBelow \
        defaultPageSize maxPageSize summarizeAbove chunkAbove chunkSize chunkLines snapshotTtl snapshotMemory store cursorKeys snapshotDisk \
        upstreamMessageLimit clientMessageLimit drainTimeout requestTimeout warnAt tokenizer metadata metadataStyle envelope rows mode stripFields";
    for key in promised.split_whitespace() {
        assert!(schema.pointer(&format!("/properties/{key}/description")).is_some(), "{key}");
        assert!(
            schema.pointer(&format!("/properties/{key}/default")).is_some()
                || ["replyTarget", "cursorKeys"].contains(&key),
            "{key}"
        );
    }
}
