//! The demo as a user runs it: the real server, the real client, the real `portion wrap` between.
use std::error::Error;
use std::process::Command;

use serde_json::Value;

#[test]
fn shows_less_and_loses_nothing() -> Result<(), Box<dyn Error>> {
    let output = Command::new(env!("CARGO_BIN_EXE_portion")).args(["demo", "--json"]).output()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout)?;
    for (part, least_units) in [("list", 1_000), ("log", 10_000)] {
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
    Ok(())
}
