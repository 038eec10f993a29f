//! Elements of arrays: `FROM items, UNNEST(tags) AS t` reads `json_each(tags) AS t`, `t` is `t.value` then, and `t.name` a
//! member of it. Subscripts: `guest['name']`, `tags[OFFSET(0)]`, `split(x, '@')[2]`.

use std::ops::ControlFlow;

use sqlparser::ast::{
    AccessExpr, Expr, Function, FunctionArg, FunctionArgExpr, Ident, Query, SetExpr, Subscript, TableAlias,
    TableFactor, VisitMut, VisitorMut,
};

use super::tables::{TableUse, table_uses};
use super::{arguments, is_call_of, is_one_of, literal, parse, quoted_text, raw};

/// Functions in FROM whose rows are the elements of an array.
const FUNCTIONS: &str = "unnest explode json_each json_array_elements jsonb_array_elements json_array_elements_text \
    jsonb_array_elements_text";
/// Columns of `json_each`.
const COLUMNS: &str = "key value type atom id parent fullkey path json root rowid";
/// Functions that split a text.
const SPLIT_FUNCTIONS: &str = "split string_split str_split string_to_array";

/// Rewrites the names that stand for elements of arrays.
pub(super) fn rewrite(query: &mut Query) {
    let mut tables = ElementTables(table_uses(query));
    tables.0.retain(|table| table.argument.is_some() && is_one_of(FUNCTIONS, &table.table));
    let _ = VisitMut::visit(query, &mut tables);
}

struct ElementTables(Vec<TableUse>);

impl VisitorMut for ElementTables {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let steps: Vec<&Ident> = match &*expr {
            Expr::Identifier(name) => vec![name],
            Expr::CompoundIdentifier(steps) => steps.iter().collect(),
            _ => return ControlFlow::Continue(()),
        };
        let found = self.0.iter().find_map(|table| element(table, &steps));
        if let Some(found) = found {
            *expr = raw(found);
        }
        ControlFlow::Continue(())
    }
}

/// Returns what a name stands for, if it is that of an element or of a member of it.
fn element(table: &TableUse, steps: &[&Ident]) -> Option<String> {
    let (first, mut rest) = steps.split_first()?;
    let is = |step: &Ident, name: &str| step.value.eq_ignore_ascii_case(name);
    let is_alias = is(first, &table.alias);
    let is_element = table.element.as_ref().is_some_and(|element| is(first, element));
    if !is_alias && !is_element {
        return None;
    }
    // `t.element.name` of `t(element)`.
    if is_alias
        && let (Some(step), Some(element)) = (rest.first(), &table.element)
        && is(step, element)
    {
        rest = &rest[1..];
    }
    // Rows of `json_each` have its columns, those of `json_array_elements` the column `value`, and other rows are the elements.
    let is_table_of = |names: &str| is_one_of(names, &table.table);
    let keeps = is_alias
        && match rest.first() {
            None => is_table_of("json_each"),
            Some(step) if is_table_of("json_each") => is_one_of(COLUMNS, &step.value),
            Some(step) => !is_table_of("unnest explode") && is(step, "value"),
        };
    if keeps {
        return None;
    }
    let value = format!("{}.value", table.alias);
    Some(match rest {
        [] => value,
        // The column of `json_each`, unless the elements are objects.
        [step] if is_alias && is(step, "value") => {
            let (alias, path) = (&table.alias, quoted_text(&format!("$.{}", step.value)));
            format!("iif({alias}.type = 'object', {value} ->> {path}, {value})")
        }
        steps => {
            let path: Vec<&str> = steps.iter().map(|step| step.value.as_str()).collect();
            format!("({value} ->> {})", quoted_text(&format!("$.{}", path.join("."))))
        }
    })
}

