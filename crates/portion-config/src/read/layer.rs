//! Reads the settings of one source: for everything, for patterns, for servers.

use super::ConfigReader;
use crate::document::{MapKey, Node, NodeValue};
use crate::key::{Key, SettingsLevel, ValueKind};
use crate::settings::{Origin, Settings};

/// The settings of one source.
#[derive(Default)]
pub(crate) struct Layer {
    pub(crate) top: Settings,
    pub(crate) rules: PatternSettings,
    pub(crate) upstreams: Vec<(String, UpstreamLayer)>,
}

/// The settings of one server.
pub(crate) struct UpstreamLayer {
    pub(crate) origin: Origin,
    pub(crate) settings: Settings,
    pub(crate) rules: PatternSettings,
}

/// Settings by pattern, in order.
#[derive(Default)]
pub(crate) struct PatternSettings(pub(crate) Vec<(String, Settings)>);

impl Layer {
    /// Overrides this layer by one of a higher priority, key by key.
    pub(super) fn overlay(&mut self, above: Self) {
        self.top.overlay(above.top);
        self.rules.overlay(above.rules);
        for (name, served) in above.upstreams {
            match self.upstreams.iter_mut().find(|(known, _)| *known == name) {
                Some((_, known)) => {
                    known.settings.overlay(served.settings);
                    known.rules.overlay(served.rules);
                }
                None => self.upstreams.push((name, served)),
            }
        }
    }
}

impl PatternSettings {
    pub(super) fn overlay(&mut self, above: Self) {
        for (pattern, settings) in above.0 {
            match self.0.iter_mut().find(|(known, _)| *known == pattern) {
                Some((_, known)) => known.overlay(settings),
                None => self.0.push((pattern, settings)),
            }
        }
    }
}

impl ConfigReader {
    pub(super) fn read_layer(&mut self, from: &Origin, entries: &[(MapKey, Node)]) -> Layer {
        let mut rules = PatternSettings::default();
        let mut upstreams = Vec::new();
        let top =
            self.read_settings(from, entries, SettingsLevel::Top, true, |reader, key, node| match key.kind {
                // A section of another server may hold endpoints beside those of the file.
                ValueKind::Endpoints => rules.overlay(reader.read_rules(from, key, node, true)),
                _ => upstreams = reader.read_upstreams(from, key, node),
            });
        Layer { top, rules, upstreams }
    }

    fn read_rules(&mut self, from: &Origin, key: &Key, node: &Node, shown: bool) -> PatternSettings {
        let mut rules = Vec::new();
        for (pattern, node) in self.map_entries(from, key, node) {
            if pattern.text.trim().is_empty() || pattern.text.len() > 1_024 {
                let fix = "write a name, a name with *, the URI of a resource, or a route";
                self.report(from.at(pattern.position), "a pattern is empty, or longer than 1024 bytes", fix);
            }
            let Some(entries) = self.expect_map(from, &pattern.text, node) else { continue };
            let settings = self.read_settings(from, entries, SettingsLevel::Endpoint, shown, |_, _, _| {});
            rules.push((pattern.text.clone(), settings));
        }
        PatternSettings(rules)
    }

    fn read_upstreams(&mut self, from: &Origin, key: &Key, node: &Node) -> Vec<(String, UpstreamLayer)> {
        self.secret_ranges.push((node.position.line, node.last_line));
        let mut upstreams = Vec::new();
        for (name, node) in self.map_entries(from, key, node) {
            let origin = from.at(name.position);
            let plain =
                name.text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'));
            if name.text.is_empty() || !plain || name.text.starts_with('.') {
                let message = format!("`{}` is not valid in a path", name.text.escape_debug());
                self.report(origin.clone(), message, "use letters, digits, `_`, `-` and `.`");
            }
            let Some(entries) = self.expect_map(from, &name.text, node) else { continue };
            let mut rules = PatternSettings::default();
            let settings =
                self.read_settings(from, entries, SettingsLevel::Upstream, false, |reader, key, node| {
                    rules = reader.read_rules(from, key, node, false);
                });
            upstreams.push((name.text.clone(), UpstreamLayer { origin, settings, rules }));
        }
        upstreams
    }

    /// Returns the entries of a key's map.
    fn map_entries<'n>(&mut self, from: &Origin, key: &Key, node: &'n Node) -> &'n [(MapKey, Node)] {
        self.expect_map(from, key.name, node).unwrap_or_default()
    }

    fn expect_map<'n>(&mut self, from: &Origin, name: &str, node: &'n Node) -> Option<&'n [(MapKey, Node)]> {
        if let NodeValue::Map(entries) = &node.value {
            return Some(entries);
        }
        let message = format!("`{}` is {}, not a map", name.escape_debug(), node.kind_name());
        self.report(from.at(node.position), message, "write keys and values under it, or {} for none");
        None
    }
}
