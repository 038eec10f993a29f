//! Describes a unified diff by file.

use super::text_description::{TextDescription, truncated_line};

/// Longest path shown, in characters.
const MAX_PATH_CHARS: usize = 80;

/// The changes of one file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FileChange<'a> {
    /// First line of its diff, from 1.
    line: usize,
    path: &'a str,
    added: usize,
    removed: usize,
}

/// Returns the changes by file; none if most of the text is no diff.
pub(super) fn find(text: &str) -> Vec<FileChange<'_>> {
    let mut files: Vec<FileChange<'_>> = Vec::new();
    if !text.contains("\n@@ -") {
        return files;
    }
    let (mut line_count, mut hunk_line_count) = (0, 0);
    let mut hunk = (0_usize, 0_usize);
    let (mut header, mut before) = (None, None);
    for (index, line) in text.lines().enumerate() {
        let line_number = index + 1;
        line_count = line_number;
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
            header = Some(line_number);
        } else if let Some(path) = line.strip_prefix("--- ") {
            before = Some((line_number, path));
        } else if let Some(((before_line, old), new)) = before.take().zip(line.strip_prefix("+++ ")) {
            let path = if file_path(new) == "/dev/null" { file_path(old) } else { file_path(new) };
            let line = header.take().unwrap_or(before_line);
            files.push(FileChange { line, path, added: 0, removed: 0 });
        } else if let Some(lengths) = line.strip_prefix("@@ -").and_then(hunk_lengths) {
            hunk = lengths;
        }
    }
    files.retain(|file| file.added + file.removed > 0);
    // Each file has up to six lines of headers.
    if (hunk_line_count + 6 * files.len()) * 2 < line_count { Vec::new() } else { files }
}

/// Describes the changes: their number, and the files with the lines at which they begin.
pub(super) fn describe(files: &[FileChange<'_>], description: &mut TextDescription<'_>) {
    let (added, removed) =
        files.iter().fold((0, 0), |(added, removed), file| (added + file.added, removed + file.removed));
    let noun = if files.len() == 1 { "file" } else { "files" };
    description.add("changes", format!("{} {noun}, +{added} -{removed} lines", files.len()));
    let listed: Vec<String> = files
        .iter()
        .map(|FileChange { line, path, added, removed }| {
            format!("{line}: {} +{added} -{removed}", truncated_line(path, MAX_PATH_CHARS))
        })
        .collect();
    description.add_list("files", &listed, description.remaining());
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
    use super::{FileChange, find};

    #[test]
    fn finds_files_with_their_changes() {
        let diff = "diff --git a/src/a.rs b/src/a.rs\nindex 1..2 100644\n--- a/src/a.rs\n+++ b/src/a.rs\n\
            @@ -1,3 +1,4 @@ fn x\n one\n-two\n+2\n+--- no header\n three\n\
            diff --git a/old b/old\ndeleted file mode 100644\n--- a/old\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n";
        let change = |line, path, added, removed| FileChange { line, path, added, removed };
        assert_eq!(find(diff), [change(1, "src/a.rs", 2, 1), change(11, "old", 0, 1)]);
        let plain = "--- x.txt\t2025-01-01\n+++ y.txt\t2025-01-02\n@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\n";
        assert_eq!(find(plain), [change(1, "y.txt", 1, 1)]);
        for text in
            ["", "--- a\n+++ b\n", "# title\n--- rule\n+++ sum\n", "@@ -1 +1 @@\n-a\n+b\n", "@@ -9,9 +\n"]
        {
            assert_eq!(find(text), []);
        }
    }
}