/// Returns the function, the array and the alias of a table of elements.
fn element_source(table: &TableFactor) -> Option<(String, &Expr, Option<&TableAlias>)> {
    let (name, args, alias) = match table {
        TableFactor::UNNEST { array_exprs, alias, .. } => {
            return Some(("unnest".to_owned(), array_exprs.first()?, alias.as_ref()));
        }
        TableFactor::Table { name, args: Some(args), alias, .. } => (name, &args.args, alias),
        TableFactor::Function { name, args, alias, .. } => (name, args, alias),
        _ => return None,
    };
    let name = name.to_string().to_ascii_lowercase();
    let [FunctionArg::Unnamed(FunctionArgExpr::Expr(array))] = args.as_slice() else { return None };
    is_one_of(FUNCTIONS, &name).then_some((name, array, alias.as_ref()))
}

/// Writes `json_each` in place of functions of other dialects, and `(WITH v(a) AS (…) SELECT * FROM v) AS v` for `(…) AS v(a)`.
pub(super) fn rewrite_table(table: &mut TableFactor) {
    if let TableFactor::Derived { subquery, alias: Some(TableAlias { name, columns, .. }), .. } = table
        && !columns.is_empty()
    {
        let names: Vec<String> =
            std::mem::take(columns).iter().map(|column| column.name.to_string()).collect();
        let names = names.join(", ");
        if let Some(named) = parse(&format!("WITH {name}({names}) AS ({subquery}) SELECT * FROM {name}")) {
            **subquery = named;
        }
    }
    let Some((_, array, alias)) = element_source(table) else { return };
    let alias = alias.map_or_else(String::new, |alias| format!(" AS {}", alias.name));
    if let Some(SetExpr::Select(select)) =
        parse(&format!("SELECT * FROM json_each({array}){alias}")).map(|query| *query.body)
        && let Some(from) = select.from.into_iter().next()
    {
        *table = from.relation;
    }
}

/// Returns what to write instead of subscripts. An index that counts from 0 in some dialects and from 1 in others, and a slice, are
/// calls of functions that are not there.
pub(super) fn subscripts(root: &Expr, chain: &[AccessExpr]) -> Option<Expr> {
    if let [AccessExpr::Subscript(Subscript::Index { index })] = chain
        && let Some((name, call)) = split_call(root)
        && let [text, separator] = arguments(call)[..]
    {
        let counted = counted_index(index).map(|index| index + 1);
        let part = counted.or_else(|| match integer(index)? {
            0 => Some(1),
            index if index < 0 || name != "split" => Some(index),
            _ => None,
        });
        let Some(part) = part else { return Some(raw(format!("split_subscript({root}, {index})"))) };
        return Some(raw(format!("split_part({text}, {separator}, {part})")));
    }
    let mut written = root.to_string();
    for access in chain {
        let step = match access {
            AccessExpr::Dot(Expr::Identifier(name)) => format!("$.\"{}\"", name.value),
            AccessExpr::Subscript(Subscript::Index { index }) => match (literal(index), counted_index(index))
            {
                (Some(key), _) => format!("$.\"{key}\""),
                (None, Some(index)) => format!("$[{index}]"),
                (None, None) => return Some(raw(format!("array_subscript({root}, {index})"))),
            },
            AccessExpr::Subscript(Subscript::Slice { .. }) => {
                return Some(raw(format!("array_slice({root})")));
            }
            _ => return None,
        };
        written = format!("({written} ->> {})", quoted_text(&step));
    }
    Some(raw(written))
}

/// Returns the call that splits a text, in parentheses or not.
fn split_call(expr: &Expr) -> Option<(String, &Function)> {
    match expr {
        Expr::Nested(inner) => split_call(inner),
        Expr::Function(call) => {
            is_call_of(call, SPLIT_FUNCTIONS).then(|| (call.name.to_string().to_ascii_lowercase(), call))
        }
        _ => None,
    }
}

fn integer(expr: &Expr) -> Option<i64> {
    expr.to_string().replace(' ', "").parse().ok()
}

/// Returns the index from 0 of `OFFSET(1)`, `SAFE_OFFSET(1)` or `ORDINAL(1)`.
fn counted_index(expr: &Expr) -> Option<i64> {
    let Expr::Function(call) = expr else { return None };
    let [index] = arguments(call)[..] else { return None };
    match call.name.to_string().to_ascii_lowercase().as_str() {
        "offset" | "safe_offset" => integer(index),
        "ordinal" | "safe_ordinal" => Some(integer(index)? - 1),
        _ => None,
    }
}
