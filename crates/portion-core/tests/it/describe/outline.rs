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

#[test]
fn each_of_several_texts_is_described() {
    let log: String = (0..90)
        .map(|i| format!("2024-01-01 10:00:{:02} ERROR job {i} failed\\n", i % 60))
        .collect::<Vec<_>>()
        .concat();
    let lines: String =
        (0..90).map(|i| format!("warning: unused variable x{i}\\n")).collect::<Vec<_>>().concat();
    let text = format!(r#"{{"stdout":"{lines}","stderr":"{log}","exit_code":1}}"#);
    let described = outline(&text, ALL);
    assert!(described["stdout"].is_object() && described["stderr"].is_object(), "{described:?}");
    assert_eq!(described["stderr"]["levels"]["ERROR"], 90, "{described:?}");
}
