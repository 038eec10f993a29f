//! The function `compared`, by which a statement says that it compared texts with numbers.

use std::sync::Arc;

use portion_text::column_form::code_number;
use rusqlite::functions::Context;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Result};

use super::{PURE, function_error, owned_value, text_value};
use crate::usage::StatementUsage;

/// Maximum characters of an operand that are shown.
const MAX_CHARS: usize = 60;

pub(super) fn register(connection: &Connection, usage: &Arc<StatementUsage>) -> Result<()> {
    let usage = Arc::clone(usage);
    connection.create_scalar_function("compared", -1, PURE, move |context| {
        if context.len() < 6 {
            return Err(function_error("compared takes a comparison and its operands"));
        }
        match mismatch(context) {
            None => Ok(owned_value(context.get_raw(1))),
            Some(advice) => {
                usage.record_mismatch(advice);
                Err(function_error("a text was compared with a number"))
            }
        }
    })
}

/// Returns what to write if the comparison has another result than that of the numbers which are meant. The arguments are the
/// operator, the result, and the operands, each with its expression.
fn mismatch(context: &Context<'_>) -> Option<String> {
    let op = text_value(context.get_raw(0))?;
    let operands = (2..context.len()).step_by(2);
    let value = Operand::of(context, 2)?;
    let others: Vec<Operand<'_>> = operands.skip(1).filter_map(|at| Operand::of(context, at)).collect();
    let is_true = matches!(context.get_raw(1), ValueRef::Integer(1));
    let equal = others.iter().find(|other| value.is_text != other.is_text && value.number == other.number);
    let (meant, other) = match &*op {
        "=" | "IN" => (equal.is_some(), equal?),
        "<>" | "!=" | "NOT IN" => (equal.is_none(), equal?),
        "CASE" => (!is_true, equal?),
        "BETWEEN" => {
            let [low, high] = &others[..] else { return None };
            (low.number <= value.number && value.number <= high.number, low)
        }
        _ => {
            let [other] = &others[..] else { return None };
            let is_meant = match &*op {
                "<" => value.number < other.number,
                "<=" => value.number <= other.number,
                ">" => value.number > other.number,
                ">=" => value.number >= other.number,
                _ => return None,
            };
            (is_meant, other)
        }
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
