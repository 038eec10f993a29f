//! The result of a call, with its list if it has one, and facts about its page: the total, and what leads to the
//! next page.

use portion_core::page_names::{
    LINK_NAMES, PageRole, has_word, is_called_total, is_page_object, leads_on_in, may_be_total, says_more,
    words,
};
use portion_core::payload::{Block, Content, Payload};
use portion_core::snapshot::{Structure, capture};
use portion_json::scan::JsonKind;
use serde_json::{Map, Value};

/// Levels of objects about the page that are read.
const MAX_FACT_DEPTH: usize = 2;

/// The result of a call.
#[derive(Clone, Debug)]
pub struct Observation {
    /// Texts of the blocks, in order, and `structuredContent`.
    texts: Vec<String>,
    structured: Option<String>,
    /// True if the call failed.
    pub is_error: bool,
    /// The text that holds the data: `structuredContent` if it has a list, else the longest text.
    pub data: String,
    /// The data as JSON, if it is JSON.
    pub json: Option<Value>,
    /// JSON Pointer of the list in the JSON.
    list: Option<String>,
}

impl Observation {
    /// Reads the `result` member of a response to `tools/call`.
    pub fn from_result(result: &Value) -> Self {
        let blocks = result.get("content").and_then(Value::as_array).into_iter().flatten();
        let text_of = |block: &Value| {
            let text = block.get("text").or_else(|| block.pointer("/resource/text"));
            text.and_then(Value::as_str).map(str::to_owned)
        };
        let texts: Vec<String> = blocks.filter_map(text_of).collect();
        let structured = result.get("structuredContent").filter(|value| !value.is_null());
        let structured = structured.map(Value::to_string);
        let is_error = result.get("isError") == Some(&Value::Bool(true));
        Self::new(texts, structured, is_error)
    }

    /// Creates the result of one text.
    #[cfg(test)]
    pub(crate) fn of_text(text: &str) -> Self {
        Self::new(vec![text.to_owned()], None, false)
    }

    fn new(texts: Vec<String>, structured: Option<String>, is_error: bool) -> Self {
        let longest = texts.iter().max_by_key(|text| text.len()).cloned().unwrap_or_default();
        // As in the gateway: programs read `structuredContent` first, and a text may be one item of it.
        let candidates = structured.iter().cloned().chain([longest.clone()]).map(read_data);
        let mut candidates: Vec<_> = candidates.collect();
        let best = candidates.iter().position(|(_, _, list)| list.is_some()).unwrap_or(candidates.len() - 1);
        let (data, json, list) = candidates.swap_remove(best);
        Self { texts, structured, is_error, data, json, list }
    }

    /// Returns the JSON Pointer of the list.
    pub fn list_pointer(&self) -> Option<&str> {
        self.list.as_deref()
    }

    /// Returns the items of the list; none if there is no list.
    pub fn items(&self) -> &[Value] {
        let list = self.list.as_deref().and_then(|pointer| self.json.as_ref()?.pointer(pointer));
        list.and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// Returns the payload as the gateway would capture it.
    pub(crate) fn payload(&self) -> Payload {
        let texts = self.texts.iter().enumerate();
        let mut blocks: Vec<Block> = texts
            .map(|(at, text)| Block::new(format!("/content/{at}/text"), Content::Text(text.clone())))
            .collect();
        if let Some(structured) = &self.structured {
            blocks.push(Block::new("/structuredContent", Content::Structured(structured.clone())));
        }
        Payload { blocks, ..Payload::default() }
    }

    /// Returns what a model reads: the texts or `structuredContent`, of which clients show one, whichever is longer.
    pub fn shown(&self) -> Vec<&str> {
        let texts: usize = self.texts.iter().map(String::len).sum();
        match &self.structured {
            Some(structured) if structured.len() > texts => vec![structured],
            _ => self.texts.iter().map(String::as_str).collect(),
        }
    }
}

/// Facts about a page, each with its JSON Pointer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PageFacts {
    /// Number of items of the whole list.
    pub total: Option<(String, u64)>,
    /// True if more items follow.
    pub has_more: Option<(String, bool)>,
    /// Member that leads to the next page.
    pub next: Option<(String, Next)>,
}

/// Value that leads to the next page.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// There is no next page.
    End,
    /// A cursor or a number.
    Cursor(Value),
    /// A URL.
    Url(String),
}

