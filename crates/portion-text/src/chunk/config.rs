//! Finds boundaries in configuration files: YAML, TOML, INI and properties. A section or a key at the
//! margin includes the lines indented below it and the comments above it.

use super::indent::LineContext;
use super::{Boundary, BoundaryLevel, ChunkWindow, Chunker, TextKind, TextSample, indent};

/// Minimum share of lines that are settings, in per cent.
const MIN_SETTINGS_PERCENT: usize = 85;
/// Minimum settings of a configuration file.
const MIN_SETTINGS: usize = 4;

/// Cuts between sections and keys.
#[derive(Debug)]
pub(super) struct ConfigChunker;

impl Chunker for ConfigChunker {
    fn kind(&self) -> TextKind {
        TextKind::Config
    }

    /// Matches text in which nearly all lines are settings, and which has a section, an indented setting
    /// or a document marker.
    fn matches(&self, sample: &TextSample) -> bool {
        let (mut lines, mut settings, mut grouped) = (0, 0, 0);
        let mut block = None;
        for line in sample.lines() {
            let content = line.trimmed();
            let indent = line.indent();
            // The text of a block scalar can be anything.
            if block.is_some_and(|depth| indent > depth) {
                continue;
            }
            block = ["|", ">", "|-", ">-", "|+"]
                .iter()
                .any(|sign| content.ends_with(&format!(": {sign}")))
                .then_some(indent);
            if content.starts_with(['#', ';']) {
                continue;
            }
            lines += 1;
            let set = is_section(content) || content == "---" || is_setting(content);
            settings += usize::from(set);
            grouped += usize::from(set && (indent > 0 || is_section(content) || content == "---"));
        }
        settings >= MIN_SETTINGS && grouped > 0 && settings * 100 >= lines * MIN_SETTINGS_PERCENT
    }

    fn boundaries(&self, window: &ChunkWindow) -> Vec<Boundary> {
        let has_sections = window.lines().any(|line| line.indent() == 0 && is_section(line.trimmed()));
        indent::mark_levels(window.lines(), |context| boundary_level(context, has_sections))
    }
}

fn boundary_level(context: &LineContext, has_sections: bool) -> Option<BoundaryLevel> {
    let line = context.line.text;
    let under_comment = context.above.trimmed().starts_with(['#', ';']) && !context.after_gap;
    let goes_on =
        line.starts_with([']', '}', ')']) || under_comment && context.above.indent() == context.line.indent();
    if context.line.indent() > 0 || goes_on {
        return None;
    }
    let is_item =
        line.starts_with("- ") && !context.above.text.starts_with("- ") && context.above.indent() == 0;
    match has_sections {
        true if is_section(line) || context.after_gap && !is_setting(line) => Some(BoundaryLevel::Unit),
        // The first setting stays with its section.
        true if is_section(context.above.trimmed()) => None,
        true => Some(BoundaryLevel::Item(0)),
        // The first item of a list stays with its key.
        false if is_item => None,
        false if line.starts_with("- ") && context.above.text.ends_with(':') => None,
        false => Some(BoundaryLevel::Unit),
    }
}

/// Matches `[name]` and `[[name]]`.
fn is_section(content: &str) -> bool {
    let name = content
        .strip_prefix('[')
        .and_then(|rest| rest.split(['#', ';']).next()?.trim_end().strip_suffix(']'));
    name.is_some_and(|name| !name.is_empty() && !name.contains([',', '{']) && !name.contains("\", \""))
}

/// Matches `key: value`, `key:`, `- item`, `key = value`, and the ends of multi-line values.
fn is_setting(content: &str) -> bool {
    let content = content.strip_prefix("- ").unwrap_or(content);
    let key = content.trim_start_matches(['"', '\'']);
    let name = &key[..key.find(|c: char| !is_key(c)).unwrap_or(key.len())];
    let rest = key[name.len()..].trim_start_matches(['"', '\'']);
    let set = rest.starts_with(": ") || rest == ":" || rest.trim_start().starts_with('=');
    !name.is_empty() && (set && is_value(rest) || rest.is_empty() && content.len() < key.len() + 3)
        || content.starts_with(['"', '\'']) && content.ends_with(',')
        || matches!(content, "]" | "}" | "],")
}

/// Returns true if the text after a key can be a value rather than code: no call, no statement.
fn is_value(rest: &str) -> bool {
    let value = rest.trim_start_matches([' ', ':', '=']);
    !rest.trim_start().starts_with("==") && !value.ends_with([';', '{']) && !value.contains('(')
        || value.starts_with(['"', '\'', '[', '{', '|', '>', '$'])
}

fn is_key(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '@' | '$')
}
