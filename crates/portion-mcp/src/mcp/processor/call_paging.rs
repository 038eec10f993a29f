//! Paging arguments of the tool in a call: their values, and the value that stands for the gateway's `page`.

use std::sync::Arc;

use portion_core::paging::{ArgumentValue, PagingArgument, PagingRole, UnshownRange, requested_count};
use portion_core::policy::{FirstRows, Policy};
use portion_core::view::{Request, ViewError};
use portion_gateway::paged_call::with_argument;
use portion_gateway::served_pages::ServedPage;
use portion_json::scan::{JsonKind, unescape};

use super::super::catalog::PagingProperty;
use super::super::{controls, walk};

/// The paging arguments of a call, and the arguments to forward if they differ from those received.
#[derive(Debug, PartialEq)]
pub(super) struct CallPaging {
    pub arguments: Arc<[PagingArgument]>,
    /// Arguments with the value that stands for `page`, a JSON object in canonical form.
    pub translated: Option<String>,
    /// Items that the page before did not show.
    pub unshown: Option<UnshownRange>,
}

/// Looks up the page that an earlier reply has shown, by the arguments of its call in canonical form.
pub(super) type ServedPageLookup<'a> = &'a dyn Fn(&str) -> Option<ServedPage>;

impl CallPaging {
    /// Reads the paging arguments of a call. `canonical`: the arguments without controls. A `page` of the request that the
    /// tool can skip to by an argument of its own becomes that argument, and the request asks for the page received.
    ///
    /// # Errors
    /// Both `page` and the tool's own argument for the position are given.
    pub(super) fn new(
        canonical: &str,
        properties: &[PagingProperty],
        request: &mut Request,
        policy: &Policy,
        served: ServedPageLookup<'_>,
    ) -> Result<Self, ViewError> {
        let mut arguments = arguments_of_call(canonical, properties);
        let page = request.page.filter(|page| *page > 1 && is_page_alone(request));
        let pages = ToolPages { canonical, properties, served, first_rows: policy.first_rows };
        let limit = requested_count(&arguments).and_then(|limit| u32::try_from(limit).ok());
        let limit = limit.filter(|limit| *limit as usize <= policy.max_page_size);
        let Some(page) = page else {
            // The first page is as large as the others.
            let selects = |role| matches!(role, PagingRole::Page | PagingRole::Offset);
            let has_pages = arguments.iter().filter_map(PagingArgument::role).any(selects);
            if request.page == Some(1) && is_page_alone(request) && has_pages {
                request.limit = limit;
            }
            let unshown = pages.unshown_before_own(&arguments);
            return Ok(Self { arguments: arguments.into(), translated: None, unshown });
        };
        let Some((name, value)) = pages.translate(page, &mut arguments)? else {
            return Ok(Self { arguments: arguments.into(), translated: None, unshown: None });
        };
        let unshown = pages.unshown_before(page, &name, value, &arguments);
        request.limit = limit;
        request.page = Some(1);
        let translated = Some(pages.arguments_with(&name, value));
        Ok(Self { arguments: arguments.into(), translated, unshown })
    }
}

/// Returns true if `page` alone selects from the result.
fn is_page_alone(request: &Request) -> bool {
    let other = Request { page: None, fields: None, max_tokens: None, ..request.clone() };
    other.is_plain()
}

/// Returns the paging arguments of a call, those of the tool that it does not have included.
pub(super) fn arguments_of_call(canonical: &str, properties: &[PagingProperty]) -> Vec<PagingArgument> {
    let mut arguments: Vec<PagingArgument> = properties.iter().map(|own| own.argument.clone()).collect();
    for member in walk::members(canonical, walk::document_span(canonical)) {
        let name = unescape(member.key.slice(canonical));
        if PagingRole::of(&name).is_none() {
            continue;
        }
        let json = member.value.slice(canonical);
        let value = match walk::kind(canonical, member.value) {
            JsonKind::Null => ArgumentValue::Absent,
            _ => json.trim_matches('"').parse().map_or(ArgumentValue::Other, ArgumentValue::Number),
        };
        match arguments.iter_mut().find(|own| own.name == name) {
            Some(own) => own.value = value,
            None => arguments.push(PagingArgument { value, ..PagingArgument::new(name) }),
        }
    }
    arguments
}

/// The pages of a tool by number.
struct ToolPages<'a> {
    canonical: &'a str,
    properties: &'a [PagingProperty],
    served: ServedPageLookup<'a>,
    first_rows: FirstRows,
}

