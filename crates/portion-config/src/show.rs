//! A configuration as YAML: what was written, and what is in force besides, as comments, so that the same can be
//! read from it again.

use std::fmt::Write as _;

use portion_gateway::book::Target;

use crate::config::{Cascade, Config};
use crate::key::{Group, Key, Kind, Level};
use crate::origin::Origin;
use crate::settings::{Set, Settings};
use crate::value::scalar;

/// The configuration as YAML. What nobody wrote stands there as a comment. With `origin` each line says where its value
/// comes from. With an endpoint it is what that one is served by. Secrets are `(set)`.
pub fn show(config: &Config, origin: bool, endpoint: Option<Target<'_>>) -> String {
    let mut page = Page { out: String::new(), origin };
    let cascade = config.cascade(endpoint);
    let level = if endpoint.is_some() { Level::Endpoint } else { Level::Top };
    for group in Group::ALL {
        for key in Key::all().filter(|key| key.group == group && key.slot() == key.name) {
            if !key.allowed(level) || matches!(key.kind, Kind::Endpoints | Kind::Upstreams) {
                continue;
            }
            page.in_force(&cascade, key);
        }
    }
    if endpoint.is_none() {
        page.rules(0, config.endpoints());
        if !config.upstreams().is_empty() {
            page.head(0, "upstreams");
        }
        for upstream in config.upstreams() {
            page.head(1, &scalar(&upstream.name));
            page.settings(2, &upstream.settings);
            page.rules(2, upstream.endpoints());
        }
    }
    page.out
}

struct Page {
    out: String,
    origin: bool,
}

impl Page {
    fn in_force(&mut self, cascade: &Cascade<'_>, key: &Key) {
        match cascade.get(key.name) {
            Some((set, _)) => self.set(0, set),
            None => {
                if let Some((value, origin)) = cascade.in_force(key) {
                    self.line(&format!("# {}: {value}", key.name), &origin);
                }
            }
        }
    }

    fn rules<'a>(&mut self, level: usize, rules: impl Iterator<Item = (&'a str, &'a Settings)>) {
        for (i, (pattern, settings)) in rules.enumerate() {
            if i == 0 {
                self.head(level, "endpoints");
            }
            if settings.iter().next().is_none() {
                let _ = writeln!(self.out, "{}{}: {{}}", "  ".repeat(level + 1), scalar(pattern));
                continue;
            }
            self.head(level + 1, &scalar(pattern));
            self.settings(level + 2, settings);
        }
    }

    fn settings(&mut self, level: usize, settings: &Settings) {
        settings.iter().for_each(|(_, set)| self.set(level, set));
    }

    fn set(&mut self, level: usize, set: &Set) {
        self.line(&format!("{}{}: {}", "  ".repeat(level), set.key.name, set.value), &set.origin);
    }

    fn head(&mut self, level: usize, name: &str) {
        let _ = writeln!(self.out, "{}{name}:", "  ".repeat(level));
    }

    fn line(&mut self, line: &str, origin: &Origin) {
        if self.origin {
            let _ = writeln!(self.out, "{line:<40} # {origin}");
        } else {
            let _ = writeln!(self.out, "{line}");
        }
    }
}
