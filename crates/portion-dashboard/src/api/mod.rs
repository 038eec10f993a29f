//! `/api/`: records as JSON for programs. `openapi.json` describes it and is served as well; a test compares both.

use std::time::SystemTime;

use portion_core::event::{AlertChanged, ConfigApplied, ConfigRejected};
use portion_telemetry::read::{Filter, Reader, Traffic, TrafficStats};
use portion_telemetry::show::{self, Format};
use portion_telemetry::timestamp;
use serde_json::{Value, json};

use crate::answer::{Answer, Failure};
use crate::query::{InvalidParameter, Query, hex_number, micros};
use crate::selection::{self, NoRecords, Records, Selection, TELEMETRY_OFF};

const DESCRIPTION: &str = include_str!("openapi.json");
/// Parameters that select a time range and requests in it.
const TRAFFIC_PARAMETERS: &[&str] = &["since", "until", "endpoint", "server", "client", "outcome"];
const EVENT_PARAMETERS: &[&str] = &["since", "until", "limit"];
const RECORD_PARAMETERS: &[&str] =
    &["since", "until", "endpoint", "server", "client", "outcome", "only", "error", "limit", "format"];

/// Answers a path below `/api/`.
pub(crate) fn answer(source: &Records, path: &str, query: &Query, now: SystemTime) -> Answer {
    let answered = match (path, query.get("format")) {
        ("records", Some("csv")) => records_csv(source, query, now),
        ("records", Some(other)) if other != "json" => {
            Err(InvalidParameter::new("format", "expected json or csv").into())
        }
        _ => found(source, path, query, now).map(|json| Answer::json(200, &json)),
    };
    answered.unwrap_or_else(|failure| refuse(&failure))
}

fn found(source: &Records, path: &str, query: &Query, now: SystemTime) -> Result<Value, Failure> {
    let select = |known: &[&str]| {
        query.check(known)?;
        Selection::read(query, now)
    };
    let (kind, id) = path.split_once('/').unwrap_or((path, ""));
    match (kind, id) {
        ("overview", "") => overview(&select(TRAFFIC_PARAMETERS)?, &source.reader()?, now),
        ("series", "") => series(&select(TRAFFIC_PARAMETERS)?, &source.reader()?),
        ("endpoints", "") => endpoints(&select(TRAFFIC_PARAMETERS)?, &source.reader()?),
        ("records", "") => records(&select(RECORD_PARAMETERS)?, &source.reader()?),
        ("records", id) => {
            query.check(&[])?;
            record(id, &source.reader()?)
        }
        ("experiment", "") => experiment(&select(TRAFFIC_PARAMETERS)?, &source.reader()?),
        ("configurations", "") => configurations(&select(EVENT_PARAMETERS)?, &source.reader()?),
        ("alerts", "") => alerts(&select(EVENT_PARAMETERS)?, &source.reader()?, now),
        ("openapi.json", "") => {
            query.check(&[])?;
            Ok(serde_json::from_str(DESCRIPTION).unwrap_or_default())
        }
        _ => Err(Failure::NotFound("no such API path; /api/openapi.json lists them")),
    }
}

fn overview(selection: &Selection, reader: &Reader, now: SystemTime) -> Result<Value, Failure> {
    let total = reader.total(&selection.filter())?;
    let alerts: Vec<Value> = reader.active_alerts(micros(now))?.iter().map(alert).collect();
    Ok(json!({ "range": range(selection), "figures": statistics(&total), "alerts": alerts }))
}

fn series(selection: &Selection, reader: &Reader) -> Result<Value, Failure> {
    let series = reader.series(&selection.filter(), selection.range.step())?;
    let slot = |slot: &portion_telemetry::read::Slot| {
        let mut json = json!({ "timestamp": timestamp(slot.at) });
        if let (Value::Object(slot), Value::Object(members)) = (&mut json, statistics(&slot.stats)) {
            slot.extend(members);
        }
        json
    };
    let slots: Vec<Value> = series.slots.iter().map(slot).collect();
    Ok(json!({ "range": range(selection), "stepSeconds": series.step.as_secs(), "slots": slots }))
}

fn endpoints(selection: &Selection, reader: &Reader) -> Result<Value, Failure> {
    let endpoints = reader.endpoints(&selection.filter())?;
    let rows = show::endpoint_values(&endpoints);
    Ok(json!({ "range": range(selection), "endpoints": rows }))
}

fn records(selection: &Selection, reader: &Reader) -> Result<Value, Failure> {
    let page = selection.list(reader)?;
    let rows = show::request_values(&page.records);
    Ok(json!({ "range": range(selection), "records": rows, "nextUntil": page.older_than.map(timestamp) }))
}

