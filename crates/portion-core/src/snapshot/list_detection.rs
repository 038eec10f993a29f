//! Finds the list in a JSON text.
//!
//! APIs wrap their lists: `{"status":"ok","data":{"total":500,"items":[…]}}`. The list is the largest
//! array on the way down, if it makes up most of the object around it, beside an object with facts about
//! the page. An object with an id of its own is a record that happens to hold a list, and requires a larger
//! share.

use std::sync::{Arc, OnceLock};

use portion_json::containers::{items, members};
use portion_json::path::{key_matches, step_from_quoted};
use portion_json::scan::{JsonKind, JsonReader, SparseOffsets, unescape};
use portion_json::span::Span;

use super::indexed_text::Structure;
use super::list::{EnclosingObject, Layout, List};
use super::object::{Member, ObjectIndex, read_item_offsets};
use super::profile::ListProfile;
use super::profile::field_names::FieldNameHints;
use super::table_layouts::ColumnArrays;
use super::upstream_page::{holds_page_facts, is_page_fact};

/// Maximum enclosing objects that are searched.
const MAX_LEVELS: usize = 10;
/// Minimum members for an object of similar objects to be a map.
const MIN_MAP_MEMBERS: usize = 8;
/// Most members of one kind, all texts or all numbers, that a record has.
const MAX_FIELDS: usize = 100;
/// JSON is longer than a note below it, this many times.
const MIN_TIMES: usize = 10;
/// Maximum bytes of a page without items.
const MAX_EMPTY_PAGE_BYTES: usize = 4096;
/// Names of members that identify the object around them, and the largest object that does, in bytes.
const IDENTITY_KEYS: [&str; 8] = ["id", "_id", "Id", "ID", "uuid", "uid", "guid", "key"];
const MAX_IDENTITY_BYTES: usize = 64;

/// Detects the structure of a text that is one JSON value; `None` where it is not.
pub(super) fn detect_json(text: &str) -> Option<Structure> {
    let mut reader = JsonReader::new(text);
    match reader.peek().ok()? {
        JsonKind::Array => {
            let start = reader.at();
            let found =
                DetectedList::from_array(read_item_offsets(&mut reader).ok()?, Span::new(start, reader.at()));
            reader.expect_end().ok()?;
            Some(found.into_structure(text))
        }
        JsonKind::Object => {
            let members = ObjectIndex::parse(&mut reader).ok()?;
            reader.expect_end().ok()?;
            Some(detect_in_object(text, members))
        }
        _ => None,
    }
}

/// Detects newline-delimited JSON, one object or array per line; `None` where the text is not.
pub(super) fn detect_lines(text: &str) -> Option<Structure> {
    let mut offsets = SparseOffsets::default();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim();
        if !trimmed.is_empty() {
            let mut reader = JsonReader::new(trimmed);
            reader.peek().ok().filter(|kind| kind.is_container())?;
            reader.skip().ok()?;
            reader.expect_end().ok()?;
            offsets.push(at);
        }
        at += line.len();
    }
    let second = offsets.entries().get(1).map_or(text.len(), |at| *at as usize);
    if offsets.len() < 2 || offsets.len() == 2 && is_note(&text[..second], &text[second..]) {
        return None;
    }
    offsets.shrink_to_fit();
    let found = DetectedList {
        layout: Layout::Lines,
        item_offsets: offsets,
        span: Span::new(0, text.len()),
        enclosing_objects: Vec::new(),
        pointer: String::new(),
    };
    Some(found.into_structure(text))
}

/// A list that was found, before its items are profiled.
pub(super) struct DetectedList {
    pub layout: Layout,
    pub item_offsets: SparseOffsets,
    pub span: Span,
    pub enclosing_objects: Vec<EnclosingObject>,
    pub pointer: String,
}

impl DetectedList {
    fn from_array(items: SparseOffsets, span: Span) -> Self {
        Self {
            layout: Layout::Array,
            item_offsets: items,
            span,
            enclosing_objects: Vec::new(),
            pointer: String::new(),
        }
    }

    pub(super) fn into_structure(self, text: &str) -> Structure {
        let Self { layout, item_offsets: items, span, enclosing_objects: levels, pointer } = self;
        let mut list = List {
            layout,
            item_offsets: items,
            span,
            enclosing_objects: levels,
            pointer,
            profile: ListProfile::default(),
            facts: OnceLock::new(),
            null_columns: OnceLock::new(),
        };
        list.profile = ListProfile::from_list(text, &list);
        Structure::List(Arc::new(list))
    }
}

