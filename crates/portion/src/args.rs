//! The command line: one variant per command. The options of a command are in its own module. A line asks for JSON by `--json`,
//! or by `--format json`.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write as _};

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgMatches, CommandFactory as _, Error, FromArgMatches as _, Parser, Subcommand};
use portion_config::key::Key;

use crate::cli::failure::Failure;
use crate::command::{
    calibrate, check, completions, config, dashboard, demo, doctor, fetch, http, install, login, man, replay,
    serve, shape, stats, token, top, try_tools, wrap,
};

/// Serves oversized results of MCP servers in portions that fit a token budget, without loss.
#[derive(Debug, Parser)]
#[command(name = "portion", version, max_term_width = 100)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// The command.
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Stdout gets one JSON document, also if the command fails.
    #[arg(skip)]
    pub(crate) is_json: bool,
}

#[cfg(feature = "demo")]
const AFTER_HELP: &str = "\
See a demonstration: portion demo
Put it in front of the servers of your clients: portion install
Run it in front of one server: portion wrap -- COMMAND";
#[cfg(not(feature = "demo"))]
const AFTER_HELP: &str = "\
Put it in front of the servers of your clients: portion install
Run it in front of one server: portion wrap -- COMMAND";

/// Columns below which the help of an option starts on a line of its own.
const NARROW: u16 = 60;

/// Options below a heading that `-h` shows; `--help` names all, and `--help-all` explains them.
const OFTEN_USED: [&str; 8] =
    ["config", "openapi", "profile", "lean", "tokenBudgetThreshold", "defaultPageSize", "listen", "metadata"];

impl Args {
    /// Parses the command line. An error ends the process with code 2 and a suggestion.
    pub(crate) fn read() -> Self {
        let is_narrow = terminal_size::terminal_size().is_some_and(|(width, _)| width.0 < NARROW);
        let mut line: Vec<OsString> = std::env::args_os().collect();
        let mut options = line.iter_mut().skip(1).take_while(|word| *word != "--");
        let help = options.find_map(|word| Some((HelpLength::of(word)?, word)));
        let mut command = Self::command().next_line_help(is_narrow);
        match help {
            Some((HelpLength::Short, _)) => command = command.mut_subcommands(without_rare_options),
            Some((HelpLength::Listed, _)) => command = command.mut_subcommands(with_listed_options),
            Some((HelpLength::All, word)) => *word = "--help".into(),
            None => {}
        }
        let parsed = command.try_get_matches_from_mut(line);
        let parsed = parsed.and_then(|mut matches| {
            let is_json = asks_for_json(&matches);
            let args =
                Self::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))?;
            Ok(Self { is_json, ..args })
        });
        parsed.unwrap_or_else(|error| {
            let line: Vec<_> = std::env::args_os().collect();
            let error = with_tips(error, &line, &command);
            // A help is no failure.
            if error.use_stderr() && line_asks_for_json(&line, &command) {
                Failure::from_parser(&error).print();
            }
            end_with(&error)
        })
    }
}

/// Prints a help or an error of the command line and ends the process. A help that cannot be written is a failure, unless
/// its reader has gone.
fn end_with(error: &Error) -> ! {
    if error.use_stderr() {
        crate::cli::terminal::write_styled_stderr(&error.render().ansi().to_string());
        std::process::exit(error.exit_code());
    }
    let written = error.print().and_then(|()| io::stdout().flush());
    if let Err(failure) = written
        && failure.kind() != io::ErrorKind::BrokenPipe
    {
        crate::cli::terminal::print_stderr!("portion: stdout cannot be written: {failure}");
        std::process::exit(1);
    }
    std::process::exit(error.exit_code())
}

/// Extent of a help.
enum HelpLength {
    /// Options that are often used.
    Short,
    /// All options; those of the configuration by name alone.
    Listed,
    /// All options, explained.
    All,
}

impl HelpLength {
    /// Returns the extent for which an option asks.
    fn of(word: &OsStr) -> Option<Self> {
        match word.to_str()? {
            "-h" => Some(Self::Short),
            "--help" => Some(Self::Listed),
            "--help-all" => Some(Self::All),
            _ => None,
        }
    }
}

