//! Directories for the data of a user, by the conventions of the system.

use std::path::{Path, PathBuf};

use etcetera::BaseStrategy as _;
use sha2::{Digest as _, Sha256};

/// Name of Portion's directory in each of them.
const APP_DIR: &str = "portion";

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