impl ToolPages<'_> {
    /// Sets the argument of the tool that skips the pages before a page, and returns its name and value; `None` if there
    /// is no such argument, or its first value is unknown.
    ///
    /// Pages are as large as the first one, if that has fewer items than the call asks for: some tools return fewer
    /// without a word. Pages of the size asked for would skip items then.
    fn translate(
        &self,
        page: u32,
        arguments: &mut [PagingArgument],
    ) -> Result<Option<(String, u64)>, ViewError> {
        let is_position =
            |argument: &PagingArgument| argument.role().is_some_and(|role| role != PagingRole::Limit);
        let is_number = |argument: &PagingArgument| {
            self.properties.iter().any(|own| own.argument.name == argument.name && own.is_number)
        };
        let skipped = u64::from(page - 1);
        let requested = requested_count(arguments);
        let value_of = |argument: &PagingArgument| -> Option<(u64, Option<u64>)> {
            let first = first_value(argument)?;
            match argument.role()? {
                PagingRole::Page => Some((first.checked_add(skipped)?, None)),
                PagingRole::Offset => {
                    let size = match requested {
                        Some(requested) => self.first_page_size(argument, requested),
                        None => self.shown_page_size(argument, page)?,
                    };
                    Some((skipped.checked_mul(size)?.checked_add(first)?, Some(size)))
                }
                _ => None,
            }
        };
        let mut candidates = arguments.iter().enumerate().filter(|(_, argument)| is_number(argument));
        let found = candidates.find_map(|(at, argument)| Some((at, value_of(argument)?)));
        let Some((at, (value, size))) = found else { return Ok(None) };
        if arguments.iter().any(|argument| is_position(argument) && argument.value != ArgumentValue::Absent) {
            return Err(ViewError::Conflict {
                one: "page",
                other: "the tool's own argument for the position",
            });
        }
        let limit = arguments.iter_mut().find(|argument| argument.role() == Some(PagingRole::Limit));
        if let (Some(limit), Some(size)) = (limit, size.filter(|size| Some(*size) != requested)) {
            limit.value = ArgumentValue::Number(size);
        }
        let argument = &mut arguments[at];
        argument.value = ArgumentValue::Translated(value);
        Ok(Some((argument.name.clone(), value)))
    }

    /// Returns the size of the first page: what the call asks for, or what it got, if that is known to be less.
    fn first_page_size(&self, position: &PagingArgument, requested: u64) -> u64 {
        let first = first_value(position).and_then(|first| self.served_at(&position.name, first, first));
        let received = first.map(|page| page.received as u64);
        received.filter(|received| (1..requested).contains(received)).unwrap_or(requested)
    }

    /// Returns the size of the pages of a call without a size: what its first reply showed. Pages in the result received are
    /// pages of that, and so are those after a sample.
    fn shown_page_size(&self, position: &PagingArgument, page: u32) -> Option<u64> {
        let first = first_value(position).and_then(|first| self.served_at(&position.name, first, first))?;
        let is_beyond =
            first.shown == first.received || first.shown.saturating_mul(page as usize) > first.received;
        let is_sample = first.shown < first.received && self.first_rows == FirstRows::Sample;
        (first.shown > 0 && is_beyond && !is_sample).then_some(first.shown as u64)
    }

    /// Returns what the page before the one that the caller's own arguments select did not show.
    fn unshown_before_own(&self, arguments: &[PagingArgument]) -> Option<UnshownRange> {
        let given = arguments.iter().filter(|argument| argument.is_given());
        let (argument, value) = given
            .filter_map(|argument| Some((argument, argument.number()?)))
            .find(|(argument, _)| matches!(argument.role(), Some(PagingRole::Page | PagingRole::Offset)))?;
        let skipped = value.checked_sub(first_value(argument)?)?;
        let step = if argument.role() == Some(PagingRole::Page) { 1 } else { requested_count(arguments)? };
        let page = u32::try_from(skipped.checked_div(step)?).ok()?.checked_add(1).filter(|page| *page > 1)?;
        self.unshown_before(page, &argument.name, value, arguments)
    }

    /// Returns what the page before a page did not show. `name`, `value`: the argument that selects the page.
    fn unshown_before(
        &self,
        page: u32,
        name: &str,
        value: u64,
        arguments: &[PagingArgument],
    ) -> Option<UnshownRange> {
        let argument = arguments.iter().find(|argument| argument.name == name)?;
        let first = first_value(argument)?;
        let step = (value - first) / u64::from(page - 1);
        let before = self.served_at(name, value - step, first)?;
        let count = before.received.checked_sub(before.shown).filter(|count| *count > 0)?;
        let size = if step > 1 { step } else { before.received as u64 };
        let start = u64::from(page - 2).saturating_mul(size);
        let offset = usize::try_from(start).ok()?.saturating_add(before.shown);
        Some(UnshownRange { offset: Some(offset), count, cursor: before.next_cursor })
    }

    /// Returns what the reply to the page at a position has shown. The first page may be called without a position.
    fn served_at(&self, name: &str, value: u64, first: u64) -> Option<ServedPage> {
        let plain = (value == first).then(|| (self.served)(self.canonical)).flatten();
        plain.or_else(|| (self.served)(&self.arguments_with(name, value)))
    }

    /// Returns the arguments with a position, in canonical form.
    fn arguments_with(&self, name: &str, value: u64) -> String {
        controls::canonical_arguments(&with_argument(self.canonical, name, value.to_string()))
    }
}

