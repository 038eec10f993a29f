//! The errors for which a command does not start, although its configuration is valid by itself.

use std::fmt;

use portion_config::Config;

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

#[cfg(test)]
mod tests {
    use portion_config::{Config, Sources};

    use super::StartError;

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
