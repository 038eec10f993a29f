//! Columns of the table: content, width and order; short forms of figures.

use std::time::Duration;

use portion_telemetry::read::{Traffic, TrafficStats};
use portion_telemetry::show::{grouped, printable};

/// A column. The first is the endpoint, which takes the remaining width.
#[derive(Debug)]
pub(super) struct Column {
    pub(super) title: &'static str,
    pub(super) width: u16,
    /// Columns with the greatest value are omitted first if not all fit.
    pub(super) drop_priority: u8,
    cell: fn(&TrafficStats) -> String,
    /// Sort key, the greatest first.
    sort_key: fn(&TrafficStats) -> f64,
}

pub(super) const COLUMNS: [Column; 9] = [
    // Its cells are names.
    column("endpoint", 16, 0, |_| String::new(), |_| 0.0),
    column("requests", 8, 1, |stats| short_number(stats.requests), |stats| stats.requests as f64),
    column("came", 6, 3, |stats| short_number(stats.original_tokens), |stats| stats.original_tokens as f64),
    column("served", 6, 2, |stats| short_number(stats.served_tokens), |stats| stats.served_tokens as f64),
    column("kept out", 8, 5, |stats| percent(stats.reduction()), |stats| or_lowest(stats.reduction())),
    column(
        "oversized",
        9,
        4,
        |stats| percent(stats.oversized_share()),
        |stats| or_lowest(stats.oversized_share()),
    ),
    column("follow-ups", 10, 7, |stats| short_number(stats.follow_ups), |stats| stats.follow_ups as f64),
    column("errors", 6, 6, |stats| short_number(stats.errors), |stats| stats.errors as f64),
    column("p95", 8, 8, |stats| milliseconds(stats.latency.p95), |stats| stats.latency.p95.as_secs_f64()),
];

/// Formats a number in about five characters.
pub(super) fn short_number(number: u64) -> String {
    let scaled = |by: f64, unit: &str| {
        let scaled = number as f64 / by;
        if scaled < 99.95 { format!("{scaled:.1}{unit}") } else { format!("{scaled:.0}{unit}") }
    };
    match number {
        0..=9_999 => grouped(number),
        10_000..=999_499 => scaled(1e3, "k"),
        999_500..=999_499_999 => scaled(1e6, "M"),
        _ => scaled(1e9, "G"),
    }
}

/// Formats a share in percent; a dash if it is unknown.
pub(super) fn percent(share: Option<f64>) -> String {
    share.map_or("–".to_owned(), |share| format!("{:.1} %", share * 100.0))
}

fn milliseconds(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}

/// Formats a duration: `5m`, `1h`, `24h`.
pub(super) fn duration_text(time: Duration) -> String {
    match time.as_secs() {
        hours if hours >= 3_600 && hours.is_multiple_of(3_600) => format!("{}h", hours / 3_600),
        minutes if minutes >= 60 && minutes.is_multiple_of(60) => format!("{}m", minutes / 60),
        _ => humantime::format_duration(Duration::from_secs(time.as_secs())).to_string(),
    }
}

/// Formats the time of day in UTC.
pub(super) fn time_of_day(micros: u64) -> String {
    let seconds = micros / 1_000_000 % 86_400;
    format!("{:02}:{:02}:{:02}Z", seconds / 3_600, seconds / 60 % 60, seconds % 60)
}

const fn column(
    title: &'static str,
    width: u16,
    spare: u8,
    cell: fn(&TrafficStats) -> String,
    rank: fn(&TrafficStats) -> f64,
) -> Column {
    Column { title, width, drop_priority: spare, cell, sort_key: rank }
}

impl Column {
    pub(super) fn cell(&self, traffic: &Traffic) -> String {
        match self.title {
            "endpoint" => printable(&traffic.endpoint.to_string()),
            _ => (self.cell)(&traffic.stats),
        }
    }
}

/// Returns the indexes of the columns that fit.
pub(super) fn fitting_columns(width: u16) -> Vec<usize> {
    let mut order: Vec<usize> = (0..COLUMNS.len()).collect();
    order.sort_by_key(|place| COLUMNS[*place].drop_priority);
    let mut room = width;
    order.retain(|place| {
        let needed = COLUMNS[*place].width + u16::from(*place > 0);
        let fits = *place == 0 || room >= needed;
        room = room.saturating_sub(if fits { needed } else { room });
        fits
    });
    order.sort_unstable();
    order
}

/// Sorts by a column: names ascending, figures descending, or reversed.
pub(super) fn sort_rows(rows: &mut [&Traffic], by: usize, reversed: bool) {
    rows.sort_by(|one, other| {
        let by_name = one.endpoint.cmp(&other.endpoint);
        let rank = COLUMNS[by].sort_key;
        let order = if by == 0 { by_name } else { rank(&other.stats).total_cmp(&rank(&one.stats)) };
        let order = if reversed { order.reverse() } else { order };
        order.then(by_name)
    });
}

/// Orders unknown values last.
fn or_lowest(share: Option<f64>) -> f64 {
    share.unwrap_or(f64::NEG_INFINITY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_left_out_by_its_worth() {
        let titles =
            |width| fitting_columns(width).into_iter().map(|place| COLUMNS[place].title).collect::<Vec<_>>();
        assert_eq!(titles(10), ["endpoint"]);
        assert_eq!(titles(60), ["endpoint", "requests", "came", "served", "kept out", "oversized"]);
        assert_eq!(titles(200).len(), COLUMNS.len());
    }

    #[test]
    fn numbers_are_short() {
        let check = |number, expect: &str| assert_eq!(short_number(number), expect);
        check(0, "0");
        check(9_999, "9,999");
        check(12_345, "12.3k");
        check(999_499, "999k");
        check(999_500, "1.0M");
        check(123_456_789, "123M");
        check(5_000_000_000, "5.0G");
    }
}
