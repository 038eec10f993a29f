//! The sources of a configuration: finds the file and the directories of the user, and reads the environment of this
//! process.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fmt, io};

use etcetera::BaseStrategy as _;
use sha2::{Digest as _, Sha256};
use thiserror::Error;

use crate::document::MAX_DOCUMENT_BYTES;
use crate::named_file::read_named_text;
use crate::reference::{ProcessEnvironment, SecretResolver};

/// Possible names of the file, in search order.
pub const FILE_NAMES: [&str; 3] = ["portion.yaml", "portion.yml", "portion.json"];
/// Variable that names the file if no option does.
pub const FILE_VARIABLE: &str = "PORTION_CONFIG";

/// Name of Portion's directory in each of them.
const APP_DIR: &str = "portion";

/// The error for a file that cannot be read.
#[derive(Debug, Error)]
#[error("cannot read {path}: {source}; name another file with --config", path = path.display())]
pub struct UnreadableFile {
    /// Path of the file.
    pub path: PathBuf,
    /// Cause of the error.
    #[source]
    pub source: io::Error,
}

/// Collects the sources of this process: the named or found file, its environment, and these options.
///
/// # Errors
/// If the file cannot be read.
pub fn find(named: Option<&Path>, options: Vec<(String, String)>) -> Result<Sources, UnreadableFile> {
    let file = locate_file(named).map(|path| read_file(&path).map(|text| (path, text))).transpose()?;
    let variables = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.to_string_lossy().into_owned())))
        .filter(|(name, _)| name.starts_with("PORTION_"))
        .collect();
    Ok(Sources { file, variables, options, secret_resolver: Some(Arc::new(ProcessEnvironment)) })
}

/// Returns the file named by an option or by `PORTION_CONFIG`, or else the first existing one: in the
/// working directory, then in the user's configuration directory.
pub fn locate_file(named: Option<&Path>) -> Option<PathBuf> {
    if let Some(named) = named {
        return Some(named.to_owned());
    }
    if let Some(named) = std::env::var_os(FILE_VARIABLE).filter(|named| !named.is_empty()) {
        return Some(named.into());
    }
    let directories = [Some(PathBuf::new()), config_dir()].into_iter().flatten();
    let mut files = directories.flat_map(|directory| FILE_NAMES.map(|name| directory.join(name)));
    // A directory of this name is reported when it is read: a container makes one in place of a missing file.
    files.find(|file| file.is_file() || file.is_dir())
}

/// Reads a file.
///
/// # Errors
/// If it cannot be read, is not text, or is larger than [`MAX_DOCUMENT_BYTES`].
pub fn read_file(path: &Path) -> Result<String, UnreadableFile> {
    let unreadable = |why| UnreadableFile { path: path.to_owned(), source: why };
    read_named_text(path, MAX_DOCUMENT_BYTES).map_err(unreadable)
}

/// The sources of a configuration. Later ones override earlier ones; keys in none of them come from the
/// profile or the default.
#[derive(Clone, Default)]
pub struct Sources {
    /// Path and content of the file.
    pub file: Option<(PathBuf, String)>,
    /// Environment variables; only those that begin with `PORTION_` are used.
    pub variables: Vec<(String, String)>,
    /// Keys and texts from the command line, in order. A key with a list may occur several times.
    pub options: Vec<(String, String)>,
    /// Resolver of references to secrets; `None` if they are not followed, as when only the form is
    /// checked.
    pub secret_resolver: Option<Arc<dyn SecretResolver>>,
}

impl Sources {
    /// Returns the sources with another file.
    pub(crate) fn with_file(&self, path: &Path, text: String) -> Self {
        Self { file: Some((path.to_owned(), text)), ..self.clone() }
    }
}

/// Shows names only, because values may be secret.
impl fmt::Debug for Sources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names =
            |pairs: &[(String, String)]| pairs.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        f.debug_struct("Sources")
            .field("file", &self.file.as_ref().map(|(path, _)| path))
            .field("variables", &names(&self.variables))
            .field("options", &names(&self.options))
            .finish_non_exhaustive()
    }
}

/// Returns the directory of the user's configuration file.
pub fn config_dir() -> Option<PathBuf> {
    Some(etcetera::choose_base_strategy().ok()?.config_dir().join(APP_DIR))
}

/// Returns the directory for the versions of a configuration file.
pub fn history_dir(file: &Path) -> Option<PathBuf> {
    let file = std::path::absolute(file).ok()?;
    let digest = Sha256::digest(file.as_os_str().as_encoded_bytes());
    let name = u64::from_be_bytes(std::array::from_fn(|i| digest[i]));
    Some(state_dir()?.join("config").join(format!("{name:016x}")))
}

/// Returns the directory for stored payloads.
pub fn snapshot_dir() -> Option<PathBuf> {
    Some(state_dir()?.join("snapshots"))
}

/// Returns the directory for the tokens of remote servers.
pub fn oauth_dir() -> Option<PathBuf> {
    Some(state_dir()?.join("oauth"))
}

/// Returns the directory for the backups of edited client configurations.
pub fn install_dir() -> Option<PathBuf> {
    Some(state_dir()?.join("install"))
}

/// Returns the file in which requests are recorded.
pub fn telemetry_file() -> Option<PathBuf> {
    let places = etcetera::choose_base_strategy().ok()?;
    Some(places.data_dir().join(APP_DIR).join("telemetry.db"))
}

/// Returns the directory for what must outlive the process.
fn state_dir() -> Option<PathBuf> {
    let places = etcetera::choose_base_strategy().ok()?;
    Some(places.state_dir().unwrap_or_else(|| places.data_dir()).join(APP_DIR))
}
