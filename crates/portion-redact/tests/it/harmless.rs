//! Data that speaks of secrets and contains none stays as it is.

use std::fs;
use std::path::{Path, PathBuf};

use portion_redact::RedactionRules;

/// Samples, one after the other, between lines `%%`. One that is a single line with `# ` names a class.
const SAMPLES: &str = include_str!("corpus/harmless.txt");
/// Smallest number of samples.
const MIN_SAMPLES: usize = 200;

fn redacted(text: &str) -> Option<String> {
    RedactionRules::default_secrets().redact(text).map(|(shown, _)| shown)
}

#[test]
fn samples_are_unchanged() {
    let is_class = |sample: &&str| !(sample.starts_with("# ") && sample.lines().count() == 1);
    let samples: Vec<&str> = SAMPLES.split("\n%%\n").map(str::trim_end).filter(is_class).collect();
    assert!(samples.len() >= MIN_SAMPLES, "{} samples", samples.len());
    let in_string = |text: &str| serde_json::json!({ "output": text }).to_string();
    let changed: Vec<String> = samples
        .iter()
        .flat_map(|sample| [(*sample).to_owned(), in_string(sample)])
        .filter_map(|text| Some(format!("{text}\n=> {}", redacted(&text)?)))
        .collect();
    assert!(changed.is_empty(), "{} changed:\n{}", changed.len(), changed.join("\n\n"));
}

/// The files of this repository that speak of secrets, but its documentation of redaction, which shows some.
#[test]
fn files_of_the_repository_are_unchanged() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for file in [
        "Cargo.lock",
        "Cargo.toml",
        "ARCHITECTURE.md",
        "tests/e2e/package-lock.json",
        "deny.toml",
        "docs/reference/limits.md",
    ] {
        let text = fs::read_to_string(root.join(file)).unwrap_or_else(|why| panic!("{file}: {why}"));
        let shown = redacted(&text).unwrap_or_else(|| text.clone());
        for (before, after) in text.lines().zip(shown.lines()) {
            assert_eq!(before, after, "{file}");
        }
        assert_eq!(text.len(), shown.len(), "{file}");
    }
}

/// Maximum bytes of a file that are read.
const MAX_SOURCE_BYTES: usize = 60_000;

/// The sources of this workspace, and some of the crates that Cargo has unpacked here, if any: only strings and comments may
/// hold what looks like a secret.
#[test]
fn code_outside_strings_is_unchanged() {
    let workspace = fs::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join("..")).expect("the crates");
    let mut sources = files_below(&workspace, "src");
    assert!(sources.len() > 500, "{} sources", sources.len());
    let cargo_home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let cargo_home = cargo_home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    let registry = cargo_home.map(|home| files_below(&home.join("registry/src"), "src")).unwrap_or_default();
    sources.extend(registry.into_iter().step_by(40));
    // The sources of this crate quote parts of notations.
    sources.retain(|path| !path.components().any(|part| part.as_os_str() == "portion-redact"));
    let changed: Vec<String> = sources
        .iter()
        .filter_map(|path| {
            let text = fs::read_to_string(path).ok()?;
            let text = &text[..text.floor_char_boundary(MAX_SOURCE_BYTES)];
            let shown = redacted(text)?;
            let (before, after) = (code_of(text), code_of(&shown));
            let (before, after) =
                before.lines().zip(after.lines()).find(|(before, after)| before != after)?;
            Some(format!("{}: {before}\n=> {after}", path.display()))
        })
        .collect();
    assert!(changed.is_empty(), "{} changed:\n{}", changed.len(), changed.join("\n"));
}

/// Returns the Rust files below the folders of this name, in order.
fn files_below(folder: &Path, name: &str) -> Vec<PathBuf> {
    let (mut folders, mut files) = (vec![folder.to_owned()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
            if path.is_dir() && !is_link {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs")
                && path.components().any(|part| part.as_os_str() == name)
            {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

/// Returns Rust code without the content of its strings and without comments.
fn code_of(text: &str) -> String {
    let (mut code, mut rest) = (String::new(), text);
    while let Some(at) = rest.find(['"', '/', '\'']) {
        let (before, found) = rest.split_at(at);
        code += before;
        let hashes = before.len() - before.trim_end_matches('#').len();
        let is_raw = before.trim_end_matches('#').ends_with('r');
        let len = if found.starts_with("//") {
            found.find('\n').unwrap_or(found.len())
        } else if found.starts_with("/*") {
            found.find("*/").map_or(found.len(), |len| len + 2)
        } else if found.starts_with("'\"'") || found.starts_with("'\\\"'") {
            found[1..].find('\'').map_or(found.len(), |len| len + 2)
        } else if found.starts_with('"') && is_raw {
            let end = format!("\"{}", "#".repeat(hashes));
            found[1..].find(&end).map_or(found.len(), |len| 1 + len + end.len())
        } else if let Some(inside) = found.strip_prefix('"') {
            let mut chars = inside.char_indices();
            let mut end = found.len();
            while let Some((at, c)) = chars.next() {
                match c {
                    '\\' => drop(chars.next()),
                    '"' => {
                        end = at + 2;
                        break;
                    }
                    _ => {}
                }
            }
            end
        } else {
            code.push_str(&found[..1]);
            1
        };
        rest = &found[len..];
    }
    code + rest
}
