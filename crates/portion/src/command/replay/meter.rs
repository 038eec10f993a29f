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
use portion_mcp::mcp::builtin_listings;
use portion_tokens::Tokenizer;
use serde_json::json;

use super::strings::{StringFinder, StringId, StringTable, UsedLine};
use super::transcript::{Event, Session, Tool};
use crate::shaper::{Shaped, Shaper, ToolName};

/// Name of the row with the cost of what Portion adds to the list of tools.
pub(super) const LISTING: &str = "(tools of Portion)";
/// What is added to the arguments of a listed tool, at most.
const CONTROLS: &str = r#""limit":{"type":"integer"},"cursor":{"type":"string"},"fields":{"type":"string"},"query":{"type":"string"},"#;
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
    /// Tokens of the largest result that needed a follow-up.
    pub(super) largest_reopened: u64,
}

/// Place of a string that an argument used, in front of a model with Portion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    tokens: u64,
    /// Cursors of the whole and of what follows the first reply.
    cursors: [Option<String>; 2],
    contained: HashSet<StringId>,
    shown: HashSet<StringId>,
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
        self.follow_ups += other.follow_ups;
        self.without += other.without;
        self.with += other.with;
        self.largest_reopened = self.largest_reopened.max(other.largest_reopened);
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

impl Replay<'_> {
    /// Shapes a result, and counts it with and without Portion.
    fn add_result(&mut self, at: usize, tool: Tool, texts: &[String], sent: Option<&str>, is_error: bool) {
        let name = ToolName { server: tool.server.as_deref(), name: &tool.name };
        let shaped = self.shaper.shape(Some(name), texts, is_error, None);
        let original = sent.map_or_else(|| texts.join("\n"), str::to_owned);
        let contained = self.finder.find_in(&texts.join("\n"));
        let tokens = count(&original);
        let (reply, cursors) = match shaped {
            Ok(None) => (None, [None, None]),
            Ok(Some(Shaped { texts, cursor, next_cursor, .. })) => {
                (Some(texts.join("\n")), [cursor, next_cursor])
            }
            Err(refusal) => {
                let cursor = refusal.cursor.as_ref().map(ToString::to_string);
                (Some(refusal.to_json()), [cursor, None])
            }
        };
        let shown = reply.as_ref().map_or_else(|| contained.clone(), |reply| self.finder.find_in(reply));
        let with = reply.as_ref().map_or(tokens, |reply| count(reply));
        let turns = self.turns_left[at];
        let tally = self.tally.tools.entry(tool.clone()).or_default();
        tally.results += 1;
        tally.shortened += u64::from(reply.is_some());
        tally.without += self.prices.of_input(tokens, turns);
        tally.with += self.prices.of_input(with, turns);
        self.context += with;
        self.live.push(LiveResult { tool, tokens, cursors, contained, shown });
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
        let pattern = self.finder.get(id).to_owned();
        let [cursor, mut next] = self.live[holder].cursors.clone();
        let search = cursor.map(|cursor| (json!({"cursor": cursor, "find": pattern}).to_string(), cursor));
        if let Some((arguments, cursor)) = search
            && self.ask(at, holder, &cursor, &arguments, id).0
        {
            return true;
        }
        for _ in 0..MAX_PAGES {
            let Some(cursor) = next else { return false };
            let arguments = json!({"cursor": cursor}).to_string();
            let (is_found, following) = self.ask(at, holder, &cursor, &arguments, id);
            if is_found {
                return true;
            }
            next = following;
        }
        false
    }

    /// Asks a follow-up, and charges it. Returns true if its reply has a string, and the cursor of what follows.
    fn ask(
        &mut self,
        at: usize,
        holder: usize,
        cursor: &str,
        arguments: &str,
        id: StringId,
    ) -> (bool, Option<String>) {
        let (reply, next) = match self.shaper.follow_up(cursor, arguments) {
            Ok(Some(shaped)) => (shaped.texts.join("\n"), shaped.next_cursor),
            Ok(None) => return (false, None),
            Err(fault) => (fault.to_json(), None),
        };
        let (turns, call) = (self.turns_left[at] + 1, count(arguments));
        let result = &mut self.live[holder];
        let tally = self.tally.tools.entry(result.tool.clone()).or_default();
        tally.follow_ups += 1;
        tally.largest_reopened = tally.largest_reopened.max(result.tokens);
        tally.with += self.prices.of_input(call + count(&reply), turns);
        tally.with.sent += self.context;
        tally.with.cost += self.context as f64 * self.prices.cache_read * self.prices.input / 1e6;
        tally.with.cost += call as f64 * self.prices.output / 1e6;
        let found = self.finder.find_in(&reply);
        let is_found = found.contains(&id);
        result.shown.extend(found);
        (is_found, next)
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
