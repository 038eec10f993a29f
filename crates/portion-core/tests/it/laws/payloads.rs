//! Generates payloads of every kind that upstreams send, and invalid ones.

use std::fmt::Write as _;

use portion_core::payload::{BinaryInfo, Block, BlockLabel, Content, Payload};
use portion_json::scan::quote;

use super::choices::Dice;
use super::json::Json;

/// Generates JSON or text.
pub(crate) fn body(dice: &mut Dice) -> String {
    match dice.below(10) {
        0..=4 => list(dice),
        5 | 6 => written(dice, &object),
        7 => odd(dice),
        _ => text(dice),
    }
}

/// Generates a result: one text, several parts, or a text with `structuredContent`.
pub(crate) fn payload(dice: &mut Dice) -> Payload {
    let mut blocks = Vec::new();
    let framed = dice.pick(&[0, 0, 60, 300]);
    let mut add = |address: String, content| {
        let label =
            BlockLabel { source: Some(format!("file:///{address}")), mime_type: None, frame_bytes: framed };
        let label = if framed > 0 && address != "/structuredContent" { label } else { BlockLabel::default() };
        blocks.push(Block { label, ..Block::new(address, content) });
    };
    match dice.below(8) {
        0..=3 => add("/content/0/text".into(), Content::Text(body(dice))),
        4 | 5 => {
            let structured = match dice.below(3) {
                0 => written(dice, &object),
                _ => enveloped(dice),
            };
            match dice.below(4) {
                0 => {
                    add("/content/0/text".into(), Content::Text(structured.clone()));
                    add("/structuredContent".into(), Content::Structured(structured));
                }
                1 => {
                    let text = body(dice);
                    let result = if Json::parse(&text).is_some() { text.clone() } else { quote(&text) };
                    add("/content/0/text".into(), Content::Text(text));
                    let whole = format!("{{\"result\":{result}}}");
                    add("/structuredContent".into(), Content::Structured(whole));
                }
                2 => {
                    add("/content/0/text".into(), Content::Text(body(dice)));
                    add("/structuredContent".into(), Content::Structured(structured));
                }
                _ => add("/structuredContent".into(), Content::Structured(structured)),
            }
        }
        _ => {
            for i in 0..dice.within(2, 7) {
                if dice.once_in(3) {
                    add(format!("/content/{i}"), block(dice));
                } else {
                    let text = if dice.once_in(2) { body(dice) } else { prose(dice, 12) };
                    add(format!("/content/{i}/text"), Content::Text(text));
                }
            }
        }
    }
    let aside = dice.once_in(8);
    if aside {
        let content = Content::Extra(written(dice, &object));
        blocks.push(Block::new("/_meta", content));
    }
    let lone_surrogates = if dice.once_in(8) { 3 } else { 0 };
    let invalid_utf8 = if dice.once_in(8) { 2 } else { 0 };
    Payload {
        blocks,
        invalid_utf8_count: invalid_utf8,
        lone_surrogate_count: lone_surrogates,
        is_error: false,
        is_text_only: dice.once_in(6),
        frame_bytes: framed * 10,
        query_answer: None,
        redaction_rules: None,
        list_path: None,
        ..Payload::default()
    }
}

/// Returns an image, or an embedded blob, with this base64 text.
pub(crate) fn binary(base64: &str, media: bool) -> Content {
    let (json, mime, data) = if media {
        let json = format!("{{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":\"{base64}\"}}");
        (json, "image/png", "/data")
    } else {
        let mime = "application/pdf";
        let resource = format!("{{\"uri\":\"a:b\",\"mimeType\":\"{mime}\",\"blob\":\"{base64}\"}}");
        (format!("{{\"type\":\"resource\",\"resource\":{resource}}}"), mime, "/resource/blob")
    };
    let bytes = base64.trim_end_matches('=').len() * 3 / 4;
    Content::Atomic {
        json,
        binary: Some(BinaryInfo {
            mime_type: mime.into(),
            data_pointer: data,
            decoded_bytes: bytes,
            is_media: media,
        }),
    }
}

