//! Translates a section `context_protection`, as other servers write it, into keys.

use std::borrow::Cow;

use portion_text::names::closest_name;

use crate::document::{MapKey, Node, NodeValue};
use crate::key::Key;

/// Name of the section.
const SECTION: &str = "context_protection";
/// Keys of the section, and those that they stand for.
const KEYS: &[(&str, &str)] = &[
    ("output_token_threshold", "tokenBudgetThreshold"),
    ("hard_output_token_cap", "hardCap"),
    ("default_page_size", "defaultPageSize"),
    ("max_page_size", "maxPageSize"),
    ("enable_summarization", "summarization"),
    ("enable_pagination", "pagination"),
    ("summarization_enabled", "summarization"),
    ("pagination_enabled", "pagination"),
    ("endpoints", "endpoints"),
    ("endpoint_overrides", "endpoints"),
];
/// Keys of an endpoint in the section.
const ENDPOINT_KEYS: &[(&str, &str)] = &[
    ("page_size", "pageSize"),
    ("pagination_enabled", "pagination"),
    ("summarization_enabled", "summarization"),
    ("threshold", "tokenBudgetThreshold"),
    ("hard_cap", "hardCap"),
];

/// The entries of a file, and unknown keys of the section.
pub(super) struct Translated<'a> {
    pub(super) entries: Cow<'a, [(MapKey, Node)]>,
    pub(super) unknown: Vec<UnknownKey>,
}

/// A key that the section does not have.
pub(super) struct UnknownKey {
    pub(super) key: MapKey,
    /// Line in which its value ends.
    pub(super) last_line: usize,
    /// Keys that the section has in its place.
    known: &'static [(&'static str, &'static str)],
}

impl UnknownKey {
    /// Returns the remedy.
    pub(super) fn fix(&self) -> String {
        let known = || self.known.iter().map(|(own, _)| *own);
        match closest_name(&self.key.text, known()) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("write one of {}", known().collect::<Vec<_>>().join(", ")),
        }
    }
}

/// Puts the entries of the section in place of the section.
pub(super) fn translate(entries: &[(MapKey, Node)]) -> Translated<'_> {
    let is_section =
        |(key, node): &(MapKey, Node)| key.text == SECTION && matches!(node.value, NodeValue::Map(_));
    let mut unknown = Vec::new();
    if !entries.iter().any(is_section) {
        return Translated { entries: Cow::Borrowed(entries), unknown };
    }
    let mut out = Vec::new();
    for entry in entries {
        match &entry.1.value {
            NodeValue::Map(section) if is_section(entry) => {
                for (key, node) in renamed(section, KEYS, &mut unknown) {
                    let is_endpoints = key.text == "endpoints";
                    let node = if is_endpoints { with_renamed_endpoints(&node, &mut unknown) } else { node };
                    out.push((key, node));
                }
            }
            _ => out.push(entry.clone()),
        }
    }
    Translated { entries: Cow::Owned(out), unknown }
}

fn with_renamed_endpoints(endpoints: &Node, unknown: &mut Vec<UnknownKey>) -> Node {
    let NodeValue::Map(entries) = &endpoints.value else { return endpoints.clone() };
    let entries = entries.iter().map(|(pattern, node)| {
        let value = match &node.value {
            NodeValue::Map(settings) => NodeValue::Map(renamed(settings, ENDPOINT_KEYS, unknown)),
            other => other.clone(),
        };
        (pattern.clone(), Node { value, ..node.clone() })
    });
    Node { value: NodeValue::Map(entries.collect()), ..endpoints.clone() }
}

/// Returns the entries under their new names, without unknown ones. Portion's own keys keep theirs.
fn renamed(
    entries: &[(MapKey, Node)],
    keys: &'static [(&'static str, &'static str)],
    unknown: &mut Vec<UnknownKey>,
) -> Vec<(MapKey, Node)> {
    let mut out = Vec::new();
    for (key, node) in entries {
        let renamed = keys.iter().find(|(own, _)| *own == key.text).map(|(_, name)| *name);
        match renamed.or_else(|| Key::by_name(&key.text).map(|own| own.name)) {
            // Programs write values that are not set as null.
            Some(_) if matches!(node.value, NodeValue::Null) => {}
            Some(name) => out.push((MapKey { text: name.to_owned(), ..key.clone() }, node.clone())),
            None => unknown.push(UnknownKey { key: key.clone(), last_line: node.last_line, known: keys }),
        }
    }
    out
}
