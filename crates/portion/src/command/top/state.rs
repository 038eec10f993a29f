//! State of the user interface, the figures of its time range, and the effect of keys; columns of the
//! table: content, width and order.

use std::time::Duration;

use portion_core::event::AlertChanged;
use portion_telemetry::read::{Endpoint, Filter, ReadError, Reader, Record, Series, Traffic, TrafficStats};
use portion_telemetry::show::{grouped, printable};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// Time ranges that + and - step through.
const RANGES: [Duration; 3] = [Duration::from_mins(5), Duration::from_hours(1), Duration::from_hours(24)];

/// Longest filter, in characters.
const MAX_FILTER_CHARS: usize = 60;

/// State of the user interface.
#[derive(Clone, Debug, Default)]
pub(super) struct ViewState {
    pub(super) range: Duration,
    /// Column that the table is sorted by, and true if reversed.
    pub(super) sort_column: usize,
    pub(super) is_reversed: bool,
    /// Text that shown names contain.
    pub(super) filter: String,
    /// True if keys edit the filter.
    pub(super) is_typing_filter: bool,
    pub(super) is_paused: bool,
    /// Selected row; for requests, the first shown row.
    pub(super) selected_row: usize,
    /// Endpoint whose requests are shown.
    pub(super) detail_endpoint: Option<Endpoint>,
}

/// Action after a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// Draw again.
    Redraw,
    /// Read the file again.
    Refresh,
    /// End the program.
    Quit,
}

impl ViewState {
    pub(super) fn new(range: Duration) -> Self {
        Self { range, sort_column: 1, ..Self::default() }
    }

    /// Returns the shown rows in order.
    pub(super) fn rows<'a>(&self, found: &'a TopData) -> Vec<&'a Traffic> {
        let filter = self.filter.to_lowercase();
        let passes =
            |traffic: &&Traffic| traffic.endpoint.to_string().to_lowercase().contains(filter.as_str());
        let mut rows: Vec<&Traffic> = found.traffic.iter().filter(passes).collect();
        sort_rows(&mut rows, self.sort_column, self.is_reversed);
        rows
    }

    /// Limits the selection to an existing row.
    pub(super) fn clamp_row(&mut self, found: &TopData) {
        let rows = if self.detail_endpoint.is_some() { found.requests.len() } else { self.rows(found).len() };
        self.selected_row = self.selected_row.min(rows.saturating_sub(1));
    }

    /// Applies a key.
    pub(super) fn handle_key(&mut self, key: KeyEvent, found: &TopData) -> Action {
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return if matches!(key.code, KeyCode::Char('c' | 'd')) { Action::Quit } else { Action::Redraw };
        }
        if self.is_typing_filter {
            self.edit_filter(key.code);
            return Action::Redraw;
        }
        match key.code {
            KeyCode::Char('q') => return Action::Quit,
            KeyCode::Char('p' | ' ') => {
                self.is_paused = !self.is_paused;
                return if self.is_paused { Action::Redraw } else { Action::Refresh };
            }
            KeyCode::Char('+' | '=') => {
                return self.set_range(RANGES.into_iter().find(|range| *range > self.range));
            }
            KeyCode::Char('-') => {
                return self.set_range(RANGES.into_iter().rev().find(|range| *range < self.range));
            }
            KeyCode::Up | KeyCode::Char('k') => self.selected_row = self.selected_row.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') => self.selected_row += 1,
            KeyCode::PageUp => self.selected_row = self.selected_row.saturating_sub(10),
            KeyCode::PageDown => self.selected_row += 10,
            KeyCode::Home => self.selected_row = 0,
            KeyCode::Esc if self.detail_endpoint.is_some() => {
                (self.detail_endpoint, self.selected_row) = (None, 0);
            }
            KeyCode::Esc => self.filter.clear(),
            _ if self.detail_endpoint.is_some() => {}
            KeyCode::Enter => {
                self.detail_endpoint =
                    self.rows(found).get(self.selected_row).map(|traffic| traffic.endpoint.clone());
                if self.detail_endpoint.is_some() {
                    self.selected_row = 0;
                    return Action::Refresh;
                }
            }
            KeyCode::Char('/') => self.is_typing_filter = true,
            KeyCode::Char('s') | KeyCode::Right => self.sort_by((self.sort_column + 1) % COLUMNS.len()),
            KeyCode::Left => self.sort_by((self.sort_column + COLUMNS.len() - 1) % COLUMNS.len()),
            KeyCode::Char(digit @ '1'..='9') => self.sort_by(digit as usize - '1' as usize),
            _ => {}
        }
        self.clamp_row(found);
        Action::Redraw
    }

    fn edit_filter(&mut self, key: KeyCode) {
        match key {
            KeyCode::Enter => self.is_typing_filter = false,
            KeyCode::Esc => {
                self.is_typing_filter = false;
                self.filter.clear();
            }
            KeyCode::Backspace => drop(self.filter.pop()),
            KeyCode::Char(character) if self.filter.chars().count() < MAX_FILTER_CHARS => {
                self.filter.push(character);
            }
            _ => {}
        }
    }

    fn set_range(&mut self, range: Option<Duration>) -> Action {
        let Some(range) = range else { return Action::Redraw };
        self.range = range;
        Action::Refresh
    }

    fn sort_by(&mut self, column: usize) {
        (self.is_reversed, self.sort_column) = (self.sort_column == column && !self.is_reversed, column);
    }
}

