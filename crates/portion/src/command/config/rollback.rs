//! `portion config history` and `rollback`: earlier versions of a file, and how to restore one.

use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

use portion_config::history::{History, Version};
use portion_config::{Config, Sources, diff, find, user_dirs};

use super::changes::format_changes;
use super::sources::{print, require_file, sources};
use crate::command::CommandResult;

pub(super) fn list(named: Option<&Path>) -> CommandResult {
    let file = require_file(named)?;
    let history = open_history(&file)?;
    let versions = history.list()?;
    if versions.is_empty() {
        return Err(format!("no version of {} has been in force yet", file.display()).into());
    }
    // A version that can no longer be read has no changes that can be listed.
    let load = |number| {
        let text = history.text(number).ok()?;
        let sources = Sources { file: Some((file.clone(), text)), ..sources(None).unwrap_or_default() };
        Config::load(&sources, number).ok().map(|(config, _)| config)
    };
    let mut out = String::new();
    for (index, Version { number, at, sha256, bytes, .. }) in versions.iter().enumerate().rev() {
        let at = humantime::format_rfc3339_seconds(SystemTime::UNIX_EPOCH + Duration::from_micros(*at));
        let _ = writeln!(out, "{number:>5}  {at}  {bytes:>7} bytes  {}", &sha256[..sha256.len().min(12)]);
        let earlier = index.checked_sub(1).map(|earlier| versions[earlier].number);
        if let Some((before, after)) = earlier.and_then(load).zip(load(*number)) {
            let changes = format_changes(&diff(&before, &after));
            for line in changes.lines() {
                let _ = writeln!(out, "       {line}");
            }
        }
    }
    print(&out)
}

pub(super) fn run(named: Option<&Path>, version: Option<u64>) -> CommandResult {
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
    let mut out = format!("{} is restored to version {number}\n", file.display());
    let before = Sources { file: Some((file, present)), ..sources };
    if let Ok((before, _)) = Config::load(&before, 0) {
        out.push_str(&format_changes(&diff(&before, &next)));
    }
    print(&out)
}

fn open_history(file: &Path) -> Result<History, Box<dyn std::error::Error>> {
    let folder =
        user_dirs::history_dir(file).ok_or("this user has no directory for configuration versions")?;
    Ok(History::open(&folder)?)
}
