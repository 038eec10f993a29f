//! Reads the conditions of a statement, to say why it found nothing.

use sqlparser::ast::{
    BinaryOperator, Expr, InTarget, Query, Select, SelectItem, SetExpr, TableFactor, UnaryOperator, Value,
};

use super::{Tree, arguments, column_name, for_each_expr, is_call_of, is_comparison, literal, parse, raw};

/// Maximum characters of an operand that are shown.
const MAX_OPERAND_CHARS: usize = 40;

/// The conditions of a statement that are joined by AND or OR, and what they apply to.
#[derive(Debug, Default)]
pub(crate) struct WhereClause {
    with: String,
    from: String,
    /// The whole condition.
    pub(crate) selection: String,
    pub(crate) conditions: Vec<Condition>,
}

/// One condition.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Condition {
    pub(crate) text: String,
    pub(crate) comparison: Option<TextComparison>,
    /// Column of `column < value` or `column BETWEEN a AND b`.
    pub(crate) range: Option<String>,
}

/// A comparison of a column with a text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TextComparison {
    pub(crate) column: String,
    pub(crate) text: String,
    /// True for `=` and `IN`, false for `<>`, `LIKE` and what `NOT` negates.
    pub(crate) is_equality: bool,
}

impl WhereClause {
    /// Reads the WHERE clause of the outermost SELECT, or of the only SELECT in it if it has none.
    pub(crate) fn parse(sql: &str) -> Option<Self> {
        let query = parse(sql)?;
        let (with, select) = match select_with_condition(&query) {
            Some(select) => (query.with.as_ref().map_or_else(String::new, |with| format!("{with} ")), select),
            None => match &query.with.as_ref()?.cte_tables[..] {
                [only] => (String::new(), select_with_condition(&only.query)?),
                _ => return None,
            },
        };
        let selection = select.selection.as_ref()?;
        let tables: Vec<String> = select.from.iter().map(ToString::to_string).collect();
        let from = format!("FROM {}", tables.join(", "));
        let mut clause = Self { with, from, selection: selection.to_string(), conditions: Vec::new() };
        split(selection, &mut clause.conditions);
        Some(clause)
    }

    /// Returns a statement that counts the rows that satisfy a condition.
    pub(crate) fn count(&self, condition: &str) -> String {
        format!("{}SELECT count(*) {} WHERE {condition}", self.with, self.from)
    }

    /// Returns a statement for the least and the greatest value of a column.
    pub(crate) fn extent(&self, column: &str) -> String {
        format!("{}SELECT min({column}), max({column}) {}", self.with, self.from)
    }

    /// Returns a statement that lists some values of a column.
    pub(crate) fn values(&self, column: &str, max: usize) -> String {
        format!("{}SELECT DISTINCT {column} {} WHERE {column} IS NOT NULL LIMIT {max}", self.with, self.from)
    }
}

/// Returns the outermost SELECT, or the only one in it, that has a condition.
fn select_with_condition(query: &Query) -> Option<&Select> {
    let SetExpr::Select(select) = &*query.body else { return None };
    if select.selection.is_some() {
        return Some(select);
    }
    let [only] = select.from.as_slice() else { return None };
    match &only.relation {
        TableFactor::Derived { subquery, .. } if only.joins.is_empty() => select_with_condition(subquery),
        _ => None,
    }
}

fn split(expr: &Expr, conditions: &mut Vec<Condition>) {
    match expr {
        Expr::BinaryOp { left, op: BinaryOperator::And | BinaryOperator::Or, right } => {
            split(left, conditions);
            split(right, conditions);
        }
        _ => conditions.push(Condition {
            text: expr.to_string(),
            comparison: comparison(expr, false),
            range: range(expr),
        }),
    }
}

/// Reads a comparison of a column with a text.
fn comparison(expr: &Expr, is_negated: bool) -> Option<TextComparison> {
    let compared = |column: &Expr, value: &Expr, is_equality: bool| {
        let text = match value {
            Expr::Value(of) if let Value::Boolean(flag) = of.value => flag.to_string(),
            _ => literal(value)?.to_owned(),
        };
        let (column, is_equality) = match column {
            Expr::Substring { expr, .. } => (&**expr, false),
            Expr::Function(call) if is_call_of(call, "left right") => (*arguments(call).first()?, false),
            _ => (column, is_equality),
        };
        let is_column = column_name(column).is_some_and(|name| !name.contains('('));
        is_column.then(|| TextComparison { column: column.to_string(), text, is_equality })
    };
    match expr {
        Expr::UnaryOp { op: UnaryOperator::Not, expr } => comparison(expr, !is_negated),
        Expr::Nested(inner) => comparison(inner, is_negated),
        Expr::BinaryOp { left, op: BinaryOperator::Eq, right } => compared(left, right, !is_negated),
        Expr::BinaryOp { left, op: BinaryOperator::NotEq, right } => compared(left, right, false),
        Expr::Like { expr, pattern, .. } | Expr::RLike { expr, pattern, .. } => {
            compared(expr, pattern, false)
        }
        Expr::In { expr, target: InTarget::List(values), negated, .. } => {
            compared(expr, values.first()?, !negated && !is_negated)
        }
        _ => None,
    }
}

