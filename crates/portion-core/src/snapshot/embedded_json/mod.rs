//! Finds JSON in text that is not JSON as a whole: after words, in a Markdown fence, behind a byte
//! order mark, with `NaN` and `Infinity`, or in a JSON string. Data in other notations are read as JSON.
//!
//! The text itself is kept, so that `raw` has its bytes. The work is linear in the size of the text: a
//! few offsets are tried, and each is read once.

mod locate;

pub(crate) use locate::locate_json;

use std::borrow::Cow;
use std::sync::Arc;

use portion_json::containers::items;
use portion_json::path::step_from_quoted;
use portion_json::scan::{JsonKind, JsonReader, is_json, quote, unescape};
use portion_json::span::Span;
use portion_text::notation;
use portion_text::notation::FoundData;

use super::ObjectIndex;
use super::indexed_text::{IndexedText, Structure};
use super::list_detection::has_identity;
use super::object::Member;
use super::slice::Slice;
use super::upstream_page::is_page_fact;
use locate::MIN_SHARE_PERCENT;

/// End of each description.
const RAW_HINT: &str = "; raw=true returns the original";
/// Maximum characters of the preceding text that the description quotes.
const MAX_SHOWN_CHARS: usize = 100;
/// Maximum bytes of the preceding text that the short description quotes. They hold the status of an error.
const MAX_BRIEF_BYTES: usize = 20;

/// The origin of JSON that was found in a text.
#[derive(Clone, Debug)]
pub struct JsonOrigin {
    /// Original text as the upstream wrote it.
    pub text: Slice,
    /// Description of where the JSON was found, for the notice.
    pub description: String,
    /// The same for the shortest notice: the first words before the JSON, and the replaced numbers.
    pub short_description: String,
    /// Set if the JSON was found in a JSON string.
    pub enclosing_string: Option<EnclosingString>,
    /// True if a value is shown differently than it was written.
    pub has_replacements: bool,
    /// Offset of the JSON in the text, and offsets at which `null` replaces a shorter `NaN`; `None` for
    /// JSON in a string.
    pub(super) offset_map: Option<(usize, Arc<[u32]>)>,
}

impl JsonOrigin {
    /// Creates the origin of content that is written otherwise than in the text.
    fn rewritten(text: &Slice, description: String, short_description: String) -> Self {
        Self {
            text: text.clone(),
            description,
            short_description,
            enclosing_string: None,
            has_replacements: true,
            offset_map: None,
        }
    }

    /// Returns the heap size in bytes, without that of the indexed text.
    pub(super) fn heap_bytes(&self, subject: &Slice) -> usize {
        let text = if self.text.shares_buffer(subject) { 0 } else { self.text.heap_bytes() };
        let shorter = self.offset_map.as_ref().map_or(0, |(_, shorter)| shorter.len() * size_of::<u32>());
        let holder = self.enclosing_string.as_ref().map_or(0, |holder| holder.pointer.capacity());
        self.description.capacity() + self.short_description.capacity() + text + shorter + holder
    }

    /// Returns the original bytes of a value; `None` if they are those of the value itself.
    pub fn original_text(&self, value: Span) -> Option<Slice> {
        let (start, shorter) = self.offset_map.as_ref()?;
        let at = |byte: u32| start + byte as usize - shorter.partition_point(|null| *null < byte);
        Some(self.text.subslice(Span::new(at(value.start), at(value.end))))
    }

    /// Returns the original text with `shown` in place of the string's content.
    pub fn with_replaced_string(&self, shown: &str) -> Option<String> {
        let Span { start, end } = self.enclosing_string.as_ref()?.span;
        let (before, after) = (&self.text[..start as usize], &self.text[end as usize..]);
        Some(format!("{before}{}{after}", quote(shown)))
    }
}

