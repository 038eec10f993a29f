//! Limits the size of members outside payloads, and redacts them: members of a message, of its params, of a task.
//!
//! Small members keep their bytes. Long strings in larger members are shortened. Values that stay large are refused, or replaced
//! by marks of the same kind, because clients may expect an object or an array. Redaction rules apply here too, by the names of
//! the members. Members with the reserved prefix are removed from the `_meta` objects of a server's message.
//!
//! `structuredContent` is a payload and keeps its bytes. The `_meta` of a result is handled by the code that
//! shapes the result.

use memchr::memmem;
use portion_core::redact::RedactionRules;
use portion_json::scan::{JsonKind, JsonReader, quote, unescape};
use portion_json::span::Span;

use super::walk::{self, Member, Splice, StringPlace, visit_strings};

/// Largest member, in bytes, in which nothing is shortened.
const SMALL_MEMBER_BYTES: usize = 1024;

/// Characters kept of a shortened string.
const TRUNCATED_CHARS: usize = 300;

/// Prefix of `_meta` keys that only the gateway writes.
pub(super) const RESERVED_PREFIX: &str = "io.portion/";

/// Limits and redaction rules for members.
#[derive(Clone, Copy)]
pub(super) struct MemberLimiter<'a> {
    /// Largest total size, in bytes.
    pub max_bytes: usize,
    /// Redaction rules, if any.
    pub redact: Option<&'a RedactionRules>,
    /// Treatment of members that stay large.
    pub excess: Excess,
}

/// Treatment of members that are too large even when their strings are shortened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Excess {
    /// Marks replace their values.
    Mark,
    /// The members are [`LimitOutcome::TooLarge`] together.
    Refuse,
}

/// Result of limiting members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LimitOutcome {
    /// The members fit, redacted or not.
    Fits,
    /// Some members were shortened, or replaced by marks, by this many bytes.
    Shortened(usize),
    /// Too large even so. Nothing was changed.
    TooLarge,
}

impl MemberLimiter<'_> {
    /// Limits the total size of these members.
    pub(super) fn limit_members(
        self,
        text: &str,
        members: &[Member],
        splice: &mut Splice<'_>,
    ) -> LimitOutcome {
        // Each includes its comma.
        let whole: usize = members.iter().map(|member| member.span().len() + 1).sum();
        let is_large = whole > self.max_bytes;
        let (mut remaining, mut cut) = (self.max_bytes, 0);
        let mut edits = Vec::new();
        for member in members {
            let span = member.span();
            let limited = self.limit_member(text, *member, is_large).map(without_reserved);
            let len = limited.as_ref().map_or(span.len(), String::len);
            // Smaller members exceed the limit only by their number.
            let is_marked = self.excess == Excess::Mark && len >= remaining && len >= SMALL_MEMBER_BYTES;
            let replacement = if is_marked { Some(self.mark(text, *member)) } else { limited };
            let len = replacement.as_ref().map_or(span.len(), String::len);
            let Some(rest) = remaining.checked_sub(len + 1) else { return LimitOutcome::TooLarge };
            remaining = rest;
            if is_large || is_marked {
                cut += span.len().saturating_sub(len);
            }
            edits.extend(replacement.map(|replacement| (span, replacement)));
        }
        for (place, replacement) in edits {
            splice.replace(place, replacement);
        }
        if cut > 0 { LimitOutcome::Shortened(cut) } else { LimitOutcome::Fits }
    }

    /// Returns the replacement of a member; `None` if it stays as it is.
    fn limit_member(self, text: &str, member: Member, is_large: bool) -> Option<String> {
        let hidden = self.redact.and_then(|redact| redact_member(redact, text, member));
        if !is_large || hidden.as_ref().map_or(member.span().len(), String::len) <= SMALL_MEMBER_BYTES {
            return hidden;
        }
        let json = format!("{{{}}}", hidden.as_deref().unwrap_or(member.span().slice(text)));
        let shortened = truncate_strings(&json);
        shortened.map(|json| json[1..json.len() - 1].to_owned()).or(hidden)
    }

    /// Returns the member with a mark in place of its value. A long name is shortened.
    fn mark(self, text: &str, member: Member) -> String {
        let mut name = unescape(member.key.slice(text));
        if let Some(redacted) = self.redact.and_then(|redact| redact.redact_name(&name)) {
            name = redacted;
        }
        if name.len() > SMALL_MEMBER_BYTES
            && let Some(shortened) = truncate(&name)
        {
            name = shortened;
        }
        let left_out = member.value.slice(text).chars().count();
        let mark = match walk::kind(text, member.value) {
            JsonKind::Object => format!("{{\"…\":\"[+{left_out} chars]\"}}"),
            JsonKind::Array => format!("[\"… [+{left_out} chars]\"]"),
            _ => format!("\"… [+{left_out} chars]\""),
        };
        format!("{}:{mark}", quote(&name))
    }
}

