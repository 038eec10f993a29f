//! Whether too many calls are oversized: a state machine, to which time is an argument.

use std::sync::Arc;
use std::time::Duration;

use super::USUAL;
use super::window::{Counted, Window};

/// Calls below which no share means anything.
pub const LEAST: u64 = 20;
/// Endpoints that are named.
const BLAMED: usize = 5;

/// When too many calls are oversized.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// Per cent of the calls that may be; from 0 to 100.
    pub percent: f64,
    /// How far back is looked.
    pub window: Duration,
}

/// Watches calls come.
#[derive(Clone, Debug)]
pub struct Watch {
    rule: Rule,
    window: Window,
    raised: bool,
}

/// How it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// What it is held against.
    pub rule: Rule,
    /// Whether the alert is raised.
    pub raised: bool,
    /// Calls of the window whose size is known.
    pub requests: u64,
    /// Those of them that were oversized.
    pub oversized: u64,
    /// The endpoints with most of these, and how many.
    pub endpoints: Vec<(Arc<str>, u64)>,
}

impl Default for Rule {
    fn default() -> Self {
        Self { percent: USUAL * 100.0, window: Duration::from_mins(5) }
    }
}

impl Watch {
    /// Nothing has come yet.
    pub fn new(rule: Rule) -> Self {
        Self { rule, window: Window::new(rule.window), raised: false }
    }

    /// What it is held against.
    pub fn rule(&self) -> Rule {
        self.rule
    }

    /// Holds what was counted against another rule of the same window. How it stands then, where the alert is raised or over
    /// by that.
    pub fn obey(&mut self, rule: Rule) -> Option<Standing> {
        self.rule = rule;
        self.turn()
    }

    /// A call comes, with its endpoint where it is oversized. How it stands then, where the alert is raised or over by that.
    /// `now` is the time since any beginning, never less than it was before.
    pub fn count(&mut self, now: Duration, oversized: Option<&Arc<str>>) -> Option<Standing> {
        self.window.advance(now);
        self.window.count(oversized);
        self.turn()
    }

    /// Time goes by. How it stands then, where the alert is raised or over by that.
    pub fn tick(&mut self, now: Duration) -> Option<Standing> {
        self.window.advance(now);
        self.turn()
    }

    /// How it stands, as of the last call or tick.
    pub fn standing(&self) -> Standing {
        let Counted { requests, oversized } = self.window.counted();
        let Self { rule, raised, .. } = *self;
        Standing { rule, raised, requests, oversized, endpoints: self.window.endpoints(BLAMED) }
    }

    /// Raised above the threshold, over at four fifths of it: a share in between changes nothing. Kept in per cent and in
    /// products of whole numbers, so that 5 % is never above 5 %.
    fn turn(&mut self) -> Option<Standing> {
        let Counted { requests, oversized } = self.window.counted();
        let is_above = requests >= LEAST && oversized as f64 * 100.0 > self.rule.percent * requests as f64;
        let is_below = oversized as f64 * 500.0 <= self.rule.percent * 4.0 * requests as f64;
        let turns = if self.raised { is_below } else { is_above };
        turns.then(|| {
            self.raised = !self.raised;
            self.standing()
        })
    }
}

impl Standing {
    /// Share of the calls that were oversized, from 0 to 1. `None` of none.
    pub fn share(&self) -> Option<f64> {
        (self.requests > 0).then(|| self.oversized as f64 / self.requests as f64)
    }

    /// In a sentence for people, with what to do.
    pub fn sentence(&self) -> String {
        let Self { rule, requests, oversized, endpoints, .. } = self;
        let window = humantime::format_duration(rule.window).to_string().replace(' ', "");
        let share = self.share().unwrap_or_default() * 100.0;
        let said = format!("{share:.1} % of {requests} calls in {window} had results above the budget");
        if !self.raised {
            return format!("{said}: that is over.");
        }
        let named: Vec<String> =
            endpoints.iter().map(|(endpoint, count)| format!("{endpoint} ({count})")).collect();
        format!(
            "{said} ({oversized} of them; {} % may have), most of {}. `portion stats --since {window}` shows what was \
             served; clients that ask with limit or fields, a smaller pageSize or a larger tokenBudgetThreshold for \
             these endpoints help.",
            rule.percent,
            named.join(", ")
        )
    }
}
