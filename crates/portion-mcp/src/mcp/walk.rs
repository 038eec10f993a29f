//! Finds members, items and strings in validated JSON, and edits a message in place: bytes outside the edits are
//! kept.

use std::borrow::Cow;

use memchr::memmem;
use portion_json::containers;
use portion_json::path::{self, unescape_step};
use portion_json::scan::{JsonKind, JsonReader, quote, unescape, unescape_into};
use portion_json::span::Span;

pub(super) use portion_json::containers::Member;
pub(super) use portion_json::path::step_from_quoted;

/// Longest key, as written, whose name is compared: all names of interest are shorter.
const MAX_NAME_BYTES: usize = 256;

/// A text and its edits.
#[derive(Debug)]
pub(super) struct Splice<'a> {
    text: &'a str,
    edits: Vec<(Span, String)>,
}

impl<'a> Splice<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, edits: Vec::new() }
    }

    /// Replaces a span. Of overlapping spans, the one that starts first wins; of spans with the same start,
    /// the longer one.
    pub(super) fn replace(&mut self, place: Span, with: impl Into<String>) {
        self.edits.push((place, with.into()));
    }

    /// Removes members or items, and appends others (`"key":value`, or values).
    pub(super) fn edit_sequence(
        &mut self,
        sequence: &Sequence,
        keep: impl Fn(usize) -> bool,
        added: &[String],
    ) {
        let items = &sequence.items;
        let last_kept = (0..items.len()).rev().find(|i| keep(*i));
        for i in (0..last_kept.unwrap_or(0)).filter(|i| !keep(*i)) {
            self.replace(Span { start: items[i].start, end: items[i + 1].start }, "");
        }
        let mut tail = added.join(",");
        if last_kept.is_some() && !added.is_empty() {
            tail.insert(0, ',');
        }
        let start = match (last_kept, items.first()) {
            (Some(last_kept), _) => items[last_kept].end,
            (None, Some(first)) => first.start,
            (None, None) => sequence.span.start + 1,
        };
        let end = items.last().map_or(start, |last| last.end);
        if start < end || !tail.is_empty() {
            self.replace(Span { start, end }, tail);
        }
    }

    /// Appends members or items.
    pub(super) fn append(&mut self, sequence: &Sequence, added: &[String]) {
        self.edit_sequence(sequence, |_| true, added);
    }

    /// Removes the members of an object that are not kept.
    pub(super) fn retain_members(
        &mut self,
        object: Span,
        members: &[Member],
        keep: impl Fn(&Member) -> bool,
    ) {
        self.edit_sequence(&Sequence::of_members(object, members), |i| keep(&members[i]), &[]);
    }

    /// Returns true if exactly this span is replaced.
    pub(super) fn has_edit_at(&self, place: Span) -> bool {
        self.edits.iter().any(|(edited, _)| *edited == place)
    }

    /// Returns true if there are no edits.
    pub(super) fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }

    /// Returns the edited text.
    pub(super) fn apply(self) -> String {
        let all = Span::new(0, self.text.len());
        self.apply_within(all)
    }

    /// Returns the edited text of a span.
    pub(super) fn apply_within(mut self, span: Span) -> String {
        self.edits.sort_by_key(|(place, _)| (place.start, u32::MAX - place.end));
        let added: usize = self.edits.iter().map(|(_, with)| with.len()).sum();
        let removed: usize = self.edits.iter().map(|(place, _)| place.len()).sum();
        let mut out = String::with_capacity((span.len() + added).saturating_sub(removed) + 1);
        let mut done = span.start;
        for (place, with) in self.edits {
            if place.start < done || place.end > span.end {
                continue;
            }
            out.push_str(Span { start: done, end: place.start }.slice(self.text));
            out.push_str(&with);
            done = place.end;
        }
        out.push_str(Span { start: done, end: span.end }.slice(self.text));
        out
    }
}

/// Spans of the members of an object or of the items of an array.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Sequence {
    /// Span of the object or array, brackets included.
    pub span: Span,
    /// Spans of the members or items. A member spans from its key to the end of its value.
    pub items: Vec<Span>,
}

impl Sequence {
    /// Returns the members of an object as a sequence.
    pub(super) fn of_members(object: Span, members: &[Member]) -> Self {
        Self { span: object, items: members.iter().map(|member| member.span()).collect() }
    }
}

/// Returns the kind of the value at a span.
pub(super) fn kind(text: &str, span: Span) -> JsonKind {
    JsonKind::of_value(span.slice(text))
}

/// Returns the members of the object at a span, in order; empty if it is not an object.
pub(super) fn members(text: &str, object: Span) -> Vec<Member> {
    containers::members(text, object).collect()
}

