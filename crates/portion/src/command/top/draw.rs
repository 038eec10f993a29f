//! Draws a frame. Names come from servers, so each is drawn only after `shown` or `plain` has cleaned it.

use std::time::Duration;

use portion_core::event::AlertChanged;
use portion_telemetry::alert::DEFAULT_SHARE as MARK;
use portion_telemetry::read::{Record, TrafficStats};
use portion_telemetry::show::printable;
use portion_text::display::printable_name;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Paragraph, Row, Sparkline, Table, TableState};

use super::state::{
    COLUMNS, TopData, ViewState, duration_text, fitting_columns, percent, short_number, time_of_day,
};

/// Upper end of the meter of oversized calls, in percent.
const METER_CELLS: usize = 20;

const MINUTE: Duration = Duration::from_mins(1);

/// Draws the whole frame.
pub(super) fn draw(frame: &mut Frame<'_>, state: &ViewState, found: &TopData) {
    let banner = u16::from(found.alert.is_some() || found.error.is_some());
    let [head, alert, line, body, foot] = Layout::vertical([
        Constraint::Length(4),
        Constraint::Length(banner),
        Constraint::Length(if frame.area().height < 16 { 0 } else { 3 }),
        Constraint::Fill(1),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    frame.render_widget(Paragraph::new(header(state, found)), head);
    frame.render_widget(warning(found).map_or(Line::default(), Line::from), alert);
    sparkline(frame, state.range, found, line);
    if state.detail_endpoint.is_some() {
        draw_requests(frame, state, found, body);
    } else {
        draw_endpoints(frame, state, found, body);
    }
    frame.render_widget(key_help(state), foot);
}

fn key_help<'a>(state: &ViewState) -> Line<'a> {
    let text = match (&state.detail_endpoint, state.is_typing_filter) {
        (Some(_), _) => "↑↓ rows · Esc back · p pause · q quit".to_owned(),
        (None, true) => format!("/{}▏ Enter applies, Esc cancels", printable_name(&state.filter)),
        (None, false) if state.filter.is_empty() => {
            "↑↓ rows · ←→ sort · +- time · / filter · Enter requests · q quit".to_owned()
        }
        (None, false) => format!("/{} · Esc shows all · q quit", printable_name(&state.filter)),
    };
    Line::from(text).dim()
}

fn header<'a>(state: &ViewState, found: &TopData) -> Vec<Line<'a>> {
    let TrafficStats { requests, errors, accuracy, .. } = &found.total;
    let rate = *requests as f64 / state.range.as_secs_f64().max(1.0);
    let oversized = found.total.oversized_share();
    let above = oversized.is_some_and(|share| share > MARK);
    let paused = if state.is_paused { " · paused" } else { "" };
    let title = format!(" · last {} · {}{paused}", duration_text(state.range), time_of_day(found.queried_at));
    let counted = |count: u64, noun: &str| match count {
        1 => format!("1 {noun}"),
        count => format!("{} {noun}s", short_number(count)),
    };
    vec![
        Line::from(vec!["portion top".bold(), Span::raw(title)]),
        Line::from(format!(
            "{} · {rate:.1}/s · {} · estimates near {}",
            counted(*requests, "request"),
            counted(*errors, "error"),
            percent(accuracy.accurate_share()),
        )),
        Line::from(format!(
            "tokens {} → {} · kept out {}",
            short_number(found.total.original_tokens),
            short_number(found.total.served_tokens),
            percent(found.total.reduction()),
        )),
        Line::from(vec![
            Span::raw("oversized "),
            Span::styled(percent(oversized), if above { Style::new().red().bold() } else { Style::new() }),
            Span::raw(format!(" {} ┊ 5 %", meter(oversized.unwrap_or_default()))),
        ]),
    ]
}

/// Draws a share up to 20 %, with a mark at 5 %.
fn meter(share: f64) -> String {
    let cell = |percent: usize| match percent {
        full if share * 100.0 > full as f64 => '█',
        mark if mark as f64 >= MARK * 100.0 && (mark as f64) < MARK * 100.0 + 1.0 => '┊',
        _ => '·',
    };
    (0..METER_CELLS).map(cell).collect()
}

fn warning(found: &TopData) -> Option<Span<'_>> {
    let style = Style::new().fg(Color::White).bg(Color::Red).bold();
    if let Some(trouble) = &found.error {
        return Some(Span::styled(format!(" {} ", printable_name(trouble)), style));
    }
    let AlertChanged { at, alert_name: alert, share: of, threshold, requests, window, .. } =
        found.alert.as_ref()?;
    let text = format!(
        " ALERT {}: {} of {} requests in {}, limit {}; since {} ",
        printable(alert),
        percent(Some(*of)),
        short_number(*requests),
        duration_text(*window),
        percent(Some(*threshold)),
        time_of_day(*at),
    );
    Some(Span::styled(text, style))
}

/// Draws tokens over the time range. A column stands for a part of a slot, or for several slots, of which the highest is
/// drawn.
fn sparkline(frame: &mut Frame<'_>, range: Duration, found: &TopData, area: Rect) {
    let step = found.token_series.step.max(MINUTE);
    let (length, minutes) = (step.as_micros() as u64, (step.as_secs() / 60).max(1));
    let [title, bars] = Layout::vertical([Constraint::Length(1), Constraint::Fill(1)]).areas(area);
    let width = u64::from(bars.width);
    let span = range.as_micros() as u64;
    let moment = |column: u64| found.queried_at.saturating_sub(span) + span / width.max(1) * column;
    let point = |column: u64| {
        let (from, to) = (moment(column), moment(column + 1));
        let slots = found.token_series.slots.iter().filter(|slot| slot.at < to && slot.at + length > from);
        slots.map(|slot| slot.stats.served_tokens / minutes).max().unwrap_or_default()
    };
    let points: Vec<u64> = (0..width).map(point).collect();
    let max = points.iter().max().copied().unwrap_or_default();
    let words = format!(
        "tokens to the model a minute, up to {}; the last {}",
        short_number(max),
        duration_text(range)
    );
    frame.render_widget(Line::from(words).dim(), title);
    frame.render_widget(Sparkline::default().data(&points).cyan(), bars);
}

fn draw_endpoints(frame: &mut Frame<'_>, state: &ViewState, found: &TopData, area: Rect) {
    let rows = state.rows(found);
    if rows.is_empty() {
        let words = if found.traffic.is_empty() { "no requests in this time" } else { "no endpoint matches" };
        return frame.render_widget(Line::from(words).dim(), area);
    }
    let columns = fitting_columns(area.width);
    let widths = columns.iter().map(|place| match place {
        0 => Constraint::Fill(1),
        place => {
            Constraint::Length(COLUMNS[*place].width.max(column_title(state, *place).chars().count() as u16))
        }
    });
    let titles = columns.iter().map(|place| aligned_cell(*place, column_title(state, *place)));
    let lines = rows.iter().map(|traffic| {
        let oversized = traffic.stats.oversized_share().is_some_and(|share| share > MARK);
        Row::new(columns.iter().map(|place| {
            let cell = aligned_cell(*place, COLUMNS[*place].cell(traffic));
            if oversized && COLUMNS[*place].title == "oversized" { cell.red() } else { cell }
        }))
    });
    draw_rows(frame, state, Table::new(lines, widths).header(Row::new(titles).bold()), area);
}

/// Draws a table with its selected row.
fn draw_rows(frame: &mut Frame<'_>, state: &ViewState, table: Table<'_>, area: Rect) {
    let highlight = Style::new().add_modifier(Modifier::REVERSED);
    let mut chosen = TableState::default().with_selected(Some(state.selected_row));
    frame.render_stateful_widget(table.column_spacing(1).row_highlight_style(highlight), area, &mut chosen);
}

/// Returns the heading of a column, with an arrow if the table is sorted by it.
fn column_title(state: &ViewState, place: usize) -> String {
    let arrow = match (state.sort_column == place, state.is_reversed) {
        (false, _) => "",
        (true, false) => "▾",
        (true, true) => "▴",
    };
    format!("{}{arrow}", COLUMNS[place].title)
}

/// Aligns names left and figures right.
fn aligned_cell<'a>(place: usize, text: String) -> Cell<'a> {
    let line = Line::from(text);
    Cell::from(if place == 0 { line } else { line.right_aligned() })
}

fn draw_requests(frame: &mut Frame<'_>, state: &ViewState, found: &TopData, area: Rect) {
    let widths = [9, 10, 6, 6, 9, 24].map(Constraint::Length);
    let titles = ["time", "outcome", "came", "served", "latency", "error"];
    let counted = |tokens: Option<u64>| tokens.map_or("–".to_owned(), short_number);
    let row = |record: &Record| {
        let latency = format!("{:.1} ms", record.latency.as_secs_f64() * 1e3);
        let error = printable(record.error.as_deref().unwrap_or_default());
        let error = if record.follow_up && error.is_empty() { "follow-up".to_owned() } else { error };
        let cells = [
            time_of_day(record.at),
            printable(&record.outcome),
            counted(record.payload_tokens()),
            counted(record.served_tokens()),
            latency,
            error,
        ];
        Row::new(cells.into_iter().enumerate().map(|(place, text)| {
            let line = Line::from(text);
            Cell::from(if (2..5).contains(&place) { line.right_aligned() } else { line })
        }))
    };
    let name =
        state.detail_endpoint.as_ref().map_or(String::new(), |endpoint| printable(&endpoint.to_string()));
    let [head, body] = Layout::vertical([Constraint::Length(1), Constraint::Fill(1)]).areas(area);
    frame.render_widget(Line::from(format!("the last requests of {name}")).bold(), head);
    let table = Table::new(found.requests.iter().map(row), widths).header(Row::new(titles).bold());
    draw_rows(frame, state, table, body);
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use portion_core::event::AlertChanged;
    use portion_telemetry::read::{Endpoint, Record, Series, Slot, Traffic, TrafficStats};
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::*;

    const NOW: u64 = 1_760_000_000_000_000;

    fn found() -> TopData {
        let traffic = |upstream: Option<&str>, name: &str, requests: u64, oversized: u64| Traffic {
            endpoint: Endpoint {
                upstream: upstream.map(str::to_owned),
                kind: "tool".to_owned(),
                name: name.to_owned(),
            },
            counter: String::new(),
            stats: TrafficStats {
                requests,
                sized: requests,
                oversized,
                original_tokens: requests * 9_000,
                served_tokens: requests * 900,
                outcomes: BTreeMap::new(),
                ..TrafficStats::default()
            },
        };
        let slot = |minute: u64| Slot {
            at: NOW / 60_000_000 * 60_000_000 - minute * 60_000_000,
            stats: TrafficStats { served_tokens: 1_000 * (8 - minute), ..TrafficStats::default() },
        };
        let mut all = traffic(None, "", 1_300, 52).stats;
        (all.accuracy.sample_count, all.accuracy.accurate_count, all.errors) = (100, 94, 3);
        TopData {
            queried_at: NOW,
            traffic: vec![
                traffic(None, "list_bookings", 1_200, 48),
                traffic(Some("hotel"), "evil\u{1b}[31m\nname", 100, 50),
            ],
            total: all,
            token_series: Series { step: Duration::from_mins(1), slots: (0..8).rev().map(slot).collect() },
            ..TopData::default()
        }
    }

    fn rendered(width: u16, height: u16, state: &ViewState, found: &TopData) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("it is memory");
        terminal.draw(|frame| draw(frame, state, found)).expect("it is memory");
        let buffer = terminal.backend().buffer();
        let row = |row: u16| (0..width).map(|column| buffer[(column, row)].symbol()).collect::<String>();
        (0..height).map(|at| row(at).trim_end().to_owned() + "\n").collect()
    }

    fn check(width: u16, height: u16, state: &ViewState, found: &TopData, expect: &str) {
        let rendered = rendered(width, height, state, found);
        assert_eq!(rendered, expect, "\n{rendered}");
    }

    #[test]
    fn endpoints_at_sixty_columns() {
        let state = ViewState::new(Duration::from_hours(1));
        check(60, 16, &state, &found(), ENDPOINTS);
    }

    #[test]
    fn the_line_of_tokens_is_of_the_time_that_figures_are_of() {
        let rendered = rendered(30, 16, &ViewState::new(Duration::from_mins(5)), &found());
        let lowest = rendered.lines().nth(6).expect("it is below the title");
        assert!(
            lowest.chars().count() == 30 && !lowest.contains(' '),
            "each of its minutes has some:\n{rendered}"
        );
    }

    #[test]
    fn an_alert_and_a_wide_terminal() {
        let alert = AlertChanged {
            at: NOW - 60_000_000,
            alert_name: "oversized".into(),
            is_raised: true,
            share: 0.4,
            threshold: 0.05,
            requests: 100,
            matching_requests: 40,
            window: Duration::from_mins(5),
            process: 1,
        };
        let state = ViewState { is_paused: true, sort_column: 5, ..ViewState::new(Duration::from_mins(5)) };
        check(110, 10, &state, &TopData { alert: Some(alert), ..found() }, ALERT);
    }

    #[test]
    fn requests_of_an_endpoint() {
        let record = |at: u64, error: Option<&str>, follow_up| Record {
            at,
            outcome: "paginated".to_owned(),
            error: error.map(str::to_owned),
            follow_up,
            original_tokens: Some(12_000),
            estimated_tokens: Some(900),
            latency: Duration::from_micros(20_500),
            ..Record::default()
        };
        let detail = Some(found().traffic[1].endpoint.clone());
        let state = ViewState { detail_endpoint: detail, ..ViewState::new(Duration::from_hours(1)) };
        let requests = vec![record(NOW, None, true), record(NOW - 5_000_000, Some("upstream"), false)];
        check(70, 9, &state, &TopData { requests, ..found() }, REQUESTS);
    }

    #[test]
    fn any_size_can_be_drawn() {
        let state = ViewState {
            filter: "\u{1b}x".to_owned(),
            is_typing_filter: true,
            ..ViewState::new(Duration::from_mins(1))
        };
        for (width, height) in [(1, 1), (3, 40), (200, 2), (59, 5), (10, 10)] {
            let rendered = rendered(width, height, &state, &found());
            assert!(
                !rendered.contains(|character: char| character.is_control() && character != '\n'),
                "{rendered:?}"
            );
        }
        let nothing =
            TopData { error: Some("\u{7}telemetry cannot be read".to_owned()), ..TopData::default() };
        assert!(rendered(60, 10, &state, &nothing).contains("\u{fffd}telemetry cannot be read"));
    }

    const ENDPOINTS: &str = "\
portion top · last 1h · 08:53:20Z
1,300 requests · 0.4/s · 3 errors · estimates near 94.0 %
tokens 11.7M → 1.2M · kept out 90.0 %
oversized 4.0 % ████·┊·············· ┊ 5 %
tokens to the model a minute, up to 8,000; the last 1h
                                                        ▂▄▆█
                                                    ▂▄▆█████
endpoint          requests▾   came served kept out oversized
list_bookings         1,200  10.8M   1.1M   90.0 %     4.0 %
hotel/evil�[31m�n       100   900k  90.0k   90.0 %    50.0 %





↑↓ rows · ←→ sort · +- time · / filter · Enter requests · q
";
    const ALERT: &str = "\
portion top · last 5m · 08:53:20Z · paused
1,300 requests · 4.3/s · 3 errors · estimates near 94.0 %
tokens 11.7M → 1.2M · kept out 90.0 %
oversized 4.0 % ████·┊·············· ┊ 5 %
 ALERT oversized: 40.0 % of 100 requests in 5m, limit 5.0 %; since 08:52:20Z
endpoint                                 requests   came served kept out oversized▾ follow-ups errors      p95
hotel/evil�[31m�name                          100   900k  90.0k   90.0 %     50.0 %          0      0   0.0 ms
list_bookings                               1,200  10.8M   1.1M   90.0 %      4.0 %          0      0   0.0 ms

↑↓ rows · ←→ sort · +- time · / filter · Enter requests · q quit
";
    const REQUESTS: &str = "\
portion top · last 1h · 08:53:20Z
1,300 requests · 0.4/s · 3 errors · estimates near 94.0 %
tokens 11.7M → 1.2M · kept out 90.0 %
oversized 4.0 % ████·┊·············· ┊ 5 %
the last requests of hotel/evil�[31m�name
time      outcome    came   served latency   error
08:53:20Z paginated   12.0k    900   20.5 ms follow-up
08:53:15Z paginated   12.0k    900   20.5 ms upstream
↑↓ rows · Esc back · p pause · q quit
";
}
