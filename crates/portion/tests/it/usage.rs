//! Wrong usage is answered with what is meant, before any server is started.

use std::error::Error;
use std::process::{Command, Stdio};

/// `line` ends with a code other than 0, stdout stays empty, and stderr says `expect`.
fn check(line: &str, expect: &str) -> Result<(), Box<dyn Error>> {
    check_with(line, &[], expect)
}

fn check_with(line: &str, variables: &[(&str, &str)], expect: &str) -> Result<(), Box<dyn Error>> {
    let output = Command::new(env!("CARGO_BIN_EXE_portion"))
        .args(line.split_whitespace())
        .envs(variables.iter().copied())
        .env("NO_COLOR", "1")
        .stdin(Stdio::null())
        .output()?;
    let told = String::from_utf8(output.stderr)?;
    assert!(!output.status.success(), "{line}");
    assert!(output.stdout.is_empty(), "{line}");
    assert!(told.contains(expect), "{line}: {told}");
    assert!(!told.contains("tip: to pass"), "{line}: {told}");
    assert!(!told.contains("s3cret"), "{line}: {told}");
    Ok(())
}

#[test]
fn the_command_stands_after_the_options() -> Result<(), Box<dyn Error>> {
    check("wrap", "give its command after `--`")?;
    check("wrap no-such-server -y --lean x", "cannot start `no-such-server`: not found on PATH")?;
    check("wrap --lean no-such-server -- x", "cannot start `no-such-server`: not found on PATH")?;
    check("wrap --url http://x/ cat", "cannot be used with")?;
    check("serve --listen 127.0.0.1:0 no-such-server -y", "`no-such-server`: not found on PATH")?;
    check("fetch --tool x no-such-server -y", "`no-such-server`: not found on PATH")?;
    check("try no-such-server -y", "cannot start `no-such-server`: not found on PATH")?;
    check("wrap --admin cat", "if cat begins the server's command, write `--` before it")?;
    check("wrap --hard-capp 1 -- cat", "tip: a similar argument exists: '--hard-cap'")?;
    check("wrap -y -- cat", "unexpected argument '-y'")?;
    check("wrap -- no-such-server", "cannot start `no-such-server`: not found on PATH")
}

/// `words` end with code 2, and stderr says `expect`.
fn check_wrong_usage(words: &[&str], expect: &str) -> Result<(), Box<dyn Error>> {
    let output = Command::new(env!("CARGO_BIN_EXE_portion")).args(words).stdin(Stdio::null()).output()?;
    let told = String::from_utf8(output.stderr)?;
    assert_eq!(output.status.code(), Some(2), "{words:?}: {told}");
    assert!(output.stdout.is_empty() && told.contains(expect), "{words:?}: {told}");
    Ok(())
}

#[test]
fn wrong_usage_has_an_exit_code_of_its_own() -> Result<(), Box<dyn Error>> {
    let check =
        |line: &str, expect: &str| check_wrong_usage(&line.split_whitespace().collect::<Vec<_>>(), expect);
    for command in ["wrap", "serve", "check"] {
        check(command, "--url")?;
        check(&format!("{command} --url localhost"), "is neither http:// nor https://")?;
        check(&format!("{command} --url http://x/ --header A:${{NO_SUCH_VARIABLE}}"), "which is not set")?;
    }
    check("fetch --tool x --url ftp://x/", "is neither http:// nor https://")?;
    check("http --upstream localhost", "is neither http:// nor https://")?;
    check("http --upstream http://x/ --header bad", "has no colon")?;
    check("wrap --server nosuch", "the configuration has no server nosuch; give its command after `--`")?;
    check("wrap --no-browser -- cat", "the options of a login need a server over HTTP")?;
    check("wrap --upstream http://x/", "is the base URL of a REST API")?;
    check("serve --upstream a=cat --upstream a=ls", "two servers have the path /a/mcp")?;
    check("serve --auth passthrough -- cat", "auth passthrough needs exactly one upstream")?;
    check("serve --listen 0.0.0.0:8765 -- cat", "or add --insecure")?;
    check("serve --allow-origin https://*.example.com -- cat", "which matches no request")?;
    check("login nosuch", "nosuch: this is not the URL of a server")?;
    check("logout nosuch", "nosuch: this is not the URL of a server")?;
    check("login http://example.com/", "a login needs https")?;
    check("install --file x --client cursor --client zed", "--file needs at most one --client")?;
    check("shape Cargo.toml --limit 0", "limit_invalid")?;
    for command in ["try", "check", "doctor"] {
        check(&format!("{command} --timeout 0"), "write a whole number of seconds from 1")?;
    }
    check("fetch --timeout 0s --tool x -- cat", "write a time above 0")?;
    check("config diff nosuch.yaml", "name the file to compare with: portion config diff FILE")?;
    let name = "`a b` is not a name of a caller: write 1 to 64 letters, digits, `_`, `-`, `.` or `@`";
    check_wrong_usage(&["token", "a b"], name)
}