fn range(expr: &Expr) -> Option<String> {
    let column = match expr {
        Expr::BinaryOp {
            left,
            op: BinaryOperator::Lt | BinaryOperator::LtEq | BinaryOperator::Gt | BinaryOperator::GtEq,
            ..
        } => left,
        Expr::Between { expr, .. } => expr,
        _ => return None,
    };
    column_name(column).filter(|name| !name.contains('(')).map(|_| column.to_string())
}

/// Returns the expression that the HAVING clause of the outermost SELECT compares, `count(*)` or an alias of it, and a statement for
/// its least and greatest value in the groups; `None` if there is no clause that begins with a comparison.
pub(crate) fn having_extent(sql: &str) -> Option<(String, String)> {
    let query = parse(sql)?;
    let with = query.with.as_ref().map_or_else(String::new, |with| format!("{with} "));
    let SetExpr::Select(mut select) = *query.body else { return None };
    let compared = match select.having.take()? {
        Expr::BinaryOp { left, op, .. } if is_comparison(&op) => left,
        Expr::Between { expr, .. } => expr,
        _ => return None,
    };
    let compared = compared.to_string();
    let meant = select.projection.iter().find_map(|item| match item {
        SelectItem::ExprWithAlias { expr, alias } if alias.value == compared => Some(expr.to_string()),
        _ => None,
    });
    let value = format!("{} AS compared", meant.as_ref().unwrap_or(&compared));
    select.projection = vec![SelectItem::UnnamedExpr(raw(value))];
    let extent = format!("{with}SELECT min(compared), max(compared) FROM ({select})");
    Some((compared, extent))
}

/// Returns what to write instead of the first condition that is the same for every row: a comparison with NULL, or of
/// `lower(x)` or `upper(x)` with a text in the other case.
pub(crate) fn impossible_condition(tree: &Tree) -> Option<String> {
    let mut found: Option<String> = None;
    for_each_expr(&tree.0, |expr| {
        let advice = match expr {
            _ if found.is_some() => None,
            Expr::BinaryOp { left, op, right } if is_comparison(op) => {
                null_comparison(left, op, right).or_else(|| case_comparison(left, op, right))
            }
            Expr::In { expr, target: InTarget::List(values), .. } => {
                values.first().and_then(|value| case_comparison(expr, &BinaryOperator::Eq, value))
            }
            _ => None,
        };
        if advice.is_some() {
            found = advice;
        }
    });
    found
}

fn shortened(expr: &Expr) -> String {
    expr.to_string().chars().take(MAX_OPERAND_CHARS).collect()
}

fn null_comparison(left: &Expr, op: &BinaryOperator, right: &Expr) -> Option<String> {
    let is_null = |side: &Expr| matches!(side, Expr::Value(value) if value.value == Value::Null);
    let operand = match (is_null(left), is_null(right)) {
        (false, true) => shortened(left),
        (true, false) => shortened(right),
        _ => return None,
    };
    let is = if *op == BinaryOperator::Eq { "IS NULL" } else { "IS NOT NULL" };
    Some(format!("{operand} {op} NULL is true for no row: write {operand} {is}"))
}

fn case_comparison(left: &Expr, op: &BinaryOperator, right: &Expr) -> Option<String> {
    let (Expr::Function(call), BinaryOperator::Eq, Some(text)) = (left, op, literal(right)) else {
        return None;
    };
    let cased = match call.name.to_string().to_ascii_lowercase().as_str() {
        "lower" => text.to_lowercase(),
        "upper" => text.to_uppercase(),
        _ => return None,
    };
    (cased != text).then(|| format!("{} is never '{text}': write '{cased}'", shortened(left)))
}

#[cfg(test)]
mod tests {
    use super::{Tree, impossible_condition};

    fn impossible(sql: &str) -> Option<String> {
        impossible_condition(&Tree::parse(sql).expect(sql))
    }

    #[test]
    fn conditions_that_no_row_satisfies_are_found() {
        for (sql, expect) in [
            (
                "SELECT count(*) FROM items WHERE a.b <> NULL",
                "a.b <> NULL is true for no row: write a.b IS NOT NULL",
            ),
            ("SELECT 1 FROM items WHERE a = null", "a = NULL is true for no row: write a IS NULL"),
            ("SELECT 1 FROM items WHERE lower(origin) = 'USA'", "lower(origin) is never 'USA': write 'usa'"),
            ("SELECT 1 FROM items WHERE upper(a) IN ('x', 'Y')", "upper(a) is never 'x': write 'X'"),
        ] {
            assert_eq!(impossible(sql).as_deref(), Some(expect), "{sql}");
        }
    }

    #[test]
    fn other_conditions_are_not() {
        for sql in [
            "SELECT NULL AS a FROM items WHERE a IS NULL",
            "SELECT 1 FROM items WHERE lower(a) = 'usa' AND lower(a) = b",
            "SELECT 1 FROM items WHERE lower(a) || b = 'USA'",
            "SELECT 1 FROM items WHERE x = 'USA'",
            "SELECT iif(a = 1, NULL, 2) FROM items",
        ] {
            assert_eq!(impossible(sql), None, "{sql}");
        }
    }
}
