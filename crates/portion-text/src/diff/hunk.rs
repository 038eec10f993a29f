//! Lines of a hunk, counted by its header.

/// The part of a hunk that is still to be read.
#[derive(Debug, Default)]
pub(super) struct Hunk {
    /// Lines of the file after the change.
    new_count: usize,
    /// Lines of each file before it: of several in a combined diff.
    old_counts: Vec<usize>,
}

/// A line of a hunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HunkLine {
    Added,
    Removed,
    Context,
}

/// Most files before the change in a combined diff.
const MAX_PARENTS: usize = 16;

impl Hunk {
    /// Parses a header: `@@ -1,4 +1,5 @@ …`, or `@@@ -1 -1 +1,2 @@@` of two files before the change.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let rest = line.trim_start_matches('@');
        let parent_count =
            (line.len() - rest.len()).checked_sub(1).filter(|count| (1..=MAX_PARENTS).contains(count))?;
        let mut ranges = rest.strip_prefix(' ')?.split(' ');
        let old_counts: Option<Vec<usize>> =
            (0..parent_count).map(|_| line_count(ranges.next()?.strip_prefix('-')?)).collect();
        let new_count = line_count(ranges.next()?.strip_prefix('+')?)?;
        let end = ranges.next()?;
        let is_end = end.len() == parent_count + 1 && end.bytes().all(|byte| byte == b'@');
        is_end.then_some(Self { new_count, old_counts: old_counts? })
    }

    /// Returns true if no line is left.
    pub(super) fn is_complete(&self) -> bool {
        self.new_count == 0 && self.old_counts.iter().all(|count| *count == 0)
    }

    /// Reads a line; `None` ends the hunk, because the line is no part of one.
    pub(super) fn read(&mut self, line: &str) -> Option<HunkLine> {
        if self.is_complete() {
            return None;
        }
        // A blank line of context may have lost its space.
        let signs = line.as_bytes().get(..self.old_counts.len()).unwrap_or(line.as_bytes());
        if !signs.iter().all(|sign| matches!(sign, b' ' | b'+' | b'-' | b'\t')) {
            *self = Self::default();
            return None;
        }
        let is_removed = signs.contains(&b'-');
        for (at, count) in self.old_counts.iter_mut().enumerate() {
            let sign = signs.get(at).copied().unwrap_or(b' ');
            let is_old = if is_removed { sign == b'-' } else { sign != b'+' };
            *count = count.saturating_sub(usize::from(is_old));
        }
        self.new_count = self.new_count.saturating_sub(usize::from(!is_removed));
        Some(match (is_removed, signs.contains(&b'+')) {
            (true, _) => HunkLine::Removed,
            (false, true) => HunkLine::Added,
            (false, false) => HunkLine::Context,
        })
    }
}

/// Returns the number of lines of `1,4`, or of `1`, which is one line.
fn line_count(range: &str) -> Option<usize> {
    match range.split_once(',') {
        Some((_, count)) => count.parse().ok(),
        None => range.parse::<usize>().ok().map(|_| 1),
    }
}

#[cfg(test)]
mod tests {
    use super::{Hunk, HunkLine};

    #[test]
    fn a_hunk_ends_with_its_last_line() {
        let mut hunk = Hunk::parse("@@ -1,2 +1,2 @@ fn x").expect("a hunk");
        let read: Vec<_> = [" a", "-b", "+c", "-- "].into_iter().map(|line| hunk.read(line)).collect();
        assert_eq!(read, [Some(HunkLine::Context), Some(HunkLine::Removed), Some(HunkLine::Added), None]);
    }

    #[test]
    fn a_combined_hunk_has_several_files_before() {
        let mut hunk = Hunk::parse("@@@ -1,2 -1,1 +1,2 @@@").expect("a hunk");
        let read: Vec<_> = ["  a", "- b", "++c"].into_iter().map(|line| hunk.read(line)).collect();
        assert_eq!(read, [Some(HunkLine::Context), Some(HunkLine::Removed), Some(HunkLine::Added)]);
        assert!(hunk.is_complete());
    }

    #[test]
    fn other_lines_are_no_headers() {
        for line in ["", "@", "@@", "@@ -9,9 +", "@@ -x +1 @@", "@@ -1 +1 @@@", "@@@ -1 +1 @@@"] {
            assert!(Hunk::parse(line).is_none(), "{line}");
        }
    }
}