impl PageFacts {
    /// Reads the facts beside the list of a result.
    pub fn read(observation: &Observation) -> Self {
        let Some(root) = observation.json.as_ref().and_then(Value::as_object) else {
            return Self::default();
        };
        let items = observation.items().len() as u64;
        let facts = facts(root);
        // A count may be that of the page, unless other numbers are about the page.
        let is_of_page = |fact: &Fact<'_>| {
            let role = PageRole::of(&fact.name, kind_of(fact.value));
            role.is_some_and(|role| !matches!(role, PageRole::Served | PageRole::Limit))
        };
        let is_page = facts.iter().any(is_of_page);
        let total = |fact: &Fact<'_>| {
            let count = count_of(fact.value).filter(|_| may_be_total(&fact.name))?;
            let is_certain = is_page || is_called_total(&fact.name) || count > items;
            is_certain.then(|| (fact.place.clone(), count))
        };
        let more = |fact: &Fact<'_>| {
            Some((fact.place.clone(), fact.value.as_bool().filter(|_| says_more(&fact.name))?))
        };
        let leads = |fact: &&Fact<'_>| leads_on_in(&fact.name, fact.is_inside);
        let is_named = |fact: &Fact<'_>| has_word(&fact.name, &["next"]);
        let next = facts.iter().filter(leads).filter_map(|fact| Some((!is_named(fact), fact.next()?)));
        Self {
            total: facts.iter().find_map(total),
            has_more: facts.iter().find_map(more),
            next: next.min_by_key(|(rank, _)| *rank).map(|(_, next)| next),
        }
    }

    /// Returns true if more items follow a page with this number of items.
    pub fn has_more_than(&self, items: usize) -> bool {
        let by_next = matches!(&self.next, Some((_, Next::Cursor(_) | Next::Url(_))));
        let by_total = self.total.as_ref().is_some_and(|(_, total)| *total > items as u64);
        self.has_more.as_ref().map_or(by_next || by_total, |(_, more)| *more)
    }
}

impl Next {
    fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Null | Value::Bool(false) => Some(Self::End),
            Value::String(text) if text.is_empty() => Some(Self::End),
            Value::String(text) if text.contains("://") || text.starts_with('/') || text.contains('?') => {
                Some(Self::Url(text.clone()))
            }
            Value::String(_) | Value::Number(_) => Some(Self::Cursor(value.clone())),
            _ => None,
        }
    }
}

/// Reads a text: the text of the data, its JSON, and the place of its list.
fn read_data(text: String) -> (String, Option<Value>, Option<String>) {
    let Ok(json) = serde_json::from_str::<Value>(&text) else { return (text, None, None) };
    // Python servers wrap values as `{"result": …}`.
    let (text, json) = match sole_member(&json) {
        Some(Value::String(inner)) => match serde_json::from_str(inner) {
            Ok(inner_json) => (inner.clone(), inner_json),
            Err(_) => (text, json),
        },
        Some(inner @ Value::Object(_)) => (inner.to_string(), inner.clone()),
        _ => (text, json),
    };
    let list = find_list(&text, &json);
    (text, Some(json), list)
}

fn sole_member(json: &Value) -> Option<&Value> {
    let members = json.as_object().filter(|members| members.len() == 1)?;
    members.values().next()
}

/// Returns the place of the list, as the gateway detects it. Only lists that are arrays are paged.
fn find_list(text: &str, json: &Value) -> Option<String> {
    let block = Block::new("/content/0/text", Content::Text(text.to_owned()));
    let snapshot = capture(Payload { blocks: vec![block], ..Payload::default() });
    let structure = &snapshot.parts().first()?.indexed_text()?.structure;
    let detected = match structure {
        Structure::List(list) => Some(list.pointer.clone()),
        _ => None,
    };
    let is_array = |pointer: &String| json.pointer(pointer).is_some_and(Value::is_array);
    detected.filter(is_array).or_else(|| {
        // An empty or a short list is no list to the gateway, but tells how a tool pages.
        let arrays = json.as_object()?.iter().filter(|(_, value)| value.is_array());
        let mut names = arrays.map(|(name, _)| format!("/{}", name.replace('~', "~0").replace('/', "~1")));
        names.next().filter(|_| names.next().is_none())
    })
}

/// A member that may state a fact about the page.
struct Fact<'a> {
    place: String,
    /// Its name, as words.
    name: String,
    value: &'a Value,
    /// True in an object about the page.
    is_inside: bool,
}

impl Fact<'_> {
    /// Returns what leads to the next page: the value, or a member of it, with its place.
    fn next(&self) -> Option<(String, Next)> {
        let own = || Some((self.place.clone(), Next::of(self.value)?));
        let inner = |name: &&str| Some((format!("{}/{name}", self.place), Next::of(self.value.get(*name)?)?));
        own().or_else(|| LINK_NAMES.iter().find_map(inner))
    }
}

/// Returns the members of the root, and those of the objects about the page in it.
fn facts(root: &Map<String, Value>) -> Vec<Fact<'_>> {
    let (mut facts, mut levels) = (Vec::new(), vec![(String::new(), root)]);
    while let Some((place, level)) = levels.pop() {
        for (key, value) in level {
            let fact = Fact {
                place: format!("{place}/{key}"),
                name: words(key),
                value,
                is_inside: !place.is_empty(),
            };
            let is_near = fact.place.matches('/').count() <= MAX_FACT_DEPTH;
            let inside = value.as_object().filter(|_| is_near && is_page_object(&fact.name));
            levels.extend(inside.map(|inside| (fact.place.clone(), inside)));
            facts.push(fact);
        }
    }
    facts
}

