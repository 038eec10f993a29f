//! Paging arguments of the tool in a call: their values, and the value that stands for the gateway's `page`.

use std::sync::Arc;

use portion_core::paging::{ArgumentValue, PagingArgument, PagingRole, requested_count};
use portion_core::policy::Policy;
use portion_core::view::{Request, ViewError};
use portion_gateway::paged_call::with_argument;
use portion_json::scan::{JsonKind, unescape};

use super::super::catalog::PagingProperty;
use super::super::{controls, walk};

/// The paging arguments of a call, and the arguments to forward if they differ from those received.
#[derive(Debug, PartialEq)]
pub(super) struct CallPaging {
    pub arguments: Arc<[PagingArgument]>,
    /// Arguments with the value that stands for `page`, a JSON object in canonical form.
    pub translated: Option<String>,
}

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
    ) -> Result<Self, ViewError> {
        let mut arguments = arguments_of_call(canonical, properties);
        let translated = match request.page.filter(|page| *page > 1 && is_page_alone(request)) {
            Some(page) => translate_page(page, properties, &mut arguments)?,
            None => None,
        };
        let translated = translated.map(|(name, value)| {
            let limit = requested_count(&arguments).and_then(|limit| u32::try_from(limit).ok());
            request.limit = limit.filter(|limit| *limit as usize <= policy.max_page_size);
            request.page = Some(1);
            controls::canonical_arguments(&with_argument(canonical, &name, value.to_string()))
        });
        Ok(Self { arguments: arguments.into(), translated })
    }
}

/// Returns true if `page` alone selects from the result.
fn is_page_alone(request: &Request) -> bool {
    let other = Request { page: None, fields: None, max_tokens: None, ..request.clone() };
    other.is_plain()
}

/// Returns the paging arguments of a call, those of the tool that it does not have included.
fn arguments_of_call(canonical: &str, properties: &[PagingProperty]) -> Vec<PagingArgument> {
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

/// Sets the argument of the tool that skips the pages before a page, and returns its name and value; `None` if there is
/// no such argument, or its first value is unknown.
fn translate_page(
    page: u32,
    properties: &[PagingProperty],
    arguments: &mut [PagingArgument],
) -> Result<Option<(String, u64)>, ViewError> {
    let is_position =
        |argument: &PagingArgument| argument.role().is_some_and(|role| role != PagingRole::Limit);
    let is_number = |argument: &PagingArgument| {
        properties.iter().any(|own| own.argument.name == argument.name && own.is_number)
    };
    let size = requested_count(arguments);
    let value_of = |argument: &PagingArgument| -> Option<u64> {
        let skipped = u64::from(page - 1);
        let first = argument.default.filter(|first| *first <= 1);
        match argument.role()? {
            PagingRole::Page => first?.checked_add(skipped),
            PagingRole::Offset => {
                // Names like `start` count from 0 or from 1.
                let is_zero_based =
                    argument.default.is_none() && matches!(&*argument.name, "offset" | "skip");
                let first = first.or(is_zero_based.then_some(0))?;
                skipped.checked_mul(size?)?.checked_add(first)
            }
            _ => None,
        }
    };
    let mut candidates = arguments.iter().enumerate().filter(|(_, argument)| is_number(argument));
    let found = candidates.find_map(|(at, argument)| Some((at, value_of(argument)?)));
    let Some((at, value)) = found else { return Ok(None) };
    if arguments.iter().any(|argument| is_position(argument) && argument.value != ArgumentValue::Absent) {
        return Err(ViewError::Conflict { one: "page", other: "the tool's own argument for the position" });
    }
    let argument = &mut arguments[at];
    argument.value = ArgumentValue::Translated(value);
    Ok(Some((argument.name.clone(), value)))
}

#[cfg(test)]
mod tests {
    use portion_core::paging::{ArgumentValue, PagingArgument};
    use portion_core::policy::Policy;
    use portion_core::view::Request;

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
        let paging =
            CallPaging::new(arguments, &properties, &mut request, &Policy::default()).expect("valid");
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

    #[test]
    fn a_page_and_a_position_exclude_each_other() {
        let own = |name: &str| PagingProperty { argument: PagingArgument::new(name), is_number: true };
        let mut request = Request { page: Some(2), ..Request::default() };
        let (tool, policy) = ([own("limit"), own("offset")], Policy::default());
        let error = CallPaging::new(r#"{"limit":30,"offset":60}"#, &tool, &mut request, &policy);
        assert!(error.expect_err("both").to_string().starts_with("page and the tool's own"));
    }
}
