//! Odd documents and arguments: no panic, no request that the document does not describe.

use serde_json::{Value, json};

use super::tools;

/// Values of all types, sizes and encodings.
fn values() -> Vec<Value> {
    let deep = (0..100).fold(json!(1), |inner, _| json!({ "a": inner }));
    vec![
        json!(null),
        json!(""),
        json!("a"),
        json!("../../etc/passwd"),
        json!("//evil.example/"),
        json!("a\r\nHost: evil"),
        json!("日本語 😀"),
        json!("%00%2e%2e"),
        json!(0),
        json!(-1.5e300),
        json!(true),
        json!([]),
        json!({}),
        json!(["a", null, 1]),
        json!([["a"]]),
        json!({ "a": { "b": [1, { "c": 2 }] } }),
        json!({ "": "", "a&b": "c=d" }),
        deep,
        json!("x".repeat(100_000)),
    ]
}

#[test]
fn every_place_style_and_value_gives_a_request_or_an_error() {
    let styles =
        ["simple", "label", "matrix", "form", "spaceDelimited", "pipeDelimited", "deepObject", "unknown"];
    let mut paths = serde_json::Map::new();
    for place in ["path", "query", "header", "cookie"] {
        for style in styles {
            for explode in [true, false] {
                let parameter = json!({ "in": place, "name": "p", "style": style, "explode": explode });
                let path = format!("/{place}/{style}/{explode}/{{p}}");
                let path = if place == "path" { path } else { path.replace("/{p}", "") };
                paths.insert(path, json!({ "get": { "parameters": [parameter] } }));
            }
        }
    }
    for media in [
        "application/json",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
        "text/plain",
        "image/png",
        "*/*",
    ] {
        for schema in
            [json!({ "type": "object", "properties": { "p": {} } }), json!({}), json!(true), json!(null)]
        {
            let path = format!("/body/{}", paths.len());
            paths.insert(
                path,
                json!({ "post": { "requestBody": { "content": { media: { "schema": schema } } } } }),
            );
        }
    }
    let set = tools(&json!({ "openapi": "3.0.3", "paths": paths }));
    let (mut requests, mut errors) = (0, 0);
    for tool in &set.tools {
        let argument = tool.input_schema["properties"]
            .as_object()
            .and_then(|all| all.keys().next())
            .expect("one")
            .clone();
        for value in values() {
            match tool.request(&json!({ argument.as_str(): value }).to_string()) {
                Ok(request) => {
                    requests += 1;
                    let expected = tool.path.replace("{p}", "");
                    assert!(request.path.starts_with(&expected), "{} {}", tool.path, request.path);
                    assert_eq!(
                        request.path.matches('/').count(),
                        tool.path.matches('/').count(),
                        "{}",
                        request.path
                    );
                    assert!(request.path.is_ascii() && request.query.is_ascii());
                    assert!(!request.query.contains(['#', ' ', '\r', '\n']), "{}", request.query);
                    for (_, value) in &request.headers {
                        assert!(!value.contains(['\r', '\n', '\0']), "{value:?}");
                    }
                }
                Err(error) => {
                    errors += 1;
                    assert!(error.to_string().len() < 300, "{error}");
                }
            }
        }
    }
    assert!(requests > 500 && errors > 100, "{requests} requests, {errors} errors");
}

#[test]
fn odd_documents_give_tools_or_errors() {
    let odd = values();
    for value in &odd {
        for document in [
            json!({ "openapi": value, "paths": { "/a": { "get": {} } } }),
            json!({ "openapi": "3.0.0", "paths": { "/a": value } }),
            json!({ "openapi": "3.0.0", "paths": { "/a": { "get": value } } }),
            json!({ "openapi": "3.0.0", "servers": value, "info": value, "paths": { "/a": { "get": { "operationId": value, "summary": value, "description": value } } } }),
            json!({ "openapi": "3.0.0", "paths": { "/a/{b": { "parameters": value, "post": { "parameters": value, "requestBody": value, "responses": value } } } }),
            json!({ "openapi": "3.0.0", "paths": { "/a": { "post": { "requestBody": { "content": value } } } } }),
            json!({ "openapi": "3.0.0", "paths": { "/a": { "post": { "requestBody": { "content": { "application/json": { "schema": value, "encoding": value } } } } } } }),
            json!({ "openapi": "3.0.0", "paths": { "/a": { "post": { "parameters": [{ "in": "query", "name": value, "schema": value, "style": value, "content": value }] } } } }),
            json!({ "swagger": "2.0", "host": value, "paths": { "/a": { "post": { "consumes": value, "parameters": [{ "in": "formData", "name": "a", "type": value, "items": value }] } } } }),
        ] {
            let Ok(parsed) = portion_rest::openapi::Document::parse(&document.to_string()) else { continue };
            let Ok(set) = portion_rest::openapi::ToolSet::build(
                &parsed,
                &portion_rest::openapi::ToolOptions::default(),
            ) else {
                continue;
            };
            for tool in &set.tools {
                assert!(!tool.name.is_empty() && tool.name.len() <= 64, "{document}");
                drop(tool.request("{}"));
                drop(tool.listing().to_string());
            }
        }
    }
}

#[test]
fn references_in_circles_end() {
    let set = tools(&json!({ "openapi": "3.0.0", "paths": {
        "/a": { "post": {
            "parameters": [{ "$ref": "#/components/parameters/a" }],
            "requestBody": { "content": { "application/json": { "schema": { "$ref": "#/components/schemas/a" } } } }
        } },
        "/b": { "$ref": "#/paths/~1b" },
        "/c": { "post": { "requestBody": { "$ref": "#/paths/~1c/post/requestBody" } } }
    }, "components": {
        "parameters": { "a": { "$ref": "#/components/parameters/b" }, "b": { "$ref": "#/components/parameters/a" } },
        "schemas": { "a": { "allOf": [{ "$ref": "#/components/schemas/b" }] }, "b": { "$ref": "#/components/schemas/a" } }
    } }));
    assert_eq!(set.tools.len(), 2);
}
