//! Tests of members outside payloads: what is missing is marked and counted.

use super::*;

/// Returns an array of about 20 KB that contains no long string.
fn numbers() -> String {
    format!("[{}]", vec!["1"; 10_000].join(","))
}

/// Checks the response to a request after its `id`, and the number of drops.
fn check_response(method: &str, response: &str, expect: &str, drops: u64) {
    let processor = processor();
    let params = r#"{"name":"t","taskId":"7"}"#;
    let request = format!(r#"c {{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
    let [response, expect] = [response, expect].map(|text| format!(r#"{{"jsonrpc":"2.0","id":1,{text}}}"#));
    check(&processor, &[(&request, &["="]), (&format!("s {response}"), &[&format!("< {expect}")])]);
    assert_eq!(processor.gateway.drop_counts().oversized, drops, "{expect}");
}

#[test]
fn large_members_beside_a_result_are_marked() {
    let numbers = numbers();
    check_response(
        "tools/call",
        &format!(r#""result":{{"content":[]}},"a":{numbers},"b":{{"c":{numbers}}},"d":[1, 2]"#),
        r#""result":{"content":[]},"a":["… [+20001 chars]"],"b":{"…":"[+20007 chars]"},"d":[1, 2]"#,
        1,
    );
    let many = (0..2_000).map(|i| format!(r#""k{i}":1"#)).collect::<Vec<_>>().join(",");
    check_response(
        "tools/call",
        &format!(r#"{many},"result":{{"content":[]}}"#),
        r#""result":{"content":[]},"…":"[+2000 members]""#,
        1,
    );
}

#[test]
fn the_params_of_a_response_are_a_member_like_others() {
    let numbers = numbers();
    check_response(
        "ping",
        &format!(r#""result":{{}},"params":{numbers}"#),
        r#""result":{},"params":["… [+20001 chars]"]"#,
        1,
    );
    check_response("ping", r#""result":{},"params":[1, 2]"#, r#""result":{},"params":[1, 2]"#, 0);
}

#[test]
fn large_members_of_a_task_are_marked() {
    let numbers = numbers();
    check_response(
        "tasks/get",
        &format!(r#""result":{{"taskId":"7","status":"working","_meta":{{"a":{numbers}}},"b":{numbers}}}"#),
        r#""result":{"taskId":"7","status":"working","_meta":{"…":"[+20007 chars]"},"b":["… [+20001 chars]"]}"#,
        1,
    );
    // Of repeated members only the last one counts.
    check_response(
        "tasks/get",
        &format!(r#""result":{{"taskId":"7","result":{numbers},"result":null}}"#),
        r#""result":{"taskId":"7","result":["… [+20001 chars]"],"result":null}"#,
        1,
    );
}

/// Checks a notification with these members, what is relayed of it, and that something was counted unless all is.
fn check_notification(members: &str, expect: Option<&str>) {
    let processor = processor();
    let line = |members: &str| format!(r#"{{"jsonrpc":"2.0",{members}}}"#);
    let expected: Vec<String> = expect.map(|members| format!("< {}", line(members))).into_iter().collect();
    let about = &members[..members.len().min(100)];
    assert_eq!(server(&processor, &line(members)), expected, "{about}");
    let drops = u64::from(expect != Some(members));
    assert_eq!(processor.gateway.drop_counts().oversized, drops, "{about}");
}

#[test]
fn a_notification_that_cannot_be_shortened_is_dropped() {
    let (numbers, long) = (numbers(), "y".repeat(300_000));
    let digits = "9".repeat(300_000);
    for members in [
        format!(r#""method":"x/{long}","params":{{}}"#),
        format!(r#""method":"x/{long}""#),
        format!(r#""method":"notifications/tasks/{long}","params":{{"taskId":"7"}}"#),
        format!(r#""method":"x/y","params":{{"level":"info","data":{numbers}}}"#),
        format!(r#""method":"notifications/foo","params":{{"level":"info","data":{numbers}}}"#),
        format!(r#""method":"notifications/foo","params":{{"v":{digits}}}"#),
        format!(r#""method":"notifications/foo","params":{{"{long}":1}}"#),
        format!(r#""method":"notifications/foo","params":{{"a":{{"{long}":1}}}}"#),
        format!(r#""method":"notifications/foo","params":{{"_meta":{{"a":{numbers}}}}}"#),
        format!(r#""method":"notifications/foo","params":{numbers}"#),
        format!(r#""method":"notifications/foo","params":{{}},"extra":{numbers}"#),
        format!(r#""method":"notifications/foo","params":{{}},"result":{numbers}"#),
        format!(r#""error":{numbers},"method":"notifications/foo","params":{{}}"#),
        format!(r#""method":"notifications/progress","params":{{"progress":1,"more":{numbers}}}"#),
        format!(r#""method":"notifications/message","params":{{"data":1}},"extra":{numbers}"#),
        format!(r#""method":"notifications/message","params":{{"data":1,"more":{numbers}}}"#),
        format!(r#""method":"notifications/message","params":{{"data":{numbers},"data":1}}"#),
        format!(r#""method":"notifications/tasks/status","params":{{"taskId":"7"}},"extra":{numbers}"#),
    ] {
        check_notification(&members, None);
    }
}

#[test]
fn long_strings_of_a_notification_are_shortened() {
    let (text, short) = ("w".repeat(20_000), format!("{} … [+19700 chars]", "w".repeat(300)));
    let members = |text: &str| {
        format!(
            r#""method":"x/y","extra":["{text}"],"params":{{"a":1,"b":"{text}","_meta":{{"c":"{text}"}}}}"#
        )
    };
    check_notification(&members(&text), Some(&members(&short)));
}

#[test]
fn a_notification_within_the_limit_is_unchanged() {
    let limit = Policy::default().fallback_byte_limit;
    let members = |text: &str| format!(r#""method":"x/y","params":{{"a":"{text}"}}"#);
    let rest = r#"{"jsonrpc":"2.0",}"#.len() + members("").len();
    let largest = members(&"w".repeat(limit - rest));
    check_notification(&largest, Some(&largest));
    let left_out = limit - rest + 1 - 300;
    let short = members(&format!("{} … [+{left_out} chars]", "w".repeat(300)));
    check_notification(&members(&"w".repeat(limit - rest + 1)), Some(&short));
    let method = format!(r#""method":"x/{}","params":[1, 2]"#, "y".repeat(9_000));
    check_notification(&method, Some(&method));
}

#[test]
fn a_request_to_the_client_is_relayed_whole_or_refused() {
    let (numbers, long, media) = (numbers(), "y".repeat(300_000), "A".repeat(2 << 20));
    let request = |members: &str| format!(r#"{{"jsonrpc":"2.0","id":5,{members}}}"#);
    let image = format!(r#""params":{{"a":{{"data":"{media}"}}}}"#);
    for members in [
        format!(r#""method":"x/y","extra":{numbers}"#),
        format!(r#""method":"x/y",{image},"extra":{numbers}"#),
    ] {
        check(&processor(), &[(&format!("s {}", request(&members)), &["="])]);
    }
    for members in [
        format!(r#""method":"x/{long}","params":{{}}"#),
        format!(r#""method":"x/y","params":{{}},"extra":"{long}""#),
        format!(r#""method":"x/y","params":{{}},"result":"{long}""#),
        format!(r#""method":"x/y",{image},"data":"{media}""#),
        format!(r#""method":"x/y","params":{{"_meta":{{"a":"{long}"}}}}"#),
    ] {
        let processor = processor();
        let out = server(&processor, &request(&members));
        let refusal = r#"> {"jsonrpc":"2.0","id":5,"error":{"#;
        assert!(out.len() == 1 && out[0].starts_with(refusal), "{}", &members[..40]);
        assert!(out[0].contains("message_too_large"), "{out:?}");
        assert_eq!(processor.gateway.drop_counts().oversized, 1);
    }
}
