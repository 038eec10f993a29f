//! The outline of an object.

use super::{ALL, lines, outline};

#[test]
fn members_are_counted_and_the_dominant_one_outlined() {
    let paths: Vec<String> =
        (0..30).map(|i| format!(r#""/p{i}":{{"get":{{"summary":"Get the thing number {i}"}}}}"#)).collect();
    let servers: Vec<String> = (0..12).map(|i| format!(r#"{{"url":"https://s{i}.example.org/"}}"#)).collect();
    let text = format!(
        r#"{{"id":"T","body":"{}","servers":[{}],"spec":{{"paths":{{{}}},"n":1}}}}"#,
        "é".repeat(150),
        servers.join(","),
        paths.join(",")
    );
    let described = lines(&outline(&text, ALL));
    let what: Vec<&str> =
        described.lines().map(|line| line.rsplit_once(", ").map_or(line, |(what, _)| what)).collect();
    let expected = [
        "spec: object of 2 entries",
        "spec.paths: object of 30 entries",
        "servers: array of 12 objects",
        "body: string of 150 characters",
    ];
    assert_eq!(what, expected, "{described}");
    assert!(described.lines().all(|line| line.ends_with(" tokens")));
    assert_eq!(lines(&outline(&text, 0)), "");
}