/// Returns the target of a reference within a JSON Schema, such as `#/$defs/Name`. `root` spans the schema.
pub(super) fn resolve_reference(text: &str, root: Span, reference: Span) -> Option<Span> {
    let reference = unescape(reference.slice(text));
    let mut path = reference.strip_prefix("#/")?.split('/');
    let (holder, name) = (path.next()?, path.next()?);
    let name = unescape_step(name);
    let holder = member_value(text, root, holder)?;
    if path.next().is_some() { None } else { member_value(text, holder, &name) }
}

/// Returns the members of the object at a span, except those with these names.
pub(super) fn members_except(text: &str, object: Span, names: &[&str]) -> Vec<Member> {
    let has_name = |member: &Member| names.iter().any(|name| string_equals(member.key.slice(text), name));
    containers::members(text, object).filter(|member| !has_name(member)).collect()
}

/// Returns the items of the array at a span, in order; empty if it is not an array.
pub(super) fn items(text: &str, array: Span) -> Vec<Span> {
    containers::items(text, array).collect()
}

/// Finds a member by name. Of duplicates the last one counts, as in most JSON parsers.
pub(super) fn find_member(text: &str, members: &[Member], name: &str) -> Option<Member> {
    members.iter().rev().find(|member| string_equals(member.key.slice(text), name)).copied()
}

/// Returns the value of a member of an object.
pub(super) fn member_value(text: &str, object: Span, name: &str) -> Option<Span> {
    find_member(text, &members(text, object), name).map(|member| member.value)
}

/// Returns the value at a path of member names.
pub(super) fn value_at(text: &str, object: Span, path: &[&str]) -> Option<Span> {
    path.iter().try_fold(object, |object, name| member_value(text, object, name))
}

/// Returns the decoded string value of a member.
pub(super) fn string_member(text: &str, object: Span, name: &str) -> Option<String> {
    let value = member_value(text, object, name)?;
    (kind(text, value) == JsonKind::String).then(|| unescape(value.slice(text)))
}

/// Returns true if a JSON string, quotes included, equals `name`.
pub(super) fn string_equals(quoted: &str, name: &str) -> bool {
    path::key_matches(quoted, Span::new(0, quoted.len()), name)
}

/// Returns the span of the whole document, without surrounding whitespace.
pub(super) fn document_span(text: &str) -> Span {
    let space = |c: char| matches!(c, ' ' | '\t' | '\r' | '\n');
    let start = text.len() - text.trim_start_matches(space).len();
    Span::new(start, text.trim_end_matches(space).len().max(start))
}

/// Returns the key of a member, quotes included.
pub(super) fn member_key(text: &str, member: Span) -> &str {
    let mut reader = JsonReader::resume(text, member.start as usize);
    reader.skip_string().map(|key| reader.text(key)).unwrap_or_default()
}

/// Place of a string in JSON.
pub(super) enum StringPlace<'a> {
    /// It is the name of a member.
    Name,
    /// It is a value; the name of the enclosing member, empty above [`MAX_NAME_BYTES`].
    Value(&'a str),
}

/// Visits each string of valid JSON: the names of members, and values.
pub(super) fn visit_strings(json: &str, mut visit: impl FnMut(StringPlace<'_>, Span)) {
    let mut reader = JsonReader::new(json);
    // For each open container: true if it is an object, and the key of its current member, as written. Not the key itself:
    // arrays take over that of the member they are in, and a long one would be copied at every level.
    let mut open: Vec<(bool, Span)> = Vec::new();
    let name = |key: Option<&(bool, Span)>| match key {
        Some((_, key)) if key.len() <= MAX_NAME_BYTES => unescape(key.slice(json)),
        _ => String::new(),
    };
    let mut is_value = true;
    loop {
        if is_value {
            let Ok(kind) = reader.peek() else { return };
            let entered = match kind {
                JsonKind::Object => reader.enter_object(),
                JsonKind::Array => reader.enter_array(),
                _ => match reader.skip() {
                    Ok(value) => {
                        if kind == JsonKind::String {
                            visit(StringPlace::Value(&name(open.last())), value);
                        }
                        Ok(())
                    }
                    Err(error) => Err(error),
                },
            };
            if entered.is_err() {
                return;
            }
            if kind.is_container() {
                let key = open.last().map_or(Span::default(), |(_, key)| *key);
                open.push((kind == JsonKind::Object, key));
            }
        }
        is_value = match open.last_mut() {
            None => return,
            Some((true, within)) => match reader.next_key() {
                Ok(Some(key)) => {
                    *within = key;
                    visit(StringPlace::Name, key);
                    true
                }
                Ok(None) => false,
                Err(_) => return,
            },
            Some((false, _)) => match reader.next_item() {
                Ok(more) => more,
                Err(_) => return,
            },
        };
        if !is_value {
            open.pop();
        }
    }
}

/// Replaces lone surrogates, which JSON can hold and text cannot, by U+FFFD.
pub(super) fn replace_lone_surrogates(json: &str) -> Cow<'_, str> {
    let may_have_one =
        [b"\\ud".as_slice(), b"\\uD"].iter().any(|escape| memmem::find(json.as_bytes(), escape).is_some());
    if !may_have_one {
        return json.into();
    }
    let (mut splice, mut text) = (Splice::new(json), String::new());
    visit_strings(json, |_, value| {
        text.clear();
        if unescape_into(value.slice(json), &mut text) > 0 {
            splice.replace(value, quote(&text));
        }
    });
    if splice.is_empty() { json.into() } else { splice.apply().into() }
}