/// Returns the value that selects the first page, if it is known: names like `start` count from 0 or from 1.
fn first_value(argument: &PagingArgument) -> Option<u64> {
    let is_zero_based = argument.role() == Some(PagingRole::Offset)
        && argument.default.is_none()
        && matches!(&*argument.name, "offset" | "skip");
    argument.default.filter(|first| *first <= 1).or(is_zero_based.then_some(0))
}

#[cfg(test)]
mod tests {
    use portion_core::paging::{ArgumentValue, PagingArgument};
    use portion_core::policy::Policy;
    use portion_core::view::Request;

    use portion_gateway::served_pages::ServedPage;

    use super::CallPaging;
    use crate::mcp::catalog::PagingProperty;

    /// `tool`: numeric arguments of the tool, some with a default (`start?1`). `expect`: the arguments that are forwarded,
    /// and the limit.
    fn check(tool: &str, page: u32, arguments: &str, expect: Option<(&str, Option<u32>)>) {
        let properties: Vec<PagingProperty> = tool
            .split_whitespace()
            .map(|text| {
                let (name, default) = text.split_once('?').unwrap_or((text, ""));
                let argument = PagingArgument { default: default.parse().ok(), ..PagingArgument::new(name) };
                PagingProperty { argument, is_number: true }
            })
            .collect();
        let mut request = Request { page: Some(page), ..Request::default() };
        let paging = CallPaging::new(arguments, &properties, &mut request, &Policy::default(), &|_| None)
            .expect("valid");
        let translated = paging.translated.as_deref().map(|arguments| (arguments, request.limit));
        assert_eq!(translated, expect, "{tool} {page} {arguments}");
        let is_marked = |argument: &PagingArgument| matches!(argument.value, ArgumentValue::Translated(_));
        assert_eq!(paging.arguments.iter().any(is_marked), expect.is_some(), "{paging:?}");
        assert_eq!(request.page, Some(if expect.is_some() { 1 } else { page }), "{tool} {page} {arguments}");
    }

