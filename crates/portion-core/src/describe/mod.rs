//! Describes a payload that a first reply cannot show in full: facts of all records of a list, the outline of
//! an object, and key facts of a text.
//!
//! Every fact is exact, or marked `≈`. Facts are part of the notice, within their token budget.

mod distinct_values;
mod field_collector;
mod field_description;
mod field_stats;
mod list_facts;
mod number_stats;
mod object;
mod record_layout;
mod text;

pub use object::outline;
pub(crate) use text::fields_by_type;

use std::collections::HashMap;

use portion_json::containers::items;
use portion_tokens::TokenCounter;
use serde_json::{Map, Value};

use crate::missing_codes::MissingCodes;
use crate::noise::NoiseFields;
use crate::policy::StripRule;
use crate::snapshot::{FieldType, IndexedText, Structure, header_row, main_table, text_in_member};

/// Tokens of the name of a text that is described.
const NAME_TOKENS: usize = 12;

/// Operator's preferences for described fields.
#[derive(Clone, Copy, Default)]
pub(crate) struct FieldPreferences<'a> {
    /// Dotted paths of the fields that come first.
    pub preferred: &'a [String],
    /// Fields that are not described.
    pub strip: Option<&'a StripRule>,
    /// Numbers that stand for missing values.
    pub missing: Option<&'a MissingCodes>,
}

/// Returns the types of the fields of a list; of other subjects, none.
pub(crate) fn field_types(subject: &IndexedText, missing: &MissingCodes) -> HashMap<String, FieldType> {
    match &subject.structure {
        Structure::List(list) => list.facts(&subject.text, missing).field_types(),
        Structure::Object(_) | Structure::Text(_) => HashMap::new(),
    }
}

/// Describes a subject within a token budget, the most useful facts first.
pub(crate) fn describe(
    subject: &IndexedText,
    counter: &dyn TokenCounter,
    tokens: usize,
    preferences: &FieldPreferences<'_>,
) -> Map<String, Value> {
    let text = &subject.text;
    match &subject.structure {
        Structure::List(list) => {
            if let Some(rows) = header_row(text, list) {
                let spans = list.iter_from(text, 0).map(|item| item.value);
                return text::describe_header_rows(text, spans, rows, counter, tokens);
            }
            let noise =
                preferences.strip.map(|strip| NoiseFields::in_list(strip, text, list)).unwrap_or_default();
            let missing = preferences.missing.cloned().unwrap_or_default();
            list.facts(text, &missing).describe_selected(counter, tokens, preferences.preferred, &noise)
        }
        Structure::Object(members) => match text_in_member(text, members) {
            // An object that is mostly one text is described by that.
            Some((pointer, inner)) => {
                let facts = describe(&inner, counter, tokens.saturating_sub(NAME_TOKENS), preferences);
                Map::from_iter([(pointer[1..].replace('/', "."), facts.into())])
            }
            None => match main_table(text, members.span) {
                Some(table) => {
                    let (spans, tokens) = (items(text, table.span), tokens.saturating_sub(NAME_TOKENS));
                    let facts = text::describe_header_rows(text, spans, table.rows, counter, tokens);
                    Map::from_iter([(table.pointer, facts.into())])
                }
                None => object::describe(text, members, counter, tokens, preferences),
            },
        },
        Structure::Text(index) => text::describe(text, index, counter, tokens),
    }
}
