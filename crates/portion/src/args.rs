//! The command line: one variant per command. The options of a command are in its own module.
use clap::{Parser, Subcommand};

use crate::command::{calibrate, config, dashboard, demo, http, serve, shape, stats, top, wrap};
use crate::tips::with_tips;

/// Serves oversized results of MCP servers in portions that fit a token budget, nothing lost.
#[derive(Debug, Parser)]
#[command(name = "portion", version, max_term_width = 100)]
#[command(
    after_help = "To see it at work: portion demo\nTo put it in front of your server: portion wrap -- COMMAND"
)]
pub(crate) struct Args {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Args {
    /// Parses the command line. An error ends the process with code 2 and a suggestion.
    pub(crate) fn read() -> Self {
        Self::try_parse().unwrap_or_else(|error| {
            let line: Vec<_> = std::env::args_os().collect();
            with_tips(error, &line).exit()
        })
    }
}

/// The commands of `portion`.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show what Portion does: real records and a real log, called with and without it, side by side
    Demo(demo::Options),
    /// Stand in front of an MCP server on stdio and keep its replies within a token budget
    Wrap(Box<wrap::Options>),
    /// Serve MCP over HTTP in front of one server or several
    Serve(Box<serve::Options>),
    /// Stand in front of a JSON REST API and keep its responses within a token budget
    Http(Box<http::Options>),
    /// Show what a model would see of a file
    Shape(Box<shape::Options>),
    /// Check and show the configuration, say what a change would do, go back to an earlier version
    Config(config::Options),
    /// Show what was served: by endpoint, request by request, or arm by arm of experiments
    Stats(Box<stats::Options>),
    /// Show what is served just now, in the terminal, second by second
    Top(top::Options),
    /// Show what was recorded in a browser
    Dashboard(dashboard::Options),
    /// Fit token counts to what a model charged, by the usage figures of its API log
    Calibrate(calibrate::Options),
    /// The MCP server that `portion demo` calls, on stdin and stdout
    #[command(hide = true)]
    DemoServer,
    /// Kills the process groups that it is told of on stdin, once that ends
    #[command(hide = true)]
    WatchGroups,
}
