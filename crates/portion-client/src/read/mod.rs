//! Reads the chunks of a tool's result, in whatever shape the tool returns them.
//!
//! - `structuredContent`: a list, or an object with one
//! - one text block: a JSON list, an object with one, newline-delimited JSON, JSON after words or in a Markdown fence
//! - several text blocks: one chunk per block, as text or as a JSON record
//! - lists of plain texts, and lists in a string of an envelope
//! - objects that hold the chunks by key
//!
//! ```
//! use portion_client::read::{FieldNames, read_chunks};
//!
//! let result = r#"{"content":[{"type":"text","text":"[{\"passage\":\"It rains.\",\"similarity\":0.7}]"}]}"#;
//! let chunks = read_chunks(result, &FieldNames::default())?;
//! assert_eq!((chunks[0].text.as_deref(), chunks[0].score), (Some("It rains."), Some(0.7)));
//! # Ok::<(), portion_client::read::ReadError>(())
//! ```

mod fields;
pub(crate) mod json;
mod list;
mod tool_result;

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use portion_core::snapshot::json_in_text;
use portion_json::scan::{JsonKind, is_json, quote};

use crate::Chunk;
pub use fields::FieldNames;
use list::{Found, Located};
pub use tool_result::ReadError;
use tool_result::ToolResult;

/// Longest list of names in an error, in characters.
const MAX_NAMES: usize = 200;

/// Records of one list, as JSON.
type Records = Vec<String>;

/// Reads the chunks in the order in which the tool returned them.
///
/// `result` is the `result` member of the response to `tools/call`. If the result carries the list twice,
/// `structuredContent` is read.
///
/// # Errors
/// Returns [`ReadError`] if the tool failed or the result has no chunks with a text.
pub fn read_chunks(result: &str, names: &FieldNames) -> Result<Vec<Chunk>, ReadError> {
    let result = ToolResult::parse(result)?;
    let mut outcome = Outcome { empty: result.is_empty, ..Outcome::default() };
    if let Some(value) = &result.structured {
        outcome.try_value(Located::new(value), names);
    }
    if outcome.records.is_none() && outcome.several.is_none() {
        outcome.try_texts(&result.texts, names);
    }
    if let Some(paths) = outcome.several {
        return Err(ReadError::SeveralLists(shortened(paths.join(", "))));
    }
    let records = match (outcome.records, outcome.empty, outcome.without_text) {
        (Some(records), ..) => records,
        (None, true, _) => return Ok(Vec::new()),
        (None, false, Some(records)) => return Err(no_text(&records, names)),
        (None, false, None) => return Err(no_list(&result, names)),
    };
    to_chunks(&records, names)
}

/// Chunks in the parts of a result.
#[derive(Default)]
struct Outcome {
    records: Option<Records>,
    empty: bool,
    without_text: Option<Records>,
    /// Paths of several lists of equal rank.
    several: Option<Vec<String>>,
}

impl Outcome {
    fn try_value(&mut self, value: Located, names: &FieldNames) {
        let found = match &names.list {
            Some(path) => list::at_path(&value, path, names).map_or(Found::Nothing, Found::List),
            None => list::find(value, names),
        };
        match found {
            Found::List(list) => {
                let records = to_records(&list, names);
                if records.is_empty() {
                    self.empty = true;
                } else if records.iter().any(|record| has_text(record, names)) {
                    self.records = Some(records);
                } else {
                    self.without_text.get_or_insert(records);
                }
            }
            Found::WithoutText(list) => {
                self.without_text.get_or_insert_with(|| to_records(&list, names));
            }
            Found::Record(record) => self.records = Some(vec![record.as_str().to_owned()]),
            Found::Several(paths) => self.several = Some(paths),
            Found::Nothing => {}
        }
    }

    fn try_texts(&mut self, texts: &[String], names: &FieldNames) {
        if let [text] = texts {
            return self.try_text(text, names);
        }
        let mut lists = Vec::new();
        for text in texts {
            let mut block = Self::default();
            block.try_value(Located::new(&parsable(text)), names);
            if block.several.is_some() {
                self.several = block.several;
                return;
            }
            let has_chunks = block.records.is_some();
            lists.push((has_chunks, block.records.unwrap_or_else(|| vec![plain(text, names)])));
        }
        // A list in one block: the texts around it introduce it.
        if lists.iter().any(|(_, list)| list.len() > 1) {
            lists.retain(|(has_chunks, _)| *has_chunks);
        }
        let records: Records = lists.into_iter().flat_map(|(_, list)| list).collect();
        self.records = Some(records).filter(|records| !records.is_empty());
    }

