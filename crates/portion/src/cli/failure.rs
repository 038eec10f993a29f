//! Errors that end the program with the code of wrong usage, and the JSON document that a command with `--json` prints if
//! it fails: `{"error":{"code":…,"message":…,"hint":…}}`.

use std::error::Error;
use std::fmt;

use portion_config::{Config, Errors, find};
use portion_policy::upstream::UpstreamTargetError;
use serde::Serialize;
use serde_json::{Value, json};
use thiserror::Error;

use crate::cli::terminal::print_stdout;

/// Result of a part of a command.
pub(crate) type Result<T, E = Box<dyn Error>> = std::result::Result<T, E>;

/// An invalid command line: arguments that do not go together, or a value that cannot be used.
#[derive(Debug, Error)]
#[error("{0}")]
pub(crate) struct UsageError(String);

impl From<String> for UsageError {
    fn from(message: String) -> Self {
        Self(message)
    }
}

impl From<&str> for UsageError {
    fn from(message: &str) -> Self {
        Self(message.to_owned())
    }
}

/// Returns true for an error of the command line or of the configuration.
pub(crate) fn is_wrong_usage(error: &(dyn Error + 'static)) -> bool {
    error.is::<UsageError>()
        || error.is::<UpstreamTargetError>()
        || error.is::<Errors>()
        || error.is::<find::UnreadableFile>()
}

/// A failure for programs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Failure {
    code: FailureCode,
    message: String,
    /// Suggestion, if the message does not contain it.
    hint: Option<String>,
}

/// Returns the errors for which a command would not start with a configuration.
pub(crate) type StartCheck = Box<dyn Fn(&Config) -> Vec<StartError> + Send + Sync>;

/// An error for which a command does not start.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct StartError {
    /// Place of the value, or the file; `None` if there is no file.
    pub(crate) place: Option<String>,
    /// The problem and its remedy.
    pub(crate) message: String,
}

/// Kind of a failure. The first two have the exit code 2, the third has 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum FailureCode {
    InvalidUsage,
    InvalidConfiguration,
    Failed,
}

impl Failure {
    /// Creates the failure of a command whose command line and configuration are valid.
    pub(crate) fn from_message(message: impl Into<String>) -> Self {
        Self { code: FailureCode::Failed, message: message.into(), hint: None }
    }

    /// Creates the failure of a command that ended with an error.
    pub(crate) fn from_error(error: &(dyn Error + 'static)) -> Self {
        let code = if error.is::<Errors>() || error.is::<find::UnreadableFile>() {
            FailureCode::InvalidConfiguration
        } else if is_wrong_usage(error) {
            FailureCode::InvalidUsage
        } else {
            FailureCode::Failed
        };
        Self { code, ..Self::from_message(error.to_string()) }
    }

    /// Creates the failure of a command line that cannot be parsed.
    pub(crate) fn from_parser(error: &clap::Error) -> Self {
        Self::from_parser_text(&error.render().to_string())
    }

    /// Reads the message and the suggestion from the text of the parser, which are paragraphs of it.
    fn from_parser_text(text: &str) -> Self {
        let mut paragraphs = text.split("\n\n");
        let message = joined(paragraphs.next().unwrap_or_default());
        let message = message.strip_prefix("error: ").unwrap_or(&message);
        let hint = paragraphs.map(joined).find_map(|text| text.strip_prefix("tip: ").map(str::to_owned));
        Self { code: FailureCode::InvalidUsage, message: message.to_owned(), hint }
    }

    /// Returns the value of the member `error` of a document.
    pub(crate) fn to_json(&self) -> Value {
        json!(self)
    }

    /// Prints the document on stdout. A stdout that cannot be written changes no exit code.
    pub(crate) fn print(&self) {
        let _ = print_stdout(&format!("{}\n", json!({ "error": self })));
    }
}

impl StartError {
    /// Creates an error in the value of a key.
    pub(crate) fn at_key(config: &Config, key: &str, error: &impl ToString) -> Self {
        match config.top().get(key) {
            Some(set) => Self { place: Some(set.origin.to_string()), message: error.to_string() },
            None => Self::in_file(config, error),
        }
    }

    /// Creates an error in the file as a whole.
    pub(crate) fn in_file(config: &Config, error: &impl ToString) -> Self {
        let place = config.file().map(|file| file.display().to_string());
        Self { place, message: error.to_string() }
    }
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Some(place) => write!(f, "{place}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

/// Returns a text on one line.
fn joined(text: &str) -> String {
    text.lines().map(str::trim).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use portion_config::{Config, Sources};

    use super::*;
    use crate::cli::failure::UsageError;

    #[test]
    fn the_code_is_that_of_the_error() {
        let check = |error: Box<dyn Error>, code: &str| {
            let expect = json!({ "code": code, "message": error.to_string(), "hint": null });
            assert_eq!(Failure::from_error(error.as_ref()).to_json(), expect);
        };
        check("no route".into(), "failed");
        check(UsageError::from("no name").into(), "invalid_usage");
        check(Errors(Vec::new()).into(), "invalid_configuration");
    }

    #[test]
    fn texts_of_the_parser_are_a_message_and_a_hint() {
        let check = |text: &str, message: &str, hint: Option<&str>| {
            let failure = Failure::from_parser_text(text);
            assert_eq!((failure.message.as_str(), failure.hint.as_deref()), (message, hint), "{text}");
        };
        let usage = "\n\nUsage: portion shape <FILE>\n\nFor more information, try '--help'.\n";
        check(&format!("error: '--x' is unknown{usage}"), "'--x' is unknown", None);
        check(&format!("error: missing:\n  <FILE>{usage}"), "missing: <FILE>", None);
        check(&format!("error: no 'a'\n\n  tip: there is 'b'{usage}"), "no 'a'", Some("there is 'b'"));
    }

    #[test]
    fn an_error_names_the_place_of_its_value_or_the_file() {
        let check = |file: Option<&str>, expect: [&str; 2]| {
            let file = file.map(|text| ("portion.yaml".into(), text.to_owned()));
            let (config, _) = Config::load(&Sources { file, ..Sources::default() }, 1).expect("valid");
            let errors = [StartError::at_key(&config, "admin", &"no"), StartError::in_file(&config, &"no")];
            assert_eq!(errors.map(|error| error.to_string()), expect);
        };
        check(Some("hardCap: 12000\nadmin: off\n"), ["portion.yaml:2:1: no", "portion.yaml: no"]);
        check(Some("{}"), ["portion.yaml: no", "portion.yaml: no"]);
        check(None, ["no", "no"]);
    }
}
