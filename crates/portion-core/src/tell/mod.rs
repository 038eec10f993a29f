//! What a first reply tells of a payload that it cannot show: facts of all records of a list, the outline of an object,
//! what a reader wants to know first of a text.
//!
//! Everything told is exact, or marked `≈`. It stands in the notice, within the tokens that the reply has for it.

mod counts;
mod field;
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

use crate::snapshot::{Form, Subject};
use crate::tokens::TokenCounter;

pub use list::Facts;
pub use object::outline;

/// What is worth telling of a subject within so many tokens, the most useful first.
pub fn told(subject: &Subject, counter: &dyn TokenCounter, tokens: usize) -> Map<String, Value> {
    let text = &subject.text;
    match &subject.form {
        Form::List(list) => list.facts(text).told(counter, tokens),
        Form::Object(members) => outline(text, members, counter, tokens),
        Form::Text(index) => text::told(text, index, counter, tokens),
    }
}
