//! `portion demo-server`: the MCP server of the demo, for anyone who wants to call it by hand.
use std::io;
use std::process::ExitCode;

use super::Outcome;
use super::demo::material::Material;
use super::demo::server;

/// Serves stdin and stdout until stdin ends.
pub(crate) fn run() -> Outcome {
    server::serve(&Material::unpack()?, io::stdin().lock(), io::stdout().lock())?;
    Ok(ExitCode::SUCCESS)
}
