//! Which blocks are open where a chunk begins, judged by the text around it.
//!
//! Whether a fence is open is in truth a property of all the text before. What is near decides
//! nearly always: a fence with an info string opens, one after a line of text and before a blank
//! line closes.

use memchr::{memchr, memmem};

use super::super::Window;
use super::super::line::{Line, lines};
use super::block::{Blocks, fence};

/// Bytes looked back over.
const BACK: usize = 16 * 1024;

/// The blocks that are open at the beginning of a window.
pub(super) fn at(window: &Window) -> Blocks {
    let start = beginning(window);
    if start == 0 {
        return after(window, 0, Blocks::at_start(window.text));
    }
    let around = &window.text.as_bytes()[start..window.to];
    let opens = |sign: &str| memmem::find(around, sign.as_bytes()).is_some();
    if !["```", "~~~", "<!--"].into_iter().any(opens) {
        return Blocks::amid(None);
    }
    let near: Vec<_> = lines(window.text, start..window.to).collect();
    let first = near.iter().find_map(|line| fence(line.text));
    let outside = Blocks::amid(None);
    let inside = Blocks::amid(first.map(|(sign, length, _)| (sign, length)));
    let better = if oddities(&near, inside) < oddities(&near, outside) { inside } else { outside };
    after(window, start, better)
}

/// The beginning of the line at which the look back begins.
fn beginning(window: &Window) -> usize {
    let back = window.text.ceil_char_boundary(window.from.saturating_sub(BACK)).min(window.from);
    if back == 0 {
        return 0;
    }
    memchr(b'\n', &window.text.as_bytes()[back..window.from]).map_or(window.from, |feed| back + feed + 1)
}

fn after(window: &Window, start: usize, mut blocks: Blocks) -> Blocks {
    let mut read = lines(window.text, start..window.from).peekable();
    while let Some(line) = read.next() {
        // A part of a line, which the window goes on with, is none to be judged.
        if read.peek().is_none() && !window.begins_line() {
            break;
        }
        blocks.kind(line.text);
    }
    blocks
}

/// How many lines look odd if these blocks were open at the first of them.
fn oddities(near: &[Line], mut blocks: Blocks) -> usize {
    let mut odd = 0;
    for (index, line) in near.iter().enumerate() {
        let before = blocks.fence;
        blocks.kind(line.text);
        let Some((_, _, info)) = fence(line.text) else { continue };
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
