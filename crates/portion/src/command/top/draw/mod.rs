//! Draws a frame. Names come from servers, so each is drawn only after `shown` or `plain` has cleaned it.

mod header;
mod table;

use portion_text::display::printable_name;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout};
use ratatui::style::Stylize;
use ratatui::text::Line;
use ratatui::widgets::Paragraph;

use super::state::{TopData, ViewState};

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
    frame.render_widget(Paragraph::new(header::header(state, found)), head);
    frame.render_widget(header::warning(found).map_or(Line::default(), Line::from), alert);
    header::sparkline(frame, state.range, found, line);
    if state.detail_endpoint.is_some() {
        table::draw_requests(frame, state, found, body);
    } else {
        table::draw_endpoints(frame, state, found, body);
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
