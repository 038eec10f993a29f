//! Levels of the log, and the variable that sets the level for all commands.

use tracing::level_filters::LevelFilter;

use super::kind::join_choices;

/// Variable with the level, for all commands.
pub const LEVEL_VARIABLE: &str = "PORTION_LOG";
/// Names of the levels, the one with the fewest messages first.
pub(super) const LEVELS: &[&str] = &["off", "error", "warn", "info", "debug", "trace"];

/// The error for a text that is no level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidLevel;

/// Parses the value of [`LEVEL_VARIABLE`]: a name in any case, or a number from 0 (off) to 5. An empty text is no level.
///
/// # Errors
/// Returns [`InvalidLevel`] for any other text.
pub fn parse_level(text: &str) -> Result<Option<LevelFilter>, InvalidLevel> {
    // An empty text would be parsed as `error`.
    if text.is_empty() { Ok(None) } else { text.parse().map(Some).map_err(|_| InvalidLevel) }
}

/// Returns the names of the levels, for messages: `off, error … or trace`.
pub fn level_choices() -> String {
    join_choices(LEVELS, &[])
}

#[cfg(test)]
mod tests {
    use tracing::level_filters::LevelFilter;

    use super::{InvalidLevel, LEVELS, level_choices, parse_level};
    use crate::key::Key;

    #[test]
    fn every_name_is_a_level() {
        let parsed: Vec<_> = LEVELS.iter().map(|name| parse_level(name)).collect();
        let expect = [
            LevelFilter::OFF,
            LevelFilter::ERROR,
            LevelFilter::WARN,
            LevelFilter::INFO,
            LevelFilter::DEBUG,
            LevelFilter::TRACE,
        ];
        assert_eq!(parsed, expect.map(|level| Ok(Some(level))));
        let key = Key::by_name("logLevel").expect("a key");
        assert!(key.doc.ends_with(&level_choices()), "{}", key.doc);
    }

    #[test]
    fn other_texts_are_none() {
        assert_eq!(parse_level(""), Ok(None));
        assert_eq!(parse_level("Info"), Ok(Some(LevelFilter::INFO)));
        assert_eq!(parse_level("verbose"), Err(InvalidLevel));
    }
}
