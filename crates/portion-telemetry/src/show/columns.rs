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

const fn both<T>(name: &'static str, title: &'static str, cell: fn(&T) -> Cell) -> Column<T> {
    Column { name: Some(name), title: Some(title), cell }
}

const fn programs<T>(name: &'static str, cell: fn(&T) -> Cell) -> Column<T> {
    Column { name: Some(name), title: None, cell }
}

const fn people<T>(title: &'static str, cell: fn(&T) -> Cell) -> Column<T> {
    Column { name: None, title: Some(title), cell }
}

pub(super) const REQUESTS: &[Column<Record>] = &[
    programs("requestId", |record| Cell::text(format!("{:032x}", record.request))),
    both("timestamp", "time", |record| Cell::Moment(record.at)),
    programs("upstream", |record| Cell::maybe(record.endpoint.upstream.clone(), Cell::Text)),
    programs("kind", |record| Cell::text(&record.endpoint.kind)),
    programs("endpoint", |record| Cell::text(&record.endpoint.name)),
    people("endpoint", |record| Cell::text(record.endpoint.to_string())),
    both("outcome", "outcome", |record| Cell::text(&record.outcome)),
    both("error", "error", |record| Cell::maybe(record.error.clone(), Cell::Text)),
    both("followUp", "follow-up", |record| Cell::Yes(record.follow_up)),
    programs("arguments", |record| Cell::Texts(record.arguments.clone())),
    both("originalTokens", "came", |record| Cell::maybe(record.original_tokens, Cell::Count)),
    both("estimatedTokens", "served", |record| Cell::maybe(record.estimated_tokens, Cell::Count)),
    programs("actualTokens", |record| Cell::maybe(record.actual_tokens, Cell::Count)),
    programs("budget", |record| Cell::maybe(record.budget, Cell::Count)),
    programs("originalBytes", |record| Cell::Count(record.original_bytes)),
    programs("responseBytes", |record| Cell::Count(record.response_bytes)),
    both("itemCount", "items", |record| Cell::maybe(record.items, Cell::Count)),
    programs("totalItems", |record| Cell::maybe(record.total_items, Cell::Count)),
    programs("form", |record| Cell::maybe(record.form.clone(), Cell::Text)),
    programs("tokensPerItem", |record| Cell::maybe(record.tokens_per_item, Cell::Number)),
    both("latencyMs", "latency", |record| Cell::Time(record.latency)),
    both("overheadMs", "ours", |record| Cell::Time(record.overhead)),
    programs("paginationUsed", |record| used(record, Outcome::Paginated)),
    programs("summarizationUsed", |record| used(record, Outcome::Summarized)),
    programs("chunkingUsed", |record| used(record, Outcome::Chunked)),
    programs("queryUsed", |record| used(record, Outcome::Queried)),
    programs("optimizationMetadata", |record| Cell::Texts(record.stages.clone())),
    programs("experimentArm", |record| Cell::maybe(record.arm.clone(), Cell::Text)),
    programs("shadowOutcome", |record| {
        Cell::maybe(record.shadow.clone(), |shadow| Cell::Text(shadow.outcome))
    }),
    programs("shadowTokens", |record| {
        Cell::maybe(record.shadow.as_ref(), |shadow| Cell::Count(shadow.tokens))
    }),
    programs("shadowBytes", |record| Cell::maybe(record.shadow.as_ref(), |shadow| Cell::Count(shadow.bytes))),
    both("session", "session", |record| Cell::text(format!("{:016x}", record.session))),
    programs("configVersion", |record| Cell::Count(record.config)),
    programs("counter", |record| Cell::text(&record.counter)),
    programs("origin", |record| Cell::maybe(record.origin, |origin| Cell::Text(format!("{origin:016x}")))),
    programs("traceId", |record| Cell::maybe(record.trace, |trace| Cell::Text(format!("{:032x}", trace.id)))),
    programs("spanId", |record| {
        Cell::maybe(record.trace, |trace| Cell::Text(format!("{:016x}", trace.span)))
    }),
];

