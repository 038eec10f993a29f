//! `portion install` and `portion uninstall`: edit the configuration files of MCP clients.

mod report;
mod selection;

use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use portion_config::find;
use portion_config::key::{Key, ValueKind};
use portion_install::Target;
use portion_install::client::Client;
use portion_install::file::State;
use portion_install::invocation::{WrapOption, is_portion};
use portion_install::plan::{Action, Plan};

use self::report::Report;
use self::selection::{check_servers, files_to_edit};
use super::CommandResult;
use crate::cli::failure::UsageError;
use crate::cli::terminal::reported;

const INSTALL_HELP: &str = "\
Examples:
  portion install --dry-run
  portion install --client cursor --client claude-code
  portion install git --file .mcp.json --yes
  portion install rentals --profile hostaway
  portion install --project --lean

Each server on stdio is started as `portion wrap --server NAME -- COMMAND`. Everything else in a file stays as it \
is. Nothing is written if a file cannot be read, parsed or written. Clients read their files at start: restart them.

A server whose name or command mentions the API of a profile is offered that profile. portion doctor and portion check \
also know it by its tools.

With --http, Portion connects to the URL, and the client does not sign in to the server any more. Portion does, \
in the browser: portion login URL.

Exit codes: 0 done, or nothing to do; 1 nothing was written, because of an error or your answer; 2 wrong usage, or \
no terminal to confirm and no --yes.";

const UNINSTALL_HELP: &str = "\
Examples:
  portion uninstall --dry-run
  portion uninstall git --client cursor

A file that did not change since `portion install` gets its old bytes back. In a file that changed, the entries \
that `portion install` wrote are turned back, and everything else is kept.

Exit codes: 0 done, or nothing to do; 1 nothing was written, because of an error or your answer; 2 wrong usage, or \
no terminal to confirm and no --yes.";

/// Options of both commands.
#[derive(Debug, Args)]
pub(crate) struct EditOptions {
    /// Names of servers (default: all)
    #[arg(value_name = "SERVER")]
    servers: Vec<String>,
    /// Client to edit: claude-desktop, claude-code, cursor, vscode, codex, gemini-cli, windsurf, zed, copilot-cli or
    /// opencode; may be repeated (default: all that are found)
    #[arg(long = "client", value_name = "NAME", value_parser = client_parser(), hide_possible_values = true)]
    clients: Vec<Client>,
    /// Edit the files of the project in this directory, such as .mcp.json, instead of those of the user
    #[arg(long, conflicts_with = "file")]
    project: bool,
    /// File to edit, instead of those of the clients
    #[arg(long, value_name = "PATH")]
    file: Option<PathBuf>,
    /// Show the changes and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Write without confirmation
    #[arg(long, short)]
    yes: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// Options of `portion install`.
#[derive(Debug, Args)]
#[command(after_help = INSTALL_HELP)]
pub(crate) struct InstallOptions {
    #[command(flatten)]
    edit: EditOptions,
    /// Wrap servers with a URL, too
    #[arg(long)]
    http: bool,
    /// Profile of the servers, such as hostaway or education-data; also for those that Portion is already in front of
    #[arg(long, value_name = "NAME", value_parser = names_of("profile"), hide_possible_values = true)]
    profile: Option<String>,
    /// Smaller replies, as with portion wrap --lean
    #[arg(long, conflicts_with = "profile")]
    lean: bool,
    /// What the replies of the servers hide, as with portion wrap --redact; alone: secrets
    #[arg(long, value_name = "NAMES", num_args = 0..=1, default_missing_value = "secrets", value_parser = redact_names)]
    redact: Option<String>,
    /// Client whose limits replies stay below, as with portion wrap --preset
    #[arg(long, value_name = "NAME", value_parser = names_of("preset"), hide_possible_values = true)]
    preset: Option<String>,
}

impl InstallOptions {
    /// Returns the options of `portion wrap` in the entries.
    fn wrap_options(&self) -> Vec<WrapOption> {
        let given = [("--profile", &self.profile), ("--redact", &self.redact), ("--preset", &self.preset)];
        let lean = self.lean.then_some(WrapOption { name: "--lean", value: None });
        let valued = given
            .into_iter()
            .filter_map(|(name, value)| Some(WrapOption { name, value: Some(value.clone()?) }));
        lean.into_iter().chain(valued).collect()
    }
}

/// Options of `portion uninstall`.
#[derive(Debug, Args)]
#[command(after_help = UNINSTALL_HELP)]
pub(crate) struct UninstallOptions {
    #[command(flatten)]
    edit: EditOptions,
}

/// Puts Portion in front of servers.
pub(crate) fn install(options: &InstallOptions) -> CommandResult {
    let program = own_path()?;
    let wrap_options = options.wrap_options();
    let target = Target { program: &program, include_http: options.http, options: &wrap_options };
    edit(&options.edit, Action::Install(target))
}

/// Takes Portion out.
pub(crate) fn uninstall(options: &UninstallOptions) -> CommandResult {
    edit(&options.edit, Action::Uninstall)
}

fn edit(options: &EditOptions, action: Action<'_>) -> CommandResult {
    let state = State(find::install_dir().ok_or("the home directory is unknown: set HOME")?);
    let files = files_to_edit(options, action, &state)?;
    let is_selected =
        |name: &str| options.servers.is_empty() || options.servers.iter().any(|server| server == name);
    let plan = Plan::new(files, action, &state, &is_selected)?;
    check_servers(&plan, &options.servers)?;
    let report = Report { plan: &plan, action };
    if options.dry_run || !plan.has_edits() {
        return reported(report.print(options.json, true, &[]), None, ExitCode::SUCCESS);
    }
    if !options.json {
        let previewed = report.print_preview();
        // A stdout that cannot be written does not stop what needs no answer.
        if !options.yes {
            previewed.map_err(|error| format!("nothing was written: stdout cannot be written: {error}"))?;
        }
    }
    match confirm(options.yes, plan.files.iter().filter(|file| file.is_edited()).count())? {
        Answer::Yes => {}
        Answer::No => return Err("nothing was written".into()),
        Answer::NoTerminal => {
            let message = "nothing was written: add --yes to write, or --dry-run to see the changes only";
            return Err(UsageError::from(message).into());
        }
    }
    let backups = plan.apply(&state)?;
    let printed = report.print(options.json, false, &backups);
    reported(printed, Some("the files were changed"), ExitCode::SUCCESS)
}

/// Returns the parser of the names that a key has.
fn names_of(key: &str) -> PossibleValuesParser {
    let names = match Key::by_name(key).map(|key| &key.kind) {
        Some(ValueKind::Choice(names)) => *names,
        _ => &[],
    };
    PossibleValuesParser::new(names)
}

/// Checks a value of `redact`.
fn redact_names(text: &str) -> Result<String, String> {
    Key::by_name("redact").map_or(Ok(()), |key| key.parse(text).map(drop)).map(|()| text.to_owned())
}

/// Returns the parser of a client's name, which also gives the names to completion scripts.
fn client_parser() -> impl TypedValueParser<Value = Client> {
    let names = Client::ALL.iter().map(|client| client.name());
    PossibleValuesParser::new(names).try_map(|name| Client::from_name(&name).ok_or("no such client"))
}

/// The answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    /// Write.
    Yes,
    /// Do not write.
    No,
    /// Nobody can be asked.
    NoTerminal,
}

