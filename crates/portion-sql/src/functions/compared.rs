//! The functions `compared` and `sorted`, by which a statement says that it compared or sorted texts as other values than they
//! mean.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use portion_text::column_form::code_number;
use rusqlite::Result;
use rusqlite::functions::Context;
use rusqlite::types::ValueRef;

use super::values::{Registry, add, function_error, owned_value, text_value};
use crate::usage::StatementUsage;

/// Maximum characters of an operand that are shown.
const MAX_CHARS: usize = 60;

pub(super) fn register(registry: Registry<'_>, usage: &Arc<StatementUsage>) -> Result<()> {
    let (usage, noted, order) = (Arc::clone(usage), Arc::clone(usage), Arc::new(TextOrder::default()));
    add(registry, "compared", -1, move |context| {
        if context.len() < 6 {
            return Err(function_error("compared takes a comparison and its operands"));
        }
        match mismatch(context) {
            None => Ok(owned_value(context.get_raw(1))),
            Some(advice) => {
                noted.record_mismatch(advice);
                Err(function_error("a text was compared with a number"))
            }
        }
    })?;
    add(registry, "sorted", 2, move |context| {
        if let (Some(expression), ValueRef::Text(text)) = (text_value(context.get_raw(1)), context.get_raw(0))
        {
            let text = String::from_utf8_lossy(text);
            let number = text.trim().parse().ok().filter(|n: &f64| n.is_finite());
            if let Some((a, b)) = order.record(&expression, &text, number) {
                usage.record_mismatch(format!(
                    "{expression} sorts as text ('{a}' before '{b}'): write CAST({expression} AS REAL)"
                ));
            }
        }
        Ok(owned_value(context.get_raw(0)))
    })
}

/// The last texts that are numbers of each expression that is sorted.
#[derive(Default)]
struct TextOrder(Mutex<HashMap<String, Option<(String, f64)>>>);

impl TextOrder {
    /// Records a text; returns two texts whose order is not that of their numbers, if all texts so far are numbers.
    fn record(&self, expression: &str, text: &str, number: Option<f64>) -> Option<(String, String)> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let number = match (number, known.get(expression)) {
            (_, Some(None)) => return None,
            (None, _) => {
                known.insert(expression.to_owned(), None);
                return None;
            }
            (Some(number), _) => number,
        };
        let this = (text.to_owned(), number);
        let last = known.insert(expression.to_owned(), Some(this.clone())).flatten()?;
        let is_less = last.0 < this.0;
        let (less, more) = if is_less { (last, this) } else { (this, last) };
        (less.1 > more.1).then_some((less.0, more.0))
    }
}

/// Returns what to write if the comparison has another result than that of the numbers which are meant. The arguments are the
/// operator, the result, and the operands, each with its expression.
fn mismatch(context: &Context<'_>) -> Option<String> {
    let op = text_value(context.get_raw(0))?;
    let operands = (2..context.len()).step_by(2);
    let value = Operand::of(context, 2)?;
    let others: Vec<Operand<'_>> = operands.skip(1).filter_map(|at| Operand::of(context, at)).collect();
    let is_true = matches!(context.get_raw(1), ValueRef::Integer(1));
    let is_equal = |other: &&Operand<'_>| value.number.partial_cmp(&other.number) == Some(Ordering::Equal);
    let equal = others.iter().filter(|other| value.is_text != other.is_text).find(is_equal);
    let (meant, other) = match (&*op, &others[..]) {
        ("=" | "IN", _) => (true, equal?),
        ("<>" | "!=" | "NOT IN", _) => (false, equal?),
        ("CASE", _) => (!is_true, equal?),
        ("BETWEEN", [low, high]) => (low.number <= value.number && value.number <= high.number, low),
        ("<", [other]) => (value.number < other.number, other),
        ("<=", [other]) => (value.number <= other.number, other),
        (">", [other]) => (value.number > other.number, other),
        (">=", [other]) => (value.number >= other.number, other),
        _ => return None,
    };
    if meant == is_true || value.is_text == other.is_text {
        return None;
    }
    let (text, number) = if value.is_text { (&value, other) } else { (other, &value) };
    let shown: String = text.text.chars().take(MAX_CHARS).collect::<String>().replace('\'', "''");
    let (text, number) = (&text.expression, &number.expression);
    Some(if text.starts_with('\'') {
        format!("{number} is a number, which equals no text: write {shown} without quotes")
    } else if equal.is_some() && !matches!(&*op, "<" | "<=" | ">" | ">=" | "BETWEEN") {
        format!("{text} is the text '{shown}', which equals no number: write '{shown}' in place of {number}")
    } else {
        format!("{text} is a text, which is greater than every number: write CAST({text} AS REAL)")
    })
}

/// An operand that is a number, or a text that a number is written as.
struct Operand<'a> {
    number: f64,
    text: std::borrow::Cow<'a, str>,
    is_text: bool,
    expression: String,
}

impl<'a> Operand<'a> {
    fn of(context: &'a Context<'_>, at: usize) -> Option<Self> {
        let value = context.get_raw(at);
        let text = text_value(value)?;
        let number = match value {
            ValueRef::Integer(n) => n as f64,
            ValueRef::Real(n) => n,
            _ => read(text.trim())?,
        };
        let expression = text_value(context.get_raw(at + 1))?.chars().take(MAX_CHARS).collect();
        Some(Self { number, text, is_text: matches!(value, ValueRef::Text(_)), expression })
    }
}

fn read(text: &str) -> Option<f64> {
    let code = || code_number(text).map(|code| code as f64);
    match text.to_ascii_lowercase().as_str() {
        "true" => Some(1.0),
        "false" => Some(0.0),
        _ => text.parse().ok().filter(|n: &f64| n.is_finite()).or_else(code),
    }
}