fn block(dice: &mut Dice) -> Content {
    let bytes = dice.pick(&[40, 400, 4_000, 40_000]);
    match dice.below(4) {
        0 => binary(&"iVBORw0K".repeat(bytes / 8), true),
        3 => binary(&"JVBERi0x".repeat(bytes / 8), false),
        1 => {
            let name = prose(dice, bytes / 30 + 1);
            let json =
                format!("{{\"type\":\"resource_link\",\"uri\":\"a:b\",\"description\":{}}}", quote(&name));
            Content::Atomic { json, binary: None }
        }
        _ => {
            let json = format!("{{\"type\":\"later\",\"data\":{}}}", quote(&" ".repeat(bytes)));
            Content::Atomic { json, binary: None }
        }
    }
}

/// Generates a list in one of the usual API formats.
pub(crate) fn list(dice: &mut Dice) -> String {
    let len = length(dice);
    match dice.below(6) {
        0 | 1 => enveloped(dice),
        2 => {
            let lines: Vec<String> = (0..len.max(2))
                .map(|i| {
                    let mut line = record(dice, i).minified();
                    if dice.once_in(20) {
                        line.insert_str(0, dice.pick(&["\n", "  ", "\t"]));
                    }
                    line
                })
                .collect();
            lines.join(dice.pick(&["\n", "\r\n", "\n\n"])) + dice.pick(&["", "\n"])
        }
        3 => written(dice, &|dice| {
            let entry = |dice: &mut Dice, i| (key(dice, i), record(dice, i));
            Json::Object((0..len.max(8)).map(|i| entry(dice, i)).collect())
        }),
        4 => written(dice, &|dice| Json::Array((0..len).map(|_| value(dice, 2)).collect())),
        _ => written(dice, &|dice| {
            let items = (0..len).map(|i| record(dice, i)).collect();
            Json::Array(some_alike(dice, items))
        }),
    }
}

/// Returns a list whose records may all be suited for a table.
fn some_alike(dice: &Dice, items: Vec<Json>) -> Vec<Json> {
    if dice.aside(0, &[true, false]) { alike(items) } else { items }
}

/// Returns the records of a list that name no field twice.
pub(crate) fn alike(mut items: Vec<Json>) -> Vec<Json> {
    let once = |members: &[(String, Json)]| {
        let mut keys: Vec<&String> = members.iter().map(|(key, _)| key).collect();
        keys.sort_unstable();
        keys.is_sorted_by(|a, b| a < b)
    };
    items.retain(|item| matches!(item, Json::Object(members) if once(members)));
    items
}

fn length(dice: &mut Dice) -> usize {
    let max = dice.pick(&[0, 1, 3, 10, 60, 60, 260]);
    dice.within(0, max)
}

/// Generates a list inside objects. The result is always an object.
pub(crate) fn enveloped(dice: &mut Dice) -> String {
    let len = length(dice);
    written(dice, &|dice| {
        if dice.once_in(3) {
            return table(dice, len);
        }
        let items = (0..len).map(|i| record(dice, i)).collect();
        let items = Json::Array(some_alike(dice, items));
        let mut inner = around(dice, "items", items);
        if dice.once_in(2) {
            inner = around(dice, dice_name(len), inner);
        }
        inner
    })
}

fn dice_name(n: usize) -> &'static str {
    ["data", "result", "response", "a/b~c"][n % 4]
}

fn around(dice: &mut Dice, name: &str, inner: Json) -> Json {
    let mut members = vec![(quote(name), inner)];
    for i in 0..dice.below(4) {
        let member = match dice.below(6) {
            0 => ("\"meta\"".into(), object(dice)),
            1 => ("\"nextCursor\"".into(), Json::Text("\"theirs\"".into())),
            2 => (format!("\"note{i}\""), Json::Text(quote(&prose(dice, 40)))),
            _ => (format!("\"count{i}\""), scalar(dice)),
        };
        let at = dice.below(members.len() + 1);
        members.insert(at, member);
    }
    Json::Object(members)
}

