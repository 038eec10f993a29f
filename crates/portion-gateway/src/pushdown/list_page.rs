//! Reads one page of a list from a JSON text: its items, the total, and what follows.

use portion_json::path::{PathSteps, find_child};
use portion_json::scan::{JsonKind, JsonReader, unescape};
use portion_json::span::Span;
use portion_policy::page_names::{
    AMBIGUOUS_TOTAL_NAME, HAS_MORE_NAMES, NEXT_NAMES, PAGE_OBJECTS, TOTAL_NAMES,
};
use portion_policy::pushdown::Pushdown;

/// Names of lists, the most specific first.
const LIST_NAMES: &[&str] =
    &["items", "results", "result", "records", "data", "entries", "rows", "list", "value", "content"];

/// A page of a list.
#[derive(Debug)]
pub(crate) struct ListPage<'a> {
    pub text: &'a str,
    /// Span of the array, brackets included.
    pub list: Span,
    pub items: Vec<Span>,
    pub facts: PageFacts,
}

/// Facts about a page of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PageFacts {
    /// Number of items of the whole list.
    pub total: Option<usize>,
    pub has_more: Option<bool>,
    pub next: NextPage,
}

/// Member of a page that leads to the next one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum NextPage {
    /// There is no such member.
    #[default]
    Unknown,
    /// The member is null or empty: this is the last page.
    End,
    /// Its value, as JSON.
    Value(String),
}

impl<'a> ListPage<'a> {
    /// Reads a page. Returns `None` if the text is not JSON, or has no list.
    pub(crate) fn parse(text: &'a str, pushdown: &Pushdown) -> Option<Self> {
        let mut reader = JsonReader::new(text);
        let root = reader.skip().ok()?;
        reader.expect_end().ok()?;
        let list = match &pushdown.items {
            Some(path) => value_at(text, root, path)?,
            None => detect_list(text, root)?,
        };
        let items = items(text, list)?;
        let facts = PageFacts::read(text, root, pushdown, items.len());
        Some(Self { text, list, items, facts })
    }
}

impl PageFacts {
    fn read(text: &str, root: Span, pushdown: &Pushdown, items: usize) -> Self {
        let at = |path: &str| value_at(text, root, path);
        let total = if let Some(path) = &pushdown.total {
            at(path).and_then(|value| parse_count(value.slice(text)))
        } else {
            let found = named(text, root, TOTAL_NAMES, |value| parse_count(value).is_some());
            found.and_then(|(name, value)| {
                let total = parse_count(value.slice(text))?;
                (name != AMBIGUOUS_TOTAL_NAME || total > items).then_some(total)
            })
        };
        let has_more = match &pushdown.has_more {
            Some(path) => at(path),
            None => named(text, root, HAS_MORE_NAMES, |value| matches!(value, "true" | "false"))
                .map(|found| found.1),
        };
        let has_more = has_more.and_then(|value| match value.slice(text) {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        });
        let next = match &pushdown.next {
            // A member that is left out at the end is like null.
            Some(path) => at(path).map_or(NextPage::End, |value| NextPage::from_json(value.slice(text))),
            None => named(text, root, NEXT_NAMES, |_| true)
                .map_or(NextPage::Unknown, |(_, value)| NextPage::from_json(value.slice(text))),
        };
        Self { total, has_more, next }
    }
}

impl NextPage {
    fn from_json(json: &str) -> Self {
        match (JsonKind::of_value(json), json) {
            (JsonKind::Null, _) | (_, "false" | "\"\"" | "{}") => Self::End,
            (JsonKind::String | JsonKind::Number, _) => Self::Value(json.to_owned()),
            _ => Self::Unknown,
        }
    }
}

/// Returns the value at a path below a value.
pub(crate) fn value_at(text: &str, root: Span, path: &str) -> Option<Span> {
    let (mut at, mut rest) = (root, PathSteps::parse(path));
    while !rest.is_empty() {
        let (value, step) = find_child(text, at, rest)?;
        (at, rest) = (value, step.rest);
    }
    Some(at)
}

/// Returns the members of an object: decoded name and value; empty for other values.
pub(crate) fn members(text: &str, object: Span) -> Vec<(String, Span)> {
    let mut all = Vec::new();
    let mut reader = JsonReader::resume(text, object.start as usize);
    if reader.enter_object().is_ok() {
        while let Ok(Some(key)) = reader.next_key() {
            let Ok(value) = reader.skip() else { break };
            all.push((unescape(reader.text(key)), value));
        }
    }
    all
}

