//! Outlines an object: types and sizes of its members.

use portion_json::projection::is_path_within;
use portion_json::scan::{JsonKind, JsonReader, unescape};
use portion_json::span::Span;
use portion_text::display::counted;
use portion_tokens::{TokenCounter, estimate_size};
use serde_json::{Map, Value};

use super::FieldPreferences;
use super::list_facts::fit_to_budget;
use crate::policy::StripRule;
use crate::snapshot::{
    IndexedText, MIN_LIST_BYTES, Member, NestedLists, ObjectIndex, Slice, Structure, joined_records,
    main_lists,
};

/// Members described per level, the largest first.
const MAX_MEMBERS: usize = 24;
/// Smallest member that is described, in bytes.
const MIN_MEMBER_BYTES: usize = 200;
/// Lists of records that are named, and of these the ones whose fields are described.
const MAX_LISTS: usize = 4;
const MAX_FACTS_LISTS: usize = 2;
/// Smallest text that is described, in bytes, and texts that are.
const MIN_TEXT_BYTES: usize = 2 << 10;
const MAX_TEXTS: usize = 2;
/// Names of fields of a list without facts.
const MAX_NAMES: usize = 8;
/// Size of a member, in percent of its object, from which its own members are described.
const DOMINANT_PERCENT: usize = 20;

/// Outlines the larger members of an object and, under dotted names, the members of those that make up much
/// of it, within the token budget: name → type and size. The largest come first, each followed by its own
/// members.
pub fn outline(
    text: &str,
    members: &ObjectIndex,
    counter: &dyn TokenCounter,
    tokens: usize,
) -> Map<String, Value> {
    describe(text, members, counter, tokens, &FieldPreferences::default())
}

/// Outlines an object with an operator's preferences.
pub(super) fn describe(
    text: &str,
    members: &ObjectIndex,
    counter: &dyn TokenCounter,
    tokens: usize,
    preferences: &FieldPreferences<'_>,
) -> Map<String, Value> {
    let lists = main_lists(text, members.span);
    let mut facts = describe_lists(text, members.span, &lists, counter, tokens, preferences);
    let left = |facts: &Map<String, Value>| {
        tokens.saturating_sub(counter.count(&Value::Object(facts.clone()).to_string()))
    };
    facts.extend(describe_texts(text, members, counter, left(&facts), preferences));
    let mut lines: Vec<(String, String)> = Vec::new();
    let (mut upper, mut lower) = (Vec::new(), Vec::new());
    let parts = |members: &ObjectIndex, prefix: &str| {
        outline_members(text, members, prefix, counter, preferences.strip)
    };
    for part in parts(members, "") {
        let inner = part.object_index.as_ref().filter(|_| part.is_dominant);
        let inner: Vec<MemberOutline> = inner.map(|inner| parts(inner, &part.path)).unwrap_or_default();
        upper.push(lines.len());
        lines.push((part.path, part.description));
        lower.extend((lines.len()..).take(inner.len()));
        lines.extend(inner.into_iter().map(|part| (part.path, part.description)));
    }
    // Preferred members are added first, then the upper level.
    let wanted =
        |at: &usize| preferences.preferred.iter().position(|name| is_path_within(&lines[*at].0, name));
    let mut order: Vec<usize> = upper.into_iter().chain(lower).collect();
    order.sort_by_key(|at| wanted(at).unwrap_or(usize::MAX));
    // What is in the described lists needs no sizes.
    let first_step =
        |pattern: &String| pattern.trim_start_matches('/').split('/').next().unwrap_or_default().to_owned();
    let described: Vec<String> = facts.keys().map(first_step).collect();
    order.retain(|at| !described.iter().any(|step| is_path_within(&lines[*at].0, step)));
    facts.extend(fit_to_budget(&lines, counter, left(&facts), order.into_iter()));
    facts
}

/// Describes the main lists of records: the number of records of each, and facts about the fields of the first ones.
fn describe_lists(
    text: &str,
    object: Span,
    lists: &[NestedLists],
    counter: &dyn TokenCounter,
    tokens: usize,
    preferences: &FieldPreferences<'_>,
) -> Map<String, Value> {
    let missing = preferences.missing.cloned().unwrap_or_default();
    // An object that is no list itself is one record, whatever it holds.
    let is_named = |(_, lists): &(usize, &NestedLists)| {
        lists.byte_count >= MIN_LIST_BYTES
            && !lists.pattern.is_empty()
            && preferences.strip.is_none_or(|strip| !lists.is_stripped(strip, text.len()))
    };
    let mut facts = Map::new();
    let mut left = tokens;
    for (at, lists) in lists.iter().enumerate().filter(is_named).take(MAX_LISTS) {
        let Some(subject) = list_at(text, object, &lists.pattern) else { continue };
        let Structure::List(list) = &subject.structure else { continue };
        let described = if at < MAX_FACTS_LISTS {
            super::text::describe_records(&subject.text, list, &missing, counter, left / 2).into()
        } else {
            let names: Vec<&str> =
                list.profile.fields.iter().map(|field| field.path.as_str()).take(MAX_NAMES).collect();
            Value::from(format!("{} records: {}", lists.record_count, names.join(",")))
        };
        let member = Map::from_iter([(lists.pattern.clone(), described)]);
        let Some(cost) = counter.count_within(&Value::Object(member.clone()).to_string(), left) else {
            break;
        };
        left -= cost;
        facts.extend(member);
    }
    facts
}