fn table(dice: &mut Dice, len: usize) -> Json {
    let width = dice.within(1, 9);
    let names = (0..width).map(|i| Json::Text(format!("\"col{i}\""))).collect();
    let row = |dice: &mut Dice, i: usize| {
        let ragged = i > 16 && dice.once_in(20);
        if ragged && dice.once_in(2) {
            return value(dice, 1);
        }
        let width = if ragged { dice.below(width + 3) } else { width };
        Json::Array((0..width).map(|_| scalar(dice)).collect())
    };
    let rows = Json::Array((0..len).map(|i| row(dice, i)).collect());
    Json::Object(vec![("\"columns\"".into(), Json::Array(names)), ("\"rows\"".into(), rows)])
}

/// Generates one record of a list: similar to the others, but rarely equal.
pub(crate) fn record(dice: &mut Dice, i: usize) -> Json {
    let mut members = vec![("\"id\"".to_owned(), Json::Word(i.to_string()))];
    if dice.once_in(40) {
        return value(dice, 1);
    }
    members.push(("\"name\"".into(), Json::Text(quote(&prose(dice, 1)))));
    members.push(("\"status\"".into(), Json::Text("\"open\"".into())));
    if i % 3 != 1 {
        members.push(("\"price\"".into(), around(dice, "total", Json::Word("12345678901234567890".into()))));
    }
    if dice.once_in(2) {
        members.push(("\"notes\"".into(), Json::Text(quote(&prose(dice, 8)))));
    }
    if dice.once_in(30) {
        members.push(("\"history\"".into(), value(dice, 4)));
    }
    if dice.once_in(60) {
        members.push(("\"id\"".into(), scalar(dice)));
    }
    if dice.once_in(120) {
        let size = dice.pick(&[500, 5_000, 30_000]);
        members.push(("\"body\"".into(), Json::Text(quote(&prose(dice, size / 20)))));
    }
    Json::Object(members)
}

/// Generates a single object.
pub(crate) fn object(dice: &mut Dice) -> Json {
    let mut members = Vec::new();
    for name in ["id", "status", "guest", "dates", "financials", "lines", "text", "nextCursor"] {
        if dice.once_in(2) {
            let depth = dice.below(4);
            members.push((quote(name), value(dice, depth)));
        }
    }
    for i in 0..dice.pick(&[0, 2, 10, 40]) {
        members.push((key(dice, i), value(dice, 3)));
    }
    Json::Object(members)
}

fn key(dice: &mut Dice, i: usize) -> String {
    match dice.below(60) {
        0 => "\"a.b\"".into(),
        1 => "\"\"".into(),
        2 => "\"x/y~z\"".into(),
        3 => "\"\\u00e9\\ud800\"".into(),
        4 => "\"meta\"".into(),
        5 => quote(&prose(dice, 30)),
        6 if dice.once_in(6) => quote(&prose(dice, 1_500)),
        _ => format!("\"key{i}\""),
    }
}

fn value(dice: &mut Dice, depth: usize) -> Json {
    match dice.below(if depth == 0 { 6 } else { 10 }) {
        6 | 7 => Json::Object((0..dice.below(7)).map(|i| (key(dice, i), value(dice, depth - 1))).collect()),
        8 | 9 => Json::Array((0..dice.below(7)).map(|_| value(dice, depth - 1)).collect()),
        _ => scalar(dice),
    }
}

fn scalar(dice: &mut Dice) -> Json {
    let words = ["1e400", "-0", "12345678901234567890", "0.1000", "1E+2", "true", "false", "null", "7"];
    let texts = [
        r#""""#,
        r#""\ud800""#,
        r#""\u00e9\/\n\"""#,
        r#""https://a.b/c""#,
        r#""日本語。テキスト""#,
        r#""x""#,
    ];
    if dice.once_in(3) {
        return Json::Word(dice.pick(&words).into());
    }
    match dice.below(3) {
        0 => Json::Text(dice.pick(&texts).into()),
        1 => Json::Text(quote(&prose(dice, 3))),
        _ if dice.once_in(10) => {
            let words = dice.pick(&[40, 40, 400]);
            Json::Text(quote(&prose(dice, words)))
        }
        _ if dice.once_in(10) => Json::Text(quote(&"aGVsbG8gd29ybGQ9".repeat(60))),
        _ => Json::Word(dice.below(100_000).to_string()),
    }
}

