//! Errors of servers whose stderr is copied to ours: the end of it is not printed again.

use std::fmt::Display;

/// Line of an error before the end of the server's stderr.
const HEADING: &str = "\nIts stderr ended with:";

/// Returns the message of an error without the end of the server's stderr.
pub(super) fn without_stderr(error: &dyn Display) -> String {
    let message = error.to_string();
    message.split(HEADING).next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::without_stderr;

    #[test]
    fn the_end_of_stderr_is_left_out() {
        assert_eq!(without_stderr(&"it ended\nIts stderr ended with:\noops"), "it ended");
        assert_eq!(without_stderr(&"it ended"), "it ended");
    }
}
