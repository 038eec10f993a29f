//! Runs the seeds of a fuzz target as ordinary tests.

use std::fs;
use std::path::Path;

/// Checks each file of `fuzz/seeds/TARGET`. The output of a failing test ends with the name of its seed.
pub(crate) fn run(target: &str, check: impl Fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(target);
    let files = fs::read_dir(&folder).unwrap_or_else(|why| panic!("{}: {why}", folder.display()));
    let mut paths: Vec<_> = files.map(|file| file.expect("a file").path()).collect();
    paths.sort();
    assert!(!paths.is_empty(), "{target} has no seeds");
    for path in paths {
        eprintln!("{}", path.display());
        check(&fs::read(&path).unwrap_or_else(|why| panic!("{}: {why}", path.display())));
    }
}
