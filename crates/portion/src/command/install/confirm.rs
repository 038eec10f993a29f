//! Asks before files are written.

use std::io::{self, IsTerminal as _, Write as _};

/// The answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// Write.
    Yes,
    /// Do not write.
    No,
    /// Nobody can be asked.
    NoTerminal,
}

/// Asks whether to write, unless the user has said so already.
pub(super) fn confirm(yes: bool, files: usize) -> io::Result<Answer> {
    if yes {
        return Ok(Answer::Yes);
    }
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Ok(Answer::NoTerminal);
    }
    let files = if files == 1 { "this file".to_owned() } else { format!("these {files} files") };
    write!(io::stderr(), "Write {files}? [y/N] ")?;
    let mut line = String::new();
    io::stdin().read_line(&mut line)?;
    let agreed = matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes");
    Ok(if agreed { Answer::Yes } else { Answer::No })
}
