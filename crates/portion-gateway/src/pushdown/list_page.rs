//! Reads one page of a list from a JSON text: its items, the total, and what follows.

use std::sync::Arc;

use portion_core::page_names::{is_total, leads_on, says_more};
use portion_core::paging::{PagingRole, links_to_next, related_links};
use portion_core::snapshot::{IndexedText, Layout, Slice, Structure};
use portion_json::containers;
use portion_json::path::{PathSteps, find_child};
use portion_json::scan::{JsonKind, JsonReader, quote, unescape};
use portion_json::span::Span;
use portion_policy::page_names::{
    AFTER_NAME, AMBIGUOUS_TOTAL_NAME, CURSOR_OBJECTS, HAS_MORE_NAMES, NEXT_MEMBERS, NEXT_NAMES,
    PAGE_COUNT_NAMES, PAGE_NUMBER_NAMES, PAGE_OBJECTS, TOTAL_NAMES,
};
use portion_policy::pushdown::{PagingStyle, Pushdown};
use portion_text::names::split_name;

/// Names of objects that hold the data of a result, with a list in them.
const ENVELOPES: &[&str] = &["_embedded", "data", "result", "response", "body", "payload"];
/// Names of lists, the most specific first.
const LIST_NAMES: &[&str] =
    &["items", "results", "result", "records", "data", "entries", "rows", "list", "value", "content"];

/// A page of a list, as places in its text.
#[derive(Debug)]
pub(crate) struct ListPage {
    /// Span of the array, brackets included.
    pub list: Span,
    /// Path of the array in the text.
    pub path: Arc<str>,
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
    /// Usual name of the argument that takes what leads to the next page, where that is a number.
    pub next_argument: Option<&'static str>,
    /// Number of the page, or of the items before it, where it is selected by that.
    pub position: Option<u64>,
    /// Number of pages.
    pub page_count: Option<usize>,
}

impl PageFacts {
    /// Returns true if the page says that there are more items; `None` if it says nothing about it.
    pub(super) fn goes_on(&self) -> Option<bool> {
        let next = match self.next {
            NextPage::Unknown => None,
            NextPage::End => Some(false),
            NextPage::Value(_) => Some(true),
        };
        self.has_more.or(next)
    }

    /// Reads the facts at their places, or by their names where there are none. `has_other_form`: the list is not at its place.
    fn read(root: &Root<'_>, pushdown: &Pushdown, items: usize, has_other_form: bool) -> Self {
        let text = root.text;
        let at = |path: &Option<Arc<str>>| path.as_deref().and_then(|path| root.value_at(path));
        let total = at(&pushdown.total).and_then(|value| parse_count(value.slice(text))).or_else(|| {
            let found = root.named(TOTAL_NAMES, |value| parse_count(value).is_some());
            let total = found.and_then(|(name, value)| {
                let total = parse_count(value.slice(text))?;
                (name != AMBIGUOUS_TOTAL_NAME || total > items).then_some(total)
            });
            let count = |value: Span| parse_count(value.slice(text)).filter(|total| *total > items);
            total.or_else(|| root.worded(is_total, count))
        });
        let has_more = at(&pushdown.has_more).or_else(|| {
            let is_boolean = |value: &str| matches!(value, "true" | "false");
            let named = root.named(HAS_MORE_NAMES, is_boolean).map(|found| found.1);
            named.or_else(|| {
                root.worded(says_more, |value| Some(value).filter(|value| is_boolean(value.slice(text))))
            })
        });
        let has_more = has_more.and_then(|value| match value.slice(text) {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        });
        let next = match (at(&pushdown.next), &pushdown.next) {
            (Some(value), _) => NextPage::from_member(text, value),
            // A member that is left out at the end is like null.
            (None, Some(_)) if !has_other_form => NextPage::End,
            _ => root.next_page(&pushdown.style),
        };
        let next_argument = root.next_argument(&next);
        let page_count = root.named(PAGE_COUNT_NAMES, |value| parse_count(value).is_some());
        let page_count = page_count.and_then(|(_, value)| parse_count(value.slice(text)));
        Self { total, has_more, next, next_argument, position: root.position(&pushdown.style), page_count }
    }

