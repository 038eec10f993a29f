//! The command line: a row a command, its options beside the code that runs it.
use clap::{Parser, Subcommand};

use crate::command::{demo, shape, wrap};

/// Serves oversized MCP and JSON API results in portions that fit a token budget, nothing lost.
#[derive(Debug, Parser)]
#[command(name = "portion", version, max_term_width = 100)]
pub(crate) struct Args {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands of `portion`.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show what Portion does: real records and a real log, called with and without it, side by side
    Demo(demo::Options),
    /// Stand in front of an MCP server on stdio and keep its replies within a token budget
    Wrap(Box<wrap::Options>),
    /// Show what a model would see of a file
    Shape(Box<shape::Options>),
    /// The MCP server that `portion demo` calls, on stdin and stdout
    #[command(hide = true)]
    DemoServer,
}