fn detect_in_object(text: &str, root: ObjectIndex) -> Structure {
    let mut levels = Vec::new();
    let mut pointer = String::new();
    let mut members = root;
    let mut outermost = None;
    loop {
        let found = empty_page(text, &members).or_else(|| dominant_array(text, &members));
        if let Some(inner) = found {
            let member = members.listed[inner];
            let is_null = member.kind == JsonKind::Null;
            let none = || is_null.then(SparseOffsets::default);
            if let Some(items) = members.take_item_offsets(text, inner).or_else(none) {
                pointer = format!("{pointer}/{}", step_from_quoted(member.key.slice(text)));
                levels.push(EnclosingObject { members: members.listed, list_member: inner });
                return DetectedList {
                    layout: Layout::Array,
                    item_offsets: items,
                    span: member.value,
                    enclosing_objects: levels,
                    pointer,
                }
                .into_structure(text);
            }
            break;
        }
        // Objects that are columns are no records.
        let is_object = |column: &Member| column.kind == JsonKind::Object;
        if members.len() <= ObjectIndex::MAX_LISTED
            && ColumnArrays::detect(text, &members.listed)
                .is_some_and(|table| table.columns.iter().any(is_object))
        {
            break;
        }
        if is_map(text, &members) {
            let (items, span) = (members.key_offsets, members.span);
            return DetectedList {
                layout: Layout::Map,
                item_offsets: items,
                span,
                enclosing_objects: levels,
                pointer,
            }
            .into_structure(text);
        }
        let inner = dominant_member(text, &members, |member| member.kind == JsonKind::Object);
        let Some(inner) = inner.filter(|_| levels.len() + 1 < MAX_LEVELS) else { break };
        let member = members.listed[inner];
        let Ok(next) = ObjectIndex::parse(&mut JsonReader::resume(text, member.value.start as usize)) else {
            break;
        };
        pointer = format!("{pointer}/{}", step_from_quoted(member.key.slice(text)));
        levels.push(EnclosingObject { members: members.listed.clone(), list_member: inner });
        outermost.get_or_insert(members);
        members = next;
    }
    let mut whole = outermost.unwrap_or(members);
    whole.largest_array = None;
    Structure::Object(Arc::new(whole))
}

/// Finds the member that makes up most of an object, among those that `fits` accepts.
fn dominant_member(text: &str, members: &ObjectIndex, fits: impl Fn(&Member) -> bool) -> Option<usize> {
    if members.len() > ObjectIndex::MAX_LISTED {
        return None;
    }
    let is_named =
        |member: &Member, names: &[&str]| names.iter().any(|name| key_matches(text, member.key, name));
    let is_list = |member: &Member| member.kind == JsonKind::Array && is_named(member, &LIST_NAMES);
    let has_list = members.listed.iter().any(is_list);
    let is_beside =
        |member: &Member| holds_page_facts(text, member) || has_list && is_named(member, &REFERENCE_NAMES);
    let listed = members.listed.iter().enumerate();
    let (facts, others): (Vec<_>, Vec<_>) = listed.partition(|(_, member)| is_beside(member));
    let (at, member) = others.into_iter().max_by_key(|(_, member)| member.value.len())?;
    let beside_facts = members.span.len() - facts.iter().map(|(_, member)| member.value.len()).sum::<usize>();
    // Half is most of an envelope; a record keeps its list unless it holds almost nothing else.
    let percent = if has_identity(text, members) { 90 } else { 50 };
    let is_most = member.value.len() * 100 >= beside_facts * percent;
    // A path refers to the first of duplicate keys, so no other one can be addressed.
    let name = unescape(member.key.slice(text));
    let first = || members.listed.iter().position(|other| key_matches(text, other.key, &name)) == Some(at);
    (fits(member) && is_most && first()).then_some(at)
}

fn dominant_array(text: &str, members: &ObjectIndex) -> Option<usize> {
    let at = dominant_member(text, members, |member| member.kind == JsonKind::Array)?;
    // An array of bare numbers is one value of a record: a vector, a series. So is an array that only
    // nests another.
    let first = JsonReader::resume(text, members.listed[at].value.start as usize + 1).peek().ok()?;
    let several = members.largest_array.as_ref().is_some_and(|(_, items)| items.len() > 1);
    let is_list = match first {
        JsonKind::Object => true,
        // One of several columns is not the list: its items are nothing without those beside it.
        JsonKind::String => ColumnArrays::detect(text, &members.listed).is_none(),
        JsonKind::Array => several,
        JsonKind::Number | JsonKind::Bool | JsonKind::Null => false,
    };
    (is_list && !holds_groups(text, &members.listed[at])).then_some(at)
}