/// Describes the largest texts of several lines among the members of an object.
fn describe_texts(
    text: &str,
    members: &ObjectIndex,
    counter: &dyn TokenCounter,
    tokens: usize,
    preferences: &FieldPreferences<'_>,
) -> Map<String, Value> {
    let is_text = |member: &&Member| {
        let (name, value) = (unescape(member.key.slice(text)), member.value);
        let is_stripped = |strip: &StripRule| strip.strips_member(&name, value.len(), text.len());
        member.kind == JsonKind::String
            && value.len() >= MIN_TEXT_BYTES
            && value.slice(text).contains("\\n")
            && !preferences.strip.is_some_and(is_stripped)
    };
    let mut texts: Vec<&Member> = members.listed.iter().filter(is_text).collect();
    texts.sort_by_key(|member| std::cmp::Reverse(member.value.len()));
    let described = texts.iter().take(MAX_TEXTS).map(|member| {
        let subject = IndexedText::from_text(Slice::new(unescape(member.value.slice(text))));
        let facts = super::describe(&subject, counter, tokens / MAX_TEXTS, preferences);
        (unescape(member.key.slice(text)), Value::Object(facts))
    });
    described.filter(|(_, facts)| facts != &Value::Object(Map::new())).collect()
}

/// Returns the records at a pattern.
fn list_at(text: &str, object: Span, pattern: &str) -> Option<IndexedText> {
    Some(IndexedText::from_payload(Slice::new(joined_records(text, object, pattern)?)))
}

/// A described member.
struct MemberOutline {
    path: String,
    description: String,
    object_index: Option<ObjectIndex>,
    is_dominant: bool,
}

/// Returns the larger members of an object, the largest first.
fn outline_members(
    text: &str,
    members: &ObjectIndex,
    prefix: &str,
    counter: &dyn TokenCounter,
    strip: Option<&StripRule>,
) -> Vec<MemberOutline> {
    let path = |member: &Member| {
        let name = unescape(member.key.slice(text));
        if prefix.is_empty() { name } else { format!("{prefix}.{name}") }
    };
    let is_described = |member: &&Member| {
        let size = member.value.len();
        let is_noise = |strip: &StripRule| strip.strips_member(&path(member), size, text.len());
        size >= MIN_MEMBER_BYTES && !strip.is_some_and(is_noise)
    };
    let mut largest: Vec<&Member> = members.listed.iter().filter(is_described).collect();
    largest.sort_by_key(|member| std::cmp::Reverse(member.value.len()));
    let outlines = largest.into_iter().take(MAX_MEMBERS).map(|member| {
        let value = member.value.slice(text);
        let mut reader = JsonReader::resume(text, member.value.start as usize);
        let mut inside = None;
        let what = match member.kind {
            JsonKind::Object => {
                inside = ObjectIndex::parse(&mut reader).ok();
                let count = inside.as_ref().map_or(0, ObjectIndex::len);
                format!("object of {}", counted(count, "entry"))
            }
            JsonKind::Array => describe_array(&mut reader),
            _ => format!("string of {} characters", unescape(value).chars().count()),
        };
        MemberOutline {
            path: path(member),
            description: format!("{what}, {} tokens", estimate_size(counter, value)),
            object_index: inside,
            is_dominant: member.value.len() * 100 >= members.span.len() * DOMINANT_PERCENT,
        }
    });
    outlines.collect()
}

/// Describes an array: `array of 12 objects`
fn describe_array(reader: &mut JsonReader<'_>) -> String {
    let mut items = 0;
    let mut kinds: Option<Result<JsonKind, ()>> = None;
    if reader.enter_array().is_ok() {
        while reader.next_item() == Ok(true)
            && let Ok(kind) = reader.peek()
            && reader.skip().is_ok()
        {
            items += 1;
            kinds = Some(if items == 1 || kinds == Some(Ok(kind)) { Ok(kind) } else { Err(()) });
        }
    }
    let what = match kinds {
        Some(Ok(JsonKind::Object)) => "object",
        Some(Ok(JsonKind::Array)) => "array",
        Some(Ok(JsonKind::String)) => "string",
        Some(Ok(JsonKind::Number)) => "number",
        _ => "item",
    };
    format!("array of {}", counted(items, what))
}
