//! Requests of tools that an operator describes.

use portion_policy::tool_description::{ArgumentDescription, ArgumentPlace, BodyEncoding, ToolDescription};
use portion_rest::openapi::Tool;
use serde_json::{Map, Value, json};

fn argument(name: &str, place: ArgumentPlace) -> ArgumentDescription {
    ArgumentDescription::new(name, place)
}

/// An argument whose schema has the types.
fn typed(name: &str, types: Value) -> ArgumentDescription {
    let schema = Map::from_iter([("type".to_owned(), types)]);
    ArgumentDescription { schema, ..argument(name, ArgumentPlace::Query) }
}

fn rows() -> ToolDescription {
    ToolDescription {
        name: "get_rows".into(),
        path: "/api/{level}/{topic}[/{filters.year}][/grade-{filters.grade}][/{subtopic}]/".into(),
        query: vec![("mode".into(), "a b".into())],
        arguments: vec![
            ArgumentDescription { is_required: true, ..argument("level", ArgumentPlace::Path) },
            argument("topic", ArgumentPlace::Path),
            argument("subtopic", ArgumentPlace::Path),
            typed("filters", json!("object")),
            typed("more", json!(["object", "null"])),
            typed("status", json!("string")),
            argument("any", ArgumentPlace::Query),
            ArgumentDescription { sent_as: "tags[]".into(), ..argument("tag", ArgumentPlace::Query) },
            ArgumentDescription { sent_as: "pageNumber".into(), ..argument("page", ArgumentPlace::Query) },
            argument("limit", ArgumentPlace::Control),
        ],
        ..ToolDescription::default()
    }
}

/// `expect`: path and query, or a part of the error.
fn check(arguments: &str, expect: Result<(&str, &str), &str>) {
    let tool = Tool::from_description(&rows(), &["key".to_owned()]).expect("a valid description");
    match (tool.request(arguments), expect) {
        (Ok(request), Ok(expect)) => {
            assert_eq!((request.path.as_str(), request.query.as_str()), expect, "{arguments}");
        }
        (Err(error), Err(expect)) => assert!(error.to_string().contains(expect), "{arguments}: {error}"),
        (request, _) => panic!("{arguments}: {request:?}"),
    }
}