/// Finds the list of a page without items: the only array of an object that states facts about a page, or nothing, and little
/// else unless it counts 0 items; or an array that is named as lists are, in an object that is no record.
fn empty_page(text: &str, members: &ObjectIndex) -> Option<usize> {
    let is_zero = |member: &Member| member.value.slice(text) == "0" && is_page_fact(text, member);
    let may_be_large = || members.listed.iter().any(is_zero);
    if has_identity(text, members) || members.span.len() > MAX_EMPTY_PAGE_BYTES && !may_be_large() {
        return None;
    }
    let is_array = |member: &Member| member.kind == JsonKind::Array;
    let is_named = |member: &Member| LIST_NAMES.iter().any(|name| key_matches(text, member.key, name));
    let is_empty =
        |member: &Member| is_array(member) && member.value.slice(text)[1..].trim_start().starts_with(']');
    let states_page = members.listed.iter().any(|member| is_page_fact(text, member));
    let is_only = members.listed.iter().filter(|member| is_array(member)).count() == 1
        && (members.len() == 1 || states_page);
    // Some servers write `null` for a list without items.
    let is_page = |member: &Member| {
        is_empty(member) && (is_only || is_named(member))
            || member.kind == JsonKind::Null && is_named(member) && states_page
    };
    let at = members.listed.iter().position(is_page)?;
    (is_only || !is_record(text, members.span)).then_some(at)
}

/// Returns true if an object has an id.
pub(crate) fn has_identity(text: &str, members: &ObjectIndex) -> bool {
    members.listed.iter().any(|member| is_identity(text, member))
}

/// Returns true for a member with an id: a text, a number, or a short object with one, such as `{"$oid": "…"}`.
pub(super) fn is_identity(text: &str, member: &Member) -> bool {
    let may_be = match member.kind {
        JsonKind::String | JsonKind::Number => true,
        JsonKind::Object => member.value.len() <= MAX_IDENTITY_BYTES,
        _ => false,
    };
    may_be && IDENTITY_KEYS.iter().any(|name| key_matches(text, member.key, name))
}

/// Returns true if an object is a map: it has too many members for a record, more than a hundred that are all texts or all
/// numbers, or similar objects under its keys.
fn is_map(text: &str, members: &ObjectIndex) -> bool {
    let kinds = || members.listed.iter().map(|member| member.kind);
    let are_alike = || kinds().all(|kind| !kind.is_container() && Some(kind) == kinds().next());
    if members.len() > ObjectIndex::MAX_LISTED || members.len() > MAX_FIELDS && are_alike() {
        return true;
    }
    if members.len() < MIN_MAP_MEMBERS || members.listed.iter().any(|member| member.kind != JsonKind::Object)
    {
        return false;
    }
    let mut shapes: Vec<Vec<&str>> = Vec::new();
    for member in members.listed.iter().take(64) {
        let Ok(inner) = ObjectIndex::parse(&mut JsonReader::resume(text, member.value.start as usize)) else {
            return false;
        };
        let mut keys: Vec<&str> = inner.listed.iter().map(|m| m.key.slice(text)).collect();
        keys.sort_unstable();
        if !shapes.iter().any(|shape| are_similar(shape, &keys)) {
            shapes.push(keys);
        }
    }
    shapes.len() <= 2.max(members.len().min(64) / 5)
}

/// Returns true if two sorted sets of keys share at least half of the larger one.
fn are_similar(a: &[&str], b: &[&str]) -> bool {
    let shared = a.iter().filter(|key| b.binary_search(key).is_ok()).count();
    shared * 2 >= a.len().max(b.len())
}

/// Names of the list in the response of an API.
pub(crate) const LIST_NAMES: [&str; 8] =
    ["data", "entries", "hits", "items", "records", "result", "results", "rows"];
/// Names of what the records of a list refer to, beside it (JSON:API).
const REFERENCE_NAMES: [&str; 4] = ["included", "includes", "linked", "references"];
/// Most items of an array of groups.
const MAX_GROUPS: usize = 12;
/// Smallest share of a group that its lists take, in percent.
const LIST_PERCENT: usize = 90;
/// Objects inside a group that are searched for lists: maps of lists.
const MAX_DEPTH: usize = 2;

