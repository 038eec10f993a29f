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
    } else if let Some(index) = counted_index(inside) {
        let start = edits.operand_start(operand);
        match start.filter(|name| edits.is_word(*name, "split") && edits.call_end(*name) == Some(operand)) {
            Some(name) => {
                edits.replace(name, "split_part");
                edits.insert_before(operand, format!(", {}", index + 1));
                edits.remove(at, at);
            }
            None => edits.replace(at, format!(" ->> '$[{index}]'")),
        }
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
