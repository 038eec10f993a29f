//! Prints what sessions would have been, as tables and as JSON.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use portion_telemetry::show::{TextCell, TextTable, grouped, printable};
use portion_text::display::{counted, truncate};
use serde_json::{Value, json};

use super::meter::{LISTING, Place, Prices, SessionTally, Tally, Usage, UsedString};
use super::transcript::Tool;
use crate::cli::terminal::folded;

/// Most rows of a table, and lost strings that are named.
const MAX_ROWS: usize = 20;
const MAX_NAMED: usize = 5;
/// Characters that are shown of the id of a session.
const ID_CHARS: usize = 14;
/// Largest width of a name.
const NAME_WIDTH: usize = 32;

const NOTHING: &str = "No session with results of tools was found. Name transcripts, or folders of them: \
                       portion replay --help\n";

/// All sessions, and sums over them.
#[derive(Debug)]
pub(super) struct Report<'a> {
    sessions: &'a [SessionTally],
    prices: Prices,
    tools: BTreeMap<&'a Tool, Tally>,
}

impl<'a> Report<'a> {
    pub(super) fn new(sessions: &'a [SessionTally], prices: Prices) -> Self {
        let mut tools: BTreeMap<&Tool, Tally> = BTreeMap::new();
        for (tool, tally) in sessions.iter().flat_map(|session| &session.tools) {
            *tools.entry(tool).or_default() += *tally;
        }
        Self { sessions, prices, tools }
    }

    /// Returns the sum over the tools of servers, or over the client's own tools.
    fn total(&self, of_servers: bool) -> Tally {
        let is_counted = |(tool, _): &(&&Tool, &Tally)| tool.server.is_some() == of_servers;
        sum(self.tools.iter().filter(is_counted).map(|(_, tally)| tally))
    }

    pub(super) fn to_json(&self) -> Value {
        let Prices { input, output, cache_write, cache_read } = self.prices;
        let sessions = self.sessions.iter().map(|session| {
            let tally = sum(session.tools.values());
            let tools = session.tools.iter().map(|(tool, tally)| tool_json(tool, *tally)).collect::<Vec<_>>();
            let strings = session.strings.iter().map(|UsedString { text, tool, place }| {
                json!({"string": text, "server": tool.server, "tool": tool.name, "place": place})
            });
            let mut document = tally_json(tally);
            document["client"] = session.client.into();
            document["id"] = session.id.as_str().into();
            document["turns"] = session.turns.into();
            document["tools"] = tools.into();
            document["strings"] = strings.collect();
            document
        });
        let advice = self
            .advice()
            .into_iter()
            .map(|(tool, _, setting)| json!({"server": tool.server, "tool": tool.name, "setting": setting}));
        json!({
            "sessions": sessions.collect::<Vec<_>>(),
            "tools": self.tools.iter().map(|(tool, tally)| tool_json(tool, *tally)).collect::<Vec<_>>(),
            "servers": tally_json(self.total(true)),
            "ownTools": tally_json(self.total(false)),
            "strings": {
                "firstReply": self.strings(Place::FirstReply).len(),
                "followUp": self.strings(Place::FollowUp).len(),
                "lost": self.strings(Place::Lost).len(),
            },
            "advice": advice.collect::<Vec<_>>(),
            "prices": {"input": input, "output": output, "cacheWrite": cache_write, "cacheRead": cache_read},
        })
    }

    pub(super) fn to_text(&self) -> String {
        if self.sessions.is_empty() {
            return folded(NOTHING);
        }
        let mut text = String::new();
        let mut tools: Vec<(String, Tally)> =
            self.tools.iter().map(|(tool, tally)| (tool_name(tool), *tally)).collect();
        tools.sort_by_key(|(_, tally)| Reverse(tally.without.sent));
        let totals =
            [("tools of servers", self.total(true)), ("* the client's own tools", self.total(false))];
        let totals = totals.into_iter().filter(|(_, tally)| tally.with.tokens > 0);
        let _ =
            writeln!(text, "{}", table("tool", tools, totals.map(|(name, tally)| (name.to_owned(), tally))));
        let mut sessions: Vec<(String, Tally)> = self
            .sessions
            .iter()
            .map(|session| (session_name(session), sum(session.tools.values())))
            .collect();
        if sessions.len() > 1 {
            sessions.sort_by_key(|(_, tally)| Reverse(tally.without.sent));
            let _ = writeln!(text, "{}", table("session", sessions, std::iter::empty()));
        }
        text.push_str(&folded(&self.explanation()));
        text
    }

