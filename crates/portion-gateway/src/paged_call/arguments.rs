//! Writes the arguments of a request for a page. All other arguments keep their bytes.

use std::sync::Arc;

use portion_core::paging::is_paging_argument;
use portion_json::containers;
use portion_json::scan::{quote, unescape};
use portion_json::span::Span;
use portion_policy::pushdown::{PagingStyle, Pushdown, is_paged_otherwise};
use portion_policy::upstream::{Parameter, parameters};

/// The position of a page, as the upstream expects it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum PageRequest {
    /// The first page of a style without numbers.
    #[default]
    First,
    /// Items to skip, or number of the page.
    Number(u64),
    /// A cursor, an id, or a URL, as JSON.
    Value(String),
    /// Arguments from the URL of the next page, each with its value as JSON.
    Arguments(Vec<(String, String)>),
}

/// Names of the paging arguments of a tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PagingNames {
    /// Argument with the number of items of a page, if the tool has one.
    pub limit: Option<Arc<str>>,
    /// Argument that selects a page, if the tool has one.
    pub page: Option<Arc<str>>,
}

impl PageRequest {
    /// Returns the request for the first page.
    pub(crate) fn first(pushdown: &Pushdown) -> Self {
        match &pushdown.style {
            PagingStyle::Offset(_) => Self::Number(0),
            PagingStyle::Page(_, start) => Self::Number(*start),
            _ => Self::First,
        }
    }
}

impl PagingNames {
    /// Resolves the names of a pushdown: none, if the tool selects pages by other arguments only. `has`: returns true for an
    /// argument of the tool.
    pub fn resolve(pushdown: &Pushdown, has: impl Fn(&str) -> bool) -> Self {
        let page = pushdown.page_argument(&has);
        if page.is_none() && !matches!(pushdown.style, PagingStyle::Link(_)) && is_paged_otherwise(&has) {
            return Self::default();
        }
        Self { limit: pushdown.limit.resolve(&has), page }
    }

    /// Returns true if an argument of this name selects a page or its size.
    pub fn contains(&self, name: &str) -> bool {
        [&self.limit, &self.page].into_iter().flatten().any(|own| &**own == name)
    }

    /// Returns true if an argument of this name numbers pages. Pages of a smaller size have other numbers.
    pub fn numbers_pages(&self, name: &str, pushdown: &Pushdown) -> bool {
        let is_own = self.page.as_deref() == Some(name);
        is_own && matches!(pushdown.style, PagingStyle::Page(..)) || matches!(name, "page" | "pages")
    }

    /// Returns the control of the gateway that an argument of the tool stands for, and its value; `None` stands for the
    /// value as received. `number` is the value if it is a whole number. A limit above `max_limit`, if there is one, is
    /// reduced: the tool's own limit may be larger than a page.
    pub fn control_for(
        &self,
        (name, number): (&str, Option<u64>),
        pushdown: &Pushdown,
        max_limit: Option<usize>,
    ) -> Option<(&'static str, Option<u64>)> {
        let is = |own: &Option<Arc<str>>| own.as_deref() == Some(name);
        if is(&self.limit) {
            let reduced = number.zip(max_limit).map(|(limit, max)| limit.min(max as u64));
            return Some(("limit", reduced));
        }
        match &pushdown.style {
            _ if !is(&self.page) => None,
            PagingStyle::Offset(_) => Some(("offset", None)),
            PagingStyle::Page(_, start) => {
                Some(("page", number.and_then(|page| page.checked_add(1)?.checked_sub(*start))))
            }
            PagingStyle::Cursor(_) => Some(("cursor", None)),
            PagingStyle::AfterId(_) | PagingStyle::Link(_) => None,
        }
    }

    /// Returns the arguments of a request for a page of `page_size` items. `base`: the other arguments.
    pub(crate) fn apply(&self, base: &str, request: &PageRequest, page_size: usize) -> String {
        let mut set: Vec<(&str, String)> = Vec::new();
        if let Some(limit) = &self.limit {
            set.push((limit, page_size.to_string()));
        }
        match (request, &self.page) {
            (PageRequest::Number(number), Some(name)) => set.push((name, number.to_string())),
            (PageRequest::Value(json), Some(name)) => set.push((name, json.clone())),
            (PageRequest::Arguments(arguments), _) => {
                for (name, json) in arguments {
                    set.retain(|(other, _)| other != name);
                    set.push((name, json.clone()));
                }
            }
            _ => {}
        }
        set_members(base, &set)
    }
}

/// Sets members of a JSON object; values are JSON.
pub(crate) fn set_members(object: &str, set: &[(&str, String)]) -> String {
    let is_set = |name: &str| set.iter().any(|(set, _)| *set == name);
    let unset = containers::members(object, Span::new(0, object.len()))
        .filter(|member| !is_set(&unescape(member.key.slice(object))));
    let mut members: Vec<String> =
        unset.map(|member| format!("{}:{}", member.key.slice(object), member.value.slice(object))).collect();
    members.extend(set.iter().map(|(name, json)| format!("{}:{json}", quote(name))));
    format!("{{{}}}", members.join(","))
}

/// Returns the paging arguments in the query of a URL, with their values as JSON.
pub(crate) fn arguments_of_url(url: &str, names: &PagingNames) -> Vec<(String, String)> {
    let query = url.split_once('?').map_or("", |(_, query)| query);
    let query = query.split('#').next().unwrap_or_default();
    parameters(query)
        .filter(|Parameter { text, name, .. }| {
            text.contains('=') && (is_paging_argument(name) || names.contains(name))
        })
        .map(|Parameter { name, value, .. }| {
            let lower = name.to_ascii_lowercase();
            let is_opaque = ["cursor", "token", "after", "marker"].iter().any(|word| lower.contains(word));
            let is_number = value.len() < 16 && value.parse::<u64>().is_ok_and(|n| n.to_string() == value);
            let json = if is_number && !is_opaque { value } else { quote(&value) };
            (name, json)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{PageRequest, PagingNames, arguments_of_url};

    #[test]
    fn sets_the_paging_arguments_and_keeps_the_others() {
        let names = PagingNames { limit: Some("limit".into()), page: Some("offset".into()) };
        let check = |base: &str, request: &PageRequest, expect: &str| {
            assert_eq!(names.apply(base, request, 100), expect, "{base}");
        };
        check("", &PageRequest::Number(0), r#"{"limit":100,"offset":0}"#);
        check(
            r#"{"q" : "a\u0062", "limit":7, "o\u0066fset":9}"#,
            &PageRequest::Number(300),
            r#"{"q":"a\u0062","limit":100,"offset":300}"#,
        );
        check("{}", &PageRequest::Value("\"abc\"".into()), r#"{"limit":100,"offset":"abc"}"#);
        check("{}", &PageRequest::Arguments(vec![("page".into(), "2".into())]), r#"{"limit":100,"page":2}"#);
    }

    #[test]
    fn reads_the_paging_arguments_of_a_link() {
        let check = |url: &str, expect: &[(&str, &str)]| {
            let found = arguments_of_url(url, &PagingNames::default());
            let found: Vec<_> = found.iter().map(|(name, json)| (name.as_str(), json.as_str())).collect();
            assert_eq!(found, expect, "{url}");
        };
        check("https://a.example/x?year=2020&page=2", &[("page", "2")]);
        check("/x?page_token=1%2B2&limit=50#end", &[("page_token", "\"1+2\""), ("limit", "50")]);
        check("https://a.example/x", &[]);
    }
}
