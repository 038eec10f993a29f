//! Prints a configuration as YAML: configured values, and values in force by default as comments, so that
//! the output can be read as the same configuration.

use std::fmt::Write as _;

use portion_policy::policy_source::EndpointTarget;

use crate::config::{Cascade, Config};
use crate::key::{Key, KeyGroup, SettingsLevel, ValueKind};
use crate::origin::Origin;
use crate::settings::{Setting, Settings};
use crate::value::{Value, yaml_scalar};

/// Returns the configuration as YAML, with defaults as comments. With `origin`, each line names the
/// origin of its value. With `endpoint`, it shows the values in force for that endpoint. Secrets are
/// `(set)`.
pub fn show(config: &Config, origin: bool, endpoint: Option<EndpointTarget<'_>>) -> String {
    let mut page = YamlWriter { out: String::new(), shows_origin: origin };
    let cascade = config.cascade(endpoint);
    let level = if endpoint.is_some() { SettingsLevel::Endpoint } else { SettingsLevel::Top };
    for group in KeyGroup::ALL {
        for key in Key::all().filter(|key| key.group == group && key.slot() == key.name) {
            if !key.is_allowed_at(level) || matches!(key.kind, ValueKind::Endpoints | ValueKind::Upstreams) {
                continue;
            }
            page.write_effective(&cascade, key);
        }
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
        self.write_line(&format!("{}{}: {}", "  ".repeat(level), set.key.name, set.value), &set.origin);
    }

    fn write_heading(&mut self, level: usize, name: &str) {
        let _ = writeln!(self.out, "{}{name}:", "  ".repeat(level));
    }

    fn write_line(&mut self, line: &str, origin: &Origin) {
        if self.shows_origin {
            let _ = writeln!(self.out, "{line:<40} # {origin}");
        } else {
            let _ = writeln!(self.out, "{line}");
        }
    }
}
