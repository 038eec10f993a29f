//! Describes how a tool pages its own results: names of arguments, and places of the list and its totals in results.
//!
//! With a [`Pushdown`], the gateway fetches the pages of a tool itself and serves them as one list.
//!
//! ```
//! use portion_policy::pushdown::{PagingStyle, Pushdown};
//!
//! let settings = [("limit", "limit"), ("offset", "offset"), ("items", "/result"), ("total", "/count")];
//! let settings: Vec<(String, String)> = settings.map(|(key, text)| (key.into(), text.into())).into();
//! let pushdown = Pushdown::from_settings(&settings)?;
//! assert!(matches!(pushdown.style, PagingStyle::Offset(_)));
//! assert_eq!(pushdown.limit.resolve(|name| name == "limit").as_deref(), Some("limit"));
//! # Ok::<(), portion_policy::pushdown::InvalidPushdown>(())
//! ```

use std::sync::Arc;

use thiserror::Error;

/// Paging of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Pushdown {
    /// Kind of paging, with the argument that selects a page.
    pub style: PagingStyle,
    /// Argument with the number of items of a page.
    pub limit: ArgumentName,
    /// Number of items to ask for.
    pub page_size: usize,
    /// Place of the list: a JSON Pointer or a dotted path; `None`: detected.
    pub items: Option<Arc<str>>,
    /// Place of the total; `None`: detected by name.
    pub total: Option<Arc<str>>,
    /// Place of the next cursor, page or URL; `None`: detected by name.
    pub next: Option<Arc<str>>,
    /// Place of a boolean that is true if there is more; `None`: detected by name.
    pub has_more: Option<Arc<str>>,
    /// Field that identifies an item.
    pub id: Arc<str>,
    /// Argument with the order.
    pub sort: Option<Arc<str>>,
    /// True if a limit above the largest page is refused instead of reduced.
    pub refuses_large_limit: bool,
    /// Largest number of items that are fetched ahead.
    pub max_fetch: usize,
    /// Largest number of bytes of items that are fetched.
    pub max_fetch_bytes: usize,
    /// Largest number of requests per second to the server; `None`: no limit.
    pub requests_per_second: Option<f64>,
}

/// Pages that are fetched rather than skipped, so that most calls for another page share one list, and the longest time for that
/// where requests are limited.
const MIN_SKIPPED_PAGES: usize = 10;
const MAX_SECONDS_TO_PAGE: f64 = 3.0;

/// Kind of paging, with the argument that selects a page.
#[derive(Clone, Debug, PartialEq)]
pub enum PagingStyle {
    /// Number of items to skip.
    Offset(ArgumentName),
    /// Number of the page, and the number of the first page.
    Page(ArgumentName, u64),
    /// Opaque cursor from the previous page.
    Cursor(ArgumentName),
    /// Id of the last item of the previous page.
    AfterId(ArgumentName),
    /// URL of the next page in the previous page. Its query holds the arguments, or the named argument takes the URL.
    Link(Option<Arc<str>>),
}

/// Name of an argument of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArgumentName {
    /// Given by the operator.
    Named(Arc<str>),
    /// The first of these that the tool has.
    FirstOf(&'static [&'static str]),
}

/// A setting of a pushdown.
#[derive(Debug)]
pub struct PushdownSetting {
    /// Name.
    pub name: &'static str,
    /// Description of its effect.
    pub doc: &'static str,
    /// True if its value is a number.
    pub is_number: bool,
}

/// A preset.
#[derive(Debug)]
struct PushdownPreset {
    name: &'static str,
    style: fn() -> PagingStyle,
    settings: &'static [(&'static str, &'static str)],
}

/// Invalid settings of a pushdown.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{problem}")]
pub struct InvalidPushdown {
    /// Name of the setting.
    pub setting: String,
    /// Problem, as the end of a sentence about the setting.
    pub problem: String,
    /// Text to write instead.
    pub fix: String,
}

/// Usual names of arguments, by kind.
const LIMIT_NAMES: &[&str] = &[
    "limit",
    "per_page",
    "perPage",
    "page_size",
    "pageSize",
    "max_results",
    "maxResults",
    "count",
    "size",
    "first",
];
const OFFSET_NAMES: &[&str] =
    &["offset", "skip", "start", "start_at", "startAt", "start_index", "startIndex"];
const PAGE_NAMES: &[&str] = &["page", "page_number", "pageNumber", "page_no", "page_index"];
const CURSOR_NAMES: &[&str] = &[
    "cursor",
    "page_token",
    "pageToken",
    "next_token",
    "nextToken",
    "next_cursor",
    "nextCursor",
    "after",
    "marker",
    "token",
];
const AFTER_ID_NAMES: &[&str] =
    &["afterId", "after_id", "starting_after", "startingAfter", "last_id", "since_id"];

