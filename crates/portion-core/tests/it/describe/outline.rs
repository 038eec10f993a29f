//! The outline of an object.

use super::{ALL, lines, outline};

#[test]
fn lists_are_described_and_other_members_counted() {
    let paths: Vec<String> =
        (0..30).map(|i| format!(r#""/p{i}":{{"get":{{"summary":"Get the thing number {i}"}}}}"#)).collect();
    let servers: Vec<String> = (0..12).map(|i| format!(r#"{{"url":"https://s{i}.example.org/"}}"#)).collect();
    let text = format!(
        r#"{{"id":"T","body":"{}","servers":[{}],"spec":{{"paths":{{{}}},"n":1}}}}"#,
        "é".repeat(150),
        servers.join(","),
        paths.join(",")
    );
    let described = outline(&text, ALL);
    let names: Vec<&String> = described.keys().collect();
    assert_eq!(names, ["/spec/paths", "/servers", "body"]);
    assert_eq!(described["/spec/paths"]["rows"], 30);
    assert_eq!(described["/servers"]["rows"], 12);

    let body = described["body"].as_str().expect("words");
    assert!(body.starts_with("string of 150 characters, ") && body.ends_with(" tokens"), "{body}");
    assert_eq!(lines(&outline(&text, 0)), "");
}
