//! What one source says: settings for everything, for patterns, for servers.

use super::{From, Reading};
use crate::document::{Name, Node, Tree};
use crate::key::{Key, Kind, Level};
use crate::origin::Origin;
use crate::settings::Settings;

/// What one source says.
#[derive(Default)]
pub(crate) struct Layer {
    pub(crate) top: Settings,
    pub(crate) rules: Rules,
    pub(crate) upstreams: Vec<(String, Served)>,
}

/// What is said of one server.
pub(crate) struct Served {
    pub(crate) origin: Origin,
    pub(crate) settings: Settings,
    pub(crate) rules: Rules,
}

/// Settings by pattern, in order.
#[derive(Default)]
pub(crate) struct Rules(pub(crate) Vec<(String, Settings)>);

impl Layer {
    /// What counts more, over this, key by key.
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

impl Rules {
    fn overlay(&mut self, above: Self) {
        for (pattern, settings) in above.0 {
            match self.0.iter_mut().find(|(known, _)| *known == pattern) {
                Some((_, known)) => known.overlay(settings),
                None => self.0.push((pattern, settings)),
            }
        }
    }
}

impl Reading {
    pub(super) fn layer(&mut self, from: &From, entries: &[(Name, Node)]) -> Layer {
        let mut rules = Rules::default();
        let mut upstreams = Vec::new();
        let top = self.settings(from, entries, Level::Top, true, |reading, key, node| match key.kind {
            Kind::Endpoints => rules = reading.rules(from, key, node, true),
            _ => upstreams = reading.upstreams(from, key, node),
        });
        Layer { top, rules, upstreams }
    }

    fn rules(&mut self, from: &From, key: &Key, node: &Node, shown: bool) -> Rules {
        let mut rules = Vec::new();
        for (pattern, node) in self.map(from, key, node) {
            if pattern.text.trim().is_empty() || pattern.text.len() > 1_024 {
                let fix = "write a name, a name with *, the URI of a resource, or a route";
                self.say(from.origin(pattern.spot), "a pattern is empty, or above 1024 bytes", fix);
            }
            let Some(entries) = self.entries(from, &pattern.text, node) else { continue };
            let settings = self.settings(from, entries, Level::Endpoint, shown, |_, _, _| {});
            rules.push((pattern.text.clone(), settings));
        }
        Rules(rules)
    }

    fn upstreams(&mut self, from: &From, key: &Key, node: &Node) -> Vec<(String, Served)> {
        self.hidden.push((node.spot.line, node.last_line));
        let mut upstreams = Vec::new();
        for (name, node) in self.map(from, key, node) {
            let origin = from.origin(name.spot);
            let plain =
                name.text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'));
            if name.text.is_empty() || !plain || name.text.starts_with('.') {
                let message = format!("`{}` cannot stand in a path", name.text.escape_debug());
                self.say(origin.clone(), message, "name the server by letters, digits, `_`, `-` and `.`");
            }
            let Some(entries) = self.entries(from, &name.text, node) else { continue };
            let mut rules = Rules::default();
            let settings = self.settings(from, entries, Level::Upstream, false, |reading, key, node| {
                rules = reading.rules(from, key, node, false);
            });
            upstreams.push((name.text.clone(), Served { origin, settings, rules }));
        }
        upstreams
    }

    /// The entries of a key's map.
    fn map<'n>(&mut self, from: &From, key: &Key, node: &'n Node) -> &'n [(Name, Node)] {
        self.entries(from, key.name, node).unwrap_or_default()
    }

    fn entries<'n>(&mut self, from: &From, name: &str, node: &'n Node) -> Option<&'n [(Name, Node)]> {
        if let Tree::Map(entries) = &node.tree {
            return Some(entries);
        }
        let message = format!("`{}` is {}, not a map", name.escape_debug(), node.what());
        self.say(from.origin(node.spot), message, "write keys and values under it, or {} for none");
        None
    }
}
