//! Documents become tools.

use portion_rest::openapi::{Document, ToolOptions, ToolSet};
use serde_json::{Value, json};

use super::{shown, tool, tools};

#[test]
fn equal_names_in_different_places_are_told_apart() {
    let place =
        |place: &str| json!({ "in": place, "name": "id", "required": true, "schema": { "type": "string" } });
    let operation = json!({
        "parameters": [place("cookie"), place("header"), place("query"), place("path")],
        "requestBody": { "required": true, "content": { "application/json": { "schema": { "type": "object", "properties": { "id": {}, "id_query": {} } } } } }
    });
    let tool = tool("3.0.0", "/a/{id}", "post", operation);
    let properties = tool.input_schema["properties"].as_object().expect("properties");
    assert_eq!(
        properties.keys().collect::<Vec<_>>(),
        ["id", "id_query", "id_header", "id_cookie", "id_body", "id_query_body"]
    );
    assert_eq!(properties["id_query"]["description"], "Parameter in the query: `id`.");
    assert_eq!(properties["id_query_body"]["description"], "Member of the body: `id_query`.");
    let arguments = r#"{"id":1,"id_query":2,"id_header":3,"id_cookie":4,"id_body":5,"id_query_body":6}"#;
    assert_eq!(
        shown(&tool, arguments),
        r#"POST /a/1?id=2 [id: 3] [Cookie: id=4] application/json {"id":5,"id_query":6}"#
    );
}

