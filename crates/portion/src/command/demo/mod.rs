//! `portion demo`: compares calls with and without Portion on real data that the binary contains.
//!
//! `desk` generates bookings and rules, `server` is an MCP server with all of them, `tour`
//! calls it with and without Portion in front by [`stdio_client`](crate::run::stdio_client), `report` has the results and
//! follows every cursor to the end, and `show` prints them. The Cargo feature `demo` includes all this.
//!
//! `data/README.md` names the sources of the records and the log. They are packed with Zstandard, because the tokenizer needs its
//! decoder anyway.

mod desk;
mod report;
mod server;
mod show;
mod tour;

use std::io::{self, Read, Write};
use std::process::ExitCode;

use clap::Args;
use desk::Desk;
use ruzstd::decoding::StreamingDecoder;
use serde::Deserialize;

use super::CommandResult;
use crate::cli::terminal::{columns, print_stdout, reported, show_progress};

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

fn unpack(packed: &[u8]) -> io::Result<String> {
    let mut text = String::new();
    StreamingDecoder::new(packed).map_err(io::Error::other)?.read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_what_the_demo_promises() {
        let material = DemoData::unpack().expect("the packed files are whole");
        assert!(material.schools.len() >= 1_000);
        assert!(material.schools.iter().all(|school| school.state.len() == 2 && !school.name.is_empty()));
        assert!(material.log.lines().count() >= 10_000);
        assert!(material.log.lines().filter(|line| line.starts_with('\t')).count() >= 1_000);
    }
}
