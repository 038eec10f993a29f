//! `portion config init`: writes a file to begin with.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::path::Path;

use portion_config::{json_template, schema, template};
use serde_json::json;

use super::sources::{print, print_json};
use crate::command::CommandResult;

/// Suffix of the file with the JSON Schema, in place of that of the configuration.
const SCHEMA_SUFFIX: &str = "schema.json";

/// Writes a file with all keys as comments, and its JSON Schema beside it. A JSON file has no comments, and refers to the
/// schema only. An existing configuration is never replaced.
pub(super) fn run(file: &Path, as_json: bool) -> CommandResult {
    let schema_file = file.with_extension(SCHEMA_SUFFIX);
    let schema_name = schema_file.file_name().map_or(SCHEMA_SUFFIX.into(), |name| name.to_string_lossy());
    let mut written = OpenOptions::new().write(true).create_new(true).open(file).map_err(|error| {
        let file = file.display();
        match error.kind() {
            ErrorKind::AlreadyExists => format!("{file} exists; name another file: portion config init FILE"),
            _ => format!("cannot write {file}: {error}"),
        }
    })?;
    let is_json = file.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
    let text = if is_json { json_template(&schema_name) } else { template(&schema_name) };
    written.write_all(text.as_bytes())?;
    std::fs::write(&schema_file, format!("{:#}\n", schema()))
        .map_err(|error| format!("cannot write {}: {error}", schema_file.display()))?;
    if as_json {
        return print_json(&json!({
            "file": file.display().to_string(),
            "schema": schema_file.display().to_string(),
        }));
    }
    let content = if is_json { "which names its schema" } else { "with all keys as comments" };
    print(&format!(
        "wrote {}, {content}, and {} for editors\nset keys in it, then run: portion config check {0}\n",
        file.display(),
        schema_file.display()
    ))
}