    fn try_text(&mut self, text: &str, names: &FieldNames) {
        let json = parsable(text);
        if json.is_empty() {
            self.empty = true;
        } else if is_json(&json) {
            self.try_value(Located::new(&json), names);
        } else if names.list.is_none() {
            self.records = Some(vec![plain(text, names)]);
        }
    }
}

/// Returns the JSON in a text, or the text itself. Lines of JSON become a list.
fn parsable(text: &str) -> String {
    let trimmed = text.trim_start_matches('\u{feff}').trim();
    if is_json(trimmed) {
        return trimmed.to_owned();
    }
    if let Some(records) = lines(trimmed) {
        return format!("[{}]", records.join(","));
    }
    json_in_text(trimmed).map_or_else(|| trimmed.to_owned(), Cow::into_owned)
}

/// Returns the lines of newline-delimited JSON.
fn lines(text: &str) -> Option<Vec<&str>> {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let is_record = |line: &&str| line.starts_with('{') && is_json(line);
    (!lines.is_empty() && lines.iter().all(is_record)).then_some(lines)
}

/// Returns the records for the items of a list.
fn to_records(list: &Located, names: &FieldNames) -> Records {
    let record = |item: &str| match JsonKind::of_value(item) {
        JsonKind::String => text_record(item, names),
        _ => item.to_owned(),
    };
    json::items(list.as_str()).unwrap_or_default().into_iter().map(record).collect()
}

/// Returns the record for a plain text.
fn plain(text: &str, names: &FieldNames) -> String {
    text_record(&quote(text), names)
}

fn text_record(quoted: &str, names: &FieldNames) -> String {
    format!("{{{}:{quoted}}}", quote(names.text.as_deref().unwrap_or("text")))
}

fn has_text(record: &str, names: &FieldNames) -> bool {
    json::members(record).is_some_and(|members| names.text_of(&members).is_some())
}

fn to_chunks(records: &Records, names: &FieldNames) -> Result<Vec<Chunk>, ReadError> {
    let members: Vec<Vec<(String, &str)>> =
        records.iter().map(|record| json::members(record).unwrap_or_default()).collect();
    let score_name = names.score_name(&members);
    if let (Some(name), None) = (&names.score, score_name) {
        return Err(ReadError::NoScore { name: name.clone(), fields: field_list(&records[0]) });
    }
    let chunks = records.iter().zip(&members).enumerate().map(|(position, (record, members))| Chunk {
        text: names.text_of(members),
        score: score_name.and_then(|name| json::at_path(members, name)).and_then(json::number),
        id: names.id_of(members),
        position,
        record: record.clone(),
        has_named_text: names.text.is_some(),
    });
    Ok(chunks.collect())
}

fn no_text(records: &Records, names: &FieldNames) -> ReadError {
    let name = names.text.clone().unwrap_or_else(|| "text".to_owned());
    ReadError::NoText { name, fields: records.first().map_or_else(String::new, |record| field_list(record)) }
}

fn no_list(result: &ToolResult, names: &FieldNames) -> ReadError {
    let value = result.structured.clone().or_else(|| result.texts.first().map(|text| parsable(text)));
    let found = match value {
        None => "it has no text and no structuredContent".to_owned(),
        Some(value) if !is_json(&value) => "it is plain text".to_owned(),
        Some(value) => match JsonKind::of_value(&value) {
            JsonKind::Object => format!("its members: {}", field_list(&value)),
            kind => format!("it is one JSON value, {kind:?}").to_lowercase(),
        },
    };
    match &names.list {
        Some(name) => ReadError::ListNotFound { name: name.clone(), found },
        None => ReadError::NoList(found),
    }
}

/// Returns the names of a record's fields for an error.
fn field_list(record: &str) -> String {
    let Some(members) = json::members(record) else { return "none".to_owned() };
    let names: Vec<&str> = members.iter().map(|(name, _)| name.as_str()).collect();
    let all = names.join(", ");
    if all.is_empty() { "none".to_owned() } else { shortened(all) }
}

/// Returns a list of names, cut where it is too long for an error.
fn shortened(names: String) -> String {
    match names.char_indices().nth(MAX_NAMES) {
        Some((end, _)) => format!("{}…", &names[..end]),
        None => names,
    }
}
