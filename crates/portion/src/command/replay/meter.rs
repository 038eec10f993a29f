//! What a session cost, and what it would have cost behind Portion.
//!
//! A result is sent with every request to the model after it: it is written to the prompt cache once, and read from there. A
//! string that an argument needed and the first reply did not show costs a follow-up: a request with the context of that
//! time, the call, and its reply from then on.

use std::collections::{BTreeMap, HashSet};
use std::error::Error;
use std::ops::AddAssign;
use std::sync::Arc;

use portion_config::Config;
use portion_core::cursor::charged;
use portion_gateway::call::Fault;
use portion_mcp::mcp::builtin_listings;
use portion_tokens::Tokenizer;
use serde::Serialize;
use serde_json::{Value, json};

use super::strings::{StringFinder, StringId, StringTable, UsedLine};
use super::transcript::{Event, Session, Tool};
use crate::run::shaper::{Shaped, Shaper, ToolName};

/// Name of the row with the cost of what Portion adds to the list of tools.
pub(super) const LISTING: &str = "(tools of Portion)";
/// What is added to the arguments of a listed tool, at most.
const CONTROLS: &str = r#""limit":{"type":"integer"},"cursor":{"type":"string"},"fields":{"type":"string"},"query":{"type":"string"},"#;
/// Stands for a cursor where tokens are counted.
const CURSOR: &str = "0qjzqjzqjzqjzqjzqjzqjzqj";
/// Most pages that are read for a string that no search finds.
const MAX_PAGES: usize = 100;

/// Prices of a million tokens, and what the prompt cache makes of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prices {
    pub(super) input: f64,
    pub(super) output: f64,
    /// Factors of the price of input that is written to the cache, and read from it.
    pub(super) cache_write: f64,
    pub(super) cache_read: f64,
}

/// Tokens of results when they were first sent, tokens of all requests, and their cost.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usage {
    pub(super) tokens: u64,
    pub(super) sent: u64,
    pub(super) cost: f64,
}

/// Sums of a tool.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    pub(super) results: u64,
    pub(super) shortened: u64,
    pub(super) follow_ups: u64,
    pub(super) without: Usage,
    pub(super) with: Usage,
    /// Tokens up to which results have to pass whole so that none needs a follow-up; `None` if that cannot be.
    pub(super) whole_threshold: Option<usize>,
}

/// Place of a string that an argument used, in front of a model with Portion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Place {
    FirstReply,
    FollowUp,
    Lost,
}

/// A string that an argument used.
#[derive(Debug)]
pub(super) struct UsedString {
    pub(super) text: String,
    pub(super) tool: Tool,
    pub(super) place: Place,
}

/// Sums of a session.
#[derive(Debug)]
pub(super) struct SessionTally {
    pub(super) client: &'static str,
    pub(super) id: String,
    pub(super) turns: u64,
    pub(super) tools: BTreeMap<Tool, Tally>,
    pub(super) strings: Vec<UsedString>,
}

/// A result that is still sent.
struct LiveResult {
    tool: Tool,
    whole_threshold: Option<usize>,
    /// Cursors of the whole and of what follows the first reply.
    cursors: [Option<String>; 2],
    contained: HashSet<StringId>,
    shown: HashSet<StringId>,
}

/// What a model would have read in place of a result.
struct Reply {
    text: String,
    tokens: u64,
    /// Cursors of the whole and of what follows.
    cursors: [Option<String>; 2],
}

/// A session as it is replayed.
struct Replay<'a> {
    prices: Prices,
    shaper: Shaper,
    finder: StringFinder,
    live: Vec<LiveResult>,
    /// Strings that the model has from elsewhere, or that were counted before.
    known: HashSet<StringId>,
    /// Tokens of the last request.
    context: u64,
    turns_left: &'a [u64],
    tally: SessionTally,
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.tokens += other.tokens;
        self.sent += other.sent;
        self.cost += other.cost;
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.results += other.results;
        self.shortened += other.shortened;
        self.without += other.without;
        self.with += other.with;
        self.whole_threshold = match (self.follow_ups, other.follow_ups) {
            (_, 0) => self.whole_threshold,
            (0, _) => other.whole_threshold,
            _ => self
                .whole_threshold
                .max(other.whole_threshold)
                .filter(|_| self.whole_threshold.is_some() && other.whole_threshold.is_some()),
        };
        self.follow_ups += other.follow_ups;
    }
}

