//! What a first reply tells of a payload that it cannot show: facts of all records of a list, the outline of an object,
//! what a reader wants to know first of a text.
//!
//! Everything told is exact, or marked `≈`. It stands in the notice, within the tokens that the reply has for it.

mod budget_fit;
mod counts;
mod distinct_values;
mod field_collector;
mod field_description;
mod field_order;
mod field_stats;
mod list_facts;
mod number;
mod number_stats;
mod object;
mod record_layout;
mod text;
mod timestamp;

use serde_json::{Map, Value};

use crate::noise::NoiseFields;
use crate::policy::StripRule;
use crate::snapshot::{IndexedText, Structure};
use crate::tokens::TokenCounter;

pub use list_facts::ListFacts;
pub use object::outline;

/// What an operator says of the fields of a payload.
#[derive(Clone, Copy, Default)]
pub(crate) struct FieldPreferences<'a> {
    /// Those that are told of before all others, dotted paths.
    pub preferred: &'a [String],
    /// Those that are not told of.
    pub strip: Option<&'a StripRule>,
}

/// What is worth telling of a subject within so many tokens, the most useful first.
pub(crate) fn describe(
    subject: &IndexedText,
    counter: &dyn TokenCounter,
    tokens: usize,
    taste: &FieldPreferences<'_>,
) -> Map<String, Value> {
    let text = &subject.text;
    match &subject.structure {
        Structure::List(list) => {
            let noise = taste.strip.map(|strip| NoiseFields::in_list(strip, text, list)).unwrap_or_default();
            list.facts(text).describe_selected(counter, tokens, taste.preferred, &noise)
        }
        Structure::Object(members) => object::describe(text, members, counter, tokens, taste),
        Structure::Text(index) => text::describe(text, index, counter, tokens),
    }
}