/// Lists the options of the configuration, except those that are often used, by their names below the help.
fn with_listed_options(command: clap::Command) -> clap::Command {
    let is_listed = |arg: &Arg| {
        let id = arg.get_id().as_str();
        let is_key = |key: &Key| arg.get_help_heading() == Some(key.group.heading());
        Key::by_name(id).is_some_and(is_key) && !OFTEN_USED.contains(&id)
    };
    let names: Vec<String> = command
        .get_arguments()
        .filter(|arg| is_listed(arg))
        .filter_map(|arg| Some(format!("--{}", arg.get_long()?)))
        .collect();
    if names.is_empty() {
        return command;
    }
    let listed =
        format!("Configuration options (portion {} --help-all): {}", command.get_name(), names.join(", "));
    let after = command.get_after_help().map(|help| format!("{help}\n\n{listed}")).unwrap_or(listed);
    command.mut_args(|arg| if is_listed(&arg) { arg.hide(true) } else { arg }).after_help(after)
}

/// Hides the options below headings, except those that are often used, and says so.
fn without_rare_options(command: clap::Command) -> clap::Command {
    let is_rare =
        |arg: &Arg| arg.get_help_heading().is_some() && !OFTEN_USED.contains(&arg.get_id().as_str());
    let hidden = command.get_arguments().filter(|arg| is_rare(arg)).count();
    if hidden == 0 {
        return command;
    }
    let all = format!("{hidden} more options: portion {} --help", command.get_name());
    let after = command.get_after_help().map(|help| format!("{help}\n\n{all}")).unwrap_or(all);
    command.mut_args(|arg| if is_rare(&arg) { arg.hide(true) } else { arg }).after_help(after)
}

/// The commands of `portion`.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Compare calls with and without Portion, on real records and a real log
    #[cfg_attr(not(feature = "demo"), command(hide = true))]
    Demo(demo::Options),
    /// Run an MCP server on stdio and limit its replies to a token budget
    Wrap(Box<wrap::Options>),
    /// Put Portion in front of the servers in the configurations of MCP clients
    Install(install::InstallOptions),
    /// Take Portion out of the configurations of MCP clients
    Uninstall(install::UninstallOptions),
    /// Call read-only tools of a server with and without Portion, and compare
    Try(try_tools::Options),
    /// Call what only reads of a server or an API, and propose a configuration for it
    Check(Box<check::Options>),
    /// Check the configuration, the clients, their servers and recent results
    Doctor(doctor::Options),
    /// Serve one or several MCP servers over HTTP
    Serve(Box<serve::Options>),
    /// Run a reverse proxy for a JSON REST API and limit its responses to a token budget
    Http(Box<http::Options>),
    /// Log in at a remote MCP server, or list the logins
    Login(login::LoginOptions),
    /// Remove the login at a remote MCP server
    Logout(login::LogoutOptions),
    /// Call a retrieval tool and keep its best chunks within a token budget
    Fetch(Box<fetch::Options>),
    /// Show the reply that a model would get for a file
    Shape(Box<shape::Options>),
    /// Show what recorded sessions of clients would have been with Portion
    Replay(Box<replay::Options>),
    /// Check, show, compare and restore configurations
    Config(config::Options),
    /// Show recorded requests by endpoint, one by one, or by experiment arm
    Stats(Box<stats::Options>),
    /// Show current traffic in the terminal
    Top(top::Options),
    /// Make a bearer token for a caller of serve or http
    Token(token::Options),
    /// Show recorded requests in a browser
    Dashboard(dashboard::Options),
    /// Fit token counts to the usage that a model charged, from its API log
    Calibrate(calibrate::Options),
    /// Print a completion script for a shell
    Completions(completions::Options),
    /// Print or write manual pages
    Man(man::Options),
    /// The MCP server that `portion demo` calls, on stdin and stdout
    #[command(hide = true)]
    DemoServer,
    /// Kills the process groups named on stdin when stdin closes
    #[command(hide = true)]
    WatchGroups,
}

/// Adds a suggestion to the error, if there is one. `line` is the command line.
fn with_tips(mut error: Error, line: &[OsString], command: &clap::Command) -> Error {
    if let Some(ContextValue::Strings(names)) = error.get(ContextKind::SuggestedSubcommand) {
        let is_hidden = |name: &String| command.find_subcommand(name).is_some_and(clap::Command::is_hide_set);
        let mut names = names.clone();
        names.retain(|name| !is_hidden(name));
        error.remove(ContextKind::SuggestedSubcommand);
        if names.is_empty() {
            // The empty list of other suggestions would be printed as an empty line.
            error.remove(ContextKind::Suggested);
        } else {
            error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(names));
        }
    }
    if let Some(tip) = tip(&error, line) {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(tip)]));
    } else if error.kind() == ErrorKind::UnknownArgument {
        // "To pass it as a value, use `--`" is wrong here: what follows `--` is the server's command.
        error.insert(ContextKind::Suggested, ContextValue::None);
    }
    error
}

