//! Columns of records, endpoints, forecasts and comparisons, one line each.

use portion_core::event::Outcome;
use serde_json::json;

use super::cell::Cell;
use super::format::Column;
use crate::experiment::{ArmSize, Comparison, Design, Measured};
use crate::read::{Record, Traffic};
use crate::statistics::Estimate;
use crate::what_if::Forecast;

/// One measure of a comparison as a row.
pub(super) struct ComparisonRow {
    endpoint: String,
    design: Design,
    shaped: ArmSize,
    unshaped: ArmSize,
    measured: Measured,
}

impl ComparisonRow {
    /// Returns a row for each measure.
    pub(super) fn rows(comparison: &Comparison) -> impl Iterator<Item = Self> {
        let Comparison { endpoint, design, shaped, unshaped, measures } = comparison.clone();
        let endpoint = endpoint.map_or_else(|| "all".to_owned(), |endpoint| endpoint.to_string());
        let row = move |measured| Self { endpoint: endpoint.clone(), design, shaped, unshaped, measured };
        measures.into_iter().map(row)
    }
}

pub(super) const REQUESTS: &[Column<Record>] = &[
    Column::machine("requestId", |record| Cell::text(format!("{:032x}", record.request))),
    Column::both("timestamp", "time", |record| Cell::Timestamp(record.at)),
    Column::machine("upstream", |record| Cell::maybe(record.endpoint.upstream.clone(), Cell::Text)),
    Column::machine("kind", |record| Cell::text(&record.endpoint.kind)),
    Column::machine("endpoint", |record| Cell::text(&record.endpoint.name)),
    Column::human("endpoint", |record| Cell::text(record.endpoint.to_string())),
    Column::both("outcome", "outcome", |record| Cell::text(&record.outcome)),
    Column::both("error", "error", |record| Cell::maybe(record.error.clone(), Cell::Text)),
    Column::both("followUp", "follow-up", |record| Cell::Flag(record.follow_up)),
    Column::machine("arguments", |record| Cell::Texts(record.arguments.clone())),
    Column::both("originalTokens", "came", |record| Cell::maybe(record.original_tokens, Cell::Count)),
    Column::both("estimatedTokens", "served", |record| Cell::maybe(record.estimated_tokens, Cell::Count)),
    Column::machine("actualTokens", |record| Cell::maybe(record.actual_tokens, Cell::Count)),
    Column::machine("budget", |record| Cell::maybe(record.budget, Cell::Count)),
    Column::machine("originalBytes", |record| Cell::Count(record.original_bytes)),
    Column::machine("responseBytes", |record| Cell::Count(record.response_bytes)),
    Column::both("itemCount", "items", |record| Cell::maybe(record.items, Cell::Count)),
    Column::machine("totalItems", |record| Cell::maybe(record.total_items, Cell::Count)),
    Column::machine("form", |record| Cell::maybe(record.form.clone(), Cell::Text)),
    Column::machine("tokensPerItem", |record| Cell::maybe(record.tokens_per_item, Cell::Number)),
    Column::both("latencyMs", "latency", |record| Cell::Time(record.latency)),
    Column::both("overheadMs", "overhead", |record| Cell::Time(record.overhead)),
    Column::machine("paginationUsed", |record| used(record, Outcome::Paginated)),
    Column::machine("summarizationUsed", |record| used(record, Outcome::Summarized)),
    Column::machine("chunkingUsed", |record| used(record, Outcome::Chunked)),
    Column::machine("queryUsed", |record| used(record, Outcome::Queried)),
    Column::machine("optimizationMetadata", |record| Cell::Texts(record.stages.clone())),
    Column::machine("experimentArm", |record| Cell::maybe(record.arm.clone(), Cell::Text)),
    Column::machine("shadowOutcome", |record| {
        Cell::maybe(record.shadow.clone(), |shadow| Cell::Text(shadow.outcome))
    }),
    Column::machine("shadowTokens", |record| {
        Cell::maybe(record.shadow.as_ref(), |shadow| Cell::Count(shadow.tokens))
    }),
    Column::machine("shadowBytes", |record| {
        Cell::maybe(record.shadow.as_ref(), |shadow| Cell::Count(shadow.bytes))
    }),
    Column::both("session", "session", |record| Cell::text(format!("{:016x}", record.session))),
    Column::machine("client", |record| Cell::maybe(record.client.clone(), Cell::Text)),
    Column::machine("configVersion", |record| Cell::Count(record.config)),
    Column::both("counter", "counter", |record| Cell::text(&record.counter)),
    Column::machine("origin", |record| {
        Cell::maybe(record.origin, |origin| Cell::Text(format!("{origin:016x}")))
    }),
    Column::machine("traceId", |record| {
        Cell::maybe(record.trace, |trace| Cell::Text(format!("{:032x}", trace.id)))
    }),
    Column::machine("spanId", |record| {
        Cell::maybe(record.trace, |trace| Cell::Text(format!("{:016x}", trace.span)))
    }),
];

