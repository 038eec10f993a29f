//! Prints a configuration as YAML: configured values, and values in force by default as comments, so that
//! the output can be read as the same configuration; or as JSON, with all values in force.

use std::fmt::Write as _;

use portion_policy::endpoint::EndpointTarget;
use portion_text::display::{display_width, yaml_scalar};
use serde_json::{Map, Value as Json, json};

use crate::config::{Cascade, Config};
use crate::key::{Key, KeyGroup, SettingsLevel, ValueKind};
use crate::settings::{Origin, Setting, Settings};
use crate::value::Value;

/// Columns in front of the origins, where the lines leave them free.
const ORIGIN_COLUMN: usize = 40;

/// Returns the configuration as YAML, with defaults as comments. With `origin`, each line names the
/// origin of its value. With `endpoint`, it shows the values in force for that endpoint. Secrets are
/// `(set)`; those of a profile are references, and shown.
pub fn show(config: &Config, origin: bool, endpoint: Option<EndpointTarget<'_>>) -> String {
    let mut page = YamlWriter { out: String::new(), shows_origin: origin };
    let cascade = config.cascade(endpoint);
    let level = if endpoint.is_some() { SettingsLevel::Endpoint } else { SettingsLevel::Top };
    for key in shown_keys(level) {
        page.write_effective(&cascade, key);
    }
    if endpoint.is_none() {
        page.write_rules(0, config.endpoints());
        if !config.upstreams().is_empty() {
            page.write_heading(0, "upstreams");
        }
        for upstream in config.upstreams() {
            page.write_heading(1, &yaml_scalar(&upstream.name));
            page.write_settings(2, &upstream.settings);
            page.write_rules(2, upstream.endpoints());
        }
    }
    page.out
}

/// Returns the configuration in force as a JSON object: keys with their values, defaults included, and the settings of
/// `endpoints` and `upstreams`. With `origin`, each value is an object with `value` and `origin`. With `endpoint`, it has
/// the values in force for that endpoint. Secrets are `(set)`.
pub fn show_json(config: &Config, origin: bool, endpoint: Option<EndpointTarget<'_>>) -> Json {
    let cascade = config.cascade(endpoint);
    let level = if endpoint.is_some() { SettingsLevel::Endpoint } else { SettingsLevel::Top };
    let member = |value: Json, from: &Origin| {
        if origin { json!({ "value": value, "origin": from.to_string() }) } else { value }
    };
    let settings = |settings: &Settings| {
        let members =
            settings.iter().map(|(_, set)| (set.key.name.to_owned(), member(json_of(set), &set.origin)));
        members.collect::<Map<_, _>>()
    };
    let mut page: Map<String, Json> = shown_keys(level)
        .filter_map(|key| {
            let value = match cascade.get(key.name) {
                Some((set, _)) => member(json_of(set), &set.origin),
                None => {
                    cascade.effective_default(key).map(|(value, from)| member(value.to_json(key), &from))?
                }
            };
            Some((key.name.to_owned(), value))
        })
        .collect();
    if endpoint.is_none() {
        let rules = |rules: &mut dyn Iterator<Item = (&str, &Settings)>| {
            rules.map(|(pattern, set)| (pattern.to_owned(), settings(set).into())).collect::<Map<_, _>>()
        };
        let upstreams = config.upstreams().iter().map(|upstream| {
            let mut members = settings(&upstream.settings);
            members.insert("endpoints".into(), rules(&mut upstream.endpoints()).into());
            (upstream.name.to_string(), Json::from(members))
        });
        page.insert("endpoints".into(), rules(&mut config.endpoints()).into());
        page.insert("upstreams".into(), upstreams.collect::<Map<_, _>>().into());
    }
    page.into()
}

/// Returns the value of a setting as JSON. A profile is part of the program: its references to secrets are shown.
fn json_of(set: &Setting) -> Json {
    match (&set.value, &set.origin) {
        (Value::Secrets(secrets), Origin::Profile(_)) => {
            secrets.iter().map(|(name, secret)| (name.clone(), Json::from(secret.masked_text()))).collect()
        }
        (value, _) => value.to_json(),
    }
}

/// Returns the value of a setting as YAML in one line.
fn yaml_of(set: &Setting) -> String {
    match (&set.value, &set.origin) {
        (Value::Secrets(_), Origin::Profile(_)) => json_of(set).to_string(),
        (value, _) => value.to_string(),
    }
}

/// Yields the keys with a value of their own at a level, in the order of the documentation.
fn shown_keys(level: SettingsLevel) -> impl Iterator<Item = &'static Key> {
    let is_shown = move |key: &&Key| {
        key.slot() == key.name
            && key.is_allowed_at(level)
            && !matches!(key.kind, ValueKind::Endpoints | ValueKind::Upstreams)
    };
    KeyGroup::ALL
        .into_iter()
        .flat_map(|group| Key::all().filter(move |key| key.group == group))
        .filter(is_shown)
}

struct YamlWriter {
    out: String,
    shows_origin: bool,
}

impl YamlWriter {
    fn write_effective(&mut self, cascade: &Cascade<'_>, key: &Key) {
        match cascade.get(key.name) {
            Some((set, _)) => self.write_setting(0, set),
            None => {
                if let Some((value, origin)) = cascade.effective_default(key) {
                    self.write_line(&format!("# {}: {value}", key.name), &origin);
                }
            }
        }
    }

    fn write_rules<'a>(&mut self, level: usize, rules: impl Iterator<Item = (&'a str, &'a Settings)>) {
        for (i, (pattern, settings)) in rules.enumerate() {
            if i == 0 {
                self.write_heading(level, "endpoints");
            }
            if settings.iter().next().is_none() {
                let _ = writeln!(self.out, "{}{}: {{}}", "  ".repeat(level + 1), yaml_scalar(pattern));
                continue;
            }
            self.write_heading(level + 1, &yaml_scalar(pattern));
            self.write_settings(level + 2, settings);
        }
    }

    fn write_settings(&mut self, level: usize, settings: &Settings) {
        settings.iter().for_each(|(_, set)| self.write_setting(level, set));
    }

    fn write_setting(&mut self, level: usize, set: &Setting) {
        if let Value::Tools(tools) = &set.value {
            self.write_heading(level, set.key.name);
            for (name, tool) in &tools.written {
                self.write_line(
                    &format!("{}{}: {tool}", "  ".repeat(level + 1), yaml_scalar(name)),
                    &set.origin,
                );
            }
            return;
        }
        self.write_line(&format!("{}{}: {}", "  ".repeat(level), set.key.name, yaml_of(set)), &set.origin);
    }

    fn write_heading(&mut self, level: usize, name: &str) {
        let _ = writeln!(self.out, "{}{name}:", "  ".repeat(level));
    }

    fn write_line(&mut self, line: &str, origin: &Origin) {
        if self.shows_origin {
            let gap = ORIGIN_COLUMN.saturating_sub(display_width(line));
            let _ = writeln!(self.out, "{line}{:gap$} # {origin}", "");
        } else {
            let _ = writeln!(self.out, "{line}");
        }
    }
}
