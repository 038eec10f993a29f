//! Finds the lists of records in an object, at any depth, and joins those whose paths are alike.
//!
//! A pattern is a JSON Pointer in which a step `*` stands for each item or member: `/days/*/rooms/*`.

use std::collections::HashMap;
use std::fmt::Write as _;

use portion_json::containers::{Member, items, members};
use portion_json::path::{escape_step, unescape_step};
use portion_json::scan::{JsonKind, quote, unescape};
use portion_json::span::Span;

use crate::policy::StripRule;

/// All lists of records at one pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NestedLists {
    /// The pattern of their paths.
    pub pattern: String,
    /// Number of their records.
    pub record_count: usize,
    /// Bytes of all.
    pub byte_count: usize,
}

impl NestedLists {
    /// Returns true if a rule strips the lists, or an object around them, from a text of `text_bytes` bytes.
    pub(crate) fn is_stripped(&self, strip: &StripRule, text_bytes: usize) -> bool {
        let path = self.pattern.trim_start_matches('/').replace('/', ".");
        let ends = path.match_indices('.').map(|(at, _)| at).chain([path.len()]);
        ends.into_iter().any(|end| strip.strips_member(&path[..end], self.byte_count, text_bytes))
    }
}

/// Smallest list that is named to a reader, in bytes.
pub(crate) const MIN_LIST_BYTES: usize = 400;
/// Levels of containers that are searched.
const MAX_DEPTH: usize = 10;
/// Patterns that are found.
const MAX_PATTERNS: usize = 64;
/// Lists of a map whose keys are values. Fewer are lists with names of their own.
const MIN_LISTS: usize = 3;
/// Share of the bytes of lists that the lists in their records have, in percent, if questions are about these.
const MIN_INNER_PERCENT: usize = 60;
/// Members of a map that are compared.
const SAMPLED_MEMBERS: usize = 16;
/// Levels of containers in which lists are joined. Each is read whole, so a document of nothing but levels would be read once
/// for each.
const MAX_JOINED_DEPTH: usize = 128;
/// Longest table of joined lists, in bytes.
const MAX_JOINED_BYTES: usize = 64 << 20;

/// Returns the lists of records in the value at a span, the largest first. A map of objects is a list.
fn nested_lists(text: &str, value: Span) -> Vec<NestedLists> {
    let mut found: Vec<NestedLists> = Vec::new();
    let mut indexes: HashMap<String, usize> = HashMap::new();
    let mut open = vec![(value, String::new(), 0)];
    while let Some((value, pattern, depth)) = open.pop() {
        let container = Container::read(text, value);
        if container.holds_records(text) {
            let new = found.len();
            let at = *indexes.entry(pattern.clone()).or_insert(new);
            if at == new && new < MAX_PATTERNS {
                found.push(NestedLists { pattern: pattern.clone(), record_count: 0, byte_count: 0 });
            }
            if let Some(lists) = found.get_mut(at) {
                lists.record_count += container.objects(text).count();
                lists.byte_count += value.len();
            }
        }
        if depth == MAX_DEPTH {
            continue;
        }
        let is_alike = container.is_alike(text);
        for (at, child) in container.values().enumerate() {
            if JsonKind::of_value(child.slice(text)).is_container() {
                let step = if is_alike { "*".to_owned() } else { escape_step(&container.name(text, at)) };
                open.push((child, format!("{pattern}/{step}"), depth + 1));
            }
        }
    }
    // A list of one is an object.
    found.retain(|lists| lists.record_count > 1);
    found.sort_by(|a, b| b.byte_count.cmp(&a.byte_count).then_with(|| a.pattern.cmp(&b.pattern)));
    found
}