    /// Takes the URL of the next page from the transport, if the page itself has none.
    pub(super) fn with_link(self, link: Option<&str>) -> Self {
        match (&self.next, link) {
            (NextPage::Unknown, Some(link)) => Self { next: NextPage::Value(quote(link)), ..self },
            _ => self,
        }
    }
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

/// The outermost value of a text. A page is long, so its members are read once.
struct Root<'a> {
    text: &'a str,
    span: Span,
    /// Members of an object: decoded name and value; empty for other values.
    members: Vec<(String, Span)>,
    /// Those of the objects about the page and around the list.
    inner: Vec<Vec<(String, Span)>>,
}

impl ListPage {
    /// Reads a page. Returns `None` if the text is not JSON, or has no list.
    pub(crate) fn parse(text: &str, pushdown: &Pushdown) -> Option<Self> {
        let mut root = Root::parse(text)?;
        let named = pushdown.items.as_ref().and_then(|path| {
            let list = root.value_at(path).filter(|list| is_list(text, *list))?;
            Some((list, Arc::clone(path)))
        });
        // Versions of a server have other envelopes.
        let has_other_form = named.is_none() && pushdown.items.is_some();
        let found = named.or_else(|| root.detect_list(has_other_form));
        let (list, path) = found.or_else(|| root.nested_list())?;
        let items = containers::read_items(text, list).ok()?;
        let facts = PageFacts::read(&root, pushdown, items.len(), has_other_form);
        Some(Self { list, path, items, facts })
    }
}

