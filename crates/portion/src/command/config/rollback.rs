//! `portion config history` and `rollback`: earlier versions of a file, and how to restore one.

use std::fmt::Write as _;
use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use portion_config::history::{History, HistoryError, Version};
use portion_config::live::now_micros;
use portion_config::{Config, Sources, diff, find};
use portion_core::event::ConfigChange;
use serde_json::{Value, json};

use super::sources::{changes_json, format_changes, print, print_json, require_file, sources};
use crate::cli::terminal::{folded, print_stdout, reported};
use crate::command::CommandResult;

/// A version with the changes that it made, where they are known.
struct ListedVersion<'a> {
    version: &'a Version,
    changes: Option<Vec<ConfigChange>>,
}

pub(super) fn list(named: Option<&Path>, as_json: bool) -> CommandResult {
    let file = require_file(named)?;
    let history = open_history(&file)?;
    let versions = history.list()?;
    if versions.is_empty() && !as_json {
        crate::cli::terminal::print_stderr!(
            "portion: no version of {} has been in force yet",
            file.display()
        );
        return Ok(ExitCode::SUCCESS);
    }
    // A version that can no longer be read has no changes that can be listed.
    let load = |number| {
        let text = history.text(number).ok()?;
        let sources = Sources { file: Some((file.clone(), text)), ..sources(None, None).unwrap_or_default() };
        Config::load(&sources, number).ok().map(|(config, _)| config)
    };
    let listed = versions.iter().enumerate().rev().map(|(index, version)| {
        let earlier = index.checked_sub(1).map(|earlier| versions[earlier].number);
        let both = earlier.and_then(load).zip(load(version.number));
        ListedVersion { version, changes: both.map(|(before, after)| diff(&before, &after)) }
    });
    if as_json {
        return print_json(&listed.map(|listed| listed.to_json()).collect());
    }
    print(&listed.map(|listed| listed.to_text()).collect::<String>())
}

/// Restores a version, after what it replaces is a version as well.
pub(super) fn run(named: Option<&Path>, version: Option<u64>, as_json: bool) -> CommandResult {
    let file = require_file(named)?;
    let mut history = open_history(&file)?;
    let present = read_present(&file)?;
    let others = sources(None, None).unwrap_or_default();
    let with_text = |text| Sources { file: Some((file.clone(), text)), ..others.clone() };
    let number = match version {
        Some(number) => number,
        None => choose_version(&history, present.as_deref().unwrap_or_default(), |text| {
            Config::load(&with_text(text), 0).is_ok()
        })?
        .ok_or_else(|| format!("{} has no earlier version", file.display()))?,
    };
    // A version that is no longer valid is not restored.
    let (next, _) = Config::load(&with_text(history.text(number)?), number)?;
    let staged = history.stage(&file, number)?;
    let kept = match &present {
        Some(text) => history.keep(&file, text, now_micros())?,
        None => None,
    };
    staged.apply()?;
    let name = file.display().to_string();
    let before = Config::load(&with_text(present.unwrap_or_default()), 0);
    let changes = before.ok().map(|(before, _)| diff(&before, &next));
    let done = format!("{name} is restored to version {number}");
    let text = if as_json {
        let changes = changes.as_deref().map(changes_json);
        let report = json!({ "file": name, "version": number, "kept": kept, "changes": changes });
        format!("{report:#}\n")
    } else {
        let changes = changes.as_deref().map(format_changes).unwrap_or_default();
        let kept =
            kept.map_or_else(String::new, |kept| format!("what it contained is kept as version {kept}\n"));
        format!("{done}\n{kept}{changes}")
    };
    reported(print_stdout(&text), Some(&done), ExitCode::SUCCESS)
}

/// Returns the content that is to be replaced; `None` if there is no file.
fn read_present(file: &Path) -> Result<Option<String>, String> {
    match find::read_file(file) {
        Ok(text) => Ok(Some(text)),
        Err(unreadable) if unreadable.source.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(find::UnreadableFile { path, source }) => Err(format!(
            "cannot keep the content of {}: {source}; move the file away, then restore a version again",
            path.display()
        )),
    }
}

/// Returns the newest version with another text that is valid; if none is, the newest, whose problems can be listed.
fn choose_version(
    history: &History,
    present: &str,
    is_valid: impl Fn(String) -> bool,
) -> Result<Option<u64>, HistoryError> {
    let is_restorable =
        |version: &&Version| history.text(version.number).is_ok_and(|text| text != present && is_valid(text));
    if let Some(version) = history.list()?.iter().rev().find(is_restorable) {
        return Ok(Some(version.number));
    }
    Ok(history.previous(present)?.map(|version| version.number))
}

impl ListedVersion<'_> {
    fn to_text(&self) -> String {
        let Version { number, sha256, bytes, .. } = self.version;
        let hash = &sha256[..sha256.len().min(12)];
        let mut out = folded(&format!("{number:>5}  {}  {bytes:>7} bytes  {hash}", self.time()));
        for line in self.changes.as_deref().map(format_changes).unwrap_or_default().lines() {
            let _ = writeln!(out, "       {line}");
        }
        out
    }

    fn to_json(&self) -> Value {
        let Version { number, sha256, bytes, .. } = self.version;
        let changes = self.changes.as_deref().map(changes_json);
        json!({ "version": number, "at": self.time(), "bytes": bytes, "sha256": sha256, "changes": changes })
    }

    fn time(&self) -> String {
        let at = SystemTime::UNIX_EPOCH + Duration::from_micros(self.version.at);
        humantime::format_rfc3339_seconds(at).to_string()
    }
}

fn open_history(file: &Path) -> Result<History, Box<dyn std::error::Error>> {
    let folder = find::history_dir(file).ok_or("this user has no directory for configuration versions")?;
    Ok(History::open(&folder)?)
}
