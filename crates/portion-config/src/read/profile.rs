//! Puts the configuration of a profile below the settings that name it, and translates a section `context_protection`, as
//! other servers write it, into keys.

use std::borrow::Cow;

use portion_text::names::closest_name;

use super::{ConfigReader, Layer, UpstreamLayer};
use crate::document::{MapKey, Node, NodeValue, yaml};
use crate::key::{Key, SettingsLevel};
use crate::profile::Profile;
use crate::settings::{Origin, Settings};
use crate::value::Value;

/// Keys of a server that is not the API of a profile.
const OTHER_SERVER_KEYS: [&str; 3] = ["command", "openapi", "tools"];

/// Name of the section.
const PROTECTION_SECTION: &str = "context_protection";

/// Keys of the section, and those that they stand for.
const PROTECTION_KEYS: &[(&str, &str)] = &[
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
const PROTECTION_ENDPOINT_KEYS: &[(&str, &str)] = &[
    ("page_size", "pageSize"),
    ("pagination_enabled", "pagination"),
    ("summarization_enabled", "summarization"),
    ("threshold", "tokenBudgetThreshold"),
    ("hard_cap", "hardCap"),
];

/// The entries of a file, and unknown keys of the section.
pub(super) struct TranslatedEntries<'a> {
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
pub(super) fn translate_context_protection(entries: &[(MapKey, Node)]) -> TranslatedEntries<'_> {
    let is_section = |(key, node): &(MapKey, Node)| {
        key.text == PROTECTION_SECTION && matches!(node.value, NodeValue::Map(_))
    };
    let mut unknown = Vec::new();
    if !entries.iter().any(is_section) {
        return TranslatedEntries { entries: Cow::Borrowed(entries), unknown };
    }
    let mut out = Vec::new();
    for entry in entries {
        match &entry.1.value {
            NodeValue::Map(section) if is_section(entry) => {
                for (key, node) in renamed(section, PROTECTION_KEYS, &mut unknown) {
                    let is_endpoints = key.text == "endpoints";
                    let node = if is_endpoints { with_renamed_endpoints(&node, &mut unknown) } else { node };
                    out.push((key, node));
                }
            }
            _ => out.push(entry.clone()),
        }
    }
    TranslatedEntries { entries: Cow::Owned(out), unknown }
}

impl ConfigReader {
    /// Adds the settings of the profiles that the layer names, below its own.
    pub(super) fn apply_profiles(&mut self, mut layer: Layer) -> Layer {
        for (pattern, settings) in &layer.rules.0 {
            self.reject_profile(pattern, settings);
        }
        for (_, upstream) in &mut layer.upstreams {
            for (pattern, settings) in &upstream.rules.0 {
                self.reject_profile(pattern, settings);
            }
            if let Some(profile) = profile_of(&upstream.settings) {
                let base = self.read_profile(profile);
                apply_to_upstream(base, upstream);
            }
        }
        let Some(profile) = profile_of(&layer.top) else { return layer };
        let mut base = self.read_profile(profile);
        // A configuration with servers of its own does not serve the API of the profile.
        let is_same = |name: &str| {
            let own = layer.upstreams.iter().find(|(own, _)| own == name);
            own.is_some_and(|(_, own)| own.settings.get("openapi").is_none() && may_be_api(&own.settings))
        };
        if !layer.upstreams.is_empty() {
            base.upstreams.retain(|(name, _)| is_same(name));
        }
        base.overlay(layer);
        base
    }

    fn read_profile(&mut self, profile: &'static Profile) -> Layer {
        let from = Origin::Profile(profile.name);
        let hidden = self.secret_ranges.len();
        let layer = match yaml::parse(profile.text) {
            Ok(document) => match &document.root.value {
                NodeValue::Map(entries) => self.read_layer(&from, entries),
                _ => Layer::default(),
            },
            Err(error) => {
                self.report_document_error(&from, error);
                Layer::default()
            }
        };
        // Lines of a profile are not lines of the file.
        self.secret_ranges.truncate(hidden);
        layer
    }

    fn reject_profile(&mut self, pattern: &str, settings: &Settings) {
        if let Some(profile) = profile_of(settings) {
            let origin = settings.get("profile").map(|set| set.origin.clone()).unwrap_or_default();
            let message = format!("the profile {} is not allowed at an endpoint ({pattern})", profile.name);
            self.report(origin, message, "write it at the top or at an upstream");
        }
    }
}

/// Puts a profile below the settings of one server. A server without a URL and a command is the API of the profile, and so
/// is one with a URL that is not that of an MCP server.
fn apply_to_upstream(base: Layer, upstream: &mut UpstreamLayer) {
    let mut settings = Settings::default();
    for (_, set) in base.top.iter().filter(|(_, set)| set.key.is_allowed_at(SettingsLevel::Upstream)) {
        settings.insert(set.clone());
    }
    let is_other = OTHER_SERVER_KEYS.iter().any(|key| upstream.settings.get(key).is_some());
    let is_api = !is_other && may_be_api(&upstream.settings);
    if let Some((_, api)) = base.upstreams.into_iter().next().filter(|_| is_api) {
        settings.overlay(api.settings);
    }
    settings.overlay(std::mem::take(&mut upstream.settings));
    upstream.settings = settings;
    let mut rules = base.rules;
    rules.overlay(std::mem::take(&mut upstream.rules));
    upstream.rules = rules;
}

/// Returns true unless a server with a profile is an MCP server: one with a command, a transport, or a
/// URL whose path ends like that of an MCP server.
fn may_be_api(settings: &Settings) -> bool {
    let path = match settings.get("url").map(|set| &set.value) {
        Some(Value::Reference(url)) => url.masked_text().split(['?', '#']).next().unwrap_or_default(),
        _ => "",
    };
    let path = path.trim_end_matches('/');
    let is_mcp = ["command", "transport"].iter().any(|key| settings.get(key).is_some());
    !is_mcp && !["/mcp", "/sse"].iter().any(|end| path.ends_with(end))
}

/// Returns the profile that settings name, if it is one with a configuration.
fn profile_of(settings: &Settings) -> Option<&'static Profile> {
    match settings.get("profile")?.value {
        Value::Choice(name) => Profile::by_name(name),
        _ => None,
    }
}

fn with_renamed_endpoints(endpoints: &Node, unknown: &mut Vec<UnknownKey>) -> Node {
    let NodeValue::Map(entries) = &endpoints.value else { return endpoints.clone() };
    let entries = entries.iter().map(|(pattern, node)| {
        let value = match &node.value {
            NodeValue::Map(settings) => NodeValue::Map(renamed(settings, PROTECTION_ENDPOINT_KEYS, unknown)),
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
