//! What whoever looks has chosen, and what keys do to it.

use std::time::Duration;

use portion_telemetry::read::{Endpoint, Traffic};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::ask::Found;
use super::column::{COLUMNS, sort};

/// Times that one goes through by + and -.
const RANGES: [Duration; 3] = [Duration::from_mins(5), Duration::from_hours(1), Duration::from_hours(24)];
/// Characters of a filter.
const FILTER: usize = 60;

/// What whoever looks has chosen.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    pub(super) range: Duration,
    /// The column it is sorted by, and whether the other way round.
    pub(super) sort: usize,
    pub(super) reversed: bool,
    /// What is in the names that are shown.
    pub(super) filter: String,
    /// Whether keys go into the filter.
    pub(super) typing: bool,
    pub(super) paused: bool,
    /// The row that is chosen; of requests, the first that is shown.
    pub(super) row: usize,
    /// Whose requests are shown.
    pub(super) detail: Option<Endpoint>,
}

/// What is to be done after a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// To draw it is enough.
    Nothing,
    /// The file is to be asked.
    Ask,
    /// It ends.
    Quit,
}

impl State {
    pub(super) fn new(range: Duration) -> Self {
        Self { range, sort: 1, ..Self::default() }
    }

    /// The rows that are shown, in their order.
    pub(super) fn rows<'a>(&self, found: &'a Found) -> Vec<&'a Traffic> {
        let filter = self.filter.to_lowercase();
        let passes =
            |traffic: &&Traffic| traffic.endpoint.to_string().to_lowercase().contains(filter.as_str());
        let mut rows: Vec<&Traffic> = found.traffic.iter().filter(passes).collect();
        sort(&mut rows, self.sort, self.reversed);
        rows
    }

    /// Keeps to a row that is there.
    pub(super) fn settle(&mut self, found: &Found) {
        let rows = if self.detail.is_some() { found.requests.len() } else { self.rows(found).len() };
        self.row = self.row.min(rows.saturating_sub(1));
    }

    /// Does what a key says.
    pub(super) fn press(&mut self, key: KeyEvent, found: &Found) -> Act {
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return if matches!(key.code, KeyCode::Char('c' | 'd')) { Act::Quit } else { Act::Nothing };
        }
        if self.typing {
            self.write(key.code);
            return Act::Nothing;
        }
        match key.code {
            KeyCode::Char('q') => return Act::Quit,
            KeyCode::Char('p' | ' ') => {
                self.paused = !self.paused;
                return if self.paused { Act::Nothing } else { Act::Ask };
            }
            KeyCode::Char('+' | '=') => {
                return self.take(RANGES.into_iter().find(|range| *range > self.range));
            }
            KeyCode::Char('-') => {
                return self.take(RANGES.into_iter().rev().find(|range| *range < self.range));
            }
            KeyCode::Up | KeyCode::Char('k') => self.row = self.row.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') => self.row += 1,
            KeyCode::PageUp => self.row = self.row.saturating_sub(10),
            KeyCode::PageDown => self.row += 10,
            KeyCode::Home => self.row = 0,
            KeyCode::Esc if self.detail.is_some() => (self.detail, self.row) = (None, 0),
            KeyCode::Esc => self.filter.clear(),
            _ if self.detail.is_some() => {}
            KeyCode::Enter => {
                self.detail = self.rows(found).get(self.row).map(|traffic| traffic.endpoint.clone());
                if self.detail.is_some() {
                    self.row = 0;
                    return Act::Ask;
                }
            }
            KeyCode::Char('/') => self.typing = true,
            KeyCode::Char('s') | KeyCode::Right => self.by((self.sort + 1) % COLUMNS.len()),
            KeyCode::Left => self.by((self.sort + COLUMNS.len() - 1) % COLUMNS.len()),
            KeyCode::Char(digit @ '1'..='9') => self.by(digit as usize - '1' as usize),
            _ => {}
        }
        self.settle(found);
        Act::Nothing
    }

    fn write(&mut self, key: KeyCode) {
        match key {
            KeyCode::Enter => self.typing = false,
            KeyCode::Esc => {
                self.typing = false;
                self.filter.clear();
            }
            KeyCode::Backspace => drop(self.filter.pop()),
            KeyCode::Char(character) if self.filter.chars().count() < FILTER => self.filter.push(character),
            _ => {}
        }
    }

    fn take(&mut self, range: Option<Duration>) -> Act {
        let Some(range) = range else { return Act::Nothing };
        self.range = range;
        Act::Ask
    }

    fn by(&mut self, column: usize) {
        (self.reversed, self.sort) = (self.sort == column && !self.reversed, column);
    }
}

#[cfg(test)]
mod tests {
    use portion_telemetry::read::TrafficStats;

    use super::*;

    fn found() -> Found {
        let traffic = |name: &str, requests, errors| Traffic {
            endpoint: Endpoint { name: name.to_owned(), ..Endpoint::default() },
            stats: TrafficStats { requests, errors, ..TrafficStats::default() },
        };
        Found {
            traffic: vec![traffic("b", 9, 0), traffic("a", 5, 7), traffic("ab", 5, 0)],
            ..Found::default()
        }
    }

    fn press(state: &mut State, keys: &str) -> Act {
        let code = |key| match key {
            '⏎' => KeyCode::Enter,
            '⎋' => KeyCode::Esc,
            '↓' => KeyCode::Down,
            '→' => KeyCode::Right,
            other => KeyCode::Char(other),
        };
        let found = found();
        keys.chars().map(|key| state.press(code(key).into(), &found)).last().unwrap_or(Act::Nothing)
    }

    #[test]
    fn keys_sort_filter_and_choose() {
        let check = |keys: &str, expect: &[&str]| {
            let mut state = State::new(RANGES[1]);
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
            |keys: &str, expect| assert_eq!(press(&mut State::new(RANGES[1]), keys), expect, "{keys}");
        check("q", Act::Quit);
        check("/q", Act::Nothing);
        check("/q⏎q", Act::Quit);
        check("+", Act::Ask);
        check("++", Act::Nothing);
        check("--", Act::Nothing);
        check("p", Act::Nothing);
        check("pp", Act::Ask);
        check("⏎", Act::Ask);
        check("/zzz⏎⏎", Act::Nothing);
        let control = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        let mut state = State { typing: true, ..State::default() };
        assert_eq!(state.press(control, &found()), Act::Quit);
    }

    #[test]
    fn a_row_that_is_gone_is_not_kept_to() {
        let mut state = State::new(RANGES[1]);
        press(&mut state, "↓↓↓↓");
        assert_eq!(state.row, 2);
        press(&mut state, "⏎");
        assert_eq!((state.row, state.detail.clone().map(|endpoint| endpoint.name)), (0, Some("ab".into())));
        press(&mut state, "⎋");
        assert_eq!(state.detail, None);
    }
}
