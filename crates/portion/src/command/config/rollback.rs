//! `portion config history` and `rollback`: earlier versions of a file, and how to restore one.

use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

use portion_config::history::{History, Version};
use portion_config::{Config, Sources, diff, find, user_dirs};
use portion_core::event::ConfigChange;
use serde_json::{Value, json};

use super::changes::{changes_json, format_changes};
use super::sources::{print, print_json, require_file, sources};
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
        return Err(format!("no version of {} has been in force yet", file.display()).into());
    }
    // A version that can no longer be read has no changes that can be listed.
    let load = |number| {
        let text = history.text(number).ok()?;
        let sources = Sources { file: Some((file.clone(), text)), ..sources(None).unwrap_or_default() };
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

pub(super) fn run(named: Option<&Path>, version: Option<u64>, as_json: bool) -> CommandResult {
    let file = require_file(named)?;
    let history = open_history(&file)?;
    let present = find::read_file(&file).unwrap_or_default();
    let number = match version {
        Some(number) => number,
        None => match history.previous(&present)? {
            Some(version) => version.number,
            None => return Err(format!("{} has no earlier version", file.display()).into()),
        },
    };
    let text = history.text(number)?;
    // A version that is no longer valid is not restored.
    let sources = Sources { file: Some((file.clone(), text)), ..sources(None).unwrap_or_default() };
    let (next, _) = Config::load(&sources, number)?;
    history.restore(&file, number)?;
    let name = file.display().to_string();
    let before = Sources { file: Some((file, present)), ..sources };
    let changes = Config::load(&before, 0).ok().map(|(before, _)| diff(&before, &next));
    if as_json {
        let changes = changes.as_deref().map(changes_json);
        return print_json(&json!({ "file": name, "version": number, "changes": changes }));
    }
    let changes = changes.as_deref().map(format_changes).unwrap_or_default();
    print(&format!("{name} is restored to version {number}\n{changes}"))
}

impl ListedVersion<'_> {
    fn to_text(&self) -> String {
        let Version { number, sha256, bytes, .. } = self.version;
        let hash = &sha256[..sha256.len().min(12)];
        let mut out = format!("{number:>5}  {}  {bytes:>7} bytes  {hash}\n", self.time());
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
    let folder =
        user_dirs::history_dir(file).ok_or("this user has no directory for configuration versions")?;
    Ok(History::open(&folder)?)
}
