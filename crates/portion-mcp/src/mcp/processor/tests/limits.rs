//! Tests of the limits for a client within one session.

use portion_policy::endpoint::EndpointConfig;

use super::*;
use crate::mcp::processor::pending::MAX_PENDING;

#[test]
fn a_batch_of_too_many_messages_is_one_error_and_is_not_forwarded() {
    let processor = processor();
    let one = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let out = client(&processor, &format!("[{}]", vec![one; 1001].join(",")));
    let [answer] = &out[..] else { panic!("one answer: {} messages", out.len()) };
    assert!(answer.starts_with(r#"< {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"#), "{answer}");
    assert!(answer.contains("at most 1000"), "{answer}");
    assert_eq!(processor.pending_count(), 0);
}

#[test]
fn pending_requests_are_limited() {
    let processor = processor();
    let ask = |id: usize| client(&processor, &format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"x/y"}}"#));
    for id in 0..MAX_PENDING {
        assert!(ask(id)[0].starts_with("> "), "{id}");
    }
    let out = ask(MAX_PENDING);
    assert!(out.len() == 1 && out[0].starts_with("< ") && out[0].contains("10000 requests"), "{out:?}");
    // Notifications are forwarded, and a response makes room for a further request.
    check(&processor, &[(r#"c {"jsonrpc":"2.0","method":"notifications/progress"}"#, &["="])]);
    check(&processor, &[(r#"s {"jsonrpc":"2.0","id":7,"result":{}}"#, &["="])]);
    assert!(ask(MAX_PENDING)[0].starts_with("> "));
}

#[test]
fn an_oversized_client_message_is_the_clients_error() {
    let processor = processor();
    let large = dropped(r#"{"id":5,"method":"ping"}"#);
    let out = sent(run(processor.process_client_message(ClientMessage::parse(large))));
    let says = |text: &str| assert!(out.len() == 1 && out[0].contains(text), "{text}: {out:?}");
    says("clientMessageLimit");
    says("message_too_large");
    assert!(!out[0].contains("upstream"), "{out:?}");
}

#[test]
fn each_request_of_an_oversized_client_line_gets_the_error() {
    let processor = processor();
    let ids = |line: &str| -> Vec<String> {
        let out = sent(run(processor.process_client_message(ClientMessage::parse(dropped(line)))));
        let errors = out.iter().flat_map(|message| {
            let (side, text) = message.split_at(2);
            let value: serde_json::Value = serde_json::from_str(text).expect("JSON");
            let all = match value {
                serde_json::Value::Array(all) => all,
                single => vec![single],
            };
            all.into_iter().map(move |error| {
                assert_eq!(error["error"]["data"]["error"]["code"], "message_too_large", "{error}");
                format!("{side}{}", error["id"])
            })
        });
        errors.collect()
    };
    let request = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
    let note = r#"{"jsonrpc":"2.0","method":"notifications/progress"}"#;
    let response = r#"{"jsonrpc":"2.0","id":3,"result":{}}"#;
    let batch = format!("[{},{note},{response},{}]", request("1"), request("\"b\""));
    assert_eq!(ids(&batch), ["> 3", "< 1", "< \"b\""]);
    assert_eq!(ids(&format!("[{},5,{}]", request("1"), request("[2]"))), ["< 1", "< null"]);
    assert_eq!(ids(&request("[2]")), ["< null"]);
    assert_eq!(ids("garbage"), ["< null"]);
    assert!(ids(note).is_empty() && ids(&format!("[{note}]")).is_empty());
    // The responses to a batch are one array.
    let out = sent(run(processor.process_client_message(ClientMessage::parse(dropped(&batch)))));
    assert!(out.len() == 2 && out[1].starts_with("< [{") && out[1].ends_with("}]"), "{out:?}");
}

#[test]
fn each_request_that_an_oversized_server_line_answers_gets_the_error() {
    let processor = processor();
    for id in ["1", "\"b\"", "3"] {
        client(&processor, &format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#));
    }
    let line =
        r#"[{"id":1,"result":{}},{"id":9,"result":{}},{"id":8,"method":"ping"},{"result":{},"id":"b"}]"#;
    let out = sent(run(processor.process_server_frame(dropped(line))));
    let begin = [
        "< {\"jsonrpc\":\"2.0\",\"id\":1,",
        "> {\"jsonrpc\":\"2.0\",\"id\":8,",
        "< {\"jsonrpc\":\"2.0\",\"id\":\"b\",",
    ];
    assert!(out.len() == 3 && out.iter().zip(begin).all(|(out, begin)| out.starts_with(begin)), "{out:?}");
    assert!(out.iter().all(|message| message.contains("message_too_large")), "{out:?}");
    assert_eq!((processor.pending_count(), processor.gateway.drop_counts().oversized), (1, 1));
}

#[test]
fn a_result_is_refused_with_the_hints_of_its_tool_although_no_client_listed_it() {
    let config = EndpointConfig { refuses_oversized: true, ..EndpointConfig::default() };
    let rules = EndpointRules::new(Arc::new(config), portion_core::policy::ClientLimits::UNKNOWN);
    let store = Arc::new(MemoryStore::new(StoreLimits::default()));
    let gateway = Gateway::new(GatewayParts::new(rules, store, [7; 32]));
    let processor = McpProcessorFactory::new(Arc::new(gateway), ListingOptions::default(), 1 << 20)
        .new_processor(Scope::from_principal("stdio"), ClientSession::new_unique());
    let call = |id: usize, name: &str| {
        let params = format!(r#"{{"name":"{name}","arguments":{{}}}}"#);
        client(
            &processor,
            &format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#),
        )
    };
    let result = |id: usize| {
        let text = quote(&"many words ".repeat(9_000));
        let result = format!(r#"{{"content":[{{"type":"text","text":{text}}}]}}"#);
        server(&processor, &format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)).concat()
    };
    let listing = call(1, "rows");
    assert!(listing[0].contains("tools/list"), "{listing:?}");
    let id = listing[0].split("\"id\":").nth(1).and_then(|rest| rest.split(',').next()).expect("an id");
    let tools = r#"{"tools":[{"name":"rows","annotations":{"readOnlyHint":true}},{"name":"act"}]}"#;
    let released = server(&processor, &format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{tools}}}"#));
    assert!(released[0].contains("tools/call"), "{released:?}");
    let refused = result(1);
    assert!(
        refused.contains("result_too_large") && refused.contains("call rows again with a filter"),
        "{refused}"
    );
    assert!(refused.contains("portion_read(cursor, limit, fields)"), "{refused}");
    assert!(call(2, "act")[0].contains("tools/call"));
    let refused = result(2);
    assert!(refused.contains("may have acted") && !refused.contains("call act again"), "{refused}");
}
