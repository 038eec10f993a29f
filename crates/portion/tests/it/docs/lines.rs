//! Checks the command lines in the pages: each names a command and options that the help of that command lists.

use std::collections::BTreeMap;

use super::book::all_pages;
use super::{Outcome, help, page};

#[test]
fn command_lines_have_options_that_exist() -> Outcome {
    let mut helps = BTreeMap::new();
    let mut checked = 0;
    for file in all_pages()? {
        for line in command_lines(&page(&file)?) {
            check_line(&line, &mut helps).map_err(|why| format!("{file}: {line}: {why}"))?;
            checked += 1;
        }
    }
    assert!(checked > 60, "{checked}");
    Ok(())
}

/// The lines of shell blocks that start `portion`, each with its continuation lines.
fn command_lines(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let (mut is_shell, mut goes_on) = (false, false);
    for line in text.lines() {
        if line.starts_with("```") {
            is_shell = matches!(line, "```sh" | "```console");
            goes_on = false;
            continue;
        }
        let command = line.strip_prefix("$ ").unwrap_or(line);
        let words = command.trim_end_matches('\\').trim();
        if goes_on {
            if let Some(last) = lines.last_mut() {
                last.push(' ');
                last.push_str(words);
            }
        } else if is_shell && command.starts_with("portion ") {
            lines.push(words.to_owned());
        } else {
            continue;
        }
        goes_on = command.ends_with('\\');
    }
    lines
}

fn check_line(line: &str, helps: &mut BTreeMap<String, String>) -> Result<(), String> {
    let line = line.split(['#', '|', '>', '&', ';']).next().unwrap_or_default();
    let words: Vec<&str> = line.split_whitespace().skip(1).take_while(|word| *word != "--").collect();
    let mut command: Vec<&str> = words.iter().copied().take(1).collect();
    if command.first() == Some(&"config") {
        command.extend(words.get(1).filter(|word| !word.starts_with('-')));
    }
    let name = command.join(" ");
    if !helps.contains_key(&name) {
        let text = help(&command).map_err(|error| error.to_string())?;
        helps.insert(name.clone(), text);
    }
    let text = &helps[&name];
    if !text.contains("Usage:") {
        return Err(format!("there is no command {name}"));
    }
    let listed = |option: &str| text.split([' ', ',', '=', '\n', '[']).any(|word| word == option);
    let options = words.iter().filter(|word| word.starts_with("--"));
    match options.map(|word| word.split('=').next().unwrap_or(word)).find(|option| !listed(option)) {
        Some(option) => Err(format!("portion {name} has no option {option}")),
        None => Ok(()),
    }
}

#[test]
fn command_lines_are_read_from_a_page() {
    let text =
        "```sh\nportion serve \\\n    --a b   # c\n$ portion x\ncargo y\n```\n```text\nportion z\n```\n";
    assert_eq!(command_lines(text), ["portion serve --a b   # c", "portion x"]);
}