impl Prices {
    /// Returns the usage of input that is sent with a number of requests.
    fn of_input(&self, tokens: u64, turns: u64) -> Usage {
        let factor = if turns == 0 { 0.0 } else { self.cache_write + self.cache_read * (turns - 1) as f64 };
        Usage { tokens, sent: tokens * turns, cost: tokens as f64 * factor * self.input / 1e6 }
    }
}

/// Replays a session. `seen`: the ids of calls in other files, which copies of a session repeat.
///
/// # Errors
/// If nothing can be shaped.
pub(super) fn replay(
    session: Session,
    config: &Arc<Config>,
    prices: Prices,
    seen: &mut HashSet<String>,
) -> Result<SessionTally, Box<dyn Error>> {
    let Session { client, id, events } = session;
    let mut table = StringTable::default();
    let used: Vec<Vec<UsedLine>> = events
        .iter()
        .map(
            |event| if let Event::Call { arguments, .. } = event { table.add(arguments) } else { Vec::new() },
        )
        .collect();
    let mut turns_left: Vec<u64> = events
        .iter()
        .rev()
        .scan(0, |turns, event| {
            let left = *turns;
            match event {
                Event::Turn(_) => *turns += 1,
                Event::Compaction => *turns = 0,
                _ => {}
            }
            Some(left)
        })
        .collect();
    turns_left.reverse();
    let turns = events.iter().filter(|event| matches!(event, Event::Turn(_))).count() as u64;
    let mut replay = Replay {
        prices,
        shaper: Shaper::new(config, Some(client))?,
        finder: table.into_finder(),
        live: Vec::new(),
        known: HashSet::new(),
        context: 0,
        turns_left: &turns_left,
        tally: SessionTally { client, id, turns, tools: BTreeMap::new(), strings: Vec::new() },
    };
    let mut called: BTreeMap<String, Tool> = BTreeMap::new();
    for (at, (event, used)) in events.into_iter().zip(used).enumerate() {
        match event {
            Event::Prompt(text) => replay.known.extend(replay.finder.find_in(&text)),
            Event::Turn(context) => replay.context = context.unwrap_or(replay.context),
            Event::Compaction => replay.live.clear(),
            Event::Call { id, tool, .. } => {
                replay.use_lines(at, &used);
                if seen.insert(id.clone()) {
                    called.insert(id, tool);
                }
            }
            Event::Result { id, texts, sent, is_error } => {
                if let Some(tool) = called.remove(&id) {
                    replay.add_result(at, tool, &texts, sent.as_deref(), is_error);
                }
            }
        }
    }
    replay.charge_listing(config);
    Ok(replay.tally)
}

impl Reply {
    /// Returns `None` for a result that passes unchanged.
    fn from_shaped(shaped: Result<Option<Shaped>, Fault>) -> Option<Self> {
        let (text, charged_cursors, cursors) = match shaped {
            Ok(None) => return None,
            Ok(Some(Shaped { texts, cursor, next_cursor, charged_cursors, .. })) => {
                (texts.join("\n"), charged_cursors, [cursor, next_cursor])
            }
            Err(fault) => {
                let cursor = fault.cursor.as_ref().map(ToString::to_string);
                (fault.to_json(), fault.cursor.into_iter().collect(), [cursor, None])
            }
        };
        Some(Self { tokens: count(&charged(&text, &charged_cursors)), text, cursors })
    }
}

