//! Tells whether a command line asks for JSON: by `--json`, or by `--format json`.

use std::ffi::OsString;

use clap::{ArgMatches, Command};

/// Name of the option that commands with JSON output have.
const JSON: &str = "json";
/// Name of the option of commands with more formats.
const FORMAT: &str = "format";

/// Returns true if a command or its subcommand was asked for JSON.
pub(crate) fn is_set(matches: &ArgMatches) -> bool {
    let Some((_, options)) = matches.subcommand() else { return false };
    // Commands without the options have no such names, which is an error here.
    let flag = options.try_get_one::<bool>(JSON).ok().flatten();
    let format = options.try_get_raw(FORMAT).ok().flatten();
    flag == Some(&true)
        || format.is_some_and(|mut values| values.any(|value| value == JSON))
        || is_set(options)
}

/// Returns true if a command line that cannot be parsed asks for JSON. The words of a server's command, after `--`, and the
/// options of commands that print no JSON do not count.
pub(crate) fn is_in_line(line: &[OsString], program: &Command) -> bool {
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
    use clap::{Arg, ArgAction};

    use super::*;

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
            assert_eq!(is_set(&matches), expect, "{line}");
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
        let check =
            |line: &str, expect: bool| assert_eq!(is_in_line(&words(line), &program()), expect, "{line}");
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
