//! Rewrites statements of other dialects for SQLite, on their trees.

use std::ops::ControlFlow;

use portion_text::column_form::ColumnForm;
use portion_text::timestamp::Timestamp;
use sqlparser::ast::{
    BinaryOperator, CastKind, Expr, InTarget, Query, Select, SelectFlavor, SelectItem, SetExpr, TableFactor,
    TypedString, Value, VisitMut, VisitorMut, visit_expressions,
};

use super::compared_type::{ComparedType, Find};
use super::scopes::kept_values;
use super::{
    Tree, arguments, calls, clauses, column_name, elements, is_number, is_one_of, literal, literals,
    quoted_text, raw,
};

/// The types of columns by their names.
pub(crate) struct ColumnTypes<'a> {
    /// Returns true for the name of a column of times, or of no column.
    pub(crate) is_time: &'a dyn Fn(&str) -> bool,
    /// Returns the type of a column with which values are compared.
    pub(crate) compared: &'a Find<'a, ComparedType>,
    pub(crate) facts: &'a Find<'a, ColumnFacts>,
}

/// Facts about a column beside its type.
#[derive(Default)]
pub(crate) struct ColumnFacts {
    /// The names of the table and the column, if its numbers are written as other texts.
    pub(crate) written: Option<[String; 2]>,
    /// The form of its times, if SQLite does not read that.
    pub(crate) unread_times: Option<ColumnForm>,
    /// True if some of its numbers are integers, and some have fractions.
    pub(crate) has_some_fractions: bool,
}

/// Rewrites a statement that SQLite rejects.
pub(crate) fn rewrite(tree: &Tree, types: &ColumnTypes<'_>) -> String {
    let mut query = tree.0.clone();
    literals::rewrite(&mut query, types);
    rewrite_tree(query, &|_| true)
}

/// Rewrites a statement that SQLite accepts but reads as something else: sums and differences of dates, casts to types that
/// it does not have, subscripts, formats after the time, and literals of another type. Returns `None` if there are none.
pub(crate) fn rewrite_misread(tree: &Tree, types: &ColumnTypes<'_>) -> Option<String> {
    let is_found = visit_expressions(&tree.0, |expr| {
        if is_misread(expr, types.is_time) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let mut query = tree.0.clone();
    let has_literals = literals::rewrite(&mut query, types);
    if is_found.is_break() {
        return Some(rewrite_tree(query, types.is_time));
    }
    has_literals.then(|| query.to_string())
}

fn rewrite_tree(mut query: Query, is_time: &dyn Fn(&str) -> bool) -> String {
    elements::rewrite(&mut query);
    let _ = VisitMut::visit(&mut query, &mut Rewriting { is_time });
    query.to_string()
}

/// Returns true for what SQLite reads as something else.
fn is_misread(expr: &Expr, is_time: &dyn Fn(&str) -> bool) -> bool {
    match expr {
        Expr::BinaryOp { left, op: BinaryOperator::Plus | BinaryOperator::Minus, right } => {
            may_be_time(left, is_time) || may_be_time(right, is_time)
        }
        Expr::Cast { kind: CastKind::Cast, data_type, .. } => calls::is_misread(data_type),
        // SQLite reads `tags[0]` as `tags AS "0"`.
        Expr::CompoundFieldAccess { .. } => true,
        Expr::Function(call) => calls::is_misread_call(call),
        // The second argument may be a regular expression.
        Expr::Substring { substring_from: Some(from), .. } => literal(from).is_some(),
        _ => false,
    }
}

/// Returns true if a term may be a time: it names a column of times, or a value of another SELECT.
fn may_be_time(expr: &Expr, is_time: &dyn Fn(&str) -> bool) -> bool {
    match expr {
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) => {
            column_name(expr).is_some_and(|name| is_time(&name))
        }
        Expr::Nested(inner) => may_be_time(inner, is_time),
        Expr::BinaryOp { left, op: BinaryOperator::Plus | BinaryOperator::Minus, right } => {
            may_be_time(left, is_time) || may_be_time(right, is_time)
        }
        Expr::Function(call) => {
            let kept = kept_values(call).and_then(|kept| arguments(call).get(*kept.first()?).copied());
            is_date_call(&call.name.to_string().to_ascii_lowercase())
                || kept.is_some_and(|value| may_be_time(value, is_time))
        }
        Expr::Subquery(query) => {
            let SetExpr::Select(select) = &*query.body else { return false };
            matches!(select.projection.first(), Some(SelectItem::UnnamedExpr(expr)) if may_be_time(expr, is_time))
        }
        Expr::TypedString(_) | Expr::Interval(_) => true,
        Expr::Value(_) => literal(expr).is_some_and(|text| Timestamp::parse_iso(text).is_some()),
        Expr::Cast { data_type, .. } => calls::is_time(data_type),
        _ => false,
    }
}

/// Functions that return a date or a time.
const DATE_CALLS: &str = "date datetime now read_as to_date to_timestamp current_date current_timestamp";

/// Returns true for a function that returns a date or a time.
fn is_date_call(name: &str) -> bool {
    is_one_of(DATE_CALLS, name)
        || name.starts_with("date_") && !is_one_of("date_part date_diff date_format", name)
}

/// Rewrites the nodes of a tree, the inner ones first.
struct Rewriting<'a> {
    is_time: &'a dyn Fn(&str) -> bool,
}

impl VisitorMut for Rewriting<'_> {
    type Break = ();

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        clauses::rewrite_query(query);
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        // `FROM items SELECT id` has another order of clauses.
        select.flavor = SelectFlavor::Standard;
        clauses::rewrite_select(select);
        ControlFlow::Continue(())
    }

    fn post_visit_table_factor(&mut self, table: &mut TableFactor) -> ControlFlow<()> {
        elements::rewrite_table(table);
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Some(rewritten) = self.rewritten(expr) {
            *expr = rewritten;
        }
        ControlFlow::Continue(())
    }
}