/// The telemetry record of the data model of rental servers. No value is null, and paging and chunking exclude each other.
pub(super) const MODEL: &[Column<Record>] = &[
    Column::machine("requestId", |record| Cell::text(format!("{:032x}", record.request))),
    Column::machine("endpoint", |record| Cell::text(&record.endpoint.name)),
    Column::machine("timestamp", |record| Cell::Timestamp(record.at)),
    Column::machine("estimatedTokens", |record| Cell::Count(record.estimated_tokens.unwrap_or(0))),
    Column::machine("responseBytes", |record| Cell::Count(record.response_bytes)),
    Column::machine("itemCount", |record| Cell::Count(record.items.unwrap_or(0))),
    Column::machine("latencyMs", |record| Cell::Count(record.latency.as_millis() as u64)),
    Column::machine("paginationUsed", |record| Cell::Flag(is_used(record, Outcome::Paginated))),
    Column::machine("summarizationUsed", |record| Cell::Flag(is_used(record, Outcome::Summarized))),
    Column::machine("chunkingUsed", |record| {
        Cell::Flag(is_used(record, Outcome::Chunked) && !is_used(record, Outcome::Paginated))
    }),
    Column::machine("optimizationMetadata", |record| {
        Cell::Object(json!({
            "outcome": record.outcome,
            "stages": record.stages,
            "originalTokens": record.original_tokens,
            "originalBytes": record.original_bytes,
        }))
    }),
    Column::machine("tokensPerItem", |record| Cell::Number(record.tokens_per_item.unwrap_or(0.0))),
];

pub(super) const ENDPOINTS: &[Column<Traffic>] = &[
    Column::machine("upstream", |traffic| Cell::maybe(traffic.endpoint.upstream.clone(), Cell::Text)),
    Column::machine("kind", |traffic| Cell::text(&traffic.endpoint.kind)),
    Column::machine("endpoint", |traffic| Cell::text(&traffic.endpoint.name)),
    Column::human("endpoint", |traffic| Cell::text(traffic.endpoint.to_string())),
    Column::both("requests", "requests", |traffic| Cell::Count(traffic.stats.requests)),
    Column::machine("followUps", |traffic| Cell::Count(traffic.stats.follow_ups)),
    Column::both("counter", "counter", |traffic| Cell::text(&traffic.counter)),
    Column::both("originalTokens", "came", |traffic| Cell::Count(traffic.stats.original_tokens)),
    Column::both("servedTokens", "served", |traffic| Cell::Count(traffic.stats.served_tokens)),
    Column::both("reduction", "kept out", |traffic| Cell::maybe(traffic.stats.reduction(), Cell::Share)),
    Column::both("oversizedShare", "oversized", |traffic| {
        Cell::maybe(traffic.stats.oversized_share(), Cell::Share)
    }),
    Column::both("followUpsPerCall", "follow-ups", |traffic| {
        Cell::maybe(traffic.stats.follow_ups_per_first(), Cell::Number)
    }),
    Column::both("errors", "errors", |traffic| Cell::Count(traffic.stats.errors)),
    Column::both("expired", "expired", |traffic| outcomes(traffic, Outcome::Expired)),
    Column::both("refused", "refused", |traffic| outcomes(traffic, Outcome::Refused)),
    Column::machine("untouched", |traffic| outcomes(traffic, Outcome::Untouched)),
    Column::machine("unshaped", |traffic| outcomes(traffic, Outcome::Unshaped)),
    Column::machine("raw", |traffic| outcomes(traffic, Outcome::Raw)),
    Column::machine("paginated", |traffic| outcomes(traffic, Outcome::Paginated)),
    Column::machine("summarized", |traffic| outcomes(traffic, Outcome::Summarized)),
    Column::machine("projected", |traffic| outcomes(traffic, Outcome::Projected)),
    Column::machine("capped", |traffic| outcomes(traffic, Outcome::Capped)),
    Column::machine("chunked", |traffic| outcomes(traffic, Outcome::Chunked)),
    Column::machine("queried", |traffic| outcomes(traffic, Outcome::Queried)),
    Column::both("latencyP50Ms", "p50", |traffic| Cell::Time(traffic.stats.latency.p50)),
    Column::both("latencyP95Ms", "p95", |traffic| Cell::Time(traffic.stats.latency.p95)),
    Column::both("latencyP99Ms", "p99", |traffic| Cell::Time(traffic.stats.latency.p99)),
    Column::machine("sampled", |traffic| Cell::Count(traffic.stats.accuracy.sample_count)),
    Column::machine("estimatesNearShare", |traffic| {
        Cell::maybe(traffic.stats.accuracy.accurate_share(), Cell::Share)
    }),
    Column::machine("estimatesBias", |traffic| Cell::maybe(traffic.stats.accuracy.bias(), Cell::Number)),
    Column::machine("overheadP50Ms", |traffic| Cell::Time(traffic.stats.overhead.p50)),
    Column::machine("overheadP95Ms", |traffic| Cell::Time(traffic.stats.overhead.p95)),
    Column::machine("overheadP99Ms", |traffic| Cell::Time(traffic.stats.overhead.p99)),
];

