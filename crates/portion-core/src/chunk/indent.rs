//! Structure told from indentation: what stands deeper belongs to what stands above it.

use super::boundary::{Boundary, BoundaryBuilder, BoundaryLevel};
use super::line::Line;

/// Columns that make one level of depth.
const COLUMNS_PER_LEVEL: usize = 2;
/// Words that go on with the block that the lines above them began.
const CONTINUATION_WORDS: &[&str] = &[
    "end", "else", "elif", "elsif", "except", "finally", "catch", "rescue", "ensure", "then", "fi", "done",
    "esac", "endif",
];

/// What is known of a line when its rank is asked for.
pub(super) struct LineContext<'a> {
    pub(super) line: Line<'a>,
    /// The last line of content before it.
    pub(super) above: Line<'a>,
    /// Whether blank lines are between the two.
    pub(super) after_gap: bool,
}

/// Marks the lines for which `is_unit` holds as units, and what is indented as parts, the deeper the
/// finer, those after a blank line before those that are not.
pub(super) fn mark_units<'a>(
    lines: impl Iterator<Item = Line<'a>>,
    is_unit: impl Fn(&LineContext) -> bool,
) -> Vec<Boundary> {
    mark_levels(lines, |place| is_unit(place).then_some(BoundaryLevel::Unit))
}

/// The same where some lines are known to begin something of another rank.
pub(super) fn mark_levels<'a>(
    lines: impl Iterator<Item = Line<'a>>,
    known: impl Fn(&LineContext) -> Option<BoundaryLevel>,
) -> Vec<Boundary> {
    let mut marker = BoundaryBuilder::default();
    let mut above: Option<Line> = None;
    for line in lines {
        if line.is_blank() {
            marker.add_blank(&line);
            continue;
        }
        let place = above.map(|above| LineContext { line, above, after_gap: marker.after_gap() });
        match place.and_then(|place| known(&place).or_else(|| part_level(&place))) {
            Some(rank) => marker.add(&line, rank),
            None => marker.continue_unit(),
        }
        above = Some(line);
    }
    marker.finish()
}

fn part_level(place: &LineContext) -> Option<BoundaryLevel> {
    let indent = place.line.indent();
    let begins_body = indent > place.above.indent() && !place.after_gap;
    let part = BoundaryLevel::part(2 * (indent / COLUMNS_PER_LEVEL) + usize::from(!place.after_gap));
    (!begins_body && !continues_block(place)).then_some(part)
}

/// Whether the line ends or goes on with a block that began above it.
pub(super) fn continues_block(place: &LineContext) -> bool {
    let said = place.line.trimmed();
    match said.as_bytes().first() {
        Some(b'}' | b')' | b']') => true,
        Some(b'{') => !place.above.trimmed().ends_with([',', '[', '}']),
        Some(b'<') => said.starts_with("</"),
        Some(b'*') => said.starts_with("*/"),
        _ => {
            let word = said.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
            CONTINUATION_WORDS.contains(&word)
        }
    }
}