/// Returns true if a member is an array of a few groups and nothing else. The only item of a list by name is a record,
/// unless it has no scalars.
pub(super) fn holds_groups(text: &str, member: &Member) -> bool {
    let groups: Vec<Span> = items(text, member.value).take(MAX_GROUPS + 1).collect();
    let is_sole = groups.len() == 1;
    let has_scalar =
        |group: &Span| members(text, *group).any(|member| container_bytes(text, member.value) == 0);
    let is_named_list = || LIST_NAMES.iter().any(|name| key_matches(text, member.key, name));
    if groups.len() > MAX_GROUPS
        || groups.iter().any(|group| is_record(text, *group))
        || is_sole && is_named_list() && groups.iter().any(has_scalar)
    {
        return false;
    }
    let inside = groups.iter().flat_map(|group| members(text, *group)).map(|member| {
        if is_sole { container_bytes(text, member.value) } else { list_bytes(text, member.value, MAX_DEPTH) }
    });
    inside.sum::<usize>() * 100 >= member.value.len() * LIST_PERCENT
}

/// Returns the only object in a member: its value, or the only item of its array.
pub(crate) fn sole_object(text: &str, member: &Member) -> Option<Span> {
    let is_object = |value: &Span| JsonKind::of_value(value.slice(text)) == JsonKind::Object;
    if member.kind == JsonKind::Object {
        return Some(member.value);
    }
    let mut items = items(text, member.value);
    let only = items.next().filter(is_object)?;
    items.next().is_none().then_some(only)
}

/// Returns true for a value that is no object, or has an identity or a name of its own.
fn is_record(text: &str, item: Span) -> bool {
    let names_it = |member: portion_json::containers::Member| {
        let hints = FieldNameHints::from_path(&unescape(member.key.slice(text)));
        let is_scalar = !JsonKind::of_value(member.value.slice(text)).is_container();
        is_scalar && (hints.identity_rank.is_some() || hints.name_rank.is_some())
    };
    JsonKind::of_value(item.slice(text)) != JsonKind::Object || members(text, item).any(names_it)
}

fn container_bytes(text: &str, value: Span) -> usize {
    if JsonKind::of_value(value.slice(text)).is_container() { value.len() } else { 0 }
}

/// Returns the bytes of the lists of objects in a value, and in objects up to a depth.
fn list_bytes(text: &str, value: Span, depth: usize) -> usize {
    let mut reader = JsonReader::resume(text, value.start as usize);
    match JsonKind::of_value(value.slice(text)) {
        JsonKind::Array => {
            let is_list = reader.enter_array().is_ok()
                && reader.next_item() == Ok(true)
                && reader.peek() == Ok(JsonKind::Object);
            if is_list { value.len() } else { 0 }
        }
        JsonKind::Object if depth > 0 => {
            members(text, value).map(|member| list_bytes(text, member.value, depth - 1)).sum()
        }
        _ => 0,
    }
}

/// Returns true if what is below JSON tells about it: `[300 rows]`, `{"truncated":true,"total":913}`.
pub(super) fn is_note(json: &str, note: &str) -> bool {
    let (json, note) = (json.trim(), note.trim());
    let [of_json, of_note] = [json, note].map(|text| Span::new(0, text.len()));
    if json.len() < note.len() * MIN_TIMES || !note.starts_with(['[', '{']) {
        return false;
    }
    let mut reader = JsonReader::new(note);
    if reader.skip().is_err() || reader.expect_end().is_err() {
        return note[1..].trim_start().starts_with(char::is_alphanumeric);
    }
    // Another record has the names of the first, or values with values inside.
    let is_array = |value: &str| value.starts_with('[');
    let holds_list =
        is_array(json) || members(json, of_json).any(|member| is_array(member.value.slice(json)));
    let is_fact = |fact: portion_json::containers::Member| {
        let key = fact.key.slice(note);
        !fact.value.slice(note).starts_with(['[', '{'])
            && (is_array(json) || members(json, of_json).all(|member| member.key.slice(json) != key))
    };
    note.starts_with('{') && holds_list && members(note, of_note).all(is_fact)
}

#[cfg(test)]
mod tests {
    use super::detect_json;
    use crate::snapshot::{IndexedText, Slice, Structure};

    fn check(text: &str, expect: Option<&str>) {
        let found = match detect_json(text) {
            Some(Structure::List(list)) => Some(list.pointer.clone()),
            _ => None,
        };
        assert_eq!(found.as_deref(), expect, "{text}");
    }

