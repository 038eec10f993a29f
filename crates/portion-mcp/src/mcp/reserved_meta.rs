//! Removes members with the reserved prefix from the `_meta` objects of a server's message.
//!
//! `structuredContent` is a payload and keeps its bytes. The `_meta` of a result is handled by the code that
//! shapes the result.

use memchr::memmem;
use portion_json::scan::{JsonKind, JsonReader, unescape};
use portion_json::span::Span;

use super::walk::{self, Member, Splice};

/// Prefix of `_meta` keys that only the gateway writes.
pub(super) const RESERVED_PREFIX: &str = "io.portion/";

/// Returns the message without reserved members; `None` if it has none. The text must be valid JSON.
pub(super) fn strip_reserved(text: &str) -> Option<String> {
    if !may_contain_prefix(text.as_bytes()) {
        return None;
    }
    let mut splice = Splice::new(text);
    for meta in find_meta_objects(text) {
        strip_reserved_members(text, meta, &mut splice);
    }
    (!splice.is_empty()).then(|| splice.apply())
}

/// Removes the reserved members of the `_meta` of a result that is not parsed further.
pub(super) fn strip_reserved_of_result(text: &str, result: Span, splice: &mut Splice<'_>) {
    if let Some(meta) = walk::member_value(text, result, "_meta") {
        strip_reserved_members(text, meta, splice);
    }
}

/// Removes the reserved members of a `_meta` object.
pub(super) fn strip_reserved_members(text: &str, meta: Span, splice: &mut Splice<'_>) {
    let members = walk::members(text, meta);
    let is_theirs = |member: &Member| !unescape(member.key.slice(text)).starts_with(RESERVED_PREFIX);
    splice.retain_members(meta, &members, is_theirs);
}

/// Returns true if the text may contain the prefix: literally, or with an escaped letter of it or of `_meta`.
fn may_contain_prefix(text: &[u8]) -> bool {
    const LETTERS: &[u8] = b"_metaio.portion/";
    if memmem::find(text, b"io.portion").is_some() {
        return true;
    }
    memmem::find_iter(text, b"\\u00").any(|at| {
        let digits = text.get(at + 4..at + 6).and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        byte.is_some_and(|byte| LETTERS.contains(&byte))
    })
}

/// Finds the objects that are values of a `_meta`, except that of the message's own result. One pass: nesting
/// costs neither stack nor quadratic time.
fn find_meta_objects(text: &str) -> Vec<Span> {
    let (mut found, mut open) = (Vec::new(), Vec::new());
    let mut reader = JsonReader::new(text);
    let mut around = Enclosing::Message;
    loop {
        let entered = match reader.peek() {
            Ok(kind @ JsonKind::Object) => reader.enter_object().map(|()| open.push((kind, around))),
            Ok(kind @ JsonKind::Array) => reader.enter_array().map(|()| open.push((kind, around))),
            Ok(_) => reader.skip().map(drop),
            Err(error) => Err(error),
        };
        if entered.is_err() {
            return found;
        }
        // Advances to the next value to inspect.
        loop {
            let Some((kind, inside)) = open.last().copied() else { return found };
            let next = if kind == JsonKind::Object {
                reader.next_key().map(|key| key.map(|key| (key, inside)))
            } else {
                reader.next_item().map(|more| more.then_some((Span::default(), inside)))
            };
            let Ok(next) = next else { return found };
            let Some((key, inside)) = next else {
                open.pop();
                continue;
            };
            let name = |name: &str| kind == JsonKind::Object && walk::string_equals(key.slice(text), name);
            let is_meta = name("_meta") && reader.peek().is_ok_and(|kind| kind == JsonKind::Object);
            if is_meta || name("structuredContent") {
                let Ok(value) = reader.skip() else { return found };
                if is_meta && inside != Enclosing::Result {
                    found.push(value);
                }
                continue;
            }
            around = match inside {
                Enclosing::Message if kind == JsonKind::Array => Enclosing::Message,
                Enclosing::Message if name("result") => Enclosing::Result,
                _ => Enclosing::Other,
            };
            break;
        }
    }
}

/// Container that encloses a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Enclosing {
    /// The message, or a batch of messages.
    Message,
    /// The result of a message.
    Result,
    /// Any other container.
    Other,
}

#[cfg(test)]
mod tests {
    use super::strip_reserved;

    fn check(text: &str, expect: Option<&str>) {
        assert_eq!(strip_reserved(text).as_deref(), expect, "{text}");
    }

    #[test]
    fn removes_reserved_members_at_any_depth() {
        check(r#"{"result":{"content":[{"_meta":{"a":1}}]}}"#, None);
        check(r#"{"a":{"io.portion/notice":1}}"#, None);
        check(r#"{"a":[{"_meta":{"io.portion/notice":1}}]}"#, Some(r#"{"a":[{"_meta":{}}]}"#));
        check(
            r#"[{"params":{"_meta":{"a":1,"\u0069o.portion\/x":{"b":2},"c":3}}}]"#,
            Some(r#"[{"params":{"_meta":{"a":1,"c":3}}}]"#),
        );
        check(r#"{"params":{"\u005fmeta":{"io.portion/x":1}}}"#, Some(r#"{"params":{"\u005fmeta":{}}}"#));
    }

    #[test]
    fn keeps_payloads_and_the_meta_of_the_result() {
        check(r#"{"result":{"_meta":{"io.portion/notice":1}}}"#, None);
        check(r#"{"result":{"structuredContent":{"_meta":{"io.portion/notice":1}}}}"#, None);
        check(
            r#"{"result":{"result":{"_meta":{"io.portion/notice":1}}}}"#,
            Some(r#"{"result":{"result":{"_meta":{}}}}"#),
        );
    }

    #[test]
    fn nesting_costs_no_stack_and_little_time() {
        let (open, shut) = ("[".repeat(200_000), "]".repeat(200_000));
        let deep = format!(r#"{{"a":{open}{{"_meta":{{"io.portion/a":1}}}}{shut}}}"#);
        assert!(strip_reserved(&deep).is_some_and(|text| !text.contains("io.portion")));
    }
}
