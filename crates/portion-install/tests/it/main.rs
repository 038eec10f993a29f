//! Edits of configuration files.

mod errors;
mod files;
mod formats;
mod http;
mod laws;
mod locations;

use portion_install::format::Format;
use portion_install::{Edited, Target, install, uninstall};

/// Path of Portion in the tests.
const PORTION: &str = "/opt/portion";

const STDIO: Target<'_> = Target { program: PORTION, include_http: false, options: &[] };
const HTTP: Target<'_> = Target { program: PORTION, include_http: true, options: &[] };

fn edited(text: &str, format: Format, target: &Target<'_>) -> Edited {
    install(text, format, target, &|_| true).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Checks the installed text, that it stays as it is, and that uninstalling restores the bytes.
#[track_caller]
fn check(text: &str, format: Format, target: &Target<'_>, expect: &str) {
    let installed = edited(text, format, target);
    assert_eq!(installed.text, expect, "installed");
    assert_eq!(edited(expect, format, target).text, expect, "installed again");
    let restored = uninstall(expect, format, &|_| true).expect("valid");
    assert_eq!(restored.text, text, "restored");
}
