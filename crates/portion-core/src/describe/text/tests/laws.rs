//! Properties of descriptions of any text.

use proptest::prelude::*;
use serde_json::Value;

use super::super::severity_words;
use super::{of_kind, within};

fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => prop::sample::select(vec![
            "\n", "\n\n", "\r\n", "# ", "## T\n", "```\n", "2024-05-01 10:00:00 ", "INFO ", "ERROR ", "error", "Failed ", "WARN\n",
            "failure FATAL\n", "10.0.0.1 - - [22/Jan/2019:03:56:14 +0330] \"GET /a HTTP/1.1\" 200 1\n", "a.b.CException: x\n",
            "Ann: ", "Bo: ", "The river rose for three days before the town noticed. ", "Nobody asked the old ferryman about it. ",
            "工厂生产的机器主要出口到欧洲。", "สวัสดี ", "e\u{301}", "\u{feff}", "\"", "a,b,c\n", "1\t2\t3\n", "fn a() {\n", "    ", "}\n",
            "1.1 Terms\n\n", ". ", "! ", ": ", "{", "}", "word ", "Dr. ", "\u{0}",
        ]).prop_map(str::to_owned),
        1 => "[a-zA-Z0-9 :=,.]{0,40}",
        1 => any::<String>(),
    ];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

fn dense(text: &str) -> String {
    text.split_whitespace().collect()
}

/// Checks that the description of a text is true, whatever its kind.
fn check(text: &str, kind: usize, tokens: usize) {
    let description = within(text, &of_kind(text, kind), tokens);
    assert_eq!(description, within(text, &of_kind(text, kind), tokens));
    let lines_with = |word: &str| text.split('\n').filter(|line| line.contains(word)).count();
    for (word, count) in description.get("linesWith").and_then(Value::as_object).into_iter().flatten() {
        assert!(count.as_u64().is_some_and(|count| (1..=lines_with(word) as u64).contains(&count)), "{word}");
    }
    for (word, first_line) in description.get("first").and_then(Value::as_object).into_iter().flatten() {
        let number = first_line
            .as_u64()
            .or_else(|| first_line.as_str()?.split(':').next()?.parse().ok())
            .expect("a number");
        let line = text.split('\n').nth(number as usize - 1).expect("the line");
        assert!(line.contains(word.as_str()), "{word}: {line}");
    }
    if let Some(gist) = description.get("gist").and_then(Value::as_str) {
        let mut rest = dense(text);
        for piece in gist.split(" … ").map(dense) {
            let at = rest.find(&piece).unwrap_or_else(|| panic!("{piece} is not in {rest}"));
            rest.drain(..at + piece.len());
        }
    }
}

proptest! {
    #[test]
    fn descriptions_are_true(text in text(), kind in 0..8usize, tokens in 0..400usize) {
        check(&text, kind, tokens);
    }

    #[test]
    fn words_are_counted_where_they_stand_alone(text in text()) {
        for word in severity_words::ALL_WORDS {
            let alone = text.replace(word, &format!("; {word} "));
            let found = severity_words::find(&alone, &[word]);
            let lines = alone.split('\n').filter(|line| line.contains(word)).count();
            prop_assert_eq!(found.iter().map(|found| found.line_count).sum::<usize>(), lines, "{}", word);
            prop_assert_eq!(found.first().map(|found| found.first_offset), alone.find(word), "{}", word);
            for part in ["http-W", "W-ex", "/W/", "-W=", "W.swift", "xW", "W_", "@W", "W=0", "0 W", "no W"] {
                let hidden = text.replace(word, &format!(" {} ", part.replace('W', word)));
                prop_assert_eq!(severity_words::find(&hidden, &[word]), [], "{} {}", word, part);
            }
        }
    }
}

#[test]
fn hostile_texts_are_described() {
    for unit in [
        " ",
        "\n",
        "a",
        "a ",
        ". ",
        "A. ",
        "Ann: ",
        "。",
        "\"",
        ",",
        "#\n",
        "# \n",
        "10:00:00\n",
        "\u{301}",
        "👨‍👩‍👧",
        "{",
        ":",
        "中",
        "..",
        "A\n\n B",
    ] {
        for kind in 0..5 {
            let text = unit.repeat((1 << 19) / unit.len() + 1);
            within(&text, &of_kind(&text, kind), 300);
        }
    }
}