/// Finds JSON in text that is not JSON, or in a string or object that holds JSON as a string, also several strings deep. A
/// string of several lines is read as their text.
pub(super) fn find(text: &Slice, form: &Structure) -> Option<(IndexedText, JsonOrigin)> {
    let (mut subject, mut origin) = find_once(text, form)?;
    for _ in 1..MAX_LEVELS {
        let inner = if subject.is_json() { find_once(&subject.text, &subject.structure) } else { None };
        let Some((found, inside)) = inner else { break };
        let place = inside.description.trim_end_matches(RAW_HINT);
        let description = format!("{place} of {}", origin.description);
        origin = JsonOrigin::rewritten(text, description, inside.short_description);
        subject = found;
    }
    Some((subject, origin))
}

fn find_once(text: &Slice, form: &Structure) -> Option<(IndexedText, JsonOrigin)> {
    match form {
        Structure::Text(_) => find_in_text(text)
            .or_else(|| find_in_string(text))
            .or_else(|| find_in_notation(text))
            .or_else(|| find_lines(text, whole_string(text)?, "a JSON string")),
        Structure::Object(members) if members.span.len() == text.trim().len() => find_in_member(text),
        Structure::List(list) if list.len() == 1 => {
            let (pointer, value) = main_string(text)?;
            let place = format!("the string at {pointer}");
            parse_string(text, value, pointer).or_else(|| find_lines(text, value, &place))
        }
        Structure::Object(_) | Structure::List(_) => None,
    }
}

/// Finds the list in an array of facts about a page and its records, in any order: `[{"page":1,"pages":3},[{…},{…}]]`. It is read
/// as an object with both.
pub(super) fn find_beside_page(text: &Slice, form: &Structure) -> Option<(IndexedText, JsonOrigin)> {
    let Structure::List(list) = form else { return None };
    // Servers put an array into an object, as its only member.
    if list.len() != 2 || list.enclosing_objects.iter().any(|object| object.members.len() > 1) {
        return None;
    }
    let mut values = list.iter_from(text, 0).map(|item| item.value);
    let (first, second) = (values.next()?, values.next()?);
    let is_list = JsonKind::of_value(first.slice(text)) == JsonKind::Array;
    let (page, records) = if is_list { (second, first) } else { (first, second) };
    let facts = ObjectIndex::parse(&mut JsonReader::resume(text, page.start as usize)).ok()?;
    let is_page = facts.listed.iter().all(|member| !member.kind.is_container())
        && facts.listed.iter().any(|member| is_page_fact(text, member))
        && !has_identity(text, &facts);
    let first = items(text, records).next().filter(|_| is_page && facts.get(text, "items").is_none())?;
    if JsonKind::of_value(first.slice(text)) != JsonKind::Object {
        return None;
    }
    let members = page.slice(text).trim_end_matches('}');
    let json = Slice::new(format!("{members},\"items\":{}}}", records.slice(text)));
    let description = format!("page and records of an array, as one object{RAW_HINT}");
    let origin = JsonOrigin::rewritten(text, description, "page and records of an array".to_owned());
    IndexedText::with_list_at(&json, "items").map(|subject| (subject, origin))
}

/// Returns the JSON that makes up most of a text: after words, in a Markdown fence, or with `NaN` and
/// `Infinity`, which become `null`.
///
/// ```
/// use portion_core::snapshot::json_in_text;
///
/// assert_eq!(json_in_text("Found:\n[{\"score\":NaN}]").as_deref(), Some("[{\"score\":null}]"));
/// assert_eq!(json_in_text("no JSON [at all]"), None);
/// ```
pub fn json_in_text(text: &str) -> Option<Cow<'_, str>> {
    let located = locate_json(text)?;
    Some(located.with_nulls(text).0.map_or(Cow::Borrowed(located.span.slice(text)), Cow::Owned))
}

fn find_in_text(text: &Slice) -> Option<(IndexedText, JsonOrigin)> {
    let located = locate_json(text)?;
    let Span { start, end } = located.span;
    let (body, shorter) = located.with_nulls(text);
    let body = body.map_or_else(|| text.subslice(located.span), Slice::new);
    let subject = IndexedText::from_payload(body);
    let (before, after) = (&text[..start as usize], &text[end as usize..]);
    let offset_map = Some((start as usize, shorter.into()));
    let origin = JsonOrigin {
        text: text.clone(),
        description: describe_surroundings("JSON in text", before, after, located.non_finite_count()),
        short_description: describe_briefly(before, located.non_finite_count()),
        enclosing_string: None,
        has_replacements: located.non_finite_count() > 0,
        offset_map,
    };
    subject.is_json().then_some((subject, origin))
}

