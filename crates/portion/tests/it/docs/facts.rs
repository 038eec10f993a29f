//! Lists in the pages name all there is, and nothing else.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use portion_core::error_code::{ErrorCode, ErrorInfo};
use portion_core::policy::Policy;

use super::{Outcome, check, help_of_length, page};

/// Options that are no limits: they say where the server is.
const PLACES: [&str; 3] = ["--url", "--header", "--transport"];
const ERRORS: &str = "docs/reference/errors.md";
/// The error with the JSON-RPC code -32603, beside those that may be repeated as they are.
const OTHER_INTERNAL: &str = "message_too_large";

#[test]
fn transports_lists_every_option_of_a_place() -> Outcome {
    let page = page("docs/transports.md")?;
    for option in PLACES {
        assert!(page.lines().any(|line| line.starts_with(&format!("| `{option} "))), "no row for {option}");
    }
    Ok(())
}

#[test]
fn the_help_of_a_command_fits_two_screens() -> Outcome {
    for command in ["wrap", "serve", "http", "shape", "check", "fetch", "install"] {
        let lines = help_of_length(&[command], "--help")?.lines().count();
        assert!(lines <= 120, "{command}: {lines}");
    }
    Ok(())
}

#[test]
fn help_tells_the_defaults() -> Outcome {
    let policy = Policy::default();
    let options = options(&help_of_length(&["wrap"], "--help-all")?);
    let check = |option: &str, value: String| {
        assert_eq!(options.get(option), Some(&value), "{option}");
    };
    check("--token-budget-threshold", policy.token_budget_threshold.to_string());
    check("--hard-cap", policy.hard_cap.to_string());
    check("--hard-byte-limit", format!("{}KiB", policy.hard_byte_limit >> 10));
    check("--fallback-byte-limit", format!("{}KiB", policy.fallback_byte_limit >> 10));
    check("--media-byte-limit", format!("{}MiB", policy.media_byte_limit >> 20));
    check("--full-below", policy.full_below.to_string());
    check("--default-page-size", policy.default_page_size.to_string());
    check("--max-page-size", policy.max_page_size.to_string());
    check("--summarize-above", policy.summarize_above.to_string());
    check("--chunk-above", policy.chunk_above.to_string());
    check("--chunk-size", policy.chunk_size.to_string());
    check("--chunk-lines", policy.chunk_lines.to_string());
    check("--warn-at", policy.warn_at.to_string());
    Ok(())
}

/// The options of a help text that have a default, and that.
fn options(help: &str) -> BTreeMap<String, String> {
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    let mut current = None;
    for line in help.lines() {
        let said = line.trim_start();
        let name = said.split_whitespace().next().unwrap_or_default();
        let begins = line.starts_with("      --");
        if begins || said.is_empty() || line.starts_with("  -h") {
            current = begins.then(|| name.to_owned());
        }
        if let Some(option) = &current {
            let text = found.entry(option.clone()).or_default();
            text.push_str(said);
            text.push(' ');
        }
    }
    let between = |text: &str, from: &str, to: &str| {
        let (_, rest) = text.split_once(from)?;
        Some(rest.split_once(to)?.0.to_owned())
    };
    let default = |text: &str| between(text, "[default: ", "]").or_else(|| between(text, "(default: ", ")"));
    found.into_iter().filter_map(|(option, text)| Some((option, default(&text)?))).collect()
}

#[test]
fn errors_list_every_code() -> Outcome {
    let page = page(ERRORS)?;
    let (begin, end) = ("<!-- codes: begin -->\n", "<!-- codes: end -->");
    let (before, rest) = page.split_once(begin).ok_or("no beginning of the codes")?;
    let (_, after) = rest.split_once(end).ok_or("no end of the codes")?;
    let mut table = String::from("| code | cause | repeat the call | HTTP |\n| --- | --- | --- | --- |\n");
    for ErrorInfo { name, json_rpc, http_status, retry, cause, .. } in ErrorCode::all().map(ErrorCode::info) {
        let retry = retry.phrase();
        writeln!(table, "| `{name}` | {cause} | {retry} | {http_status} |")?;
        let is_internal = ["after a check", "later"].contains(&retry) || *name == OTHER_INTERNAL;
        assert_eq!(is_internal, *json_rpc == -32603, "{name}: {ERRORS} tells its code in JSON-RPC");
    }
    check(ERRORS, &[before, begin, &table, end, after].concat())
}

#[test]
fn sections_about_errors_are_of_codes() -> Outcome {
    let page = page(ERRORS)?;
    let sections: Vec<(&str, &str)> =
        page.split("\n## ").skip(1).filter_map(|section| section.split_once('\n')).collect();
    for (code, text) in sections {
        assert!(ErrorCode::all().any(|known| known.name() == code), "there is no code {code}");
        let example = text.split("```console").nth(1).unwrap_or_default();
        let output = example.lines().skip(2).collect::<String>();
        let is_of_code = output.contains(&format!("{code}: "));
        assert!(output.is_empty() || is_of_code, "the example of {code} has another code");
    }
    Ok(())
}

#[test]
fn configuration_lists_the_usual_noise() -> Outcome {
    let configuration = page("docs/configuration.md")?.replace('\n', " ");
    let (_, rest) = configuration.split_once("these are noise:").ok_or("no list of noise")?;
    let (names, _) = rest.split_once(". `mode").ok_or("no end of the list of noise")?;
    let listed: Vec<&str> = names.split('`').skip(1).step_by(2).collect();
    let strip = portion_core::policy::StripRule::default_noise();
    assert_eq!(listed, strip.names(), "left: docs/configuration.md, right: the source");
    Ok(())
}
