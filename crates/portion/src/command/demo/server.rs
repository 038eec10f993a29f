//! The demo's upstream: a small MCP server over stdio that, like many, answers with all it has.
//!
//! It speaks every revision of the protocol that begins with `initialize`, since nothing it does
//! differs between them.
use std::borrow::Cow;
use std::io::{self, BufRead, Write};

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::DemoData;

/// The list of tools.
const TOOLS: &str = include_str!("data/tools.json");
const PARSE_ERROR: i64 = -32700;
const INVALID_REQUEST: i64 = -32600;
const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;

/// Answers one JSON-RPC message a line until `input` ends.
///
/// # Errors
/// `input` cannot be read or `output` cannot be written.
pub(crate) fn serve(material: &DemoData, input: impl BufRead, mut output: impl Write) -> io::Result<()> {
    for line in input.lines() {
        if let Some(reply) = handle_line(material, &line?) {
            writeln!(output, "{reply}")?;
            output.flush()?;
        }
    }
    Ok(())
}

/// A request, a notification (no `id`), or a reply to nothing we asked (no `method`).
#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(default)]
    params: Value,
}

/// A JSON-RPC error: its code and message.
struct RpcError(i64, String);

fn handle_line(material: &DemoData, line: &str) -> Option<Value> {
    if line.trim().is_empty() {
        return None;
    }
    let message = match serde_json::from_str::<Message>(line) {
        Ok(message) => message,
        Err(error) => {
            let code = if error.is_data() { INVALID_REQUEST } else { PARSE_ERROR };
            return Some(error_response(None, &RpcError(code, error.to_string())));
        }
    };
    let id = message.id?;
    let answer = match message.method {
        Some(method) => handle_method(material, &method, &message.params),
        None => Err(RpcError(INVALID_REQUEST, "a request has a method".into())),
    };
    Some(match answer {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err(refusal) => error_response(Some(id), &refusal),
    })
}

fn error_response(id: Option<&RawValue>, RpcError(code, message): &RpcError) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

fn handle_method(material: &DemoData, method: &str, params: &Value) -> Result<Value, RpcError> {
    match method {
        "initialize" => {
            let version = string_param(params, "protocolVersion")?
                .ok_or_else(|| RpcError(INVALID_PARAMS, "initialize names its protocolVersion".into()))?;
            Ok(json!({
                "protocolVersion": version,
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "portion-demo", "version": env!("CARGO_PKG_VERSION")},
            }))
        }
        "ping" => Ok(json!({})),
        "tools/list" => Ok(json!({"tools": serde_json::from_str::<Value>(TOOLS).unwrap_or_default()})),
        "tools/call" => {
            let none = Value::Null;
            let arguments = params.get("arguments").unwrap_or(&none);
            match string_param(params, "name")? {
                Some("search_schools") => search_schools(material, arguments),
                Some("get_school") => get_school(material, arguments),
                Some("search_bookings") => Ok(search_bookings(material)),
                Some("search_rules") => search_rules(material, arguments),
                Some("read_log") => Ok(text_result(&material.log)),
                Some(other) => Err(RpcError(INVALID_PARAMS, format!("unknown tool: {other}"))),
                None => Err(RpcError(INVALID_PARAMS, "tools/call names its tool".into())),
            }
        }
        other => Err(RpcError(METHOD_NOT_FOUND, format!("unknown method: {other}"))),
    }
}

