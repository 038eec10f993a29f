//! Compares the command reference with the help of all commands.

use std::fmt::Write as _;

use super::{Outcome, check, help};

const HEAD: &str = "\
# Commands

The `--help` of each command, written by a test: see `CONTRIBUTING.md`.

Colours are used on a terminal only, and never with `NO_COLOR` set. Lines are folded at the width of the terminal, except commands, paths,
differences, configurations and results, which can be copied. Results go to stdout, everything else to stderr.

With `--json`, stdout has one JSON document also if the command fails, and stderr has the message as without it:

```json
{\"error\":{\"code\":\"invalid_usage\",\"message\":\"unrecognized subcommand 'chek'\",\"hint\":\"some similar subcommands exist: 'schema', 'check'\"}}
```

`code` is `invalid_usage` or `invalid_configuration` (exit code 2) or `failed` (1). `hint` is null if the message says what to do. Reports have
no `error` for what they found: `config check` lists `errors`, `doctor` has `findings`, and `try` and `check` have an `error` at each call or
tool that failed. `calibrate` adds it to its report. The exit code is the same as without `--json`.

| exit code | meaning |
| --- | --- |
| 0 | done; also if the reader of stdout has gone |
| 1 | failed, with one message on stderr; also a finding that is an error (`doctor`), no comparison (`try`), a refused question (`install`), a stdout that cannot be written |
| 2 | wrong command line or configuration; also an error that `config check` finds |
| 128 + signal | ended by a signal: 143 after SIGTERM, 130 after SIGINT |
| the server's own | `wrap`: the server ended by itself with this code; 128 + signal if a signal ended it |
";

/// Returns the subcommands that a help text lists, without `help` itself.
fn subcommands(help: &str) -> Vec<String> {
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let listed = listed.take_while(|line| !line.is_empty());
    // Names are indented by two spaces, continued descriptions by more.
    let names = listed.filter_map(|line| line.strip_prefix("  ").filter(|rest| !rest.starts_with(' ')));
    names
        .filter_map(|line| line.split(' ').next())
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

/// Appends the help of a command and of its subcommands.
fn write_command(page: &mut String, words: &[&str]) -> Outcome {
    let text = help(words)?;
    let title = ["portion"].iter().chain(words).copied().collect::<Vec<_>>().join(" ");
    write!(page, "\n## {title}\n\n```text\n{text}```\n")?;
    for name in subcommands(&text) {
        let below: Vec<&str> = words.iter().copied().chain([name.as_str()]).collect();
        write_command(page, &below)?;
    }
    Ok(())
}

#[test]
fn the_reference_is_the_help_of_all_commands() -> Outcome {
    let mut page = HEAD.to_owned();
    write_command(&mut page, &[])?;
    check("docs/commands.md", &page)
}

#[test]
fn subcommands_are_read_from_a_help_text() {
    let text = "Usage: x\n\nCommands:\n  run   Run\n          it\n  help  Print\n\nOptions:\n  -h\n";
    assert_eq!(subcommands(text), ["run"]);
    assert_eq!(subcommands("Options:\n  -h\n"), [] as [&str; 0]);
}