/// Returns the lists that questions are likely about, the largest first: of lists whose records are mostly further lists, those.
pub fn main_lists(text: &str, value: Span) -> Vec<NestedLists> {
    let all = nested_lists(text, value);
    let has_better = |outer: &NestedLists| {
        all.iter().any(|inner| {
            let rest = inner.pattern.strip_prefix(outer.pattern.as_str());
            rest.is_some_and(|rest| rest.starts_with('/'))
                && inner.byte_count * 100 >= outer.byte_count * MIN_INNER_PERCENT
                && inner.record_count >= 2 * outer.record_count
        })
    };
    all.iter().filter(|lists| !has_better(lists)).cloned().collect()
}

/// Returns true for an array of objects, or a map of objects of which half have a key in common.
pub fn holds_records(text: &str, value: Span) -> bool {
    Container::read(text, value).holds_records(text)
}

/// Returns the records of all lists at a pattern as one JSON array; `None` if there are no lists. A value in a list without objects is
/// the member `value` of a record.
///
/// Each record begins with what is above it: for each step `*`, the key, or the index with the scalars of that item and its
/// objects of scalars; of several with one name, the innermost. A pattern that begins with `*/` stands for lists at any depth down
/// to 128 levels, beyond which parsers of JSON do not go either.
pub fn joined_records(text: &str, value: Span, pattern: &str) -> Option<String> {
    let steps: Vec<String> = pattern.split('/').map(unescape_step).collect();
    // The first step is empty, or `*` for any depth.
    if !steps[0].is_empty() && !pattern.starts_with("*/") {
        return None;
    }
    let mut out = String::from("[");
    let mut open = vec![Place {
        value,
        depth: 0,
        step: usize::from(steps[0].is_empty()),
        name: "list".to_owned(),
        above: Vec::new(),
    }];
    let mut is_found = false;
    while let Some(place) = open.pop() {
        let container = Container::read(text, place.value);
        let Some(step) = steps.get(place.step) else {
            if container.is_list(text) || container.holds_values(text) {
                is_found = true;
                container.write_records(text, &place.above, &mut out);
            }
            if out.len() > MAX_JOINED_BYTES {
                return None;
            }
            continue;
        };
        let is_any_depth = place.step == 0;
        let is_alike = container.is_alike(text);
        let names_children = !is_alike && matches!(container, Container::Object(_));
        let inner = |at: usize, is_labelled: bool| {
            let name = if names_children { container.name(text, at) } else { place.name.clone() };
            place.inner(container.value(at), name, is_labelled.then(|| container.label(text, at)))
        };
        // The last place is visited first.
        for at in (0..container.len()).rev() {
            if is_any_depth {
                let is_container = JsonKind::of_value(container.value(at).slice(text)).is_container();
                if place.depth < MAX_JOINED_DEPTH && is_container {
                    // Only what is alike needs to be told apart.
                    open.push(Place { step: 0, ..inner(at, is_alike) });
                }
                if steps.get(1).is_some_and(|step| container.name(text, at) == *step) {
                    open.push(Place { step: 2, ..inner(at, false) });
                }
            } else if step == "*" || container.name(text, at) == *step {
                open.push(inner(at, step == "*"));
            }
        }
    }
    out.push(']');
    is_found.then_some(out)
}

/// A value on the way to lists.
#[derive(Clone)]
struct Place {
    value: Span,
    /// Levels above it.
    depth: usize,
    /// Index of the step that leads on.
    step: usize,
    /// The last name on the way to it.
    name: String,
    /// Members of its records that say what is above it: name and JSON.
    above: Vec<(String, String)>,
}

impl Place {
    /// Returns the place of a child, one step further. Its records have the label, if there is one.
    fn inner(&self, value: Span, name: String, label: Option<String>) -> Self {
        let mut above = self.above.clone();
        if let Some(label) = label {
            above.retain(|(name, _)| *name != self.name);
            above.push((self.name.clone(), label));
        }
        Self { value, depth: self.depth + 1, step: self.step + 1, name, above }
    }
}