    fn explanation(&self) -> String {
        let Prices { input, output, cache_write, cache_read } = self.prices;
        let mut text = format!(
            "Sent: tokens of all requests that a result was part of, with those of follow-ups. Cost: at {input} for a \
             million input tokens ({cache_write} × when written to the prompt cache, {cache_read} × when read from it) \
             and {output} for output.\n"
        );
        if self.total(false).results > 0 {
            text.push_str("* Portion stands in front of tools of servers. What is marked is what it would be if these were some.\n");
        }
        let [first, follow_up, lost] =
            [Place::FirstReply, Place::FollowUp, Place::Lost].map(|place| self.strings(place));
        let all = first.len() + follow_up.len() + lost.len();
        let _ = writeln!(
            text,
            "\nLater arguments used {} of results: {} in the first reply, {} by a follow-up that is charged, {} lost.",
            counted(all, "string"),
            first.len(),
            follow_up.len(),
            lost.len()
        );
        for UsedString { text: string, tool, .. } in lost.iter().take(MAX_NAMED) {
            let _ = writeln!(text, "  lost: {} of {}", printable(string), tool_name(tool));
        }
        for (tool, tally, setting) in self.advice() {
            let _ = writeln!(
                text,
                "\nPortion would have cost more for {}: {:.4} in place of {:.4}. {setting}",
                tool_name(tool),
                tally.with.cost,
                tally.without.cost
            );
        }
        text
    }

    fn strings(&self, place: Place) -> Vec<&UsedString> {
        self.sessions.iter().flat_map(|session| &session.strings).filter(|used| used.place == place).collect()
    }

    /// Returns the tools and servers that Portion makes more expensive, with the setting that mends it.
    fn advice(&self) -> Vec<(&Tool, Tally, String)> {
        let is_worse = |tally: &Tally| tally.with.cost > tally.without.cost;
        let mut advice = Vec::new();
        for (tool, tally) in self.tools.iter().filter(|(tool, tally)| tool.name != LISTING && is_worse(tally))
        {
            let name = serde_json::to_string(&tool.name).unwrap_or_default();
            let setting = match tally.whole_threshold {
                Some(tokens) => format!("{{tokenBudgetThreshold: {tokens}, fullBelow: {tokens}}}"),
                None => "{rollout: 0}".to_owned(),
            };
            let setting = format!("portion.yaml: endpoints: {{{name}: {setting}}}");
            advice.push((*tool, *tally, setting));
        }
        for (tool, _) in self.tools.iter().filter(|(tool, _)| tool.name == LISTING) {
            let of_server = self.tools.iter().filter(|(other, _)| other.server == tool.server);
            let tally = sum(of_server.map(|(_, tally)| tally));
            if let Some(server) = &tool.server
                && is_worse(&tally)
            {
                advice.push((*tool, tally, format!("portion uninstall {server}")));
            }
        }
        advice
    }
}

fn sum<'a>(tallies: impl IntoIterator<Item = &'a Tally>) -> Tally {
    let mut total = Tally::default();
    for tally in tallies {
        total += *tally;
    }
    total
}

/// Returns a table of rows, the largest, and totals.
fn table(title: &str, rows: Vec<(String, Tally)>, totals: impl Iterator<Item = (String, Tally)>) -> String {
    let mut table = TextTable::new(0, 2);
    let titles = ["results", "tokens", "Portion", "sent", "Portion", "cost", "Portion"];
    let head = [TextCell::left(title)].into_iter().chain(titles.map(TextCell::right));
    table.row(head);
    let omitted = rows.len().saturating_sub(MAX_ROWS);
    for (name, tally) in rows.into_iter().take(MAX_ROWS).chain(totals) {
        let Tally { results, without, with, .. } = tally;
        let figures = [results, without.tokens, with.tokens, without.sent, with.sent].map(grouped);
        let decimals = if without.cost.max(with.cost) < 1.0 { 4 } else { 2 };
        let costs = [without.cost, with.cost].map(|cost| format!("{cost:.decimals$}"));
        let name = truncate(&printable(&name), NAME_WIDTH);
        let cells = figures.into_iter().chain(costs).map(TextCell::right);
        table.row([TextCell::left(name)].into_iter().chain(cells));
    }
    let more =
        if omitted > 0 { format!("… and {}\n", counted(omitted, "more row")) } else { String::new() };
    format!("{table}{more}")
}

/// Returns the client and the end of the id, where ids differ.
fn session_name(session: &SessionTally) -> String {
    let client = session.client.trim_end_matches("-mcp-client");
    let start = session.id.char_indices().rev().nth(ID_CHARS - 1).map_or(0, |(at, _)| at);
    format!("{client} {}{}", if start > 0 { "…" } else { "" }, &session.id[start..])
}

fn tool_name(tool: &Tool) -> String {
    match &tool.server {
        Some(server) => format!("{server}/{}", tool.name),
        None => format!("* {}", tool.name),
    }
}

fn tool_json(tool: &Tool, tally: Tally) -> Value {
    let mut document = tally_json(tally);
    document["server"] = tool.server.clone().into();
    document["tool"] = tool.name.as_str().into();
    document
}

fn tally_json(tally: Tally) -> Value {
    let Tally { results, shortened, follow_ups, without, with, .. } = tally;
    let usage = |Usage { tokens, sent, cost }| json!({"tokens": tokens, "sent": sent, "cost": cost});
    json!({
        "results": results, "shortened": shortened, "followUps": follow_ups,
        "without": usage(without), "with": usage(with),
    })
}