/// Asks whether to write, unless the user has said so already.
fn confirm(yes: bool, files: usize) -> io::Result<Answer> {
    if yes {
        return Ok(Answer::Yes);
    }
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Ok(Answer::NoTerminal);
    }
    let files = if files == 1 { "this file".to_owned() } else { format!("these {files} files") };
    write!(io::stderr(), "Write {files}? [y/N] ")?;
    let mut line = String::new();
    io::stdin().read_line(&mut line)?;
    let agreed = matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes");
    Ok(if agreed { Answer::Yes } else { Answer::No })
}

/// Returns the absolute path of this program. If a directory of `PATH` leads to it, that path is used: package managers
/// keep it over an update, while the file itself moves.
fn own_path() -> Result<String, String> {
    let file = std::env::current_exe().map_err(|error| format!("the path of portion is unknown: {error}"))?;
    if let Some(advice) = cache_advice(&file) {
        return Err(format!("{} is in a cache that is emptied from time to time: {advice}", file.display()));
    }
    let path = on_search_path(&file).unwrap_or(file);
    let name = path.display().to_string();
    let path = path.into_os_string().into_string().map_err(|_| {
        format!("{name} is not Unicode, so that no configuration can contain it: move portion to another directory")
    })?;
    if is_portion(&path) {
        Ok(path)
    } else {
        Err(format!("uninstall would not recognise {name}: name the program portion"))
    }
}

fn on_search_path(file: &Path) -> Option<PathBuf> {
    let own = file.canonicalize().ok()?;
    let name = file.file_name()?;
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|candidate| candidate.canonicalize().is_ok_and(|found| found == own))
}

/// Returns how to install the program to stay, if it runs from the cache of `npx` or `uvx`.
fn cache_advice(file: &Path) -> Option<&'static str> {
    let names: Vec<_> = file.iter().filter_map(|name| name.to_str()).collect();
    let has = |name: &str| names.contains(&name);
    if has("_npx") {
        Some("npm install -g portion-mcp, then portion install")
    } else if has("uv") && names.iter().any(|name| name.starts_with("archive-v")) {
        Some("uv tool install portion-mcp, then portion install")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caches_are_recognised() {
        let check = |path: &str, expect: Option<&str>| {
            let advice = cache_advice(Path::new(path)).and_then(|advice| advice.split(' ').next());
            assert_eq!(advice, expect, "{path}");
        };
        check("/home/me/.cargo/bin/portion", None);
        check("/usr/lib/node_modules/portion-mcp/node_modules/portion-mcp-linux-x64/bin/portion", None);
        check("/home/me/.local/share/uv/tools/portion-mcp/bin/portion", None);
        check("/home/me/.npm/_npx/0a1b/node_modules/portion-mcp-linux-x64/bin/portion", Some("npm"));
        check("/home/me/.cache/uv/archive-v0/x1y2/bin/portion", Some("uv"));
    }
}