/// Writes a value in one of the usual JSON layouts.
fn written(dice: &mut Dice, make: &dyn Fn(&mut Dice) -> Json) -> String {
    let json = make(dice);
    let style = dice.below(4);
    let mut out = String::new();
    let mut space = |place: u8| match (style, place) {
        (2, b',' | b':') => " ",
        (0..=2, _) => "",
        (_, b' ') => dice.pick(&["", "", " ", "\t"]),
        (_, b':') => " ",
        _ => "\n    ",
    };
    json.write(&mut out, &mut space);
    if style == 3 { format!("\n{out}\r\n ") } else { out }
}

/// Generates unusual and invalid payloads.
fn odd(dice: &mut Dice) -> String {
    match dice.below(9) {
        0 => {
            let depth = dice.pick(&[10, 200, 9_000]);
            format!("{}1{}", "[".repeat(depth), "]".repeat(depth))
        }
        1 => {
            let depth = dice.pick(&[10, 200, 3_000]);
            format!("{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth))
        }
        2 => format!("{{\"a\":{}", "[1,2,".repeat(dice.below(400))),
        3 => format!("[\"{}\"]", "x".repeat(dice.pick(&[10, 5_000, 20_000]))),
        4 => format!("{{\"{}\":[1,2,\"a\"]}}", "k".repeat(dice.pick(&[10, 5_000, 20_000]))),
        5 => quote(&prose(dice, 800)),
        6 => String::new(),
        7 => (0..dice.below(900)).fold("[".to_owned(), |all, i| all + if i > 0 { ",0" } else { "0" }) + "]",
        _ => {
            let names: Vec<String> = (0..600).map(|i| format!("\"c{i}\"")).collect();
            let row = format!("[{}]", vec!["1"; 600].join(","));
            format!("{{\"columns\":[{}],\"rows\":[{row},{row}]}}", names.join(","))
        }
    }
}

/// Generates text of some kind.
pub(crate) fn text(dice: &mut Dice) -> String {
    let len = dice.pick(&[0, 2, 30, 300, 600]);
    let mut out = String::new();
    let kind = dice.below(5);
    for i in 0..len {
        match kind {
            0 => {
                let _ =
                    writeln!(out, "2024-05-01 10:{:02}:{:02} INFO {}", i / 60 % 60, i % 60, prose(dice, 1));
                if dice.once_in(12) {
                    out.push_str(&"\tat a.b.C(D.java:1)\n".repeat(dice.below(20)));
                }
            }
            1 => out.push_str(&(prose(dice, 4) + dice.pick(&["\n", "\n\n", " "]))),
            2 if dice.once_in(9) => {
                let _ = write!(out, "\n## Heading {i}\n\n");
            }
            2 => out.push_str(&(prose(dice, 3) + dice.pick(&["\n", "\n\n", "\n```\ncode\n```\n"]))),
            3 => {
                let code = dice.below(0x11_0000) as u32;
                out.push(char::from_u32(if dice.once_in(2) { code % 0x300 } else { code }).unwrap_or('\n'));
            }
            _ => out.push_str(
                dice.pick(&["\r\n", "a", " ", "\u{0}", "🇩🇪", "e\u{301}", "\"", "\\", "{}", "x,y\n"]),
            ),
        }
    }
    out
}

/// Generates prose with this many clauses.
pub(crate) fn prose(dice: &mut Dice, clauses: usize) -> String {
    const CLAUSES: [&str; 8] = [
        "The guest asked for a quiet room. ",
        "Nothing was refunded, ",
        "and the balance stays open until Friday! ",
        "Prüfung läuft; ",
        "予約は確認済みです。",
        "zz9-plural-z-alpha ",
        "Is that \"all\"? ",
        "Line\nfeed\tand tab ",
    ];
    (0..clauses).map(|_| dice.pick(&CLAUSES)).collect()
}
