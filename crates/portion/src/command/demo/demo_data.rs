//! Data of the demo's server: real school records and a real log, which the binary contains.
//!
//! `data/README.md` names their sources. They are packed with Zstandard, because the tokenizer needs its decoder
//! anyway.
use std::io::{self, Read};

use ruzstd::decoding::StreamingDecoder;
use serde::Deserialize;

const SCHOOLS: &[u8] = include_bytes!("data/schools.ndjson.zst");
const LOG: &[u8] = include_bytes!("data/server.log.zst");

/// The unpacked records and log.
#[derive(Debug)]
pub(crate) struct DemoData {
    /// Public colleges and universities of the United States, in the order of IPEDS.
    pub(crate) schools: Vec<School>,
    /// Log of a database server in a busy minute.
    pub(crate) log: String,
}

/// One institution: the whole record as JSON, and what the tools search by.
#[derive(Debug)]
pub(crate) struct School {
    /// The record, a JSON object without insignificant whitespace.
    pub(crate) record: String,
    /// The identifier that IPEDS gives an institution.
    pub(crate) unitid: u64,
    /// The institution's name.
    pub(crate) name: String,
    /// Two letters: the postal code of its state.
    pub(crate) state: String,
}

#[derive(Deserialize)]
struct SearchFields {
    unitid: u64,
    name: String,
    state: String,
}

impl DemoData {
    /// Unpacks what the binary carries.
    ///
    /// # Errors
    /// The binary was built with damaged files.
    pub(crate) fn unpack() -> io::Result<Self> {
        let schools = unpack(SCHOOLS)?.lines().map(School::parse).collect::<Result<_, _>>()?;
        Ok(Self { schools, log: unpack(LOG)? })
    }
}

impl School {
    fn parse(record: &str) -> Result<Self, serde_json::Error> {
        let SearchFields { unitid, name, state } = serde_json::from_str(record)?;
        Ok(Self { record: record.to_owned(), unitid, name, state })
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
