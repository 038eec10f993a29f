//! Finds how a tool pages its results: by the names of its arguments, by its results, and by calls that test both.

use portion_policy::pushdown::Pushdown;
use serde_json::{Map, Value};

use super::observation::{Next, Observation, PageFacts};
use crate::check::tool::Tool;

/// Items of a small page.
const SMALL_PAGE: usize = 2;
/// Items that Portion asks for, if the tool takes their number.
const PAGE_SIZE: usize = 100;
/// Kinds of paging: setting, and preset with the usual names of arguments. The most certain first.
const STYLES: &[(Style, &str, &str)] = &[
    (Style::Cursor, "cursor", "cursor"),
    (Style::Offset, "offset", "limit-offset"),
    (Style::Page, "page", "page"),
    (Style::AfterId, "afterId", "after-id"),
    (Style::Link, "link", "link"),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    Cursor,
    Offset,
    Page,
    AfterId,
    Link,
}

/// Certainty of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// Further calls returned the expected items.
    Checked,
    /// Names and results agree; no further call could test them.
    Unchecked,
}

/// Paging of a tool's own.
#[derive(Clone, Debug, PartialEq)]
pub struct Paging {
    /// Settings of `pushdown`, in order.
    pub settings: Vec<(&'static str, String)>,
    /// Total that the tool reported.
    pub total: Option<u64>,
    /// Certainty of this.
    pub evidence: Evidence,
}

/// The next step of a check.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Call the tool with these arguments, and pass the result to [`PagingCheck::learn`].
    Call(Map<String, Value>),
    /// The tool pages its results like this.
    Found(Paging),
    /// The tool does not page its results, or not in a way that Portion knows.
    NotFound,
}

/// A check of one tool, which needs further calls.
#[derive(Clone, Debug)]
pub struct PagingCheck<'a> {
    tool: &'a Tool,
    arguments: Map<String, Value>,
    first: Observation,
    facts: PageFacts,
    limit: Option<String>,
    /// Kinds of paging to test, with their arguments; the first is being tested.
    candidates: Vec<(Style, Option<String>)>,
    small: Option<Small>,
    outcome: Option<(Evidence, u64)>,
    /// Number of items that a call for a large page returned as expected; 0 if it failed.
    large: Option<usize>,
}

/// The result of a call for a small page.
#[derive(Clone, Debug)]
struct Small {
    facts: PageFacts,
    /// True if the tool returned as many items as were asked for.
    is_honoured: bool,
}

impl<'a> PagingCheck<'a> {
    /// Begins a check with the result of the first call.
    pub fn new(tool: &'a Tool, arguments: Map<String, Value>, first: Observation) -> Self {
        let facts = PageFacts::read(&first);
        let candidates = STYLES.iter().filter(|_| first.list_pointer().is_some());
        let candidates = candidates.filter_map(|(style, _, preset)| {
            let argument = usual(preset)?.page_argument(|name| tool.has(name)).map(|name| name.to_string());
            let fits = match style {
                // An argument named like a cursor is one only if results have cursors.
                Style::Cursor => {
                    argument.is_some()
                        && (facts.has_more.is_some()
                            || matches!(&facts.next, Some((_, next)) if !matches!(next, Next::Url(_))))
                }
                Style::Offset | Style::Page | Style::AfterId => argument.is_some(),
                Style::Link => matches!(&facts.next, Some((_, Next::Url(_)))),
            };
            fits.then_some((*style, argument))
        });
        let candidates = candidates.collect();
        let limit = usual("limit-offset").and_then(|usual| usual.limit.resolve(|name| tool.has(name)));
        let limit = limit.map(|name| name.to_string());
        Self { tool, arguments, first, facts, limit, candidates, small: None, outcome: None, large: None }
    }

    /// Returns the facts beside the list of the first call.
    pub fn facts(&self) -> &PageFacts {
        &self.facts
    }

    /// Returns the next step.
    pub fn step(&self) -> Step {
        let Some((style, argument)) = self.candidates.first() else { return Step::NotFound };
        if let Some((evidence, start)) = self.decided() {
            // What is proposed is tried first.
            if self.takes_limit() && self.large.is_none() && self.largest_page() > self.first.items().len() {
                return Step::Call(self.with_limit(self.arguments.clone(), self.largest_page()));
            }
            return Step::Found(self.paging(*style, argument.as_deref(), start, evidence));
        }
        if self.has_few_items() {
            return Step::NotFound;
        }
        if self.limit.is_some() && self.small.is_none() {
            return Step::Call(self.with_limit(self.arguments.clone(), self.small_size()));
        }
        self.second_call(*style, argument.as_deref()).map_or(Step::NotFound, Step::Call)
    }

