//! Notes about a result. They go to stderr, so that piped output contains the result alone.

use portion_telemetry::read::{Filter, Retention};
use portion_telemetry::timestamp::readable;

/// A query and its result.
#[derive(Clone, Copy, Debug)]
pub(super) struct StatsResult<'a> {
    pub(super) requested: &'a Filter,
    /// Actual time range, if it differs.
    pub(super) effective: &'a Filter,
    /// True if it is computed from single requests alone.
    pub(super) uses_records: bool,
    /// True if the result is empty.
    pub(super) is_empty: bool,
}

/// Returns the notes.
pub(super) fn notes(retention: &Retention, answer: StatsResult<'_>) -> Vec<String> {
    let StatsResult { requested: asked, effective: of, uses_records: single, is_empty: empty } = answer;
    let mut notes = Vec::new();
    if empty {
        notes.push(match retention.span() {
            None => "nothing is recorded yet".to_owned(),
            Some(span) => format!(
                "no request matches; there are requests from {} to {}",
                readable(*span.start()),
                readable(*span.end())
            ),
        });
    }
    let Some(since) = retention.records_since().filter(|since| asked.since.is_none_or(|from| from < *since))
    else {
        return notes;
    };
    let since = readable(since);
    if single {
        notes.push(format!(
            "requests since {since}; of older ones only totals are stored: use portion stats without --requests, \
             --outcome, --experiment and --advise"
        ));
    } else if asked != of {
        let from = of.since.map(|from| format!(" from {}", readable(from))).unwrap_or_default();
        let to = of.until.map(|to| format!(" to {}", readable(to))).unwrap_or_default();
        notes.push(format!("time range{from}{to}; of requests before {since} only totals are stored"));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_said_of_what_is_whole() {
        let filter = Filter::default();
        let answer =
            StatsResult { requested: &filter, effective: &filter, uses_records: false, is_empty: false };
        assert_eq!(notes(&Retention::default(), answer), [] as [&str; 0]);
        assert_eq!(
            notes(&Retention::default(), StatsResult { is_empty: true, ..answer }),
            ["nothing is recorded yet"]
        );
    }
}
