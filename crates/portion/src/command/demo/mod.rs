//! `portion demo`: compares calls with and without Portion on real data that the binary contains.
//!
//! `server` is an MCP server with the records, and the bookings and rules of a rental desk, which are generated from the
//! words in `data/desk.json`: nobody has made these bookings. `tour`
//! calls it with and without Portion in front by [`stdio_client`](crate::run::stdio_client), `report` has the results and
//! follows every cursor to the end, and `show` prints them. The Cargo feature `demo` includes all this.
//!
//! `data/README.md` names the sources of the records and the log. They are packed with Zstandard, because the tokenizer needs its
//! decoder anyway.

mod report;
mod server;
mod show;
mod tour;

use std::io::{self, Read, Write};
use std::process::ExitCode;

use clap::Args;
use ruzstd::decoding::StreamingDecoder;
use serde::Deserialize;
use serde_json::{Value, json};

use super::CommandResult;
use crate::cli::terminal::{columns, print_stdout, reported, show_progress};

/// Number of bookings.
const COUNT: usize = 500;

/// Clauses of a rule.
const CLAUSES: usize = 14;

/// Options of `portion demo`.
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// Makes the tour and prints it; fails where the portions joined are not the original.
pub(crate) fn run(options: &Options) -> CommandResult {
    show_progress("calling the tools of the demo");
    let report = tour::run()?;
    let printed = if options.json {
        print_stdout(&format!("{}\n", serde_json::to_string_pretty(&report)?))
    } else {
        let mut out = anstream::stdout().lock();
        show::write(&report, columns(show::WIDTH), &mut out).and_then(|()| out.flush())
    };
    let code = if report.is_lossless() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    reported(printed, None, code)
}

/// Serves stdin and stdout until stdin ends.
pub(crate) fn serve() -> CommandResult {
    server::serve(&DemoData::unpack()?, io::stdin().lock(), io::stdout().lock())?;
    Ok(ExitCode::SUCCESS)
}

const SCHOOLS: &[u8] = include_bytes!("data/schools.ndjson.zst");

const LOG: &[u8] = include_bytes!("data/server.log.zst");

/// The unpacked records and log.
#[derive(Debug)]
pub(crate) struct DemoData {
    /// Public colleges and universities of the United States, in the order of IPEDS.
    pub(crate) schools: Vec<School>,
    /// Log of a database server in a busy minute.
    pub(crate) log: String,
    /// The rental desk.
    pub(crate) desk: Desk,
}

/// One institution: the whole record as JSON, and what the tools search by.
#[derive(Debug, Deserialize)]
pub(crate) struct School {
    /// The record, a JSON object without insignificant whitespace.
    #[serde(skip)]
    pub(crate) record: String,
    /// The identifier that IPEDS gives an institution.
    pub(crate) unitid: u64,
    /// The institution's name.
    pub(crate) name: String,
    /// Two letters: the postal code of its state.
    pub(crate) state: String,
}

impl DemoData {
    /// Unpacks what the binary carries.
    ///
    /// # Errors
    /// The binary was built with damaged files.
    pub(crate) fn unpack() -> io::Result<Self> {
        let schools = unpack(SCHOOLS)?.lines().map(School::parse).collect::<Result<_, _>>()?;
        Ok(Self { schools, log: unpack(LOG)?, desk: Desk::read()? })
    }
}

impl School {
    fn parse(record: &str) -> Result<Self, serde_json::Error> {
        Ok(Self { record: record.to_owned(), ..serde_json::from_str(record)? })
    }
}

/// Words of which bookings and rules are made.
#[derive(Debug, Deserialize)]
pub(crate) struct Desk {
    guests: Vec<String>,
    /// Name, city and country.
    listings: Vec<[String; 3]>,
    channels: Vec<String>,
    statuses: Vec<String>,
    languages: Vec<String>,
    messages: Vec<String>,
    /// Subject, and two sentences.
    rules: Vec<[String; 3]>,
    clauses: Vec<String>,
}

impl Desk {
    /// Reads the words.
    ///
    /// # Errors
    /// The binary was built with a damaged file.
    fn read() -> Result<Self, serde_json::Error> {
        serde_json::from_str(include_str!("data/desk.json"))
    }

