//! The demo as a user runs it: the real server, the real client, the real `portion wrap` between.
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

#[test]
fn shows_less_and_loses_nothing() -> Result<(), Box<dyn Error>> {
    let home = tempfile::tempdir()?;
    let output = at_home(&home).args(["demo", "--json"]).output()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(files(home.path())?, Vec::<PathBuf>::new(), "the demo leaves nothing behind");
    let report: Value = serde_json::from_slice(&output.stdout)?;
    for (part, least_units) in [("list", 1_000), ("log", 10_000), ("bookings", 500)] {
        let figure = |path: &str| {
            let found = report.pointer(&format!("/{part}/{path}"));
            found.and_then(Value::as_u64).ok_or_else(|| format!("no figure {part}/{path}"))
        };
        assert!(figure("directly/tokens")? > 200_000, "{part}");
        assert!(figure("first/tokens")? <= 4_000, "{part}");
        assert!(figure("proof/largestTokens")? <= 12_000, "{part}");
        assert!(figure("proof/units")? >= least_units, "{part}");
        assert_eq!(report[part]["proof"]["identical"], Value::Bool(true), "{part}");
    }
    let rules = |name: &str| report["rules"][name].as_u64().ok_or_else(|| format!("no figure rules/{name}"));
    assert!(rules("tokens")? <= rules("budget")? && rules("tokens")? > rules("budget")? * 9 / 10);
    assert!(
        rules("kept")? > 10
            && rules("kept")? + rules("dropped")? == rules("chunks")?
            && rules("dropped")? > 0
    );
    Ok(())
}

#[test]
fn the_demo_has_the_defaults_whatever_is_configured() -> Result<(), Box<dyn Error>> {
    for text in ["pagination: false\n", "colour: [\n"] {
        let home = tempfile::tempdir()?;
        let user = home.path().join("config/portion");
        fs::create_dir_all(&user)?;
        let configured = [home.path().join("portion.yaml"), user.join("portion.yaml")];
        configured.iter().try_for_each(|file| fs::write(file, text))?;
        let variables =
            [("PORTION_QUERY", "false"), ("PORTION_HARD_CAP", "x"), ("MAX_MCP_OUTPUT_TOKENS", "900")];
        let output = at_home(&home).args(["demo", "--json"]).envs(variables).output()?;
        assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
        let report: Value = serde_json::from_slice(&output.stdout)?;
        assert!(report["list"]["first"]["tokens"].as_u64().is_some_and(|tokens| tokens <= 4_000), "{text}");
        let mut left = files(home.path())?;
        left.sort();
        let mut expect = configured.to_vec();
        expect.sort();
        assert_eq!(left, expect, "no version of the file is recorded");
    }
    Ok(())
}

#[test]
fn commands_that_serve_nobody_record_nothing() -> Result<(), Box<dyn Error>> {
    let home = tempfile::tempdir()?;
    let lines =
        ["shape -", "config check", "config show", "config schema", "stats", "stats --advise", "demo-server"];
    for line in lines {
        at_home(&home).args(line.split_whitespace()).output()?;
        assert_eq!(files(home.path())?, Vec::<PathBuf>::new(), "{line}");
    }
    Ok(())
}

/// The program in a home directory of its own, with nothing of the caller's settings.
fn at_home(home: &TempDir) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_portion"));
    let ours = std::env::vars_os()
        .map(|(name, _)| name)
        .filter(|name| name.to_string_lossy().starts_with("PORTION_"));
    ours.for_each(|name| {
        command.env_remove(name);
    });
    for (name, folder) in
        [("XDG_DATA_HOME", "data"), ("XDG_STATE_HOME", "state"), ("XDG_CONFIG_HOME", "config")]
    {
        command.env(name, home.path().join(folder));
    }
    command.env("HOME", home.path()).current_dir(home.path()).stdin(Stdio::null());
    command
}

/// Every file below a folder.
fn files(folder: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let (mut folders, mut files) = (vec![folder.to_path_buf()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    Ok(files)
}
