//! Splits a batch that may not be valid, so that each request that it answers can be answered in its place.

use memchr::memchr2;

use super::{BYTE_ORDER_MARK, scan_ids};

/// Yields the ids of each member of a line that may be a response, the last id first. Of several ids, the last that is
/// pending counts. The line is read as [`batch_members`] reads it.
pub(crate) fn response_ids(line: &[u8]) -> impl Iterator<Item = Vec<Box<str>>> {
    batch_members(line).filter_map(|member| match scan_ids(member) {
        (mut ids, false) => {
            ids.reverse();
            Some(ids)
        }
        _ => None,
    })
}

/// Yields the objects of a line that is an array, or the line itself if it is not. Text that is not JSON is read as far as
/// possible, in time proportional to the line.
pub(super) fn batch_members(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    let content = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line).trim_ascii_start();
    let items = content.strip_prefix(b"[");
    let mut rest = items.unwrap_or_default();
    let single = if items.is_none() { Some(line) } else { None };
    single.into_iter().chain(std::iter::from_fn(move || next_object(&mut rest)))
}

/// Returns the next object among the items of an array, and removes it with all before it.
fn next_object<'l>(items: &mut &'l [u8]) -> Option<&'l [u8]> {
    loop {
        let text = *items;
        let start = text.iter().position(|byte| matches!(byte, b'{' | b'[' | b'"' | b']'))?;
        let value = &text[start..];
        if value[0] == b']' {
            return None;
        }
        let (value, after) = value.split_at(value_len(value));
        *items = after;
        if value[0] == b'{' {
            return Some(value);
        }
    }
}

/// Returns the length of the string, object or array at the start of a text. One that is cut off ends with the text.
fn value_len(text: &[u8]) -> usize {
    let (mut at, mut depth) = (0, 0_usize);
    while let Some(byte) = text.get(at) {
        at += if *byte == b'"' { string_len(&text[at..]) } else { 1 };
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

/// Returns the length of the string at the start of a text, with its quotes.
fn string_len(text: &[u8]) -> usize {
    let mut at = 1;
    while let Some(len) = memchr2(b'"', b'\\', &text[at..]) {
        at += len;
        if text[at] == b'"' {
            return at + 1;
        }
        at = (at + 2).min(text.len());
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{batch_members, response_ids};

    fn check(line: &str, expect: &[&str]) {
        let members: Vec<_> = batch_members(line.as_bytes()).map(String::from_utf8_lossy).collect();
        assert_eq!(members, expect, "{line}");
    }

    #[test]
    fn a_line_that_is_no_array_is_its_only_member() {
        for line in ["", "{}", r#"{"a":[{"b":1}]}"#, "garbage [{}]", "\u{feff}{}", "7"] {
            check(line, &[line]);
        }
    }

    #[test]
    fn members_without_a_method_are_responses_by_their_ids() {
        let check_ids = |line: &str, expect: &[&[&str]]| {
            let ids: Vec<Vec<String>> = response_ids(line.as_bytes())
                .map(|ids| ids.iter().map(ToString::to_string).collect())
                .collect();
            assert_eq!(ids, expect, "{line}");
        };
        check_ids("garbage", &[&[]]);
        check_ids("[]", &[]);
        check_ids(r#"{"id":7,"method":"ping"}"#, &[]);
        check_ids(r#"{"id":1,"result":NaN,"id":"b"}"#, &[&["\"b\"", "1"]]);
        check_ids(r#"[{"id":1},{"id":2,"method":"ping"},{"id":3,"id":4},5]"#, &[&["1"], &["4", "3"]]);
    }

    #[test]
    fn objects_of_arrays_are_members() {
        check("[]", &[]);
        check("[{}]", &["{}"]);
        check(r#" [ {"a":1} , 5, {"b":[{"c":{}}]},null ] "#, &[r#"{"a":1}"#, r#"{"b":[{"c":{}}]}"#]);
        check("\u{feff}[{\"a\":1}]", &["{\"a\":1}"]);
        // Brackets in strings and in other arrays do not count.
        check(r#"["{", "\"{", [{"a":1}], {"a":"}\"]\\"},{}]"#, &[r#"{"a":"}\"]\\"}"#, "{}"]);
        check(r#"[{"a":1}] {"b":1}"#, &[r#"{"a":1}"#]);
    }

    #[test]
    fn arrays_that_are_not_json_are_read_as_far_as_possible() {
        check(r#"[{"a":NaN},{"b":1}"#, &[r#"{"a":NaN}"#, r#"{"b":1}"#]);
        check(r#"[{"a":1}{"b":{"#, &[r#"{"a":1}"#, r#"{"b":{"#]);
        check(r#"[{"a":"x"#, &[r#"{"a":"x"#]);
        check(r#"[{"a":"x\"#, &[r#"{"a":"x\"#]);
        check(r#"["x\"#, &[]);
        check("[}{}", &["{}"]);
        check("[", &[]);
    }

    #[test]
    fn deep_and_long_lines_need_no_stack() {
        let deep = "[".repeat(1_000_000);
        assert_eq!(batch_members(deep.as_bytes()).count(), 0);
        let long = format!("[{}", "{},".repeat(300_000));
        assert_eq!(batch_members(long.as_bytes()).count(), 300_000);
        let cut = format!("[{}", "{".repeat(1_000_000));
        assert_eq!(batch_members(cut.as_bytes()).count(), 1);
    }

    proptest! {
        #[test]
        fn members_of_a_batch_are_found(
            texts in prop::collection::vec("[ -~é]{0,12}", 0..8), gap in prop::sample::select(vec![",", " , ", ",5,", ",\"{\","]),
        ) {
            let objects: Vec<String> =
                texts.iter().map(|text| serde_json::json!({ "a": text, "b": [{ "c": text }] }).to_string()).collect();
            let line = format!("[{}]", objects.join(gap));
            let members: Vec<_> = batch_members(line.as_bytes()).map(String::from_utf8_lossy).collect();
            prop_assert_eq!(members, objects);
        }

        #[test]
        fn members_are_parts_of_the_line(line in prop::collection::vec(prop::sample::select(b"[]{}\",\\a".to_vec()), 0..60)) {
            let members: Vec<&[u8]> = batch_members(&line).collect();
            prop_assert!(members.iter().map(|member| member.len()).sum::<usize>() <= line.len());
            let is_batch = line.trim_ascii_start().starts_with(b"[");
            let are_objects = members.iter().all(|member| member.starts_with(b"{"));
            prop_assert!(!is_batch || are_objects);
        }
    }
}