/// All settings.
pub const SETTINGS: &[PushdownSetting] = &[
    setting("preset", "Preset that the other settings change", false),
    setting("limit", "Argument with the number of items of a page", false),
    setting("offset", "Argument with the number of items to skip", false),
    setting("page", "Argument with the number of the page", false),
    setting("pageStart", "Number of the first page: 1, or 0", true),
    setting("cursor", "Argument with the cursor of the previous page", false),
    setting("afterId", "Argument with the id of the last item of the previous page", false),
    setting("link", "Argument with the URL of the next page", false),
    setting("pageSize", "Number of items to ask for", true),
    setting("items", "Place of the list: a JSON Pointer or a dotted path", false),
    setting("total", "Place of the total", false),
    setting("next", "Place of the next cursor, page or URL", false),
    setting("hasMore", "Place of a boolean that is true if there is more", false),
    setting("id", "Field that identifies an item", false),
    setting("sort", "Argument with the order", false),
    setting("largeLimit", "Treatment of a limit above maxPageSize: reduce it, or refuse the call", false),
    setting("maxFetch", "Number of items that are fetched ahead", true),
    setting("maxFetchBytes", "Number of bytes of items that are fetched", true),
    setting("requestsPerSecond", "Largest number of requests per second to the server", true),
];

const PRESETS: &[PushdownPreset] = &[
    PushdownPreset {
        name: "limit-offset",
        style: || PagingStyle::Offset(ArgumentName::FirstOf(OFFSET_NAMES)),
        settings: &[],
    },
    PushdownPreset {
        name: "page",
        style: || PagingStyle::Page(ArgumentName::FirstOf(PAGE_NAMES), 1),
        settings: &[],
    },
    PushdownPreset {
        name: "cursor",
        style: || PagingStyle::Cursor(ArgumentName::FirstOf(CURSOR_NAMES)),
        settings: &[],
    },
    PushdownPreset {
        name: "after-id",
        style: || PagingStyle::AfterId(ArgumentName::FirstOf(AFTER_ID_NAMES)),
        settings: &[],
    },
    PushdownPreset { name: "link", style: || PagingStyle::Link(None), settings: &[] },
    PushdownPreset {
        name: "hostaway",
        style: || PagingStyle::Offset(ArgumentName::FirstOf(OFFSET_NAMES)),
        settings: &[("limit", "limit"), ("offset", "offset"), ("items", "/result"), ("total", "/count")],
    },
    PushdownPreset {
        name: "education",
        style: || PagingStyle::Page(ArgumentName::FirstOf(PAGE_NAMES), 1),
        settings: &[
            ("page", "page"),
            ("items", "/results"),
            ("total", "/count"),
            ("next", "/next"),
            ("pageSize", "1000"),
        ],
    },
];

/// Settings that select the kind of paging.
const STYLE_SETTINGS: [&str; 5] = ["offset", "page", "cursor", "afterId", "link"];

const fn setting(name: &'static str, doc: &'static str, is_number: bool) -> PushdownSetting {
    PushdownSetting { name, doc, is_number }
}

/// Returns the names of the presets.
pub fn preset_names() -> impl Iterator<Item = &'static str> {
    PRESETS.iter().map(|preset| preset.name)
}

/// Returns true if a tool has a usual argument that selects a page. `has`: returns true for an argument of the tool.
pub fn is_paged_otherwise(has: impl Fn(&str) -> bool) -> bool {
    [OFFSET_NAMES, PAGE_NAMES, CURSOR_NAMES, AFTER_ID_NAMES].into_iter().flatten().any(|name| has(name))
}

impl Default for Pushdown {
    fn default() -> Self {
        Self {
            style: PagingStyle::Offset(ArgumentName::FirstOf(OFFSET_NAMES)),
            limit: ArgumentName::FirstOf(LIMIT_NAMES),
            page_size: 100,
            items: None,
            total: None,
            next: None,
            has_more: None,
            id: Arc::from("id"),
            sort: None,
            refuses_large_limit: false,
            max_fetch: 10_000,
            max_fetch_bytes: 64 << 20,
            requests_per_second: None,
        }
    }
}

impl Pushdown {
    /// Returns the pushdown with pages selected by an argument for the number of items to skip.
    #[must_use]
    pub fn by_offset(&self, argument: &Arc<str>) -> Arc<Self> {
        let style = PagingStyle::Offset(ArgumentName::Named(Arc::clone(argument)));
        Arc::new(Self { style, ..self.clone() })
    }

