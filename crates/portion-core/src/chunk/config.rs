//! Configuration: YAML, TOML, INI and properties. A section or a key at the margin keeps what is
//! indented below it and the comments above it.

use super::indent::LineContext;
use super::{Boundary, BoundaryLevel, ChunkWindow, Chunker, TextSample, indent};

/// Percent of the lines that are settings.
const MIN_SETTINGS_PERCENT: usize = 85;
/// Settings without which a text is no configuration.
const MIN_SETTINGS: usize = 4;

/// Chunks of whole sections and keys.
#[derive(Debug)]
pub(super) struct ConfigChunker;

impl Chunker for ConfigChunker {
    fn name(&self) -> &'static str {
        "config"
    }

    /// Nearly all lines set something, and there is a section, an indented setting or a document.
    fn matches(&self, sample: &TextSample) -> bool {
        let (mut lines, mut settings, mut grouped) = (0, 0, 0);
        let mut block = None;
        for line in sample.lines() {
            let said = line.trimmed();
            let indent = line.indent();
            // The text of a block scalar may say anything.
            if block.is_some_and(|depth| indent > depth) {
                continue;
            }
            block = ["|", ">", "|-", ">-", "|+"]
                .iter()
                .any(|sign| said.ends_with(&format!(": {sign}")))
                .then_some(indent);
            if said.starts_with(['#', ';']) {
                continue;
            }
            lines += 1;
            let set = is_section(said) || said == "---" || is_setting(said);
            settings += usize::from(set);
            grouped += usize::from(set && (indent > 0 || is_section(said) || said == "---"));
        }
        settings >= MIN_SETTINGS && grouped > 0 && settings * 100 >= lines * MIN_SETTINGS_PERCENT
    }

    fn boundaries(&self, window: &ChunkWindow) -> Vec<Boundary> {
        let has_sections = window.lines().any(|line| line.indent() == 0 && is_section(line.trimmed()));
        indent::mark_levels(window.lines(), |place| boundary_level(place, has_sections))
    }
}

fn boundary_level(place: &LineContext, has_sections: bool) -> Option<BoundaryLevel> {
    let said = place.line.text;
    let under_comment = place.above.trimmed().starts_with(['#', ';']) && !place.after_gap;
    let goes_on =
        said.starts_with([']', '}', ')']) || under_comment && place.above.indent() == place.line.indent();
    if place.line.indent() > 0 || goes_on {
        return None;
    }
    let is_item = said.starts_with("- ") && !place.above.text.starts_with("- ") && place.above.indent() == 0;
    match has_sections {
        true if is_section(said) || place.after_gap && !is_setting(said) => Some(BoundaryLevel::Unit),
        // The first setting stays with its section.
        true if is_section(place.above.trimmed()) => None,
        true => Some(BoundaryLevel::Item(0)),
        // The first item of a list stays with its key.
        false if is_item => None,
        false if said.starts_with("- ") && place.above.text.ends_with(':') => None,
        false => Some(BoundaryLevel::Unit),
    }
}

/// `[name]`, `[[name]]`.
fn is_section(said: &str) -> bool {
    let name =
        said.strip_prefix('[').and_then(|rest| rest.split(['#', ';']).next()?.trim_end().strip_suffix(']'));
    name.is_some_and(|name| !name.is_empty() && !name.contains([',', '{']) && !name.contains("\", \""))
}

/// `key: value`, `key:`, `- item`, `key = value`, and the ends of values of many lines.
fn is_setting(said: &str) -> bool {
    let said = said.strip_prefix("- ").unwrap_or(said);
    let key = said.trim_start_matches(['"', '\'']);
    let name = &key[..key.find(|c: char| !is_key(c)).unwrap_or(key.len())];
    let rest = key[name.len()..].trim_start_matches(['"', '\'']);
    let set = rest.starts_with(": ") || rest == ":" || rest.trim_start().starts_with('=');
    !name.is_empty() && (set && is_value(rest) || rest.is_empty() && said.len() < key.len() + 3)
        || said.starts_with(['"', '\'']) && said.ends_with(',')
        || matches!(said, "]" | "}" | "],")
}

/// Whether what stands after a key can be a value rather than code: no call, no statement.
fn is_value(rest: &str) -> bool {
    let value = rest.trim_start_matches([' ', ':', '=']);
    !rest.trim_start().starts_with("==") && !value.ends_with([';', '{']) && !value.contains('(')
        || value.starts_with(['"', '\'', '[', '{', '|', '>', '$'])
}

fn is_key(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '@' | '$')
}