fn kind_of(value: &Value) -> JsonKind {
    match value {
        Value::Null => JsonKind::Null,
        Value::Bool(_) => JsonKind::Bool,
        Value::Number(_) => JsonKind::Number,
        Value::String(_) => JsonKind::String,
        Value::Array(_) => JsonKind::Array,
        Value::Object(_) => JsonKind::Object,
    }
}

/// Reads a count: a number, or a string of digits.
fn count_of(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::Observation;

    fn check(result: &Value, list: Option<&str>, items: usize) {
        let observation = Observation::from_result(result);
        assert_eq!((observation.list_pointer(), observation.items().len()), (list, items), "{result}");
    }

    fn text(json: &Value) -> Value {
        json!({"content": [{"type": "text", "text": json.to_string()}]})
    }

    #[test]
    fn the_list_is_found_in_every_form_of_a_result() {
        let rows: Vec<Value> = (0..5).map(|id| json!({"id": id})).collect();
        check(&text(&json!(rows)), Some(""), 5);
        check(&text(&json!({"status": "success", "result": rows, "count": 9})), Some("/result"), 5);
        check(
            &json!({"structuredContent": {"result": rows}, "content": [{"text": "{\"id\":0}"}]}),
            Some("/result"),
            5,
        );
        let wrapped = json!({"result": json!({"results": rows, "next": null}).to_string()});
        check(&json!({"structuredContent": wrapped}), Some("/results"), 5);
        check(&json!({"structuredContent": {"result": {"result": rows, "count": 5}}}), Some("/result"), 5);
        check(&text(&json!({"data": [], "has_more": false})), Some("/data"), 0);
        check(&json!({"content": [{"type": "text", "text": "plain"}]}), None, 0);
        check(&json!({}), None, 0);
    }

    #[test]
    fn the_longer_form_is_shown() {
        let check = |text: &str, expect: &[&str]| {
            let result = json!({"content": [{"text": text}], "structuredContent": {"a": 1}});
            assert_eq!(Observation::from_result(&result).shown(), expect);
        };
        check("{\"a\": 1}", &["{\"a\": 1}"]);
        check("1 row", &["{\"a\":1}"]);
    }
}

#[cfg(test)]
mod page_facts_tests {
    use serde_json::{Value, json};

    use super::Observation;
    use super::{Next, PageFacts};

    fn check(result: &Value, total: Option<(&str, u64)>, more: Option<&str>, next: Option<(&str, Next)>) {
        let facts = PageFacts::read(&Observation::of_text(&result.to_string()));
        let named = |place: &str| place.to_owned();
        assert_eq!(facts.total, total.map(|(place, total)| (named(place), total)), "{result}");
        assert_eq!(facts.has_more.map(|(place, _)| place).as_deref(), more, "{result}");
        assert_eq!(facts.next, next.map(|(place, next)| (named(place), next)), "{result}");
    }

    #[test]
    fn facts_of_known_shapes_are_read() {
        check(
            &json!({"status": "success", "result": [1, 2], "count": 2, "limit": 2, "offset": 0}),
            Some(("/count", 2)),
            None,
            None,
        );
        let url = "https://educationdata.urban.org/api?page=2";
        check(
            &json!({"count": 25000, "next": url, "previous": null, "results": [1]}),
            Some(("/count", 25000)),
            None,
            Some(("/next", Next::Url(url.into()))),
        );
        check(
            &json!({"data": [1], "has_more": true, "next_cursor": "at:1"}),
            None,
            Some("/has_more"),
            Some(("/next_cursor", Next::Cursor(json!("at:1")))),
        );
        check(
            &json!({"items": [1], "pagination": {"total": "9", "next_page": null}}),
            Some(("/pagination/total", 9)),
            None,
            Some(("/pagination/next_page", Next::End)),
        );
        let next = |page: Value, place: &str| {
            check(&page, None, None, Some((place, Next::Cursor(json!("x")))));
        };
        next(
            json!({"messages": [1], "response_metadata": {"next_cursor": "x"}}),
            "/response_metadata/next_cursor",
        );
        next(json!({"results": [1], "paging": {"next": {"after": "x"}}}), "/paging/next/after");
        next(
            json!({"data": [1], "paging": {"cursors": {"before": "a", "after": "x"}}}),
            "/paging/cursors/after",
        );
        // This may be the number of items of the page.
        check(&json!({"items": [1, 2], "count": 2}), None, None, None);
        check(&json!([1]), None, None, None);
    }
}
