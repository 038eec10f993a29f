//! What was decided about a reply, for the log: sizes and codes, never content.

use portion_core::payload::Payload;
use portion_core::render::Portion;

use crate::call::{Endpoint, Fault};
use crate::renderer::payload_bytes;

/// A payload passes as it came.
pub(crate) fn untouched(original_bytes: usize, endpoint: Option<&Endpoint>) {
    tracing::info!(endpoint = name(endpoint), original_bytes, "passed untouched");
}

/// A portion is sent. The payload is as large as `original_bytes`.
pub(crate) fn portion(original_bytes: usize, portion: &Portion, endpoint: Option<&Endpoint>) {
    let pieces = portion.pieces().iter().map(|piece| piece.body.as_str().len());
    let bytes = pieces.sum::<usize>() + portion.structured().map_or(0, str::len) + portion.notice().len();
    tracing::info!(
        endpoint = name(endpoint),
        kind = portion.kind(),
        original_bytes,
        bytes,
        reduction = %format_args!("{:.1} %", reduction(original_bytes, bytes)),
        tokens = portion.tokens(),
        stages = ?portion.stages(),
        "served a portion"
    );
    if portion.dropped() > 0 {
        tracing::warn!(
            endpoint = name(endpoint),
            dropped = portion.dropped(),
            "ranked results are left for the next portion"
        );
    }
}

/// A question about `original_bytes` has an answer, which is portioned next. `arguments` are the names of what it was put
/// with, its kind first.
pub(crate) fn queried(
    original_bytes: usize,
    arguments: &[&str],
    answer: &Payload,
    endpoint: Option<&Endpoint>,
) {
    let kind = arguments.first().copied().unwrap_or_default();
    let matches = answer.answer.as_ref().map_or(0, |answer| answer.matches);
    let answer_bytes = payload_bytes(answer);
    tracing::info!(
        endpoint = name(endpoint),
        kind,
        ?arguments,
        matches,
        original_bytes,
        answer_bytes,
        "queried"
    );
}

/// A fault is sent.
pub(crate) fn fault(fault: &Fault, endpoint: Option<&Endpoint>) {
    tracing::info!(endpoint = name(endpoint), code = fault.code, "served a fault");
}

/// By how much a reply is smaller than its payload, in per cent; negative where the notice makes it larger.
fn reduction(original: usize, served: usize) -> f64 {
    if original == 0 { 0.0 } else { 100.0 - 100.0 * served as f64 / original as f64 }
}

fn name(endpoint: Option<&Endpoint>) -> &str {
    endpoint.map_or("", |endpoint| &endpoint.name)
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
