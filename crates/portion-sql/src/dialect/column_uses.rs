//! Finds the columns that a statement uses as numbers or as dates: for columns of other values it needs a hint.

use std::ops::ControlFlow;

use portion_text::column_form::is_missing;
use portion_text::timestamp::Timestamp;
use sqlparser::ast::{
    BinaryOperator, Expr, InTarget, OrderByKind, Query, Select, SelectItem, UnaryOperator, Value, Visit,
    Visitor,
};

use super::{Tree, arguments, calls, column_name, for_each_expr, is_call_of, is_number, literal};

/// A use of a column for which its type matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnUse {
    /// Equal to a number, or not.
    Equal,
    /// Equal to a text that stands for a missing value.
    Missing,
    /// Equal to a text.
    Like,
    /// Not equal to a text.
    Unlike,
    /// Compared with a number by `<` or `>`.
    Number,
    /// Computed with, added up, or averaged.
    Sum,
    /// Sorted, or the least or greatest is taken.
    Order,
    /// Compared with a text by `<` or `>`, and with a date.
    Range,
    DateRange,
    /// True or false by itself, or equal to `true`.
    Condition,
    /// Read as a date by a function.
    Date,
}

/// Functions that add up numbers.
const SUMS: &str = "sum avg total abs stddev variance";
/// Functions of numbers that return one of their arguments, or a number like it.
const SAME: &str = "coalesce ifnull nvl nullif abs round";
const EXTREMES: &str = "min max median";
const DATES: &str = "julianday unixepoch date datetime time year quarter month week day hour minute second date_trunc datetrunc date_part datepart dayname monthname \
    last_day date_add date_sub dateadd";

/// Returns the names of columns with their uses, in the order of the statement.
pub(crate) fn column_uses(tree: &Tree) -> Vec<(String, ColumnUse)> {
    let mut uses = Uses::default();
    let _ = tree.0.visit(&mut uses);
    let Uses(mut named, aliases) = uses;
    // A column of an inner SELECT is that of a table.
    for (name, column_use) in named.clone() {
        let tail = name.rsplit('.').next().unwrap_or_default();
        let meant = aliases.iter().find(|(alias, _)| alias.eq_ignore_ascii_case(tail));
        named.extend(meant.map(|(_, column)| (column.clone(), column_use)));
    }
    named
}

/// Names of columns with their uses, and columns of a SELECT that have another name.
#[derive(Default)]
struct Uses(Vec<(String, ColumnUse)>, Vec<(String, String)>);

impl Uses {
    fn add(&mut self, expr: &Expr, column_use: ColumnUse) {
        let is_number = matches!(column_use, ColumnUse::Sum | ColumnUse::Number | ColumnUse::Order);
        match expr {
            Expr::Case { conditions, else_result, .. } if is_number => {
                let results = conditions.iter().map(|when| &when.result).chain(else_result.as_deref());
                results.for_each(|result| self.add(result, column_use));
                return;
            }
            Expr::Function(call) if is_number && is_call_of(call, SAME) => {
                arguments(call).into_iter().for_each(|argument| self.add(argument, column_use));
                return;
            }
            _ => {}
        }
        // A cast to a number reads the beginning of a text, as the use would.
        if let Expr::Cast { expr, data_type, .. } = expr
            && !calls::is_time(data_type)
            && !calls::is_text(data_type)
        {
            return self.add(expr, column_use);
        }
        if let Some(name) = column_name(expr)
            && !self.0.contains(&(name.clone(), column_use))
        {
            self.0.push((name, column_use));
        }
    }

    fn add_comparison(&mut self, column: &Expr, value: &Expr, is_range: bool) {
        match literal(value) {
            Some(text) if is_range && Timestamp::parse(text).is_some() => {
                self.add(column, ColumnUse::DateRange);
            }
            Some(_) if is_range => self.add(column, ColumnUse::Range),
            None if matches!(value, Expr::Value(of) if matches!(of.value, Value::Boolean(_))) => {
                self.add(column, ColumnUse::Condition);
            }
            None if is_number(value) => {
                self.add(column, if is_range { ColumnUse::Number } else { ColumnUse::Equal });
            }
            _ => {}
        }
    }
}

