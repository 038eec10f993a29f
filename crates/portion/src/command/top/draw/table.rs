//! The table: endpoints, or the requests of one.

use portion_telemetry::read::Record;
use portion_telemetry::show::printable;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style, Stylize};
use ratatui::text::Line;
use ratatui::widgets::{Cell, Row, Table, TableState};

use super::super::column::{COLUMNS, fitting_columns};
use super::super::state::ViewState;
use crate::command::top::column::{short_number, time_of_day};
use crate::command::top::state::TopData;
use portion_telemetry::alert::DEFAULT_SHARE as MARK;

pub(super) fn draw_endpoints(frame: &mut Frame<'_>, state: &ViewState, found: &TopData, area: Rect) {
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

pub(super) fn draw_requests(frame: &mut Frame<'_>, state: &ViewState, found: &TopData, area: Rect) {
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
