//! `/api/`: what was recorded, as JSON for programs. `openapi.json` is its one description, and served as well; a test
//! holds it against what is answered.

mod shape;

use std::time::SystemTime;

use portion_telemetry::read::{Filter, Reader};
use portion_telemetry::show::values;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::asked::Asked;
use crate::family;
use crate::page;
use crate::query::{Query, Wrong};
use crate::range::micros;
use crate::site::{Failure, Nothing, Site};
use shape::{alert, configuration, figures, moment, refused};

const DESCRIPTION: &str = include_str!("openapi.json");
/// Parameters that say which time, and which requests of it.
const TRAFFIC: &[&str] = &["since", "until", "endpoint", "outcome"];
const LISTED: &[&str] = &["since", "until", "limit"];
const RECORDS: &[&str] = &["since", "until", "endpoint", "outcome", "only", "limit"];

/// Answers what stands after `/api/`.
pub(crate) fn answer(site: &Site, question: &str, query: &Query, now: SystemTime) -> Answer {
    match found(site, question, query, now) {
        Ok(json) => Answer::json(200, &json),
        Err(failure) => refuse(&failure),
    }
}

fn found(site: &Site, question: &str, query: &Query, now: SystemTime) -> Result<Value, Failure> {
    let ask = |known: &[&str]| {
        query.check(known)?;
        Asked::read(query, now)
    };
    let (kind, id) = question.split_once('/').unwrap_or((question, ""));
    match (kind, id) {
        ("overview", "") => overview(&ask(TRAFFIC)?, &site.reader()?, now),
        ("series", "") => series(&ask(TRAFFIC)?, &site.reader()?),
        ("endpoints", "") => endpoints(&ask(TRAFFIC)?, &site.reader()?),
        ("records", "") => records(&ask(RECORDS)?, &site.reader()?),
        ("records", id) => {
            query.check(&[])?;
            record(id, &site.reader()?)
        }
        ("experiment", "") => experiment(&ask(TRAFFIC)?, &site.reader()?),
        ("configurations", "") => configurations(&ask(LISTED)?, &site.reader()?),
        ("alerts", "") => alerts(&ask(LISTED)?, &site.reader()?, now),
        ("openapi.json", "") => {
            query.check(&[])?;
            Ok(serde_json::from_str(DESCRIPTION).unwrap_or_default())
        }
        _ => {
            Err(Failure::Unknown("nothing is answered at this path; /api/openapi.json names those there are"))
        }
    }
}

fn overview(asked: &Asked, reader: &Reader, now: SystemTime) -> Result<Value, Failure> {
    let total = reader.total(&asked.filter())?;
    let alerts: Vec<Value> = reader.active_alerts(micros(now))?.iter().map(alert).collect();
    Ok(json!({ "range": range(asked), "figures": figures(&total), "alerts": alerts }))
}

fn series(asked: &Asked, reader: &Reader) -> Result<Value, Failure> {
    let series = reader.series(&asked.filter(), asked.range.step())?;
    let slot = |slot: &portion_telemetry::read::Slot| {
        let mut json = json!({ "timestamp": moment(slot.at) });
        if let (Value::Object(slot), Value::Object(figures)) = (&mut json, figures(&slot.stats)) {
            slot.extend(figures);
        }
        json
    };
    let slots: Vec<Value> = series.slots.iter().map(slot).collect();
    Ok(json!({ "range": range(asked), "stepSeconds": series.step.as_secs(), "slots": slots }))
}

fn endpoints(asked: &Asked, reader: &Reader) -> Result<Value, Failure> {
    let endpoints = reader.endpoints(&asked.filter())?;
    let rows = values::endpoints(&endpoints);
    Ok(json!({ "range": range(asked), "endpoints": rows }))
}

fn records(asked: &Asked, reader: &Reader) -> Result<Value, Failure> {
    let listed = asked.list(reader)?;
    let rows = values::requests(&listed.records);
    Ok(json!({ "range": range(asked), "records": rows, "nextUntil": listed.rest.map(moment) }))
}

fn record(id: &str, reader: &Reader) -> Result<Value, Failure> {
    let wrong = || Wrong::new("id", "it is a number of 32 hexadecimal digits");
    let number = page::number(id, 32).ok_or_else(wrong)?;
    let Some((record, family)) = family::found(reader, number)? else {
        return Err(Failure::Unknown("no request of that number is recorded; old ones are forgotten"));
    };
    let one = values::requests(&[record]);
    let family = values::requests(&family);
    Ok(json!({ "record": one.get(0), "sameOrigin": family }))
}

fn experiment(asked: &Asked, reader: &Reader) -> Result<Value, Failure> {
    let comparisons = reader.experiment(&asked.filter())?;
    let rows = values::comparisons(&comparisons);
    Ok(json!({ "range": range(asked), "comparisons": rows }))
}

fn configurations(asked: &Asked, reader: &Reader) -> Result<Value, Failure> {
    let filter = Filter { limit: Some(asked.limit), ..asked.range.filter() };
    let configurations: Vec<Value> = reader.configurations(&filter)?.iter().map(configuration).collect();
    let refused: Vec<Value> = reader.misconfigurations(&filter)?.iter().map(refused).collect();
    Ok(json!({ "range": range(asked), "configurations": configurations, "refused": refused }))
}

fn alerts(asked: &Asked, reader: &Reader, now: SystemTime) -> Result<Value, Failure> {
    let filter = Filter { limit: Some(asked.limit), ..asked.range.filter() };
    let events: Vec<Value> = reader.alerts(&filter)?.iter().map(alert).collect();
    let standing: Vec<Value> = reader.active_alerts(micros(now))?.iter().map(alert).collect();
    Ok(json!({ "range": range(asked), "standing": standing, "events": events }))
}

fn range(asked: &Asked) -> Value {
    json!({ "since": moment(asked.range.since), "until": moment(asked.range.until) })
}

fn refuse(failure: &Failure) -> Answer {
    let (status, code, message) = match failure {
        Failure::Wrong(wrong) => (400, "parameter_invalid", wrong.to_string()),
        Failure::Unknown(why) => (404, "not_found", (*why).to_owned()),
        Failure::Nothing(Nothing::Off) => (503, "telemetry_off", page::OFF.to_owned()),
        Failure::Nothing(Nothing::Unread(error)) => (503, "records_unreadable", error.to_string()),
    };
    Answer::json(status, &json!({ "error": { "code": code, "message": message } }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_description_is_of_this_version() {
        let description: Value = serde_json::from_str(DESCRIPTION).expect("it is JSON");
        assert_eq!(description["info"]["version"], env!("CARGO_PKG_VERSION"));
        let names = portion_core::event::Outcome::ALL.map(portion_core::event::Outcome::name);
        assert_eq!(description["components"]["schemas"]["Outcome"]["enum"], json!(names));
    }
}
