//! Arguments become requests.

use serde_json::{Value, json};

use super::{shown, tool};

const VALUE: &str = r#"[3,"4 5","é,"]"#;
const OBJECT: &str = r#"{"R":100,"G b":"x/y"}"#;

/// Checks the request with one parameter `p`.
fn check(parameter: Value, value: &str, expect: &str) {
    let mut parameter = parameter;
    parameter["name"] = "p".into();
    let path = if parameter["in"] == "path" { "/a/{p}/b" } else { "/a" };
    let tool = tool("3.0.0", path, "get", json!({ "parameters": [parameter] }));
    let arguments = format!("{{\"p\":{value}}}");
    let request = shown(&tool, &arguments);
    assert_eq!(request.strip_prefix("GET ").unwrap_or(&request), expect, "{parameter} {value}");
}

#[test]
fn query_styles() {
    let style = |style: &str, explode: bool| json!({ "in": "query", "style": style, "explode": explode });
    check(json!({ "in": "query" }), "1.50", "/a?p=1.50");
    check(json!({ "in": "query" }), "12345678901234567890", "/a?p=12345678901234567890");
    check(json!({ "in": "query" }), "true", "/a?p=true");
    check(json!({ "in": "query" }), "null", "/a");
    check(json!({ "in": "query" }), "\"\"", "/a?p=");
    check(json!({ "in": "query" }), "\"a&b=c#d+e f\"", "/a?p=a%26b%3Dc%23d%2Be%20f");
    check(json!({ "in": "query", "allowReserved": true }), "\"a/b?c&d#e\"", "/a?p=a/b?c%26d%23e");
    check(style("form", true), VALUE, "/a?p=3&p=4%205&p=%C3%A9,");
    check(style("form", false), VALUE, "/a?p=3,4%205,%C3%A9%2C");
    check(style("form", false), r#"["Smith, J","Lee"]"#, "/a?p=Smith%2C%20J,Lee");
    check(style("form", false), r#"{"a,b":"c,d"}"#, "/a?p=a%2Cb,c%2Cd");
    check(style("spaceDelimited", false), "[1,2]", "/a?p=1%202");
    check(style("pipeDelimited", false), "[1,2]", "/a?p=1%7C2");
    check(style("form", true), "[]", "/a");
    check(style("form", true), OBJECT, "/a?R=100&G%20b=x%2Fy");
    check(style("form", false), OBJECT, "/a?p=R,100,G%20b,x%2Fy");
    check(
        style("deepObject", true),
        r#"{"a":{"b":[1,2]},"c":null}"#,
        "/a?p%5Ba%5D%5Bb%5D%5B%5D=1&p%5Ba%5D%5Bb%5D%5B%5D=2&p%5Bc%5D=",
    );
    check(style("deepObject", true), r#"[{"a":1},{"a":2}]"#, "/a?p%5B0%5D%5Ba%5D=1&p%5B1%5D%5Ba%5D=2");
    check(
        json!({ "in": "query", "content": { "application/json": {} } }),
        r#"{"a": [1]}"#,
        "/a?p=%7B%22a%22%3A%20%5B1%5D%7D",
    );
    check(
        style("form", true),
        "[[1]]",
        "! p is nested too deeply to be written in the query; use text, numbers or true/false there",
    );
}

#[test]
fn path_styles() {
    let style = |style: &str, explode: bool| json!({ "in": "path", "style": style, "explode": explode });
    check(json!({ "in": "path" }), "\"a/b ?#%é\"", "/a/a%2Fb%20%3F%23%25%C3%A9/b");
    check(json!({ "in": "path" }), "7", "/a/7/b");
    check(style("simple", false), "[1,2]", "/a/1,2/b");
    check(style("simple", true), OBJECT, "/a/R=100,G%20b=x%2Fy/b");
    check(style("label", false), "[1,2]", "/a/.1,2/b");
    check(style("label", true), "[1,2]", "/a/.1.2/b");
    check(style("matrix", false), "[1,2]", "/a/;p=1,2/b");
    check(style("matrix", true), "[1,2]", "/a/;p=1;p=2/b");
    check(style("matrix", true), "{\"x\":1}", "/a/;x=1/b");
    check(style("matrix", false), "5", "/a/;p=5/b");
}

#[test]
fn path_values_stay_in_their_segment() {
    for value in ["..", ".", "", "../x", "a/..", "a\\..\\b", "%2e%2E", "..%2fx", "a\u{0}", "a\r\n", "..;x"] {
        let value = Value::from(value).to_string();
        let tool = tool("3.0.0", "/a/{p}", "get", json!({}));
        let request = shown(&tool, &format!("{{\"p\":{value}}}"));
        assert!(request.starts_with("! `p` "), "{value}: {request}");
    }
    for value in ["...", "a..b", "..a", "//evil.example", "http://evil", "@evil", "a:b"] {
        let tool = tool("3.0.0", "/{p}", "get", json!({}));
        let request = shown(&tool, &json!({ "p": value }).to_string());
        assert!(request.starts_with("GET /") && request.matches('/').count() == 1, "{request}");
    }
}

#[test]
fn headers_and_cookies() {
    check(json!({ "in": "header" }), "[1,\"b\"]", "/a [p: 1,b]");
    check(json!({ "in": "header", "explode": true }), OBJECT, "/a [p: R=100,G b=x/y]");
    check(json!({ "in": "cookie" }), "\"a; b=c\"", "/a [Cookie: p=a%3B%20b%3Dc]");
    for value in ["\"a\\r\\nb\"", "\"é\"", "\"a\\u0000\""] {
        check(
            json!({ "in": "header" }),
            value,
            "! p has characters that are not allowed in an HTTP header; use printable ASCII on one line",
        );
    }
}

#[test]
fn bodies_of_version_3() {
    let post = |media: &str, schema: Value, required: bool| {
        let operation =
            json!({ "requestBody": { "required": required, "content": { media: { "schema": schema } } } });
        tool("3.0.0", "/a", "post", operation)
    };
    let object = json!({ "type": "object", "properties": { "a": {}, "b": { "type": "array" }, "c": { "type": "object" } }, "required": ["a"] });
    let json = post("application/json", object.clone(), true);
    assert_eq!(
        shown(&json, r#"{"b":[1.0, 2],"a":null}"#),
        r#"POST /a application/json {"a":null,"b":[1.0, 2]}"#
    );
    assert_eq!(shown(&json, "{}"), "! required argument `a` is missing; add it");
    let optional = post("application/json", object.clone(), false);
    assert_eq!(shown(&optional, "{}"), "POST /a");
    assert_eq!(shown(&optional, r#"{"c":{}}"#), r#"POST /a application/json {"c":{}}"#);
    let form = post("application/x-www-form-urlencoded", object.clone(), true);
    assert_eq!(
        shown(&form, r#"{"a":"x y","b":[1,2],"c":{"d":1}}"#),
        "POST /a application/x-www-form-urlencoded a=x%20y&b=1&b=2&c=%7B%22d%22%3A1%7D"
    );
    let whole = post("application/json", json!({ "oneOf": [{ "type": "string" }] }), true);
    assert_eq!(shown(&whole, r#"{"body": [1.50]}"#), "POST /a application/json [1.50]");
    assert_eq!(shown(&whole, "{}"), "! required argument `body` is missing; add it");
    let text = post("text/csv", json!({ "type": "string" }), true);
    assert_eq!(shown(&text, r#"{"body":"a,b\n1,2"}"#), "POST /a text/csv a,b\n1,2");
    assert_eq!(shown(&text, r#"{"body":{}}"#), "! body must be text");
    let bytes = post("application/pdf", json!({}), true);
    assert_eq!(shown(&bytes, r#"{"body":"aGk="}"#), "POST /a application/pdf hi");
    assert_eq!(shown(&bytes, r#"{"body":"???"}"#), "! body is not base64; encode the bytes as base64 text");
    let any_form = post("application/x-www-form-urlencoded", json!({ "allOf": [{}] }), true);
    assert_eq!(shown(&any_form, r#"{"body":{"k":"v"}}"#), "POST /a application/x-www-form-urlencoded k=v");
    assert_eq!(shown(&any_form, r#"{"body":[]}"#), "! body must be an object");
}

#[test]
fn forms_use_the_described_styles() {
    let schema =
        json!({ "type": "object", "properties": { "m": { "type": "object" }, "l": { "type": "array" } } });
    let encoding = json!({ "m": { "style": "deepObject", "explode": true }, "l": { "style": "deepObject", "explode": true } });
    let content = json!({ "application/x-www-form-urlencoded": { "schema": schema, "encoding": encoding } });
    let tool = tool("3.0.0", "/a", "post", json!({ "requestBody": { "content": content } }));
    let request = shown(&tool, r#"{"m":{"k":{"n":1}},"l":["x"]}"#);
    assert_eq!(request, "POST /a application/x-www-form-urlencoded m%5Bk%5D%5Bn%5D=1&l%5B%5D=x");
}

#[test]
fn bodies_of_version_2() {
    let body = json!({ "parameters": [{ "in": "body", "name": "pet", "required": true, "schema": { "type": "object", "properties": { "id": {} } } }] });
    assert_eq!(shown(&tool("2.0", "/a", "put", body), r#"{"id":1}"#), r#"PUT /a application/json {"id":1}"#);
    let form = json!({ "parameters": [
        { "in": "formData", "name": "a", "type": "string", "required": true },
        { "in": "formData", "name": "l", "type": "array", "items": { "type": "string" } },
        { "in": "formData", "name": "m", "type": "array", "collectionFormat": "multi" }
    ] });
    let form = tool("2.0", "/a", "post", form);
    assert_eq!(
        shown(&form, r#"{"a":"1","l":["x","y"],"m":[1,2]}"#),
        "POST /a application/x-www-form-urlencoded a=1&l=x%2Cy&m=1&m=2"
    );
    let upload = tool(
        "2.0",
        "/a",
        "post",
        json!({ "parameters": [{ "in": "formData", "name": "f", "type": "file" }] }),
    );
    assert!(
        shown(&upload, r#"{"f":"aGk="}"#)
            .contains("filename=\"f\"\r\nContent-Type: application/octet-stream\r\n\r\nhi\r\n")
    );
    let list = json!({ "parameters": [{ "in": "query", "name": "q", "type": "array", "collectionFormat": "pipes" }] });
    assert_eq!(shown(&tool("2.0", "/a", "get", list), r#"{"q":[1,2]}"#), "GET /a?q=1%7C2");
}

#[test]
fn paths_of_odd_documents_are_encoded() {
    let path = |path: &str| shown(&tool("3.0.0", path, "get", json!({})), "{}");
    assert_eq!(path("/a b/é"), "GET /a%20b/%C3%A9");
    assert_eq!(path("no-slash"), "GET /no-slash");
    assert_eq!(path("/a?action=list"), "GET /a?action=list");
    assert_eq!(path("/a#part"), "GET /a");
    assert_eq!(path("/a/{open"), "GET /a/%7Bopen");
}
