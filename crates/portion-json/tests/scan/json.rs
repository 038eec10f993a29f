//! Generates JSON in many spellings, and text that is nearly JSON.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// Generates JSON with white space, escapes and numbers in many spellings, without lone surrogates.
pub(crate) fn json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![select(&SCALARS[..]).prop_map(str::to_owned), number(), string()];
    leaf.prop_recursive(6, 48, 6, |inner| {
        let member = (string(), space(), inner.clone())
            .prop_map(|(key, gap, value)| format!("{key}{gap}:{gap}{value}"));
        prop_oneof![
            (vec(inner, 0..6), space())
                .prop_map(|(items, gap)| format!("[{gap}{}{gap}]", items.join(&format!("{gap},")))),
            (vec(member, 0..6), space())
                .prop_map(|(members, gap)| format!("{{{gap}{}{gap}}}", members.join(&format!(",{gap}")))),
        ]
    })
}

/// Generates JSON, JSON with a few changed bytes, and texts of JSON's own characters.
pub(crate) fn near_json() -> impl Strategy<Value = String> {
    let change = (any::<Index>(), select(&FRAGMENTS[..]), any::<bool>());
    let changed = (json(), vec(change, 1..4)).prop_map(|(mut text, changes)| {
        for (at, fragment, replace) in changes {
            let at = text.floor_char_boundary(at.index(text.len() + 1));
            let end = if replace { text.ceil_char_boundary((at + 1).min(text.len())) } else { at };
            text.replace_range(at..end, fragment);
        }
        text
    });
    let soup = vec(select(&FRAGMENTS[..]), 0..24).prop_map(|fragments| fragments.concat());
    prop_oneof![1 => json(), 3 => changed, 2 => soup, 1 => any::<String>()]
}

/// Generates a JSON string, quotes included, with runs long enough to cross every block, and all escapes.
pub(crate) fn string() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        select(&ESCAPES[..]).prop_map(str::to_owned),
        "[a-z ]{0,40}",
        any::<char>()
            .prop_map(|c| portion_json::scan::quote(&c.to_string()).trim_matches('"').to_owned())
            .prop_filter("a quote alone is not escaped", |s| !s.is_empty() && s != "\\"),
        any::<u16>()
            .prop_filter("surrogates", |u| !(0xd800..0xe000).contains(u))
            .prop_map(|u| format!("\\u{u:04x}")),
    ];
    vec(part, 0..6).prop_map(|parts| format!("\"{}\"", parts.concat()))
}

fn number() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<i64>().prop_map(|n| n.to_string()),
        "-?(0|[1-9][0-9]{0,24})(\\.[0-9]{1,12})?([eE][+-]?[0-9]{1,2})?",
    ]
}

fn space() -> impl Strategy<Value = &'static str> {
    select(&["", "", "", " ", "\n", "\t\r\n", "        "][..])
}

const SCALARS: [&str; 12] =
    ["null", "true", "false", "0", "-0", "1", "1.0", "1e0", "\"\"", "[]", "{}", "12345678901234567890"];
const ESCAPES: [&str; 13] = [
    "\\\"",
    "\\\\",
    "\\/",
    "\\b",
    "\\f",
    "\\n",
    "\\r",
    "\\t",
    "\\u0000",
    "\\u00E9",
    "\\uD83D\\uDC4D",
    "\\u2028",
    "é👍",
];
const FRAGMENTS: [&str; 38] = [
    "[",
    "]",
    "{",
    "}",
    ",",
    ":",
    "\"",
    "\\",
    "\\\"",
    "\\u",
    "\\ud800",
    "\\udc00",
    "\\u00e9",
    "\\n",
    "\\x",
    "0",
    "1",
    "9",
    "-",
    "+",
    ".",
    "e",
    "E",
    "1e400",
    "null",
    "true",
    "fals",
    " ",
    "\n",
    "\t",
    "\u{b}",
    "\0",
    "\u{1f}",
    "\u{7f}",
    "\u{feff}",
    "é",
    "👍",
    "abcdefghijklmnop",
];
