//! The command reference is what the commands say of themselves.

use std::fmt::Write as _;

use super::{Outcome, check, help};

const HEAD: &str = "\
# Commands

What `--help` says of each command, written by a test: see `CONTRIBUTING.md`.
";

#[test]
fn is_what_the_commands_say() -> Outcome {
    let mut page = HEAD.to_owned();
    for command in ["", "demo", "wrap", "shape"] {
        let arguments: Vec<&str> = command.split_whitespace().collect();
        let title = format!("portion {command}");
        write!(page, "\n## {}\n\n```text\n{}```\n", title.trim_end(), help(&arguments)?)?;
    }
    check("docs/commands.md", &page)
}