pub(super) const ENDPOINTS: &[Column<Traffic>] = &[
    programs("upstream", |traffic| Cell::maybe(traffic.endpoint.upstream.clone(), Cell::Text)),
    programs("kind", |traffic| Cell::text(&traffic.endpoint.kind)),
    programs("endpoint", |traffic| Cell::text(&traffic.endpoint.name)),
    people("endpoint", |traffic| Cell::text(traffic.endpoint.to_string())),
    both("requests", "requests", |traffic| Cell::Count(traffic.figures.requests)),
    programs("followUps", |traffic| Cell::Count(traffic.figures.follow_ups)),
    both("originalTokens", "came", |traffic| Cell::Count(traffic.figures.original_tokens)),
    both("servedTokens", "served", |traffic| Cell::Count(traffic.figures.served_tokens)),
    both("reduction", "kept out", |traffic| Cell::maybe(traffic.figures.reduction(), Cell::Share)),
    both("oversizedShare", "oversized", |traffic| {
        Cell::maybe(traffic.figures.oversized_share(), Cell::Share)
    }),
    both("followUpsPerCall", "follow-ups", |traffic| {
        Cell::maybe(traffic.figures.follow_ups_per_first(), Cell::Number)
    }),
    both("errors", "errors", |traffic| Cell::Count(traffic.figures.errors)),
    programs("paginated", |traffic| outcomes(traffic, Outcome::Paginated)),
    programs("summarized", |traffic| outcomes(traffic, Outcome::Summarized)),
    programs("projected", |traffic| outcomes(traffic, Outcome::Projected)),
    programs("capped", |traffic| outcomes(traffic, Outcome::Capped)),
    programs("chunked", |traffic| outcomes(traffic, Outcome::Chunked)),
    programs("queried", |traffic| outcomes(traffic, Outcome::Queried)),
    both("latencyP50Ms", "p50", |traffic| Cell::Time(traffic.figures.latency.p50)),
    both("latencyP95Ms", "p95", |traffic| Cell::Time(traffic.figures.latency.p95)),
    both("latencyP99Ms", "p99", |traffic| Cell::Time(traffic.figures.latency.p99)),
    programs("sampled", |traffic| Cell::Count(traffic.figures.accuracy.sampled)),
    programs("estimatesNearShare", |traffic| Cell::maybe(traffic.figures.accuracy.near_share(), Cell::Share)),
    programs("estimatesBias", |traffic| Cell::maybe(traffic.figures.accuracy.bias(), Cell::Number)),
    programs("overheadP50Ms", |traffic| Cell::Time(traffic.figures.overhead.p50)),
    programs("overheadP95Ms", |traffic| Cell::Time(traffic.figures.overhead.p95)),
    programs("overheadP99Ms", |traffic| Cell::Time(traffic.figures.overhead.p99)),
];

pub(super) const FORECASTS: &[Column<Forecast>] = &[
    programs("upstream", |forecast| Cell::maybe(forecast.endpoint.upstream.clone(), Cell::Text)),
    programs("kind", |forecast| Cell::text(&forecast.endpoint.kind)),
    programs("endpoint", |forecast| Cell::text(&forecast.endpoint.name)),
    people("endpoint", |forecast| Cell::text(forecast.endpoint.to_string())),
    both("requests", "requests", |forecast| Cell::Count(forecast.requests)),
    both("changed", "changed", |forecast| Cell::Count(forecast.changed())),
    both("passages", "most of them", |forecast| {
        Cell::maybe(forecast.passages.first(), |passage| {
            let (before, after) = (passage.before.name(), passage.after.name());
            Cell::text(if before == after {
                format!("{before}, another size")
            } else {
                format!("{before} → {after}")
            })
        })
    }),
    both("tokensBefore", "tokens", |forecast| Cell::Count(forecast.tokens_before)),
    both("tokensAfter", "after", |forecast| Cell::Count(forecast.tokens_after)),
    both("agreedShare", "as served", |forecast| {
        let share = forecast.agreed as f64 / forecast.requests as f64;
        Cell::maybe((forecast.requests > 0).then_some(share), Cell::Share)
    }),
    both("unknown", "unknown", |forecast| Cell::Count(forecast.unknown)),
];

pub(super) const COMPARISONS: &[Column<Compared>] = &[
    both("endpoint", "endpoint", |row| Cell::text(&row.endpoint)),
    both("design", "design", |row| Cell::text(row.design.name())),
    programs("measure", |row| Cell::text(row.measured.measure.name())),
    people("measure", |row| Cell::text(row.measured.measure.title())),
    both("shapedSessions", "n", |row| Cell::Count(row.shaped.sessions)),
    programs("shapedRequests", |row| Cell::Count(row.shaped.requests)),
    people("shaped", |row| spoken(&row.measured, row.measured.shaped)),
    programs("shaped", |row| value(row.measured.shaped)),
    programs("shapedLow", |row| low(row.measured.shaped)),
    programs("shapedHigh", |row| high(row.measured.shaped)),
    both("unshapedSessions", "n", |row| Cell::Count(row.unshaped.sessions)),
    programs("unshapedRequests", |row| Cell::Count(row.unshaped.requests)),
    people("unshaped", |row| spoken(&row.measured, row.measured.unshaped)),
    programs("unshaped", |row| value(row.measured.unshaped)),
    programs("unshapedLow", |row| low(row.measured.unshaped)),
    programs("unshapedHigh", |row| high(row.measured.unshaped)),
    people("difference", |row| spoken(&row.measured, row.measured.difference)),
    programs("difference", |row| value(row.measured.difference)),
    programs("differenceLow", |row| low(row.measured.difference)),
    programs("differenceHigh", |row| high(row.measured.difference)),
    both("verdict", "shaped is", |row| Cell::text(row.measured.verdict.name())),
];

fn used(record: &Record, outcome: Outcome) -> Cell {
    Cell::Yes(record.outcome == outcome.name())
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
