//! Formats a calibration for people and for programs.

use std::fmt::Write as _;

use portion_telemetry::calibration::{Calibration, MIN_REQUESTS, Observations};
use portion_text::display::counted;
use portion_tokens::Factor;
use serde_json::{Value, json};

use super::LogScan;

/// Formats the report as text, with the lines for the configuration.
pub(super) fn to_text(found: &LogScan) -> String {
    let mut out = String::new();
    for (name, observations) in &found.by_tokenizer {
        let _ = writeln!(out, "{name}, {}", counted(observations.len(), "request"));
        match observations.calibration() {
            Some(calibration) => write_figures(&mut out, &calibration),
            None => out.push_str(
                "  no factor: the log needs requests of several sizes whose charge grows with size\n",
            ),
        }
        out.push('\n');
    }
    if found.by_tokenizer.is_empty() {
        out.push_str("no usable request\n\n");
    }
    let several = found.by_tokenizer.len() > 1;
    for (name, observations) in &found.by_tokenizer {
        match advise(observations) {
            Advice::Factor(factor, calibration) => {
                let which = if several { format!(", for models of {name}") } else { String::new() };
                let _ = writeln!(out, "# portion.yaml{which}\ntokenizer: {name}\ntokenizerFactor: {factor}");
                if let Some(safe) =
                    Factor::from_f64(ceil_to_thousandth(calibration.safe)).filter(|safe| *safe > factor)
                {
                    let _ = writeln!(out, "# {safe} under-counts at most one request in twenty");
                }
            }
            Advice::TooFew(count) => {
                let _ = writeln!(out, "{name}: no advice: {count} of at least {MIN_REQUESTS} requests");
            }
            Advice::OutOfRange(factor) => {
                let range = format_args!("{} to {}", Factor::MIN, Factor::MAX);
                let _ =
                    writeln!(out, "{name}: no advice: {factor:.3} is outside {range}; check the tokenizer");
            }
            Advice::None => {}
        }
    }
    for (why, passed) in &found.unusable {
        let entries = counted(passed.count as usize, "unusable entry");
        let _ = writeln!(out, "{entries}: {why}; first at {}", passed.first_location);
    }
    out
}

/// Returns the report as JSON.
pub(super) fn to_json(found: &LogScan) -> Value {
    let families: Vec<Value> =
        found.by_tokenizer.iter().map(|(name, observations)| family_json(name, observations)).collect();
    let unusable = found.unusable.iter().map(
        |(why, passed)| json!({ "reason": why.to_string(), "entries": passed.count, "first": passed.first_location }),
    );
    json!({ "families": families, "unusable": unusable.collect::<Vec<_>>() })
}

/// Returns the lines for the configuration.
enum Advice {
    Factor(Factor, Calibration),
    TooFew(usize),
    OutOfRange(f64),
    None,
}

fn advise(observations: &Observations) -> Advice {
    let Some(calibration) = observations.calibration() else { return Advice::None };
    let value = calibration.factor.value;
    match Factor::from_f64(value) {
        _ if observations.len() < MIN_REQUESTS => Advice::TooFew(observations.len()),
        Some(factor) => Advice::Factor(factor, calibration),
        None => Advice::OutOfRange(value),
    }
}

fn write_figures(out: &mut String, calibration: &Calibration) {
    let Calibration { factor, overhead, near_before, near_after, under, .. } = calibration;
    let range = factor.range.map(|(low, high)| format!(" (95 % interval {low:.3} to {high:.3})"));
    let _ = writeln!(out, "  factor         {:.3}{}", factor.value, range.unwrap_or_default());
    let _ = writeln!(out, "  overhead       {overhead:.0} tokens per request, not in replies");
    let near = (100.0 * near_before, 100.0 * near_after);
    let _ = writeln!(
        out,
        "  within 20 %    {:.0} % of requests without the factor, {:.0} % with it",
        near.0, near.1
    );
    let _ = writeln!(out, "  under-counted  {:.0} % of requests with the factor", 100.0 * under);
}

fn family_json(name: &str, observations: &Observations) -> Value {
    let calibration = observations.calibration();
    let of = |figure: fn(&Calibration) -> f64| calibration.as_ref().map(figure).map(round_to_thousandth);
    let range = calibration.and_then(|calibration| calibration.factor.range);
    let advised = match advise(observations) {
        Advice::Factor(factor, _) => Some(factor.as_f64()),
        Advice::TooFew(_) | Advice::OutOfRange(_) | Advice::None => None,
    };
    json!({
        "tokenizer": name,
        "requests": observations.len(),
        "factor": of(|calibration| calibration.factor.value),
        "factorLow": range.map(|(low, _)| round_to_thousandth(low)),
        "factorHigh": range.map(|(_, high)| round_to_thousandth(high)),
        "overheadTokens": of(|calibration| calibration.overhead),
        "nearBefore": of(|calibration| calibration.near_before),
        "nearAfter": of(|calibration| calibration.near_after),
        "underCounted": of(|calibration| calibration.under),
        "safeFactor": of(|calibration| ceil_to_thousandth(calibration.safe)),
        "tokenizerFactor": advised,
    })
}

fn round_to_thousandth(figure: f64) -> f64 {
    (1_000.0 * figure).round() / 1_000.0
}

/// Rounds up to a thousandth.
fn ceil_to_thousandth(figure: f64) -> f64 {
    (1_000.0 * figure).ceil() / 1_000.0
}
