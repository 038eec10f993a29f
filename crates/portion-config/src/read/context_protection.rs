//! Translates a section `context_protection`, as other servers write it, into keys.

use std::borrow::Cow;

use crate::document::{MapKey, Node, NodeValue};

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
    ("endpoints", "endpoints"),
];
/// Keys of an endpoint in the section.
const ENDPOINT_KEYS: &[(&str, &str)] = &[
    ("page_size", "pageSize"),
    ("pagination_enabled", "pagination"),
    ("summarization_enabled", "summarization"),
    ("threshold", "tokenBudgetThreshold"),
    ("hard_cap", "hardCap"),
];

/// Returns the entries of a file with those of the section in place of the section.
pub(super) fn translate(entries: &[(MapKey, Node)]) -> Cow<'_, [(MapKey, Node)]> {
    let is_section =
        |(key, node): &(MapKey, Node)| key.text == SECTION && matches!(node.value, NodeValue::Map(_));
    if !entries.iter().any(is_section) {
        return Cow::Borrowed(entries);
    }
    let mut out = Vec::new();
    for entry in entries {
        match &entry.1.value {
            NodeValue::Map(section) if is_section(entry) => {
                for (key, node) in renamed(section, KEYS) {
                    let node = if key.text == "endpoints" { with_renamed_endpoints(&node) } else { node };
                    out.push((key, node));
                }
            }
            _ => out.push(entry.clone()),
        }
    }
    Cow::Owned(out)
}

fn with_renamed_endpoints(endpoints: &Node) -> Node {
    let NodeValue::Map(entries) = &endpoints.value else { return endpoints.clone() };
    let entries = entries.iter().map(|(pattern, node)| {
        let value = match &node.value {
            NodeValue::Map(settings) => NodeValue::Map(renamed(settings, ENDPOINT_KEYS)),
            other => other.clone(),
        };
        (pattern.clone(), Node { value, ..node.clone() })
    });
    Node { value: NodeValue::Map(entries.collect()), ..endpoints.clone() }
}

/// Returns the entries under their new names. Unknown ones keep theirs, and are reported later.
fn renamed(entries: &[(MapKey, Node)], keys: &[(&str, &str)]) -> Vec<(MapKey, Node)> {
    let name = |key: &MapKey| {
        let known = keys.iter().find(|(own, _)| *own == key.text);
        known.map_or_else(|| key.text.clone(), |(_, name)| (*name).to_owned())
    };
    entries.iter().map(|(key, node)| (MapKey { text: name(key), ..key.clone() }, node.clone())).collect()
}
