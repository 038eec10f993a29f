//! Reads the settings of one source: for everything, for patterns, for servers. Variables and options are
//! documents with one key.

use std::sync::Arc;

use portion_text::names::closest_name;

use super::ConfigReader;
use crate::document::{MapKey, Node, NodeValue, TextPosition};
use crate::key::{Key, LEVEL_VARIABLE, SHORTHANDS, SettingsLevel, ValueKind, level_choices, parse_level};
use crate::settings::{Origin, Problem, Settings};

/// Prefix of all variables of Portion.
const VARIABLE_PREFIX: &str = "PORTION_";

/// Variables that are not keys: the path of the file, and those used only by the program or its tests.
const NON_KEY_VARIABLES: &[&str] =
    &["PORTION_CONFIG", LEVEL_VARIABLE, "PORTION_BIN", "PORTION_NO_BROWSER", "PORTION_NO_LOGIN"];

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

    pub(super) fn read_variables(&mut self, variables: &[(String, String)]) -> Layer {
        let mut variables: Vec<_> =
            variables.iter().filter(|(name, _)| name.starts_with(VARIABLE_PREFIX)).collect();
        // The environment has no order; the messages should have one.
        variables.sort();
        let mut layer = Layer::default();
        for (name, text) in variables {
            let at = Origin::Variable(name.as_str().into());
            if NON_KEY_VARIABLES.contains(&name.as_str()) {
                if name == LEVEL_VARIABLE && parse_level(text).is_err() {
                    let message = format!("{name} is `{text}`, which is not a level, and is ignored");
                    let fix = format!("write {}", level_choices());
                    self.warnings.push(Problem::new(at, message, fix));
                }
                continue;
            }
            let Some(key) = Key::from_variable(name) else {
                self.warnings.push(unknown_variable(at, name));
                continue;
            };
            if text.is_empty() {
                let message = format!("{name} is empty and ignored");
                self.warnings.push(Problem::new(at, message, "set a value, or unset it"));
                continue;
            }
            let from = Origin::Variable(name.as_str().into());
            layer.overlay(self.read_single_key(&from, key, text));
        }
        layer
    }

    pub(super) fn read_options(&mut self, options: &[(String, String)]) -> Layer {
        let mut layer = Layer::default();
        let mut lists: Vec<(&'static Key, String)> = Vec::new();
        for (name, text) in options {
            let short = SHORTHANDS.iter().find(|short| short.option == name);
            let (name, text) = short.map_or((name.as_str(), text.as_str()), |short| (short.key, short.value));
            let Some(key) = Key::by_name(name) else {
                self.report(Origin::Option(name.into()), "there is no such key", "see --help");
                continue;
            };
            match lists.iter_mut().find(|(known, _)| known.name == key.name && key.is_repeatable()) {
                Some((_, list)) => *list = format!("{list},{text}"),
                None if key.is_repeatable() => lists.push((key, text.to_owned())),
                None => {
                    let option = short.map(|short| short.option.to_owned()).or_else(|| key.option());
                    layer.overlay(self.read_option(key, option, text));
                }
            }
        }
        for (key, list) in lists {
            layer.overlay(self.read_option(key, key.option(), &list));
        }
        layer
    }

    fn read_option(&mut self, key: &'static Key, option: Option<String>, text: &str) -> Layer {
        let option: Arc<str> = option.unwrap_or_else(|| key.name.to_owned()).into();
        self.read_single_key(&Origin::Option(option), key, text)
    }

    fn read_single_key(&mut self, from: &Origin, key: &'static Key, text: &str) -> Layer {
        let position = TextPosition::default();
        match key.parse_node(text) {
            Ok(node) => {
                let hidden = self.secret_ranges.len();
                let layer = self.read_layer(from, &[(MapKey { text: key.name.to_owned(), position }, node)]);
                // Lines of a variable are not lines of the file.
                self.secret_ranges.truncate(hidden);
                layer
            }
            Err(message) => {
                self.report(
                    from.at(position),
                    format!("{} cannot be read: {message}", key.name),
                    "write it as YAML",
                );
                Layer::default()
            }
        }
    }
}

fn unknown_variable(at: Origin, name: &str) -> Problem {
    let names: Vec<String> = Key::all().filter_map(Key::variable).collect();
    let closest = || closest_name(name, names.iter().map(String::as_str));
    let fix = match shorthand_assignment(name).or_else(closest) {
        Some(meant) => format!("did you mean {meant}?"),
        None => "unset it, or see `portion config schema` for the keys".into(),
    };
    Problem::new(at, format!("{name} is not a variable of Portion and is ignored"), fix)
}

/// Returns the assignment that has the effect of an option without a variable of its own: `PORTION_PROFILE=lean`.
fn shorthand_assignment(name: &str) -> Option<String> {
    let option = name.strip_prefix(VARIABLE_PREFIX)?;
    let short = SHORTHANDS.iter().find(|short| short.option.eq_ignore_ascii_case(option))?;
    Some(format!("{}={}", Key::by_name(short.key)?.variable()?, short.value))
}