impl Replay<'_> {
    /// Shapes a result, and counts it with and without Portion.
    fn add_result(&mut self, at: usize, tool: Tool, texts: &[String], sent: Option<&str>, is_error: bool) {
        let name = ToolName { server: tool.server.as_deref(), name: &tool.name };
        let shaped = self.shaper.shape(Some(name), texts, is_error, "{}");
        let original = sent.map_or_else(|| texts.join("\n"), str::to_owned);
        let contained = self.finder.find_in(&texts.join("\n"));
        let tokens = count(&original);
        let reply = Reply::from_shaped(shaped);
        let (with, shown, cursors) = match &reply {
            None => (tokens, contained.clone(), [None, None]),
            Some(reply) => (reply.tokens, self.finder.find_in(&reply.text), reply.cursors.clone()),
        };
        let is_shortened = reply.is_some();
        let whole_threshold = if is_shortened { self.shaper.whole_threshold(name, texts) } else { None };
        let turns = self.turns_left[at];
        let tally = self.tally.tools.entry(tool.clone()).or_default();
        tally.results += 1;
        tally.shortened += u64::from(is_shortened);
        tally.without += self.prices.of_input(tokens, turns);
        tally.with += self.prices.of_input(with, turns);
        self.context += with;
        self.live.push(LiveResult { tool, whole_threshold, cursors, contained, shown });
    }

    /// Looks for what an argument used: whole lines, or the words of a line that no result has.
    fn use_lines(&mut self, at: usize, lines: &[UsedLine]) {
        for UsedLine { line, words } in lines {
            if !self.use_string(at, *line) {
                for word in words {
                    self.use_string(at, *word);
                }
            }
        }
        self.known.extend(lines.iter().flat_map(|used| used.words.iter().chain([&used.line])));
    }

    /// Returns true if a string is known or in a result.
    fn use_string(&mut self, at: usize, id: StringId) -> bool {
        if self.known.contains(&id) {
            return true;
        }
        let holders = self.live.iter().enumerate().filter(|(_, result)| result.contained.contains(&id));
        let holders: Vec<usize> = holders.map(|(at, _)| at).collect();
        let Some(last) = holders.last() else { return false };
        let shown = holders.iter().find(|holder| self.live[**holder].shown.contains(&id));
        let place = match shown {
            Some(_) => Place::FirstReply,
            None if self.follow_up(at, *last, id) => Place::FollowUp,
            None => Place::Lost,
        };
        let tool = self.live[*shown.unwrap_or(last)].tool.clone();
        self.tally.strings.push(UsedString { text: self.finder.get(id).to_owned(), tool, place });
        self.known.insert(id);
        true
    }

    /// Searches a string in a kept result, or reads on until it comes, and charges that. Returns true if it was found.
    fn follow_up(&mut self, at: usize, holder: usize, id: StringId) -> bool {
        let [cursor, mut next] = self.live[holder].cursors.clone();
        let search = cursor.map(|cursor| (json!({"cursor": cursor, "find": self.finder.get(id)}), cursor));
        let mut replies = Vec::new();
        let mut is_found =
            search.is_some_and(|(arguments, cursor)| self.ask(&cursor, &arguments, id, &mut replies));
        if !is_found {
            replies.clear();
        }
        while let (false, Some(cursor), 0..MAX_PAGES) = (is_found, next, replies.len()) {
            is_found = self.ask(&cursor, &json!({"cursor": cursor}), id, &mut replies);
            next = replies.last_mut().and_then(|(_, reply)| reply.cursors[1].take());
        }
        if !is_found {
            return false;
        }
        let (turns, result) = (self.turns_left[at] + 1, &mut self.live[holder]);
        let mut charge = Tally { whole_threshold: result.whole_threshold, ..Tally::default() };
        for (call, reply) in replies {
            charge.follow_ups += 1;
            charge.with += self.prices.of_input(call + reply.tokens, turns);
            charge.with.sent += self.context;
            charge.with.cost += self.context as f64 * self.prices.cache_read * self.prices.input / 1e6;
            charge.with.cost += call as f64 * self.prices.output / 1e6;
            result.shown.extend(self.finder.find_in(&reply.text));
        }
        *self.tally.tools.entry(result.tool.clone()).or_default() += charge;
        true
    }

    /// Asks a follow-up, and adds the tokens of the call and its reply. Returns true if the reply has a string.
    fn ask(&self, cursor: &str, arguments: &Value, id: StringId, replies: &mut Vec<(u64, Reply)>) -> bool {
        let arguments = arguments.to_string();
        let Some(reply) = Reply::from_shaped(self.shaper.follow_up(cursor, &arguments)) else { return false };
        let is_found = self.finder.find_in(&reply.text).contains(&id);
        // Cursors differ from run to run.
        let call = count(&arguments.replace(cursor, CURSOR));
        replies.push((call, reply));
        is_found
    }

    /// Charges what Portion adds to the lists of tools, which are sent with every request.
    fn charge_listing(&mut self, config: &Config) {
        let mut tools_of: BTreeMap<Option<String>, u64> = BTreeMap::new();
        for tool in self.tally.tools.keys() {
            *tools_of.entry(tool.server.clone()).or_default() += 1;
        }
        for (server, tools) in tools_of {
            let listed = builtin_listings(&config.listing(server.as_deref()));
            let tokens = listed.iter().map(|tool| count(tool)).sum::<u64>() + tools * count(CONTROLS);
            let with = self.prices.of_input(tokens, self.tally.turns);
            let tool = Tool { server, name: LISTING.to_owned() };
            self.tally.tools.insert(tool, Tally { with, ..Tally::default() });
        }
    }
}

fn count(text: &str) -> u64 {
    Tokenizer::MEASURE.counter().count(text) as u64
}