impl Uses {
    /// Adds the columns that are conditions by themselves.
    fn add_conditions(&mut self, condition: &Expr) {
        match condition {
            Expr::BinaryOp { left, op: BinaryOperator::And | BinaryOperator::Or, right } => {
                self.add_conditions(left);
                self.add_conditions(right);
            }
            Expr::UnaryOp { op: UnaryOperator::Not, expr } | Expr::Nested(expr) => self.add_conditions(expr),
            Expr::IsTrue(expr) | Expr::IsNotTrue(expr) | Expr::IsFalse(expr) | Expr::IsNotFalse(expr) => {
                self.add_conditions(expr);
            }
            _ => self.add(condition, ColumnUse::Condition),
        }
    }
}

impl Visitor for Uses {
    type Break = ();

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        select.selection.iter().for_each(|condition| self.add_conditions(condition));
        let renamed = select.projection.iter().filter_map(|item| match item {
            SelectItem::ExprWithAlias { expr, alias } => Some((alias.value.clone(), column_name(expr)?)),
            _ => None,
        });
        self.1.extend(renamed);
        ControlFlow::Continue(())
    }

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        if let Some(order) = &query.order_by
            && let OrderByKind::Expressions(terms) = &order.kind
        {
            terms.iter().for_each(|term| self.add(&term.expr, ColumnUse::Order));
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match expr {
            Expr::Case { operand: None, conditions, .. } => {
                conditions.iter().for_each(|when| self.add_conditions(&when.condition));
            }
            Expr::Function(call) => {
                call.filter.iter().for_each(|filter| self.add_conditions(filter));
                let is_of = |names: &str| is_call_of(call, names);
                // A modifier says how SQLite reads numbers.
                let is_modified =
                    arguments(call).iter().any(|of| matches!(literal(of), Some("unixepoch" | "auto")));
                for (at, argument) in arguments(call).into_iter().enumerate() {
                    match at {
                        0 if is_of(SUMS) => self.add(argument, ColumnUse::Sum),
                        0 if is_of(EXTREMES) => self.add(argument, ColumnUse::Order),
                        _ if is_modified => {}
                        1 if is_of("strftime") => self.add(argument, ColumnUse::Date),
                        _ if is_of(DATES) => self.add(argument, ColumnUse::Date),
                        _ => {}
                    }
                }
            }
            Expr::BinaryOp { left, op, right } => match op {
                BinaryOperator::Multiply
                | BinaryOperator::Divide
                | BinaryOperator::Minus
                | BinaryOperator::Plus => {
                    self.add(left, ColumnUse::Sum);
                    self.add(right, ColumnUse::Sum);
                }
                BinaryOperator::Eq | BinaryOperator::NotEq => {
                    if *op == BinaryOperator::Eq && literal(right).is_some_and(is_missing) {
                        self.add(left, ColumnUse::Missing);
                    }
                    if literal(right).is_some() {
                        let is_equal = *op == BinaryOperator::Eq;
                        self.add(left, if is_equal { ColumnUse::Like } else { ColumnUse::Unlike });
                    }
                    self.add_comparison(left, right, false);
                    self.add_comparison(right, left, false);
                }
                BinaryOperator::Lt | BinaryOperator::LtEq | BinaryOperator::Gt | BinaryOperator::GtEq => {
                    self.add_comparison(left, right, true);
                    self.add_comparison(right, left, true);
                }
                _ => {}
            },
            Expr::Between { expr, low, .. } => self.add_comparison(expr, low, true),
            Expr::In { expr, target: InTarget::List(values), negated, .. } => {
                if !negated && values.iter().any(|value| literal(value).is_some_and(is_missing)) {
                    self.add(expr, ColumnUse::Missing);
                }
                if values.iter().any(|value| literal(value).is_some()) {
                    self.add(expr, if *negated { ColumnUse::Unlike } else { ColumnUse::Like });
                }
                values.iter().take(1).for_each(|value| self.add_comparison(expr, value, false));
            }
            Expr::Extract { expr, .. } => self.add(expr, ColumnUse::Date),
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// Returns the calls of JSON functions and operators in the expressions of a statement, and the first argument of each.
pub(crate) fn json_arguments(tree: &Tree) -> Vec<(String, String)> {
    let mut calls = Vec::new();
    for_each_expr(&tree.0, |expr| {
        calls.extend(match expr {
            Expr::Function(call) if call.name.to_string().to_ascii_lowercase().starts_with("json") => {
                arguments(call)
                    .first()
                    .map(|argument| (format!("{}({argument})", call.name), argument.to_string()))
            }
            Expr::BinaryOp { left, op: op @ (BinaryOperator::Arrow | BinaryOperator::LongArrow), .. } => {
                Some((format!("{left} {op}"), left.to_string()))
            }
            _ => None,
        });
    });
    calls
}