/// Removes the reserved members of a replaced member, to which the other edits of the message do not apply.
fn without_reserved(member: String) -> String {
    let json = format!("{{{member}}}");
    strip_reserved(&json).map_or(member, |json| json[1..json.len() - 1].to_owned())
}

/// Shortens the long strings of a JSON text; `None` if there are none.
fn truncate_strings(json: &str) -> Option<String> {
    let mut splice = Splice::new(json);
    visit_strings(json, |place, value| {
        if matches!(place, StringPlace::Value(_))
            && value.len() > SMALL_MEMBER_BYTES
            && let Some(replacement) = truncate(&unescape(value.slice(json)))
        {
            splice.replace(value, quote(&replacement));
        }
    });
    (!splice.is_empty()).then(|| splice.apply())
}

/// Shortens a text; `None` if it is short enough.
pub(super) fn truncate(text: &str) -> Option<String> {
    let (end, _) = text.char_indices().nth(TRUNCATED_CHARS)?;
    let left_out = text[end..].chars().count();
    Some(format!("{} … [+{left_out} chars]", &text[..end]))
}

/// Returns the size in bytes without the base64 of images and audio that are within the limit.
pub(super) fn non_media_bytes(json: &str, media_limit: usize) -> usize {
    let mut media = 0;
    let base64 = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'-' | b'_');
    visit_strings(json, |place, value| {
        let inside = value.slice(json).trim_matches('"').as_bytes();
        if matches!(place, StringPlace::Value("data" | "blob"))
            && value.len() > SMALL_MEMBER_BYTES
            && inside.len() / 4 * 3 <= media_limit
            && inside.iter().all(base64)
        {
            media += inside.len();
        }
    });
    json.len().saturating_sub(media)
}

/// Members of server requests that a model or a person reads.
const TEXT_MEMBERS: [&str; 5] = ["text", "message", "systemPrompt", "title", "description"];

/// Returns the member with redacted values and names; `None` if nothing is redacted.
pub(super) fn redact_member(redact: &RedactionRules, text: &str, member: Member) -> Option<String> {
    let (json, _) = redact.redact_json(&format!("{{{}}}", member.span().slice(text)))?;
    if json.trim() == "{}" {
        // A removed value keeps its name, because the neighbours have commas between them.
        let key = member.key.slice(text);
        let name = redact.redact_name(&unescape(key)).map_or_else(|| key.to_owned(), |name| quote(&name));
        return Some(format!("{name}:null"));
    }
    Some(json[1..json.len() - 1].to_owned())
}

