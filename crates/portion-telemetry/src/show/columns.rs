//! What is shown of records, endpoints, comparisons and forecasts: one line a column.

use portion_core::event::Outcome;

use super::cell::Cell;
use super::format::Column;
use crate::against::Forecast;
use crate::experiment::{Comparison, Design, Measured, Size};
use crate::read::{Record, Traffic};
use crate::statistics::Estimate;

/// A row of comparisons.
pub(super) struct Compared {
    endpoint: String,
    design: Design,
    shaped: Size,
    unshaped: Size,
    measured: Measured,
}

impl Compared {
    /// A row for each measure.
    pub(super) fn rows(comparison: &Comparison) -> impl Iterator<Item = Self> {
        let Comparison { endpoint, design, shaped, unshaped, measures } = comparison.clone();
        let endpoint = endpoint.map_or_else(|| "all".to_owned(), |endpoint| endpoint.to_string());
        let row = move |measured| Self { endpoint: endpoint.clone(), design, shaped, unshaped, measured };
        measures.into_iter().map(row)
    }
}

pub(super) const REQUESTS: &[Column<Record>] = &[
    Column::programs("requestId", |record| Cell::text(format!("{:032x}", record.request))),
    Column::both("timestamp", "time", |record| Cell::Moment(record.at)),
    Column::programs("upstream", |record| Cell::maybe(record.endpoint.upstream.clone(), Cell::Text)),
    Column::programs("kind", |record| Cell::text(&record.endpoint.kind)),
    Column::programs("endpoint", |record| Cell::text(&record.endpoint.name)),
    Column::people("endpoint", |record| Cell::text(record.endpoint.to_string())),
    Column::both("outcome", "outcome", |record| Cell::text(&record.outcome)),
    Column::both("error", "error", |record| Cell::maybe(record.error.clone(), Cell::Text)),
    Column::both("followUp", "follow-up", |record| Cell::Yes(record.follow_up)),
    Column::programs("arguments", |record| Cell::Texts(record.arguments.clone())),
    Column::both("originalTokens", "came", |record| Cell::maybe(record.original_tokens, Cell::Count)),
    Column::both("estimatedTokens", "served", |record| Cell::maybe(record.estimated_tokens, Cell::Count)),
    Column::programs("actualTokens", |record| Cell::maybe(record.actual_tokens, Cell::Count)),
    Column::programs("budget", |record| Cell::maybe(record.budget, Cell::Count)),
    Column::programs("originalBytes", |record| Cell::Count(record.original_bytes)),
    Column::programs("responseBytes", |record| Cell::Count(record.response_bytes)),
    Column::both("itemCount", "items", |record| Cell::maybe(record.items, Cell::Count)),
    Column::programs("totalItems", |record| Cell::maybe(record.total_items, Cell::Count)),
    Column::programs("form", |record| Cell::maybe(record.form.clone(), Cell::Text)),
    Column::programs("tokensPerItem", |record| Cell::maybe(record.tokens_per_item, Cell::Number)),
    Column::both("latencyMs", "latency", |record| Cell::Time(record.latency)),
    Column::both("overheadMs", "ours", |record| Cell::Time(record.overhead)),
    Column::programs("paginationUsed", |record| used(record, Outcome::Paginated)),
    Column::programs("summarizationUsed", |record| used(record, Outcome::Summarized)),
    Column::programs("chunkingUsed", |record| used(record, Outcome::Chunked)),
    Column::programs("queryUsed", |record| used(record, Outcome::Queried)),
    Column::programs("optimizationMetadata", |record| Cell::Texts(record.stages.clone())),
    Column::programs("experimentArm", |record| Cell::maybe(record.arm.clone(), Cell::Text)),
    Column::programs("shadowOutcome", |record| {
        Cell::maybe(record.shadow.clone(), |shadow| Cell::Text(shadow.outcome))
    }),
    Column::programs("shadowTokens", |record| {
        Cell::maybe(record.shadow.as_ref(), |shadow| Cell::Count(shadow.tokens))
    }),
    Column::programs("shadowBytes", |record| {
        Cell::maybe(record.shadow.as_ref(), |shadow| Cell::Count(shadow.bytes))
    }),
    Column::both("session", "session", |record| Cell::text(format!("{:016x}", record.session))),
    Column::programs("configVersion", |record| Cell::Count(record.config)),
    Column::programs("counter", |record| Cell::text(&record.counter)),
    Column::programs("origin", |record| {
        Cell::maybe(record.origin, |origin| Cell::Text(format!("{origin:016x}")))
    }),
    Column::programs("traceId", |record| {
        Cell::maybe(record.trace, |trace| Cell::Text(format!("{:032x}", trace.id)))
    }),
    Column::programs("spanId", |record| {
        Cell::maybe(record.trace, |trace| Cell::Text(format!("{:016x}", trace.span)))
    }),
];

