//! The checks of the fuzz targets of this crate, run on their seeds.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

mod arguments;
mod cursor;
mod field_paths;
mod render;
#[path = "../../../../../fuzz/seeds.rs"]
mod seeds;
mod stored;

#[test]
fn seeds_of_arguments() {
    seeds::run("arguments", arguments::check);
}

#[test]
fn seeds_of_cursors() {
    seeds::run("cursor", cursor::check);
}

#[test]
fn seeds_of_field_paths() {
    seeds::run("field_paths", field_paths::check);
}

#[test]
fn seeds_of_replies() {
    seeds::run("render", render::check);
}

#[test]
fn seeds_of_stored_snapshots() {
    seeds::run("stored", stored::check);
}

/// Returns the names in a folder of `fuzz`, without their endings.
fn names_in(folder: &str, is_listed: impl Fn(&Path) -> bool) -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz").join(folder);
    let paths = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let stem = |path: &Path| path.file_stem().and_then(|stem| stem.to_str()).expect("a name").to_owned();
    paths.filter(|path| is_listed(path)).map(|path| stem(&path)).collect()
}

#[test]
fn every_target_has_seeds_that_a_test_runs() {
    let targets = names_in("fuzz_targets", |path| path.extension().is_some_and(|ending| ending == "rs"));
    assert_eq!(names_in("seeds", Path::is_dir), targets);
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let read =
        |path: &str| fs::read_to_string(crates.join(path)).unwrap_or_else(|why| panic!("{path}: {why}"));
    let tests = [
        "portion-core/tests/it",
        "portion-json/tests/scan",
        "portion-redact/tests/it",
        "portion-sql/tests/it",
        "portion-text/tests/it",
    ];
    let tests: String = tests.iter().map(|suite| read(&format!("{suite}/fuzz/mod.rs"))).collect();
    let (manifest, readme) = (read("../fuzz/Cargo.toml"), read("../fuzz/README.md"));
    for target in targets {
        assert!(tests.contains(&format!("seeds::run(\"{target}\", ")), "no test runs the seeds of {target}");
        assert!(manifest.contains(&format!("name = \"{target}\"")), "{target} is not in fuzz/Cargo.toml");
        assert!(readme.contains(&format!("| `{target}` |")), "{target} is not in fuzz/README.md");
    }
}
