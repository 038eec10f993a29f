//! Rewrites subscripts: `guest['name']`, `tags[OFFSET(0)]`, `SPLIT(x, '@')[OFFSET(1)]`.

use super::edits::Edits;
use super::error::DialectError;

/// Rewrites the subscript at a position. SQLite reads `tags[0]` as `tags AS "0"`.
///
/// # Errors
/// An index that counts from 0 in some dialects and from 1 in others.
pub(super) fn rewrite(edits: &mut Edits<'_>, at: usize) -> Result<(), DialectError> {
    let inside = edits.text(at).strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or_default();
    let Some(operand) = at.checked_sub(1).filter(|last| !inside.is_empty() && edits.ends_expression(*last))
    else {
        return Ok(());
    };
    if let Some(key) = inside.strip_prefix('\'').and_then(|key| key.strip_suffix('\'')) {
        edits.replace(at, format!(" ->> '$.\"{key}\"'"));
    } else if let Some(call) = SplitCall::at(edits, operand).filter(|_| is_index(inside)) {
        call.rewrite(edits, at, inside)?;
    } else if let Some(index) = counted_index(inside) {
        edits.replace(at, format!(" ->> '$[{index}]'"));
    } else if inside.trim_start_matches('-').bytes().all(|b| b.is_ascii_digit()) {
        let name = edits.operand_start(operand).map_or("", |start| edits.text_between(start, at).trim());
        let mut last = at;
        while edits.is_sign(last + 1, ".") {
            last += 2;
        }
        let steps = edits.text_between(at + 1, last + 1).trim();
        return Err(DialectError::new(
            format!("{name}[{inside}] is not SQLite"),
            format!("write {name} ->> '$[{inside}]{steps}'; the first element is $[0], the last $[#-1]"),
        ));
    }
    Ok(())
}

/// Functions that split a text. Indexes count from 1 in the dialects of all but the first, which several dialects have.
const SPLIT_FUNCTIONS: &str = "split string_split str_split string_to_array";

/// A call that splits a text, before a subscript.
struct SplitCall {
    name: usize,
    end: usize,
}

impl SplitCall {
    /// Returns the call that ends at a token, in parentheses or not.
    fn at(edits: &Edits<'_>, last: usize) -> Option<Self> {
        let split = |end: usize| {
            let name = edits.operand_start(end)?;
            let is_split = edits.is_word_of(name, SPLIT_FUNCTIONS) && edits.call_end(name) == Some(end);
            is_split.then_some(Self { name, end })
        };
        let inside = || {
            let call = split(last.checked_sub(1)?)?;
            (edits.partner(last)? + 1 == call.name).then_some(call)
        };
        split(last).or_else(inside)
    }

    /// Rewrites the call and its subscript as `split_part`, which counts from 1, and from -1 for the last part.
    fn rewrite(&self, edits: &mut Edits<'_>, at: usize, inside: &str) -> Result<(), DialectError> {
        let Self { name, end } = *self;
        let has_separator = edits.commas(name).len() == 1;
        let index = match (counted_index(inside), inside.parse::<i32>()) {
            (Some(index), _) => Some((index + 1).to_string()),
            (None, Ok(0)) => Some("1".to_owned()),
            (None, Ok(index)) if index < 0 || !edits.is_word(name, "split") => Some(index.to_string()),
            _ => None,
        };
        if let Some(index) = index.filter(|_| has_separator) {
            edits.replace(name, "split_part");
            edits.insert_before(end, format!(", {index}"));
            edits.remove(at, at);
            return Ok(());
        }
        let arguments = edits.text_between(name + 2, end).trim();
        let separator = if has_separator { "" } else { ", ','" };
        Err(DialectError::new(
            format!("{}[{inside}] is not SQLite", edits.text_between(name, at).trim()),
            format!(
                "write split_part({arguments}{separator}, 1) for the first part, 2 for the second, -1 for the last"
            ),
        ))
    }
}

/// Returns true for the index of one element: `1`, `-1`, `OFFSET(1)`.
fn is_index(inside: &str) -> bool {
    counted_index(inside).is_some() || inside.parse::<i32>().is_ok()
}

/// Returns the index from 0 of `OFFSET(1)`, `SAFE_OFFSET(1)` or `ORDINAL(1)`.
fn counted_index(inside: &str) -> Option<usize> {
    let (function, rest) = inside.split_once('(')?;
    let number: usize = rest.strip_suffix(')')?.trim().parse().ok()?;
    match function.trim().to_ascii_lowercase().as_str() {
        "offset" | "safe_offset" => Some(number),
        "ordinal" | "safe_ordinal" => number.checked_sub(1),
        _ => None,
    }
}
