//! Describes a unified diff by file.

use portion_text::diff::FileChange;

use super::text_description::{TextDescription, truncated_line};

/// Longest path shown, in characters.
const MAX_PATH_CHARS: usize = 80;

/// Describes the changes: their number, and the files with the lines at which they begin.
pub(super) fn describe(files: &[FileChange], description: &mut TextDescription<'_>) {
    let (added, removed) =
        files.iter().fold((0, 0), |(added, removed), file| (added + file.added, removed + file.removed));
    let noun = if files.len() == 1 { "file" } else { "files" };
    description.add("changes", format!("{} {noun}, +{added} -{removed} lines", files.len()));
    let listed: Vec<String> = files
        .iter()
        .map(|FileChange { line, path, added, removed, .. }| {
            format!("{line}: {} +{added} -{removed}", truncated_line(path, MAX_PATH_CHARS))
        })
        .collect();
    description.add_list("files", &listed, description.remaining());
}