/// Returns true if at least half of the objects, and at least this number, have a key in common.
fn has_common_key(text: &str, objects: impl Iterator<Item = Span>, min: usize) -> bool {
    let sample: Vec<Span> = objects.take(SAMPLED_MEMBERS).collect();
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for member in sample.iter().flat_map(|object| members(text, *object)) {
        *counts.entry(member.key.slice(text)).or_default() += 1;
    }
    counts.values().any(|count| *count >= min && *count * 2 >= sample.len())
}

/// The children of a value.
enum Container {
    Object(Vec<Member>),
    Array(Vec<Span>),
}

impl Container {
    fn read(text: &str, value: Span) -> Self {
        match JsonKind::of_value(value.slice(text)) {
            JsonKind::Object => Self::Object(members(text, value).collect()),
            _ => Self::Array(items(text, value).collect()),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Object(members) => members.len(),
            Self::Array(items) => items.len(),
        }
    }

    fn value(&self, at: usize) -> Span {
        match self {
            Self::Object(members) => members[at].value,
            Self::Array(items) => items[at],
        }
    }

    fn values(&self) -> impl Iterator<Item = Span> {
        (0..self.len()).map(|at| self.value(at))
    }

    fn objects<'a>(&'a self, text: &'a str) -> impl Iterator<Item = Span> + 'a {
        self.values().filter(|value| JsonKind::of_value(value.slice(text)) == JsonKind::Object)
    }

    /// Returns true if all children are objects. Beside those of a map may be one array, which often has its keys.
    fn is_list(&self, text: &str) -> bool {
        let objects = self.objects(text).count();
        let is_array = |value: Span| JsonKind::of_value(value.slice(text)) == JsonKind::Array;
        let has_array = matches!(self, Self::Object(_))
            && objects >= MIN_LISTS
            && self.values().filter(|value| is_array(*value)).count() == 1;
        objects > 0 && objects + usize::from(has_array) == self.len()
    }

    /// Returns true for an array without objects.
    fn holds_values(&self, text: &str) -> bool {
        matches!(self, Self::Array(_)) && self.objects(text).next().is_none()
    }

    /// Returns true for an array of objects, or a map of objects of which half have a key in common.
    fn holds_records(&self, text: &str) -> bool {
        let is_array = matches!(self, Self::Array(_));
        self.is_list(text) && (is_array || has_common_key(text, self.values(), 2))
    }

    /// Returns true if the children are alike: the items of an array, and the members of a map of objects or of lists.
    fn is_alike(&self, text: &str) -> bool {
        if matches!(self, Self::Array(_)) {
            return self.len() > 1;
        }
        let is_array = |value: Span| JsonKind::of_value(value.slice(text)) == JsonKind::Array;
        let are_lists = self.len() >= MIN_LISTS && self.values().all(is_array);
        let firsts = self.values().filter_map(|value| items(text, value).next());
        self.holds_records(text) || are_lists && has_common_key(text, firsts, 2)
    }

    /// Returns the key or the index of a child.
    fn name(&self, text: &str, at: usize) -> String {
        match self {
            Self::Object(members) => unescape(members[at].key.slice(text)),
            Self::Array(_) => at.to_string(),
        }
    }

    /// Returns what names a child in its records, as JSON: a key, or an index with the scalars of the child and its objects of
    /// scalars.
    fn label(&self, text: &str, at: usize) -> String {
        let (own, name) = match self {
            Self::Object(members) => ("_key", members[at].key.slice(text).to_owned()),
            Self::Array(_) => ("_index", at.to_string()),
        };
        let is_scalar = |member: &Member| !JsonKind::of_value(member.value.slice(text)).is_container();
        let is_flat = |member: &Member| {
            let mut inside = members(text, member.value).peekable();
            is_scalar(member) || inside.peek().is_some() && inside.all(|member| is_scalar(&member))
        };
        let flat: Vec<Member> = members(text, self.value(at)).filter(is_flat).collect();
        if flat.is_empty() {
            return name;
        }
        let mut out = format!("{{\"{own}\":{name}");
        for member in flat {
            let _ = write!(out, ",{}", member.span().slice(text));
        }
        out.push('}');
        out
    }