fn items(text: &str, array: Span) -> Option<Vec<Span>> {
    let mut reader = JsonReader::resume(text, array.start as usize);
    reader.enter_array().ok()?;
    let mut all = Vec::new();
    while reader.next_item().ok()? {
        all.push(reader.skip().ok()?);
    }
    Some(all)
}

fn detect_list(text: &str, root: Span) -> Option<Span> {
    let is_list = |value: Span| JsonKind::of_value(value.slice(text)) == JsonKind::Array;
    if is_list(root) {
        return Some(root);
    }
    let lists: Vec<_> = members(text, root).into_iter().filter(|(_, value)| is_list(*value)).collect();
    match &*lists {
        [(_, only)] => Some(*only),
        _ => {
            LIST_NAMES.iter().find_map(|name| lists.iter().find(|(own, _)| own == name)).map(|found| found.1)
        }
    }
}

/// Returns the first of these members of the root or of an object about the page whose value `fits`.
fn named(
    text: &str,
    root: Span,
    names: &[&'static str],
    fits: impl Fn(&str) -> bool,
) -> Option<(&'static str, Span)> {
    let outer = members(text, root);
    let inner = outer.iter().filter(|(name, _)| PAGE_OBJECTS.contains(&name.as_str()));
    let inner = inner.map(|(_, value)| members(text, *value)).collect::<Vec<_>>();
    let levels = std::iter::once(&outer).chain(&inner);
    levels.into_iter().find_map(|level| {
        let found = |name: &&'static str| {
            let (_, value) = level.iter().find(|(own, value)| own == name && fits(value.slice(text)))?;
            Some((*name, *value))
        };
        names.iter().find_map(found)
    })
}

/// Parses a count: a number, or a string of digits.
fn parse_count(json: &str) -> Option<usize> {
    json.trim_matches('"').parse().ok()
}

#[cfg(test)]
mod tests {
    use portion_policy::pushdown::Pushdown;

    use super::{ListPage, NextPage, PageFacts};

    fn check(text: &str, pushdown: &Pushdown, expect: Option<(usize, PageFacts)>) {
        let found = ListPage::parse(text, pushdown).map(|page| (page.items.len(), page.facts));
        let (found, expect) = (found, expect);
        assert_eq!(found, expect, "{text}");
    }

    #[test]
    fn finds_the_list_and_the_facts_about_it() {
        let auto = Pushdown::default();
        let facts = |total, has_more, next| PageFacts { total, has_more, next };
        let unknown = || NextPage::Unknown;
        check("[1,2]", &auto, Some((2, facts(None, None, unknown()))));
        check("[1,2] x", &auto, None);
        check("a text", &auto, None);
        check(r#"{"status":"success"}"#, &auto, None);
        let text = r#"{"status":"success","result":[{"id":1}],"count":500,"limit":1,"offset":0}"#;
        check(text, &auto, Some((1, facts(Some(500), None, unknown()))));
        // This may be the number of items of the page.
        check(r#"{"result":[1,2],"count":2}"#, &auto, Some((2, facts(None, None, unknown()))));
        let named = Pushdown { total: Some("/count".into()), ..Pushdown::default() };
        check(r#"{"result":[1,2],"count":2}"#, &named, Some((2, facts(Some(2), None, unknown()))));
        check(
            r#"{"data":[1],"tags":[2,3],"pagination":{"total":"9","has_more":true,"next_cursor":"x"}}"#,
            &auto,
            Some((1, facts(Some(9), Some(true), NextPage::Value("\"x\"".into())))),
        );
        check(
            r#"{"count":1,"next":null,"previous":null,"results":[]}"#,
            &auto,
            Some((0, facts(Some(1), None, NextPage::End))),
        );
        let deep = Pushdown {
            items: Some("data.rows".into()),
            next: Some("/data/after".into()),
            has_more: Some("data.more".into()),
            ..Pushdown::default()
        };
        check(
            r#"{"data":{"rows":[1],"more":false}}"#,
            &deep,
            Some((1, facts(None, Some(false), NextPage::End))),
        );
        check(r#"{"rows":[1]}"#, &deep, None);
    }
}
