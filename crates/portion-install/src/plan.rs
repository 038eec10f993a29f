//! The edits of several files, and their application as a whole.

use std::path::PathBuf;

use thiserror::Error;

use crate::client::{Client, ConfigFile};
use crate::document::{ParseError, quote, servers};
use crate::edit::{self, Change, Edited, Outcome, set_words_after};
use crate::file::{FileError, Memory, Replacement, Snapshot, State, write_all};
use crate::format::Format;
use crate::invocation::Target;
use crate::{install, uninstall};

/// Length from which a value is hidden wherever it stands, in bytes. Shorter ones are hidden behind their names.
const MIN_HIDDEN_BYTES: usize = 6;
/// Text in place of a value in a diff.
const HIDDEN: &str = "…";
/// Portion in files of a project, which others share.
const PROJECT_PROGRAM: &str = "portion";

/// Action of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action<'a> {
    /// Put Portion in front of servers.
    Install(Target<'a>),
    /// Take Portion out.
    Uninstall,
}

/// The edits of several files.
#[derive(Debug)]
pub struct Plan {
    /// One per file, in the order given.
    pub files: Vec<FilePlan>,
    is_install: bool,
}

/// The edit of a file.
#[derive(Debug)]
pub struct FilePlan {
    /// The file.
    pub file: ConfigFile,
    /// Changes of the selected servers.
    pub changes: Vec<Change>,
    /// Names of all its servers.
    pub servers: Vec<String>,
    old: Snapshot,
    new: Vec<u8>,
    /// Content without Portion.
    original: Vec<u8>,
    /// Servers behind Portion afterwards.
    wrapped: Vec<String>,
}

/// Reason that nothing is written.
#[derive(Debug, Error)]
pub enum PlanError {
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// A file is not valid.
    #[error(
        "{path}:{line}:{column}: {message}: fix the file, or leave it out with --client or --file",
        path = path.display(), line = error.line, column = error.column, message = error.message
    )]
    Invalid {
        /// The file.
        path: PathBuf,
        /// Place and reason.
        error: ParseError,
    },
}

impl Plan {
    /// Reads the files and plans their edits. Nothing is written.
    ///
    /// # Errors
    /// Returns the first file that cannot be read or is not valid.
    pub fn new(
        files: Vec<ConfigFile>,
        action: Action<'_>,
        state: &State,
        is_selected: &dyn Fn(&str) -> bool,
    ) -> Result<Self, PlanError> {
        let plan = |file| FilePlan::new(file, action, state, is_selected);
        let files = files.into_iter().map(plan).collect::<Result<_, _>>()?;
        Ok(Self { files, is_install: matches!(action, Action::Install(_)) })
    }

    /// Returns true if a file is to be written.
    pub fn has_edits(&self) -> bool {
        self.files.iter().any(FilePlan::is_edited)
    }

    /// Writes all files, with a backup of each, and returns the backups by file.
    ///
    /// # Errors
    /// Returns the first problem. Then no file has changed.
    pub fn apply(&self, state: &State) -> Result<Vec<(PathBuf, PathBuf)>, PlanError> {
        let edited: Vec<&FilePlan> = self.files.iter().filter(|file| file.is_edited()).collect();
        let mut backups = Vec::new();
        let replacements: Vec<Replacement<'_>> =
            edited.iter().map(|plan| Replacement { old: &plan.old, bytes: &plan.new }).collect();
        let memories: Vec<_> = edited.iter().map(|plan| state.memory(&plan.old.target)).collect();
        let written = write_all(&replacements, || {
            for plan in &edited {
                let (target, path) = (&plan.old.target, &plan.file.path);
                backups.push((path.clone(), state.back_up(target, &plan.old.bytes)?));
                if self.is_install {
                    plan.remember(state)?;
                }
            }
            Ok(())
        });
        if let Err(error) = written {
            // Nothing was installed, so nothing must be said to have been.
            memories.into_iter().for_each(Memory::restore);
            return Err(error.into());
        }
        if !self.is_install {
            for plan in &edited {
                if plan.wrapped.is_empty() {
                    state.forget(&plan.old.target);
                } else {
                    plan.remember(state)?;
                }
            }
        }
        Ok(backups)
    }
}

