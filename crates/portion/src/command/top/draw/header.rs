//! Header above the table: figures of all endpoints, an alert, and the token chart.

use std::time::Duration;

use portion_core::event::AlertChanged;
use portion_telemetry::read::TrafficStats;
use portion_telemetry::show::printable;
use portion_text::display::printable_name;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::Sparkline;

use super::super::state::ViewState;
use crate::command::top::column::{duration_text, percent, short_number, time_of_day};
use crate::command::top::state::TopData;
use portion_telemetry::alert::DEFAULT_SHARE as MARK;

/// Upper end of the meter of oversized calls, in percent.
const METER_CELLS: usize = 20;
const MINUTE: Duration = Duration::from_mins(1);

pub(super) fn header<'a>(state: &ViewState, found: &TopData) -> Vec<Line<'a>> {
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

pub(super) fn warning(found: &TopData) -> Option<Span<'_>> {
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
pub(super) fn sparkline(frame: &mut Frame<'_>, range: Duration, found: &TopData, area: Rect) {
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