/// Returns the data of a text in another notation, such as Python literals or YAML, as JSON.
fn find_in_notation(text: &Slice) -> Option<(IndexedText, JsonOrigin)> {
    let FoundData { notation, span, json, comments } = notation::read(text)?;
    let (before, after) = (&text[..span.start as usize], &text[span.end as usize..]);
    let found = match comments {
        0 => notation.to_owned(),
        comments => format!("{notation} without its {comments} comments"),
    };
    let description = describe_surroundings(&found, before, after, 0);
    let origin = JsonOrigin::rewritten(text, description, notation.to_owned());
    let subject = IndexedText::from_payload(Slice::new(json));
    subject.is_json().then_some((subject, origin))
}

/// Describes data and the text around them.
fn describe_surroundings(found: &str, before: &str, after: &str, replaced: usize) -> String {
    let mut description = found.to_owned();
    if before.starts_with('\u{feff}') {
        description.push_str(" after a byte order mark");
    }
    let (before, after) = (trimmed(before), after.trim().trim_matches('`').trim());
    if !before.is_empty() {
        description = format!("{description} after {}", first_words(before));
    }
    if !after.is_empty() {
        description = format!("{description}, followed by {}", first_words(after));
    }
    format!("{description}{}{RAW_HINT}", describe_nulls(replaced))
}

/// Returns the first words of a text, and how long it is if it has more.
fn first_words(text: &str) -> String {
    let words = in_one_line(text);
    let shown: String = words.chars().take(MAX_SHOWN_CHARS).collect();
    if shown.len() == words.len() {
        return format!("`{shown}`");
    }
    format!("`{shown}…` ({} characters)", text.chars().count())
}

/// Describes the text before the JSON by its first words.
fn describe_briefly(before: &str, replaced: usize) -> String {
    let before = trimmed(before);
    let shown = &before[..before.floor_char_boundary(MAX_BRIEF_BYTES)];
    let more = if shown.len() < before.len() { "…" } else { "" };
    let words =
        if before.is_empty() { String::new() } else { format!(" after `{}{more}`", in_one_line(shown)) };
    format!("JSON in text{words}{}", describe_nulls(replaced))
}

/// Returns the words of a text before JSON.
fn trimmed(before: &str) -> &str {
    before.trim_matches(['\u{feff}', '\n', '\r', ' '])
}

fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Describes the non-finite numbers that were replaced.
fn describe_nulls(replaced: usize) -> String {
    match replaced {
        0 => String::new(),
        some => format!("; {some} NaN or Infinity shown as null"),
    }
}

/// Maximum bytes around the string, because they are repeated in every reply.
const MAX_SURROUNDING_BYTES: usize = 1 << 10;
/// Smallest string that is described as a text, in bytes.
const MIN_TEXT_BYTES: usize = 2 << 10;
/// Maximum enclosing objects that are searched.
const MAX_LEVELS: usize = 4;

/// The string that contains the JSON.
#[derive(Clone, Debug)]
pub struct EnclosingString {
    /// JSON Pointer of the string.
    pub pointer: String,
    /// Span of the string in the text, quotes included.
    pub span: Span,
}

/// Finds JSON in a text that is a JSON string.
fn find_in_string(text: &Slice) -> Option<(IndexedText, JsonOrigin)> {
    parse_string(text, whole_string(text)?, String::new())
}

/// Returns the lines of a text in a JSON string, as servers send that serialize each result.
fn find_lines(text: &Slice, value: Span, place: &str) -> Option<(IndexedText, JsonOrigin)> {
    let subject = IndexedText::from_payload(Slice::new(unescape(value.slice(text))));
    let description = format!("text in {place}{RAW_HINT}");
    let origin = JsonOrigin::rewritten(text, description, "text in a string".to_owned());
    (is_majority(text, value) && subject.text.contains('\n')).then_some((subject, origin))
}