#[test]
fn credentials_of_a_url_are_not_shown() -> Result<(), Box<dyn Error>> {
    for command in ["login", "logout"] {
        let url = "http://ann:s3cret@127.0.0.1:1/mcp?key=s3cret";
        let refused = "http://127.0.0.1:1/mcp: the URL contains a user or password; remove it";
        check(&format!("{command} {url}"), refused)?;
        check(
            &format!("{command} ftp://host/mcp?key=s3cret"),
            "ftp://host/mcp: this is not the URL of a server",
        )?;
        check(
            &format!("{command} http://example.com/mcp?key=s3cret"),
            "http://example.com/mcp: a login needs https",
        )?;
        check(&format!("{command} ann:s3cret@host"), "host: this is not the URL of a server")?;
    }
    Ok(())
}

#[cfg(target_os = "linux")]
#[test]
fn a_help_that_cannot_be_written_is_a_failure() -> Result<(), Box<dyn Error>> {
    for line in ["--help", "wrap -h", "--version", "login --list --json"] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full")?;
        let command = env!("CARGO_BIN_EXE_portion");
        let output =
            Command::new(command).args(line.split(' ')).stdout(full).stderr(Stdio::piped()).output()?;
        let told = String::from_utf8(output.stderr)?;
        assert_eq!(output.status.code(), Some(1), "{line}: {told}");
        assert!(
            told.starts_with("portion: stdout cannot be written: No space left on device"),
            "{line}: {told}"
        );
    }
    Ok(())
}

#[test]
fn an_unknown_command_is_named() -> Result<(), Box<dyn Error>> {
    let usage = "\n\nUsage: portion <COMMAND>\n\nFor more";
    check(
        "wrp",
        &format!("unrecognized subcommand 'wrp'\n\n  tip: a similar subcommand exists: 'wrap'{usage}"),
    )?;
    // The only similar commands are hidden.
    check("watch-group", &format!("unrecognized subcommand 'watch-group'{usage}"))?;
    check("xyzzy", &format!("unrecognized subcommand 'xyzzy'{usage}"))
}

#[cfg(unix)]
#[test]
fn input_without_end_is_an_error() -> Result<(), Box<dyn Error>> {
    let limit = [("PORTION_UPSTREAM_MESSAGE_LIMIT", "1MiB")];
    check_with("shape /dev/zero", &limit, "/dev/zero is larger than 1048576 bytes")?;
    check("shape /dev/zero", "/dev/zero is larger than 268435456 bytes")?;
    check("calibrate /dev/zero", "cannot read /dev/zero: a line is longer than")
}

#[test]
fn a_server_is_a_command_or_a_url() -> Result<(), Box<dyn Error>> {
    check("wrap", "its URL with --url")?;
    check("wrap --url http://x/ -- cat", "cannot be used with")?;
    check("wrap --header A:b -- cat", "cannot be used with")?;
    let named = "serve --listen 127.0.0.1:0 --upstream a=http://127.0.0.1:9/mcp --header A:b";
    check(named, "--header needs --url, --openapi or --upstream URL")?;
    check("wrap --url localhost:3000/mcp", "write it as http://HOST:PORT/PATH")?;
    check("wrap --url http://x/ --transport ws", "[possible values: auto, http, sse]")?;
    check("wrap --url http://127.0.0.1:9/sse --transport sse", "127.0.0.1:9 cannot be reached")
}

