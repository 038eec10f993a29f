//! Parses the gateway's own parameters (controls) out of a call's arguments; the other arguments keep their
//! bytes.

use portion_core::error_code::ErrorCode;
use portion_core::policy::Policy;
use portion_core::view::{Request, ViewError, control_named};
use portion_gateway::call::{Fault, SnapshotQuery};
use portion_json::scan::{JsonKind, minify, unescape};
use portion_json::span::Span;

use super::argument_names::{
    ReadArgument, query_argument, read_argument, unknown_query_argument, unknown_read_argument,
};
use super::splice::Splice;
use super::walk::{self, Member, Sequence};

/// Depth from which arguments are compared as written, without sorting their keys.
const MAX_SORT_DEPTH: usize = 32;

/// Returns true if an argument has the name of a control.
pub(super) fn has_control(text: &str, arguments: Span) -> bool {
    walk::members(text, arguments).iter().any(|member| is_control(text, member))
}

/// Largest number of argument names recorded per call.
const MAX_ARGUMENT_NAMES: usize = 32;

/// Returns the names of the arguments for the records; never a value.
pub(super) fn argument_names(text: &str, arguments: Span) -> Vec<String> {
    let members = walk::members(text, arguments);
    members
        .iter()
        .take(MAX_ARGUMENT_NAMES)
        .map(|m| unescape(m.key.slice(text)).chars().take(64).collect())
        .collect()
}

/// Removes the controls for which `ours` returns true from the arguments. A control may be written in another case,
/// or as `start_line`, if that name is ours as well.
///
/// Returns the request, and the other arguments in a canonical form that is equal for equal arguments.
///
/// # Errors
/// The first invalid control.
pub(super) fn split_controls(
    splice: &mut Splice<'_>,
    text: &str,
    arguments: Span,
    ours: impl Fn(&str) -> bool,
    policy: &Policy,
) -> Result<(Request, String), ViewError> {
    let members = walk::members(text, arguments);
    let mut request = Request::default();
    let mut taken = Vec::with_capacity(members.len());
    for Member { key, value } in &members {
        let name = unescape(key.slice(text));
        let control = control_named(&name).filter(|control| ours(&name) && ours(control));
        taken.push(match control {
            Some(control) => request.set_control(control, value.slice(text), policy)?,
            None => false,
        });
    }
    request.check()?;
    if taken.contains(&true) {
        let items = members.iter().map(|member| member.span()).collect();
        splice.edit_sequence(&Sequence { span: arguments, items }, |i| !taken[i], &[]);
    }
    let rest: Vec<Member> =
        members.into_iter().zip(&taken).filter(|(_, taken)| !**taken).map(|(m, _)| m).collect();
    let mut canonical = String::new();
    write_sorted_object(text, rest, 0, &mut canonical);
    Ok((request, canonical))
}

/// Returns the canonical form of arguments, a JSON object.
pub(super) fn canonical_arguments(arguments: &str) -> String {
    let mut canonical = String::new();
    write_sorted_object(
        arguments,
        walk::members(arguments, walk::document_span(arguments)),
        0,
        &mut canonical,
    );
    canonical
}

/// Parses the arguments of `portion_read`, all of which are controls. `query_tool`: listed name of the query tool.
///
/// # Errors
/// An invalid control, or an argument that is not a control.
pub(super) fn parse_read_arguments(
    text: &str,
    arguments: Span,
    policy: &Policy,
    query_tool: Option<&str>,
) -> Result<Request, Fault> {
    let mut request = Request::default();
    for Member { key, value } in walk::members(text, arguments) {
        let (name, json) = (unescape(key.slice(text)), value.slice(text));
        if !set_read_argument(&mut request, &name, json, policy)? {
            return Err(unknown_read_argument(&name, query_tool));
        }
    }
    request.check()?;
    Ok(request)
}

/// Sets an argument of `portion_read`. Returns false if there is none of that name.
fn set_read_argument(
    request: &mut Request,
    name: &str,
    json: &str,
    policy: &Policy,
) -> Result<bool, ViewError> {
    match read_argument(name) {
        ReadArgument::Control(control) => request.set_control(control, json, policy),
        ReadArgument::Lines => request.set_lines(name, json).map(|()| true),
        ReadArgument::Unknown => Ok(false),
    }
}

