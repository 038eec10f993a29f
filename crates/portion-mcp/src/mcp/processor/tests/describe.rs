//! Tests of one-line tool lists and of the describe tool.

use portion_json::scan::{JsonReader, quote, unescape};
use portion_policy::endpoint::ListingStyle;

use super::super::McpProcessor;
use super::{LIST, check, client, processor_with_style, processor_with_tools, server};
use crate::message_processor::MessageProcessor as _;

fn listed_lazily(list: &str) -> McpProcessor {
    let processor = processor_with_style(ListingStyle::Lazy);
    check(&processor, &[(r#"c {"jsonrpc":"2.0","id":0,"method":"tools/list"}"#, &["="])]);
    let out = server(&processor, &list[2..]);
    assert!(out[0].contains(r#""name":"portion_describe""#) && !out[0].contains(r#""q":"#), "{out:?}");
    processor
}

fn describe(processor: &McpProcessor, arguments: &str) -> String {
    let params = format!(r#"{{"name":"portion_describe","arguments":{arguments}}}"#);
    let out =
        client(processor, &format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#));
    let (said, id) =
        (out.concat(), r#"< {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"#);
    said.strip_prefix(id).expect("the answer of a tool").to_owned()
}

#[test]
fn describes_tools_listed_in_one_line() {
    let processor = listed_lazily(LIST);
    let own = r#"{"name":"own","inputSchema":{"type":"object","properties":{"limit":{}}}}"#;
    let free = r#"{"name":"free","inputSchema":{"type":"object"}}"#;
    for (arguments, tools) in [
        (r#"{"names":["own"]}"#, own.to_owned()),
        (r#"{"name":"own"}"#, own.to_owned()),
        (r#"{"names":"own","name":null}"#, own.to_owned()),
        (r#"{"names":["free","own","free"]}"#, format!("{free}\n{own}")),
        (r#"{"names":"[\"free\", \"own\"]"}"#, format!("{free}\n{own}")),
    ] {
        assert_eq!(describe(&processor, arguments), format!("{}}}]}}}}", quote(&tools)), "{arguments}");
    }
    let listed = describe(&processor, r#"{"names":["list_x"]}"#);
    assert!(listed.contains(r#"\"q\":{},\"limit\":{"#) && listed.contains("readOnlyHint"), "{listed}");
    for (arguments, code, says) in [
        (r#"{"names":["list_y"]}"#, "tool_unknown", "did you mean list_x?"),
        (r#"{"names":["own","weather"]}"#, "tool_unknown", "there is no tool weather\\\","),
        ("{}", "names_invalid", "names is empty"),
        (r#"{"names":[]}"#, "names_invalid", "names is empty"),
        (r#"{"names":7}"#, "names_invalid", "names is 7"),
        (r#"{"names":[{}]}"#, "names_invalid", "{} is not a tool name"),
        (r#"{"names":["own"],"limit":1}"#, "names_invalid", "unknown argument limit"),
    ] {
        let fault = describe(&processor, arguments);
        assert!(fault.contains(code) && fault.contains(says), "{arguments}: {fault}");
        assert!(fault.contains(r#""isError":true"#), "{fault}");
    }
    assert_eq!(processor.pending_count(), 0);
}

#[test]
fn a_tool_listed_in_one_line_can_be_called() {
    let processor = listed_lazily(LIST);
    let call = r#"c {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"free","arguments":{"limit": 1.0}}}"#;
    let refusal = r#"s {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"limit is no number"}}"#;
    check(&processor, &[(call, &["="]), (refusal, &["="])]);
    let limited = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"list_x","arguments":{"q":1,"limit":5}}}"#;
    assert_eq!(client(&processor, limited), [format!("> {}", limited.replace(r#","limit":5"#, ""))]);
}

#[test]
fn a_large_description_is_served_in_portions() {
    let field = |n: usize| format!(r#""field_{n}":{{"type":"string","description":"What field {n} says."}}"#);
    let fields: Vec<String> = (0..400).map(field).collect();
    let schema = format!(r#"{{"type":"object","properties":{{{}}}}}"#, fields.join(","));
    let tool = format!(r#"{{"name":"huge","description":"Does much. Really.","inputSchema":{schema}}}"#);
    let processor = listed_lazily(&format!(
        r#"s {{"jsonrpc":"2.0","id":0,"result":{{"tools":[{tool},{{"name":"small"}}]}}}}"#
    ));
    for arguments in [r#"{"names":["huge"]}"#, r#"{"names":["small","huge"]}"#] {
        let portion = describe(&processor, arguments);
        assert!(portion.len() < 25_000, "{}", portion.len());
        let (_, cursor) = portion.split_once(r#"\"cursor\":\""#).expect("a handle");
        let mut cursor = super::leading_cursor(cursor).to_owned();
        let (mut raw, mut is_first) = (String::new(), true);
        loop {
            let how = if std::mem::take(&mut is_first) { r#","raw":true"# } else { "" };
            let params = format!(r#"{{"name":"portion_read","arguments":{{"cursor":"{cursor}"{how}}}}}"#);
            let read = format!(r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{params}}}"#);
            let out = client(&processor, &read);
            let text = out[0].split(r#""text":"#).nth(1).expect("a text");
            let mut reader = JsonReader::new(text);
            let quoted = reader.skip_string().expect("a string");
            raw += &unescape(reader.text(quoted));
            let Some((_, next)) = out[0].split_once(r#"\"nextCursor\":\""#) else { break };
            super::leading_cursor(next).clone_into(&mut cursor);
        }
        assert!(raw.ends_with(&tool), "{arguments}");
    }
}

#[test]
fn nothing_is_described_before_the_tools_are_known() {
    let processor = processor_with_style(ListingStyle::Lazy);
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"portion_describe","arguments":{"names":["own"]}}}"#;
    let out = client(&processor, call);
    assert!(out[0].contains(r#""id":"portion:1","method":"tools/list""#), "{out:?}");
    let out = server(&processor, &LIST[2..].replacen("\"id\":0", "\"id\":\"portion:1\"", 1));
    assert!(out[0].starts_with(r#"< {"jsonrpc":"2.0","id":1,"result""#) && out[0].contains("own"), "{out:?}");
    let direct = processor_with_tools();
    check(&direct, &[(&format!("c {call}"), &["="])]);
}
