//! Tables of one column between lines, of Markdown, of databases and of box characters: `| password |`, a rule, and the
//! rows.

use std::ops::Range;

use super::super::value::Form;
use super::super::{REDACTED, RedactedNames, RedactionRules, TextEdit};
use super::row::{is_rule, line_at};
use super::single_column::hidden_name;

const FRAMES: [char; 4] = ['|', '│', '┃', '║'];

/// Adds the edits for a table whose header is `line`, and returns its end; `None` if the line is no header of a hidden
/// column. `at`: the offset after the line.
pub(super) fn collect_edits(
    redact: &RedactionRules,
    text: &str,
    (line, mut at): (&str, usize),
    edits: &mut Vec<TextEdit>,
    names: &mut RedactedNames,
) -> Option<usize> {
    let (frame, name) = FRAMES.into_iter().find_map(|frame| Some((frame, &line[cell(line, frame)?])))?;
    let (name, verdict) = hidden_name(redact, name)?;
    if !is_rule(line_at(text, at)) {
        return None;
    }
    while at < text.len() {
        let row = line_at(text, at);
        if !is_rule(row) {
            let Some(Range { start, end }) = cell(row, frame) else { break };
            if verdict.hides(name, &row[start..end], Form::Data) {
                edits.push(TextEdit { start: at + start, end: at + end, replacement: REDACTED.into() });
                names.add(name.to_owned());
            }
        }
        at += row.len() + 1;
    }
    Some(at)
}

/// Returns the only cell of a row, without the white space around it.
fn cell(line: &str, frame: char) -> Option<Range<usize>> {
    let inside = line.trim().strip_prefix(frame)?.strip_suffix(frame)?;
    if inside.contains(frame) {
        return None;
    }
    let start = line.len() - line.trim_start().len() + frame.len_utf8();
    let start = start + inside.len() - inside.trim_start().len();
    Some(start..start + inside.trim().len())
}
