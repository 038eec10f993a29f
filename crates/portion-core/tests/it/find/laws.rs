//! Properties of searches: a plain search has the same matches, and every reported location is valid.

use portion_core::cursor::Position;
use portion_core::find::{SearchQuery, find};
use portion_core::policy::Policy;
use portion_core::snapshot::Structure;
use portion_core::view::{Request, View, resolve};
use proptest::prelude::*;
use serde_json::Value;

use super::snapshot;

fn cases(usual: u32) -> ProptestConfig {
    let cases = (u64::from(usual) * u64::from(ProptestConfig::default().cases) / 256).max(1) as u32;
    ProptestConfig { cases, ..ProptestConfig::default() }
}

/// Generates text that contains short patterns, wrapped and not.
fn prose() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[ab]{1,3}", 2 => Just(" ".to_owned()), 1 => Just("\n".to_owned()), 1 => Just("\r\n  ".to_owned()),
        1 => Just("所有".to_owned()), 1 => Just("é".to_owned()), 1 => Just("\n\n".to_owned()),
    ];
    proptest::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

fn pattern() -> impl Strategy<Value = String> {
    prop_oneof!["[ab]{1,3}", "[ab]{1,2} [ab]{1,2}", "a é", "所", "[ab] b  a", "b\n[ab]", "é"]
}

/// Generates JSON that contains short patterns, escaped and not.
fn json(depth: u32) -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        r#""[ab\u{e9} ]{0,6}""#.prop_map(|s| s.replace('\u{e9}', "\\u00e9")),
        Just(r#""a\u0062""#.to_owned()),
        Just(r#""a\nb""#.to_owned()),
        "-?[1-9][0-9]{0,3}",
        Just("true".to_owned()),
        Just("null".to_owned()),
    ];
    leaf.prop_recursive(depth, 60, 8, |inside| {
        let key = prop_oneof!["[abk]{1,2}", Just("k/~".to_owned()), Just("id".to_owned())];
        prop_oneof![
            proptest::collection::vec(inside.clone(), 0..8).prop_map(|all| format!("[{}]", all.join(","))),
            proptest::collection::vec((key, inside), 0..8).prop_map(|all| {
                let members: Vec<String> =
                    all.into_iter().map(|(key, value)| format!("\"{key}\": {value}")).collect();
                format!("{{{}}}", members.join(", "))
            }),
        ]
    })
}

/// Returns the lines, from 1, in which a pattern begins, with any white space between words.
fn lines_by_hand(text: &str, pattern: &str) -> Vec<usize> {
    let words: Vec<&str> = pattern.split_whitespace().collect();
    let mut lines = Vec::new();
    let mut at = 0;
    'place: while at < text.len() {
        let Some(rest) = text.get(at..) else {
            at += 1;
            continue;
        };
        let mut left = rest;
        for (i, word) in words.iter().enumerate() {
            let after = if i == 0 { left } else { left.trim_start() };
            if i > 0 && after.len() == left.len() {
                at += 1;
                continue 'place;
            }
            let Some(after) = after.strip_prefix(word) else {
                at += 1;
                continue 'place;
            };
            left = after;
        }
        let line = text[..at].matches('\n').count() + 1;
        if lines.last() != Some(&line) {
            lines.push(line);
        }
        at += rest.len() - left.len();
    }
    lines
}

/// Returns the text at a path, as a reader sees it.
fn at_path(payload: &str, path: &str) -> Option<String> {
    let snapshot = snapshot(&[payload]);
    let request = Request { path: Some(path.to_owned()), ..Request::default() };
    let resolved = resolve(&snapshot, None, &request, &Policy::default()).ok()?;
    assert_eq!(resolved.start, Position::default());
    let (_, subject) = resolved.view.subjects(&snapshot).pop()?;
    Some(subject.text.to_string())
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn lines_are_those_of_a_plain_search(text in prose(), pattern in pattern()) {
        let snapshot = snapshot(&[&text]);
        prop_assume!(matches!(snapshot.parts()[0].indexed_text().map(|s| &s.structure), Some(Structure::Text(_))));
        let found = find(&snapshot, &View::root(), &SearchQuery { context_lines: Some(0), ..SearchQuery::new(&pattern) }).expect("valid");
        let by_hand = lines_by_hand(&text, &pattern);
        let ignoring = found.extra_meta.contains_key("ignoringCase") || found.extra_meta["searched"] != "text";
        if !ignoring || !by_hand.is_empty() {
            prop_assert_eq!(found.match_count, by_hand.len(), "{}", found.items_json);
        }
        let all: Vec<&str> = text.split('\n').collect();
        for item in serde_json::from_str::<Vec<Value>>(&found.items_json).expect("JSON") {
            let number = |name: &str| item[name].as_u64().map(|n| n as usize);
            let line = number("line").expect("a line");
            let (first, last) = (number("startLine").unwrap_or(line), number("endLine").unwrap_or(line));
            prop_assert!(first <= line && line <= last && last <= all.len());
            let shown: Vec<&str> = item["text"].as_str().expect("text").split('\n').collect();
            prop_assert_eq!(shown.len(), last - first + 1);
            prop_assert_eq!(shown[line - first].trim_end_matches('\r'), all[line - 1].trim_end_matches('\r'));
            prop_assert!(ignoring || by_hand.contains(&line));
        }
    }

    #[test]
    fn paths_lead_to_the_match(payload in json(4), pattern in "[ab]{1,2}|é|1|a b|tru|k") {
        let snapshot = snapshot(&[&payload]);
        let found = find(&snapshot, &View::root(), &SearchQuery::new(&pattern)).expect("valid");
        prop_assume!(found.extra_meta["searched"] == "text");
        let insensitive = found.extra_meta.contains_key("ignoringCase");
        let said = |text: &str| {
            let text = text.replace("\\u00e9", "é").replace("\\u0062", "b").replace("\\n", " ");
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            if insensitive { text.to_lowercase() } else { text }
        };
        let json = snapshot.parts()[0].indexed_text().is_some_and(portion_core::snapshot::IndexedText::is_json);
        for item in serde_json::from_str::<Vec<Value>>(&found.items_json).expect("JSON") {
            let Some(path) = item["path"].as_str() else { continue };
            let Some(there) = at_path(&payload, path) else {
                prop_assert!(path.is_empty(), "{path}");
                continue;
            };
            if json && found.extra_meta.get("in").is_none() {
                prop_assert!(said(&there).contains(&said(&pattern)), "{path} is {there}");
            }
        }
        // A search without matches means that the payload does not contain the pattern.
        let everything = said(&payload);
        if found.match_count == 0 && json {
            prop_assert!(!everything.contains(&said(&pattern)) || pattern.len() > 1, "{payload}");
        }
    }

    #[test]
    fn no_pattern_panics(pattern in any::<String>(), payload in prop_oneof![prose(), json(4), any::<String>()]) {
        for pattern in [pattern.clone(), format!("/{pattern}/"), format!("/{pattern}/i")] {
            for context in [None, Some(2)] {
                let found = find(&snapshot(&[&payload]), &View::root(), &SearchQuery { context_lines: context, max_items: 7, ..SearchQuery::new(&pattern) });
                if let Ok(found) = found {
                    let items = serde_json::from_str::<Vec<Value>>(&found.items_json).expect("JSON");
                    let counted = found.match_count + found.word_match_count;
                    prop_assert!(items.len() <= counted.min(7));
                    prop_assert_eq!(items.is_empty(), counted == 0);
                    prop_assert!(found.match_count == 0 || found.word_match_count == 0);
                }
            }
        }
    }
}
