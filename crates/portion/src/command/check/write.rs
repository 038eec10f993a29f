//! Writes the proposals to a configuration file.

use std::error::Error;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use portion_client::check::write::{Written, add_to_yaml};
use portion_config::reference::ProcessEnvironment;
use portion_config::{Config, Errors, Sources, find};

use super::session::Report;
use super::show::comment;
use crate::cli::failure::UsageError;

/// Content of a new file if there are no proposals. A file with comments only would be reported as empty.
const NOTHING_PROPOSED: &str =
    "# Portion proposed no settings: the defaults fit these results.\nprofile: default\n";

/// A file to which proposals were added.
#[derive(Debug)]
pub(super) struct WrittenFile {
    pub(super) file: PathBuf,
    pub(super) is_new: bool,
    pub(super) written: Written,
}

/// Checks that proposals can be added to a file, before a server is called for them.
///
/// # Errors
/// Returns an error if the file is no YAML, is no valid configuration, or is written in a way that cannot be changed.
pub(super) fn check_target(file: &Path) -> Result<(), Box<dyn Error>> {
    if file.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json")) {
        let message = format!("{}: --write adds YAML; name a file that ends with .yaml", file.display());
        return Err(UsageError::from(message).into());
    }
    if file.exists() {
        let text = find::read_file(file)?;
        check(file, &text)?;
        add_to_yaml(&text, &[]).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    Ok(())
}

/// Adds the proposals to a file, which is made even if there are none, unless no tool was checked. The file is replaced
/// only if the new text is a valid configuration.
///
/// # Errors
/// Returns an error if the file cannot be read, changed or written.
pub(super) fn add(file: &Path, report: &Report) -> Result<WrittenFile, Box<dyn Error>> {
    // A link stays a link.
    let file = fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let named = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
    let exists = file.exists();
    let before = if exists { find::read_file(&file)? } else { String::new() };
    let findings = report.checked.iter().filter_map(|checked| checked.outcome.as_ref().ok());
    let proposals: Vec<_> = findings.map(|finding| (finding.proposal.clone(), comment(finding))).collect();
    let mut written = add_to_yaml(&before, &proposals).map_err(|error| named(&error))?;
    if !exists && written.added.is_empty() && !proposals.is_empty() {
        NOTHING_PROPOSED.clone_into(&mut written.text);
    }
    if written.text != before {
        check(&file, &written.text)?;
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let draft = file.with_file_name(format!(".{name}.{}", std::process::id()));
        let replaced = replace(&file, &draft, &written.text);
        if replaced.is_err() {
            // The draft may not exist; the error of the attempt is the one to report.
            let _ = fs::remove_file(&draft);
        }
        replaced.map_err(|error| named(&error))?;
    }
    let is_new = !exists && !written.text.is_empty();
    Ok(WrittenFile { file, is_new, written })
}

/// Checks a text as the content of a configuration file, without variables.
fn check(file: &Path, text: &str) -> Result<(), Errors> {
    let sources = Sources {
        file: Some((file.to_owned(), text.to_owned())),
        secret_resolver: Some(Arc::new(ProcessEnvironment)),
        ..Sources::default()
    };
    Config::load(&sources, 0).map(drop)
}

/// Replaces a file by a draft with this text, with the permissions of the file.
fn replace(file: &Path, draft: &Path, text: &str) -> io::Result<()> {
    let permissions = fs::metadata(file).map(|metadata| metadata.permissions()).ok();
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    // Nobody else may read the text before the draft has the permissions of the file.
    #[cfg(unix)]
    if permissions.is_some() {
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    options.open(draft)?.write_all(text.as_bytes())?;
    if let Some(permissions) = permissions {
        fs::set_permissions(draft, permissions)?;
    }
    fs::rename(draft, file)
}
