//! The edge: looks for the file, and takes up the environment of this process.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use etcetera::BaseStrategy as _;
use thiserror::Error;

use crate::document::MAX_DOCUMENT_BYTES;
use crate::sources::{ProcessEnvironment, Sources};

/// The names that a file may have, in the order in which they are looked for.
pub const FILE_NAMES: [&str; 3] = ["portion.yaml", "portion.yml", "portion.json"];
/// The variable that names the file where no option does.
pub const FILE_VARIABLE: &str = "PORTION_CONFIG";

/// A file that cannot be read.
#[derive(Debug, Error)]
#[error("cannot read {path}: {source}; name another file with --config", path = path.display())]
pub struct UnreadableFile {
    /// The file.
    pub path: PathBuf,
    /// Why not.
    #[source]
    pub source: io::Error,
}

/// What configures this process: the file that is named, or else found, its environment, and these options.
///
/// # Errors
/// Where the file cannot be read.
pub fn find(named: Option<&Path>, options: Vec<(String, String)>) -> Result<Sources, UnreadableFile> {
    let file = locate_file(named).map(|path| read_file(&path).map(|text| (path, text))).transpose()?;
    let variables = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.to_string_lossy().into_owned())))
        .filter(|(name, _)| name.starts_with("PORTION_"))
        .collect();
    Ok(Sources { file, variables, options, secret_resolver: Some(Arc::new(ProcessEnvironment)) })
}

/// The file that is named by an option or by `PORTION_CONFIG`, or else the first that there is: in the working directory,
/// then in the user's configuration directory.
pub fn locate_file(named: Option<&Path>) -> Option<PathBuf> {
    if let Some(named) = named {
        return Some(named.to_owned());
    }
    if let Some(named) = std::env::var_os(FILE_VARIABLE).filter(|named| !named.is_empty()) {
        return Some(named.into());
    }
    let own = etcetera::choose_base_strategy().ok().map(|places| places.config_dir().join("portion"));
    let directories = [Some(PathBuf::new()), own].into_iter().flatten();
    let mut files = directories.flat_map(|directory| FILE_NAMES.map(|name| directory.join(name)));
    files.find(|file| file.is_file())
}

/// What is in a file.
///
/// # Errors
/// Where it cannot be read, is no text, or is larger than a configuration may be.
pub fn read_file(path: &Path) -> Result<String, UnreadableFile> {
    let unreadable = |why| UnreadableFile { path: path.to_owned(), source: why };
    let mut text = String::new();
    let file = File::open(path).map_err(unreadable)?;
    file.take(MAX_DOCUMENT_BYTES as u64 + 1).read_to_string(&mut text).map_err(unreadable)?;
    if text.len() > MAX_DOCUMENT_BYTES {
        return Err(unreadable(io::Error::other(format!("it is larger than {MAX_DOCUMENT_BYTES} bytes"))));
    }
    Ok(text)
}
