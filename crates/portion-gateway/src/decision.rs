//! What was decided about a reply, for the log: sizes and codes, never content.

use portion_core::event::{Arm, Outcome, Served};

/// A reply is sent.
pub(crate) fn served(served: &Served) {
    let Served { outcome, original_bytes, response_bytes: bytes, arm, .. } = served;
    let (endpoint, error, outcome_name) = (&*served.endpoint, served.error, outcome.name());
    match outcome {
        Outcome::Expired | Outcome::Refused => {
            tracing::info!(endpoint, outcome = outcome_name, error, "served a fault");
        }
        Outcome::Untouched => tracing::info!(endpoint, error, original_bytes, "passed untouched"),
        Outcome::Unshaped => {
            let shadow = served.shadow.as_ref();
            tracing::info!(
                endpoint,
                error,
                original_bytes,
                arm = arm.map(Arm::name),
                would_be = shadow.map(|shadow| shadow.outcome.name()),
                would_be_bytes = shadow.map(|shadow| shadow.bytes),
                would_be_tokens = shadow.map(|shadow| shadow.tokens),
                "relayed unshaped"
            );
        }
        _ => tracing::info!(
            endpoint,
            outcome = outcome_name,
            error,
            original_bytes,
            bytes,
            reduction = %format_args!("{:.1} %", reduction(*original_bytes, *bytes)),
            original_tokens = served.original_tokens,
            tokens = served.estimated_tokens,
            stages = ?served.stages,
            arguments = ?served.arguments,
            arm = arm.map(Arm::name),
            "served a portion"
        ),
    }
}

/// Ranked results do not fit.
pub(crate) fn dropped(endpoint: &str, dropped: usize) {
    tracing::warn!(endpoint, dropped, "ranked results are left for the next portion");
}

/// A question about `original_bytes` has an answer of so many, which is portioned next. `arguments` are the names of what
/// it was put with, its kind first.
pub(crate) fn queried(
    endpoint: &str,
    arguments: &[&str],
    matches: usize,
    original_bytes: usize,
    answer_bytes: usize,
) {
    let kind = arguments.first().copied().unwrap_or_default();
    tracing::info!(endpoint, kind, ?arguments, matches, original_bytes, answer_bytes, "queried");
}

/// By how much a reply is smaller than its payload, in per cent; negative where the notice makes it larger.
fn reduction(original: u64, served: u64) -> f64 {
    if original == 0 { 0.0 } else { 100.0 - 100.0 * served as f64 / original as f64 }
}

#[cfg(test)]
mod tests {
    use super::reduction;

    #[test]
    fn reductions_are_of_the_original() {
        let cases = [(0, 0, "0.0"), (1000, 250, "75.0"), (1000, 1000, "0.0"), (100, 150, "-50.0")];
        for (original, served, expect) in cases {
            assert_eq!(format!("{:.1}", reduction(original, served)), expect);
        }
    }
}
