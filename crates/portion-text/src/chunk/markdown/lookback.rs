//! Finds the blocks that are open where a chunk begins, from the text around it.
//!
//! Strictly, an open fence depends on all the text before. Nearby lines nearly always decide: a fence
//! with an info string opens; one after a line of text and before a blank line closes.

use memchr::{memchr, memmem};

use super::super::ChunkWindow;
use super::super::line::{Line, lines};
use super::block_state::{BlockState, parse_fence};

/// Maximum bytes to look back.
const LOOKBACK_BYTES: usize = 16 * 1024;

/// Returns the blocks that are open at the start of a window.
pub(super) fn open_blocks(window: &ChunkWindow) -> BlockState {
    let start = lookback_start(window);
    if start == 0 {
        return read_until_window(window, 0, BlockState::at_start(window.text));
    }
    let around = &window.text.as_bytes()[start..window.to];
    let opens = |sign: &str| memmem::find(around, sign.as_bytes()).is_some();
    if !["```", "~~~", "<!--"].into_iter().any(opens) {
        return BlockState::in_text(None);
    }
    let near: Vec<_> = lines(window.text, start..window.to).collect();
    let first = near.iter().find_map(|line| parse_fence(line.text));
    let outside = BlockState::in_text(None);
    let inside = BlockState::in_text(first.map(|(sign, length, _)| (sign, length)));
    let better =
        if count_oddities(&near, inside) < count_oddities(&near, outside) { inside } else { outside };
    read_until_window(window, start, better)
}

/// Returns the start of the line at which the lookback begins.
fn lookback_start(window: &ChunkWindow) -> usize {
    let back = window.text.ceil_char_boundary(window.from.saturating_sub(LOOKBACK_BYTES)).min(window.from);
    if back == 0 {
        return 0;
    }
    memchr(b'\n', &window.text.as_bytes()[back..window.from]).map_or(window.from, |feed| back + feed + 1)
}

fn read_until_window(window: &ChunkWindow, start: usize, mut blocks: BlockState) -> BlockState {
    let mut read = lines(window.text, start..window.from).peekable();
    while let Some(line) = read.next() {
        // A partial line that the window continues cannot be classified.
        if read.peek().is_none() && !window.begins_line() {
            break;
        }
        blocks.classify(line.text);
    }
    blocks
}

/// Counts the lines that look odd if these blocks are open at the first of them.
fn count_oddities(near: &[Line], mut blocks: BlockState) -> usize {
    let mut odd = 0;
    for (index, line) in near.iter().enumerate() {
        let before = blocks.fence;
        blocks.classify(line.text);
        let Some((_, _, info)) = parse_fence(line.text) else { continue };
        let blank = |at: Option<usize>| at.and_then(|at| near.get(at)).is_some_and(Line::is_blank);
        odd += match (before, blocks.fence) {
            (Some(_), Some(_)) if !info.is_empty() => 2,
            (None, Some(_)) if info.is_empty() => usize::from(blank(index.checked_add(1))),
            (Some(_), None) => usize::from(blank(index.checked_sub(1))),
            _ => 0,
        };
    }
    odd
}
