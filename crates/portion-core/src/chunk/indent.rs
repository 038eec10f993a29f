//! Structure told from indentation: what stands deeper belongs to what stands above it.

use super::line::Line;
use super::mark::{Mark, Marker, Rank};

/// Columns that make one level of depth.
const STEP: usize = 2;
/// Words that go on with the block that the lines above them began.
const GOING_ON: &[&str] = &[
    "end", "else", "elif", "elsif", "except", "finally", "catch", "rescue", "ensure", "then", "fi", "done",
    "esac", "endif",
];

/// What is known of a line when its rank is asked for.
pub(super) struct Place<'a> {
    pub(super) line: Line<'a>,
    /// The last line of content before it.
    pub(super) above: Line<'a>,
    /// Whether blank lines are between the two.
    pub(super) after_gap: bool,
}

/// Marks the lines for which `is_unit` holds as units, and what is indented as parts, the deeper the
/// finer, those after a blank line before those that are not.
pub(super) fn mark<'a>(lines: impl Iterator<Item = Line<'a>>, is_unit: impl Fn(&Place) -> bool) -> Vec<Mark> {
    mark_ranked(lines, |place| is_unit(place).then_some(Rank::Unit))
}

/// The same where some lines are known to begin something of another rank.
pub(super) fn mark_ranked<'a>(
    lines: impl Iterator<Item = Line<'a>>,
    known: impl Fn(&Place) -> Option<Rank>,
) -> Vec<Mark> {
    let mut marker = Marker::default();
    let mut above: Option<Line> = None;
    for line in lines {
        if line.is_blank() {
            marker.blank(&line);
            continue;
        }
        let place = above.map(|above| Place { line, above, after_gap: marker.after_gap() });
        match place.and_then(|place| known(&place).or_else(|| part(&place))) {
            Some(rank) => marker.begin(&line, rank),
            None => marker.go_on(),
        }
        above = Some(line);
    }
    marker.finish()
}

fn part(place: &Place) -> Option<Rank> {
    let indent = place.line.indent();
    let begins_body = indent > place.above.indent() && !place.after_gap;
    let part = Rank::part(2 * (indent / STEP) + usize::from(!place.after_gap));
    (!begins_body && !closes(place)).then_some(part)
}

/// Whether the line ends or goes on with a block that began above it.
pub(super) fn closes(place: &Place) -> bool {
    let said = place.line.trimmed();
    match said.as_bytes().first() {
        Some(b'}' | b')' | b']') => true,
        Some(b'{') => !place.above.trimmed().ends_with([',', '[', '}']),
        Some(b'<') => said.starts_with("</"),
        Some(b'*') => said.starts_with("*/"),
        _ => {
            let word = said.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
            GOING_ON.contains(&word)
        }
    }
}
