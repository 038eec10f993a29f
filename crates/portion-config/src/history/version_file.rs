//! A version as it lies on disk: its name, the line about it, its text.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::sha256_hex;

/// What the line about a version begins with.
const HEADER_PREFIX: &str = "# portion ";

/// The longest such line; paths are at most 4 KiB on Linux, and written with escapes.
const MAX_HEADER_BYTES: u64 = 1 << 15;

/// One version of a configuration file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version {
    /// Its number, rising from 1.
    #[serde(rename = "version")]
    pub number: u64,
    /// Since when it was in force, in microseconds since 1970.
    pub at: u64,
    /// The configuration file.
    #[serde(with = "path")]
    pub source: PathBuf,
    /// The SHA-256 of its text, in hexadecimal digits.
    pub sha256: String,
    /// How long its text is.
    pub bytes: usize,
}

/// The name of a version's file.
pub(super) fn file_name(number: u64) -> String {
    format!("{number:08}.yaml")
}

/// The number that a name stands for.
pub(super) fn parse_file_name(of: &str) -> Option<u64> {
    let number = of.strip_suffix(".yaml")?.parse().ok()?;
    (file_name(number) == of && number > 0).then_some(number)
}

/// The line about a version, with its end.
pub(super) fn header_line(version: &Version) -> String {
    // Numbers and strings always can be written.
    let about = serde_json::to_string(version).unwrap_or_default();
    format!("{HEADER_PREFIX}{about}\n")
}

/// Reads what is said about a version, if its file is as long as that says.
pub(super) fn read_version(path: &Path, number: u64) -> Option<Version> {
    let file = File::open(path).ok()?;
    let length = file.metadata().ok().filter(std::fs::Metadata::is_file)?.len();
    let mut line = Vec::new();
    BufReader::new(file.take(MAX_HEADER_BYTES)).read_until(b'\n', &mut line).ok()?;
    let version = parse_header(&line, number)?;
    (length == (line.len() as u64).checked_add(version.bytes as u64)?).then_some(version)
}

/// The text in a version's file, if it is what was written.
pub(super) fn verified_text(kept: &[u8], number: u64) -> Option<&str> {
    let end = kept.iter().position(|byte| *byte == b'\n')?.checked_add(1)?;
    let (line, text) = kept.split_at_checked(end)?;
    let version = parse_header(line, number)?;
    let text = std::str::from_utf8(text).ok()?;
    (version.sha256 == sha256_hex(text)).then_some(text)
}

fn parse_header(line: &[u8], number: u64) -> Option<Version> {
    let about = line.strip_prefix(HEADER_PREFIX.as_bytes())?;
    serde_json::from_slice(about).ok().filter(|version: &Version| version.number == number)
}

/// Paths as texts: one that is not Unicode is shown as well as can be, it is only told.
mod path {
    use std::path::{Path, PathBuf};

    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&path.to_string_lossy())
    }

    pub(super) fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<PathBuf, D::Error> {
        String::deserialize(from).map(PathBuf::from)
    }
}
