//! Matches settings by the names around them: `guest.phone: …`, `guest[phone]=…`, the blocks of YAML, the sections of INI
//! files.

use super::RedactionRules;

/// Maximum bytes of a name that is written as a path.
const MAX_PATH_BYTES: usize = 256;
/// Maximum bytes before a setting that are searched for the names around it.
const MAX_LOOKBACK_BYTES: usize = 2 << 10;

impl RedactionRules {
    /// Returns true if a path matches the setting whose separator is at `at`. If the names around it are too far away, the
    /// setting counts as matched.
    pub(super) fn matches_setting_path(&self, text: &str, at: usize) -> bool {
        let name = path_before(text, at);
        let last = name.rsplit(['.', '[']).next().unwrap_or_default().trim_end_matches(']');
        if !self.matches_end_of_path(last) {
            return false;
        }
        let around = NamesAround::read(text, at);
        !around.is_complete || self.matches_path_within(name, |_| around.names.iter().cloned())
    }
}

/// Returns the name of the block around the setting that begins at `at`: `password:` above `  value: …`.
pub(super) fn name_of_block(text: &str, at: usize) -> Option<&str> {
    let from = text.ceil_char_boundary(at.saturating_sub(MAX_LOOKBACK_BYTES)).min(at);
    let mut lines = text[from..at].rsplit('\n');
    let indent = indent_of(lines.next()?);
    if indent == 0 {
        return None;
    }
    let is_around = |line: &&str| !line.trim().is_empty() && indent_of(line) < indent;
    let name = lines.find(is_around)?.trim().strip_suffix(':')?;
    Some(name.trim_start_matches(['-', ' ']).trim_matches(['"', '\'']))
}

/// Returns the name before a separator, with the names that are written before it: `guest.phone`, `guest[phone]`.
pub(super) fn path_before(text: &str, at: usize) -> &str {
    let near = &text[text.ceil_char_boundary(at.saturating_sub(MAX_PATH_BYTES)).min(at)..at];
    let near = near.trim_end_matches([' ', '\t']).trim_end_matches(['"', '\'', '`', '*']);
    let is_path = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '[' | ']');
    let start = near.rfind(|c: char| !is_path(c)).map_or(0, |end| near.ceil_char_boundary(end + 1));
    near[start..].trim_start_matches(['-', '[', '.'])
}

/// The names around a setting, the innermost first.
struct NamesAround {
    names: Vec<String>,
    /// False if there may be more names before what was read.
    is_complete: bool,
}

impl NamesAround {
    /// Reads the lines before the line of the separator at `at`: each line with less indentation that ends with a colon, and
    /// the heading of a section.
    fn read(text: &str, at: usize) -> Self {
        let from = text.ceil_char_boundary(at.saturating_sub(MAX_LOOKBACK_BYTES)).min(at);
        let mut lines = text[from..at].rsplit('\n');
        let mut indent = indent_of(lines.next().unwrap_or_default());
        let (mut names, mut is_complete) = (Vec::new(), from == 0);
        for line in lines {
            let content = line.trim();
            if content.is_empty() || content.starts_with('#') {
                continue;
            }
            if let Some(section) = content.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                let steps = section.trim_matches(['[', ']']).rsplit('.');
                names.extend(steps.map(|step| step.trim().trim_matches(['"', '\'']).to_owned()));
                is_complete = true;
                break;
            }
            let own = indent_of(line);
            if own >= indent {
                continue;
            }
            indent = own;
            if let Some(name) = content.strip_suffix(':') {
                names.push(name.trim_start_matches(['-', ' ']).trim_matches(['"', '\'']).to_owned());
            }
        }
        // Nothing is around a setting at the margin but a section, which a file of settings names first.
        Self { names, is_complete: is_complete || indent == 0 }
    }
}

/// Returns the indentation of a line. The dash of an item counts as indentation.
fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start_matches([' ', '\t', '-']).len()
}
