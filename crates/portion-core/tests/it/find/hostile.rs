//! Hostile patterns and payloads: each is answered in bounded time, and none ends the process.

use portion_core::find::{FindError, SearchQuery};

use super::ask;

/// Returns patterns that expand, nest or repeat without bounds, or are malformed.
fn patterns() -> Vec<String> {
    let mut all: Vec<String> = [
        "/(a{1000}){1000}/",
        "/((a{100}){100}){100}/",
        "/a{4294967295}/",
        "/a{0,99999}/",
        "/(?:){4000000000}/",
        r"/\pL{500}/",
        r"/(?i)\pL{300}/",
        r"/[\p{L}\p{N}\p{S}]{900}/",
        r"/(\w{50}\s{50}){50}/",
        r"/\w{1000000}/",
        "/(a*)*b/",
        "/(a+)+$/",
        "/(a|a)*b/",
        "/(a|aa)+$/",
        "/(.*)(.*)(.*)(.*)(.*)x/",
        "/^(([a-z])+.)+[A-Z]([a-z])+$/",
        "/(?:a?){900}a{900}/",
        "/[a-q][^u-z]{13}x/",
        "/.{0,2000}z{0,2000}/",
        "/(?s).*.*.*=.*/",
        "/(?s).*[^A-Z]|[A-Z]/",
        r"/\b\w{0,60}é\b/",
        r"/(?:\b.{0,40}){20}é/",
        r"/\B\B\B\B/",
        "/x*/",
        "/$^/",
        "/^$/",
        "/()/",
        "/(?:)/",
        "/|/",
        "/.*/",
        "/(/",
        "/)/",
        "/[/",
        "/[z-a]/",
        "/a{2,1}/",
        r"/\/",
        r"/\1/",
        "/(?=a)/",
        "/(?<!a)b/",
        "/(?P<n>a)(?P<n>b)/",
        "/*/",
        "/+a/",
        r"/\p{Nonsense}/",
        r"/\x{110000}/",
        r"/\u{d800}/",
        "/(?z)a/",
        "/[[:what:]]/",
        "/[a&&b]/",
        "/[^\\s\\S]/",
        "//",
        "///",
        "/",
        "\u{0}",
        "\\",
        "\"",
        "\u{feff}",
        "\u{202e}abc",
        "a\u{301}",
        "ﬀ",
        "ß",
        "İ",
        "/(?i)K/",
        "\\u0061",
        "{\"a\":",
        "…",
    ]
    .map(str::to_owned)
    .to_vec();
    all.push(format!("/{}a{}/", "(".repeat(500), ")".repeat(500)));
    all.push(format!("/{}a{}/", "(?:".repeat(80), "{2})".repeat(80)));
    all.push(format!("/{}/", "[^x]".repeat(1_000)));
    all.push(format!("/{}/", r"\pL".repeat(1_300)));
    all.push(format!("/(?i){}/", r"\w".repeat(1_300)));
    all.push(format!("/{}/", "a|".repeat(2_000)));
    all.push(format!("/a{}/", "?".repeat(2_000)));
    all.push(format!("/{}/", "a{9}".repeat(900)));
    all.push("x".repeat(1 << 20));
    all.push("a ".repeat(2_000));
    all.push("所".repeat(1_300));
    all.push(format!("{}b", "a ".repeat(2_000)));
    all
}

#[test]
fn hostile_patterns_are_answered() {
    let patterns = patterns();
    assert!(patterns.len() > 70);
    let payloads = [
        String::new(),
        "a".repeat(12_000),
        "a ".repeat(6_000),
        "a\n".repeat(6_000),
        "所".repeat(4_000),
        format!("[{}1]", r#"{"a":"aé A","b":[1,"\u0061\ud800"]},"#.repeat(50)),
        format!("{}{}", "[".repeat(20_000), "]".repeat(20_000)),
        format!("{}1{}", r#"{"a":"#.repeat(20_000), "}".repeat(20_000)),
    ];
    for pattern in &patterns {
        for payload in &payloads {
            match ask(payload, &SearchQuery { max_items: 50, ..SearchQuery::new(pattern) }) {
                Ok(found) => {
                    let items: serde_json::Value = serde_json::from_str(&found.items_json).expect("JSON");
                    let items = items.as_array().map_or(0, Vec::len);
                    assert!(
                        items <= found.match_count + found.word_match_count && items <= 50,
                        "{pattern:.60}"
                    );
                }
                Err(error) => assert!(matches!(error.code().name(), "query_invalid" | "query_too_costly")),
            }
        }
    }
}

#[test]
fn patterns_that_expand_too_much_are_refused() {
    let refused = |pattern: &str| ask("text", &SearchQuery::new(pattern)).map(|found| found.match_count);
    for pattern in ["/(a{1000}){1000}/", r"/\pL{500}/", r"/[\p{L}\p{N}\p{S}]{900}/", r"/\w{1000000}/"] {
        assert_eq!(refused(pattern), Err(FindError::TooLarge), "{pattern}");
    }
    assert_eq!(refused(&"x".repeat(1 << 20)).map_err(|error| error.code().name()), Err("query_invalid"));
}

#[test]
fn searches_that_would_take_minutes_are_refused() {
    // Each line matches only after all of the following text was read.
    let text = "A\n".repeat(400_000);
    let slow = ask(&text, &SearchQuery::new("/(?s)[A-Z]{0,200}.{0,200}[^A-Z\n]|[A-Z]/"));
    assert!(slow.is_ok() || slow == Err(FindError::TooCostly));
    // The words occur everywhere, but the last one is missing.
    let text = "a b ".repeat(500_000);
    let slow = ask(&text, &SearchQuery::new(&format!("{}c", "a b ".repeat(1_000))));
    assert_eq!(slow, Err(FindError::TooCostly));
}

#[test]
fn frequent_matches_are_found() {
    let members: Vec<String> = (0..50_000).map(|i| format!(r#""key{i}":"value{i}""#)).collect();
    let object = format!(r#"{{"id":1,"all":{{{}}}}}"#, members.join(","));
    for (pattern, matches) in
        [("value", 50_000), ("VALUE", 50_000), ("key", 50_000), ("/KEY/i", 50_000), ("/v.*7$/", 5_000)]
    {
        assert_eq!(
            ask(&object, &SearchQuery::new(pattern)).map(|found| found.match_count),
            Ok(matches),
            "{pattern}"
        );
    }
    let line = "lorem ipsum ".repeat(100_000);
    for (pattern, matches) in
        [("lorem", 100_000), ("LOREM", 100_000), ("/l\\w+/", 100_000), ("/[a-z]+/", 200_000)]
    {
        assert_eq!(
            ask(&line, &SearchQuery::new(pattern)).map(|found| found.match_count),
            Ok(matches),
            "{pattern}"
        );
    }
    // A match is not cut at the end of a search window.
    assert_eq!(ask(&"x".repeat(100_000), &SearchQuery::new("/x+/")).map(|found| found.match_count), Ok(1));
}
