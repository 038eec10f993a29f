//! Generated payloads.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// Generates a payload of one kind or of several, up to about 12 KB.
pub(crate) fn text() -> impl Strategy<Value = String> {
    let kind = prop_oneof![
        3 => lines(record()),
        2 => lines(log_entry()),
        3 => lines(prose()),
        1 => lines(code()),
        2 => lines(wild()),
        1 => vec(wild(), 0..20).prop_map(|w| w.concat()),
        1 => run(),
    ];
    vec(kind, 1..4).prop_map(|parts| parts.concat())
}

/// Generates about a dozen different lines, repeated.
fn lines(line: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    let end = select(vec!["\n", ",", "\r\n", ",\n  ", "\n\n", " ", ""]);
    (vec(line, 1..12), 0_usize..60, end)
        .prop_map(|(lines, many, end)| lines.iter().cycle().take(many).flat_map(|line| [line, end]).collect())
}

fn record() -> impl Strategy<Value = String> {
    let value = prop_oneof![
        any::<i64>().prop_map(|n| n.to_string()),
        (0.0..1e6).prop_map(|n| format!("{n:.2}")),
        "[A-Za-z0-9+/]{8,80}={0,2}".prop_map(|s| format!("\"{s}\"")),
        "[A-Z][a-z]{2,9} [A-Z]'?[a-z]{2,9}".prop_map(|s| format!("\"{s}\"")),
        "https://[a-z]{3,9}\\.com/[a-z0-9/_-]{0,30}".prop_map(|s| format!("\"{s}\"")),
        select(vec!["null", "true", "[]", "{\"a\":[1,2]}", "\"\\u00e9\\n\\\\\""]).prop_map(str::to_owned),
    ];
    vec(("[a-z][a-zA-Z_]{1,12}", value), 1..8).prop_map(|fields| {
        let fields: Vec<_> = fields.into_iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
        format!("{{{}}}", fields.join(","))
    })
}

fn log_entry() -> impl Strategy<Value = String> {
    let level = select(vec!["INFO", "WARN", "ERROR", "debug"]);
    (0_u32..86_400, level, "[a-z]{2,8}\\.[A-Z][a-zA-Z]{3,12}", "[ -~]{0,80}").prop_map(
        |(second, level, at, message)| {
            format!(
                "2024-11-21T{:02}:{:02}.{second:06}Z {level:<5} [{at}] {message}",
                second / 3600,
                second % 60
            )
        },
    )
}

fn prose() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        6 => "[a-z]{1,11}",
        1 => "[A-Z][a-z]{1,9}",
        1 => select(vec!["it's", "we'LL", "I'd", "don't,", "—", "e.g.", "(see", "3.14", "été", "naïve;", "Größe"]).prop_map(str::to_owned),
        1 => "[а-я]{2,9}",
        1 => "[\u{4e00}-\u{4fff}]{1,12}[、。]",
        1 => "[ぁ-ゖ]{1,9}",
    ];
    vec(word, 1..30).prop_map(|words| words.join(" "))
}

fn code() -> impl Strategy<Value = String> {
    (0_usize..9, "[a-z_]{1,9}", "[a-zA-Z0-9_.()\\[\\]{}=+*/<>'\"!&|;: \t-]{0,60}")
        .prop_map(|(depth, name, rest)| format!("{}{name}{rest}", "    ".repeat(depth)))
}

/// Generates arbitrary text, rich in what vocabularies treat specially.
fn wild() -> impl Strategy<Value = String> {
    let odd = select(vec![
        "'",
        "'s",
        "'LL",
        "'ſ",
        "/",
        "//",
        "\n",
        "\r",
        "\r\n",
        " ",
        "  ",
        "\t",
        "\u{a0}",
        "\u{3000}",
        "\u{85}",
        "\u{b}",
        "\0",
        "e\u{301}",
        "\u{301}",
        "\u{200d}",
        "👍🏽",
        "👩‍👩‍👧",
        "½",
        "²",
        "٣",
        "Ⅷ",
        "ǅ",
        "ʰ",
        "ß",
        "İ",
        "1",
        "22",
        "a",
        "B",
        "漢",
        "、",
        "。",
        "　",
        "…",
        "ー",
        "한",
        "ไทย",
        "\u{F0000}",
        "<|endoftext|>",
        "!\n/",
        "_",
        "\\\"",
        "\u{feff}",
    ]);
    prop_oneof![vec(odd, 0..60).prop_map(|odds| odds.concat()), "\\PC{0,60}", "(?s).{0,60}"]
}

/// Generates a repetition of a few characters.
fn run() -> impl Strategy<Value = String> {
    (wild(), 1_usize..6_000).prop_map(|(unit, size)| {
        let unit: String = unit.chars().take(4).collect();
        unit.repeat(size / unit.len().max(1))
    })
}