/// Returns the span of the JSON string that is the whole text, if it is one.
fn whole_string(text: &str) -> Option<Span> {
    let mut reader = JsonReader::new(text);
    let value = if reader.peek() == Ok(JsonKind::String) { reader.skip().ok()? } else { return None };
    reader.expect_end().ok()?;
    Some(value)
}

/// Reads the strings of a list, or of the members of an object, as the objects that each of them holds.
pub(super) fn find_in_strings(text: &Slice, form: &Structure) -> Option<(IndexedText, JsonOrigin)> {
    let values: &mut dyn Iterator<Item = Span> = match form {
        Structure::List(list) => &mut list.iter_from(text, 0).map(|item| item.value),
        Structure::Object(members) => &mut members.listed.iter().map(|member| member.value),
        Structure::Text(_) => return None,
    };
    let (mut json, mut at) = (String::new(), 0);
    for value in values {
        value.slice(text).starts_with("\"{").then_some(())?;
        let object = Some(unescape(value.slice(text))).filter(|object| is_json(object))?;
        json.extend([&text[at..value.start as usize], &object]);
        at = value.end as usize;
    }
    json.push_str(&text[at..]);
    let subject = Some(json).filter(|_| at > 0).map(|json| IndexedText::from_payload(Slice::new(json)))?;
    let description = format!("objects in strings{RAW_HINT}");
    Some((subject, JsonOrigin::rewritten(text, description, "objects in strings".to_owned())))
}

/// Finds JSON in a string that makes up most of an object, or of an object nested in it.
fn find_in_member(text: &Slice) -> Option<(IndexedText, JsonOrigin)> {
    let (pointer, value) = main_string(text)?;
    parse_string(text, value, pointer)
}

/// Finds the text in a string that makes up most of an object: its pointer, and the text. Short ones are not looked at.
pub fn text_in_member(text: &str, members: &ObjectIndex) -> Option<(String, IndexedText)> {
    if members.span.len() != text.trim().len() {
        return None;
    }
    let (pointer, value) = main_string(text).filter(|(_, value)| value.len() >= MIN_TEXT_BYTES)?;
    let subject = IndexedText::from_payload(Slice::new(unescape(value.slice(text))));
    (is_majority(text, value) && matches!(subject.structure, Structure::Text(_)))
        .then_some((pointer, subject))
}

/// Returns the pointer and the span of the string that makes up most of an object, or of an object nested in it. Of arrays, only
/// the block of a result of a tool is read: `[{"type":"text","text":"…"}]`.
fn main_string(text: &str) -> Option<(String, Span)> {
    let start = text.len() - text.trim_start().len();
    let (mut value, mut pointer, mut in_block) =
        (Span::new(start, text.trim_end().len()), String::new(), false);
    for _ in 0..=MAX_LEVELS {
        match JsonKind::of_value(value.slice(text)) {
            JsonKind::String => return (!in_block || pointer.ends_with("/text")).then_some((pointer, value)),
            JsonKind::Object if is_majority(text, value) => {
                let members = ObjectIndex::parse(&mut JsonReader::resume(text, value.start as usize)).ok()?;
                let is_type = |member: &Member| {
                    member.key.slice(text) == "\"type\"" && member.value.slice(text) == "\"text\""
                };
                (!in_block || members.listed.iter().any(is_type)).then_some(())?;
                let member = *members.listed.iter().max_by_key(|member| member.value.len())?;
                pointer = format!("{pointer}/{}", step_from_quoted(member.key.slice(text)));
                value = member.value;
            }
            JsonKind::Array => {
                let mut items = items(text, value);
                value = items.next().filter(|_| items.next().is_none())?;
                pointer.push_str("/0");
                in_block = true;
            }
            _ => return None,
        }
    }
    None
}

fn is_majority(text: &str, value: Span) -> bool {
    value.len() * 100 >= text.len() * MIN_SHARE_PERCENT && text.len() - value.len() <= MAX_SURROUNDING_BYTES
}