/// Parses the arguments of `portion_query`: the controls for its response, and the query.
///
/// # Errors
/// An invalid argument, or not exactly one query.
pub(super) fn parse_query_arguments(
    text: &str,
    arguments: Span,
    policy: &Policy,
) -> Result<(Request, SnapshotQuery), Fault> {
    let (mut request, mut sql, mut pattern) = (Request::default(), None, None);
    let (mut params, mut with, mut context, mut keys) = (Vec::new(), Vec::new(), None, false);
    for Member { key, value } in walk::members(text, arguments) {
        let (name, json) = (unescape(key.slice(text)), value.slice(text));
        match (name.as_str(), walk::kind(text, value)) {
            (_, JsonKind::Null) => {}
            ("sql", JsonKind::String) => sql = Some(unescape(json)),
            // A search pattern may look like a number.
            ("find", JsonKind::String) => pattern = Some(unescape(json)),
            ("find", JsonKind::Number | JsonKind::Bool) => pattern = Some(json.to_owned()),
            ("sql" | "find", _) => return Err(invalid_query(&format!("{name} is not text"))),
            ("params", JsonKind::Object) => {
                let members = walk::members(text, value).into_iter();
                params =
                    members.map(|m| (unescape(m.key.slice(text)), m.value.slice(text).to_owned())).collect();
            }
            ("params", _) => return Err(invalid_query("params must be an object")),
            ("with", JsonKind::Object) => with = parse_joined_cursors(text, value)?,
            ("with", JsonKind::String) => {
                // Models also write the object as a text.
                let object = unescape(json);
                with = parse_joined_cursors(&object, Span::new(0, object.len()))?;
                if with.is_empty() {
                    return Err(invalid_query(INVALID_WITH));
                }
            }
            ("with", _) => return Err(invalid_query(INVALID_WITH)),
            ("keys", JsonKind::Bool) => keys = json == "true",
            ("keys", _) => return Err(invalid_query("keys must be true or false")),
            ("context", _) => {
                let lines =
                    decoded_scalar(json).trim().parse().ok().filter(|lines| *lines <= MAX_CONTEXT_LINES);
                context = Some(lines.ok_or_else(|| invalid_query("context must be a number from 0 to 100"))?);
            }
            (_, JsonKind::String) if let Some((argument, query)) = query_argument(&name, &unescape(json)) => {
                let place = if argument == "sql" { &mut sql } else { &mut pattern };
                *place = Some(query);
            }
            _ => {
                if !set_read_argument(&mut request, &name, json, policy)? {
                    return Err(unknown_query_argument(&name));
                }
            }
        }
    }
    request.check()?;
    let query = match (sql, pattern) {
        (Some(sql), None) => SnapshotQuery::Sql { sql, params, with },
        (None, Some(_)) if !with.is_empty() => {
            return Err(invalid_query("with joins results in sql, not in find"));
        }
        (None, Some(pattern)) => {
            SnapshotQuery::Find { pattern, context, fields: request.fields.take(), keys }
        }
        (None, None) => return Err(invalid_query("no query is given")),
        (Some(_), Some(_)) => return Err(invalid_query("two queries given")),
    };
    Ok((request, query))
}

/// Largest number of results that a query joins.
const MAX_JOINED_RESULTS: usize = 4;

const INVALID_WITH: &str =
    "with must be an object of at most 4 different plain names and cursors: {\"b\":\"cursor\"}";

/// Parses `with`: the names and the cursors of other results.
fn parse_joined_cursors(text: &str, value: Span) -> Result<Vec<(String, String)>, Fault> {
    let members = walk::members(text, value);
    if members.len() > MAX_JOINED_RESULTS {
        return Err(invalid_query(INVALID_WITH));
    }
    let mut joined: Vec<(String, String)> = Vec::new();
    for Member { key, value } in members {
        let name = unescape(key.slice(text));
        let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name.len() <= 30
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        let is_new = !joined.iter().any(|(known, _)| known.eq_ignore_ascii_case(&name));
        if !is_name || !is_new || walk::kind(text, value) != JsonKind::String {
            return Err(invalid_query(INVALID_WITH));
        }
        joined.push((name, unescape(value.slice(text))));
    }
    Ok(joined)
}

