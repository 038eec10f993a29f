//! Tests of the message processor: conversations between a client and a server, message by message.

mod clients;
mod describe;
mod failures;
mod law;
mod limits;
mod members;
mod own_pages;
mod paging;
mod queries;
mod races;
mod render_options;
mod schemas;
mod shown_forms;
mod timeouts;
mod wire;

use std::sync::Arc;

use portion_core::cursor::Scope;
use portion_core::policy::Policy;
use portion_gateway::effective_policy::EffectivePolicy;
use portion_gateway::gateway::Gateway;
use portion_gateway::gateway_parts::GatewayParts;
use portion_gateway::rules::EndpointRules;
use portion_gateway::session::ClientSession;
use portion_gateway::store::{MemoryStore, StoreLimits};
use portion_json::scan::{JsonReader, quote};
use portion_policy::endpoint::{ListingOptions, ListingStyle};
use portion_tokens::TokenCounter;
use proptest::prelude::*;

use super::super::parsed_batch::ClientMessage;
use super::McpProcessor;
use crate::frame::{Frame, FrameReader};
use crate::mcp::McpProcessorFactory;
use crate::message_processor::{MessageProcessor, OutgoingMessage};
use crate::upstream::stdio::ServerExit;

mod resources;

/// Counts a token for every four bytes.
struct Quarters;

impl TokenCounter for Quarters {
    fn name(&self) -> &'static str {
        "quarters"
    }

    fn count(&self, text: &str) -> usize {
        text.len().div_ceil(4)
    }

    fn prefix_within(&self, text: &str, limit: usize) -> usize {
        text.floor_char_boundary(limit * 4)
    }
}

fn processor() -> McpProcessor {
    processor_with_style(ListingStyle::Full)
}

fn processor_with_style(style: ListingStyle) -> McpProcessor {
    processor_with_listing(&ListingOptions { style, ..ListingOptions::default() })
}

fn processor_with_listing(listing: &ListingOptions) -> McpProcessor {
    processor_with_limits(Policy::default(), listing)
}

fn processor_with_limits(policy: Policy, listing: &ListingOptions) -> McpProcessor {
    processor_with_policy(EffectivePolicy::new(policy, &Quarters, None), listing)
}

fn processor_with_policy(terms: EffectivePolicy, listing: &ListingOptions) -> McpProcessor {
    let store = Arc::new(MemoryStore::new(StoreLimits::default()));
    let rules = EndpointRules::fixed(terms);
    let gateway = Gateway::new(GatewayParts::new(rules, store, [7; 32]));
    McpProcessorFactory::new(Arc::new(gateway), listing.clone(), 1 << 20)
        .new_processor(Scope::from_principal("stdio"), ClientSession::new_unique())
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().expect("a runtime").block_on(future)
}

/// Returns a line of the client as a message.
fn parsed(line: impl Into<Vec<u8>>) -> ClientMessage {
    ClientMessage::parse(Frame::Message(line.into()))
}

/// Returns what is left of a line over the limit.
fn dropped(line: &str) -> Frame {
    FrameReader::new(line.as_bytes(), 1).next().expect("a line").expect("memory can be read")
}

/// Returns the outgoing messages: `>` to the server, `<` to the client.
fn sent(outgoing: Vec<OutgoingMessage>) -> Vec<String> {
    let text = |line: Vec<u8>| String::from_utf8(line).expect("text");
    outgoing
        .into_iter()
        .map(|message| match message {
            OutgoingMessage::ToServer(line) | OutgoingMessage::InternalRequest(line) => {
                format!("> {}", text(line))
            }
            OutgoingMessage::ToClient(line) => format!("< {}", text(line)),
        })
        .collect()
}

fn client(processor: &McpProcessor, message: &str) -> Vec<String> {
    sent(run(processor.process_client_message(parsed(message))))
}

fn server(processor: &McpProcessor, message: &str) -> Vec<String> {
    sent(run(processor.process_server_frame(Frame::Message(message.as_bytes().to_vec()))))
}

