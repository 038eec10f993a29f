//! `portion config init`: writes a file to begin with.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::path::Path;
use std::process::ExitCode;

use portion_config::{json_template, schema, template};
use serde_json::{Value, json};

use crate::cli::failure::UsageError;
use crate::cli::terminal::{folded, print_stdout, reported};
use crate::command::CommandResult;

/// Suffix of the file with the JSON Schema, in place of that of the configuration.
const SCHEMA_SUFFIX: &str = "schema.json";

/// Writes a file with all keys as comments, and its JSON Schema beside it. A JSON file has no comments, and refers to the
/// schema only. An existing configuration is never replaced, and an existing schema only if it is one of Portion.
/// `named`: the value of `--config`, which names a file to read.
pub(super) fn run(file: &Path, named: Option<&Path>, as_json: bool) -> CommandResult {
    if let Some(named) = named {
        let message = format!(
            "--config names a file to read; name the file to write without it: portion config init {}",
            named.display()
        );
        return Err(UsageError::from(message).into());
    }
    if has_extension(file, "toml") {
        let message = format!(
            "a configuration is YAML or JSON, not TOML; name another file: portion config init {}",
            file.with_extension("yaml").display()
        );
        return Err(UsageError::from(message).into());
    }
    let schema_file = file.with_extension(SCHEMA_SUFFIX);
    let schema_name = schema_file.file_name().map_or(SCHEMA_SUFFIX.into(), |name| name.to_string_lossy());
    check_replaceable(&schema_file)?;
    let mut written = OpenOptions::new().write(true).create_new(true).open(file).map_err(|error| {
        let file = file.display();
        match error.kind() {
            ErrorKind::AlreadyExists => format!("{file} exists; name another file: portion config init FILE"),
            _ => format!("cannot write {file}: {error}"),
        }
    })?;
    let is_json = has_extension(file, "json");
    let text = if is_json { json_template(&schema_name) } else { template(&schema_name) };
    written
        .write_all(text.as_bytes())
        .map_err(|error| format!("cannot write {}: {error}", file.display()))?;
    std::fs::write(&schema_file, format!("{:#}\n", schema()))
        .map_err(|error| format!("cannot write {}: {error}", schema_file.display()))?;
    let done = format!("{} and {} were written", file.display(), schema_file.display());
    reported(print_stdout(&report(file, &schema_file, as_json)), Some(&done), ExitCode::SUCCESS)
}

fn report(file: &Path, schema_file: &Path, as_json: bool) -> String {
    if as_json {
        let report = json!({
            "file": file.display().to_string(),
            "schema": schema_file.display().to_string(),
        });
        return format!("{report:#}\n");
    }
    let is_json = has_extension(file, "json");
    let content = if is_json { "which names its schema" } else { "with all keys as comments" };
    let (file, schema_file) = (file.display(), schema_file.display());
    let written = folded(&format!("wrote {file}, {content}, and {schema_file} for editors"));
    // A command is not folded, so that it can be copied.
    format!("{written}set keys in it, then run: portion config check {file}\n")
}

fn has_extension(file: &Path, name: &str) -> bool {
    file.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(name))
}

/// Checks that there is no file, or a schema of Portion, which may be of another version.
fn check_replaceable(schema_file: &Path) -> Result<(), String> {
    let is_ours = match std::fs::read(schema_file) {
        Ok(bytes) => is_own_schema(&bytes),
        Err(error) => error.kind() == ErrorKind::NotFound,
    };
    if is_ours {
        return Ok(());
    }
    let file = schema_file.display();
    Err(format!("{file} exists and is not a schema of Portion; name another file: portion config init FILE"))
}

fn is_own_schema(bytes: &[u8]) -> bool {
    let found: Value = serde_json::from_slice(bytes).unwrap_or_default();
    found.get("title").is_some_and(|title| schema().get("title") == Some(title))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(schema: &str, expect: bool) {
        assert_eq!(is_own_schema(schema.as_bytes()), expect, "{schema}");
    }

    #[test]
    fn schemas_of_others_are_told_from_ours() {
        check(&schema().to_string(), true);
        check(r#"{"title": "Configuration of Portion", "properties": {}}"#, true);
        check(r#"{"title": "Orders", "type": "object"}"#, false);
        check(r#"{"type": "object"}"#, false);
        check("[1, 2]", false);
        check("no JSON", false);
        check("", false);
    }
}
