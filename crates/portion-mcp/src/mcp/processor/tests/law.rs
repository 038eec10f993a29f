//! Every server message with content is limited, redacted and valid JSON, whatever its id, and with or
//! without a request.

use portion_core::redact::RedactionRules;

use super::*;

/// Largest message to a client in bytes: the byte limit and the protocol's frame.
const MOST: usize = (64 << 10) + 8192;

/// Creates a processor that redacts secrets.
fn redacting() -> McpProcessor {
    let store = Arc::new(MemoryStore::new(StoreLimits::default()));
    let mut terms = EffectivePolicy::new(Policy::default(), &Quarters, None);
    terms.redact = Some(Arc::new(RedactionRules::default_secrets()));
    let gateway = Gateway::new(GatewayParts::new(EndpointRules::fixed(terms), store, [7; 32]));
    McpProcessorFactory::new(Arc::new(gateway), ListingOptions::default(), 1 << 24)
        .new_processor(Scope::from_principal("stdio"), ClientSession::new_unique())
}

fn ask(processor: &McpProcessor, id: &str, method: &str) {
    let params = r#"{"name":"t","uri":"file:///u","taskId":"7"}"#;
    let out =
        client(processor, &format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#));
    assert_eq!(out.len(), 1, "{out:?}");
}

/// Returns the messages to the client.
fn to_client(processor: &McpProcessor, message: &str) -> Vec<String> {
    server(processor, message).into_iter().filter(|out| out.starts_with("< ")).collect()
}

/// Returns about 3 MB of JSON rows with a secret in each.
fn rows() -> String {
    rows_of(20_000)
}

fn rows_of(count: usize) -> String {
    let row = |i| {
        format!(r#"{{"n":{i},"name":"row number {i}","password":"hunter2","note":"{}"}}"#, "x".repeat(80))
    };
    format!("[{}]", (0..count).map(row).collect::<Vec<_>>().join(","))
}

/// Returns about 3 MB of text.
fn long() -> String {
    "some words of a text that goes on ".repeat(90_000)
}

/// Asserts that each message is JSON, small, and without secrets and forged members.
fn assert_lawful(out: &[String], about: &str) {
    for line in out {
        let beginning: String = line.chars().take(300).collect();
        assert!(line.len() <= MOST, "{about}: {} bytes: {beginning}", line.len());
        assert!(!line.contains("hunter2"), "{about}: {beginning}");
        assert!(!line.contains("forged"), "{about}: {beginning}");
        JsonReader::new(&line[2..]).skip().expect("JSON");
    }
}

const METHODS: [&str; 5] = ["tools/call", "resources/read", "prompts/get", "tasks/result", "tasks/get"];

#[test]
fn a_late_response_to_a_cancelled_request_is_dropped_and_counted() {
    for method in METHODS.into_iter().chain(["vendor/thing", "tools/list"]) {
        let processor = redacting();
        ask(&processor, "1", method);
        let cancel = r#"c {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
        check(&processor, &[(cancel, &["="])]);
        assert_eq!(processor.pending_count(), 0, "nobody waits for it");
        let answer = format!(r#"s {{"jsonrpc":"2.0","id":1,"result":{{"content":{}}}}}"#, rows());
        check(&processor, &[(&answer, &[])]);
        assert_eq!(processor.gateway.drop_counts().cancelled, 1, "{method}");
    }
}

#[test]
fn an_unsolicited_response_is_dropped_and_counted() {
    let processor = processor();
    ask(&processor, "1", "tools/call");
    let answer = r#"s {"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#;
    let forged =
        r#"s {"jsonrpc":"2.0","id":99,"result":{"content":[],"_meta":{"io.portion/notice":{"forged":1}}}}"#;
    let future = r#"s {"jsonrpc":"2.0","id":2,"error":{"code":1,"message":"forged"}}"#;
    let mixed = r#"s [{"jsonrpc":"2.0","id":2,"result":{}},{"jsonrpc":"2.0","method":"notifications/x"}]"#;
    check(&processor, &[(answer, &["="]), (answer, &[]), (forged, &[]), (future, &[])]);
    check(&processor, &[(mixed, &[r#"< [{"jsonrpc":"2.0","method":"notifications/x"}]"#])]);
    assert_eq!(processor.gateway.drop_counts().unsolicited, 4);
}

#[test]
fn an_unrecognized_result_is_served_as_json() {
    let text = quote(&long());
    let (rows, entry) = (rows(), format!(r#"[{{"uri":"u","text":{text}}}]"#));
    let results = [
        format!(r#"{{"contents":{entry}}}"#),
        format!(r#"{{"contents":{rows}}}"#),
        format!(r#"{{"messages":{rows}}}"#),
        format!(r#"{{"content":{rows}}}"#),
        format!(r#"{{"content":{text}}}"#),
        format!(r#"{{"content":[],"contents":{rows}}}"#),
        format!(r#"{{"content":[],"messages":{rows},"contents":{rows}}}"#),
        format!(r#"{{"content":{rows},"content":[]}}"#),
        format!(r#"{{"content":[],"ttlMs":{text}}}"#),
        format!(r#"{{"resultType":"another","content":{rows}}}"#),
        format!(r#"{{"resultType":{text}}}"#),
        format!(r#"{{"task":{{"taskId":"1","statusMessage":{text}}}}}"#),
        format!(r#"{{"anything":{rows}}}"#),
        rows.clone(),
        text.clone(),
        format!("1{}", "0".repeat(300_000)),
    ];
    for method in METHODS {
        for result in &results {
            let processor = redacting();
            let inside = if method == "tasks/get" {
                format!(r#"{{"taskId":"7","status":"completed","result":{result}}}"#)
            } else {
                result.clone()
            };
            ask(&processor, "1", method);
            let out = to_client(&processor, &format!(r#"{{"jsonrpc":"2.0","id":1,"result":{inside}}}"#));
            let about = format!("{method} {}", &result[..40.min(result.len())]);
            assert_eq!(out.len(), 1, "{about}");
            assert_lawful(&out, &about);
            assert!(out[0].contains(r#""id":1"#), "{about}");
        }
    }
}

#[test]
fn an_unrecognized_result_is_served_in_the_form_of_its_method_without_loss() {
    for (method, expect) in [
        ("tools/call", r#""result":{"content":[{"type":"text","text":""#),
        ("resources/read", r#""result":{"contents":[{"uri":""#),
        ("prompts/get", r#""result":{"messages":[{"role":"user","content":{"type":"text","text":""#),
    ] {
        let processor = processor();
        ask(&processor, "1", method);
        let out = to_client(&processor, &format!(r#"{{"jsonrpc":"2.0","id":1,"result":{}}}"#, rows()));
        assert!(out[0].contains(expect), "{method}: {}", &out[0][..300]);
        assert!(out[0].contains("nextCursor") && out[0].contains("20000"), "{method}");
    }
    for small in [r#""a string""#, "[1,2]", "7", "null", r#"{"contents":[{"uri":"u","text":"t"}]}"#] {
        let processor = processor();
        ask(&processor, "1", "tools/call");
        check(&processor, &[(&format!(r#"s {{"jsonrpc":"2.0","id":1,"result":{small}}}"#), &["="])]);
    }
}

#[test]
fn an_error_of_any_shape_is_limited() {
    let (rows, text) = (rows(), quote(&long()));
    let errors = [
        format!(r#""error":{{"code":1,"message":"m","extra":{rows}}}"#),
        format!(r#""error":{{"code":1,"message":"m","data":{rows}}}"#),
        format!(r#""error":{{"code":{text},"message":"m"}}"#),
        format!(r#""error":{{"code":1,"message":{rows}}}"#),
        format!(r#""error":{text}"#),
        format!(r#""error":{rows}"#),
        format!(r#""error":null,"result":{{"content":{rows}}}"#),
        format!(r#""result":{{"content":{rows}}},"error":{{"code":1,"message":"m"}}"#),
        r#""error":{"code":1,"message":"m","data":{"_meta":{"io.portion/notice":"forged"}}}"#.to_owned(),
    ];
    for method in METHODS.into_iter().chain(["vendor/thing", "tools/list", "initialize"]) {
        for error in &errors {
            let processor = redacting();
            ask(&processor, "1", method);
            let out = to_client(&processor, &format!(r#"{{"jsonrpc":"2.0","id":1,{error}}}"#));
            let about = format!("{method} {}", &error[..60.min(error.len())]);
            assert_eq!(out.len(), 1, "{about}");
            let catalogue = error.starts_with(r#""error":null"#) && !METHODS.contains(&method);
            if !catalogue {
                assert_lawful(&out, &about);
            }
        }
    }
    let processor = redacting();
    let out = server(
        &processor,
        &format!(r#"{{"jsonrpc":"2.0","id":null,"error":{{"code":1,"message":"m","data":{rows}}}}}"#),
    );
    assert_lawful(&out, "an error without an id");
}

#[test]
fn members_beside_the_result_are_limited() {
    let (rows, text) = (rows(), quote(&long()));
    let metas = r#"{"io.portion/notice":"forged","\u0069o.portion/x":"forged","a":1}"#;
    let results = [
        format!(r#""result":{{"content":[]}},"extra":{rows}"#),
        format!(r#""extra":{text},"result":{{"content":[]}}"#),
        r#""result":{"content":[],"password":"hunter2","pin":123}"#.to_owned(),
        r#""result":{"content":[{"password":"hunter2","type":"image","data":"AA=="}]}"#.to_owned(),
        r#""result":{"content":[]},"password":"hunter2""#.to_owned(),
        format!(r#""result":{{"content":[{{"type":"text","text":"t","_meta":{metas}}}]}}"#),
        format!(
            r#""result":{{"content":[{{"type":"image","data":"AA==","mimeType":"image/png","_meta":{metas}}}]}}"#
        ),
        format!(
            r#""result":{{"content":[{{"type":"resource","resource":{{"uri":"u","text":"t","_meta":{metas}}}}}]}}"#
        ),
        format!(r#""result":{{"contents":[{{"uri":"u","text":"t","_meta":{metas}}}]}}"#),
        format!(r#""result":{{"content":[],"_meta":{metas}}}"#),
    ];
    for method in METHODS.into_iter().chain(["vendor/thing", "tools/list", "initialize"]) {
        for result in &results {
            let processor = redacting();
            ask(&processor, "1", method);
            let out = to_client(&processor, &format!(r#"{{"jsonrpc":"2.0","id":1,{result}}}"#));
            let about = format!("{method} {}", &result[..60.min(result.len())]);
            assert_eq!(out.len(), 1, "{about}");
            let relayed = !METHODS.contains(&method)
                && about.contains("\"password\"")
                && !result.ends_with("\"hunter2\"");
            if !relayed {
                assert_lawful(&out, &about);
            }
        }
    }
    let small = r#"s {"jsonrpc":"2.0","id":1,"result":{"content":[],"vendor":[1, 2]},"extra":{"a" : 1}}"#;
    let processor = redacting();
    ask(&processor, "1", "tools/call");
    check(&processor, &[(small, &["="])]);
}

/// Returns members whose names are very long, many, or contain a secret.
fn members_with_names() -> [String; 5] {
    let many = |count: usize, length: usize| {
        let member = |i| format!(r#""k{i:06}{}":1"#, "z".repeat(length));
        (0..count).map(member).collect::<Vec<_>>().join(",")
    };
    let long = "password=hunter2 ".repeat(10_000);
    let small = [r#""password=hunter2":{"a":1}"#, r#""x password=hunter2":1"#].map(str::to_owned);
    let [object, number] = small;
    [format!(r#""{long}":1"#), many(900, 70), many(2_000, 60), object, number]
}

#[test]
fn names_of_members_are_limited_and_redacted_like_values() {
    let text = r#""type":"text","text":"x""#;
    let image = r#""type":"image","data":"AAAA","mimeType":"image/png""#;
    for members in members_with_names() {
        let of_tools = [
            format!(r#"{{"content":[{{{text}}}],{members}}}"#),
            format!(r#"{{"content":[{{{text},{members}}}]}}"#),
            format!(r#"{{"content":[{{{text},"_meta":{{{members}}}}}]}}"#),
            format!(r#"{{"content":[{{{image},{members}}}]}}"#),
            format!(r#"{{"content":[{{"type":"resource",{members},"resource":{{"uri":"u","text":"t"}}}}]}}"#),
            format!(
                r#"{{"content":[{{"type":"resource","resource":{{"uri":"u","blob":"QQ==",{members}}}}}]}}"#
            ),
            format!(r#"{{"content":[],"vendor":{{"a":{{{members}}}}}}}"#),
            format!(r#"{{"content":[],"_meta":{{{members}}}}}"#),
        ];
        let of_resources = [
            format!(r#"{{"contents":[{{"uri":"u","text":"t",{members}}}]}}"#),
            format!(r#"{{"contents":[{{"uri":"u","blob":"QQ==",{members}}}]}}"#),
        ];
        let of_prompts = [
            format!(r#"{{"messages":[{{"role":"user",{members},"content":{{{text}}}}}]}}"#),
            format!(r#"{{"messages":[{{"role":"user","content":[{{{text},{members}}}]}}]}}"#),
        ];
        let of_completions = [
            format!(r#"{{"completion":{{"values":[],{members}}}}}"#),
            format!(r#"{{"completion":{{"values":[]}},{members}}}"#),
        ];
        let of_tasks = [
            format!(r#"{{"taskId":"7",{members}}}"#),
            format!(r#"{{"taskId":"7","result":{{"content":[{{{text},{members}}}]}}}}"#),
        ];
        let of_all = [
            format!(r#""error":{{"code":1,"message":"m",{members}}}"#),
            format!(r#""result":{{"content":[]}},{members}"#),
        ];
        for (method, results) in [
            ("tools/call", of_tools.as_slice()),
            ("tasks/result", &of_tools),
            ("resources/read", &of_resources),
            ("prompts/get", &of_prompts),
            ("completion/complete", &of_completions),
            ("tasks/get", &of_tasks),
        ] {
            let results = results.iter().map(|result| format!(r#""result":{result}"#));
            for response in results.chain(of_all.clone()) {
                let processor = redacting();
                ask(&processor, "1", method);
                let out = to_client(&processor, &format!(r#"{{"jsonrpc":"2.0","id":1,{response}}}"#));
                let about = format!("{method} {}", &response[..response.len().min(90)]);
                assert_eq!(out.len(), 1, "{about}");
                assert_lawful(&out, &about);
            }
        }
    }
}

#[test]
fn members_with_long_names_are_reported_and_can_be_read() {
    let processor = processor_with_tools();
    ask(&processor, "1", "tools/call");
    let (name, other) = ("n".repeat(300_000), "m".repeat(5_000));
    let result = format!(
        r#"{{"content":[{{"type":"text","text":"seen"}},{{"type":"text","text":"too","{other}":"value"}}],"{name}":[1,2]}}"#
    );
    let out = to_client(&processor, &format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#));
    assert_lawful(&out, "a long name");
    assert!(out[0].contains(r#""text":"seen""#) && out[0].contains("/otherMembers"), "{out:?}");
    let read = |arguments: &str| {
        let (_, rest) = out[0].split_once(r#""cursor":""#).expect("a cursor");
        let cursor = rest.split('"').next().expect("a cursor");
        let arguments = format!(r#"{{"cursor":"{cursor}",{arguments}}}"#);
        let params = format!(r#"{{"name":"portion_read","arguments":{arguments}}}"#);
        let call = format!(r#"{{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{params}}}"#);
        client(&processor, &call).remove(0)
    };
    let shown = read(r#""path":"/otherMembers","raw":true"#);
    assert!(shown.contains("/content/1") && shown.contains(&other[..1_000]), "{shown}");
}

#[test]
fn the_wrappers_of_parts_without_content_are_limited() {
    let parts = [
        ("tools/call", "content", r#"{"type": "text", "text": ""}"#),
        ("tools/call", "content", r#"{"type": "resource", "resource": {"uri": "x:/", "text": ""}}"#),
        ("resources/read", "contents", r#"{"uri": "x:/", "mimeType": "text/plain", "text": ""}"#),
        ("prompts/get", "messages", r#"{"role": "user", "content": {"type": "text", "text": ""}}"#),
    ];
    let max = Policy::default().hard_byte_limit;
    for (method, member, part) in parts {
        // Just above the limit, and far above it.
        for count in [max / (part.len() + 2) + 1, 10_000] {
            let processor = redacting();
            ask(&processor, "1", method);
            let all = vec![part; count].join(", ");
            let result = format!(r#"{{"{member}":[{all}]}}"#);
            let out = to_client(&processor, &format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#));
            assert_eq!(out.len(), 1, "{count} times {part}");
            assert!(out[0].len() <= max, "{count} times {part}: {} bytes", out[0].len());
            assert!(out[0].contains(r#""nextCursor":""#), "{count} times {part}");
        }
    }
}

#[test]
fn members_of_many_empty_blocks_are_reached_by_a_walk() {
    let processor = processor_with_tools();
    ask(&processor, "1", "tools/call");
    let member = |i: usize| format!("{i:03}{}", "x".repeat(50));
    let block = |i: usize| format!(r#"{{"type":"text","text":"","_meta":{{"a":"{}"}}}}"#, member(i));
    let blocks: Vec<String> = (0..900).map(block).collect();
    let result = format!(r#"{{"content":[{}]}}"#, blocks.join(","));
    let mut out = to_client(&processor, &format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#));
    let mut walked = String::new();
    loop {
        assert_lawful(&out, "a reply of the walk");
        walked.push_str(&out[0]);
        let Some((_, rest)) = out[0].split_once(r#""nextCursor":""#) else { break };
        let cursor = rest.split('"').next().expect("a cursor");
        let params = format!(r#"{{"name":"portion_read","arguments":{{"cursor":"{cursor}"}}}}"#);
        let call = format!(r#"{{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{params}}}"#);
        out = client(&processor, &call);
    }
    // The last members are one part, which may be described.
    let shown = |count: usize| (0..count).all(|i| walked.contains(&member(i)));
    assert!(shown(600));
    assert!(shown(900) || walked.contains("/otherMembers"));
}

#[test]
fn only_the_data_of_media_have_a_limit_of_their_own() {
    // Above the byte limit of a reply.
    let (rows, text) = (rows_of(800), quote(&"some words ".repeat(10_000)));
    let processor = redacting();
    ask(&processor, "1", "tools/call");
    let data = "A".repeat(2 << 20);
    let image = format!(
        r#"s {{"jsonrpc":"2.0","id":1,"result":{{"content":[{{"type":"image","data":"{data}","mimeType":"image/png","annotations":{{"priority":1}}}}]}}}}"#
    );
    check(&processor, &[(&image, &["="])]);
    let members = [
        format!(r#""data":"AAAA","mimeType":"image/png","text":{text}"#),
        format!(r#""data":"AAAA","mimeType":"image/png","caption":{rows}"#),
        format!(r#""data":"AAAA","mimeType":"image/png","_meta":{{"a":{rows}}}"#),
        format!(r#""data":"AAAA","mimeType":{text}"#),
        format!(r#""data":"AAAA","mimeType":"image/png","blob":{text}"#),
        format!(r#""data":"AAAA","mimeType":"image/png","uri":{text}"#),
        format!(r#""data":{text},"mimeType":"image/png""#),
        format!(r#""data":{text},"data":"AAAA","mimeType":"image/png""#),
    ];
    for member in &members {
        let inner = member.replace(r#""data""#, r#""blob""#);
        let blocks = [
            format!(r#"{{"type":"image",{member}}}"#),
            format!(r#"{{{member},"type":"audio"}}"#),
            format!(r#"{{"type":"resource","resource":{{"uri":"u",{inner}}}}}"#),
            format!(r#"{{"type":"resource","caption":{rows},"resource":{{"uri":"u",{inner}}}}}"#),
        ];
        for block in &blocks {
            let five = [block.as_str(); 5].join(",");
            check_media("tools/call", &format!(r#"{{"content":[{block}]}}"#));
            check_media("tools/call", &format!(r#"{{"content":[{five}]}}"#));
            check_media("prompts/get", &format!(r#"{{"messages":[{{"role":"user","content":{block}}}]}}"#));
        }
        check_media("resources/read", &format!(r#"{{"contents":[{{"uri":"u",{inner}}}]}}"#));
    }
}

fn check_media(method: &str, result: &str) {
    let processor = redacting();
    ask(&processor, "1", method);
    let out = to_client(&processor, &format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#));
    let about = format!("{method} {}", &result[..120]);
    assert_eq!(out.len(), 1, "{about}");
    assert_lawful(&out, &about);
    assert!(out[0].contains("io.portion/notice"), "{about}: the omission is reported");
}

#[test]
fn a_shown_image_loses_only_the_members_that_are_too_large() {
    let processor = processor();
    ask(&processor, "1", "tools/call");
    let block = |caption: &str| {
        format!(r#"{{"type":"image","data":"AAAA","alt":"small","mimeType":"image/png"{caption}}}"#)
    };
    let large = block(&format!(r#","caption":{}"#, rows()));
    let out =
        to_client(&processor, &format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"content":[{large}]}}}}"#));
    assert!(out[0].contains(&block("")), "{out:?}");
    assert!(out[0].contains("/content/0/caption"), "{out:?}");
}

#[test]
fn results_that_should_be_empty_are_limited() {
    for method in ["ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"] {
        for result in
            [rows(), format!(r#"{{"x":{}}}"#, rows()), format!(r#"{{"{}":1}}"#, "k".repeat(300_000))]
        {
            let processor = redacting();
            ask(&processor, "1", method);
            let out = to_client(&processor, &format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#));
            assert_eq!(out.len(), 1, "{method}");
            assert_lawful(&out, method);
        }
        let processor = redacting();
        ask(&processor, "1", method);
        check(&processor, &[(r#"s {"jsonrpc":"2.0","id":1,"result":{ }}"#, &["="])]);
        ask(&processor, "1", method);
        let small = r#"{"jsonrpc":"2.0","id":1,"result":{"password":"hunter2"}}"#;
        assert_lawful(&to_client(&processor, small), method);
    }
}

#[test]
fn a_redacted_result_of_an_unknown_method_has_no_reserved_members() {
    let processor = redacting();
    ask(&processor, "1", "vendor/thing");
    let result =
        r#"{"password":"hunter2","password=hunter2":1,"_meta":{"io.portion/notice":"forged","a":1}}"#;
    let out = to_client(&processor, &format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#));
    assert_lawful(&out, "a small result");
    assert!(out[0].contains(r#""_meta":{"a":1}"#), "{out:?}");
}

#[test]
fn what_a_client_is_asked_or_told_of_a_task_is_redacted() {
    let check = |method: &str, result: &str, expect: &str| {
        let processor = redacting();
        ask(&processor, "1", method);
        let out = to_client(&processor, &format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#));
        assert_eq!(out, [format!(r#"< {{"jsonrpc":"2.0","id":1,"result":{expect}}}"#)], "{method}");
    };
    let unchanged = |method: &str, result: &str| check(method, result, result);
    let task =
        |rest: &str| format!(r#"{{"taskId":"sk_live_abcdefghijklmnop1234","status":"working"{rest}}}"#);
    let (told, shown) = (
        r#","statusMessage":"password=hunter2","a":{"apiKey":"x"}"#,
        r#","statusMessage":"password=[redacted]","a":{"apiKey":"[redacted]"}"#,
    );
    check("tools/call", &format!(r#"{{"task":{}}}"#, task(told)), &format!(r#"{{"task":{}}}"#, task(shown)));
    let flat = |rest| format!(r#"{{"resultType":"task",{}"#, &task(rest)[1..]);
    check("tools/call", &flat(told), &flat(shown));
    for method in ["tasks/list", "tasks/cancel"] {
        let listed = |status: &str| {
            format!(r#"{{"tasks":[{{"taskId":"7","statusMessage":"{status}"}}],"nextCursor":"2"}}"#)
        };
        check(method, &listed("password=hunter2"), &listed("password=[redacted]"));
    }
    let beside = |of: &str, password: &str| {
        format!(
            r#"{{"resultType":"{of}","content":[{{"type":"text","text":"password={password}"}}],"structuredContent":{{"password":"{password}"}},"requestState":"{{\"password\":1}}"}}"#
        )
    };
    for of in ["task", "input_required"] {
        check("tools/call", &beside(of, "hunter2"), &beside(of, "[redacted]"));
        let meta = |inside: &str| format!(r#"{{"resultType":"{of}","taskId":"t","_meta":{{{inside}}}}}"#);
        check(
            "tools/call",
            &meta(r#""io.portion/notice":"forged","x/y":{"password":"hunter2"}"#),
            &meta(r#""x/y":{"password":"[redacted]"}"#),
        );
    }
    let asked = |params: &str| {
        format!(
            r#"{{"resultType":"input_required","inputRequests":{{"password":{{"method":"elicitation/create","params":{params}}}}},"requestState":"s"}}"#
        )
    };
    let form = |fields: &str| {
        format!(r#"{{"message":"m","requestedSchema":{{"type":"object","properties":{{{fields}}}}}}}"#)
    };
    check(
        "tools/call",
        &asked(&form(
            r#""password":{"type":"string","default":"hunter2","title":"P"},"n":{"type":"string","default":"a"}"#,
        )),
        &asked(&form(r#""password":{"type":"string","title":"P"},"n":{"type":"string","default":"a"}"#)),
    );
    unchanged(
        "tools/call",
        &asked(&form(r#""password":{"type":"string"},"pin":{"type":"integer","minimum":1}"#)),
    );
    check(
        "tools/call",
        &asked(&form(
            r#""pin":{"type":"integer","default":1234},"u":{"type":"string","default":"postgres://u:x@h/db"}"#,
        )),
        &asked(&form(r#""pin":{"type":"integer"},"u":{"type":"string"}"#)),
    );
}

#[test]
fn requests_to_the_client_are_redacted() {
    let check = |params: &str, expect: &str| {
        let request = |params: &str| {
            format!(r#"{{"jsonrpc":"2.0","id":7,"method":"sampling/createMessage","params":{params}}}"#)
        };
        assert_eq!(to_client(&redacting(), &request(params)), [format!("< {}", request(expect))]);
    };
    check(
        r#"{"messages":[{"role":"user","content":{"type":"text","text":"password=hunter2"}}],"metadata":{"apiKey":"k","n":1},"maxTokens":7}"#,
        r#"{"messages":[{"role":"user","content":{"type":"text","text":"password=[redacted]"}}],"metadata":{"apiKey":"[redacted]","n":1},"maxTokens":7}"#,
    );
    check(r#"{"message":"m","_meta":{"progressToken":1}}"#, r#"{"message":"m","_meta":{"progressToken":1}}"#);
}

#[test]
fn repeated_protocol_members_are_limited() {
    let repeated = vec![r#""isError":false"#; 20_000].join(",");
    let processor = redacting();
    ask(&processor, "1", "tools/call");
    let out =
        to_client(&processor, &format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"content":[],{repeated}}}}}"#));
    assert_lawful(&out, "repeated members");
    assert_eq!(out.len(), 1);
}

#[test]
fn notifications_are_limited_and_small_ones_pass_unchanged() {
    let (rows, text) = (rows(), quote(&long()));
    let params = [
        ("message", format!(r#"{{"level":"info","logger":"l","data":{rows}}}"#)),
        ("message", format!(r#"{{"level":"info","data":{text}}}"#)),
        ("message", format!(r#"{{"level":"info","data":{{"a":{rows}}}}}"#)),
        ("message", format!(r#"{{"level":"info","logger":{text},"data":1,"more":{rows}}}"#)),
        ("message", r#"{"level":"info","data":{"password":"hunter2"}}"#.to_owned()),
        ("message", r#"{"level":"info","data":"password=hunter2"}"#.to_owned()),
        ("progress", format!(r#"{{"progressToken":1,"progress":2,"message":{text}}}"#)),
        ("progress", format!(r#"{{"progressToken":1,"progress":2,"more":{rows}}}"#)),
        ("resources/updated", format!(r#"{{"uri":"file:///{}"}}"#, "u".repeat(300_000))),
        ("tasks/status", format!(r#"{{"taskId":"7","status":"completed","result":{{"content":{rows}}}}}"#)),
        ("tasks/status", format!(r#"{{"taskId":"7","status":"working","statusMessage":{text}}}"#)),
        (
            "tasks/status",
            format!(r#"{{"taskId":"7","status":"failed","error":{{"code":1,"message":"m","data":{rows}}}}}"#),
        ),
        ("vendor", format!(r#"{{"a":{rows},"_meta":{{"io.portion/notice":"forged","b":2}}}}"#)),
        (
            "vendor",
            format!("{{{}}}", (0..300_000).map(|i| format!("\"a{i}\":1")).collect::<Vec<_>>().join(",")),
        ),
        ("vendor", rows.clone()),
        ("message", r#"{"level":"info","data":{"_meta":{"io.portion/notice":"forged"}}}"#.to_owned()),
    ];
    for (method, params) in params {
        let processor = redacting();
        let out = server(
            &processor,
            &format!(r#"{{"jsonrpc":"2.0","method":"notifications/{method}","params":{params}}}"#),
        );
        assert_lawful(&out, &format!("{method} {}", &params[..40.min(params.len())]));
    }
    for (method, params) in [
        ("message", r#"{"level":"info","data":{"a" : [1, 2]}}"#),
        ("progress", r#"{"progressToken":1,"progress":0.50,"total":1e0,"message":"so far"}"#),
        ("resources/updated", r#"{"uri":"file:///a"}"#),
        ("vendor", r#"{"a":"\ud800"}"#),
    ] {
        let message = format!(r#"s {{"jsonrpc":"2.0","method":"notifications/{method}","params":{params}}}"#);
        check(&redacting(), &[(&message, &["="])]);
    }
}

#[test]
fn a_large_log_message_can_be_read_to_its_end() {
    let processor = processor_with_tools();
    let message = format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"level":"info","data":{}}}}}"#,
        rows()
    );
    let out = to_client(&processor, &message);
    assert!(out[0].contains(r#""level":"info","data":{"#) && out[0].contains(r#""nextCursor":""#), "{out:?}");
    let (_, rest) = out[0].split_once(r#""nextCursor":""#).expect("more");
    let cursor = rest.split('"').next().expect("a cursor");
    let call = format!(
        r#"{{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{{"name":"portion_read","arguments":{{"cursor":"{cursor}"}}}}}}"#
    );
    assert!(client(&processor, &call)[0].contains("row number"), "it goes on");
}

#[test]
fn server_requests_are_limited() {
    let processor = redacting();
    let long = quote(&long());
    for (method, params) in [
        (
            "sampling/createMessage",
            format!(r#"{{"messages":[{{"role":"user","content":{{"type":"text","text":{long}}}}}]}}"#),
        ),
        ("elicitation/create", format!(r#"{{"message":{long}}}"#)),
        ("vendor/ask", format!(r#"{{"a":{}}}"#, rows())),
    ] {
        let out = server(
            &processor,
            &format!(r#"{{"jsonrpc":"2.0","id":5,"method":"{method}","params":{params}}}"#),
        );
        assert_eq!(out.len(), 1, "{out:?}");
        assert!(out[0].starts_with(r#"> {"jsonrpc":"2.0","id":5,"error":{"code":-32"#), "{}", &out[0][..200]);
        assert!(out[0].contains("message_too_large"), "{out:?}");
    }
    let media = "A".repeat(2 << 20);
    let image = format!(
        r#"s {{"jsonrpc":"2.0","id":5,"method":"sampling/createMessage","params":{{"messages":[{{"role":"user","content":{{"type":"image","mimeType":"image/png","data":"{media}"}}}}]}}}}"#
    );
    let schema = r#"s {"jsonrpc":"2.0","id":5,"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{"password":{"type":"string"}}}}}"#;
    let roots = r#"s {"jsonrpc":"2.0","id":"r","method":"roots/list"}"#;
    check(&processor, &[(&image, &["="]), (schema, &["="]), (roots, &["="])]);
    for message in [
        r#"{"jsonrpc":"2.0","id":5,"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"{\"password\":\"hunter2\"}"}}]}}"#,
        r#"{"jsonrpc":"2.0","id":5,"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"string","description":"password=hunter2"}}}}}"#,
    ] {
        let out = server(&processor, message);
        assert!(
            out[0].starts_with("< ") && !out[0].contains("hunter2") && out[0].contains("[redacted]"),
            "{out:?}"
        );
    }
}

#[test]
fn completions_are_redacted() {
    let processor = redacting();
    ask(&processor, "1", "completion/complete");
    let values = |values: &str| {
        format!(r#"s {{"jsonrpc":"2.0","id":1,"result":{{"completion":{{"values":{values}}}}}}}"#)
    };
    let out = to_client(&processor, &values(r#"["a","password=hunter2"]"#)[2..]);
    assert!(out[0].contains(r#""values":["a","password=[redacted]"]"#), "{out:?}");
    ask(&processor, "1", "completion/complete");
    check(&processor, &[(&values(r#"["a","b"]"#), &["="])]);
}

#[test]
fn catalogs_are_relayed_whole_and_instructions_are_limited() {
    let processor = redacting();
    ask(&processor, "1", "resources/list");
    let list = format!(
        r#"s {{"jsonrpc":"2.0","id":1,"result":{{"resources":[{}]}}}}"#,
        (0..9_000)
            .map(|i| format!(r#"{{"uri":"file:///{i}","name":"password {i}"}}"#))
            .collect::<Vec<_>>()
            .join(",")
    );
    check(&processor, &[(&list, &["="])]);
    ask(&processor, "2", "initialize");
    let message = format!(
        r#"{{"jsonrpc":"2.0","id":2,"result":{{"protocolVersion":"2025-11-25","capabilities":{{"tools":{{}}}},"instructions":{}}}}}"#,
        quote(&long())
    );
    let out = to_client(&processor, &message);
    assert_lawful(&out, "instructions");
    assert!(
        out[0].contains(r#""instructions":"some words"#) && out[0].contains("characters omitted"),
        "{out:?}"
    );
}

#[test]
fn invalid_utf8_is_replaced_and_a_byte_order_mark_is_removed() {
    let processor = processor();
    let message =
        b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\",\"params\":{\"a\":\"\xff\"}}".to_vec();
    let out = sent(run(processor.process_server_frame(Frame::Message(message))));
    assert_eq!(
        out,
        ["< {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\",\"params\":{\"a\":\"\u{fffd}\"}}"]
    );
    let ping = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}";
    assert_eq!(client(&processor, &format!("\u{feff}{ping}")), [format!("> {ping}")]);
    let answer = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}";
    assert_eq!(server(&processor, &format!("\u{feff}{answer}")), [format!("< {answer}")]);
}

#[test]
fn an_invalid_response_is_an_error_for_its_request() {
    let processor = processor();
    ask(&processor, "1", "tools/call");
    let out = to_client(&processor, r#"{"jsonrpc":"2.0","id":1,"result":{"x":NaN}}"#);
    assert!(
        out[0].starts_with(r#"< {"jsonrpc":"2.0","id":1,"#) && out[0].contains("upstream_invalid"),
        "{out:?}"
    );
    assert_eq!(processor.pending_count(), 0);
}

#[test]
fn an_invalid_response_with_two_ids_is_an_error_for_the_pending_request() {
    for ids in [r#""id":1,"id":7"#, r#""id":7,"id":1"#, r#""id":1,"id":1"#] {
        let processor = processor();
        ask(&processor, "1", "tools/call");
        let out = to_client(&processor, &format!(r#"{{"jsonrpc":"2.0",{ids},"result":{{"content":[]}}}}"#));
        assert!(
            out[0].starts_with(r#"< {"jsonrpc":"2.0","id":1,"#) && out[0].contains("upstream_invalid"),
            "{ids}: {out:?}"
        );
        assert_eq!(processor.pending_count(), 0, "{ids}");
    }
}

#[test]
fn an_invalid_batch_is_an_error_for_the_requests_that_its_members_answer() {
    let valid = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#;
    for (batch, answered) in [
        (format!("[{valid},5]"), "1"),
        (
            format!(
                r#"[{{"jsonrpc":"2.0","id":2,"result":{{}},"error":{{"code":1,"message":"x"}}}},{valid}]"#
            ),
            "21",
        ),
        (format!(r#"[{valid},{{"jsonrpc":"2.0","id":2,"result":{{"x":NaN}}}}]"#), "12"),
        (format!("[{valid}"), "1"),
        (format!("[{valid},{valid},[]]"), "1"),
        // A request of the server, an unknown id, and the ids of other arrays and objects.
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},5]"#.to_owned(), ""),
        (r#"[{"jsonrpc":"2.0","id":7,"result":{"id":1}},5]"#.to_owned(), ""),
        (format!("[[{valid}]]"), ""),
    ] {
        let processor = processor();
        ask(&processor, "1", "tools/call");
        ask(&processor, "2", "tools/call");
        let out = to_client(&processor, &batch);
        assert_eq!(out.len(), answered.len(), "{batch}: {out:?}");
        for (out, id) in out.iter().zip(answered.chars()) {
            let beginning = format!(r#"< {{"jsonrpc":"2.0","id":{id},"#);
            assert!(out.starts_with(&beginning) && out.contains("upstream_invalid"), "{batch}: {out}");
        }
        assert_eq!(processor.pending_count(), 2 - answered.len(), "{batch}");
        assert_eq!(processor.gateway.drop_counts().invalid, 1, "{batch}");
    }
}

#[test]
fn a_request_with_two_ids_is_rejected() {
    let processor = processor();
    let out = client(&processor, r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#);
    let rejected = r#"< {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"#;
    assert!(out.len() == 1 && out[0].starts_with(rejected), "{out:?}");
}

#[test]
fn responses_to_unsent_calls_are_dropped() {
    let processor = processor();
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_x","arguments":{"limit":1}}}"#;
    let out = client(&processor, call);
    assert!(out[0].contains("tools/list"), "the tools come first: {out:?}");
    check(&processor, &[(r#"s {"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#, &[])]);
    assert_eq!((processor.pending_count(), processor.gateway.drop_counts().unsolicited), (1, 1));
}
