//! Writes the command reference from the help of all commands. Options that several commands have are listed once.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{Outcome, check, help};

const HEAD: &str = "\
# Commands

The `--help` of each command, written by a test: see `CONTRIBUTING.md`. Options that several commands have are listed once, under
[shared options](#shared-options).

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

## Shared options

Every command has `--help`.

| option | meaning | commands |
| --- | --- | --- |
";
/// How the list of the less used options of a command begins.
const OTHER_OPTIONS: &str = "Configuration options (";

/// The help of a command.
struct Help {
    title: String,
    parts: Vec<Part>,
}

/// An option with its description, or another line of a help text.
#[derive(Debug, PartialEq, Eq)]
enum Part {
    Option { name: String, meaning: String, text: String },
    Line(String),
}

impl Part {
    /// Splits a help text.
    fn all(help: &str) -> Vec<Self> {
        let mut parts: Vec<Self> = Vec::new();
        for line in help.lines() {
            let begun = line.trim_start();
            let indent = line.len() - begun.len();
            if begun.starts_with('-') && (2..=6).contains(&indent) {
                let (name, meaning) = begun.split_once("  ").unwrap_or((begun, ""));
                let (name, meaning) = (name.to_owned(), meaning.trim().to_owned());
                parts.push(Self::Option { name, meaning, text: format!("{line}\n") });
            } else if let (7.., Some(Self::Option { meaning, text, .. })) = (indent, parts.last_mut()) {
                if !meaning.is_empty() {
                    meaning.push(' ');
                }
                meaning.push_str(begun);
                writeln!(text, "{line}").expect("written");
            } else {
                parts.push(Self::Line(format!("{line}\n")));
            }
        }
        parts
    }

    fn option(&self) -> Option<(String, String)> {
        match self {
            Self::Option { name, meaning, .. } => Some((name.clone(), meaning.clone())),
            Self::Line(_) => None,
        }
    }
}

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

/// Adds the help of a command and of its subcommands.
fn collect(all: &mut Vec<Help>, words: &[&str]) -> Outcome {
    let text = help(words)?;
    let title = ["portion"].iter().chain(words).copied().collect::<Vec<_>>().join(" ");
    all.push(Help { title, parts: Part::all(&text) });
    for name in subcommands(&text) {
        let below: Vec<&str> = words.iter().copied().chain([name.as_str()]).collect();
        collect(all, &below)?;
    }
    Ok(())
}

/// Returns the help without the options of `shared` and the headings that are then empty.
fn own_text(help: &Help, shared: &BTreeMap<(String, String), Vec<String>>) -> String {
    let mut text = String::new();
    for part in &help.parts {
        let is_shared = part.option().is_some_and(|option| shared.contains_key(&option));
        match part {
            _ if is_shared => {}
            Part::Option { text: line, .. } | Part::Line(line) => text.push_str(line),
        }
    }
    let is_kept = |block: &&str| {
        let is_empty_heading = !block.contains('\n') && block.ends_with(':');
        !block.is_empty() && !is_empty_heading && !block.starts_with(OTHER_OPTIONS)
    };
    text.split("\n\n").map(|block| block.trim_matches('\n')).filter(is_kept).collect::<Vec<_>>().join("\n\n")
}

#[test]
fn the_reference_is_the_help_of_all_commands() -> Outcome {
    let mut all = Vec::new();
    collect(&mut all, &[])?;
    let mut shared: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for help in &all {
        for option in help.parts.iter().filter_map(Part::option) {
            shared.entry(option).or_default().push(help.title.clone());
        }
    }
    shared.retain(|_, commands| commands.len() > 1);
    let mut page = HEAD.to_owned();
    for ((name, meaning), commands) in shared.iter().filter(|((name, _), _)| name != "-h, --help") {
        let commands: Vec<&str> = commands.iter().map(|title| title.trim_start_matches("portion ")).collect();
        let (name, meaning) = (name.replace('|', "\\|"), meaning.replace('|', "\\|"));
        writeln!(page, "| `{name}` | {meaning} | {} |", commands.join(", "))?;
    }
    for help in &all {
        write!(page, "\n## {}\n\n```text\n{}\n```\n", help.title, own_text(help, &shared))?;
        let has_others =
            help.parts.iter().any(|part| matches!(part, Part::Line(line) if line.starts_with(OTHER_OPTIONS)));
        if has_others {
            let title = &help.title;
            writeln!(
                page,
                "\nAlso an option: each [key](configuration.md) that `{title} --help-all` lists."
            )?;
        }
    }
    check("docs/reference/commands.md", &page)
}

#[test]
fn subcommands_are_read_from_a_help_text() {
    let text = "Usage: x\n\nCommands:\n  run   Run\n          it\n  help  Print\n\nOptions:\n  -h\n";
    assert_eq!(subcommands(text), ["run"]);
    assert_eq!(subcommands("Options:\n  -h\n"), [] as [&str; 0]);
}

#[test]
fn options_are_read_from_a_help_text() {
    let parts = Part::all(
        "Options:\n      --a <X>  What\n               it is\n  -y, --yes\n          Sure\n\nEnd\n",
    );
    let options: Vec<_> = parts.iter().filter_map(Part::option).collect();
    let expect = [("--a <X>", "What it is"), ("-y, --yes", "Sure")];
    assert_eq!(options, expect.map(|(name, meaning)| (name.to_owned(), meaning.to_owned())));
    assert_eq!(parts.len(), 5);
}
