//! Reads unified diffs by file, and the commits of a log with patches.
//!
//! ```
//! use portion_text::diff::file_changes;
//!
//! let changes = file_changes("--- a/x.rs\n+++ b/x.rs\n@@ -1 +1 @@\n-a\n+b\n");
//! assert_eq!((changes[0].path.as_str(), changes[0].added, changes[0].removed), ("x.rs", 1, 1));
//! ```

mod header;
#[cfg(test)]
mod tests;

use portion_json::span::Span;

use header::{CommitReader, file_path, later_path, unquoted};

/// The changes of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    /// First line of its diff, from 1.
    pub line: usize,
    /// Path of the file after the change, or before it if the file was deleted.
    pub path: String,
    /// Number of added lines.
    pub added: usize,
    /// Number of removed lines.
    pub removed: usize,
    /// True if the content is binary, so that no lines are counted.
    pub is_binary: bool,
    /// Span of its diff, headers included.
    pub span: Span,
    /// Span of the hash of its commit, in a log with patches.
    pub commit: Option<Span>,
}

/// Returns the changes by file; none if most of the text is no diff. A file whose name, mode or binary content changed has no
/// added or removed lines.
pub fn file_changes(text: &str) -> Vec<FileChange> {
    let has = |sign: &&str| memchr::memmem::find(text.as_bytes(), sign.as_bytes()).is_some();
    if !["\n@@ -", "diff --git ", "diff --cc ", "diff --combined "].iter().any(has) {
        return Vec::new();
    }
    let mut reader = DiffReader::default();
    let (mut offset, mut line_count) = (0, 0);
    for line in text.split_inclusive('\n') {
        line_count += 1;
        let place = Place { line: line_count, start: offset, end: offset + line.len() };
        offset = place.end;
        reader.read(line.trim_end_matches(['\n', '\r']), place);
    }
    reader.end_file();
    let file_lines = |file: &FileChange| file.span.slice(text).lines().count();
    let known: usize = reader.files.iter().map(file_lines).sum::<usize>() + reader.commits.line_count;
    if known * 2 < line_count { Vec::new() } else { reader.files }
}

/// A line of the text.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// Its number, from 1.
    line: usize,
    start: usize,
    /// Offset after its line ending.
    end: usize,
}

/// Beginnings of the lines between `diff --git` and the first hunk.
const HEADERS: [&str; 12] = [
    "index ",
    "mode ",
    "old mode ",
    "new mode ",
    "new file mode ",
    "deleted file mode ",
    "similarity index ",
    "dissimilarity index ",
    "rename from ",
    "rename to ",
    "copy from ",
    "copy to ",
];
/// Line of a Subversion diff that stands for binary content.
const SUBVERSION_BINARY: &str = "Cannot display: file marked as a binary type.";