#[test]
fn arguments_have_valid_names() {
    let parameter = |name: &str| json!({ "in": "query", "name": name, "style": "deepObject" });
    let operation = json!({ "parameters": [parameter("filter[name]"), parameter("$top"), parameter("filter.name"), parameter("filter_name")] });
    let tool = tool("3.0.0", "/a", "get", operation);
    let names: Vec<_> =
        tool.input_schema["properties"].as_object().expect("properties").keys().cloned().collect();
    assert_eq!(names, ["filter_name", "top", "filter.name", "filter_name_query"]);
    assert_eq!(shown(&tool, r#"{"filter_name":"x","top":5}"#), "GET /a?filter%5Bname%5D=x&%24top=5");
}

#[test]
fn operations_are_chosen_by_patterns() {
    let document = json!({ "openapi": "3.1.0", "paths": {
        "/bookings": { "get": { "operationId": "listBookings" }, "post": { "operationId": "addBooking" } },
        "/guests/{id}": { "get": {}, "delete": {}, "trace": {} }
    } });
    let document = Document::parse(&document.to_string()).expect("a document");
    let check = |include: &[&str], exclude: &[&str], expect: &[&str]| {
        let owned = |patterns: &[&str]| patterns.iter().map(|pattern| (*pattern).to_owned()).collect();
        let options =
            ToolOptions { include: owned(include), exclude: owned(exclude), ..ToolOptions::default() };
        let names = match ToolSet::build(&document, &options) {
            Ok(set) => set.tools.into_iter().map(|tool| tool.name).chain(set.unmatched_patterns).collect(),
            Err(error) => vec![error.to_string()],
        };
        assert_eq!(names, expect, "{include:?} {exclude:?}");
    };
    check(&[], &[], &["listBookings", "addBooking", "get_guests_id", "delete_guests_id"]);
    check(&["list*", "/guests/*"], &["DELETE *"], &["listBookings", "get_guests_id"]);
    check(&["GET *"], &["*guests*"], &["listBookings"]);
    check(&["*Booking*"], &["nothing*"], &["listBookings", "addBooking", "nothing*"]);
    check(
        &["nothing"],
        &[],
        &[
            "none of its 4 operations is chosen; check include and exclude, which match tool names, paths and `METHOD /path`",
        ],
    );
}

#[test]
fn equal_operation_ids_are_numbered() {
    let set = tools(&json!({ "openapi": "3.0.0", "paths": {
        "/a": { "get": { "operationId": "get x" }, "put": { "operationId": "get_x" } },
        "/b": { "get": { "operationId": "get x" } }
    } }));
    assert_eq!(
        set.tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(),
        ["get_x", "get_x_2", "get_x_3"]
    );
}

#[test]
fn what_the_operator_sets_is_no_argument() {
    let document = json!({ "openapi": "3.0.0", "paths": { "/a": { "get": { "parameters": [
        { "in": "query", "name": "api_key" }, { "in": "header", "name": "X-Key" }, { "in": "header", "name": "Authorization" },
        { "in": "query", "name": "q", "schema": { "type": "object" } }
    ] } } } });
    let document = Document::parse(&document.to_string()).expect("a document");
    let options = ToolOptions {
        reserved_query: vec!["api_key".into()],
        reserved_headers: vec!["x-key".into()],
        ..ToolOptions::default()
    };
    let tool = ToolSet::build(&document, &options).expect("tools").tools.remove(0);
    assert_eq!(
        tool.input_schema["properties"].as_object().expect("properties").keys().collect::<Vec<_>>(),
        ["q"]
    );
    for name in ["api_key", "API_KEY", "api_key[]", " api_key"] {
        let request = shown(&tool, &json!({ "q": { name: "mine" } }).to_string());
        assert!(request.contains("which is configured and cannot be set"), "{name}: {request}");
    }
}

#[test]
fn other_documents_are_refused_where_they_are_needed() {
    let document = json!({ "openapi": "3.0.0", "paths": {
        "/a": { "get": { "operationId": "a" } },
        "/b": { "get": { "operationId": "b", "parameters": [{ "$ref": "parameters.yaml#/limit" }] } },
        "/c": { "post": { "operationId": "c", "requestBody": { "content": { "application/json": { "schema": { "properties": { "x": { "$ref": "http://x/y.json" } } } } } } } },
        "/d": { "$ref": "paths/d.yaml" },
        "/f": { "get": { "$ref": "operations/f.yaml" }, "put": { "$ref": "#/paths/~1a/get" } },
        "/e": { "post": { "operationId": "e", "requestBody": { "$ref": "#/components/requestBodies/e" } } }
    }, "components": { "requestBodies": { "e": { "$ref": "bodies.yaml" } } } });
    let document = Document::parse(&document.to_string()).expect("a document");
    let check = |include: &str, expect: &str| {
        let options = ToolOptions { include: vec![include.to_owned()], ..ToolOptions::default() };
        let found = ToolSet::build(&document, &options).map(|set| set.tools.len().to_string());
        let found = found.unwrap_or_else(|error| error.to_string());
        assert!(found.starts_with(expect), "{include}: {found}");
    };
    check("a", "1");
    check("b", "b refers to `parameters.yaml#/limit`, another document, which is not read; bundle");
    check("c", "c refers to `http://x/y.json`");
    check("/d", "/d refers to `paths/d.yaml`");
    check("GET /f", "get_f refers to `operations/f.yaml`");
    check("PUT /f", "1");
    check("e", "e refers to `bodies.yaml`");
}

#[test]
fn missing_parts_are_reported() {
    let set = tools(
        &json!({ "openapi": "3.0.0", "paths": { "/a": { "get": { "operationId": "a", "parameters": [{ "$ref": "#/nowhere" }] } } } }),
    );
    assert_eq!(set.faults, ["a refers to `#/nowhere`, which does not exist"]);
}

#[test]
fn parameters_of_the_path_are_inherited_and_replaced() {
    let set = tools(&json!({ "openapi": "3.0.0", "paths": { "/a": {
        "parameters": [{ "in": "query", "name": "x", "schema": { "type": "string" } }, { "$ref": "#/components/parameters/y" }],
        "get": { "parameters": [{ "in": "query", "name": "x", "schema": { "type": "integer" } }] }
    } }, "components": { "parameters": { "y": { "in": "query", "name": "y", "required": true } } } }));
    let schema = &set.tools[0].input_schema;
    assert_eq!(schema["properties"]["x"]["type"], "integer");
    assert_eq!(schema["required"], json!(["y"]));
}

#[test]
fn schemas_stay_small() {
    let mut schemas = serde_json::Map::new();
    for number in 0..200 {
        let next = format!("#/components/schemas/S{}", (number + 1) % 200);
        let schema = json!({ "type": "object", "description": "word ".repeat(60), "properties": { "next": { "$ref": next }, "name": { "type": "string" } } });
        schemas.insert(format!("S{number}"), schema);
    }
    for number in 200..800 {
        let name = format!("io.example.api.packages.with.long.names.v1.Name{number}");
        schemas.insert(name, json!({ "type": "object", "description": "word ".repeat(60) }));
    }
    let names =
        schemas.keys().skip(200).map(|name| json!({ "$ref": format!("#/components/schemas/{name}") }));
    let wide =
        json!({ "type": "object", "properties": { "w": { "anyOf": names.take(100).collect::<Vec<_>>() } } });
    let many: Value = (0..300)
        .map(|number| (format!("p{number}"), json!({ "type": "string", "description": "word ".repeat(40) })))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let short: Value = (0..300)
        .map(|number| (format!("p{number}"), json!({ "type": "string", "description": "a word" })))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let names: Vec<String> = (0..300).map(|number| format!("p{number}")).collect();
    let body = |schema: Value| json!({ "post": { "requestBody": { "content": { "application/json": { "schema": schema } } } } });
    let set = tools(&json!({ "openapi": "3.0.0", "components": { "schemas": schemas }, "paths": {
        "/chain": body(json!({ "$ref": "#/components/schemas/S0" })),
        "/wide": body(wide),
        "/many": body(json!({ "type": "object", "properties": many })),
        "/required": body(json!({ "type": "object", "properties": short, "required": names })),
        "/large": body(json!({ "enum": (0..5000).collect::<Vec<_>>() }))
    } }));
    for tool in &set.tools {
        let size = tool.input_schema.to_string().len();
        // With the controls that may be added, it has less than 15,000.
        assert!(size <= 14_500 && size > 100, "{} has {size} bytes", tool.path);
    }
    assert!(set.tools[0].input_schema["$defs"].to_string().contains("Schema left out"));
}

#[test]
fn hints_follow_the_method() {
    let hint = |method: &str| tool("3.0.0", "/a", method, json!({})).listing()["annotations"].clone();
    assert_eq!(hint("get"), json!({ "readOnlyHint": true, "openWorldHint": true }));
    assert_eq!(hint("put")["idempotentHint"], true);
    assert_eq!(
        (hint("post")["readOnlyHint"].clone(), hint("post")["destructiveHint"].clone()),
        (json!(false), json!(true))
    );
    let mut report = tool("3.0.0", "/a", "post", json!({}));
    report.is_read = true;
    assert_eq!(report.listing()["annotations"]["readOnlyHint"], true);
}

#[test]
fn servers_are_used_if_they_are_absolute() {
    let url = |document: Value| {
        let mut document = document;
        document["paths"] = json!({ "/a": {} });
        Document::parse(&document.to_string()).expect("a document").server_url()
    };
    assert_eq!(
        url(json!({ "openapi": "3.0.0", "servers": [{ "url": "https://x/v1" }] })).as_deref(),
        Some("https://x/v1")
    );
    assert_eq!(url(json!({ "openapi": "3.0.0", "servers": [{ "url": "/v1" }] })), None);
    assert_eq!(url(json!({ "openapi": "3.0.0", "servers": [{ "url": "https://{region}.x/" }] })), None);
    assert_eq!(url(json!({ "openapi": "3.0.0" })), None);
    assert_eq!(
        url(json!({ "swagger": "2.0", "host": "x", "basePath": "/v2", "schemes": ["http"] })).as_deref(),
        Some("http://x/v2")
    );
}