/// Returns the selected records as a file for spreadsheets.
fn records_csv(source: &Records, query: &Query, now: SystemTime) -> Result<Answer, Failure> {
    query.check(RECORD_PARAMETERS)?;
    let page = Selection::read(query, now)?.list(&source.reader()?)?;
    Ok(Answer::csv(show::requests(&page.records, Format::Csv)))
}

fn record(id: &str, reader: &Reader) -> Result<Value, Failure> {
    let invalid = || InvalidParameter::new("id", "expected 32 hexadecimal digits");
    let number = hex_number(id, 32).ok_or_else(invalid)?;
    let Some((record, related)) = selection::find_request(reader, number)? else {
        return Err(Failure::NotFound("no request with that id is recorded; old records are deleted"));
    };
    let one = show::request_values(&[record]);
    let related = show::request_values(&related);
    Ok(json!({ "record": one.get(0), "sameOrigin": related }))
}

fn experiment(selection: &Selection, reader: &Reader) -> Result<Value, Failure> {
    let comparisons = reader.experiment(&selection.filter())?;
    let rows = show::comparison_values(&comparisons);
    Ok(json!({ "range": range(selection), "comparisons": rows }))
}

fn configurations(selection: &Selection, reader: &Reader) -> Result<Value, Failure> {
    let filter = Filter { limit: Some(selection.limit), ..selection.range.filter() };
    let configurations: Vec<Value> = reader.configurations(&filter)?.iter().map(configuration).collect();
    let refused: Vec<Value> = reader.misconfigurations(&filter)?.iter().map(refused).collect();
    Ok(json!({ "range": range(selection), "configurations": configurations, "refused": refused }))
}

fn alerts(selection: &Selection, reader: &Reader, now: SystemTime) -> Result<Value, Failure> {
    let filter = Filter { limit: Some(selection.limit), ..selection.range.filter() };
    let events: Vec<Value> = reader.alerts(&filter)?.iter().map(alert).collect();
    let active: Vec<Value> = reader.active_alerts(micros(now))?.iter().map(alert).collect();
    Ok(json!({ "range": range(selection), "standing": active, "events": events }))
}

fn range(selection: &Selection) -> Value {
    json!({ "since": timestamp(selection.range.since), "until": timestamp(selection.range.until) })
}

fn refuse(failure: &Failure) -> Answer {
    let (status, code, message) = match failure {
        Failure::Invalid(wrong) => (400, "parameter_invalid", wrong.to_string()),
        Failure::NotFound(why) => (404, "not_found", (*why).to_owned()),
        Failure::NoRecords(NoRecords::Off) => (503, "telemetry_off", TELEMETRY_OFF.to_owned()),
        Failure::NoRecords(NoRecords::Unreadable(error)) => (503, "records_unreadable", error.to_string()),
    };
    Answer::json(status, &json!({ "error": { "code": code, "message": message } }))
}

/// Formats a time as RFC 3339 in UTC.
fn timestamp(at: u64) -> Value {
    Value::from(timestamp::rfc3339(at))
}

/// Returns the statistics of an endpoint row without the endpoint, and the requests by outcome.
fn statistics(stats: &TrafficStats) -> Value {
    let traffic = Traffic { stats: stats.clone(), ..Traffic::default() };
    let mut json = show::endpoint_values(&[traffic])[0].take();
    if let Value::Object(members) = &mut json {
        for name in ["upstream", "kind", "endpoint", "counter"] {
            members.remove(name);
        }
        members.insert("outcomes".to_owned(), json!(stats.outcomes));
    }
    json
}

fn configuration(configured: &ConfigApplied) -> Value {
    let changes = configured.changes.iter().map(|change| {
        // Values are stored as JSON; other text is returned as a string.
        let value = |value: &Option<String>| {
            value
                .as_ref()
                .map(|text| serde_json::from_str(text).unwrap_or_else(|_| Value::from(text.as_str())))
        };
        json!({ "key": change.key, "old": value(&change.old), "new": value(&change.new) })
    });
    json!({
        "timestamp": timestamp(configured.at),
        "configVersion": configured.version,
        "source": configured.source,
        "changes": changes.collect::<Vec<_>>(),
    })
}

fn refused(refused: &ConfigRejected) -> Value {
    json!({ "timestamp": timestamp(refused.at), "source": refused.source, "errors": refused.errors })
}

fn alert(alert: &AlertChanged) -> Value {
    json!({
        "timestamp": timestamp(alert.at),
        "alert": alert.alert_name,
        "raised": alert.is_raised,
        "share": alert.share,
        "threshold": alert.threshold,
        "requests": alert.requests,
        "counted": alert.matching_requests,
        "windowSeconds": alert.window.as_secs(),
        "process": format!("{:016x}", alert.process),
    })
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