impl<'a> Root<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let mut reader = JsonReader::new(text);
        let kind = reader.peek().ok()?;
        let start = reader.at();
        let mut members = Vec::new();
        if kind == JsonKind::Object {
            reader.enter_object().ok()?;
            while let Some(key) = reader.next_key().ok()? {
                members.push((unescape(reader.text(key)), reader.skip().ok()?));
            }
        } else {
            reader.skip().ok()?;
        }
        let span = Span::new(start, reader.at());
        reader.expect_end().ok()?;
        let is_level = |name: &str| PAGE_OBJECTS.contains(&name) || ENVELOPES.contains(&name);
        let levels_of = |members: &[(String, Span)]| {
            let leads = |value: Span| counts_pages(text, value) || links_to_next(value.slice(text)).is_some();
            let inner = members.iter().filter(|(name, value)| is_level(name) || leads(*value));
            inner.map(|(_, value)| self::members(text, *value)).collect::<Vec<_>>()
        };
        let mut inner = levels_of(&members);
        inner.extend(inner.iter().flat_map(|members| levels_of(members)).collect::<Vec<_>>());
        Some(Self { text, span, members, inner })
    }

    /// Returns the value at a path. The most usual path is the name of a member.
    fn value_at(&self, path: &str) -> Option<Span> {
        let name = path.strip_prefix('/').unwrap_or(path);
        let member = self.members.iter().find(|(own, _)| own == name);
        match member.filter(|_| !name.contains(['/', '.', '~', '[', '$'])) {
            Some((_, value)) => Some(*value),
            None => value_at(self.text, self.span, path),
        }
    }

    /// Finds the list by its name, or because it is the only one. `by_name`: the only one has to hold records.
    fn detect_list(&self, by_name: bool) -> Option<(Span, Arc<str>)> {
        if is_list(self.text, self.span) {
            return Some((self.span, Arc::from("$")));
        }
        let is_other = |value: Span| !related_links(value.slice(self.text)).is_empty();
        let is_rows = |value: Span| is_list(self.text, value) && !is_other(value);
        let lists: Vec<_> = self.members.iter().filter(|(_, value)| is_rows(*value)).collect();
        if lists.is_empty() {
            return self.list_in_envelope();
        }
        let named = || LIST_NAMES.iter().find_map(|name| lists.iter().find(|(own, _)| own == name)).copied();
        // Beside an error, a list holds its details.
        let is_error = |(name, value): &(String, Span)| {
            matches!(name.as_str(), "error" | "errors")
                && !matches!(value.slice(self.text), "null" | "false" | "[]" | "\"\"")
        };
        let has_error = self.members.iter().any(is_error);
        let holds_records = |value: Span| value.slice(self.text)[1..].trim_start().starts_with('{');
        let is_it = |(_, value): &&&(String, Span)| !has_error && (!by_name || holds_records(*value));
        let only = if let [only] = &lists[..] { Some(only).filter(is_it).copied() } else { None };
        let found = only.or_else(named);
        found.map(|(name, value)| (*value, pointer(name).into()))
    }

    /// Finds the only list of the object that holds the data of the result, by its name or because it counts its pages.
    fn list_in_envelope(&self) -> Option<(Span, Arc<str>)> {
        let named = self.members.iter().find(|(name, _)| ENVELOPES.contains(&name.as_str()));
        let counted = || self.members.iter().find(|(_, value)| counts_pages(self.text, *value));
        let (envelope, inside) = named.or_else(counted)?;
        let inside = members(self.text, *inside);
        let mut lists = inside.iter().filter(|(_, value)| is_list(self.text, *value));
        let (name, list) = lists.next().filter(|_| lists.next().is_none())?;
        Some((*list, format!("{}{}", pointer(envelope), pointer(name)).into()))
    }

    /// Finds the list of records that a reply would show as the list of the text, in objects of any name.
    fn nested_list(&mut self) -> Option<(Span, Arc<str>)> {
        let subject = IndexedText::from_payload(Slice::new(self.text.to_owned()));
        let Structure::List(list) = &subject.structure else { return None };
        let records =
            list.iter_from(self.text, 0).next().filter(|first| first.value.slice(self.text).starts_with('{'));
        if list.layout != Layout::Array || list.enclosing_objects.len() < 2 || records.is_none() {
            return None;
        }
        for object in &list.enclosing_objects[1..] {
            let of_object = object.members.iter();
            self.inner.push(
                of_object.map(|member| (unescape(member.key.slice(self.text)), member.value)).collect(),
            );
        }
        Some((list.span, list.pointer.as_str().into()))
    }

    /// Yields the members of the root, and those of the objects about the page and around the list.
    fn levels(&self) -> impl Iterator<Item = &Vec<(String, Span)>> {
        std::iter::once(&self.members).chain(&self.inner)
    }

    /// Returns the first of these members of the root or of an object about the page whose value `fits`.
    fn named(&self, names: &[&'static str], fits: impl Fn(&str) -> bool) -> Option<(&'static str, Span)> {
        self.levels().find_map(|level| {
            let found = |name: &&'static str| {
                let (_, value) =
                    level.iter().find(|(own, value)| own == name && fits(value.slice(self.text)))?;
                Some((*name, *value))
            };
            names.iter().find_map(found)
        })
    }

    /// Returns what is read of the first member of the root, or of an object about the page, whose words mean a fact.
    fn worded<T>(&self, means: fn(&str) -> bool, read: impl Fn(Span) -> Option<T>) -> Option<T> {
        let mut members = self.levels().flatten();
        members.find_map(|(name, value)| if means(&split_name(name).join(" ")) { read(*value) } else { None })
    }

    /// Returns the usual name of the argument that takes the number in the member that leads to the next page.
    fn next_argument(&self, next: &NextPage) -> Option<&'static str> {
        let NextPage::Value(number) = next else { return None };
        let leads = |json: &str| json == number && parse_count(json).is_some();
        match self.named(NEXT_NAMES, leads)?.0 {
            "nextPage" | "next_page" => Some("page"),
            "nextOffset" | "next_offset" => Some("offset"),
            _ => None,
        }
    }

    /// Returns the number of the page, or of the items before it, by the style of the paging.
    fn position(&self, style: &PagingStyle) -> Option<u64> {
        let role = match style {
            PagingStyle::Page(..) => PagingRole::Page,
            PagingStyle::Offset(_) => PagingRole::Offset,
            _ => return None,
        };
        let is_it = |name: &str| {
            PagingRole::of(name) == Some(role)
                || role == PagingRole::Page && PAGE_NUMBER_NAMES.contains(&name)
        };
        let number = |(name, value): &(String, Span)| {
            is_it(name).then(|| parse_count(value.slice(self.text)))?.map(|number| number as u64)
        };
        self.levels().flatten().find_map(number)
    }
}

