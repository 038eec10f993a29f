//! Rewrites the elements of arrays: `FROM items, UNNEST(tags) AS t` reads `json_each(tags) AS t`, `t` is `t.value` then,
//! and `t.name` a member of it.

use super::edits::Edits;
use super::token::TokenKind;

/// Functions in FROM whose rows are the elements of an array.
const FUNCTIONS: &str = "unnest explode json_array_elements jsonb_array_elements json_array_elements_text \
    jsonb_array_elements_text json_each";
/// Columns of `json_each`. Its `value` also has this name where other functions are written.
const COLUMNS: &str = "key value type atom id parent fullkey path json root rowid";
/// Words that may follow a table and are not its alias.
const NO_ALIASES: &str = "where group order having limit window union except intersect on using join left right inner \
    outer cross full natural qualify with lateral";

/// Maximum tables of elements in a statement; SQLite joins at most 64.
const MAX_TABLES: usize = 64;

/// A table of elements.
struct ElementTable {
    alias: String,
    /// Name of the element itself: `e` of `UNNEST(tags) AS t(e)`.
    element: Option<String>,
    /// First and last token.
    tokens: (usize, usize),
    function: ElementFunction,
}

/// A function whose rows are the elements of an array.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ElementFunction {
    /// The row is the element.
    Unnest,
    /// The row has one column, `value`.
    JsonElements,
    JsonEach,
}

/// Returns the statement with `json_each` in place of functions of other dialects; `None` if nothing changes.
pub(super) fn rewrite(sql: &str) -> Option<String> {
    let mut edits = Edits::new(sql);
    let tables = element_tables(&edits);
    for table in &tables {
        let (first, last) = table.tokens;
        if edits.is_word(first - 1, "lateral") {
            edits.remove(first - 1, first - 1);
        }
        edits.replace(first, "json_each");
        if table.element.is_some() {
            edits.remove(last - 2, last);
        }
    }
    (2..edits.len()).for_each(|at| membership(&mut edits, at));
    for at in 0..edits.len() {
        let is_name = matches!(edits.kind(at), Some(TokenKind::Word | TokenKind::QuotedName));
        let is_step = at > 0 && edits.is_sign(at - 1, ".");
        if is_name && !is_step && !edits.is_replaced(at) {
            for table in &tables {
                element(&mut edits, at, table);
            }
        }
    }
    edits.apply()
}

/// Returns the tables of elements in the FROM clauses.
fn element_tables(edits: &Edits<'_>) -> Vec<ElementTable> {
    let mut in_from = false;
    let mut tables = Vec::new();
    for at in 1..edits.len() {
        // In the columns of SELECT a function is no table.
        in_from = edits.is_word(at, "from") || in_from && !edits.is_word(at, "select");
        if in_from && tables.len() < MAX_TABLES {
            tables.extend(element_table(edits, at));
        }
    }
    tables
}

/// Reads the table of elements whose function is at a position.
fn element_table(edits: &Edits<'_>, at: usize) -> Option<ElementTable> {
    let is_table = edits.is_word_of(at - 1, "from join lateral") || edits.is_sign(at - 1, ",");
    let end = edits.call_end(at).filter(|_| is_table && edits.is_word_of(at, FUNCTIONS))?;
    let mut last = end + usize::from(edits.is_word(end + 1, "as")) + 1;
    let is_alias = edits.kind(last) == Some(TokenKind::Word) && !edits.is_word_of(last, NO_ALIASES);
    let alias = if is_alias { edits.text(last).to_owned() } else { return None };
    let element = (edits.call_end(last) == Some(last + 3)).then(|| edits.text(last + 2).to_owned());
    last += if element.is_some() { 3 } else { 0 };
    let function = match edits.text(at).to_ascii_lowercase().as_str() {
        "json_each" => ElementFunction::JsonEach,
        "unnest" | "explode" => ElementFunction::Unnest,
        _ => ElementFunction::JsonElements,
    };
    Some(ElementTable { alias, element, tokens: (at, last), function })
}

/// Rewrites `x IN UNNEST(tags)` and `x = ANY(tags)`.
fn membership(edits: &mut Edits<'_>, at: usize) {
    let is_in = edits.is_word(at, "unnest") && edits.is_word(at - 1, "in");
    let is_any = edits.is_word(at, "any") && edits.is_sign(at - 1, "=");
    let Some(end) = edits.call_end(at).filter(|_| is_in || is_any) else { return };
    let is_column = matches!(edits.kind(at + 2), Some(TokenKind::Word | TokenKind::QuotedName));
    if is_column && !edits.is_word_of(at + 2, "select with values array") {
        edits.replace(at - 1, "IN");
        edits.replace(at, "(SELECT value FROM json_each");
        edits.insert_after(end, ")");
    }
}

/// Rewrites a name that stands for the element of a table, or for a member of it.
fn element(edits: &mut Edits<'_>, at: usize, table: &ElementTable) {
    let is_own = (table.tokens.0..=table.tokens.1).contains(&at);
    let text = edits.text(at);
    let is_alias = text.eq_ignore_ascii_case(&table.alias);
    let is_element = table.element.as_ref().is_some_and(|element| text.eq_ignore_ascii_case(element));
    // `AS t` gives another column this name.
    if is_own
        || !(is_alias || is_element)
        || at > 0 && edits.is_word(at - 1, "as")
        || edits.is_sign(at + 1, "(")
    {
        return;
    }
    let mut last = at;
    let mut steps = Vec::new();
    while edits.is_sign(last + 1, ".")
        && matches!(edits.kind(last + 2), Some(TokenKind::Word | TokenKind::QuotedName))
    {
        last += 2;
        steps.push(edits.text(last).trim_matches(['"', '`']).to_owned());
    }
    let value = format!("{}.value", table.alias);
    // `t.element.name` of `t(element)`.
    if is_alias
        && let (Some(first), Some(element)) = (steps.first(), &table.element)
        && first.eq_ignore_ascii_case(element)
    {
        steps.remove(0);
    }
    let is_column = |step: &String| COLUMNS.split(' ').any(|column| step.eq_ignore_ascii_case(column));
    let keeps = is_alias
        && match steps.first() {
            Some(step) => match table.function {
                ElementFunction::JsonEach => is_column(step),
                ElementFunction::JsonElements => step.eq_ignore_ascii_case("value"),
                ElementFunction::Unnest => false,
            },
            None => edits.is_sign(last + 1, ".") || table.function == ElementFunction::JsonEach,
        };
    if keeps {
        return;
    }
    edits.remove(at, last);
    if steps.is_empty() {
        edits.replace(at, value);
    } else if is_alias && matches!(&steps[..], [step] if step.eq_ignore_ascii_case("value")) {
        // The column of `json_each`, unless the elements are objects.
        let alias = &table.alias;
        edits.replace(at, format!("iif({alias}.type = 'object', {value} ->> '$.{}', {value})", steps[0]));
    } else {
        edits.replace(at, format!("({value} ->> '$.{}')", steps.join(".").replace('\'', "''")));
    }
}
