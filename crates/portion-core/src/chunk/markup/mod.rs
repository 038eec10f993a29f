//! HTML and XML: cut between elements, never inside a tag; scripts, styles and preformatted text
//! are cut as the lines that they are.

use super::{Boundary, ChunkWindow, Chunker, TextSample};

mod reader;
mod tag;

pub(super) use reader::mark_elements;

/// Percent of the lines that begin or end with a tag in markup without a prologue.
const MIN_TAGGED_PERCENT: usize = 60;
/// Beginnings of documents, lower case.
const PROLOGUES: &[&str] = &["<!doctype", "<html", "<?xml", "<svg", "<rss", "<feed"];

/// Chunks of whole elements.
#[derive(Debug)]
pub(super) struct MarkupChunker;

impl Chunker for MarkupChunker {
    fn name(&self) -> &'static str {
        "markup"
    }

    /// A prologue, or an element at the very beginning and tags in most lines.
    fn matches(&self, sample: &TextSample) -> bool {
        let said = sample.text().trim_start_matches('\u{feff}').trim_start();
        let head = said[..said.floor_char_boundary(16)].to_ascii_lowercase();
        if PROLOGUES.iter().any(|prologue| head.starts_with(prologue)) {
            return true;
        }
        let begins = head.starts_with("<!--") || tag::parse_tag(said).is_some_and(|tag| !tag.is_closing);
        let (mut lines, mut tagged, mut closed) = (0, 0, 0);
        for line in sample.lines() {
            let said = line.trimmed();
            lines += 1;
            tagged += usize::from(said.starts_with('<') || said.ends_with('>'));
            closed += usize::from(said.contains("</") || said.contains("/>"));
        }
        begins && closed > 0 && tagged * 100 >= lines * MIN_TAGGED_PERCENT
    }

    fn boundaries(&self, window: &ChunkWindow) -> Vec<Boundary> {
        let mut marks = Vec::new();
        let open = reader::open_raw_element(window);
        mark_elements(window.text, window.range(), open, &mut marks);
        marks
    }
}