    /// Returns true if an item is so far beyond the fetched ones that its page is requested alone. `page_rows`: items of a page.
    pub fn is_far(&self, distance: usize, page_rows: usize) -> bool {
        let in_time = |rate: f64| (rate * MAX_SECONDS_TO_PAGE) as usize;
        let pages = self.requests_per_second.map_or(MIN_SKIPPED_PAGES, in_time).clamp(1, MIN_SKIPPED_PAGES);
        distance >= page_rows.saturating_mul(pages)
    }

    /// Creates a pushdown from settings by name.
    ///
    /// # Errors
    /// The first invalid setting.
    pub fn from_settings(settings: &[(String, String)]) -> Result<Self, InvalidPushdown> {
        let mut pushdown = Self::default();
        let mut has_style = false;
        for (_, name) in settings.iter().filter(|(key, _)| key == "preset") {
            let Some(preset) = PRESETS.iter().find(|preset| preset.name == name) else {
                let known = preset_names().collect::<Vec<_>>().join(", ");
                return Err(invalid(
                    "preset",
                    "is not a known preset",
                    format!("write one of {known}, or a map of settings"),
                ));
            };
            (pushdown.style, has_style) = ((preset.style)(), true);
            for (key, text) in preset.settings {
                pushdown.set(key, text)?;
            }
        }
        let mut styles = settings.iter().filter(|(key, _)| STYLE_SETTINGS.contains(&key.as_str()));
        if let (Some((one, _)), Some((other, _))) = (styles.next(), styles.next()) {
            let fix = format!("remove {one} or {other}");
            return Err(invalid(other, &format!("contradicts {one}"), fix));
        }
        for (key, text) in settings.iter().filter(|(key, _)| key != "preset" && key != "pageStart") {
            has_style |= STYLE_SETTINGS.contains(&key.as_str());
            pushdown.set(key, text)?;
        }
        for (key, text) in settings.iter().filter(|(key, _)| key == "pageStart") {
            pushdown.set(key, text)?;
        }
        if has_style {
            return Ok(pushdown);
        }
        let fix = "name a preset, or the argument of one of offset, page, cursor, afterId, link";
        Err(invalid("pushdown", "does not say how the tool pages its results", fix.into()))
    }

    /// Returns the argument that selects a page, if the tool has one. `has`: returns true for an argument of the tool.
    pub fn page_argument(&self, has: impl Fn(&str) -> bool) -> Option<Arc<str>> {
        match &self.style {
            PagingStyle::Offset(name)
            | PagingStyle::Page(name, _)
            | PagingStyle::Cursor(name)
            | PagingStyle::AfterId(name) => name.resolve(has),
            PagingStyle::Link(name) => name.clone().filter(|name| has(name)),
        }
    }

    /// Returns true if an argument selects a page by the id of the last item, and this paging does not use it.
    pub fn is_foreign_position(&self, name: &str) -> bool {
        AFTER_ID_NAMES.contains(&name) && self.page_argument(|own| own == name).as_deref() != Some(name)
    }

    fn set(&mut self, key: &str, text: &str) -> Result<(), InvalidPushdown> {
        let named = || ArgumentName::Named(Arc::from(text));
        let place = || Some(Arc::from(text));
        match key {
            "limit" => self.limit = named(),
            "offset" => self.style = PagingStyle::Offset(named()),
            "page" => {
                let start = if let PagingStyle::Page(_, start) = self.style { start } else { 1 };
                self.style = PagingStyle::Page(named(), start);
            }
            "pageStart" => match &self.style {
                PagingStyle::Page(name, _) => {
                    self.style = PagingStyle::Page(name.clone(), number(key, text, 0, 1)? as u64);
                }
                _ => {
                    return Err(invalid(
                        key,
                        "has no effect without page",
                        "name the argument in page".into(),
                    ));
                }
            },
            "cursor" => self.style = PagingStyle::Cursor(named()),
            "afterId" => self.style = PagingStyle::AfterId(named()),
            "link" => self.style = PagingStyle::Link(place()),
            "pageSize" => self.page_size = number(key, text, 1, 100_000)?,
            "items" => self.items = place(),
            "total" => self.total = place(),
            "next" => self.next = place(),
            "hasMore" => self.has_more = place(),
            "id" => self.id = Arc::from(text),
            "sort" => self.sort = place(),
            "largeLimit" => {
                self.refuses_large_limit = match text {
                    "reduce" => false,
                    "refuse" => true,
                    _ => return Err(invalid(key, "is not known", "write reduce or refuse".into())),
                }
            }
            "maxFetch" => self.max_fetch = number(key, text, 1, 10_000_000)?,
            "maxFetchBytes" => self.max_fetch_bytes = bytes(key, text)?,
            "requestsPerSecond" => {
                let rate = text.trim().parse::<f64>().ok().filter(|rate| (0.001..=10_000.0).contains(rate));
                let fix = || "write a number from 0.001 to 10000".to_owned();
                self.requests_per_second =
                    Some(rate.ok_or_else(|| invalid(key, "is not a valid rate", fix()))?);
            }
            _ => {
                let known = SETTINGS.iter().map(|setting| setting.name).collect::<Vec<_>>().join(", ");
                return Err(invalid(key, "is not a setting of pushdown", format!("write one of {known}")));
            }
        }
        Ok(())
    }
}