impl Rewriting<'_> {
    /// Returns what to write instead of an expression, whose operands were rewritten.
    fn rewritten(&self, expr: &Expr) -> Option<Expr> {
        match expr {
            Expr::ILike { negated, any: false, expr, pattern, escape_char } => Some(Expr::Like {
                negated: *negated,
                any: false,
                expr: expr.clone(),
                pattern: pattern.clone(),
                escape_char: escape_char.clone(),
            }),
            Expr::RLike { negated, expr, pattern, regexp: false } => {
                let not = if *negated { "NOT " } else { "" };
                Some(raw(format!("({not}regexp({pattern}, {expr}))")))
            }
            Expr::BinaryOp { left, op, right } => self.binary(left, op, right),
            Expr::Cast { kind, expr, data_type, .. } => calls::cast(kind, expr, data_type),
            Expr::Convert { expr, data_type: Some(data_type), .. } => {
                calls::convert(expr, &data_type.to_string())
            }
            Expr::TypedString(TypedString { data_type, value, .. }) => {
                let Value::SingleQuotedString(text) = &value.value else { return None };
                let function = if calls::is_date(data_type) { "to_date" } else { "to_timestamp" };
                Some(raw(format!("{function}({})", quoted_text(text))))
            }
            Expr::Extract { field, expr, .. } => {
                Some(calls::extract(&field.to_string().to_ascii_lowercase(), expr))
            }
            Expr::AtTimeZone { timestamp, time_zone } => {
                Some(raw(format!("timezone({time_zone}, {timestamp})")))
            }
            Expr::Position { expr, r#in: text } => Some(raw(format!("charindex({expr}, {text})"))),
            Expr::Substring { expr, substring_from, substring_for, .. } => {
                let from = substring_from.as_ref()?;
                Some(raw(match (literal(from), substring_for) {
                    (Some(_), None) => format!("regexp_extract({expr}, {from})"),
                    (_, Some(length)) => format!("substr({expr}, {from}, {length})"),
                    (None, None) => format!("substr({expr}, {from})"),
                }))
            }
            Expr::AnyOp { left, compare_op: BinaryOperator::Eq, right, .. } => Some(raw(match &**right {
                Expr::Subquery(query) => format!("({left} IN ({query}))"),
                // A text beside arrays is the only element.
                array => format!(
                    "({left} IN (SELECT value FROM json_each(iif(json_valid({array}), {array}, json_array({array})))))"
                ),
            })),
            Expr::In { expr, target: InTarget::Unnest(array), negated, .. } => {
                let not = if *negated { "NOT " } else { "" };
                Some(raw(format!("({expr} {not}IN (SELECT value FROM json_each({array})))")))
            }
            Expr::CompoundFieldAccess { root, access_chain } => elements::subscripts(root, access_chain),
            Expr::Function(call) => calls::rewritten(call),
            Expr::Value(value) if !matches!(value.value, Value::SingleQuotedString(_)) => {
                Some(Expr::value(Value::SingleQuotedString(literal(expr)?.to_owned())))
            }
            _ => None,
        }
    }

    fn binary(&self, left: &Expr, op: &BinaryOperator, right: &Expr) -> Option<Expr> {
        let matched = |is_negated: bool, ignores_case: bool| {
            let not = if is_negated { "NOT " } else { "" };
            let case = if ignores_case { "'(?i)' || " } else { "" };
            Some(raw(format!("({not}regexp({case}{right}, {left}))")))
        };
        match op {
            BinaryOperator::PGRegexMatch => matched(false, false),
            BinaryOperator::PGRegexIMatch => matched(false, true),
            BinaryOperator::PGRegexNotMatch => matched(true, false),
            BinaryOperator::PGRegexNotIMatch => matched(true, true),
            BinaryOperator::MyIntegerDivide | BinaryOperator::DuckIntegerDivide => {
                Some(raw(format!("CAST({left} / {right} AS INTEGER)")))
            }
            // A cast to `numeric` keeps the fraction, also of integers.
            BinaryOperator::Divide
                if [left, right].iter().any(|side| side.to_string().contains("to_number(")) =>
            {
                Some(raw(format!("(1.0 * ({left}) / ({right}))")))
            }
            BinaryOperator::Plus | BinaryOperator::Minus => {
                self.sum(left, matches!(op, BinaryOperator::Minus), right)
            }
            _ => None,
        }
    }

    /// Rewrites a sum or difference that may be one of dates: the functions look at the values.
    fn sum(&self, left: &Expr, is_minus: bool, right: &Expr) -> Option<Expr> {
        if let Expr::Interval(interval) = right {
            let function = if is_minus { "date_sub" } else { "date_shift" };
            return Some(raw(format!("{function}({left}, {})", calls::interval_text(interval))));
        }
        if let (Expr::Interval(interval), false) = (left, is_minus) {
            return Some(raw(format!("date_shift({right}, {})", calls::interval_text(interval))));
        }
        let is_time = |side: &Expr| match side {
            // Inner terms were rewritten as calls.
            Expr::Identifier(name) if name.quote_style.is_none() && name.value.contains('(') => {
                is_date_call(name.value.split('(').next().unwrap_or_default())
            }
            _ => may_be_time(side, self.is_time),
        };
        if is_number(left) && is_number(right) || !is_time(left) && !is_time(right) {
            return None;
        }
        let function = if is_minus { "date_minus" } else { "date_plus" };
        Some(raw(format!("{function}({left}, {right})")))
    }
}
