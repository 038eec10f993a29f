//! Reads JSON values that follow each other over several lines, as jq and mongosh print them, or in fences of Markdown.
//!
//! Arrays that have words of their own, such as the names of files, are members under these words. Words between objects are objects,
//! too.

use portion_json::containers::members;
use portion_json::scan::{JsonKind, JsonReader, quote};
use portion_json::span::Span;

/// Share of a text that values take, in percent.
const MIN_PERCENT: usize = 90;
/// Brackets of words between the values.
const MAX_FAILURES: usize = 4;

/// Reads a text of objects whose first name is the same, or of arrays, which become one.
pub(super) fn read(text: &str) -> Option<(Span, String)> {
    let (mut values, mut at, mut failures) = (Vec::<Span>::new(), 0, 0);
    while let Some(start) = text[at..].find(['{', '[']).map(|place| at + place) {
        if let Ok(value) = JsonReader::resume(text, start).skip() {
            at = value.end as usize;
            values.push(value);
        } else {
            at = start + 1;
            failures += 1;
            // JSON that is cut off has no end.
            let is_word = text[at..].trim_start().starts_with(char::is_alphabetic);
            (is_word && failures <= MAX_FAILURES).then_some(())?;
        }
    }
    let first = *values.first().filter(|_| values.len() > 1)?;
    let (kind, sum) =
        (JsonKind::of_value(first.slice(text)), values.iter().map(|value| value.len()).sum::<usize>());
    let name = |value: &Span| members(text, *value).next().map(|member| member.key.slice(text));
    let holds_objects =
        |value: &Span| matches!(value.slice(text)[1..].trim_start().as_bytes().first(), Some(b'{' | b']'));
    let is_alike = |value: &Span| match JsonKind::of_value(value.slice(text)) {
        JsonKind::Array => kind == JsonKind::Array && holds_objects(value),
        _ => kind == JsonKind::Object && name(value) == name(&first),
    };
    let is_apart =
        values.windows(2).all(|pair| text[pair[0].end as usize..pair[1].start as usize].contains('\n'));
    if sum * 100 < text.trim().len() * MIN_PERCENT || !is_apart || !values.iter().all(is_alike) {
        return None;
    }
    let words = words_before(text, &values);
    let span = Span::new(first.start as usize, values.last()?.end as usize);
    if words[1..].iter().all(Vec::is_empty) {
        let inside = |value: &Span| match kind {
            JsonKind::Array => value.slice(text)[1..value.len() - 1].trim(),
            _ => value.slice(text),
        };
        let items: Vec<&str> = values.iter().map(inside).filter(|items| !items.is_empty()).collect();
        return Some((span, format!("[{}]", items.join(","))));
    }
    if kind == JsonKind::Array {
        let mut names: Vec<&str> = words.iter().flatten().copied().collect();
        names.sort_unstable();
        let is_named =
            words.iter().all(|words| !words.is_empty()) && names.windows(2).all(|pair| pair[0] != pair[1]);
        let mut members: Vec<String> = Vec::new();
        for (words, value) in words.iter().zip(&values).filter(|_| is_named) {
            let (name, notes) = words.split_last()?;
            members.extend(notes.iter().map(|note| format!("{}:null", quote(note))));
            members.push(format!("{}:{}", quote(name.trim_end_matches(':')), value.slice(text)));
        }
        return is_named.then(|| (span, format!("{{{}}}", members.join(","))));
    }
    let mut items: Vec<String> = Vec::new();
    for (at, value) in values.iter().enumerate() {
        let notes = words[at].iter().filter(|_| at > 0);
        items.extend(notes.map(|note| format!("{{\"text\":{}}}", quote(note))));
        items.push(value.slice(text).to_owned());
    }
    Some((span, format!("[{}]", items.join(","))))
}

/// Returns the lines of words before each value. Fences are none.
fn words_before<'a>(text: &'a str, values: &[Span]) -> Vec<Vec<&'a str>> {
    let starts = std::iter::once(0).chain(values.iter().map(|value| value.end as usize));
    let is_word = |line: &&str| line.contains(char::is_alphanumeric) && !line.starts_with("```");
    let words = |(from, value): (usize, &Span)| {
        text[from..value.start as usize].lines().map(str::trim).filter(is_word).collect()
    };
    starts.zip(values).map(words).collect()
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn values_become_one_list() {
        let check = |text: &str, json: Option<&str>| {
            assert_eq!(read(text).map(|(_, json)| json).as_deref(), json, "{text}");
        };
        check("{\n  \"a\": 1\n}\n{\n  \"a\": null\n}\n", Some("[{\n  \"a\": 1\n},{\n  \"a\": null\n}]"));
        let open = format!("[{{\"id\":1,\"text\":\"{}\"}}]", "x".repeat(300));
        let both = format!("## Open\n\n```json\n{open}\n```\n\n```json\n[{{\"id\":2}}]\n```\n");
        check(&both, Some(&format!("{},{{\"id\":2}}]", &open[..open.len() - 1])));
        check("{\"a\": 1}\n{\"b\": 2}\n", None);
        check("{\"a\": 1} {\"a\": 2}", None);
        // Words between the values are kept.
        let b = "x".repeat(300);
        let files =
            format!("a.json:\n[{{\"b\":\"{b}\"}}]\n---\nc.json: Error\n---\nd.json:\n[{{\"b\":\"{b}\"}}]\n");
        let named = format!(
            "{{\"a.json\":[{{\"b\":\"{b}\"}}],\"c.json: Error\":null,\"d.json\":[{{\"b\":\"{b}\"}}]}}"
        );
        check(&files, Some(&named));
        let line = format!("{{\"b\":\"{b}\"}}");
        check(
            &format!("{line}\nplain words\n{line}\n"),
            Some(&format!("[{line},{{\"text\":\"plain words\"}},{line}]")),
        );
        check("{\"a\": 1}\n[1]\n", None);
        check("[1, 2]\nand\n[3, 4]\n", None);
        check("{\n\"a\": 1\n}\n", None);
        check(&"[".repeat(10_000), None);
        check("{\"items\": [\n{\"a\": 1},\n{\"a\": 2},\n{\"a\": 3},\n{\"a\":", None);
    }
}