/// Redacts the params of a request to the client: the texts, the metadata, and the defaults of a form. All else stays, because
/// the client must understand it. Returns `None` if nothing changes.
pub(super) fn redact_request(redact: &RedactionRules, params: &str) -> Option<String> {
    let mut splice = Splice::new(params);
    visit_strings(params, |place, value| {
        if let StringPlace::Value(key) = place
            && TEXT_MEMBERS.contains(&key)
            && let Some((replacement, _)) = redact.redact(&unescape(value.slice(params)))
        {
            splice.replace(value, quote(&replacement));
        }
    });
    let members = walk::members(params, walk::document_span(params));
    let metadata = walk::find_member(params, &members, "metadata");
    let meta = walk::find_member(params, &members, "_meta");
    let of_meta = meta.map(|meta| walk::members_except(params, meta.value, &["progressToken"]));
    let metadata: Vec<Member> = metadata.into_iter().chain(of_meta.unwrap_or_default()).collect();
    redact_members(redact, params, &metadata, &mut splice);
    let form = walk::find_member(params, &members, "requestedSchema");
    let fields = form.and_then(|form| walk::member_value(params, form.value, "properties"));
    for field in fields.map(|fields| walk::members(params, fields)).unwrap_or_default() {
        let keywords = walk::members(params, field.value);
        let is_hidden = |keyword: &Member| {
            let given = || format!("{{{}:{}}}", field.key.slice(params), keyword.value.slice(params));
            walk::string_equals(keyword.key.slice(params), "default")
                && redact.redact_json(&given()).is_some()
        };
        splice.retain_members(field.value, &keywords, |keyword| !is_hidden(keyword));
    }
    (!splice.is_empty()).then(|| splice.apply())
}

/// Redacts a result that asks the client for something, or is the handle of a task. What the client has to return stays as it
/// is. Returns `None` if nothing changes.
pub(super) fn redact_client_action(redact: &RedactionRules, json: &str) -> Option<String> {
    let mut splice = Splice::new(json);
    let result = walk::document_span(json);
    let mut members = walk::members_except(json, result, &["resultType", "requestState", "taskId"]);
    members.retain(|member| match &*unescape(member.key.slice(json)) {
        "inputRequests" => {
            for request in walk::members(json, member.value) {
                let params = walk::member_value(json, request.value, "params");
                let redacted = params.and_then(|params| redact_request(redact, params.slice(json)));
                if let (Some(params), Some(redacted)) = (params, redacted) {
                    splice.replace(params, redacted);
                }
            }
            false
        }
        "task" | "_meta" => {
            let others = walk::members_except(json, member.value, &["taskId"]);
            redact_members(redact, json, &others, &mut splice);
            false
        }
        _ => true,
    });
    redact_members(redact, json, &members, &mut splice);
    (!splice.is_empty()).then(|| splice.apply())
}

