//! Facts about a page beside its list: the total, and what leads to the next page.

use portion_policy::page_names::{
    AFTER_NAME, AMBIGUOUS_TOTAL_NAME, CURSOR_OBJECTS, HAS_MORE_NAMES, NEXT_MEMBERS, NEXT_NAMES, PAGE_OBJECTS,
    TOTAL_NAMES,
};
use serde_json::{Map, Value};

use crate::check::observation::Observation;

/// Members beside an ambiguous total that show that it is one.
const POSITION_NAMES: &[&str] = &["offset", "next", "previous", "page", "skip"];

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
        let is_total = |level: &Map<String, Value>, name: &str, count: u64| {
            name != AMBIGUOUS_TOTAL_NAME
                || count > items
                || POSITION_NAMES.iter().any(|own| level.contains_key(*own))
        };
        let total = named(root, TOTAL_NAMES, |level, name, value| {
            count_of(value).filter(|count| is_total(level, name, *count))
        });
        let has_more = named(root, HAS_MORE_NAMES, |_, _, value| value.as_bool());
        let next = named(root, NEXT_NAMES, |_, _, value| Next::of(value))
            .or_else(|| nested_next(root))
            .or_else(|| cursors_next(root));
        Self { total, has_more, next }
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

/// Returns the member of an object about the next page that leads to it.
fn nested_next(root: &Map<String, Value>) -> Option<(String, Next)> {
    let object = named(root, NEXT_NAMES, |_, _, value| value.as_object().cloned());
    object.and_then(|(place, object)| {
        NEXT_MEMBERS.iter().find_map(|name| Some((format!("{place}/{name}"), Next::of(object.get(*name)?)?)))
    })
}

/// Returns the cursor of the next page in an object of cursors.
fn cursors_next(root: &Map<String, Value>) -> Option<(String, Next)> {
    levels(root).find_map(|(place, level)| {
        CURSOR_OBJECTS.iter().find_map(|name| {
            let next = Next::of(level.get(*name)?.get(AFTER_NAME)?)?;
            Some((format!("{place}/{name}/{AFTER_NAME}"), next))
        })
    })
}

/// Returns the first of these members that `read` accepts, at the root or in an object about the page.
fn named<T>(
    root: &Map<String, Value>,
    names: &[&str],
    read: impl Fn(&Map<String, Value>, &str, &Value) -> Option<T>,
) -> Option<(String, T)> {
    levels(root).find_map(|(place, level)| {
        names.iter().find_map(|name| Some((format!("{place}/{name}"), read(level, name, level.get(*name)?)?)))
    })
}

/// Returns the root and the objects about the page in it, with their places.
fn levels(root: &Map<String, Value>) -> impl Iterator<Item = (String, &Map<String, Value>)> {
    let inner =
        PAGE_OBJECTS.iter().filter_map(|name| Some((format!("/{name}"), root.get(*name)?.as_object()?)));
    std::iter::once((String::new(), root)).chain(inner)
}

/// Reads a count: a number, or a string of digits.
fn count_of(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Next, PageFacts};
    use crate::check::observation::Observation;

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
