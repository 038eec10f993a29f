//! What a first reply tells of a payload that it cannot show: facts of all records of a list, the outline of an object,
//! what a reader wants to know first of a text.
//!
//! Everything told is exact, or marked `≈`. It stands in the notice, within the tokens that the reply has for it.

mod counts;
mod field;
mod fit;
mod list;
mod moment;
mod number;
mod object;
mod order;
mod shape;
mod sum;
mod tally;
mod text;
mod value;
mod walk;

use serde_json::{Map, Value};

use crate::noise::Noise;
use crate::policy::Strip;
use crate::snapshot::{Form, Subject};
use crate::tokens::TokenCounter;

pub use list::Facts;
pub use object::outline;

/// What an operator says of the fields of a payload.
#[derive(Clone, Copy, Default)]
pub(crate) struct Taste<'a> {
    /// Those that are told of before all others, dotted paths.
    pub first: &'a [String],
    /// Those that are not told of.
    pub strip: Option<&'a Strip>,
}

/// What is worth telling of a subject within so many tokens, the most useful first.
pub(crate) fn told(
    subject: &Subject,
    counter: &dyn TokenCounter,
    tokens: usize,
    taste: &Taste<'_>,
) -> Map<String, Value> {
    let text = &subject.text;
    match &subject.form {
        Form::List(list) => {
            let noise = taste.strip.map(|strip| Noise::of_list(strip, text, list)).unwrap_or_default();
            list.facts(text).told_of(counter, tokens, taste.first, &noise)
        }
        Form::Object(members) => object::told(text, members, counter, tokens, taste),
        Form::Text(index) => text::told(text, index, counter, tokens),
    }
}
