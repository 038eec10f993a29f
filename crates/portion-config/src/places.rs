//! Where things are kept that belong to a user: by the conventions of the system.

use std::path::{Path, PathBuf};

use etcetera::BaseStrategy as _;
use sha2::{Digest as _, Sha256};

/// Our folder in each place.
const OURS: &str = "portion";

/// The folder for the versions of a configuration file.
pub fn history(file: &Path) -> Option<PathBuf> {
    let file = std::path::absolute(file).ok()?;
    let digest = Sha256::digest(file.as_os_str().as_encoded_bytes());
    let name: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let places = etcetera::choose_base_strategy().ok()?;
    let state = places.state_dir().unwrap_or_else(|| places.data_dir());
    Some(state.join(OURS).join("config").join(name))
}

/// The file that requests are recorded in.
pub fn telemetry() -> Option<PathBuf> {
    let places = etcetera::choose_base_strategy().ok()?;
    Some(places.data_dir().join(OURS).join("telemetry.db"))
}