pub(super) const ENDPOINTS: &[Column<Traffic>] = &[
    Column::programs("upstream", |traffic| Cell::maybe(traffic.endpoint.upstream.clone(), Cell::Text)),
    Column::programs("kind", |traffic| Cell::text(&traffic.endpoint.kind)),
    Column::programs("endpoint", |traffic| Cell::text(&traffic.endpoint.name)),
    Column::people("endpoint", |traffic| Cell::text(traffic.endpoint.to_string())),
    Column::both("requests", "requests", |traffic| Cell::Count(traffic.figures.requests)),
    Column::programs("followUps", |traffic| Cell::Count(traffic.figures.follow_ups)),
    Column::both("originalTokens", "came", |traffic| Cell::Count(traffic.figures.original_tokens)),
    Column::both("servedTokens", "served", |traffic| Cell::Count(traffic.figures.served_tokens)),
    Column::both("reduction", "kept out", |traffic| Cell::maybe(traffic.figures.reduction(), Cell::Share)),
    Column::both("oversizedShare", "oversized", |traffic| {
        Cell::maybe(traffic.figures.oversized_share(), Cell::Share)
    }),
    Column::both("followUpsPerCall", "follow-ups", |traffic| {
        Cell::maybe(traffic.figures.follow_ups_per_first(), Cell::Number)
    }),
    Column::both("errors", "errors", |traffic| Cell::Count(traffic.figures.errors)),
    Column::both("expired", "expired", |traffic| outcomes(traffic, Outcome::Expired)),
    Column::both("refused", "refused", |traffic| outcomes(traffic, Outcome::Refused)),
    Column::programs("untouched", |traffic| outcomes(traffic, Outcome::Untouched)),
    Column::programs("unshaped", |traffic| outcomes(traffic, Outcome::Unshaped)),
    Column::programs("raw", |traffic| outcomes(traffic, Outcome::Raw)),
    Column::programs("paginated", |traffic| outcomes(traffic, Outcome::Paginated)),
    Column::programs("summarized", |traffic| outcomes(traffic, Outcome::Summarized)),
    Column::programs("projected", |traffic| outcomes(traffic, Outcome::Projected)),
    Column::programs("capped", |traffic| outcomes(traffic, Outcome::Capped)),
    Column::programs("chunked", |traffic| outcomes(traffic, Outcome::Chunked)),
    Column::programs("queried", |traffic| outcomes(traffic, Outcome::Queried)),
    Column::both("latencyP50Ms", "p50", |traffic| Cell::Time(traffic.figures.latency.p50)),
    Column::both("latencyP95Ms", "p95", |traffic| Cell::Time(traffic.figures.latency.p95)),
    Column::both("latencyP99Ms", "p99", |traffic| Cell::Time(traffic.figures.latency.p99)),
    Column::programs("sampled", |traffic| Cell::Count(traffic.figures.accuracy.sampled)),
    Column::programs("estimatesNearShare", |traffic| {
        Cell::maybe(traffic.figures.accuracy.near_share(), Cell::Share)
    }),
    Column::programs("estimatesBias", |traffic| Cell::maybe(traffic.figures.accuracy.bias(), Cell::Number)),
    Column::programs("overheadP50Ms", |traffic| Cell::Time(traffic.figures.overhead.p50)),
    Column::programs("overheadP95Ms", |traffic| Cell::Time(traffic.figures.overhead.p95)),
    Column::programs("overheadP99Ms", |traffic| Cell::Time(traffic.figures.overhead.p99)),
];