fn search_schools(material: &DemoData, arguments: &Value) -> Result<Value, RpcError> {
    let state = string_param(arguments, "state")?;
    let name = string_param(arguments, "name")?.map(str::to_lowercase);
    let found: Vec<&str> = material
        .schools
        .iter()
        .filter(|school| state.is_none_or(|state| school.state.eq_ignore_ascii_case(state)))
        .filter(|school| name.as_ref().is_none_or(|name| school.name.to_lowercase().contains(name)))
        .map(|school| school.record.as_str())
        .collect();
    Ok(text_result(&format!(r#"{{"count":{},"schools":[{}]}}"#, found.len(), found.join(","))))
}

fn search_bookings(material: &DemoData) -> Value {
    let all = material.desk.bookings();
    text_result(&json!({"count": all.len(), "bookings": all}).to_string())
}

fn search_rules(material: &DemoData, arguments: &Value) -> Result<Value, RpcError> {
    let query = string_param(arguments, "query")?
        .ok_or_else(|| RpcError(INVALID_PARAMS, "search_rules takes query, words".into()))?;
    Ok(text_result(&json!({"results": material.desk.rules(query)}).to_string()))
}

fn get_school(material: &DemoData, arguments: &Value) -> Result<Value, RpcError> {
    let unitid = arguments
        .get("unitid")
        .and_then(Value::as_u64)
        .ok_or_else(|| RpcError(INVALID_PARAMS, "get_school takes unitid, a whole number".into()))?;
    Ok(match material.schools.iter().find(|school| school.unitid == unitid) {
        Some(school) => text_result(&school.record),
        None => json!({
            "content": [{"type": "text", "text": format!("no school has the unitid {unitid}")}],
            "isError": true,
        }),
    })
}

fn text_result(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

/// The string under `key`, `None` where there is nothing.
fn string_param<'a>(object: &'a Value, key: &str) -> Result<Option<&'a str>, RpcError> {
    match object.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(RpcError(INVALID_PARAMS, format!("{key} is a string"))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Desk;
    use super::super::School;
    use super::*;

    fn check(line: &str, expect: &str) {
        let school = |unitid, name: &str, state: &str| School {
            record: format!(r#"{{"unitid":{unitid}}}"#),
            unitid,
            name: name.into(),
            state: state.into(),
        };
        let schools = vec![school(1, "Alma Mater", "MI"), school(2, "Beta College", "CA")];
        let material = DemoData { schools, log: "one\ntwo".into(), desk: Desk::read().expect("words") };
        let mut output = Vec::new();
        serve(&material, line.as_bytes(), &mut output).expect("memory can be written");
        assert_eq!(String::from_utf8(output).expect("JSON is UTF-8").trim_end(), expect, "{line}");
    }

    fn check_text(name: &str, arguments: &str, expect: &str) {
        check(
            &format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{name}","arguments":{arguments}}}}}"#
            ),
            &json!({"jsonrpc": "2.0", "id": 1, "result": text_result(expect)}).to_string(),
        );
    }

    #[test]
    fn tools_answer() {
        check_text("search_schools", "{}", r#"{"count":2,"schools":[{"unitid":1},{"unitid":2}]}"#);
        check_text("search_schools", r#"{"state":"ca"}"#, r#"{"count":1,"schools":[{"unitid":2}]}"#);
        check_text("search_schools", r#"{"name":"MATER"}"#, r#"{"count":1,"schools":[{"unitid":1}]}"#);
        check_text("search_schools", r#"{"name":"gamma"}"#, r#"{"count":0,"schools":[]}"#);
        check_text("get_school", r#"{"unitid":2}"#, r#"{"unitid":2}"#);
        check_text("read_log", "{}", "one\ntwo");
    }

    #[test]
    fn envelope_is_json_rpc() {
        check(r#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#, r#"{"jsonrpc":"2.0","id":"a","result":{}}"#);
        check(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, "");
        check(r#"{"jsonrpc":"2.0","method":"notifications/unheard_of"}"#, "");
        check("", "");
        check(
            r#"{"jsonrpc":"2.0","id":7,"method":"server/discover"}"#,
            r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"unknown method: server/discover"}}"#,
        );
        check(
            r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"drop"}}"#,
            r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"unknown tool: drop"}}"#,
        );
        check(
            r#"{"jsonrpc":"2.0","id":7}"#,
            r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32600,"message":"a request has a method"}}"#,
        );
        check(
            "{",
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"EOF while parsing an object at line 1 column 1"}}"#,
        );
    }

    #[test]
    fn initialize_echoes_the_revision() {
        check(
            r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2099-01-01"}}"#,
            concat!(
                r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2099-01-01","capabilities":{"tools":{}},"#,
                r#""serverInfo":{"name":"portion-demo","version":""#,
                env!("CARGO_PKG_VERSION"),
                r#""}}}"#
            ),
        );
    }
}