impl FilePlan {
    fn new(
        file: ConfigFile,
        action: Action<'_>,
        state: &State,
        is_selected: &dyn Fn(&str) -> bool,
    ) -> Result<Self, PlanError> {
        let old = Snapshot::read(&file.path)?;
        let text = old.text()?;
        // An empty file has no servers. Some clients create one.
        if text.trim_start_matches('\u{feff}').trim().is_empty() {
            let (new, original) = (old.bytes.clone(), old.bytes.clone());
            let (changes, servers, wrapped) = (Vec::new(), Vec::new(), Vec::new());
            return Ok(Self { file, changes, servers, old, new, original, wrapped });
        }
        let invalid = |error| PlanError::Invalid { path: file.path.clone(), error };
        let Edited { text: mut edited, mut changes } = match action {
            // Others have Portion elsewhere.
            Action::Install(target) if file.is_project => {
                install(text, file.format, &Target { program: PROJECT_PROGRAM, ..target }, is_selected)
            }
            Action::Install(target) => install(text, file.format, &target, is_selected),
            Action::Uninstall => uninstall(text, file.format, is_selected),
        }
        .map_err(invalid)?;
        let kept = state.original(&old.target, &old.bytes);
        let known = state.servers(&old.target);
        // Another Portion that no earlier `install` put in front of a server is given back.
        let is_foreign = |name: &str| {
            let is_updated = |change: &Change| change.name == name && change.outcome == Outcome::Updated;
            changes.iter().any(is_updated) && !known.iter().any(|known| known == name)
        };
        let without = uninstall(text, file.format, &|name| !is_foreign(name)).map_err(invalid)?;
        let after = uninstall(&edited, file.format, &|_| true).map_err(invalid)?;
        let wrapped: Vec<String> = after
            .changes
            .iter()
            .filter(|change| change.outcome == Outcome::Restored)
            .map(|change| change.name.clone())
            .collect();
        let servers = after.changes.into_iter().map(|change| change.name).collect();
        let mut original = kept.clone().unwrap_or_else(|| without.text.into_bytes());
        if action == Action::Uninstall
            && changes.iter().any(|change| change.outcome.is_edit())
            && let Some(kept) = kept.and_then(|bytes| String::from_utf8(bytes).ok())
        {
            if wrapped.is_empty() {
                set_words_after(&mut changes, &kept, file.format);
                edited = kept;
            } else {
                // The selected servers stay without Portion when the others are restored.
                original = uninstall(&kept, file.format, is_selected).map_err(invalid)?.text.into_bytes();
            }
        }
        Ok(Self { new: edited.into_bytes(), file, changes, servers, old, original, wrapped })
    }

    /// Stores what `uninstall` restores.
    fn remember(&self, state: &State) -> Result<(), FileError> {
        let client = self.file.client.map(Client::name);
        state.remember(&self.old.target, client, &self.original, &self.new, self.wrapped.clone())
    }

    /// Returns true if the file is to be written.
    pub fn is_edited(&self) -> bool {
        self.new != self.old.bytes
    }

    /// Returns the edit as a unified diff, without the values of variables and headers. `redact` hides other secrets of a file.
    pub fn diff(&self, redact: impl Fn(String) -> String) -> String {
        let name = self.file.path.display().to_string();
        let masked = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes);
            redact(without_values(&text, self.file.format))
        };
        edit::unified_diff(&name, &masked(&self.old.bytes), &masked(&self.new))
    }
}

/// Returns a text in which the values of variables and headers are hidden. References to other values are shown.
fn without_values(text: &str, format: Format) -> String {
    let entries = servers(text, format).unwrap_or_default();
    let values = entries.iter().flat_map(|entry| entry.env.iter().chain(&entry.headers));
    let hidden = values.filter(|(_, value)| !value.is_empty() && !value.contains("${"));
    hidden.fold(text.to_owned(), |text, (name, value)| {
        let quoted = quote(value, format.syntax);
        let mut parts = text.split(quoted.as_str());
        let mut shown = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let key = shown.trim_end().strip_suffix([':', '=']);
            let is_value =
                key.is_some_and(|key| key.trim_end().trim_end_matches(['"', '\'']).ends_with(name));
            let is_hidden = is_value || value.len() >= MIN_HIDDEN_BYTES;
            shown.push_str(&if is_hidden { quote(HIDDEN, format.syntax) } else { quoted.clone() });
            shown.push_str(part);
        }
        shown
    })
}
