//! Arguments that page the results of a tool, by its input schema.

use portion_core::paging::{PagingArgument, PagingRole};
use portion_json::scan::{JsonKind, unescape};
use portion_json::span::Span;

use super::super::walk::{self, Member, Sequence};

/// A property of a tool that pages its results.
#[derive(Clone, Debug, PartialEq)]
pub(in super::super) struct PagingProperty {
    /// The argument, without a value.
    pub argument: PagingArgument,
    /// True if its schema allows whole numbers.
    pub is_number: bool,
}

/// Returns the properties that page the results of a tool, sorted by name.
pub(super) fn paging_properties(text: &str, properties: &[Member]) -> Vec<PagingProperty> {
    let mut paging: Vec<PagingProperty> = properties
        .iter()
        .filter_map(|member| {
            let name = unescape(member.key.slice(text));
            let role = PagingRole::of(&name)?;
            let number = |key: &str| walk::member_value(text, member.value, key)?.slice(text).parse().ok();
            // A position begins at its smallest value.
            let first = || number("minimum").filter(|first| role != PagingRole::Limit && *first <= 1);
            let default = number("default").or_else(first);
            let argument = PagingArgument { default, ..PagingArgument::new(name) };
            Some(PagingProperty { argument, is_number: allows_numbers(text, member.value) })
        })
        .collect();
    paging.sort_unstable_by(|one, other| one.argument.name.cmp(&other.argument.name));
    paging
}

/// Returns the schema of the property for the number of items per page, if that is a number without a maximum.
pub(super) fn unbounded_limit(text: &str, properties: &[Member]) -> Option<Sequence> {
    let is_limit = |member: &&Member| {
        PagingRole::of(&unescape(member.key.slice(text))) == Some(PagingRole::Limit)
            && allows_numbers(text, member.value)
    };
    let span = properties.iter().find(is_limit)?.value;
    let members = walk::members(text, span);
    let is_bounded =
        ["maximum", "exclusiveMaximum"].iter().any(|key| walk::find_member(text, &members, key).is_some());
    let items = members.iter().map(|member| member.span()).collect();
    (!is_bounded).then_some(Sequence { span, items })
}

/// Returns true if a schema allows whole numbers by its `type`, or by one of its alternatives.
fn allows_numbers(text: &str, schema: Span) -> bool {
    let is_numeric = |schema: Span| {
        walk::member_value(text, schema, "type").is_some_and(|kind| {
            let listed = walk::items(text, kind);
            let is_named = |kind: &Span| {
                ["integer", "number"].iter().any(|name| walk::string_equals(kind.slice(text), name))
            };
            listed.iter().chain([&kind]).any(is_named)
        })
    };
    let alternatives = |name: &str| {
        let alternatives = walk::member_value(text, schema, name);
        let alternatives = alternatives.filter(|span| walk::kind(text, *span) == JsonKind::Array);
        alternatives.map(|span| walk::items(text, span)).unwrap_or_default()
    };
    let all = alternatives("anyOf").into_iter().chain(alternatives("oneOf"));
    is_numeric(schema) || all.into_iter().any(is_numeric)
}
