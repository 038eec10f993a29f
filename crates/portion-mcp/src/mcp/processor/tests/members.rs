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