fn tip(error: &Error, line: &[OsString]) -> Option<String> {
    let starts_server = line.get(1).is_some_and(|name| name == "wrap" || name == "serve");
    let parted = line.iter().any(|word| word == "--");
    let has_tip = error.get(ContextKind::Suggested).is_some();
    match (error.kind(), error.get(ContextKind::InvalidValue)) {
        (ErrorKind::ValueValidation, Some(ContextValue::String(value)))
            if starts_server && !parted && !has_tip =>
        {
            Some(format!("if {value} begins the server's command, write `--` before it"))
        }
        _ => None,
    }
}

/// Name of the option that commands with JSON output have.
const JSON: &str = "json";
/// Name of the option of commands with more formats.
const FORMAT: &str = "format";

/// Returns true if a command or its subcommand was asked for JSON.
fn asks_for_json(matches: &ArgMatches) -> bool {
    let Some((_, options)) = matches.subcommand() else { return false };
    // Commands without the options have no such names, which is an error here.
    let flag = options.try_get_one::<bool>(JSON).ok().flatten();
    let format = options.try_get_raw(FORMAT).ok().flatten();
    flag == Some(&true)
        || format.is_some_and(|mut values| values.any(|value| value == JSON))
        || asks_for_json(options)
}

/// Returns true if a command line that cannot be parsed asks for JSON. The words of a server's command, after `--`, and the
/// options of commands that print no JSON do not count.
fn line_asks_for_json(line: &[OsString], program: &clap::Command) -> bool {
    let named = line.get(1).and_then(|name| program.find_subcommand(name));
    let prints_json =
        named.is_none_or(|command| command.get_arguments().any(|arg| arg.get_id().as_str() == JSON));
    let words: Vec<&OsString> = line.iter().skip(1).take_while(|word| *word != "--").collect();
    let is_format = |pair: &[&OsString]| pair[0] == "--format" && pair[1] == JSON;
    prints_json
        && (words.iter().any(|word| *word == "--json" || *word == "--format=json")
            || words.windows(2).any(is_format))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use clap::{Arg, ArgAction, Command};

    use super::{FORMAT, JSON, asks_for_json, line_asks_for_json};

    fn program() -> Command {
        let json = || Arg::new(JSON).long(JSON).action(ArgAction::SetTrue);
        let format = Arg::new(FORMAT).long(FORMAT);
        let config = Command::new("config").arg(json().global(true)).subcommand(Command::new("show"));
        Command::new("portion")
            .subcommand(Command::new("stats").arg(json()).arg(format))
            .subcommand(config)
            .subcommand(Command::new("wrap").arg(Arg::new("cmd").num_args(0..).trailing_var_arg(true)))
    }

    fn words(line: &str) -> Vec<OsString> {
        ["portion"].into_iter().chain(line.split_whitespace()).map(OsString::from).collect()
    }

    #[test]
    fn both_options_are_found_among_matches() {
        let check = |line: &str, expect: bool| {
            let matches = program().try_get_matches_from(words(line)).expect("a valid command line");
            assert_eq!(asks_for_json(&matches), expect, "{line}");
        };
        check("stats", false);
        check("stats --json", true);
        check("stats --format json", true);
        check("stats --format csv", false);
        check("config --json show", true);
        check("config show --json", true);
        check("config show", false);
        check("wrap cat", false);
    }

    #[test]
    fn both_options_are_found_in_an_invalid_line() {
        let check = |line: &str, expect: bool| {
            assert_eq!(line_asks_for_json(&words(line), &program()), expect, "{line}");
        };
        check("stats --json --nosuch", true);
        check("stats --nosuch --format json", true);
        check("stats --nosuch --format=json", true);
        check("stats --nosuch --format csv", false);
        check("stats --nosuch -- --json", false);
        check("config chek --json", true);
        check("nosuch --json", true);
        check("wrap --json", false);
        check("", false);
    }
}