    #[test]
    fn facts_about_the_page_do_not_weigh() {
        let facts = format!(r#"{{"hasMore":true,"note":"{}","fields":["id","name"]}}"#, "long ".repeat(20));
        let list = r#"[{"id":1,"name":"Ada"},{"id":2,"name":"Ben"}]"#;
        check(&format!(r#"{{"items":{list},"nextCursor":"x","meta":{facts}}}"#), Some("/items"));
        check(&format!(r#"{{"data":{{"rows":{list},"pagination":{facts}}}}}"#), Some("/data/rows"));
        // A record keeps its list, and an object of content is what it is named after.
        check(
            &format!(r#"{{"id":7,"text":"{facts_len:0100}","tags":{list},"meta":{facts}}}"#, facts_len = 0),
            None,
        );
        let content = format!(r#"{{"hasMore":true,"items":{list}}}"#);
        check(&format!(r#"{{"filters":[{{"a":1}}],"page":{content}}}"#), Some("/page/items"));
        // A page without items.
        for page in [
            r#"{"items":[]}"#,
            r#"{"items":[],"nextCursor":null}"#,
            r#"{"status":"success","result":[],"count":0,"limit":100,"offset":7}"#,
            r#"{"data":{"rows":[ ],"pagination":{"has_more":false}}}"#,
            r#"{"items":[],"errors":[]}"#,
            r#"{"facets":[{"state":"CA"}],"items":[],"total":0}"#,
            r#"{"schema":{"fields":[{"name":"id"}]},"items":[],"totalRows":"0"}"#,
            r#"{"columns":["id","name"],"items":[]}"#,
            r#"{"items":null,"total":0}"#,
        ] {
            let place = if page.contains("items") {
                "/items"
            } else if page.contains("result") {
                "/result"
            } else {
                "/data/rows"
            };
            check(page, Some(place));
        }
        for object in [
            r#"{"name":"Ada","tags":[]}"#,
            r#"{"id":7,"count":0,"tags":[]}"#,
            r#"{"a":[],"b":[],"count":0}"#,
            r#"{"title":"Sales","data":[],"labels":["a","b"]}"#,
        ] {
            check(object, None);
        }
        check(&format!(r#"{{"related":{list},"page":{{"title":"a page","text":{facts:?}}}}}"#), None);
    }

    /// Checks the pointer of the list of a document; `None` for an object.
    fn check_groups(text: &str, expect: Option<&str>) {
        let subject = IndexedText::from_payload(Slice::new(text.to_owned()));
        let found = match &subject.structure {
            Structure::List(list) => Some(list.pointer.as_str()),
            _ => None,
        };
        assert_eq!(found, expect, "{text}");
    }

    fn records(count: usize) -> String {
        (0..count).map(|n| format!("{{\"id\":{n},\"title\":\"talk {n}\"}}")).collect::<Vec<_>>().join(",")
    }

    #[test]
    fn groups_are_no_list() {
        let talks = records(20);
        check_groups(
            &format!(
                "{{\"version\":\"2.1.0\",\"runs\":[{{\"tool\":{{\"name\":\"lint\"}},\"results\":[{talks}]}}]}}"
            ),
            None,
        );
        let day = |n: usize| {
            format!(
                "{{\"index\":{n},\"date\":\"2024-12-{n}\",\"rooms\":{{\"A\":[{talks}],\"B\":[{talks}]}}}}"
            )
        };
        let days: Vec<String> = (24..28).map(day).collect();
        check_groups(&format!("{{\"schedule\":{{\"days\":[{}]}}}}", days.join(",")), None);
        // The only item of a list has the records, and nothing of its own.
        check_groups(&format!("{{\"results\":[{{\"tables\":[{{\"rows\":[{talks}]}}]}}]}}"), None);
    }

    #[test]
    fn records_that_hold_lists_are_a_list() {
        let lines = records(20);
        let order = |n: usize| format!("{{\"order_id\":{n},\"lines\":[{lines}]}}");
        check_groups(&format!("{{\"orders\":[{},{}]}}", order(1), order(2)), Some("/orders"));
        check_groups(&format!("{{\"orders\":[{}]}}", order(1)), Some("/orders"));
        check_groups(&format!("{{\"items\":[{{\"state\":\"open\",\"lines\":[{lines}]}}]}}"), Some("/items"));
        let plain = |n: usize| {
            format!(
                "{{\"date\":\"2024-12-{n}\",\"note\":\"a longer text about this day\",\"tags\":[{{\"t\":1}}]}}"
            )
        };
        check_groups(&format!("{{\"days\":[{},{}]}}", plain(1), plain(2)), Some("/days"));
    }
}
