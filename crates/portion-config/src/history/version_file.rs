//! Reads and writes the file of a version: its name, header line and text.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::sha256_hex;

/// Start of the header line.
const HEADER_PREFIX: &str = "# portion ";

/// Maximum bytes of the header line; paths are at most 4 KiB on Linux, and are escaped.
const MAX_HEADER_BYTES: u64 = 1 << 15;

/// One version of a configuration file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version {
    /// Number, rising from 1.
    #[serde(rename = "version")]
    pub number: u64,
    /// Time since when it was in force, or when another version replaced it, in microseconds since 1970.
    pub at: u64,
    /// Path of the configuration file, lossily if it is not Unicode: it is only displayed.
    pub source: String,
    /// SHA-256 of the text, in hexadecimal digits.
    pub sha256: String,
    /// Length of the text in bytes.
    pub bytes: usize,
}

/// Returns the file name of a version.
pub(super) fn file_name(number: u64) -> String {
    format!("{number:08}.yaml")
}

/// Parses the number of a version from its file name.
pub(super) fn parse_file_name(of: &str) -> Option<u64> {
    let number = of.strip_suffix(".yaml")?.parse().ok()?;
    (file_name(number) == of && number > 0).then_some(number)
}

/// Returns the header line of a version, with a line feed.
pub(super) fn header_line(version: &Version) -> String {
    // Serializing numbers and strings cannot fail.
    let about = serde_json::to_string(version).unwrap_or_default();
    format!("{HEADER_PREFIX}{about}\n")
}

/// Reads the header of a version, if its file has the length that the header gives.
pub(super) fn read_version(path: &Path, number: u64) -> Option<Version> {
    let file = File::open(path).ok()?;
    let length = file.metadata().ok().filter(std::fs::Metadata::is_file)?.len();
    let mut line = Vec::new();
    BufReader::new(file.take(MAX_HEADER_BYTES)).read_until(b'\n', &mut line).ok()?;
    let version = parse_header(&line, number)?;
    (length == (line.len() as u64).checked_add(version.bytes as u64)?).then_some(version)
}

/// Returns the text in the file of a version, if its hash matches.
pub(super) fn verified_text(bytes: &[u8], number: u64) -> Option<&str> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?.checked_add(1)?;
    let (line, text) = bytes.split_at_checked(end)?;
    let version = parse_header(line, number)?;
    let text = std::str::from_utf8(text).ok()?;
    (version.sha256 == sha256_hex(text)).then_some(text)
}

fn parse_header(line: &[u8], number: u64) -> Option<Version> {
    let about = line.strip_prefix(HEADER_PREFIX.as_bytes())?;
    serde_json::from_slice(about).ok().filter(|version: &Version| version.number == number)
}