#[cfg(test)]
mod tests {
    use super::super::walk::{Sequence, document_span, items};
    use super::{Splice, StringPlace, replace_lone_surrogates, visit_strings};

    fn check(array: &str, keep: &[usize], added: &[&str], expect: &str) {
        let sequence = Sequence { span: document_span(array), items: items(array, document_span(array)) };
        let mut splice = Splice::new(array);
        let added: Vec<String> = added.iter().map(ToString::to_string).collect();
        splice.edit_sequence(&sequence, |i| keep.contains(&i), &added);
        assert_eq!(splice.apply(), expect);
    }

    #[test]
    fn edits_sequences_and_keeps_their_space() {
        check("[]", &[], &[], "[]");
        check("[ ]", &[], &["1"], "[1 ]");
        check("[1, 2 ,3 ]", &[0, 1, 2], &[], "[1, 2 ,3 ]");
        check("[1, 2 ,3 ]", &[0, 1, 2], &["4", "5"], "[1, 2 ,3,4,5 ]");
        check("[1, 2 ,3 ]", &[1], &[], "[2 ]");
        check("[1, 2 ,3 ]", &[0], &["9"], "[1,9 ]");
        check("[1, 2 ,3 ]", &[0, 2], &[], "[1, 3 ]");
        check("[1, 2 ,3 ]", &[], &[], "[ ]");
        check("[1, 2 ,3 ]", &[], &["9"], "[9 ]");
    }

    #[test]
    fn strings_have_the_key_of_the_member_around_them() {
        let check = |json: &str, expect: &[(&str, &str)]| {
            let mut seen = Vec::new();
            visit_strings(json, |place, value| {
                if let StringPlace::Value(key) = place {
                    seen.push((key.to_owned(), value.slice(json).to_owned()));
                }
            });
            let seen: Vec<_> = seen.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
            assert_eq!(seen, expect, "{json}");
        };
        check(
            r#"["a",{"k":"b","l":["c",["d",{"m":1,"n":["e"]},"f"]],"o":2},"g"]"#,
            &[
                ("", "\"a\""),
                ("k", "\"b\""),
                ("l", "\"c\""),
                ("l", "\"d\""),
                ("n", "\"e\""),
                ("l", "\"f\""),
                ("", "\"g\""),
            ],
        );
        check(r#"{"\u0074ext":"a"}"#, &[("text", "\"a\"")]);
        let long = "k".repeat(300);
        check(&format!(r#"{{"{long}":"a"}}"#), &[("", "\"a\"")]);
    }

    /// A copy of the key at each level would take 2 GB.
    #[test]
    fn a_long_key_around_deep_arrays_takes_no_memory() {
        let (key, levels) = ("k".repeat(100_000), 20_000);
        let json = format!(r#"{{"{key}":{}"a"{}}}"#, "[".repeat(levels), "]".repeat(levels));
        let mut count = 0;
        visit_strings(&json, |place, _| count += usize::from(matches!(place, StringPlace::Value(_))));
        assert_eq!(count, 1);
    }

    #[test]
    fn lone_surrogates_are_replaced() {
        let check = |json: &str, expect: &str| assert_eq!(replace_lone_surrogates(json), expect);
        for json in [r#"{"a":"\u00e9 \ud83d\ude00","b":"\\ud800"}"#, "[]"] {
            check(json, json);
        }
        check(
            r#"{"\ud800":["\ud83d\ude00","\uDC00 \u0041"]}"#,
            "{\"\u{fffd}\":[\"\\ud83d\\ude00\",\"\u{fffd} A\"]}",
        );
    }
}