impl ArgumentName {
    /// Returns the name, if the tool has such an argument. `has`: returns true for an argument of the tool.
    pub fn resolve(&self, has: impl Fn(&str) -> bool) -> Option<Arc<str>> {
        match self {
            Self::Named(name) => has(name).then(|| Arc::clone(name)),
            Self::FirstOf(names) => names.iter().find(|name| has(name)).map(|name| Arc::from(*name)),
        }
    }
}

fn number(key: &str, text: &str, min: usize, max: usize) -> Result<usize, InvalidPushdown> {
    let number = text.trim().parse().ok().filter(|number| (min..=max).contains(number));
    number.ok_or_else(|| invalid(key, "is out of range", format!("write a whole number from {min} to {max}")))
}

/// Parses a number of bytes, with an optional unit: `64MiB`.
fn bytes(key: &str, text: &str) -> Result<usize, InvalidPushdown> {
    let units = [("KiB", 10), ("MiB", 20), ("GiB", 30)];
    let unit = units.iter().find_map(|(unit, shift)| Some((text.trim().strip_suffix(unit)?, *shift)));
    let (digits, shift) = unit.unwrap_or((text, 0));
    let bytes = digits.trim().parse::<usize>().ok().and_then(|count| count.checked_mul(1 << shift));
    let fix = || "write a size from 1KiB to 1GiB".to_owned();
    bytes
        .filter(|bytes| (1 << 10..=1 << 30).contains(bytes))
        .ok_or_else(|| invalid(key, "is not a valid size", fix()))
}

fn invalid(setting: &str, problem: &str, fix: String) -> InvalidPushdown {
    InvalidPushdown { setting: setting.to_owned(), problem: problem.to_owned(), fix }
}

#[cfg(test)]
mod tests {
    use super::{PagingStyle, Pushdown, preset_names};

    fn parse(settings: &[(&str, &str)]) -> Result<Pushdown, super::InvalidPushdown> {
        let owned: Vec<_> =
            settings.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned())).collect();
        Pushdown::from_settings(&owned)
    }

    #[test]
    fn presets_are_valid_and_can_be_changed() {
        for name in preset_names() {
            parse(&[("preset", name)]).expect(name);
        }
        let page = parse(&[("preset", "page"), ("page", "p"), ("pageStart", "0"), ("maxFetch", "50")])
            .expect("good");
        assert!(matches!(&page.style, PagingStyle::Page(_, 0)) && page.max_fetch == 50);
        assert_eq!(page.page_argument(|name| name == "p").as_deref(), Some("p"));
        // An argument that the tool does not list is not its own.
        assert_eq!(page.page_argument(|_| false), None);
        let page = parse(&[("preset", "page")]).expect("good");
        assert_eq!(page.page_argument(|name| name == "pageNumber").as_deref(), Some("pageNumber"));
    }

    #[test]
    fn positions_of_another_kind_are_known() {
        let check = |settings: &[(&str, &str)], name: &str, expect: bool| {
            assert_eq!(
                parse(settings).expect("good").is_foreign_position(name),
                expect,
                "{settings:?} {name}"
            );
        };
        check(&[("preset", "hostaway")], "afterId", true);
        check(&[("preset", "hostaway")], "offset", false);
        check(&[("preset", "hostaway")], "q", false);
        check(&[("preset", "after-id")], "afterId", false);
        check(&[("cursor", "starting_after")], "starting_after", false);
        check(&[("cursor", "starting_after")], "afterId", true);
    }

    #[test]
    fn invalid_settings_are_named() {
        let check = |settings: &[(&str, &str)], setting: &str| {
            assert_eq!(parse(settings).expect_err(setting).setting, setting, "{settings:?}");
        };
        check(&[], "pushdown");
        check(&[("limit", "limit")], "pushdown");
        check(&[("preset", "none such")], "preset");
        check(&[("offset", "offset"), ("page", "page")], "page");
        check(&[("offset", "offset"), ("pageStart", "1")], "pageStart");
        check(&[("offset", "offset"), ("pageSize", "0")], "pageSize");
        check(&[("offset", "offset"), ("maxFetchBytes", "many")], "maxFetchBytes");
        check(&[("offset", "offset"), ("requestsPerSecond", "-1")], "requestsPerSecond");
        check(&[("offset", "offset"), ("colour", "red")], "colour");
    }
}