    /// Returns how the tool pages its results by what is known, if [`step`](Self::step) asks for a call that cannot be
    /// made.
    pub fn untested(&self) -> Option<Paging> {
        let (style, argument) = self.candidates.first()?;
        let (evidence, start) = self.decided().unwrap_or((Evidence::Unchecked, 1));
        Some(self.paging(*style, argument.as_deref(), start, evidence))
    }

    /// Returns the certainty of the first candidate and the number of its first page, once no further call can tell more.
    fn decided(&self) -> Option<(Evidence, u64)> {
        let (style, argument) = self.candidates.first()?;
        let is_untestable = if self.has_few_items() {
            self.facts.has_more_than(self.first.items().len())
        } else {
            (self.limit.is_none() || self.small.is_some())
                && self.second_call(*style, argument.as_deref()).is_none()
        };
        self.outcome.or(is_untestable.then_some((Evidence::Unchecked, 1)))
    }

    /// Returns true if the first page has too few items to tell one page from another.
    fn has_few_items(&self) -> bool {
        self.first.items().len() <= 2 * self.small_size()
    }

    /// Learns from the result of the call that [`step`](Self::step) asked for.
    pub fn learn(&mut self, result: &Observation) {
        let (first, count) = (self.first.items(), result.items().len());
        if self.decided().is_some() {
            let is_same = !result.is_error
                && result.list_pointer() == self.first.list_pointer()
                && result.items().first() == first.first();
            // A page that is shorter than asked for, and not the last one, is the largest.
            let is_capped = count < self.largest_page() && PageFacts::read(result).has_more_than(count);
            let size = if is_capped { count } else { self.largest_page() };
            self.large = Some(if is_same { size } else { 0 });
            return;
        }
        if self.limit.is_some() && self.small.is_none() {
            let is_honoured = count == self.small_size() && result.items().first() == first.first();
            self.small = Some(Small { facts: PageFacts::read(result), is_honoured });
            return;
        }
        let Some((style, _)) = self.candidates.first() else { return };
        let unit = self.unit();
        let place = result.items().first().and_then(|item| first.iter().position(|known| known == item));
        self.outcome = match (style, place) {
            _ if result.is_error || count == 0 => {
                // A page behind the end says nothing.
                let is_end = !self.facts.has_more_than(first.len()) && unit == first.len();
                is_end.then_some((Evidence::Unchecked, 1))
            }
            // A page within the first one begins with one of its items.
            (_, None) if unit >= first.len() => Some((Evidence::Checked, 1)),
            (_, Some(place)) if place == unit => Some((Evidence::Checked, 1)),
            (Style::Page, Some(place)) if place == 2 * unit => Some((Evidence::Checked, 0)),
            _ => None,
        };
        if self.outcome.is_none() {
            self.candidates.remove(0);
        }
    }

    fn paging(&self, style: Style, argument: Option<&str>, start: u64, evidence: Evidence) -> Paging {
        let (key, preset) = STYLES
            .iter()
            .find(|(own, ..)| *own == style)
            .map_or(("", ""), |(_, key, preset)| (*key, *preset));
        let items = self.first.list_pointer().unwrap_or_default();
        let total = self.facts.total.as_ref();
        let place_of_total = total.map(|(place, _)| place.as_str());
        let next = self.facts.next.as_ref().map(|(place, _)| place.as_str());
        let preset = match (style, items, place_of_total, next) {
            (Style::Offset, "/result", Some("/count"), None) => "hostaway",
            (Style::Page, "/results", Some("/count"), Some("/next")) => "education",
            _ => preset,
        };
        let mut settings = vec![("preset", preset.to_owned())];
        if let Some(limit) = self.limit.as_ref().filter(|_| self.takes_limit()) {
            settings.push(("limit", limit.clone()));
        }
        settings.extend(argument.filter(|_| style != Style::Link).map(|argument| (key, argument.to_owned())));
        if style == Style::Page && start == 0 {
            settings.push(("pageStart", "0".to_owned()));
        }
        settings.push(("pageSize", self.page_size().to_string()));
        settings.extend((!items.is_empty()).then(|| ("items", items.to_owned())));
        settings.extend(place_of_total.map(|place| ("total", place.to_owned())));
        if matches!(style, Style::Cursor | Style::Link | Style::Page) {
            settings.extend(next.map(|place| ("next", place.to_owned())));
        }
        settings.extend(self.facts.has_more.as_ref().map(|(place, _)| ("hasMore", place.clone())));
        // Elsewhere an id is only compared, and a field that differs in the items seen may be equal in others.
        let id = self.id_field().filter(|id| style == Style::AfterId && id != "id");
        settings.extend(id.map(|id| ("id", id)));
        Paging { settings, total: total.map(|(_, total)| *total), evidence }
    }

