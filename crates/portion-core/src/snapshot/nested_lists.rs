//! Finds the lists of records in an object, at any depth, and joins those whose paths are alike.
//!
//! A pattern is a JSON Pointer in which a step `*` stands for each item or member: `/days/*/rooms/*`.

use std::collections::HashMap;
use std::fmt::Write as _;

use portion_json::containers::{Member, items, members};
use portion_json::json_pointer::step_from_quoted;
use portion_json::scan::{JsonKind, quote, unescape};
use portion_json::span::Span;

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
/// Longest table of joined lists, in bytes.
const MAX_JOINED_BYTES: usize = 64 << 20;

/// Returns the lists of records in the value at a span, the largest first. A map of objects is a list.
fn nested_lists(text: &str, value: Span) -> Vec<NestedLists> {
    let mut found: Vec<NestedLists> = Vec::new();
    let mut indexes: HashMap<String, usize> = HashMap::new();
    let mut open = vec![(value, String::new(), 0)];
    while let Some((value, pattern, depth)) = open.pop() {
        let container = Container::read(text, value);
        let children = container.values();
        if container.holds_records(text) {
            let new = found.len();
            let at = *indexes.entry(pattern.clone()).or_insert(new);
            if at == new && new < MAX_PATTERNS {
                found.push(NestedLists { pattern: pattern.clone(), record_count: 0, byte_count: 0 });
            }
            if let Some(lists) = found.get_mut(at) {
                lists.record_count += children.len();
                lists.byte_count += value.len();
            }
        }
        if depth == MAX_DEPTH {
            continue;
        }
        let is_alike = container.is_alike(text);
        for (at, child) in children.into_iter().enumerate() {
            if JsonKind::of_value(child.slice(text)).is_container() {
                let step = if is_alike { "*".to_owned() } else { container.step(text, at) };
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

/// Returns the records of all lists at a pattern as one JSON array; `None` if there are none, or if it has no step `*`.
///
/// Each record begins with what is above it: for each step `*`, the key, or the index with the scalars of that item. A pattern
/// that begins with `*/` stands for lists at any depth.
pub fn joined_records(text: &str, value: Span, pattern: &str) -> Option<String> {
    let steps: Vec<String> =
        pattern.split('/').map(|step| step.replace("~1", "/").replace("~0", "~")).collect();
    // The first step is empty, or `*` for any depth.
    let is_pattern =
        pattern.starts_with("*/") || pattern.starts_with('/') && steps.iter().any(|step| step == "*");
    if !is_pattern {
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
    while let Some(place) = open.pop() {
        let container = Container::read(text, place.value);
        let Some(step) = steps.get(place.step) else {
            if container.is_list(text) {
                container.write_records(text, &place.above, &mut out);
            }
            if out.len() > MAX_JOINED_BYTES {
                return None;
            }
            continue;
        };
        let is_any_depth = place.step == 0;
        let is_alike = container.is_alike(text);
        let values = container.values();
        // The last place is visited first.
        for at in (0..values.len()).rev() {
            let inner = place.inner(&container, text, at, is_alike);
            if is_any_depth {
                if place.depth < MAX_DEPTH && JsonKind::of_value(values[at].slice(text)).is_container() {
                    open.push(Place { step: 0, ..inner.clone() });
                }
                if steps.get(1).is_some_and(|step| container.name(text, at) == *step) {
                    open.push(Place { step: 2, above: place.above.clone(), ..inner });
                }
            } else if step == "*" {
                open.push(inner);
            } else if container.name(text, at) == *step {
                open.push(Place { above: place.above.clone(), ..inner });
            }
        }
    }
    out.push(']');
    (out.len() > 2).then_some(out)
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
    /// What is above it, as members of its records: name and JSON.
    above: Vec<(String, String)>,
}

impl Place {
    /// Returns the place of a child, by the step `*`.
    fn inner(&self, container: &Container, text: &str, at: usize, is_alike: bool) -> Self {
        let mut above = self.above.clone();
        // At any depth, only what is alike needs to be told apart.
        if self.step > 0 || is_alike {
            above.push((self.name.clone(), container.label(text, at)));
        }
        let is_named = !is_alike && matches!(container, Container::Object(_));
        let name = if is_named { container.name(text, at) } else { self.name.clone() };
        Self { value: container.values()[at], depth: self.depth + 1, step: self.step + 1, name, above }
    }
}

/// Returns true if at least half of the objects, and at least this number, have a key in common.
fn has_common_key(text: &str, objects: &[Span], least: usize) -> bool {
    let sample = objects.get(..SAMPLED_MEMBERS).unwrap_or(objects);
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for member in sample.iter().flat_map(|object| members(text, *object)) {
        *counts.entry(member.key.slice(text)).or_default() += 1;
    }
    counts.values().any(|count| *count >= least && *count * 2 >= sample.len())
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

    fn values(&self) -> Vec<Span> {
        match self {
            Self::Object(members) => members.iter().map(|member| member.value).collect(),
            Self::Array(items) => items.clone(),
        }
    }

    /// Returns true if all children are objects.
    fn is_list(&self, text: &str) -> bool {
        let is_object = |value: &Span| JsonKind::of_value(value.slice(text)) == JsonKind::Object;
        let values = self.values();
        !values.is_empty() && values.iter().all(is_object)
    }

    /// Returns true for an array of objects, or a map of objects of which half have a key in common.
    fn holds_records(&self, text: &str) -> bool {
        let is_array = matches!(self, Self::Array(_));
        self.is_list(text) && (is_array || has_common_key(text, &self.values(), 2))
    }

    /// Returns true if the children are alike: the items of an array, and the members of a map of objects or of lists.
    fn is_alike(&self, text: &str) -> bool {
        let values = self.values();
        if matches!(self, Self::Array(_)) {
            return values.len() > 1;
        }
        let first = |value: &Span| items(text, *value).next();
        let is_array = |value: &Span| JsonKind::of_value(value.slice(text)) == JsonKind::Array;
        let firsts: Vec<Span> = values.iter().filter_map(first).collect();
        let are_lists = values.len() >= MIN_LISTS && values.iter().all(is_array);
        self.holds_records(text) || are_lists && has_common_key(text, &firsts, 2)
    }

    /// Returns the step to a child, in a JSON Pointer.
    fn step(&self, text: &str, at: usize) -> String {
        match self {
            Self::Object(members) => step_from_quoted(members[at].key.slice(text)),
            Self::Array(_) => at.to_string(),
        }
    }

    /// Returns the key or the index of a child.
    fn name(&self, text: &str, at: usize) -> String {
        match self {
            Self::Object(members) => unescape(members[at].key.slice(text)),
            Self::Array(_) => at.to_string(),
        }
    }

    /// Returns what names a child in its records, as JSON: a key, or an index with the scalars of the child.
    fn label(&self, text: &str, at: usize) -> String {
        let (own, name) = match self {
            Self::Object(members) => ("_key", members[at].key.slice(text).to_owned()),
            Self::Array(_) => ("_index", at.to_string()),
        };
        let is_scalar = |member: &Member| !JsonKind::of_value(member.value.slice(text)).is_container();
        let child = self.values()[at];
        let scalars: Vec<Member> = match JsonKind::of_value(child.slice(text)) {
            JsonKind::Object => members(text, child).filter(is_scalar).collect(),
            _ => Vec::new(),
        };
        if scalars.is_empty() {
            return name;
        }
        let mut out = format!("{{\"{own}\":{name}");
        for member in scalars {
            let _ = write!(out, ",{}", member.span().slice(text));
        }
        out.push('}');
        out
    }

    /// Appends each child as a record that begins with what is above it. Names of the record itself come first.
    fn write_records(&self, text: &str, above: &[(String, String)], out: &mut String) {
        for (at, value) in self.values().into_iter().enumerate() {
            let own: Vec<String> =
                members(text, value).map(|member| unescape(member.key.slice(text))).collect();
            let key = match self {
                Self::Object(members) => Some(("_key".to_owned(), members[at].key.slice(text).to_owned())),
                Self::Array(_) => None,
            };
            out.push_str(if out.len() > 1 { ",{" } else { "{" });
            let start = out.len();
            for (name, json) in above.iter().chain(&key).filter(|(name, _)| !own.contains(name)) {
                let _ = write!(out, "{}:{json},", quote(name));
            }
            out.push_str(Span::new(value.start as usize + 1, value.end as usize - 1).slice(text));
            if own.is_empty() && out.len() > start {
                out.truncate(out.trim_end_matches([',', ' ', '\n', '\r', '\t']).len());
            }
            out.push('}');
        }
    }
}

#[cfg(test)]
mod tests {
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
        assert_eq!(joined("/days"), None);
        assert_eq!(joined("/none/*"), None);
        let talks =
            r#"{"a":{"talks":[{"id":1}]},"b":[{"n":"x","talks":[{"id":2},{}]},{"n":"y","talks":[]}]}"#;
        assert_eq!(
            joined_records(talks, all(talks), "*/talks").as_deref(),
            Some(r#"[{"id":1},{"b":{"_index":0,"n":"x"},"id":2},{"b":{"_index":0,"n":"x"}}]"#),
        );
    }
}
