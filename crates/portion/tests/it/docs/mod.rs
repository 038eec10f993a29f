//! Checks the documentation: commands are run, and lists are compared with the program.
//!
//! `UPDATE_DOCS=1 cargo test -p portion --test it docs` writes outputs and the command reference anew;
//! look at the difference before it is committed.
mod arrows;
mod book;
mod clients;
mod examples;
mod facts;
mod http_reference;
mod lines;
mod metrics;
mod picture;
mod reference;
mod sources;

use std::error::Error;
use std::path::PathBuf;
use std::process::Command;
use std::{env, fs};

type Outcome = Result<(), Box<dyn Error>>;

/// A file of the repository.
fn repository(file: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(file)
}

fn page(file: &str) -> Result<String, Box<dyn Error>> {
    let path = repository(file);
    fs::read_to_string(&path).map_err(|why| format!("{}: {why}", path.display()).into())
}

/// Holds a page against what it should be, or writes that.
fn check(file: &str, expect: &str) -> Outcome {
    if env::var_os("UPDATE_DOCS").is_some() {
        return Ok(fs::write(repository(file), expect)?);
    }
    let page = fs::read_to_string(repository(file)).unwrap_or_default();
    let differs = |(number, (is, should)): (usize, (&str, &str))| {
        (is != should).then(|| format!("line {}:\n  {is}\nshould be\n  {should}", number + 1))
    };
    let first = page.lines().zip(expect.lines()).enumerate().find_map(differs);
    if page == expect {
        return Ok(());
    }
    let where_ = first.unwrap_or_else(|| "one ends before the other".into());
    Err(format!("{file} is out of date, {where_}\nUPDATE_DOCS=1 writes it anew").into())
}

/// A command in which nothing of the caller's surroundings can be seen.
fn hermetic(program: &str) -> Command {
    let mut command = Command::new(program);
    for (name, _) in env::vars_os() {
        if name.to_string_lossy().starts_with("PORTION_") || name == "MAX_MCP_OUTPUT_TOKENS" {
            command.env_remove(name);
        }
    }
    command.env("COLUMNS", "100").env("NO_COLOR", "1").stdin(std::process::Stdio::null());
    command
}

fn help(arguments: &[&str]) -> Result<String, Box<dyn Error>> {
    help_of_length(arguments, "--help")
}

fn help_of_length(arguments: &[&str], option: &str) -> Result<String, Box<dyn Error>> {
    let output = hermetic(env!("CARGO_BIN_EXE_portion")).args(arguments).arg(option).output()?;
    let text = String::from_utf8(output.stdout)?;
    Ok(text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n") + "\n")
}