    /// Returns the arguments of a call for another page than the first.
    fn second_call(&self, style: Style, argument: Option<&str>) -> Option<Map<String, Value>> {
        let unit = self.unit();
        let facts =
            self.small.as_ref().filter(|small| small.is_honoured).map_or(&self.facts, |small| &small.facts);
        let value = match style {
            Style::Offset => Value::from(self.small_size()),
            Style::Page => Value::from(2),
            Style::AfterId => self.first.items().get(unit.checked_sub(1)?)?.get(self.id_field()?)?.clone(),
            Style::Cursor => match &facts.next {
                Some((_, Next::Cursor(cursor))) => cursor.clone(),
                _ => return None,
            },
            Style::Link => return None,
        };
        let mut arguments = self.with_limit(self.arguments.clone(), self.small_size());
        arguments.insert(argument?.to_owned(), value);
        Some(arguments)
    }

    fn with_limit(&self, mut arguments: Map<String, Value>, size: usize) -> Map<String, Value> {
        if let Some(limit) = &self.limit {
            arguments.insert(limit.clone(), Value::from(size));
        }
        arguments
    }

    /// Returns the distance between the first items of two pages.
    fn unit(&self) -> usize {
        let is_offset = matches!(self.candidates.first(), Some((Style::Offset, _)));
        if is_offset || self.takes_limit() { self.small_size() } else { self.first.items().len() }
    }

    /// Returns true if the tool honours its limit, or if that could not be tested.
    fn takes_limit(&self) -> bool {
        self.limit.is_some() && self.small.as_ref().is_none_or(|small| small.is_honoured)
    }

    fn small_size(&self) -> usize {
        self.limit_bound("minimum").map_or(SMALL_PAGE, |min| min.max(SMALL_PAGE))
    }

    fn page_size(&self) -> usize {
        let first = self.first.items().len().max(1);
        if self.takes_limit() { self.large.unwrap_or_default().max(first.min(PAGE_SIZE)) } else { first }
    }

    /// Returns the number of items that Portion would ask for.
    fn largest_page(&self) -> usize {
        self.limit_bound("maximum").map_or(PAGE_SIZE, |max| max.clamp(1, PAGE_SIZE))
    }

    fn limit_bound(&self, key: &str) -> Option<usize> {
        let bound = self.tool.arguments.get(self.limit.as_ref()?)?.get(key)?.as_u64()?;
        usize::try_from(bound).ok()
    }

    /// Returns the field that identifies an item: `id`, or the first whose values all differ.
    fn id_field(&self) -> Option<String> {
        let items = self.first.items();
        let first = items.first()?.as_object()?;
        if first.contains_key("id") {
            return Some("id".to_owned());
        }
        let is_id = |name: &String| {
            let mut values: Vec<&Value> = items.iter().filter_map(|item| item.get(name)).collect();
            let is_plain = values.iter().all(|value| value.is_string() || value.is_u64());
            let count = values.len();
            values.sort_by_key(ToString::to_string);
            values.dedup();
            is_plain && count == items.len() && values.len() == count
        };
        let is_named_so = |name: &&String| {
            let lower = name.to_lowercase();
            lower.ends_with("id") || lower.ends_with("key") || lower.ends_with("uuid")
        };
        first.keys().find(|name| is_named_so(name) && is_id(name)).cloned()
    }
}

/// Returns a preset with the usual names of arguments.
fn usual(preset: &str) -> Option<Pushdown> {
    Pushdown::from_settings(&[("preset".to_owned(), preset.to_owned())]).ok()
}

#[cfg(test)]
mod tests;
