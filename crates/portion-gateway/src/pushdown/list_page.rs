//! Reads one page of a list from a JSON text: its items, the total, and what follows.

use std::sync::Arc;

use portion_core::page_names::{
    LINK_NAMES, PageRole, has_word, is_called_total, is_page_object, is_total, leads_on, leads_on_in,
    says_more, words,
};
use portion_core::paging::{links_to_next, related_links};
use portion_core::snapshot::{IndexedText, Layout, Member, Slice, Structure};
use portion_json::containers;
use portion_json::path::{PathSteps, find_child};
use portion_json::scan::{JsonKind, JsonReader, quote, unescape};
use portion_json::span::Span;
use portion_policy::pushdown::{PagingStyle, Pushdown};

/// Names of objects that hold the data of a result, with a list in them.
const ENVELOPES: &[&str] = &["embedded", "data", "result", "response", "body", "payload"];
/// Levels of objects about the page that are read.
const MAX_FACT_DEPTH: usize = 2;
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
        let total = at(&pushdown.total).and_then(|value| parse_count(value.slice(text)));
        let total = total.or_else(|| root.total(items));
        let is_boolean = |value: &str| matches!(value, "true" | "false");
        let has_more = at(&pushdown.has_more).or_else(|| Some(root.find(says_more, is_boolean)?.value));
        let has_more = has_more.map(|value| value.slice(text)).filter(|value| is_boolean(value));
        let has_more = has_more.map(|value| value == "true");
        let next = match (at(&pushdown.next), &pushdown.next) {
            (Some(value), _) => NextPage::from_member(text, value),
            // A member that is left out at the end is like null.
            (None, Some(_)) if !has_other_form => NextPage::End,
            _ => root.next_page(&pushdown.style),
        };
        let next_argument = root.next_argument(&next);
        let page_count =
            root.number(|name| PageRole::of(name, JsonKind::Number) == Some(PageRole::PageCount));
        let page_count = page_count.map(|count| count as usize);
        // Of several pages, this one has not all items.
        let total = total.filter(|total| *total > items || page_count.is_none_or(|count| count < 2));
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
    /// Those that may state facts about the page, and those of the objects about the page and around the list.
    facts: Vec<Fact>,
}

/// A member that may state a fact about the page.
struct Fact {
    /// Its name, as words.
    name: String,
    value: Span,
    /// True in an object about the page.
    is_inside: bool,
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
        let mut facts: Vec<Fact> = members.iter().map(|member| Fact::new(member, false)).collect();
        let mut level = 0..facts.len();
        for _ in 0..MAX_FACT_DEPTH {
            let inner: Vec<Fact> =
                facts[level.clone()].iter().flat_map(|object| object.members_inside(text)).collect();
            level = facts.len()..facts.len() + inner.len();
            facts.extend(inner);
        }
        Some(Self { text, span, members, facts })
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
        let named = self.members.iter().find(|(name, _)| ENVELOPES.contains(&&*words(name)));
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
        let around = list.enclosing_objects[1..].iter().flat_map(|object| &object.members);
        let member = |member: &Member| (unescape(member.key.slice(self.text)), member.value);
        self.facts.extend(around.map(|around| Fact::new(&member(around), false)));
        Some((list.span, list.pointer.as_str().into()))
    }

    /// Returns the first member whose name, as words, means a fact and whose value fits.
    fn find(&self, means: impl Fn(&str) -> bool, fits: impl Fn(&str) -> bool) -> Option<&Fact> {
        self.facts.iter().find(|fact| means(&fact.name) && fits(fact.value.slice(self.text)))
    }

    /// Returns the first number of a member whose name, as words, means a fact.
    fn number(&self, means: impl Fn(&str) -> bool) -> Option<u64> {
        let mut found = self.facts.iter().filter(|fact| means(&fact.name));
        found.find_map(|fact| parse_count(fact.value.slice(self.text))).map(|count| count as u64)
    }

    /// Returns the number of items of the whole list. A count that is not called a total may be that of the page.
    fn total(&self, items: usize) -> Option<usize> {
        let counts = |means: fn(&str) -> bool| {
            let named = self.facts.iter().filter(move |fact| means(&fact.name));
            let count = |fact: &Fact| parse_count(fact.value.slice(self.text));
            named.filter_map(move |fact| {
                count(fact).filter(|count| is_called_total(&fact.name) || *count > items)
            })
        };
        counts(is_total).next().or_else(|| counts(is_called_total).next())
    }

    /// Returns the usual name of the argument that takes the number in the member that leads to the next page.
    fn next_argument(&self, next: &NextPage) -> Option<&'static str> {
        let NextPage::Value(number) = next else { return None };
        parse_count(number)?;
        match self.find(leads_on, |json| json == number)?.name.as_str() {
            "next page" => Some("page"),
            "next offset" => Some("offset"),
            _ => None,
        }
    }

    /// Returns the number of the page, or of the items before it, by the style of the paging.
    fn position(&self, style: &PagingStyle) -> Option<u64> {
        let role = match style {
            PagingStyle::Page(..) => PageRole::Page,
            PagingStyle::Offset(_) => PageRole::Offset,
            _ => return None,
        };
        self.number(|name| PageRole::of(name, JsonKind::Number) == Some(role))
    }

    /// Finds what leads to the next page: a member of the root, or of an object about the page.
    fn next_page(&self, style: &PagingStyle) -> NextPage {
        // Beside a link, other members may have the number or the cursor of the next page.
        let is_link = matches!(style, PagingStyle::Link(_));
        let leads = |fact: &&Fact| {
            let json = fact.value.slice(self.text);
            leads_on_in(&fact.name, fact.is_inside)
                && NextPage::may_lead_to_next(json)
                && !(is_link && NextPage::is_no_link(json))
        };
        let rank = |fact: &&Fact| {
            let json = fact.value.slice(self.text);
            let is_named = has_word(&fact.name, &["next"]);
            (
                !is_named,
                NextPage::from_member(self.text, fact.value) == NextPage::End,
                !NextPage::is_no_link(json),
            )
        };
        if let Some(fact) = self.facts.iter().filter(leads).min_by_key(rank) {
            return NextPage::from_member(self.text, fact.value);
        }
        let lists = self.members.iter().map(|(_, value)| value.slice(self.text));
        let mut listed = lists.flat_map(|list| related_links(list).into_iter().map(move |link| (list, link)));
        let next = listed.find(|(_, link)| link.relation == "next");
        next.map_or(NextPage::Unknown, |(list, link)| NextPage::Value(link.url.slice(list).to_owned()))
    }
}

impl Fact {
    fn new((name, value): &(String, Span), is_inside: bool) -> Self {
        Self { name: words(name), value: *value, is_inside }
    }

    /// Returns the members of an object about the page, or around the list.
    fn members_inside(&self, text: &str) -> Vec<Self> {
        let is_about_page = is_page_object(&self.name)
            || counts_pages(text, self.value)
            || links_to_next(self.value.slice(text)).is_some();
        if !is_about_page && !ENVELOPES.contains(&self.name.as_str()) {
            return Vec::new();
        }
        members(text, self.value).iter().map(|member| Self::new(member, is_about_page)).collect()
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
                let inner = LINK_NAMES.iter().find_map(named).map(|value| value.slice(text));
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
            let role = PageRole::of(&words(name), JsonKind::Number);
            role == Some(PageRole::PageCount) && parse_count(value.slice(text)).is_some()
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