fn parse_string(text: &Slice, value: Span, pointer: String) -> Option<(IndexedText, JsonOrigin)> {
    if !is_majority(text, value) {
        return None;
    }
    let inside = unescape(value.slice(text));
    let (mut replaced, mut name) = (0, "JSON");
    let mut subject = IndexedText::from_payload(Slice::new(inside));
    if !subject.is_json() {
        let json = if let Some(located) = locate_json(&subject.text) {
            replaced = located.non_finite_count();
            located
                .with_nulls(&subject.text)
                .0
                .map_or_else(|| subject.text.subslice(located.span), Slice::new)
        } else {
            let found = notation::read(&subject.text)?;
            name = found.notation;
            Slice::new(found.json)
        };
        subject = IndexedText::from_payload(json);
    }
    let location =
        if pointer.is_empty() { "a JSON string".to_owned() } else { format!("the string at {pointer}") };
    let description = format!("{name} in {location}{}{RAW_HINT}", describe_nulls(replaced));
    let short_description = format!("{name} in a string{}", describe_nulls(replaced));
    let holder = Some(EnclosingString { pointer, span: value });
    let origin = || JsonOrigin {
        text: text.clone(),
        description,
        short_description,
        enclosing_string: holder,
        has_replacements: replaced > 0 || name != "JSON",
        offset_map: None,
    };
    subject.is_json().then(|| (subject, origin()))
}

#[cfg(test)]
mod tests {
    use super::{IndexedText, Slice, find};

    /// Checks what is shown of a text, and how it is described; `None` if the text is shown as it is.
    fn check(text: &str, expect: Option<(&str, &str)>) {
        let slice = Slice::new(text.to_owned());
        let form = IndexedText::from_payload(slice.clone()).structure;
        let found =
            find(&slice, &form).map(|(subject, origin)| (subject.text.to_string(), origin.description));
        let found =
            found.as_ref().map(|(json, place)| (json.as_str(), place.trim_end_matches(super::RAW_HINT)));
        assert_eq!(found, expect, "{text}");
    }

    #[test]
    fn notes_below_json_are_no_records() {
        let list = format!(r#"[{{"id":1,"name":"{}"}},{{"id":2}}]"#, "a".repeat(900));
        for note in ["[Truncated: showing 2 of 913 references. Narrow the query.]", "[2 rows]", "{truncated}"]
        {
            check(
                &format!("{list}\n\n{note}\n"),
                Some((list.as_str(), &format!("JSON in text, followed by `{note}`"))),
            );
        }
        let object = format!(r#"{{"data":{list}}}"#);
        let note = r#"{"truncated":true,"total":913}"#;
        let place = format!("JSON in text, followed by `{note}`");
        check(&format!("{list}\n{note}"), Some((&list, &place)));
        check(&format!("{object}\n{note}"), Some((&object, &place)));
        // Records on lines.
        check(&format!("{object}\n{{\"data\":2}}"), None);
        check(&format!("{list}\n[3]"), None);
        check(&format!("{list} {note}"), None);
    }

    #[test]
    fn results_of_tools_and_strings_in_strings() {
        let list = &format!(r#"[{{"id":1,"name":"{}"}},{{"id":2}}]"#, "a".repeat(200));
        let block = serde_json::json!([{"type": "text", "text": list}]);
        check(&format!(r#"{{"content":{block}}}"#), Some((list, "JSON in the string at /content/0/text")));
        check(
            &format!("[TextContent(type='text', text='{list}', annotations=None)]"),
            Some((list, "JSON in the string at /0/text of Python literals")),
        );
        let inner = serde_json::json!({ "result": list }).to_string();
        let outer = serde_json::json!({"statusCode": 200, "body": inner}).to_string();
        check(&outer, Some((list, "JSON in the string at /result of JSON in the string at /body")));
        check(
            "[TextContent(type='text', text='a first line of words\\nand a second one')]",
            Some((
                "a first line of words\nand a second one",
                "text in the string at /0/text of Python literals",
            )),
        );
        // A record is more than its text.
        check(&serde_json::json!([{"id": 7, "text": list}]).to_string(), None);
    }
}