#[test]
fn other_machines_are_refused_without_insecure() -> Result<(), Box<dyn Error>> {
    for at in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        let refused = format!("other machines can reach {at}, and callers of ");
        check(&format!("serve --listen {at} -- cat"), &refused)?;
        check(&format!("serve --listen 127.0.0.1:0 --admin {at} -- cat"), &refused)?;
        check(&format!("wrap --admin {at} -- cat"), &refused)?;
        check(&format!("dashboard --listen {at} --telemetry /nowhere"), &refused)?;
    }
    check("serve --listen 0.0.0.0:8765 -- cat", "use --listen 127.0.0.1:8765, or add --insecure")?;
    // With it, the next error is reported: this address does not exist.
    check(
        "serve --listen 192.0.2.1:1 --insecure --admin off -- cat",
        "portion: warning: every machine that reaches 192.0.2.1:1",
    )?;
    check("serve --listen 192.0.2.1:1 --insecure --admin off -- cat", "cannot listen at 192.0.2.1:1")
}

#[test]
fn a_transport_without_a_url_is_refused() -> Result<(), Box<dyn Error>> {
    let none = "--transport needs a server URL on the command line";
    check("serve --transport http", none)?;
    check("serve --transport http --upstream a=cat", none)?;
    check("wrap --transport http", none)
}

#[test]
fn what_a_header_holds_is_never_shown() -> Result<(), Box<dyn Error>> {
    check("wrap --url http://x/ --header Bearer-s3cret", "this header has no colon; write 'Name: value'")?;
    check(
        "wrap --url http://x/ --header A:${NO_SUCH_VARIABLE}",
        "variable NO_SUCH_VARIABLE, which is not set",
    )?;
    check("wrap --url http://x/ --header A:$x", "write $$")?;
    check_with("wrap --url http://x/ --header A:${ODD}", &[("ODD", "s3cret\u{1}")], "the header `A`")
}

#[test]
fn what_stands_before_the_host_of_a_store_is_never_shown() -> Result<(), Box<dyn Error>> {
    for store in ["redis:me:s3cret@h", "redis:/me:s3cret@h", "me:s3cret@h", "redis+sentinel:me:s3cret@h"] {
        check(&format!("wrap --store {store} -- cat"), "store is `…@h`, which is not a store")?;
        check_with("wrap -- cat", &[("PORTION_STORE", store)], "store is `…@h`, which is not a store")?;
    }
    Ok(())
}

#[test]
fn values_say_what_they_take() -> Result<(), Box<dyn Error>> {
    check("wrap --hard-cap many -- cat", "write a whole number from 600, such as 12000")?;
    check("wrap --hard-cap -5 -- cat", "invalid value '-5'")?;
    check("wrap --warn-at high -- cat", "write a number above 0 and at most 1")?;
    check("wrap --snapshot-ttl soon -- cat", "such as 90s, 10m or 1h")?;
    check("wrap --snapshot-memory lots -- cat", "such as 64KiB or 5MiB")?;
    check("wrap --upstream-message-limit 8GiB -- cat", "write a size from 64KiB to below 4GiB")?;
    check("wrap --tokenizer gpt -- cat", "write auto, o200k, cl100k, claude, chars4 or len4")?;
    check(
        "wrap --preset emacs -- cat",
        "`emacs`, which is not known; write none, auto, code, claude-code, claude-desktop, codex,",
    )?;
    check("wrap --read-tool a.b -- cat", "1 to 64 letters, digits")?;
    check("wrap --catalog short -- cat", "write full, trim or lazy")
}

#[test]
fn limits_are_named_as_they_are_given() -> Result<(), Box<dyn Error>> {
    let crossed = "--hard-cap: hardCap is 900, below tokenBudgetThreshold, which is 4000";
    check("wrap --hard-cap 900 -- cat", crossed)?;
    check("wrap --reply-target 10 -- cat", "which is too small; write a whole number from 300")?;
    check("wrap --warn-at 7 -- cat", "which is out of range")?;
    let from = [("PORTION_HARD_CAP", "many"), ("PORTION_WARN_AT", "7")];
    check_with("wrap -- cat --hard-cap 1", &from, "PORTION_HARD_CAP: hardCap is `many`")?;
    check_with("wrap -- cat --hard-cap 1", &from, "PORTION_WARN_AT: warnAt is `7`")
}

#[test]
fn what_a_command_cannot_use_is_named() -> Result<(), Box<dyn Error>> {
    check("stats --since banana", "90s, 2h or 7d, or a date such as 2026-11-22, with a time such as")?;
    check("stats --telemetry .", ". cannot be read: it is a directory")?;
    check("stats --telemetry Cargo.toml", "Cargo.toml is not a Portion telemetry file")
}
