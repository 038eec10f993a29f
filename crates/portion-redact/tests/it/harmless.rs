//! Data that speaks of secrets and contains none stays as it is.

use std::fs;
use std::path::Path;

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
