//! The files and servers that a command line selects.

use std::error::Error;
use std::path::Path;

use portion_install::client::{Client, ConfigFile, Places};
use portion_install::file::{State, is_present};
use portion_install::plan::{Action, Plan};
use portion_text::display::printable_name;
use portion_text::names::closest_name;

use super::EditOptions;
use crate::cli::failure::UsageError;

/// Returns the files to edit.
///
/// # Errors
/// Returns an error if there is none, with the places that were searched.
pub(super) fn files_to_edit(
    options: &EditOptions,
    action: Action<'_>,
    state: &State,
) -> Result<Vec<ConfigFile>, Box<dyn Error>> {
    if let Some(path) = &options.file {
        return Ok(vec![named_file(path, &options.clients)?]);
    }
    let places =
        Places::from_environment().ok_or("the home directory is unknown: set HOME, or use --file")?;
    let clients = if options.clients.is_empty() { &Client::ALL[..] } else { &options.clients };
    let mut files: Vec<ConfigFile> = Vec::new();
    for client in clients {
        let is_asked_for = |file: &ConfigFile| {
            action == Action::Uninstall && !options.project || file.is_project == options.project
        };
        let mut found = client.files(&places);
        found.retain(is_asked_for);
        if found.is_empty() && !options.clients.is_empty() {
            let searched = client.candidates(&places).into_iter().filter(is_asked_for);
            let searched: Vec<String> = searched.map(|file| file.path.display().to_string()).collect();
            return Err(
                format!("{client} has no configuration file here; searched {}", searched.join(", ")).into()
            );
        }
        for file in found {
            // A client can be named twice, and two paths can lead to one file.
            let target = file.path.canonicalize();
            let is_known = target.is_ok_and(|target| files.iter().any(|other| leads_to(other, &target)));
            if !is_known {
                files.push(file);
            }
        }
    }
    if action == Action::Uninstall && !options.project {
        add_recorded(&mut files, options, state);
    }
    if files.is_empty() {
        let message = if options.project {
            "this directory has no configuration file of a known client: name one with --file"
        } else {
            "no configuration file of a known client was found: name one with --file, or those of a project with \
             --project"
        };
        return Err(message.into());
    }
    Ok(files)
}

fn leads_to(file: &ConfigFile, target: &Path) -> bool {
    file.path.canonicalize().is_ok_and(|path| path == target)
}

fn named_file(path: &Path, clients: &[Client]) -> Result<ConfigFile, Box<dyn Error>> {
    let client = match clients {
        [] => None,
        [client] => Some(*client),
        _ => {
            let message = "--file needs at most one --client, which says how the file is written";
            return Err(UsageError::from(message).into());
        }
    };
    let path = std::path::absolute(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(ConfigFile::new(client, path))
}

/// Adds the files that were edited earlier, wherever they are.
fn add_recorded(files: &mut Vec<ConfigFile>, options: &EditOptions, state: &State) {
    for recorded in state.records().iter().map(ConfigFile::from) {
        let is_selected =
            options.clients.is_empty() || recorded.client.is_some_and(|one| options.clients.contains(&one));
        let is_known = files.iter().any(|file| leads_to(file, &recorded.path));
        if is_selected && !is_known && is_present(&recorded.path) {
            files.push(recorded);
        }
    }
}

/// Checks that each named server is in a file.
///
/// # Errors
/// Returns the names that are in none.
pub(super) fn check_servers(plan: &Plan, names: &[String]) -> Result<(), String> {
    let is_known =
        |name: &String| plan.files.iter().any(|file| file.changes.iter().any(|one| one.name == *name));
    let unknown: Vec<&str> = names.iter().filter(|name| !is_known(name)).map(String::as_str).collect();
    if unknown.is_empty() {
        return Ok(());
    }
    let files: Vec<String> = plan.files.iter().map(|file| file.file.path.display().to_string()).collect();
    let known = || plan.files.iter().flat_map(|file| file.servers.iter().map(String::as_str));
    let hint = unknown.iter().find_map(|name| closest_name(name, known()));
    let hint = hint.map(|name| format!("; did you mean {}?", printable_name(&name))).unwrap_or_default();
    Err(format!("no server {} in {}{hint}", unknown.join(", "), files.join(", ")))
}