    /// Appends each child as a record that begins with what is above it. Names of the record itself come first.
    fn write_records(&self, text: &str, above: &[(String, String)], out: &mut String) {
        for (at, value) in self.values().enumerate() {
            let is_object = JsonKind::of_value(value.slice(text)) == JsonKind::Object;
            if !is_object && matches!(self, Self::Object(_)) {
                continue;
            }
            let mut own: Vec<String> =
                members(text, value).map(|member| unescape(member.key.slice(text))).collect();
            own.extend((!is_object).then(|| "value".to_owned()));
            let key = match self {
                Self::Object(members) => Some(("_key".to_owned(), members[at].key.slice(text).to_owned())),
                Self::Array(_) => None,
            };
            out.push_str(if out.len() > 1 { ",{" } else { "{" });
            let start = out.len();
            for (name, json) in above.iter().chain(&key).filter(|(name, _)| !own.contains(name)) {
                let _ = write!(out, "{}:{json},", quote(name));
            }
            if is_object {
                out.push_str(Span::new(value.start as usize + 1, value.end as usize - 1).slice(text));
            } else {
                let _ = write!(out, "\"value\":{}", value.slice(text));
            }
            if own.is_empty() && out.len() > start {
                out.truncate(out.trim_end_matches([',', ' ', '\n', '\r', '\t']).len());
            }
            out.push('}');
        }
    }
}

#[cfg(test)]
mod tests {
    use portion_json::containers::items;
    use portion_json::scan::is_json;
    use portion_json::span::Span;

    use super::{joined_records, main_lists};

    fn all(text: &str) -> Span {
        Span::new(0, text.len())
    }

    fn patterns(text: &str) -> Vec<String> {
        main_lists(text, all(text))
            .into_iter()
            .map(|lists| format!("{} {}", lists.pattern, lists.record_count))
            .collect()
    }

