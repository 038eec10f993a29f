//! Moves the order of `percentile_cont(0.5) WITHIN GROUP (ORDER BY x)` into the arguments.

use super::edits::Edits;

/// Returns the statement with the order of ordered-set aggregates as an argument; `None` if it has none.
pub(super) fn rewrite(sql: &str) -> Option<String> {
    let edits = Edits::new(sql);
    let mut out = String::new();
    let mut copied = 0;
    for at in 0..edits.len() {
        let Some((call, end)) = ordered_call(&edits, at).filter(|_| at >= copied) else { continue };
        out.push_str(edits.text_between(copied, at));
        out.push_str(&call);
        copied = end + 1;
    }
    if copied == 0 {
        return None;
    }
    out.push_str(edits.text_between(copied, edits.len()));
    Some(out)
}

/// Returns the call at a position with its order inside, and the last token of it.
fn ordered_call(edits: &Edits<'_>, name: usize) -> Option<(String, usize)> {
    let close = edits.call_end(name)?;
    if !edits.is_word(close + 1, "within") || !edits.is_word(close + 2, "group") {
        return None;
    }
    let end = edits.call_end(close + 2)?;
    let order = close + 4;
    if !edits.is_word(order, "order") || !edits.is_word(order + 1, "by") {
        return None;
    }
    let arguments = edits.text_between(name + 2, close).trim();
    let is_descending = edits.is_word(end - 1, "desc");
    let last = if is_descending || edits.is_word(end - 1, "asc") { end - 1 } else { end };
    let value = edits.text_between(order + 2, last).trim();
    let function = edits.text(name);
    let call = if edits.is_word_of(name, "percentile_cont percentile_disc quantile approx_percentile") {
        let share = if is_descending { format!("1.0 - ({arguments})") } else { arguments.to_owned() };
        format!("{function}({value}, {share}) ")
    } else if arguments.is_empty() {
        format!("{function}({value}) ")
    } else {
        format!("{function}({arguments} {}) ", edits.text_between(order, end).trim())
    };
    Some((call, end))
}