#[test]
fn parts_of_the_path_are_left_out_with_their_arguments() {
    check(r#"{"level":"a","topic":"b"}"#, Ok(("/api/a/b/", "mode=a%20b")));
    check(
        r#"{"level":"a","topic":"b","filters":{"year":2020,"grade":9,"fips":[6,36],"x":null}}"#,
        Ok(("/api/a/b/2020/grade-9/", "mode=a%20b&fips=6,36")),
    );
    check(r#"{"level":"a","topic":"b","subtopic":["x","y/z"]}"#, Ok(("/api/a/b/x/y%2Fz/", "mode=a%20b")));
    check(r#"{"level":"a","topic":"b","subtopic":[]}"#, Ok(("/api/a/b/", "mode=a%20b")));
    check(
        r#"{"level":"a","topic":"b","more":{"x":1},"status":"s"}"#,
        Ok(("/api/a/b/", "mode=a%20b&x=1&status=s")),
    );
    check(r#"{"level":"a","topic":"b","page":3,"limit":20}"#, Ok(("/api/a/b/", "mode=a%20b&pageNumber=3")));
}

/// `expect`: paths with queries, or a part of the error.
fn check_requests(path: &str, arguments: &str, expect: Result<&[&str], &str>) {
    let description = ToolDescription { path: path.into(), ..rows() };
    let tool = Tool::from_description(&description, &[]).expect("a valid description");
    match (tool.requests(arguments), expect) {
        (Ok(requests), Ok(expect)) => {
            let urls = requests.iter().map(|request| format!("{}?{}", request.path, request.query));
            assert_eq!(urls.collect::<Vec<_>>(), expect, "{arguments}");
        }
        (Err(error), Err(expect)) => assert!(error.to_string().contains(expect), "{arguments}: {error}"),
        (requests, _) => panic!("{arguments}: {requests:?}"),
    }
}

#[test]
fn each_value_of_a_list_makes_a_request() {
    let path = "/{level}/{topic}[/{filters.year*}][/grade-{filters.grade*}][/{subtopic}]/";
    let check = |filters: &str, expect: Result<&[&str], &str>| {
        check_requests(path, &format!(r#"{{"level":"a","topic":"b","filters":{filters}}}"#), expect);
    };
    check(
        r#"{"year":2020,"grade":[9, 10]}"#,
        Ok(&["/a/b/2020/grade-9/?mode=a%20b", "/a/b/2020/grade-10/?mode=a%20b"]),
    );
    check(
        r#"{"grade":[9,"10"],"fips":[6,36],"year":[1,2]}"#,
        Ok(&[
            "/a/b/1/grade-9/?mode=a%20b&fips=6,36",
            "/a/b/1/grade-10/?mode=a%20b&fips=6,36",
            "/a/b/2/grade-9/?mode=a%20b&fips=6,36",
            "/a/b/2/grade-10/?mode=a%20b&fips=6,36",
        ]),
    );
    check(r#"{"grade":[9,9]}"#, Ok(&["/a/b/grade-9/?mode=a%20b"]));
    check(r#"{"grade":[],"x":1}"#, Err("single value"));
    check(r#"{"grade":[[9]]}"#, Err("single value"));
    check(r#"{"grade":[9,"../10"]}"#, Err("part `.` or `..`"));
    let many: Vec<u32> = (0..21).collect();
    check(&json!({ "grade": many }).to_string(), Err("at most 20 requests"));
    // Without the star, and for tools that may write, a list is refused.
    check_requests(
        "/{level}/{topic}/{filters.grade}[/{subtopic}]/",
        r#"{"level":"a","topic":"b","filters":{"grade":[9,10]}}"#,
        Err("call once"),
    );
    let writes = ToolDescription { path: path.into(), method: "DELETE", ..rows() };
    let tool = Tool::from_description(&writes, &[]).expect("a valid description");
    let refused = tool.requests(r#"{"level":"a","topic":"b","filters":{"grade":[9,10]}}"#);
    assert!(refused.expect_err("refused").to_string().contains("call once"));
}

#[test]
fn a_star_stands_behind_a_member() {
    let description = ToolDescription { path: "/{level*}/".into(), ..rows() };
    let error = Tool::from_description(&description, &[]).expect_err("refused");
    assert!(error.to_string().contains("{argument.member*}"), "{error}");
}

#[test]
fn invalid_arguments_are_refused() {
    check(r#"{"topic":"b"}"#, Err("`level` is missing"));
    check(r#"{"level":"a"}"#, Err("`topic` is missing"));
    check(r#"{"level":"..","topic":"b"}"#, Err("part `.` or `..`"));
    check(r#"{"level":"a","topic":"b","filters":{"grade":[9,10]}}"#, Err("call once for each value"));
    check(r#"{"level":"a","topic":"b","filters":7}"#, Err("must be an object"));
    check(r#"{"level":"a","topic":"b","filters":{"key":1}}"#, Err("`key`, which is configured"));
    check(r#"{"level":"a","topic":"b","filters":{"mode[]":1}}"#, Err("which is configured"));
    check(r#"{"level":"a","topic":"b","filters":{"pageNumber":1}}"#, Err("which the argument `page` sets"));
    check(r#"{"level":"a","topic":"b","filters":{"Status[]":1}}"#, Err("which the argument `status` sets"));
    check(r#"{"level":"a","topic":"b","filters":{"tags[0]":1}}"#, Err("which the argument `tag` sets"));
    check(r#"{"level":"a","topic":"b","filters":{"limit":1}}"#, Err("which the argument `limit` sets"));
    check(r#"{"level":"a","topic":"b","status":{"x":1}}"#, Err("status must be text"));
    check(r#"{"level":"a","topic":"b","any":{"x":1}}"#, Err("any must be text"));
    check(r#"{"level":"a","topic":"b","filters":{"x":{"y":1}}}"#, Err("nested too deeply"));
    check(r#"{"level":"a","topic":"b","none":1}"#, Err("unknown argument `none`"));
}

#[test]
fn bodies_are_written_in_their_encoding() {
    let body = |encoding| {
        let id = ArgumentDescription {
            sent_as: "ids[]".into(),
            is_list: true,
            ..argument("id", ArgumentPlace::Body)
        };
        let report = ToolDescription {
            name: "report".into(),
            method: "POST",
            path: "/report".into(),
            body: vec![("format".into(), "json".into()), ("version".into(), json!(5))],
            body_encoding: encoding,
            arguments: vec![argument("from", ArgumentPlace::Body), id],
            is_read: true,
            ..ToolDescription::default()
        };
        let tool = Tool::from_description(&report, &[]).expect("valid");
        assert_eq!(tool.listing()["annotations"]["readOnlyHint"], json!(true));
        let body = tool.request(r#"{"from":"2026-01-01","id":7}"#).expect("valid").body.expect("a body");
        String::from_utf8(body.bytes).expect("text")
    };
    assert_eq!(body(BodyEncoding::Json), r#"{"format":"json","version":5,"from":"2026-01-01","ids[]":[7]}"#);
    assert_eq!(body(BodyEncoding::Form), "format=json&version=5&from=2026-01-01&ids%5B%5D=7");
}

#[test]
fn controls_are_marked_and_paths_are_checked() {
    let tool = Tool::from_description(&rows(), &[]).expect("valid");
    assert_eq!(tool.listing()["inputSchema"]["properties"]["limit"], json!({ "x-portion-control": true }));
    assert_eq!(tool.listing()["inputSchema"]["required"], json!(["level"]));
    let check = |path: &str, expect: &str| {
        let error = Tool::from_description(&ToolDescription { path: path.into(), ..rows() }, &[]);
        assert!(error.expect_err(path).to_string().contains(expect), "{path}");
    };
    check("x", "begin with a slash");
    check("/{level", "unmatched");
    check("/[{level}", "unmatched");
    check("/}", "unmatched");
    check("/]", "unmatched");
    check("/{nobody}", "`nobody` in its path");
    check("/{level}", "argument `topic`");
}