/// Largest number of context lines around a match.
const MAX_CONTEXT_LINES: u32 = 100;

fn invalid_query(reason: &str) -> Fault {
    let advice = "set cursor and either sql, a SELECT over items (or lines, of text), or find, a text or \
                  /regex/; limit, fields, with, params, keys and context are optional";
    Fault::new(ErrorCode::QueryInvalid, reason.to_owned(), advice.to_owned())
}

/// Returns the text of a scalar, quoted or not.
fn decoded_scalar(json: &str) -> String {
    if JsonKind::of_value(json) == JsonKind::String { unescape(json) } else { json.to_owned() }
}

fn is_control(text: &str, member: &Member) -> bool {
    control_named(&unescape(member.key.slice(text))).is_some()
}

/// Writes a minified object with sorted keys.
fn write_sorted_object(text: &str, mut members: Vec<Member>, depth: usize, out: &mut String) {
    members.sort_by_cached_key(|member| unescape(member.key.slice(text)));
    out.push('{');
    for (i, Member { key, value }) in members.into_iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        out.push_str(&portion_json::scan::quote(&unescape(key.slice(text))));
        out.push(':');
        write_canonical(text, value, depth + 1, out);
    }
    out.push('}');
}

fn write_canonical(text: &str, value: Span, depth: usize, out: &mut String) {
    match walk::kind(text, value) {
        JsonKind::Object if depth < MAX_SORT_DEPTH => {
            write_sorted_object(text, walk::members(text, value), depth, out);
        }
        JsonKind::Array if depth < MAX_SORT_DEPTH => {
            out.push('[');
            for (i, item) in walk::items(text, value).into_iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_canonical(text, item, depth + 1, out);
            }
            out.push(']');
        }
        _ => minify(value.slice(text), out),
    }
}

#[cfg(test)]
mod tests {
    use portion_core::policy::Policy;
    use portion_core::view::Request;
    use portion_gateway::call::SnapshotQuery;

    use super::super::splice::Splice;
    use super::super::walk;
    use super::{has_control, parse_query_arguments, parse_read_arguments, split_controls};

    /// `expect`: the forwarded arguments, their canonical form, and the limit.
    fn check(arguments: &str, expect: (&str, &str, Option<u32>)) {
        let mut splice = Splice::new(arguments);
        let ours = |name: &str| name != "fields";
        let all = walk::document_span(arguments);
        let (request, canonical) =
            split_controls(&mut splice, arguments, all, ours, &Policy::default()).expect("good controls");
        assert_eq!((splice.apply().as_str(), canonical.as_str(), request.limit), expect, "{arguments}");
    }

