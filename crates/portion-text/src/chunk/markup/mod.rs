//! Finds boundaries in HTML and XML: between elements, never inside a tag. Scripts, styles and
//! preformatted text are cut between lines.

use super::{Boundary, ChunkWindow, Chunker, TextKind, TextSample};

mod reader;
mod tag;

pub(super) use reader::mark_elements;

/// Minimum share of lines that begin or end with a tag, in per cent, in markup without a prologue.
const MIN_TAGGED_PERCENT: usize = 60;
/// Starts of documents, in lower case.
const PROLOGUES: &[&str] = &["<!doctype", "<html", "<?xml", "<svg", "<rss", "<feed"];

/// Cuts between elements.
#[derive(Debug)]
pub(super) struct MarkupChunker;

impl Chunker for MarkupChunker {
    fn kind(&self) -> TextKind {
        TextKind::Markup
    }

    /// Matches text with a prologue, or with an element at the start and tags in most lines.
    fn matches(&self, sample: &TextSample) -> bool {
        let content = sample.text().trim_start_matches('\u{feff}').trim_start();
        let head = content[..content.floor_char_boundary(16)].to_ascii_lowercase();
        if PROLOGUES.iter().any(|prologue| head.starts_with(prologue)) {
            return true;
        }
        let begins = head.starts_with("<!--") || tag::parse_tag(content).is_some_and(|tag| !tag.is_closing);
        let (mut lines, mut tagged, mut closed) = (0, 0, 0);
        for line in sample.lines() {
            let content = line.trimmed();
            lines += 1;
            tagged += usize::from(content.starts_with('<') || content.ends_with('>'));
            closed += usize::from(content.contains("</") || content.contains("/>"));
        }
        begins && closed > 0 && tagged * 100 >= lines * MIN_TAGGED_PERCENT
    }

    fn boundaries(&self, window: &ChunkWindow) -> Vec<Boundary> {
        let mut boundaries = Vec::new();
        let open = reader::open_raw_element(window);
        mark_elements(window.text, window.range(), open, &mut boundaries);
        boundaries
    }
}
