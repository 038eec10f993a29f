//! `portion config`: checks, shows, compares and restores configurations.

mod check;
mod diff;
mod init;
mod rollback;
mod sources;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use portion_config::{Config, schema, show, show_json};
use portion_policy::endpoint::EndpointTarget;

use crate::cli::options::FILE_HELP;
use crate::command::CommandResult;
use sources::{print, print_json, sources};

const AFTER_HELP: &str = "\
Examples:
  portion config init
  portion config check
  portion config show --origin --endpoint list_bookings
  portion config show --json
  portion config schema > portion.schema.json
  portion config diff portion.new.yaml --against telemetry
  portion config rollback";

/// Options of `portion config`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Options {
    #[arg(long, value_name = "FILE", global = true, help = FILE_HELP)]
    config: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: ConfigCommand,
}

/// Subcommands.
#[derive(Debug, Subcommand)]
enum ConfigCommand {
    /// Write a file with all keys as comments, and its JSON Schema for editors
    Init {
        /// File to write, .yaml or .json
        #[arg(default_value = "portion.yaml")]
        file: PathBuf,
    },
    /// List all errors of the configuration, with their places and remedies
    Check(check::Options),
    /// Print the configuration in force
    Show(ShowOptions),
    /// Print the JSON Schema of the configuration, for editors
    Schema,
    /// Show what another file would change
    Diff(diff::Options),
    /// List the versions of the file that were in force or replaced and what each changed, newest first
    History,
    /// Restore a version of the file; running processes apply it at once
    Rollback {
        /// Version to restore (default: the newest valid one that differs)
        version: Option<u64>,
    },
}

/// Runs the subcommand.
pub(crate) fn run(options: &Options) -> CommandResult {
    let (named, as_json) = (options.config.as_deref(), options.json);
    match &options.command {
        ConfigCommand::Init { file } => init::run(file, named, as_json),
        ConfigCommand::Check(check) => check::run(named, check, as_json),
        ConfigCommand::Show(options) => show_effective(named, options, as_json),
        ConfigCommand::Schema => print_json(&schema()),
        ConfigCommand::Diff(diff) => diff::run(named, diff, as_json),
        ConfigCommand::History => rollback::list(named, as_json),
        ConfigCommand::Rollback { version } => rollback::run(named, *version, as_json),
    }
}

/// Options of `portion config show`.
#[derive(Debug, Args)]
struct ShowOptions {
    /// Show the origin of each value
    #[arg(long)]
    origin: bool,
    /// Show the configuration with this profile, such as hostaway or education-data
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// Show the settings of an endpoint: the name of a tool or prompt, or the URI of a resource
    #[arg(long, value_name = "NAME")]
    endpoint: Option<String>,
    /// Server of the endpoint, if there are several
    #[arg(long, value_name = "NAME", requires = "endpoint")]
    upstream: Option<String>,
}

fn show_effective(named: Option<&Path>, options: &ShowOptions, as_json: bool) -> CommandResult {
    let sources = sources(named, options.profile.as_deref())?;
    let (config, _) = Config::load(&sources, 0)?;
    let upstream = options.upstream.as_deref();
    let target = options
        .endpoint
        .as_deref()
        .map(|name| EndpointTarget { upstream, ..EndpointTarget::from_name(name) });
    if as_json {
        return print_json(&show_json(&config, options.origin, target));
    }
    print(&show(&config, options.origin, target))
}
