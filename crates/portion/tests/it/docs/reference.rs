//! Writes the command reference from the help of all commands. Options that several commands have are listed once.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use portion_config::key::Key;

use super::{Outcome, check, help};

const HEAD: &str = "\
# Commands

The arguments and options of each command, from its `--help`, which also has examples. A test writes this page. Those of several commands
are under [shared options](#shared-options); the others that `--help-all` lists are [keys](configuration.md): `hardCap` is `--hard-cap`.

Results go to stdout, everything else to stderr. With `--json`, stdout has one JSON document, also if the command fails:

```json
{\"error\":{\"code\":\"invalid_usage\",\"message\":\"unrecognized subcommand 'chek'\",\"hint\":\"a similar subcommand exists: 'check'\"}}
```

`code` is `invalid_usage`, `invalid_configuration` or `failed`. Findings are no such errors: `config check` lists `errors`, `doctor`
`findings`, and `try` and `check` have an `error` at each call that failed.

| exit code | meaning |
| --- | --- |
| 0 | done |
| 1 | failed; also an error among the findings (`doctor`), no comparison (`try`), a refused question (`install`) |
| 2 | wrong command line or configuration |
| 128 + signal | ended by a signal |
| the server's own | `wrap`: the server ended by itself |

## Shared options

Those of `config` are also options of its subcommands.
";
/// How the blocks of a help text begin that the reference leaves out: less used options, subcommands,
/// and examples with what follows them.
const OTHER_OPTIONS: &str = "Configuration options (";
const COMMANDS: &str = "Commands:";
const EXAMPLES: &str = "Example";

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
            if begun.starts_with(['-', '[', '<']) && (2..=6).contains(&indent) {
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

/// Returns the help without the options of `left_out`, the headings that are then empty, and the examples.
fn own_text(help: &Help, is_left_out: impl Fn(&(String, String)) -> bool) -> String {
    let mut text = String::new();
    for part in &help.parts {
        match part {
            _ if part.option().is_some_and(|option| is_left_out(&option)) => {}
            Part::Option { text: line, .. } | Part::Line(line) => text.push_str(line),
        }
    }
    let is_kept = |block: &&str| {
        let is_empty_heading = !block.contains('\n') && block.ends_with(':');
        let is_elsewhere = block.starts_with(OTHER_OPTIONS) || block.starts_with(COMMANDS);
        // Required options are not listed as such.
        let is_plain_usage = block.starts_with("Usage:") && !block.contains("--");
        !block.is_empty() && !is_empty_heading && !is_elsewhere && !is_plain_usage
    };
    let blocks = text.split("\n\n").map(|block| block.trim_matches('\n'));
    let blocks = blocks.take_while(|block| !block.starts_with(EXAMPLES)).filter(is_kept);
    let heads = ["Arguments:\n", "Options:\n"];
    let own = |block| {
        heads.iter().fold(block, |block: &str, head| block.strip_prefix(head).unwrap_or(block)).to_owned()
    };
    blocks.map(own).collect::<Vec<_>>().join("\n\n")
}

/// Returns true if an option is that of a configuration key, which another page describes.
fn is_of_key(name: &str, meaning: &str) -> bool {
    let name = name.split([' ', '[']).next().unwrap_or_default().trim_start_matches("--");
    Key::all().any(|key| key.option().as_deref() == Some(name) && meaning.starts_with(key.doc))
}

#[test]
fn the_reference_is_the_help_of_all_commands() -> Outcome {
    let mut all = Vec::new();
    collect(&mut all, &[])?;
    let mut commands: BTreeMap<(String, String), Vec<&str>> = BTreeMap::new();
    for help in &all {
        for option in help.parts.iter().filter_map(Part::option) {
            commands.entry(option).or_default().push(help.title.trim_start_matches("portion "));
        }
    }
    let is_left_out = |(name, meaning): &(String, String)| name == "-h, --help" || is_of_key(name, meaning);
    let mut shared: BTreeMap<String, Vec<&(String, String)>> = BTreeMap::new();
    for (option, commands) in commands.iter().filter(|(option, all)| all.len() > 1 && !is_left_out(option)) {
        let of_config = commands.contains(&"config");
        let commands = commands.iter().filter(|name| !(of_config && name.starts_with("config ")));
        let commands: Vec<&str> = commands.copied().collect();
        shared.entry(commands.join(", ")).or_default().push(option);
    }
    let mut page = HEAD.to_owned();
    for (commands, options) in shared {
        write!(page, "\n{commands}:\n\n")?;
        for (name, meaning) in options {
            writeln!(page, "- `{name}`: {meaning}")?;
        }
    }
    for help in &all[1..] {
        let text = own_text(help, |option| is_left_out(option) || commands[option].len() > 1);
        write!(page, "\n## {}\n\n```text\n{text}\n```\n", help.title)?;
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
