//! Takes out of a server's message what it puts under our prefix in `_meta`, wherever that stands.
//!
//! `structuredContent` is a payload and keeps its bytes. The `_meta` of a result is left to whoever serves the result.

use memchr::memmem;
use portion_core::scan::{JsonKind, JsonReader, unescape};
use portion_core::span::Span;

use super::splice::Splice;
use super::walk::{self, Sequence};

/// Under this prefix `_meta` is ours.
pub(super) const RESERVED_PREFIX: &str = "io.portion/";

/// The message without what it says in our name; `None` where it says nothing. The text is valid JSON.
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

/// Takes our members out of a `_meta` object.
pub(super) fn strip_reserved_members(text: &str, meta: Span, splice: &mut Splice<'_>) {
    let members = walk::members(text, meta);
    let is_ours = |i: usize| unescape(members[i].key.slice(text)).starts_with(RESERVED_PREFIX);
    if (0..members.len()).any(is_ours) {
        let items = members.iter().map(|member| member.span()).collect();
        splice.edit_sequence(&Sequence { span: meta, items }, |i| !is_ours(i), &[]);
    }
}

/// Whether our prefix can be in a text: as it is, or with a letter of it, or of `_meta`, escaped, which nobody needs to do.
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

/// Objects that are the value of a `_meta`, but for that of the message's own result. One pass: depth costs neither stack nor
/// time.
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
        // On to the next value that is looked into.
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

/// What an object or array is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Enclosing {
    /// The message, or a batch of messages.
    Message,
    /// The result of a message.
    Result,
    /// Anything else.
    Other,
}

#[cfg(test)]
mod tests {
    use super::strip_reserved;

    fn check(text: &str, expect: Option<&str>) {
        assert_eq!(strip_reserved(text).as_deref(), expect, "{text}");
    }

    #[test]
    fn takes_our_prefix_out_wherever_it_stands() {
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
    fn leaves_payloads_and_the_result_alone() {
        check(r#"{"result":{"_meta":{"io.portion/notice":1}}}"#, None);
        check(r#"{"result":{"structuredContent":{"_meta":{"io.portion/notice":1}}}}"#, None);
        check(
            r#"{"result":{"result":{"_meta":{"io.portion/notice":1}}}}"#,
            Some(r#"{"result":{"result":{"_meta":{}}}}"#),
        );
    }

    #[test]
    fn depth_costs_no_stack_and_little_time() {
        let (open, shut) = ("[".repeat(200_000), "]".repeat(200_000));
        let deep = format!(r#"{{"a":{open}{{"_meta":{{"io.portion/a":1}}}}{shut}}}"#);
        assert!(strip_reserved(&deep).is_some_and(|text| !text.contains("io.portion")));
    }
}
