//! The output of `install` and `uninstall`.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anstyle::{AnsiColor, Style};
use portion_config::profile::Profile;
use portion_core::redact::RedactionRules;
use portion_install::plan::{Action, FilePlan, Plan};
use portion_install::{Change, Outcome};
use portion_text::display::{counted, printable_lines, printable_name};
use serde_json::{Value, json};

use crate::cli::terminal::{folded, print_stdout};
use crate::command::doctor::reference::without_secrets;

const BOLD: Style = Style::new().bold();
const GREEN: Style = AnsiColor::Green.on_default();
const RED: Style = AnsiColor::Red.on_default();

const SHARED: &str = "this file belongs to a project: all who use it need portion on their PATH";
const SIGN_IN: &str = "Portion connects to the URL, and the client does not sign in to the server any more; Portion \
                       does, if the server needs OAuth: portion login URL";
const HEADERS: &str = "the values of the headers become variables of the server";

/// A plan, before or after it was applied.
#[derive(Clone, Copy, Debug)]
pub(super) struct Report<'a> {
    pub(super) plan: &'a Plan,
    pub(super) action: Action<'a>,
}

impl Report<'_> {
    /// Prints the changes of all files as diffs, with their consequences.
    pub(super) fn print_preview(&self) -> io::Result<()> {
        let mut out = anstream::stdout().lock();
        let rules = RedactionRules::default_secrets();
        let redact = |text: String| rules.redact(&text).map_or(text, |(shown, _)| shown);
        for file in self.plan.files.iter().filter(|file| file.is_edited()) {
            for line in printable_lines(&file.diff(redact)).lines() {
                let style = match line.as_bytes().first() {
                    _ if line.starts_with("--- ") || line.starts_with("+++ ") => BOLD,
                    Some(b'+') => GREEN,
                    Some(b'-') => RED,
                    _ => Style::new(),
                };
                writeln!(out, "{style}{line}{style:#}")?;
            }
            for note in self.notes(file) {
                write!(out, "{}", folded(&format!("note: {note}")))?;
            }
            writeln!(out)?;
        }
        out.flush()
    }

    /// Prints the result: of a plan that is not applied with its diffs, else with the backups.
    pub(super) fn print(&self, json: bool, is_plan: bool, backups: &[(PathBuf, PathBuf)]) -> io::Result<()> {
        if json {
            return print_stdout(&format!("{:#}\n", self.to_json(is_plan, backups)));
        }
        if is_plan {
            self.print_preview()?;
        }
        let mut out = anstream::stdout().lock();
        for file in &self.plan.files {
            let client = file.file.client.map(|client| format!("{client}, ")).unwrap_or_default();
            let path = printable_name(&file.file.path.display().to_string());
            writeln!(out, "{BOLD}{client}{path}{BOLD:#}")?;
            for change in &file.changes {
                self.write_change(&mut out, change)?;
            }
            match file.servers.len() {
                0 => writeln!(out, "  no servers")?,
                all if file.changes.is_empty() => {
                    writeln!(out, "  {}, none of them selected", counted(all, "server"))?;
                }
                _ => {}
            }
            if let Some(backup) = backup_of(file, backups) {
                writeln!(out, "  backup: {}", backup.display())?;
            }
        }
        write!(out, "{}", folded(&self.conclusion(is_plan)))?;
        out.flush()
    }

    /// Returns the consequences of an edit that its lines do not show.
    fn notes(&self, file: &FilePlan) -> Vec<&'static str> {
        if !file.is_edited() || self.action == Action::Uninstall {
            return Vec::new();
        }
        let urls = || file.changes.iter().filter(|change| change.outcome.is_edit() && is_url(change));
        let has_headers = urls().any(|change| change.after.iter().any(|word| word == "--header"));
        let notes =
            [(file.file.is_project, SHARED), (urls().next().is_some(), SIGN_IN), (has_headers, HEADERS)];
        notes.into_iter().filter(|(applies, _)| *applies).map(|(_, note)| note).collect()
    }

    fn edits(&self) -> impl Iterator<Item = &Change> {
        self.plan.files.iter().flat_map(|file| &file.changes).filter(|change| change.outcome.is_edit())
    }

    fn conclusion(&self, is_plan: bool) -> String {
        let files = self.plan.files.iter().filter(|file| file.is_edited()).count();
        if files == 0 {
            return "Nothing to do.".into();
        }
        let what = format!("{} in {}", counted(self.edits().count(), "server"), counted(files, "file"));
        match (is_plan, self.action) {
            (true, _) => format!("{what} would change. Nothing was written."),
            (false, Action::Install(_)) => {
                format!("{what} changed. Restart the clients. To undo: portion uninstall")
            }
            (false, Action::Uninstall) => format!("{what} changed. Restart the clients."),
        }
    }

    fn to_json(self, is_plan: bool, backups: &[(PathBuf, PathBuf)]) -> Value {
        let files = self.plan.files.iter().map(|file| {
            let servers: Vec<Value> = file.changes.iter().map(|change| self.change_json(change)).collect();
            json!({
                "client": file.file.client.map(portion_install::client::Client::name),
                "path": file.file.path.display().to_string(),
                "changed": file.is_edited(),
                "backup": backup_of(file, backups).map(|path| path.display().to_string()),
                "notes": self.notes(file),
                "servers": servers,
            })
        });
        let written = !is_plan && self.plan.has_edits();
        json!({"written": written, "files": files.collect::<Vec<_>>()})
    }

    fn write_change(self, out: &mut impl io::Write, change: &Change) -> io::Result<()> {
        let scope = change.scope.as_ref().map(|scope| format!(" ({scope})")).unwrap_or_default();
        let style = if change.outcome.is_edit() { GREEN } else { Style::new() };
        let (status, reason) = self.status(change);
        let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
        let name = printable_name(&format!("{}{scope}", change.name));
        let line = format!("  {name}: {style}{status}{style:#}{reason}");
        write!(out, "{}", folded(&line))?;
        match self.offered_profile(change) {
            Some(profile) => {
                writeln!(out, "    profile {0} is for it: portion install {name} --profile {0}", profile.name)
            }
            None => Ok(()),
        }
    }

    /// Returns the profile for the API that an entry mentions, unless it has one.
    fn offered_profile(self, change: &Change) -> Option<&'static Profile> {
        let is_behind = matches!(change.outcome, Outcome::Wrapped | Outcome::Updated | Outcome::Unchanged);
        let is_open = matches!(self.action, Action::Install(_)) && is_behind;
        let has_profile = change.after.iter().any(|word| word == "--profile");
        let words = change.before.iter().chain([&change.name]).map(String::as_str);
        Profile::for_words(words).filter(|_| is_open && !has_profile)
    }

    /// Returns the name of an outcome, and a reason.
    fn status(self, change: &Change) -> (&'static str, Option<&'static str>) {
        match (change.outcome, self.action) {
            (Outcome::Wrapped, _) => ("wrapped", None),
            (Outcome::Updated, _) if change.before.first() == change.after.first() => {
                ("updated", Some("its options were others"))
            }
            (Outcome::Updated, _) => ("updated", Some("its command of Portion was another one")),
            (Outcome::Restored, _) => ("restored", None),
            (Outcome::Unchanged, Action::Install(_)) => ("unchanged", Some("Portion is in front of it")),
            (Outcome::Unchanged, Action::Uninstall) => ("unchanged", Some("Portion is not in front of it")),
            (Outcome::Skipped(reason), _) => ("skipped", Some(reason)),
        }
    }

    fn change_json(self, change: &Change) -> Value {
        let (status, reason) = self.status(change);
        json!({
            "name": change.name,
            "scope": change.scope,
            "line": change.line,
            "status": status,
            "reason": reason,
            "offeredProfile": self.offered_profile(change).map(|profile| profile.name),
            "before": without_secrets(&change.before),
            "after": without_secrets(&change.after),
        })
    }
}

fn is_url(change: &Change) -> bool {
    change.before.len() == 1 && change.after.iter().any(|word| word == "--url")
}

fn backup_of<'a>(file: &FilePlan, backups: &'a [(PathBuf, PathBuf)]) -> Option<&'a Path> {
    backups.iter().find(|(path, _)| *path == file.file.path).map(|(_, backup)| backup.as_path())
}
