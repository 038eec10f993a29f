//! HTML and XML: cut between elements, never inside a tag; scripts, styles and preformatted text
//! are cut as the lines that they are.

use super::{Chunker, Mark, Sample, Window};

mod reader;
mod tag;

pub(super) use reader::mark;

/// Percent of the lines that begin or end with a tag in markup without a prologue.
const TAGGED: usize = 60;
/// Beginnings of documents, lower case.
const PROLOGUES: &[&str] = &["<!doctype", "<html", "<?xml", "<svg", "<rss", "<feed"];

/// Chunks of whole elements.
#[derive(Debug)]
pub(super) struct Markup;

impl Chunker for Markup {
    fn name(&self) -> &'static str {
        "markup"
    }

    /// A prologue, or an element at the very beginning and tags in most lines.
    fn claims(&self, sample: &Sample) -> bool {
        let said = sample.text().trim_start_matches('\u{feff}').trim_start();
        let head = said[..said.floor_char_boundary(16)].to_ascii_lowercase();
        if PROLOGUES.iter().any(|prologue| head.starts_with(prologue)) {
            return true;
        }
        let begins = head.starts_with("<!--") || tag::at(said).is_some_and(|tag| !tag.closing);
        let (mut lines, mut tagged, mut closed) = (0, 0, 0);
        for line in sample.lines() {
            let said = line.trimmed();
            lines += 1;
            tagged += usize::from(said.starts_with('<') || said.ends_with('>'));
            closed += usize::from(said.contains("</") || said.contains("/>"));
        }
        begins && closed > 0 && tagged * 100 >= lines * TAGGED
    }

    fn marks(&self, window: &Window) -> Vec<Mark> {
        let mut marks = Vec::new();
        let open = reader::open_at(window);
        mark(window.text, window.range(), open, &mut marks);
        marks
    }
}