    const SCHEDULE: &str = r#"{"v":1,"days":[{"date":"1 May","rooms":{"A":[{"id":1,"title":"a first title"},{"id":2,"title":"b"}],"B":[{"id":3,"title":"c"}],"C":[{"id":6,"title":"f"}]}},
        {"date":"2 May","rooms":{"A":[{"id":4,"title":"d"},{"id":5,"title":"e"}],"B":[],"C":[{"id":7,"title":"g"}]}}]}"#;

    #[test]
    fn lists_are_found_at_any_depth() {
        assert_eq!(patterns(SCHEDULE), ["/days/*/rooms/* 7"]);
        let sarif = r#"{"runs":[{"tool":{"rules":[{"id":"a"},{"id":"b"}]},"results":[{"ruleId":"a","text":"some text"},{"ruleId":"b","text":"some text"}]}]}"#;
        assert_eq!(patterns(sarif), ["/runs/0/results 2", "/runs/0/tool/rules 2"]);
        let maps = r#"{"info":{"t":1},"paths":{"/a":{"get":{"id":"x"},"put":{"id":"yyyyyyyyy"}},"/b":{"get":{"id":"z"},"put":{"id":"u"}}}}"#;
        assert_eq!(patterns(maps), ["/paths/* 4"]);
        assert_eq!(patterns(r#"{"a":[1,2],"b":{"c":"d"},"e":[[1],[2]]}"#), Vec::<String>::new());
    }

    #[test]
    fn long_lists_are_joined() {
        let item = |n: usize| format!(r#"{{"n":{n},"tags":[{{"t":1}}]}}"#);
        let text = format!("{{\"a\":[{}]}}", (0..100_000).map(item).collect::<Vec<_>>().join(","));
        for pattern in ["/a/*/tags", "*/tags"] {
            let joined = joined_records(&text, all(&text), pattern).expect("records");
            assert_eq!(joined.matches("\"t\":1").count(), 100_000);
        }
        assert_eq!(main_lists(&text, all(&text)).len(), 2);
    }

    #[test]
    fn records_are_joined_with_what_is_above_them() {
        let joined = |pattern: &str| {
            let joined = joined_records(SCHEDULE, all(SCHEDULE), pattern);
            assert!(joined.as_deref().is_none_or(is_json), "{joined:?}");
            joined
        };
        let rooms = joined("/days/*/rooms/*").expect("records");
        assert!(
            rooms.starts_with(
                r#"[{"days":{"_index":0,"date":"1 May"},"rooms":"A","id":1,"title":"a first title"},"#
            ),
            "{rooms}"
        );
        assert!(
            rooms.ends_with(r#"{"days":{"_index":1,"date":"2 May"},"rooms":"C","id":7,"title":"g"}]"#),
            "{rooms}"
        );
        assert_eq!(joined("/days/*/rooms/A").map(|json| json.matches("\"id\"").count()), Some(4));
        assert_eq!(joined("/days/0/rooms/*").map(|json| json.matches("\"id\"").count()), Some(4));
        assert_eq!(joined("/days").map(|json| json.matches("\"date\"").count()), Some(2));
        // The map of an API has its keys beside its records.
        let map = r#"{"result":{"uids":["7","8","9"],"7":{"id":"a"},"8":{"id":"b"},"9":{"id":"c"}}}"#;
        let records = r#"[{"_key":"7","id":"a"},{"_key":"8","id":"b"},{"_key":"9","id":"c"}]"#;
        assert_eq!(joined_records(map, all(map), "/result").as_deref(), Some(records));
        assert_eq!(main_lists(map, all(map))[0].record_count, 3);
        assert_eq!(main_lists(&map.replace("[\"7\",\"8\",\"9\"]", "7"), all(map)).len(), 0);
        let tags = r#"{"hosts":[{"id":"a","tags":["x","y"]},{"id":"b","tags":[]},{"id":"c","tags":["z"]}]}"#;
        assert_eq!(
            joined_records(tags, all(tags), "*/tags").as_deref(),
            Some(concat!(
                r#"[{"hosts":{"_index":0,"id":"a"},"value":"x"},{"hosts":{"_index":0,"id":"a"},"value":"y"},"#,
                r#"{"hosts":{"_index":2,"id":"c"},"value":"z"}]"#
            )),
        );
        assert_eq!(joined("/none/*"), None);
        let deep =
            (0..20).fold("[]".to_owned(), |inner, n| format!(r#"[{{"n":{n},"kids":{inner}}},{{"n":-{n}}}]"#));
        let tree = format!(r#"{{"kids":{deep}}}"#);
        let nodes = joined_records(&tree, all(&tree), "*/kids").expect("records");
        assert_eq!(items(&nodes, all(&nodes)).count(), 40);
        let levels = format!("{}1{}", "[".repeat(200_000), "]".repeat(200_000));
        assert_eq!(joined_records(&levels, all(&levels), "*/kids"), None);
        let series = r#"{"result":[{"metric":{"pod":"a"},"values":[[1,"2"]]},{"metric":{"pod":"b"},"values":[[1,"3"]]}]}"#;
        assert_eq!(
            joined_records(series, all(series), "*/values").as_deref(),
            Some(concat!(
                r#"[{"result":{"_index":0,"metric":{"pod":"a"}},"value":[1,"2"]},"#,
                r#"{"result":{"_index":1,"metric":{"pod":"b"}},"value":[1,"3"]}]"#
            )),
        );
        let talks =
            r#"{"a":{"talks":[{"id":1}]},"b":[{"n":"x","talks":[{"id":2},{}]},{"n":"y","talks":[]}]}"#;
        assert_eq!(
            joined_records(talks, all(talks), "*/talks").as_deref(),
            Some(r#"[{"id":1},{"b":{"_index":0,"n":"x"},"id":2},{"b":{"_index":0,"n":"x"}}]"#),
        );
    }
}