/// Runs a conversation: each message, `c ` from the client or `s ` from the server, and the expected outgoing
/// messages. `=` stands for the unchanged message.
fn check(processor: &McpProcessor, conversation: &[(&str, &[&str])]) {
    for (message, expect) in conversation {
        let (side, text) = message.split_at(2);
        let out = if side == "c " { client(processor, text) } else { server(processor, text) };
        let unchanged = format!("{} {text}", if side == "c " { '>' } else { '<' });
        let expect: Vec<&str> =
            expect.iter().map(|e| if *e == "=" { unchanged.as_str() } else { e }).collect();
        assert_eq!(out, expect, "{message}");
    }
}

const LIST: &str = r#"s {"jsonrpc":"2.0","id":0,"result":{"tools":[{"name":"list_x","inputSchema":{"type":"object","properties":{"q":{}}},"annotations":{"readOnlyHint":true}},{"name":"own","inputSchema":{"type":"object","properties":{"limit":{}}}},{"name":"free","inputSchema":{"type":"object"}}]}}"#;

fn processor_with_tools() -> McpProcessor {
    let processor = processor();
    check(&processor, &[(r#"c {"jsonrpc":"2.0","id":0,"method":"tools/list"}"#, &["="])]);
    let out = server(&processor, &LIST[2..]);
    assert!(out[0].contains(r#""name":"portion_read""#) && out[0].contains(r#""fields":{"#), "{out:?}");
    processor
}

/// Returns a text of many lines, escaped for JSON.
fn big() -> String {
    (0..5_000).fold(String::new(), |text, i| text + &format!("line {i}\\n"))
}

/// Returns the cursor at the start of a text.
fn leading_cursor(text: &str) -> &str {
    text.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default()
}

/// Returns the cursor of a shortened result of `list_x`.
fn cursor(processor: &McpProcessor, arguments: &str) -> String {
    let params = format!(r#"{{"name":"list_x","arguments":{arguments}}}"#);
    client(processor, &format!(r#"{{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{params}}}"#));
    let answer = format!(
        r#"{{"jsonrpc":"2.0","id":"c","result":{{"content":[{{"type":"text","text":"{}"}}]}}}}"#,
        big()
    );
    let out = server(processor, &answer);
    let (_, rest) = out[0].split_once(r#""nextCursor":""#).expect("more");
    leading_cursor(rest).to_owned()
}

#[test]
fn relays_other_messages_unchanged() {
    check(
        &processor(),
        &[
            (
                r#"c { "method":"initialize","params":{"x":1e400},"id":"\u0041","jsonrpc":"2.0","v":[1, 2]}"#,
                &["="],
            ),
            (
                r#"s {"jsonrpc":"2.0","id":"A","result":{"capabilities":{"tools":{},"tasks":{}},"z":1.0}} "#,
                &[
                    r#"< {"jsonrpc":"2.0","id":"A","result":{"capabilities":{"tools":{},"tasks":{}},"z":1.0,"instructions":"Ask in the first call: tools with the argument query take SQL (SELECT … FROM items) or a text or /regex/ to find, and return only the answer, with a cursor to the whole result."}} "#,
                ],
            ),
            (r#"c {"jsonrpc":"2.0","method":"notifications/initialized"}"#, &["="]),
            (
                r#"s {"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"messages":[]}}"#,
                &["="],
            ),
            (r#"c {"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#, &["="]),
            (r#"c {"jsonrpc":"2.0","id":7,"method":"vendor/thing","params":[1,{"a":null}]}"#, &["="]),
            (r#"s {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7}}"#, &["="]),
            (r#"s {"result" : {"content":[]}, "id" : 7, "jsonrpc":"2.0","extra":true}"#, &["="]),
            (r#"s {"jsonrpc":"2.0","id":99,"result":{"content":[{"type":"text","text":"late"}]}}"#, &[]),
            ("s listening on stdio", &[]),
            (
                r#"s {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"\ud800"}}"#,
                &["="],
            ),
            (
                r#"c {"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"t","arguments":{"a" : 1},"_meta":{"p":1}}}"#,
                &["="],
            ),
            (
                r#"s {"jsonrpc":"2.0","id":8,"result":{"content":[{"type":"text","text":"small","v":1}],"w":2}}"#,
                &["="],
            ),
            (r#"c {"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"t"}}"#, &["="]),
            (
                r#"s {"jsonrpc":"2.0","id":9,"result":{"resultType":"input_required","requestState":"s"}}"#,
                &["="],
            ),
            (r#"c {"jsonrpc":"2.0","id":10,"method":"tools/call","params":{"name":"t","task":{}}}"#, &["="]),
            (r#"s {"jsonrpc":"2.0","id":10,"result":{"task":{"taskId":"1","status":"working"}}}"#, &["="]),
        ],
    );
}

#[test]
fn invalid_messages_of_the_client_are_refused_and_not_forwarded() {
    let processor = processor();
    let refused = |line: &str, id: &str, code: i32| {
        let out = client(&processor, line);
        let expect = format!(r#"< {{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":"#);
        assert!(out.len() == 1 && out[0].starts_with(&expect), "{line}: {out:?}");
        assert_eq!(processor.pending_count(), 0, "{line}");
    };
    refused("not JSON at all", "null", -32700);
    refused(r#"{"jsonrpc":"2.0","id":7,"method":"x","params":{"a":NaN}}"#, "7", -32700);
    refused(r#"{"jsonrpc":"2.0","id":7,"result":NaN}"#, "null", -32700);
    refused(r#"{"jsonrpc":"1.0","id":7,"method":"x"}"#, "null", -32600);
    refused(r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, "null", -32600);
    let call = r#"{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"t"}}"#;
    refused(call, "null", -32600);
    check(
        &processor,
        &[(
            r#"c [{"jsonrpc":"2.0","id":null,"method":"ping"},{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
            &[
                r#"< [{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"the id of a request must be a string or a number, not null"}}]"#,
                r#"> [{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
            ],
        )],
    );
}

#[test]
fn shapes_large_content_and_keeps_other_members() {
    let processor = processor();
    let big = big();
    for (method, params, before, after) in [
        ("tools/call", r#"{"name":"t"}"#, r#"{"content":[{"type":"text","text":""#, r#"","a":1}],"v":1.0"#),
        (
            "tasks/result",
            r#"{"taskId":"t"}"#,
            r#"{"content":[{"type":"text","text":""#,
            r#"","a":1}],"v":1.0"#,
        ),
        ("resources/read", r#"{"uri":"u"}"#, r#"{"contents":[{"uri":"u","text":""#, r#""}],"ttlMs":1"#),
        (
            "prompts/get",
            r#"{"name":"t"}"#,
            r#"{"messages":[{"role":"user","content":{"type":"text","text":""#,
            r#""}}]"#,
        ),
    ] {
        client(&processor, &format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#));
        let out = server(
            &processor,
            &format!(r#"{{"vendor":0,"jsonrpc":"2.0","id":1,"result":{before}{big}{after}}}}}"#),
        );
        let beginning = format!(r#"< {{"vendor":0,"jsonrpc":"2.0","id":1,"result":{before}line 0"#);
        assert!(out[0].starts_with(&beginning), "{out:?}");
        assert!(out[0].len() < 20_000 && out[0].contains("nextCursor"), "{out:?}");
        JsonReader::new(&out[0][2..]).skip().expect("JSON");
    }
    client(&processor, r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}"#);
    let out = server(
        &processor,
        &format!(r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":-5,"message":"m","data":"{big}"}}}}"#),
    );
    assert!(out[0].starts_with(r#"< {"jsonrpc":"2.0","id":1,"error":{"code":-5,"message":"m","data":{"#));
    assert!(out[0].len() < 20_000, "{out:?}");
    client(&processor, r#"{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"taskId":"t"}}"#);
    let out = server(
        &processor,
        &format!(
            r#"{{"jsonrpc":"2.0","id":1,"result":{{"status":"completed","result":{{"content":[{{"type":"text","text":"{big}"}}]}}}}}}"#
        ),
    );
    assert!(out[0].len() < 20_000 && out[0].contains(r#""status":"completed""#), "{out:?}");
}

#[test]
fn removes_only_controls() {
    let processor = processor_with_tools();
    check(
        &processor,
        &[
            (
                r#"c {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_x","arguments":{"q": 1.0,"limit":5}}}"#,
                &[
                    r#"> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_x","arguments":{"q": 1.0}}}"#,
                ],
            ),
            (
                r#"c {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"own","arguments":{"limit":5000}}}"#,
                &["="],
            ),
            (
                r#"c {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"free","arguments":{"raw":5000}}}"#,
                &["="],
            ),
            (
                r#"c {"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"unlisted","arguments":{"limit":5}}}"#,
                &["="],
            ),
        ],
    );
    let cursor = cursor(&processor, r#"{"q":7}"#);
    let call = |arguments: &str| {
        let params = format!(r#"{{"name":"list_x","arguments":{arguments}}}"#);
        client(&processor, &format!(r#"{{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{params}}}"#))
    };
    for (arguments, expect) in [
        (r#"{"limit":100000}"#, "limit_too_large"),
        (r#"{"page":0}"#, "page_invalid"),
        (r#"{"cursor":"forged"}"#, "cursor_invalid"),
        (&format!(r#"{{"cursor":"{cursor}","limit":3}}"#), "line "),
        (r#"{"startLine":-1,"q" : 7}"#, "line 4999"),
    ] {
        let out = call(arguments);
        assert!(out[0].starts_with(r#"< {"jsonrpc":"2.0","id":9,"result":{"content":["#), "{out:?}");
        assert!(out[0].contains(expect), "{out:?}");
    }
    assert_eq!(processor.pending_count(), 4);
}

#[test]
fn unknown_fields_are_reported_only_for_successful_results() {
    let processor = processor_with_tools();
    let params = r#"{"name":"list_x","arguments":{"fields":"nope"}}"#;
    let call = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
    client(&processor, &call);
    let error = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"no such \u0074able"}],"isError":true}}"#;
    assert_eq!(server(&processor, error), [format!("< {error}")]);
    client(&processor, &call);
    let out = server(
        &processor,
        r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"[{\"id\":1}]"}]}}"#,
    );
    assert!(out[0].contains("field_unknown") && out[0].contains(r#""isError":true"#), "{out:?}");
}

#[test]
fn answers_builtin_tools_and_read_uris() {
    let processor = processor_with_tools();
    let cursor = cursor(&processor, "{}");
    let params = format!(r#"{{"name":"portion_read","arguments":{{"cursor":"{cursor}","limit":2}}}}"#);
    let out = client(
        &processor,
        &format!(r#"{{"jsonrpc":"2.0","id":"r","method":"tools/call","params":{params}}}"#),
    );
    let beginning = r#"< {"jsonrpc":"2.0","id":"r","result":{"content":[{"type":"text","text":"line "#;
    assert!(out[0].starts_with(beginning), "{out:?}");
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#;
    let params = format!(r#"{{"uri":"portion://read/{cursor}",{meta}}}"#);
    let out = client(
        &processor,
        &format!(r#"{{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{params}}}"#),
    );
    let entry = format!(r#""uri":"portion://read/{cursor}","mimeType":"text/plain","text":"line "#);
    assert!(out[0].contains(&entry), "{out:?}");
    assert!(out[0].contains(r#""resultType":"complete","ttlMs":0,"cacheScope":"private""#), "{out:?}");
    let forged = r#"{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"portion://read/x"}}"#;
    assert!(client(&processor, forged)[0].contains(r#""error":{"code":-32002,"#));
    assert_eq!(processor.pending_count(), 0);
}

#[test]
fn requests_the_tool_list_when_it_is_needed() {
    let processor = processor();
    let meta = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#;
    let call = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"list_x","arguments":{{"limit":2}},"_meta":{{"progressToken":1,{meta}}}}}}}"#
    );
    let question = format!(
        r#"> {{"jsonrpc":"2.0","id":"portion:1","method":"tools/list","params":{{"_meta":{{{meta}}}}}}}"#
    );
    assert_eq!(client(&processor, &call), [question]);
    assert!(processor.has_held_messages());
    check(
        &processor,
        &[
            (r#"c {"jsonrpc":"2.0","id":2,"method":"ping"}"#, &["="]),
            (
                r#"c {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"list_x","arguments":{"limit":3}}}"#,
                &[],
            ),
            (
                r#"c {"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"portion_read","arguments":{"cursor":"CURSOR"}}}"#,
                &[],
            ),
            (r#"c {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}"#, &[]),
        ],
    );
    assert_eq!(processor.pending_count(), 3);
    let first = r#"{"jsonrpc":"2.0","id":"portion:1","result":{"tools":[],"nextCursor":""}}"#;
    let next = server(&processor, first);
    assert!(next[0].starts_with("> ") && next[0].contains(r#""cursor":"""#), "{next:?}");
    let id = next[0].split("\"id\":").nth(1).and_then(|rest| rest.split(',').next()).expect("an id");
    let out = server(&processor, &LIST[2..].replacen("\"id\":0", &format!("\"id\":{id}"), 1));
    assert_eq!(out[0], format!("> {}", call.replace(r#"{"limit":2}"#, "{}")));
    assert!(out[1].contains("cursor_invalid"), "{out:?}");
    assert_eq!((out.len(), processor.pending_count(), processor.has_held_messages()), (2, 2, false));
}

#[test]
fn a_server_that_does_not_list_keeps_its_arguments() {
    let processor = processor();
    let call =
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"limit":2}}}"#;
    client(&processor, call);
    let refusal = r#"{"jsonrpc":"2.0","id":"portion:1","error":{"code":-32601,"message":"no"}}"#;
    assert_eq!(server(&processor, refusal), [format!("> {call}")]);
}

#[test]
fn a_server_without_tools_gains_the_builtin_tools() {
    let processor = processor();
    check(
        &processor,
        &[
            (r#"c {"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#, &["="]),
            (
                r#"s {"jsonrpc":"2.0","id":1,"result":{"capabilities":{"resources":{}},"x":1}}"#,
                &[
                    r#"< {"jsonrpc":"2.0","id":1,"result":{"capabilities":{"resources":{},"tools":{}},"x":1}}"#,
                ],
            ),
        ],
    );
    let out = client(&processor, r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#);
    assert!(
        out[0].starts_with(r#"< {"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"portion_read""#),
        "{out:?}"
    );
}

#[test]
fn every_request_is_answered_once() {
    let processor = processor();
    let call =
        |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"t"}}}}"#);
    client(&processor, &call("1"));
    let twice = client(&processor, &call("1"));
    assert!(twice[0].starts_with(r#"< {"jsonrpc":"2.0","id":1,"error":{"code":-32600,"#), "{twice:?}");
    client(&processor, &call("\"1\""));
    client(&processor, r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#);
    client(&processor, &call("3"));
    client(&processor, r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}"#);
    let out = sent(run(processor.process_server_frame(dropped(r#"{"id":"1","result":{}}"#))));
    assert!(out[0].contains("message_too_large") && out[0].contains(r#""isError":true"#), "{out:?}");
    let out = sent(run(processor.process_server_frame(dropped(r#"{"id":5,"method":"ping"}"#))));
    assert!(out[0].starts_with("> ") && out[0].contains("-32603"), "{out:?}");
    let failed = sent(processor.on_server_gone(&ServerExit::Exited(3)));
    assert_eq!(failed.len(), 2, "{failed:?}");
    assert!(
        failed[0].contains(r#""id":1,"result""#) && failed[1].contains(r#""id":2,"error""#),
        "{failed:?}"
    );
    assert_eq!((processor.on_server_gone(&ServerExit::Exited(3)).len(), processor.pending_count()), (0, 0));
}

#[test]
fn batches_are_split_only_when_necessary() {
    let processor = processor_with_tools();
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let read = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"portion_read","arguments":{"cursor":"CURSOR"}}}"#;
    let call = r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"list_x","arguments":{"limit":1}}}"#;
    let out = client(&processor, &format!("[{ping}, {read}, {call}]"));
    assert!(out[0].starts_with(r#"< [{"jsonrpc":"2.0","id":2,"#) && out[0].ends_with(']'), "{out:?}");
    assert_eq!(out[1], format!("> [{ping}, {}]", call.replace(r#"{"limit":1}"#, "{}")));
    let answer = r#"[{"jsonrpc":"2.0","id":1,"result":{}} ]"#;
    assert_eq!(server(&processor, answer), [format!("< {answer}")]);
}

#[test]
fn a_changed_tool_list_clears_the_catalog() {
    let processor = processor_with_tools();
    check(&processor, &[(r#"s {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#, &["="])]);
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_x","arguments":{"limit":1}}}"#;
    assert!(client(&processor, call)[0].contains(r#""method":"tools/list""#));
}

#[test]
fn invalid_utf8_is_replaced() {
    let processor = processor();
    client(&processor, r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}"#);
    let message =
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"a\xff\"}]}}";
    let out = sent(run(processor.process_server_frame(Frame::Message(message.to_vec()))));
    assert!(out[0].contains("a\u{fffd}"), "{out:?}");
    let message = b"{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":\"\xff\"}".to_vec();
    let out = sent(run(processor.process_server_frame(Frame::Message(message))));
    assert_eq!(out, ["< {\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":\"\u{fffd}\"}"]);
}

fn json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("-0.10E+400".to_owned()),
        Just("12345678901234567890".to_owned()),
        Just(r#""\ud800\/""#.to_owned()),
        ".{0,12}".prop_map(|text| quote(&text)),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        let key =
            prop_oneof![".{0,5}", "content|tools|_meta|result|io.portion/x|structuredContent|text|type"];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(|all| format!("[ {}]", all.join(" ,"))),
            prop::collection::vec((key, inner), 0..5).prop_map(|all| {
                let all: Vec<String> = all.iter().map(|(k, v)| format!("{} :{v}", quote(k))).collect();
                format!("{{{} }}", all.join(", "))
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn any_other_message_passes_unchanged(params in json(), result in json(), method in "[a-z/]{1,20}", n in 0..9i32) {
        let processor = processor();
        for line in [
            format!(r#"{{"params":{params}, "jsonrpc":"2.0","id":{n},"method":"vendor/{method}"}}"#),
            format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#),
            format!(r#"{{"jsonrpc":"2.0","id":{n},"result":{result},"more":{params}}}"#),
        ] {
            prop_assert_eq!(client(&processor, &line), [format!("> {line}")]);
        }
        let question = format!(r#"{{"jsonrpc":"2.0","id":{n},"method":"vendor/{method}"}}"#);
        for line in [
            format!(r#"{{"jsonrpc":"2.0","id":{n},"result":{result},"more":{params}}}"#),
            format!(r#"{{"jsonrpc":"2.0","id":{n},"error":{result}}}"#),
            format!(r#"{{"params":{params}, "jsonrpc":"2.0","id":{n},"method":"{method}"}}"#),
            format!(r#"{{"params":{params}, "jsonrpc":"2.0","method":"{method}"}}"#),
        ] {
            // Reserved members of the server are removed.
            if !line.contains("io.portion/") {
                prop_assert_eq!(server(&processor, &line), [format!("< {line}")]);
            }
            client(&processor, &question);
        }
    }

    /// For any result or list the output is JSON, and nothing panics.
    #[test]
    fn no_response_causes_a_panic(result in json(), style in prop::sample::select(&ListingStyle::ALL), method in prop_oneof![
        Just("tools/call"), Just("tools/list"), Just("initialize"), Just("resources/read"), Just("prompts/get")
    ]) {
        let processor = processor_with_style(style);
        client(&processor, &format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{result}}}"#));
        for kind in ["result", "error"] {
            for out in server(&processor, &format!(r#"{{"jsonrpc":"2.0","id":1,"{kind}":{result}}}"#)) {
                prop_assert!(JsonReader::new(&out[2..]).skip().is_ok(), "{}", out);
            }
        }
    }

    /// No line causes a panic.
    #[test]
    fn no_line_causes_a_panic(line in prop::collection::vec(any::<u8>(), 0..64)) {
        let processor = processor();
        run(processor.process_client_message(parsed(line.clone())));
        run(processor.process_server_frame(Frame::Message(line)));
    }
}
