//! What stands above the table: figures of all endpoints, an alert, the line of tokens.

use std::time::Duration;

use portion_core::event::Alerted;
use portion_telemetry::read::TrafficStats;
use portion_telemetry::show::printable;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::Sparkline;

use super::super::ask::Found;
use super::super::state::State;
use super::super::words::{clock, plain, share, short, told};
use portion_telemetry::alert::DEFAULT_SHARE as MARK;

/// Per cent that the meter of what is oversized shows.
const METER: usize = 20;
const MINUTE: Duration = Duration::from_mins(1);

pub(super) fn header<'a>(state: &State, found: &Found) -> Vec<Line<'a>> {
    let TrafficStats { requests, errors, accuracy, .. } = &found.all;
    let rate = *requests as f64 / state.range.as_secs_f64().max(1.0);
    let oversized = found.all.oversized_share();
    let above = oversized.is_some_and(|share| share > MARK);
    let paused = if state.paused { " · paused" } else { "" };
    let title = format!(" · last {} · {}{paused}", told(state.range), clock(found.now));
    vec![
        Line::from(vec!["portion top".bold(), Span::raw(title)]),
        Line::from(format!(
            "{} requests · {rate:.1}/s · {} errors · estimates near {}",
            short(*requests),
            short(*errors),
            share(accuracy.near_share()),
        )),
        Line::from(format!(
            "tokens {} → {} · kept out {}",
            short(found.all.original_tokens),
            short(found.all.served_tokens),
            share(found.all.reduction()),
        )),
        Line::from(vec![
            Span::raw("oversized "),
            Span::styled(share(oversized), if above { Style::new().red().bold() } else { Style::new() }),
            Span::raw(format!(" {} ┊ 5 %", meter(oversized.unwrap_or_default()))),
        ]),
    ]
}

/// A share up to 20 %, with the mark of 5 %.
fn meter(share: f64) -> String {
    let cell = |percent: usize| match percent {
        full if share * 100.0 > full as f64 => '█',
        mark if mark as f64 >= MARK * 100.0 && (mark as f64) < MARK * 100.0 + 1.0 => '┊',
        _ => '·',
    };
    (0..METER).map(cell).collect()
}

pub(super) fn warning(found: &Found) -> Option<Span<'_>> {
    let style = Style::new().fg(Color::White).bg(Color::Red).bold();
    if let Some(trouble) = &found.trouble {
        return Some(Span::styled(format!(" {} ", plain(trouble)), style));
    }
    let Alerted { at, alert, share: of, threshold, requests, window, .. } = found.alert.as_ref()?;
    let text = format!(
        " ALERT {}: {} of {} requests in {}, {} may be; since {} ",
        printable(alert),
        share(Some(*of)),
        short(*requests),
        told(*window),
        share(Some(*threshold)),
        clock(*at),
    );
    Some(Span::styled(text, style))
}

/// Tokens along the time that all figures are of: a column may be less than a slot, or several, of which the highest is
/// drawn.
pub(super) fn sparkline(frame: &mut Frame<'_>, range: Duration, found: &Found, area: Rect) {
    let step = found.line.step.max(MINUTE);
    let (length, minutes) = (step.as_micros() as u64, (step.as_secs() / 60).max(1));
    let [title, bars] = Layout::vertical([Constraint::Length(1), Constraint::Fill(1)]).areas(area);
    let width = u64::from(bars.width);
    let span = range.as_micros() as u64;
    let moment = |column: u64| found.now.saturating_sub(span) + span / width.max(1) * column;
    let point = |column: u64| {
        let (from, to) = (moment(column), moment(column + 1));
        let slots = found.line.slots.iter().filter(|slot| slot.at < to && slot.at + length > from);
        slots.map(|slot| slot.stats.served_tokens / minutes).max().unwrap_or_default()
    };
    let points: Vec<u64> = (0..width).map(point).collect();
    let most = points.iter().max().copied().unwrap_or_default();
    let words = format!("tokens to the model a minute, up to {}; the last {}", short(most), told(range));
    frame.render_widget(Line::from(words).dim(), title);
    frame.render_widget(Sparkline::default().data(&points).cyan(), bars);
}
