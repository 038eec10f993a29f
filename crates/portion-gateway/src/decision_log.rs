//! Logs each reply: sizes and codes, never content.

use portion_core::event::{ExperimentArm, Outcome, RequestServed, ServedError};

/// Logs the record of a served request.
pub(crate) fn log_served(served: &RequestServed) {
    let summary = match served.outcome {
        Outcome::Expired | Outcome::Refused => "served a fault",
        Outcome::Untouched => "passed untouched",
        Outcome::Unshaped => "relayed unshaped",
        _ => "served a portion",
    };
    let shadow = served.shadow.as_ref();
    tracing::info!(
        request_id = %format_args!("{:032x}", served.request),
        upstream = served.upstream.as_deref(),
        endpoint = &*served.endpoint,
        outcome = served.outcome.name(),
        error = served.error.map(ServedError::name),
        original_bytes = (served.original_bytes > 0).then_some(served.original_bytes),
        bytes = served.response_bytes,
        reduction = reduction(served.original_bytes, served.response_bytes),
        original_tokens = served.original_tokens,
        tokens = served.estimated_tokens,
        stages = join_names(&served.stage_names()),
        arguments = join_names(&served.arguments),
        arm = served.arm.map(ExperimentArm::name),
        would_be = shadow.map(|shadow| shadow.outcome.name()),
        would_be_bytes = shadow.map(|shadow| shadow.bytes),
        would_be_tokens = shadow.map(|shadow| shadow.tokens),
        "{summary}"
    );
}

/// Logs that ranked results do not fit.
pub(crate) fn log_dropped_results(upstream: Option<&str>, endpoint: &str, dropped: usize) {
    tracing::warn!(upstream, endpoint, dropped, "ranked results remain for the next portion");
}

/// Logs a query on `original_bytes` and the size of its answer before it is shaped. `arguments`: names of the
/// arguments, the kind of the query first.
pub(crate) fn log_query(
    upstream: Option<&str>,
    endpoint: &str,
    arguments: &[&str],
    matches: usize,
    original_bytes: usize,
    answer_bytes: usize,
) {
    let kind = arguments.first().copied().unwrap_or_default();
    let arguments = join_names(arguments);
    tracing::info!(upstream, endpoint, kind, arguments, matches, original_bytes, answer_bytes, "queried");
}

/// Returns the saved share of the payload, rounded to a thousandth; `None` if nothing was saved.
fn reduction(original: u64, served: u64) -> Option<f64> {
    (served < original).then(|| ((1.0 - served as f64 / original as f64) * 1e3).round() / 1e3)
}

/// Joins names into one string, because log fields cannot be lists.
fn join_names(names: &[impl AsRef<str>]) -> Option<String> {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    (!names.is_empty()).then(|| names.join(","))
}

#[cfg(test)]
mod tests {
    use super::reduction;

    #[test]
    fn reductions_are_relative_to_the_original() {
        let cases = [
            (0, 0, None),
            (1000, 250, Some(0.75)),
            (3, 1, Some(0.667)),
            (1000, 1000, None),
            (100, 150, None),
        ];
        for (original, served, expect) in cases {
            assert_eq!(reduction(original, served), expect);
        }
    }
}
