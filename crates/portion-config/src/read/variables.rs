//! Reads variables and options: each is a document with one key.

use std::sync::Arc;

use portion_text::names::closest_name;

use super::{ConfigReader, Layer};
use crate::document::{MapKey, TextPosition};
use crate::key::{Key, LEVEL_VARIABLE, SHORTHANDS, level_choices, parse_level};
use crate::settings::{Origin, Problem};

/// Prefix of all variables of Portion.
const VARIABLE_PREFIX: &str = "PORTION_";
/// Variables that are not keys: the path of the file, and those used only by the program or its tests.
const NON_KEY_VARIABLES: &[&str] =
    &["PORTION_CONFIG", LEVEL_VARIABLE, "PORTION_BIN", "PORTION_NO_BROWSER", "PORTION_NO_LOGIN"];

impl ConfigReader {
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
