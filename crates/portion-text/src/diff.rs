//! Reads unified diffs by file.
//!
//! ```
//! use portion_text::diff::file_changes;
//!
//! let changes = file_changes("--- a/x.rs\n+++ b/x.rs\n@@ -1 +1 @@\n-a\n+b\n");
//! assert_eq!((changes[0].path.as_str(), changes[0].added, changes[0].removed), ("x.rs", 1, 1));
//! ```

use portion_json::span::Span;

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
    /// Span of its diff, headers included.
    pub span: Span,
}

/// Returns the changes by file; none if most of the text is no diff.
pub fn file_changes(text: &str) -> Vec<FileChange> {
    let mut files: Vec<FileChange> = Vec::new();
    if !text.contains("\n@@ -") {
        return files;
    }
    let (mut line_count, mut hunk_line_count, mut offset) = (0, 0, 0);
    let mut hunk = (0_usize, 0_usize);
    // Number and offset of the line that begins the next file.
    let (mut header, mut before) = (None, None);
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let place = (index + 1, offset);
        (line_count, offset) = (index + 1, offset + line.len());
        let line = line.trim_end_matches(['\n', '\r']);
        if let Some(file) = files.last_mut().filter(|_| hunk != (0, 0)) {
            match line.bytes().next() {
                Some(b'+') => (file.added, hunk.1) = (file.added + 1, hunk.1.saturating_sub(1)),
                Some(b'-') => (file.removed, hunk.0) = (file.removed + 1, hunk.0.saturating_sub(1)),
                Some(b'\\') => {}
                _ => hunk = (hunk.0.saturating_sub(1), hunk.1.saturating_sub(1)),
            }
            hunk_line_count += 1;
            continue;
        }
        if line.starts_with("diff ") {
            end_file(&mut files, place.1);
            header = Some(place);
        } else if let Some(path) = line.strip_prefix("--- ") {
            before = Some((place, path));
        } else if let Some(((before, old), new)) = before.take().zip(line.strip_prefix("+++ ")) {
            let path = if file_path(new) == "/dev/null" { file_path(old) } else { file_path(new) };
            let (line, start) = header.take().unwrap_or(before);
            end_file(&mut files, start);
            let span = Span::new(start, text.len());
            files.push(FileChange { line, path: path.to_owned(), added: 0, removed: 0, span });
        } else if let Some(lengths) = line.strip_prefix("@@ -").and_then(hunk_lengths) {
            hunk = lengths;
        }
    }
    files.retain(|file| file.added + file.removed > 0);
    // Each file has up to six lines of headers.
    if (hunk_line_count + 6 * files.len()) * 2 < line_count { Vec::new() } else { files }
}

/// Ends the diff of the last file at an offset, unless it ended before.
fn end_file(files: &mut [FileChange], offset: usize) {
    if let Some(file) = files.last_mut() {
        file.span.end = file.span.end.min(offset as u32);
    }
}

/// Returns a path without the prefix that git adds, and without a time stamp.
fn file_path(written: &str) -> &str {
    let path = written.split('\t').next().unwrap_or_default().trim().trim_matches('"');
    path.strip_prefix("a/").or_else(|| path.strip_prefix("b/")).unwrap_or(path)
}

/// Returns the numbers of old and new lines of `1,4 +1,5 @@ …`.
fn hunk_lengths(rest: &str) -> Option<(usize, usize)> {
    let (old, rest) = rest.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let length = |range: &str| match range.split_once(',') {
        Some((_, length)) => length.parse().ok(),
        None => range.parse::<usize>().ok().map(|_| 1),
    };
    Some((length(old)?, length(new)?))
}

#[cfg(test)]
mod tests {
    use super::file_changes;

    /// Compares the line, path, counts and first and last line of each file.
    fn check(diff: &str, expect: &[(usize, &str, usize, usize, &str, &str)]) {
        let found = file_changes(diff);
        let found: Vec<_> = found
            .iter()
            .map(|file| {
                let own = file.span.slice(diff);
                let (first, last) = (own.lines().next().unwrap_or(""), own.lines().last().unwrap_or(""));
                (file.line, file.path.as_str(), file.added, file.removed, first, last)
            })
            .collect();
        assert_eq!(found, expect);
    }

    #[test]
    fn finds_files_with_their_changes() {
        let diff = "diff --git a/src/a.rs b/src/a.rs\nindex 1..2 100644\n--- a/src/a.rs\n+++ b/src/a.rs\n\
            @@ -1,3 +1,4 @@ fn x\n one\n-two\n+2\n+--- no header\n three\n\
            diff --git a/moved b/elsewhere\nrename from moved\n\
            diff --git a/old b/old\ndeleted file mode 100644\n--- a/old\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n";
        check(
            diff,
            &[
                (1, "src/a.rs", 2, 1, "diff --git a/src/a.rs b/src/a.rs", " three"),
                (13, "old", 0, 1, "diff --git a/old b/old", "-gone"),
            ],
        );
        let plain = "--- x.txt\t2025-01-01\n+++ y.txt\t2025-01-02\n@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\n";
        check(plain, &[(1, "y.txt", 1, 1, "--- x.txt\t2025-01-01", "\\ No newline at end of file")]);
        for text in
            ["", "--- a\n+++ b\n", "# title\n--- rule\n+++ sum\n", "@@ -1 +1 @@\n-a\n+b\n", "@@ -9,9 +\n"]
        {
            check(text, &[]);
        }
    }
}