    #[test]
    fn removes_controls_and_keeps_the_bytes_of_other_arguments() {
        check(r#"{"b": 1.0, "a":[ 1 ]}"#, (r#"{"b": 1.0, "a":[ 1 ]}"#, r#"{"a":[1],"b":1.0}"#, None));
        check(r#"{"limit":3}"#, ("{}", "{}", Some(3)));
        check(
            r#"{"limit":3, "q":{"z":1,"y":2}}"#,
            (r#"{"q":{"z":1,"y":2}}"#, r#"{"q":{"y":2,"z":1}}"#, Some(3)),
        );
        check(r#"{"q":1 , "l\u0069mit":"3" }"#, (r#"{"q":1 }"#, r#"{"q":1}"#, Some(3)));
        check(r#"{"fields":"a","limit":null}"#, (r#"{"fields":"a"}"#, r#"{"fields":"a"}"#, None));
        check("{}", ("{}", "{}", None));
    }

    #[test]
    fn deeply_nested_arguments_are_handled() {
        let deep = format!(r#"{{"a":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
        check(&deep, (&deep, &deep, None));
    }

    #[test]
    fn reports_invalid_controls() {
        let check = |arguments: &str, expect: &str| {
            let all = walk::document_span(arguments);
            let error = parse_read_arguments(arguments, all, &Policy::default(), None).expect_err("bad");
            assert_eq!(error.code.name(), expect, "{arguments}: {error:?}");
        };
        check(r#"{"cursor":"x","limit":0}"#, "limit_invalid");
        check(r#"{"cursor":"x","limit":100000}"#, "limit_too_large");
        check(r#"{"cursor":"x","limit":1e30}"#, "limit_too_large");
        check(r#"{"cursor":"x","limit":"1000000000000000000000"}"#, "limit_too_large");
        check(r#"{"cursor":"x","limit":-1e30}"#, "limit_invalid");
        check(r#"{"cursor":"x","sort":""}"#, "sort_invalid");
        check(r#"{"cursor":[7]}"#, "cursor_invalid");
        check(r#"{"cursor":"x","page":1,"offset":1}"#, "controls_conflict");
        check(r#"{"cursor":"x","filter":"y"}"#, "argument_unknown");
        check(r#"{"cursor":"x","lines":"x-y"}"#, "range_invalid");
        let fine = r#"{"cursor":"x","raw":true}"#;
        let request =
            parse_read_arguments(fine, walk::document_span(fine), &Policy::default(), None).expect("good");
        assert_eq!(request, Request { cursor: Some("x".into()), raw: true, ..Request::default() });
        let meant = r#"{"next_cursor":"x","lines":"10-20","max_tokens":"900"}"#;
        let request =
            parse_read_arguments(meant, walk::document_span(meant), &Policy::default(), None).expect("good");
        let (start_line, end_line, max_tokens) = (Some(10), Some(20), Some(900));
        let cursor = Some("x".into());
        assert_eq!(request, Request { cursor, start_line, end_line, max_tokens, ..Request::default() });
    }

    #[test]
    fn recognizes_controls() {
        let check = |text: &str, expect: bool| {
            assert_eq!(has_control(text, walk::document_span(text)), expect, "{text}");
        };
        check(r#"{"a":{"limit":1}}"#, false);
        check(r#"{"a":1,"limit":1}"#, true);
        check("[1]", false);
    }

    fn asks(arguments: &str) -> Result<(Request, SnapshotQuery), String> {
        let parsed = parse_query_arguments(arguments, walk::document_span(arguments), &Policy::default());
        parsed.map_err(|fault| format!("{}: {}", fault.code, fault.message))
    }

    #[test]
    fn parses_queries_in_all_spellings() {
        let sql = |sql: &str, params: &[(&str, &str)]| {
            let params = params.iter().map(|(name, json)| ((*name).into(), (*json).into())).collect();
            SnapshotQuery::Sql { sql: sql.into(), params, with: Vec::new() }
        };
        let find = |pattern: &str, context, fields: Option<&str>| SnapshotQuery::Find {
            pattern: pattern.into(),
            context,
            fields: fields.map(str::to_owned),
            keys: false,
        };
        let check = |arguments: &str, expect: SnapshotQuery| {
            let (request, query) = asks(arguments).expect(arguments);
            assert_eq!((request.cursor.as_deref(), query), (Some("c"), expect), "{arguments}");
        };
        check(r#"{"cursor":"c","sql":"SELECT \u0031"}"#, sql("SELECT 1", &[]));
        check(r#"{"s\u0071l":"S","cursor":"c","find":null,"limit":null,"colour":null}"#, sql("S", &[]));
        check(
            r#"{"cursor":"c","sql":"S","params":{"id":"a\"b", "n": 1.50 ,"x":null,"l":[1, 2]},"limit":"3"}"#,
            sql("S", &[("id", r#""a\"b""#), ("n", "1.50"), ("x", "null"), ("l", "[1, 2]")]),
        );
        check(r#"{"cursor":"c","sql":"S","params":null,"context":null}"#, sql("S", &[]));
        check(r#"{"cursor":"c","find":"x","sql":null}"#, find("x", None, None));
        check(
            r#"{"cursor":"c","find":"x","keys":true}"#,
            SnapshotQuery::Find { pattern: "x".into(), context: None, fields: None, keys: true },
        );
        let with = vec![("b".to_owned(), "d".to_owned()), ("C_2".to_owned(), "e".to_owned())];
        check(
            r#"{"cursor":"c","sql":"S","with":{"b":"d","C_2":"e"}}"#,
            SnapshotQuery::Sql { sql: "S".into(), params: Vec::new(), with: with.clone() },
        );
        check(
            r#"{"cursor":"c","sql":"S","with":"{\"b\": \"d\", \"C_2\": \"e\"}"}"#,
            SnapshotQuery::Sql { sql: "S".into(), params: Vec::new(), with },
        );
        // A search pattern may look like a number.
        check(r#"{"cursor":"c","find":10.50}"#, find("10.50", None, None));
        check(r#"{"cursor":"c","find":true}"#, find("true", None, None));
        check(r#"{"cursor":"c","find":"/x/","context":"3"}"#, find("/x/", Some(3), None));
        check(
            r#"{"cursor":"c","find":"x","context":0,"fields":"id,name"}"#,
            find("x", Some(0), Some("id,name")),
        );
        let (request, _) =
            asks(r#"{"cursor":"c","sql":"S","fields":"id","limit":7,"path":"a.b"}"#).expect("good");
        assert_eq!(
            (request.fields.as_deref(), request.limit, request.path.as_deref()),
            (Some("id"), Some(7), Some("a.b"))
        );
    }

    #[test]
    fn reports_invalid_queries() {
        let check = |arguments: &str, code: &str, named: &str| {
            let error = asks(arguments).expect_err(arguments);
            assert!(error.starts_with(code) && error.contains(named), "{arguments}: {error}");
        };
        check("{}", "query_invalid", "no query is given");
        check(r#"{"cursor":"c","sql":null}"#, "query_invalid", "no query is given");
        check(r#"{"cursor":"c","sql":"S","find":"x"}"#, "query_invalid", "two queries given");
        check(r#"{"cursor":"c","sql":7}"#, "query_invalid", "sql is not text");
        check(r#"{"cursor":"c","sql":["SELECT 1"]}"#, "query_invalid", "sql is not text");
        check(r#"{"cursor":"c","find":{"a":1}}"#, "query_invalid", "find is not text");
        check(r#"{"cursor":"c","sql":"S","params":[1]}"#, "query_invalid", "params must be an object");
        check(r#"{"cursor":"c","sql":"S","params":"x"}"#, "query_invalid", "params must be an object");
        for with in [
            "[]",
            "\"b\"",
            r#"{"b":7}"#,
            r#"{"":"d"}"#,
            r#"{"b c":"d"}"#,
            r#"{"1":"d"}"#,
            r#"{"b":"d","B":"e"}"#,
        ] {
            check(&format!(r#"{{"sql":"S","with":{with}}}"#), "query_invalid", "with must be an object");
        }
        let five = r#"{"a":"1","b":"2","c":"3","d":"4","e":"5"}"#;
        check(&format!(r#"{{"sql":"S","with":{five}}}"#), "query_invalid", "with must be an object");
        check(r#"{"find":"x","with":{"b":"d"}}"#, "query_invalid", "with joins results in sql");
        for context in ["-1", "101", "2.5", "\"three\"", "[3]", "{}", "true", "99999999999999999999"] {
            check(
                &format!(r#"{{"find":"x","context":{context}}}"#),
                "query_invalid",
                "context must be a number",
            );
        }
        check(r#"{"cursor":"c","sql":"S","colour":"red"}"#, "argument_unknown", "no argument colour");
        check(&format!(r#"{{"sql":"S","{}":1}}"#, "é".repeat(9_000)), "argument_unknown", "no argument é");
        check(r#"{"cursor":"c","sql":"S","limit":100000}"#, "limit_too_large", "200");
        check(r#"{"cursor":"c","sql":"S","page":1,"offset":1}"#, "controls_conflict", "");
        check(r#"{"cursor":[7],"sql":"S"}"#, "cursor_invalid", "");
    }
}