#[derive(Default)]
struct DiffReader<'a> {
    files: Vec<FileChange>,
    /// The file whose lines are read.
    open: Option<OpenFile>,
    hunk: Hunk,
    commits: CommitReader,
    /// A line that begins the next file, if a path follows: `diff -r …`, `Index: …`.
    announced: Option<(Place, &'a str)>,
    /// The line `--- …` above this one.
    before: Option<(Place, &'a str)>,
}

struct OpenFile {
    change: FileChange,
    /// True if it is a change without hunks as well.
    is_certain: bool,
    has_hunk: bool,
    /// True while the lines of a binary patch follow.
    in_binary_patch: bool,
}

impl<'a> DiffReader<'a> {
    fn read(&mut self, line: &'a str, place: Place) {
        if self.read_content(line, place) {
            return;
        }
        let before = self.before.take();
        let git = ["diff --git ", "diff --cc ", "diff --combined "]
            .iter()
            .find(|header| line.starts_with(**header));
        if let Some(header) = git {
            let paths = &line[header.len()..];
            let path = if *header == "diff --git " { later_path(paths, " ") } else { file_path(paths) };
            self.begin_file(place, path, place.end, true);
        } else if line.starts_with("diff ") || line.starts_with("Index: ") {
            self.end_file();
            self.announced = Some((place, line));
        } else if line.starts_with("--- ") {
            self.before = Some((place, line));
        } else if let Some(((above, old), new)) = before.zip(line.strip_prefix("+++ ")) {
            self.read_paths(above, &old[4..], new, place);
        } else if let Some(paths) =
            line.strip_prefix("Binary files ").and_then(|rest| rest.strip_suffix(" differ"))
        {
            self.read_binary_file(&later_path(paths, " and "), place);
        } else if let Some(path) =
            line.strip_prefix("Binary file ").and_then(|rest| rest.strip_suffix(" has changed"))
        {
            self.read_binary_file(&file_path(path), place);
        } else if line == SUBVERSION_BINARY
            && let Some(path) = self.announced.and_then(|(_, line)| line.strip_prefix("Index: "))
        {
            self.read_binary_file(&file_path(path), place);
        } else if !self.read_header(line, place) && !line.starts_with("=====") {
            self.end_file();
            self.announced = None;
            self.commits.read(line, place.start, place.end);
        }
    }

    /// Reads a line of a hunk or of a binary patch; false if it is neither.
    fn read_content(&mut self, line: &str, place: Place) -> bool {
        let Some(file) = &mut self.open else { return false };
        if file.has_hunk && line.starts_with('\\') {
            file.extend(place);
            return true;
        }
        if file.in_binary_patch && header::is_patch_line(line) {
            if !line.is_empty() {
                file.extend(place);
            }
            return true;
        }
        match self.hunk.read(line) {
            Some(HunkLine::Added) => file.change.added += 1,
            Some(HunkLine::Removed) => file.change.removed += 1,
            Some(HunkLine::Context) => {}
            None if !file.has_hunk || self.before.is_some() || !is_uncounted(line) => return false,
            // The header of the hunk is wrong, as in diffs that were not written by a program.
            None => match line.as_bytes()[0] {
                b'+' => file.change.added += 1,
                b'-' => file.change.removed += 1,
                _ => {}
            },
        }
        file.extend(place);
        true
    }

    /// Reads the line `+++ …` with the one above it.
    fn read_paths(&mut self, above: Place, old: &str, new: &str, place: Place) {
        let path = match file_path(new) {
            path if path == "/dev/null" => file_path(old),
            path => path,
        };
        match &mut self.open {
            Some(file) if file.is_certain && !file.has_hunk => {
                file.change.path = path;
                file.extend(place);
            }
            _ => self.begin_file(above, path, place.end, false),
        }
    }

    /// Reads the line that stands for the content of a binary file.
    fn read_binary_file(&mut self, path: &str, place: Place) {
        match &mut self.open {
            Some(file) if file.is_certain && !file.has_hunk && !file.change.is_binary => file.extend(place),
            _ => self.begin_file(place, path.to_owned(), place.end, true),
        }
        if let Some(file) = &mut self.open {
            file.change.is_binary = true;
        }
    }

    /// Reads a header of a file or of a hunk; false if it is none.
    fn read_header(&mut self, line: &str, place: Place) -> bool {
        let Some(file) = &mut self.open else { return false };
        if line.starts_with("@@")
            && let Some(hunk) = Hunk::parse(line)
        {
            (self.hunk, file.has_hunk) = (hunk, true);
        } else if file.has_hunk || !file.is_certain {
            return false;
        } else if line == "GIT binary patch" {
            (file.in_binary_patch, file.change.is_binary) = (true, true);
        } else if let Some(path) = line.strip_prefix("rename to ").or_else(|| line.strip_prefix("copy to ")) {
            file.change.path = match path.strip_prefix('"') {
                Some(quoted) => unquoted(quoted),
                None => path.to_owned(),
            };
        } else if !HEADERS.iter().any(|header| line.starts_with(header)) {
            return false;
        }
        file.extend(place);
        true
    }

    fn begin_file(&mut self, place: Place, path: String, end: usize, is_certain: bool) {
        self.end_file();
        let place = self.announced.take().map_or(place, |(announced, _)| announced);
        let commit = self.commits.begin_file(place.start);
        let change = FileChange {
            line: place.line,
            path,
            added: 0,
            removed: 0,
            is_binary: false,
            span: Span::new(place.start, end),
            commit,
        };
        self.open = Some(OpenFile { change, is_certain, has_hunk: false, in_binary_patch: false });
    }

    fn end_file(&mut self) {
        self.hunk = Hunk::default();
        if let Some(file) = self.open.take()
            && (file.is_certain || file.change.added + file.change.removed > 0)
        {
            self.files.push(file.change);
        }
    }
}

/// Returns true for a line below a complete hunk that can only be a line of it.
fn is_uncounted(line: &str) -> bool {
    line.starts_with([' ', '+', '-']) && !line.starts_with("--- ") && line.trim_end() != "--"
}

impl OpenFile {
    /// Adds a line.
    fn extend(&mut self, place: Place) {
        self.change.span.end = place.end as u32;
    }
}

/// The part of a hunk that is still to be read.
#[derive(Debug, Default)]
struct Hunk {
    /// Lines of the file after the change.
    new_count: usize,
    /// Lines of each file before it: of several in a combined diff.
    old_counts: Vec<usize>,
}

/// A line of a hunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HunkLine {
    Added,
    Removed,
    Context,
}

/// Most files before the change in a combined diff.
const MAX_PARENTS: usize = 16;

impl Hunk {
    /// Parses a header: `@@ -1,4 +1,5 @@ …`, or `@@@ -1 -1 +1,2 @@@` of two files before the change.
    fn parse(line: &str) -> Option<Self> {
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
    fn is_complete(&self) -> bool {
        self.new_count == 0 && self.old_counts.iter().all(|count| *count == 0)
    }

    /// Reads a line; `None` ends the hunk, because the line is no part of one.
    fn read(&mut self, line: &str) -> Option<HunkLine> {
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
