//! Describes a unified diff by file.

use std::collections::HashSet;

use portion_text::diff::FileChange;

use super::text_description::{TextDescription, truncated_line};

/// Longest path shown, in characters.
const MAX_PATH_CHARS: usize = 80;

/// Describes the changes: their number, and the files with the lines at which they begin.
pub(super) fn describe(text: &str, changes: &[FileChange], description: &mut TextDescription<'_>) {
    description.add("changes", summary(text, changes));
    let listed: Vec<String> = changes
        .iter()
        .map(|FileChange { line, path, added, removed, is_binary, .. }| {
            let path = truncated_line(path, MAX_PATH_CHARS);
            if *is_binary {
                format!("{line}: {path} binary")
            } else {
                format!("{line}: {path} +{added} -{removed}")
            }
        })
        .collect();
    description.add_list("files", &listed, description.remaining());
}

/// Returns the number of files and lines: `2 files, +3 -1 lines`; in a log, `5 changes of 2 files in 4 commits, +3 -1 lines`.
fn summary(text: &str, changes: &[FileChange]) -> String {
    let (added, removed) =
        changes.iter().fold((0, 0), |(added, removed), file| (added + file.added, removed + file.removed));
    let count = |count: usize, noun: &str| format!("{count} {noun}{}", if count == 1 { "" } else { "s" });
    let file_count = changes.iter().map(|change| change.path.as_str()).collect::<HashSet<_>>().len();
    let commits: HashSet<&str> =
        changes.iter().filter_map(|change| change.commit).map(|commit| commit.slice(text)).collect();
    let mut files = count(file_count, "file");
    if file_count < changes.len() {
        files = format!("{} of {files}", count(changes.len(), "change"));
    }
    if !commits.is_empty() {
        files = format!("{files} in {}", count(commits.len(), "commit"));
    }
    format!("{files}, +{added} -{removed} lines")
}