impl Root<'_> {
    /// Finds what leads to the next page: a member of the root, of an object about the page, or of the cursors in that.
    fn next_page(&self, style: &PagingStyle) -> NextPage {
        // Beside a link, other members may have the number or the cursor of the next page.
        let is_link = matches!(style, PagingStyle::Link(_));
        let fits = |json: &str| NextPage::may_lead_to_next(json) && !(is_link && NextPage::is_no_link(json));
        if let Some((_, value)) = self.named(NEXT_NAMES, fits) {
            return NextPage::from_member(self.text, value);
        }
        if let Some(value) =
            self.worded(leads_on, |value| Some(value).filter(|value| fits(value.slice(self.text))))
        {
            return NextPage::from_member(self.text, value);
        }
        let lists = self.members.iter().map(|(_, value)| value.slice(self.text));
        let mut listed = lists.flat_map(|list| related_links(list).into_iter().map(move |link| (list, link)));
        if let Some((list, link)) = listed.find(|(_, link)| link.relation == "next") {
            return NextPage::Value(link.url.slice(list).to_owned());
        }
        let is_in = |names: &[&str], name: &str| names.contains(&name);
        let mut cursors = self.levels().flatten().filter(|(name, _)| is_in(CURSOR_OBJECTS, name));
        let after = |object: Span| {
            let found = members(self.text, object).into_iter();
            found.rev().find(|(name, _)| name == AFTER_NAME || is_in(NEXT_NAMES, name))
        };
        let found = cursors.find_map(|(_, object)| after(*object));
        found.map_or(NextPage::Unknown, |(_, value)| NextPage::from_member(self.text, value))
    }
}

impl NextPage {
    /// Reads a member that leads to the next page: a cursor, a number or a URL, or an object with one of them.
    fn from_member(text: &str, value: Span) -> Self {
        let json = value.slice(text);
        match (JsonKind::of_value(json), json) {
            (JsonKind::Null, _) | (_, "false" | "\"\"" | "{}") => Self::End,
            (JsonKind::String | JsonKind::Number, _) => Self::Value(json.to_owned()),
            (JsonKind::Object, _) => {
                let members = members(text, value);
                let named =
                    |name: &&str| members.iter().find(|(own, _)| own == name).map(|(_, value)| *value);
                let inner = NEXT_MEMBERS.iter().find_map(named).map(|value| value.slice(text));
                match inner.map(|json| (JsonKind::of_value(json), json)) {
                    Some((JsonKind::Null, _) | (_, "\"\"")) => Self::End,
                    Some((JsonKind::String | JsonKind::Number, json)) => Self::Value(json.to_owned()),
                    _ => Self::Unknown,
                }
            }
            _ => Self::Unknown,
        }
    }

    /// Returns true for the values by which a member may tell the next page.
    fn may_lead_to_next(json: &str) -> bool {
        !matches!(JsonKind::of_value(json), JsonKind::Array) && json != "true"
    }

    /// Returns true for a number, and for a text that is no URL.
    fn is_no_link(json: &str) -> bool {
        match JsonKind::of_value(json) {
            JsonKind::Number => true,
            JsonKind::String => json != "\"\"" && !unescape(json).contains(['/', '?']),
            _ => false,
        }
    }
}

/// Returns true for an object with the number of its pages.
fn counts_pages(text: &str, object: Span) -> bool {
    JsonKind::of_value(object.slice(text)) == JsonKind::Object
        && members(text, object).iter().any(|(name, value)| {
            PAGE_COUNT_NAMES.contains(&name.as_str()) && parse_count(value.slice(text)).is_some()
        })
}

/// Returns the JSON Pointer of a member of the root.
fn pointer(name: &str) -> String {
    format!("/{}", name.replace('~', "~0").replace('/', "~1"))
}