    /// Returns the bookings, the last arrival first.
    fn bookings(&self) -> Vec<Value> {
        (0..COUNT).rev().map(|number| self.booking(number)).collect()
    }

    /// Returns all chunks of the rules with their relevance for a query, in the order of the handbook.
    fn rules(&self, query: &str) -> Vec<Value> {
        let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
        let chunks = self.rules.iter().enumerate().map(|(at, [subject, first, second])| {
            let clauses: Vec<&str> = (at..at + CLAUSES).map(|at| nth(&self.clauses, at).as_str()).collect();
            let text = format!("{subject}. {first}. {second}. {}.", clauses.join(". "));
            let plain = text.to_lowercase();
            let hits: usize = words.iter().map(|word| plain.matches(word.as_str()).count()).sum();
            json!({"id": format!("rule-{:02}", at + 1), "score": hits as f64 / (hits + 4) as f64, "text": text})
        });
        chunks.collect()
    }

    fn booking(&self, number: usize) -> Value {
        let [listing, city, country] = nth(&self.listings, number);
        let nights = 1 + number % 6;
        let (month, day) = (1 + number * 12 / COUNT, 1 + number % 21);
        let arrival = format!("2026-{month:02}-{day:02}");
        let (rate, cleaning) = (70 + number * 37 % 190, 45 + number % 4 * 10);
        let total = rate * nights + cleaning;
        let messages = (0..4).map(|at| {
            let sender = if at % 2 == 0 { "guest" } else { "host" };
            json!({
                "id": number * 10 + at,
                "sender": sender,
                "at": format!("{arrival}T{:02}:15:00Z", 8 + at),
                "body": nth(&self.messages, number + at),
            })
        });
        json!({
            "id": 40_000 + number,
            "status": nth(&self.statuses, number),
            "guestName": nth(&self.guests, number * 7),
            "arrivalDate": arrival,
            "departureDate": format!("2026-{month:02}-{:02}", day + nights),
            "nights": nights,
            "totalPrice": total,
            "currency": "EUR",
            "listingName": listing,
            "listingMapId": 100 + number % self.listings.len(),
            "channelName": nth(&self.channels, number),
            "guest": {
                "language": nth(&self.languages, number),
                "adults": 1 + number % 4,
                "children": number % 3,
                "pets": number % 7 / 6,
                "isReturning": number.is_multiple_of(5),
            },
            "financial": {
                "nightlyRate": rate,
                "cleaningFee": cleaning,
                "cityTax": nights * 2,
                "paid": number % 7 > 2,
                "refunded": 0,
                "commission": total / 10,
            },
            "property": {
                "city": city,
                "countryCode": country,
                "bedroomsNumber": 1 + number % 4,
                "checkInTimeStart": 15,
                "checkOutTime": 10,
            },
            "messages": messages.collect::<Vec<_>>(),
        })
    }
}

fn unpack(packed: &[u8]) -> io::Result<String> {
    let mut text = String::new();
    StreamingDecoder::new(packed).map_err(io::Error::other)?.read_to_string(&mut text)?;
    Ok(text)
}

/// Returns an element of a list that repeats.
fn nth<T>(list: &[T], at: usize) -> &T {
    &list[at % list.len()]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn holds_what_the_demo_promises() {
        let material = DemoData::unpack().expect("the packed files are whole");
        assert!(material.schools.len() >= 1_000);
        assert!(material.schools.iter().all(|school| school.state.len() == 2 && !school.name.is_empty()));
        assert!(material.log.lines().count() >= 10_000);
        assert!(material.log.lines().filter(|line| line.starts_with('\t')).count() >= 1_000);
    }

    #[test]
    fn bookings_are_in_order_and_have_ids_and_dates_of_their_own() {
        let all = Desk::read().expect("the file is whole").bookings();
        assert_eq!(all.iter().filter_map(|one| one["id"].as_u64()).collect::<BTreeSet<_>>().len(), COUNT);
        for one in &all {
            let (from, to) = (one["arrivalDate"].as_str(), one["departureDate"].as_str());
            assert!(from < to && to.is_some_and(|to| to[8..] < *"29"), "{one}");
        }
    }
}