    #[test]
    fn a_page_becomes_the_position_of_the_tool() {
        check(
            "limit offset",
            3,
            r#"{"limit":30,"q":"x"}"#,
            Some((r#"{"limit":30,"offset":60,"q":"x"}"#, Some(30))),
        );
        check("skip take", 2, r#"{"take":"100"}"#, Some((r#"{"skip":100,"take":"100"}"#, Some(100))));
        check("limit?20 offset", 2, "{}", Some((r#"{"offset":20}"#, Some(20))));
        check("limit offset", 2, r#"{"limit":1000}"#, Some((r#"{"limit":1000,"offset":1000}"#, None)));
        check(
            "count startIndex?1",
            3,
            r#"{"count":10}"#,
            Some((r#"{"count":10,"startIndex":21}"#, Some(10))),
        );
        check("pageNumber?0 pageSize", 3, "{}", Some((r#"{"pageNumber":2}"#, None)));
    }

    #[test]
    fn other_pages_are_read_from_the_result() {
        check("limit offset", 1, r#"{"limit":30}"#, None);
        check("limit offset", 3, "{}", None);
        check("limit cursor", 3, r#"{"limit":30}"#, None);
        check("limit start", 3, r#"{"limit":30}"#, None);
        check("limit offset?100", 3, r#"{"limit":30}"#, None);
        check("pageNumber pageSize", 3, "{}", None);
        check("limit offset", u32::MAX, r#"{"limit":18446744073709551615}"#, None);
        check("", 3, r#"{"limit":30,"offset":60}"#, None);
    }

    /// `served`: calls so far, with the numbers of received and of shown items. `expect`: the arguments that are
    /// forwarded, and the offset and the number of items that the page before did not show.
    fn check_served(
        tool: &str,
        page: u32,
        served: &[(&str, usize, usize)],
        expect: (&str, Option<(usize, usize)>),
    ) {
        check_call(r#"{"limit":100}"#, tool, page, served, expect);
    }

    fn check_call(
        call: &str,
        tool: &str,
        page: u32,
        served: &[(&str, usize, usize)],
        expect: (&str, Option<(usize, usize)>),
    ) {
        let own = |name: &str| PagingProperty { argument: PagingArgument::new(name), is_number: true };
        let mut properties: Vec<PagingProperty> = tool.split_whitespace().map(own).collect();
        for property in properties.iter_mut().filter(|property| property.argument.name == "page_no") {
            property.argument.default = Some(1);
        }
        let lookup = |arguments: &str| {
            let found = served.iter().find(|(call, ..)| *call == arguments)?;
            Some(ServedPage { received: found.1, shown: found.2, next_cursor: None })
        };
        let mut request = Request { page: Some(page), ..Request::default() };
        let paging = CallPaging::new(call, &properties, &mut request, &Policy::default(), &lookup);
        let paging = paging.expect("valid");
        let unshown = paging.unshown.map(|range| (range.offset.unwrap_or_default(), range.count));
        assert_eq!((paging.translated.as_deref().unwrap_or_default(), unshown), expect, "{page} {served:?}");
    }

    #[test]
    fn pages_of_a_call_without_a_size_are_as_large_as_its_first_page() {
        let check = |served: &[(&str, usize, usize)], expect: &str| {
            check_call("{}", "limit offset", 3, served, (expect, None));
        };
        check(&[("{}", 10, 10)], r#"{"offset":20}"#);
        // What was received is not all shown: the pages are those of the result.
        check(&[("{}", 500, 50)], "");
        check(&[("{}", 0, 0)], "");
        check(&[], "");
    }

    #[test]
    fn a_page_follows_what_the_page_before_had_and_says_what_it_did_not_show() {
        let (first, explicit) = (r#"{"limit":100}"#, r#"{"limit":100,"offset":0}"#);
        let (at_100, at_50) = (r#"{"limit":100,"offset":100}"#, r#"{"limit":100,"offset":50}"#);
        let tool = "limit offset";
        check_served(tool, 2, &[], (at_100, None));
        check_served(tool, 2, &[(first, 100, 100)], (at_100, None));
        check_served(tool, 2, &[(first, 100, 50)], (at_100, Some((50, 50))));
        check_served(tool, 2, &[(explicit, 100, 40)], (at_100, Some((40, 60))));
        // The server returns at most 50 items.
        check_served(tool, 2, &[(first, 50, 50)], (at_50, None));
        check_served(tool, 2, &[(first, 50, 20)], (at_50, Some((20, 30))));
        check_served(tool, 3, &[(first, 50, 20), (at_50, 50, 45)], (at_100, Some((95, 5))));
        check_served(tool, 3, &[(first, 50, 20)], (at_100, None));
        // An empty first page says nothing about the size, and neither does one that is larger than asked for.
        check_served(tool, 2, &[(first, 0, 0)], (at_100, None));
        check_served(tool, 2, &[(first, 130, 130)], (at_100, None));
        let numbered = r#"{"limit":100,"page_no":2}"#;
        check_served("limit page_no", 2, &[(first, 30, 10)], (numbered, Some((10, 20))));
    }

    #[test]
    fn a_page_and_a_position_exclude_each_other() {
        let own = |name: &str| PagingProperty { argument: PagingArgument::new(name), is_number: true };
        let mut request = Request { page: Some(2), ..Request::default() };
        let (tool, policy) = ([own("limit"), own("offset")], Policy::default());
        let error = CallPaging::new(r#"{"limit":30,"offset":60}"#, &tool, &mut request, &policy, &|_| None);
        assert!(error.expect_err("both").to_string().starts_with("page and the tool's own"));
    }
}
