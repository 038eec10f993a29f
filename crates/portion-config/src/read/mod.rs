//! Reads the sources into settings and collects all errors.
mod layer;
mod profile;

use std::sync::Arc;

pub(crate) use crate::settings::SourceLines;
pub(crate) use layer::{Layer, PatternSettings, UpstreamLayer};

use crate::document::{
    Document, DocumentError, EMPTY_MESSAGE, MapKey, Node, NodeValue, TextPosition, json, yaml,
};
use crate::find::Sources;
use crate::key::{InvalidValue, Key, SettingsLevel, ValueKind};
use crate::settings::{Origin, Problem, Setting, Settings};

/// Key with which a document names its schema, for editors.
const SCHEMA_KEY: &str = "$schema";

/// Maximum unknown keys for which a suggestion is searched.
const MAX_SUGGESTIONS: usize = 100;

/// Collects the problems found while reading.
#[derive(Default)]
pub(crate) struct ConfigReader {
    pub(crate) problems: Vec<Problem>,
    pub(crate) warnings: Vec<Problem>,
    /// First and last line of each range of the file that may contain secrets.
    pub(crate) secret_ranges: Vec<(usize, usize)>,
    /// True if the file was parsed completely.
    pub(crate) is_file_parsed: bool,
}

impl ConfigReader {
    /// Reads all sources, those of higher priority over the others.
    pub(crate) fn read_sources(&mut self, sources: &Sources) -> Layer {
        self.is_file_parsed = true;
        let mut layer = match &sources.file {
            Some((path, text)) => self.read_file(&path.display().to_string(), text),
            None => Layer::default(),
        };
        for above in [self.read_variables(&sources.variables), self.read_options(&sources.options)] {
            layer.overlay(above);
        }
        self.apply_profiles(layer)
    }

    fn read_file(&mut self, path: &str, text: &str) -> Layer {
        let file: Arc<str> = path.into();
        let is_json = path.rsplit('.').next().is_some_and(|ending| ending.eq_ignore_ascii_case("json"));
        let document = if is_json { json::parse(text) } else { yaml::parse(text) };
        let from = Origin::File(file, TextPosition::default());
        match document {
            Ok(Document { root, errors: faults }) => {
                for fault in faults {
                    self.report_document_error(&from, fault);
                }
                self.read_root(&from, &root)
            }
            Err(fault) if fault.message == EMPTY_MESSAGE => {
                self.warnings.push(Problem::new(from.at(fault.position), EMPTY_MESSAGE, fault.fix));
                Layer::default()
            }
            Err(fault) => {
                self.is_file_parsed = false;
                self.report_document_error(&from, fault);
                Layer::default()
            }
        }
    }

    fn read_root(&mut self, from: &Origin, root: &Node) -> Layer {
        match &root.value {
            NodeValue::Map(entries) => {
                let translated = profile::translate_context_protection(entries);
                for unknown in &translated.unknown {
                    let (key, fix) = (&unknown.key, unknown.fix());
                    self.report(from.at(key.position), unknown_key_message(key), fix);
                    self.secret_ranges.push((key.position.line, unknown.last_line));
                }
                self.read_layer(from, &translated.entries)
            }
            NodeValue::Null => {
                let fix = "write {} to mean the defaults";
                self.warnings.push(Problem::new(from.at(root.position), EMPTY_MESSAGE, fix));
                Layer::default()
            }
            _ => {
                let message = format!("the file is {}, not a map", root.kind_name());
                self.report(from.at(root.position), message, "write keys and values, such as hardCap: 12000");
                self.secret_ranges.push((root.position.line, root.last_line));
                Layer::default()
            }
        }
    }

    /// Reads the settings of a map; keys that hold rules or servers are passed to `other`.
    fn read_settings(
        &mut self,
        from: &Origin,
        entries: &[(MapKey, Node)],
        level: SettingsLevel,
        shown: bool,
        mut other: impl FnMut(&mut Self, &'static Key, &Node),
    ) -> Settings {
        let mut settings = Settings::default();
        for (name, node) in entries {
            if level == SettingsLevel::Top && name.text == SCHEMA_KEY {
                continue;
            }
            let Some(key) = Key::by_name(&name.text).filter(|key| key.is_allowed_at(level)) else {
                self.report_unknown_key(from, name, level);
                self.secret_ranges.push((name.position.line, node.last_line));
                continue;
            };
            if matches!(key.kind, ValueKind::Endpoints | ValueKind::Upstreams) {
                other(self, key, node);
                continue;
            }
            if key.kind.may_be_secret() {
                self.secret_ranges.push((name.position.line, node.last_line));
            }
            let value = match key.parse_value(node) {
                Ok(value) => value,
                Err(wrong) => {
                    self.report_invalid_values(from, key, wrong, shown);
                    continue;
                }
            };
            let origin = from.at(name.position);
            if let Some(before) = settings.insert(Setting { key, value, origin: origin.clone() }) {
                let message = format!("{} repeats {} at {}", key.name, before.key.name, before.origin);
                self.report(origin, message, "remove one of the two");
            }
        }
        settings
    }

    fn report_unknown_key(&mut self, from: &Origin, name: &MapKey, level: SettingsLevel) {
        let origin = from.at(name.position);
        let given = shown_name(name);
        if let Some(key) = Key::by_name(&name.text) {
            let where_ = [SettingsLevel::Top, SettingsLevel::Upstream, SettingsLevel::Endpoint]
                .into_iter()
                .filter(|level| key.is_allowed_at(*level));
            let where_ = where_.map(|level| level.to_string()).collect::<Vec<_>>().join(" or ");
            self.report(origin, format!("`{given}` is not allowed {level}"), format!("write it {where_}"));
        } else if given == "<<" {
            self.report(
                origin,
                "merge keys are not supported",
                "repeat the settings, or use one pattern for all",
            );
        } else {
            // A file with that many unknown keys is probably not a configuration.
            let nearest =
                (self.problems.len() < MAX_SUGGESTIONS).then(|| Key::nearest(&name.text, level)).flatten();
            let fix = match nearest {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => "see `portion config schema` for the keys".into(),
            };
            self.report(origin, unknown_key_message(name), fix);
        }
    }

    fn report_invalid_values(&mut self, from: &Origin, key: &Key, wrong: Vec<InvalidValue>, shown: bool) {
        for wrong in wrong {
            self.report(from.at(wrong.position), wrong.message(key.name, shown), wrong.fix);
        }
    }

    fn report_document_error(&mut self, from: &Origin, fault: DocumentError) {
        self.report(from.at(fault.position), fault.message, fault.fix);
    }

    pub(crate) fn report(&mut self, at: Origin, message: impl Into<String>, fix: impl Into<String>) {
        self.problems.push(Problem::new(at, message, fix));
    }
}

/// Returns the name of a key for a message.
fn shown_name(name: &MapKey) -> String {
    name.text.chars().take(60).collect::<String>().escape_debug().to_string()
}

fn unknown_key_message(name: &MapKey) -> String {
    format!("unknown key `{}`", shown_name(name))
}