pub(super) const FORECASTS: &[Column<Forecast>] = &[
    Column::machine("upstream", |forecast| Cell::maybe(forecast.endpoint.upstream.clone(), Cell::Text)),
    Column::machine("kind", |forecast| Cell::text(&forecast.endpoint.kind)),
    Column::machine("endpoint", |forecast| Cell::text(&forecast.endpoint.name)),
    Column::human("endpoint", |forecast| Cell::text(forecast.endpoint.to_string())),
    Column::both("requests", "requests", |forecast| Cell::Count(forecast.requests)),
    Column::both("changed", "changed", |forecast| Cell::Count(forecast.changed())),
    Column::both("passages", "most of them", |forecast| {
        Cell::maybe(forecast.outcome_changes.first(), |change| {
            let (before, after) = (change.before.name(), change.after.name());
            Cell::text(if before == after {
                format!("{before}, different size")
            } else {
                format!("{before} → {after}")
            })
        })
    }),
    Column::both("tokensBefore", "tokens", |forecast| Cell::Count(forecast.tokens_before)),
    Column::both("tokensAfter", "after", |forecast| Cell::Count(forecast.tokens_after)),
    Column::both("agreedShare", "as served", |forecast| {
        let share = forecast.agreed as f64 / forecast.requests as f64;
        Cell::maybe((forecast.requests > 0).then_some(share), Cell::Share)
    }),
    Column::both("unknown", "unknown", |forecast| Cell::Count(forecast.unknown)),
];

pub(super) const COMPARISONS: &[Column<ComparisonRow>] = &[
    Column::both("endpoint", "endpoint", |row| Cell::text(&row.endpoint)),
    Column::both("design", "design", |row| Cell::text(row.design.name())),
    Column::machine("measure", |row| Cell::text(row.measured.measure.name())),
    Column::human("measure", |row| Cell::text(row.measured.measure.title())),
    Column::both("shapedSessions", "n", |row| Cell::Count(row.shaped.sessions)),
    Column::machine("shapedRequests", |row| Cell::Count(row.shaped.requests)),
    Column::human("shaped", |row| with_interval(&row.measured, row.measured.shaped)),
    Column::machine("shaped", |row| value(row.measured.shaped)),
    Column::machine("shapedLow", |row| low(row.measured.shaped)),
    Column::machine("shapedHigh", |row| high(row.measured.shaped)),
    Column::both("unshapedSessions", "n", |row| Cell::Count(row.unshaped.sessions)),
    Column::machine("unshapedRequests", |row| Cell::Count(row.unshaped.requests)),
    Column::human("unshaped", |row| with_interval(&row.measured, row.measured.unshaped)),
    Column::machine("unshaped", |row| value(row.measured.unshaped)),
    Column::machine("unshapedLow", |row| low(row.measured.unshaped)),
    Column::machine("unshapedHigh", |row| high(row.measured.unshaped)),
    Column::human("difference", |row| with_interval(&row.measured, row.measured.difference)),
    Column::machine("difference", |row| value(row.measured.difference)),
    Column::machine("differenceLow", |row| low(row.measured.difference)),
    Column::machine("differenceHigh", |row| high(row.measured.difference)),
    Column::both("verdict", "shaped is", |row| Cell::text(row.measured.verdict.name())),
];

/// Returns the flag of a technique: whether the reply used it. For capped replies the stages tell it.
fn used(record: &Record, outcome: Outcome) -> Cell {
    Cell::Flag(is_used(record, outcome))
}

fn is_used(record: &Record, outcome: Outcome) -> bool {
    let name = outcome.name();
    let is_capped = record.outcome == Outcome::Capped.name();
    record.outcome == name || is_capped && record.stages.iter().any(|stage| stage == name)
}

fn outcomes(traffic: &Traffic, outcome: Outcome) -> Cell {
    Cell::Count(traffic.stats.of(outcome))
}

fn with_interval(measured: &Measured, estimate: Option<Estimate>) -> Cell {
    Cell::maybe(estimate, |estimate| Cell::Estimate(estimate, measured.measure.is_share()))
}

fn value(estimate: Option<Estimate>) -> Cell {
    Cell::maybe(estimate, |estimate| Cell::Number(estimate.value))
}

fn low(estimate: Option<Estimate>) -> Cell {
    Cell::maybe(estimate.and_then(|estimate| estimate.range), |(low, _)| Cell::Number(low))
}

fn high(estimate: Option<Estimate>) -> Cell {
    Cell::maybe(estimate.and_then(|estimate| estimate.range), |(_, high)| Cell::Number(high))
}