fn is_list(text: &str, value: Span) -> bool {
    JsonKind::of_value(value.slice(text)) == JsonKind::Array
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
    containers::members(text, object).map(|member| (unescape(member.key.slice(text)), member.value)).collect()
}

/// Parses a count: a number, or a string of digits.
fn parse_count(json: &str) -> Option<usize> {
    json.trim_matches('"').parse().ok()
}

#[cfg(test)]
mod tests {
    use portion_policy::pushdown::{PagingStyle, Pushdown};

    use super::{ListPage, NextPage, PageFacts};

    fn check(text: &str, pushdown: &Pushdown, expect: Option<(usize, PageFacts)>) {
        // The position is that of the style, which these pages do not have.
        let read = |page: ListPage| {
            (
                page.items.len(),
                PageFacts { position: None, next_argument: None, page_count: None, ..page.facts },
            )
        };
        let (found, expect) = (ListPage::parse(text, pushdown).map(read), expect);
        assert_eq!(found, expect, "{text}");
    }

    #[test]
    fn finds_the_list_and_the_facts_about_it() {
        let auto = Pushdown::default();
        let facts = |total, has_more, next| PageFacts { total, has_more, next, ..PageFacts::default() };
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
        let next_of = |text: &str, expect: NextPage| {
            check(text, &auto, Some((1, facts(None, None, expect))));
        };
        let cursor = || NextPage::Value("\"x\"".into());
        next_of(r#"{"messages":[1],"response_metadata":{"next_cursor":"x"}}"#, cursor());
        next_of(r#"{"messages":[1],"response_metadata":{"next_cursor":""}}"#, NextPage::End);
        next_of(r#"{"data":[1],"meta":{"next_cursor":"x"}}"#, cursor());
        next_of(
            r#"{"results":[1],"paging":{"next":{"after":"x","link":"https://a.example/?after=x"}}}"#,
            cursor(),
        );
        next_of(r#"{"data":[1],"links":{"self":"/a","next":"x"}}"#, cursor());
        next_of(r#"{"data":[1],"_links":{"next":{"href":"x"}}}"#, cursor());
        next_of(r#"{"_links":{"next":{"href":"x"}},"_embedded":{"rows":[1]}}"#, cursor());
        check(r#"{"_embedded":{"rows":[1],"tags":[2]}}"#, &auto, None);
        let inside = PageFacts { total: Some(90), ..PageFacts::default() };
        check(r#"{"ok":true,"data":{"items":[1,2],"total":90}}"#, &auto, Some((2, inside)));
        check(r#"{"name":"x","address":{"lines":[1,2]}}"#, &auto, None);
        next_of(r#"{"data":[1],"links":{"next":null}}"#, NextPage::End);
        next_of(r#"{"data":[1],"meta":{"cursors":{"before":"a","after":"x"}}}"#, cursor());
        next_of(r#"{"data":[1],"cursors":{"after":null}}"#, NextPage::End);
        next_of(r#"{"result":[1],"result_info":{"cursors":{"before":"a","after":"x"}}}"#, cursor());
        let link = Pushdown { style: PagingStyle::Link(None), ..Pushdown::default() };
        let beside = r#"{"data":[1],"meta":{"next_page":2,"next_cursor":"x"},"links":{"next":"/a?page=2"}}"#;
        let expect = NextPage::Value(r#""/a?page=2""#.into());
        check(beside, &link, Some((1, facts(None, None, expect))));
        check(
            r#"{"nodes":[1],"page_info":{"end_cursor":"x","has_next_page":false}}"#,
            &auto,
            Some((1, facts(None, Some(false), cursor()))),
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
        // Another version of the server has another envelope.
        let other = r#"{"rows":[1],"total":9,"next":"x"}"#;
        check(other, &deep, Some((1, facts(Some(9), None, cursor()))));
        check(r#"{"hints":["ask for less"]}"#, &deep, None);
        check(r#"{"error":"too large","hints":["ask for less"]}"#, &auto, None);
    }
}