/// Largest number of shown requests of an endpoint.
const MAX_REQUESTS: usize = 200;

/// Largest number of points of the token chart.
const MAX_POINTS: usize = 120;

/// Figures of a time range.
#[derive(Clone, Debug, Default)]
pub(super) struct TopData {
    /// Time of the query, in microseconds since 1970.
    pub(super) queried_at: u64,
    pub(super) traffic: Vec<Traffic>,
    /// Sum over all endpoints.
    pub(super) total: TrafficStats,
    pub(super) token_series: Series,
    /// Raised alert.
    pub(super) alert: Option<AlertChanged>,
    /// Last requests of the selected endpoint.
    pub(super) requests: Vec<Record>,
    /// Reason that the file cannot be read.
    pub(super) error: Option<String>,
}

/// Reads the time range that ends now.
pub(super) fn query_data(
    reader: &Reader,
    range: Duration,
    detail: Option<&Endpoint>,
    now: u64,
) -> Result<TopData, ReadError> {
    let filter = Filter { since: Some(now.saturating_sub(range.as_micros() as u64)), ..Filter::default() };
    let traffic = reader.endpoints(&filter)?;
    let step = Series::step(filter.since.unwrap_or_default(), now, MAX_POINTS);
    let requests = match detail {
        None => Vec::new(),
        Some(endpoint) => {
            let of = Some(endpoint.clone());
            reader.requests(&Filter { of, limit: Some(MAX_REQUESTS), ..Filter::default() })?
        }
    };
    Ok(TopData {
        queried_at: now,
        total: reader.total(&filter)?,
        traffic,
        token_series: reader.series(&filter, step)?,
        alert: reader.active_alerts(now)?.into_iter().next(),
        requests,
        error: None,
    })
}

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

impl Column {
    pub(super) fn cell(&self, traffic: &Traffic) -> String {
        match self.title {
            "endpoint" => printable(&traffic.endpoint.to_string()),
            _ => (self.cell)(&traffic.stats),
        }
    }
}

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
fn sort_rows(rows: &mut [&Traffic], by: usize, reversed: bool) {
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
    use portion_telemetry::read::TrafficStats;

    use super::*;

    fn found() -> TopData {
        let traffic = |name: &str, requests, errors| Traffic {
            endpoint: Endpoint { name: name.to_owned(), ..Endpoint::default() },
            counter: String::new(),
            stats: TrafficStats { requests, errors, ..TrafficStats::default() },
        };
        TopData {
            traffic: vec![traffic("b", 9, 0), traffic("a", 5, 7), traffic("ab", 5, 0)],
            ..TopData::default()
        }
    }

    fn press(state: &mut ViewState, keys: &str) -> Action {
        let code = |key| match key {
            '⏎' => KeyCode::Enter,
            '⎋' => KeyCode::Esc,
            '↓' => KeyCode::Down,
            '→' => KeyCode::Right,
            other => KeyCode::Char(other),
        };
        let found = found();
        keys.chars().map(|key| state.handle_key(code(key).into(), &found)).last().unwrap_or(Action::Redraw)
    }

    #[test]
    fn keys_sort_filter_and_choose() {
        let check = |keys: &str, expect: &[&str]| {
            let mut state = ViewState::new(RANGES[1]);
            press(&mut state, keys);
            let found = found();
            let names: Vec<&str> =
                state.rows(&found).iter().map(|traffic| traffic.endpoint.name.as_str()).collect();
            assert_eq!(names, expect, "{keys}");
        };
        check("", &["b", "a", "ab"]);
        check("2", &["a", "ab", "b"]);
        check("1", &["a", "ab", "b"]);
        check("11", &["b", "ab", "a"]);
        check("8", &["a", "ab", "b"]);
        check("s", &["a", "ab", "b"]);
        check("/A", &["a", "ab"]);
        check("/q⎋", &["b", "a", "ab"]);
    }

    #[test]
    fn keys_tell_what_is_to_be_done() {
        let check =
            |keys: &str, expect| assert_eq!(press(&mut ViewState::new(RANGES[1]), keys), expect, "{keys}");
        check("q", Action::Quit);
        check("/q", Action::Redraw);
        check("/q⏎q", Action::Quit);
        check("+", Action::Refresh);
        check("++", Action::Redraw);
        check("--", Action::Redraw);
        check("p", Action::Redraw);
        check("pp", Action::Refresh);
        check("⏎", Action::Refresh);
        check("/zzz⏎⏎", Action::Redraw);
        let control = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        let mut state = ViewState { is_typing_filter: true, ..ViewState::default() };
        assert_eq!(state.handle_key(control, &found()), Action::Quit);
    }

    #[test]
    fn a_row_that_is_gone_is_not_kept_to() {
        let mut state = ViewState::new(RANGES[1]);
        press(&mut state, "↓↓↓↓");
        assert_eq!(state.selected_row, 2);
        press(&mut state, "⏎");
        assert_eq!(
            (state.selected_row, state.detail_endpoint.clone().map(|endpoint| endpoint.name)),
            (0, Some("ab".into()))
        );
        press(&mut state, "⎋");
        assert_eq!(state.detail_endpoint, None);
    }

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