pub(super) const FORECASTS: &[Column<Forecast>] = &[
    Column::programs("upstream", |forecast| Cell::maybe(forecast.endpoint.upstream.clone(), Cell::Text)),
    Column::programs("kind", |forecast| Cell::text(&forecast.endpoint.kind)),
    Column::programs("endpoint", |forecast| Cell::text(&forecast.endpoint.name)),
    Column::people("endpoint", |forecast| Cell::text(forecast.endpoint.to_string())),
    Column::both("requests", "requests", |forecast| Cell::Count(forecast.requests)),
    Column::both("changed", "changed", |forecast| Cell::Count(forecast.changed())),
    Column::both("passages", "most of them", |forecast| {
        Cell::maybe(forecast.passages.first(), |passage| {
            let (before, after) = (passage.before.name(), passage.after.name());
            Cell::text(if before == after {
                format!("{before}, another size")
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

pub(super) const COMPARISONS: &[Column<Compared>] = &[
    Column::both("endpoint", "endpoint", |row| Cell::text(&row.endpoint)),
    Column::both("design", "design", |row| Cell::text(row.design.name())),
    Column::programs("measure", |row| Cell::text(row.measured.measure.name())),
    Column::people("measure", |row| Cell::text(row.measured.measure.title())),
    Column::both("shapedSessions", "n", |row| Cell::Count(row.shaped.sessions)),
    Column::programs("shapedRequests", |row| Cell::Count(row.shaped.requests)),
    Column::people("shaped", |row| spoken(&row.measured, row.measured.shaped)),
    Column::programs("shaped", |row| value(row.measured.shaped)),
    Column::programs("shapedLow", |row| low(row.measured.shaped)),
    Column::programs("shapedHigh", |row| high(row.measured.shaped)),
    Column::both("unshapedSessions", "n", |row| Cell::Count(row.unshaped.sessions)),
    Column::programs("unshapedRequests", |row| Cell::Count(row.unshaped.requests)),
    Column::people("unshaped", |row| spoken(&row.measured, row.measured.unshaped)),
    Column::programs("unshaped", |row| value(row.measured.unshaped)),
    Column::programs("unshapedLow", |row| low(row.measured.unshaped)),
    Column::programs("unshapedHigh", |row| high(row.measured.unshaped)),
    Column::people("difference", |row| spoken(&row.measured, row.measured.difference)),
    Column::programs("difference", |row| value(row.measured.difference)),
    Column::programs("differenceLow", |row| low(row.measured.difference)),
    Column::programs("differenceHigh", |row| high(row.measured.difference)),
    Column::both("verdict", "shaped is", |row| Cell::text(row.measured.verdict.name())),
];

/// Whether a reply is so: where the byte limit decided, its steps say what it left.
fn used(record: &Record, outcome: Outcome) -> Cell {
    let name = outcome.name();
    let is_capped = record.outcome == Outcome::Capped.name();
    Cell::Yes(record.outcome == name || is_capped && record.stages.iter().any(|stage| stage == name))
}

fn outcomes(traffic: &Traffic, outcome: Outcome) -> Cell {
    Cell::Count(traffic.figures.of(outcome))
}

fn spoken(measured: &Measured, estimate: Option<Estimate>) -> Cell {
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
