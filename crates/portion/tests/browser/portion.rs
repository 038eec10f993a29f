//! The program, showing a file of records.

use std::io::{self, BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use super::Outcome;

/// The program, showing a file of records.
pub(crate) struct Portion {
    process: Child,
    /// `http://127.0.0.1:PORT`.
    pub(crate) url: String,
    /// The records.
    pub(crate) file: PathBuf,
    _folder: TempDir,
}

impl Portion {
    /// Starts it; `write` makes the records, or none.
    pub(crate) fn show(write: impl FnOnce(&Path)) -> Outcome<Self> {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("telemetry.db");
        write(&file);
        let program = std::env::var_os("PORTION_BIN").unwrap_or_else(|| env!("CARGO_BIN_EXE_portion").into());
        let mut command = Command::new(program);
        command.args(["dashboard", "--listen", "127.0.0.1:0", "--telemetry"]).arg(&file);
        let mut process = command.current_dir(folder.path()).stderr(Stdio::piped()).spawn()?;
        let said = process.stderr.take().ok_or("a piped stream is there once")?;
        let mut line = String::new();
        BufReader::new(said).read_line(&mut line)?;
        let url = line.split("listening on ").nth(1).map(|url| url.trim().trim_end_matches('/').to_owned());
        let url = url.ok_or_else(|| io::Error::other(format!("it says {line:?}")))?;
        Ok(Self { process, url, file, _folder: folder })
    }
}

impl Drop for Portion {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
