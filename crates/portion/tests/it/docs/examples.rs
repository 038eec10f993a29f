//! Every `console` block of the pages is run, and shows what came out.
//!
//! Output is folded at [`WIDTH`] columns; the middle of a long one is left out.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use super::{Outcome, check, hermetic, page, repository};

/// Columns at which output is folded.
const WIDTH: usize = 100;
/// Lines shown of the beginning and of the end of long output.
const BEGINNING: usize = 5;
const END: usize = 11;

#[test]
fn of_the_readme_are_real() -> Outcome {
    run("README.md")
}

#[test]
fn of_replies_are_real() -> Outcome {
    run("docs/replies.md")
}

#[test]
fn of_controls_are_real() -> Outcome {
    run("docs/controls.md")
}

#[test]
fn of_decisions_are_real() -> Outcome {
    run("docs/how-it-decides.md")
}

#[test]
fn of_questions_are_real() -> Outcome {
    run("docs/queries.md")
}

#[test]
fn of_fetches_are_real() -> Outcome {
    run("docs/fetch.md")
}

#[test]
fn of_errors_are_real() -> Outcome {
    run("docs/reference/errors.md")
}

#[test]
fn of_the_rules_client_are_real() -> Outcome {
    run("examples/rules-client.md")
}

fn run(file: &str) -> Outcome {
    let directory = samples(file)?;
    let mut expect = String::new();
    let mut in_console = false;
    let text = page(file)?;
    for line in text.lines() {
        let fence = line.starts_with("```");
        if in_console && !fence {
            if let Some(command) = line.strip_prefix("$ ") {
                let output = shown(&output(command, &directory)?);
                write!(expect, "{line}\n{output}")?;
            }
            continue;
        }
        in_console = fence && line == "```console";
        expect.push_str(line);
        expect.push('\n');
    }
    check(file, &expect)
}

/// A directory with the sample files, which the pages make by `docs/samples.sh`.
fn samples(file: &str) -> Result<PathBuf, Box<dyn std::error::Error>> {
    let name = file.replace('/', "-");
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&directory)?;
    let made =
        hermetic("sh").arg(repository("docs/samples.sh").canonicalize()?).current_dir(&directory).status()?;
    if made.success() { Ok(directory) } else { Err("docs/samples.sh failed".into()) }
}

/// Returns the output of a command, errors included.
fn output(command: &str, directory: &Path) -> Result<String, Box<dyn std::error::Error>> {
    let binary = Path::new(env!("CARGO_BIN_EXE_portion")).parent().map(Path::to_path_buf).unwrap_or_default();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(binary).chain(std::env::split_paths(&path)))?;
    let output = hermetic("sh")
        .args(["-c", &format!("exec 2>&1; {command}")])
        .env("PATH", path)
        .current_dir(directory)
        .output()?;
    Ok(String::from_utf8(output.stdout)?)
}

fn shown(output: &str) -> String {
    let lines: Vec<String> = output.lines().flat_map(folded).collect();
    let mut text = String::new();
    for (i, line) in lines.iter().enumerate() {
        let left_out = lines.len() > BEGINNING + END + 1 && i >= BEGINNING && i + END < lines.len();
        if !left_out {
            text.push_str(line.trim_end());
            text.push('\n');
        } else if i == BEGINNING {
            text.push_str("…\n");
        }
    }
    text
}

fn folded(line: &str) -> Vec<String> {
    let line = line.replace('\t', "    ");
    let characters: Vec<char> = line.chars().collect();
    if characters.is_empty() {
        return vec![String::new()];
    }
    characters.chunks(WIDTH).map(|piece| piece.iter().collect()).collect()
}