pub(super) fn redact_members(
    redact: &RedactionRules,
    text: &str,
    members: &[Member],
    splice: &mut Splice<'_>,
) {
    for member in members {
        if let Some(redacted) = redact_member(redact, text, *member) {
            splice.replace(member.span(), redacted);
        }
    }
}

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
fn strip_reserved_members(text: &str, meta: Span, splice: &mut Splice<'_>) {
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
    use portion_core::redact::RedactionRules;

    use super::super::walk::{self, Splice};
    use super::{Excess, LimitOutcome, MemberLimiter, non_media_bytes};

    fn check(json: &str, max: usize, expect: LimitOutcome, becomes: &str) {
        check_excess(Excess::Mark, json, max, expect, becomes);
    }

    fn check_excess(excess: Excess, json: &str, max: usize, expect: LimitOutcome, becomes: &str) {
        let redact = RedactionRules::default_secrets();
        let bound = MemberLimiter { max_bytes: max, redact: Some(&redact), excess };
        let mut splice = Splice::new(json);
        let members = walk::members_except(json, walk::document_span(json), &["kept"]);
        assert_eq!(bound.limit_members(json, &members, &mut splice), expect, "{json}");
        if expect != LimitOutcome::TooLarge {
            assert_eq!(splice.apply(), becomes);
        }
    }

    #[test]
    fn small_members_keep_their_bytes() {
        for json in ["{}", r#"{ "a" : [1, 2], "b":"\u0041" }"#] {
            check(json, 100, LimitOutcome::Fits, json);
        }
        let kept = format!(r#"{{"kept":"{}","a":1}}"#, "x".repeat(9_000));
        check(&kept, 100, LimitOutcome::Fits, &kept);
    }

    #[test]
    fn large_members_are_shortened_or_marked() {
        let long = "é".repeat(2_000);
        let cut = format!("{} … [+1700 chars]", "é".repeat(300));
        check(
            &format!(r#"{{"a":1,"b":"{long}"}}"#),
            2_000,
            LimitOutcome::Shortened(format!(r#""b":"{long}""#).len() - format!(r#""b":"{cut}""#).len()),
            &format!(r#"{{"a":1,"b":"{cut}"}}"#),
        );
        let ones = vec!["1"; 5_000].join(",");
        for (value, mark) in [
            (format!("[{ones}]"), r#"["… [+10001 chars]"]"#),
            (format!(r#"{{"é":[{ones}]}}"#), r#"{"…":"[+10007 chars]"}"#),
            ("1".repeat(5_000), r#""… [+5000 chars]""#),
        ] {
            check(
                &format!(r#"{{"m":{value},"a":1}}"#),
                2_000,
                LimitOutcome::Shortened(value.len() - mark.len()),
                &format!(r#"{{"m":{mark},"a":1}}"#),
            );
            let alone = format!(r#"{{"m":{value}}}"#);
            check_excess(Excess::Refuse, &alone, 2_000, LimitOutcome::TooLarge, "");
        }
        let small: Vec<String> = (0..1_000).map(|i| format!(r#""{i}":1"#)).collect();
        check(&format!("{{{}}}", small.join(",")), 2_000, LimitOutcome::TooLarge, "");
    }

    #[test]
    fn members_are_redacted() {
        check(
            r#"{"password":"x","pin":123,"a":{"token":"y"},"t":"password=z"}"#,
            1_000,
            LimitOutcome::Fits,
            r#"{"password":"[redacted]","pin":null,"a":{"token":"[redacted]"},"t":"password=[redacted]"}"#,
        );
    }

    #[test]
    fn names_are_redacted() {
        check(
            r#"{"password=hunter2":1234,"a":{"x token: hunter2":[{"password=hunter2":"b"}]},"password":"x"}"#,
            1_000,
            LimitOutcome::Fits,
            r#"{"password=[redacted]":null,"a":{"x token: [redacted]":[{"password=[redacted]":"[redacted]"}]},"password":"[redacted]"}"#,
        );
    }

    #[test]
    fn replaced_members_have_no_reserved_members() {
        check(
            r#"{"_meta":{"io.portion/notice":1,"password":"x"}}"#,
            1_000,
            LimitOutcome::Fits,
            r#"{"_meta":{"password":"[redacted]"}}"#,
        );
    }

    #[test]
    fn a_long_name_counts_like_a_value() {
        let name = "n".repeat(5_000);
        let mark = format!(r#""{} … [+4700 chars]":"… [+1 chars]""#, "n".repeat(300));
        check(
            &format!(r#"{{"{name}":1,"a":1}}"#),
            2_000,
            LimitOutcome::Shortened(name.len() + 4 - mark.len()),
            &format!(r#"{{{mark},"a":1}}"#),
        );
    }

    #[test]
    fn the_name_of_a_marked_member_is_redacted() {
        let json = format!(r#"{{"{}":1}}"#, "password=hunter2 ".repeat(1_000));
        let redact = RedactionRules::default_secrets();
        let limiter = MemberLimiter { max_bytes: 2_000, redact: Some(&redact), excess: Excess::Mark };
        let mut splice = Splice::new(&json);
        let members = walk::members(&json, walk::document_span(&json));
        assert!(matches!(limiter.limit_members(&json, &members, &mut splice), LimitOutcome::Shortened(_)));
        let marked = splice.apply();
        assert!(marked.starts_with(r#"{"password=[redacted]"#) && !marked.contains("hunter2"), "{marked}");
    }

    #[test]
    fn media_have_a_limit_of_their_own() {
        let (data, text) = ("A".repeat(8_000), "A b ".repeat(2_000));
        let of = |data: &str| format!(r#"{{"a":[{{"data":"{data}"}}]}}"#);
        assert_eq!(non_media_bytes(&of(&data), 6_000), of("").len());
        assert_eq!(non_media_bytes(&of(&data), 5_999), of(&data).len());
        assert_eq!(non_media_bytes(&of(&text), 1 << 20), of(&text).len());
    }
}

#[cfg(test)]
mod reserved_meta_tests {
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
