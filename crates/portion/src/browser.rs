//! Opens pages in the user's browser.

use std::process::{Command, Stdio};

/// Opens a page. Without a browser, the URL that was printed remains.
pub(crate) fn open(url: &str) {
    let (program, first): (&str, &[&str]) = match std::env::consts::OS {
        "macos" => ("open", &[]),
        // No shell, which would split the URL at `&`.
        "windows" => ("rundll32", &["url.dll,FileProtocolHandler"]),
        _ => ("xdg-open", &[]),
    };
    let mut command = Command::new(program);
    command.args(first).arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match command.spawn() {
        Ok(mut child) => drop(std::thread::spawn(move || child.wait())),
        Err(error) => {
            crate::terminal::print_stderr!("portion: no browser could be opened ({program}: {error})");
        }
    }
}
