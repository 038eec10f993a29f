//! Computed times. They are texts without the collation of times of their column, so they are read as ISO 8601, whose texts sort as
//! times do.

use std::ops::ControlFlow;

use portion_text::column_form::ColumnForm;
use portion_text::timestamp::Timestamp;
use sqlparser::ast::{
    BinaryOperator, Expr, Function, OrderByKind, Query, SelectItem, SetExpr, Value, visit_expressions,
};

use super::{Operands, call_of, read_as};
use crate::dialect::compared_type::{ComparedType, TimeUnit};
use crate::dialect::{arguments, arguments_mut, is_call_of, literal};

/// Functions that compare all of their arguments, and those that compare the second one.
const COMPARING: &str = "greatest least min max";
pub(super) const COMPARING_SECOND: &str = "arg_max arg_min max_by min_by";

impl Operands<'_> {
    /// Returns the type of a computed time that SQLite compares as a text.
    pub(super) fn computed_time(&mut self, expr: &Expr) -> Option<ComparedType> {
        let of = self.scopes.type_of(expr).filter(|of| matches!(of, ComparedType::Form(ColumnForm::Time(_))));
        of.filter(|_| self.scopes.is_computed(expr))
    }

    /// Reads a computed time; returns true if that changes it.
    fn read_computed_time(&mut self, expr: &mut Expr) -> bool {
        self.computed_time(expr).is_some_and(|of| self.read_time(expr, of))
    }

    /// Reads a time whose column has other forms than ISO 8601, and a literal of such a form; returns true if that changes it.
    pub(super) fn read_time(&mut self, expr: &mut Expr, of: ComparedType) -> bool {
        let is_unread = match literal(expr) {
            Some(text) => !Timestamp::is_plain_iso(text),
            None => self.scopes.origin(expr).is_none() || self.facts(expr).unread_times.is_some(),
        };
        let Some(read) = read_as(expr, of).filter(|_| is_unread) else { return false };
        self.replace(expr, read);
        true
    }

    /// Reads the times that a function compares. The least or greatest of a column has its collation.
    pub(super) fn read_compared_times(&mut self, call: &mut Function) {
        let count = arguments(call).len();
        let compared = match () {
            () if is_call_of(call, COMPARING) && count > 1 => 0..count,
            () if is_call_of(call, COMPARING_SECOND) => 1..2,
            () => 0..usize::from(is_call_of(call, "min max")),
        };
        let is_aggregate = compared == (0..1);
        let mut times = arguments(call).into_iter().filter_map(|argument| self.scopes.type_of(argument));
        let time = times.find(|of| matches!(of, ComparedType::Form(ColumnForm::Time(_))));
        let Some(of) = time else { return };
        for value in arguments_mut(call).take(compared.end).skip(compared.start) {
            let _ = if is_aggregate { self.read_computed_time(value) } else { self.read_time(value, of) };
        }
    }

    /// Reads the computed times by which a query is sorted: by name, by number, or by themselves.
    pub(super) fn read_order(&mut self, query: &mut Query) {
        let (Some(order), SetExpr::Select(select)) = (&mut query.order_by, &*query.body) else { return };
        let OrderByKind::Expressions(terms) = &mut order.kind else { return };
        self.scopes.enter_select(select);
        for term in terms {
            let number = match &term.expr {
                Expr::Value(value) => value.to_string().parse::<usize>().ok(),
                _ => None,
            };
            let item = number.and_then(|number| select.projection.get(number.checked_sub(1)?));
            let mut by = match item {
                Some(SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) => expr.clone(),
                _ => term.expr.clone(),
            };
            if self.read_computed_time(&mut by) {
                term.expr = by;
            }
        }
        self.scopes.leave_select();
    }

    /// Reads digits of a date in a sum or difference.
    pub(super) fn read_digits(&mut self, expr: &mut Expr) {
        let function = match self.scopes.type_of(expr) {
            Some(ComparedType::TimeNumbers(TimeUnit::DateDigits)) => "to_date",
            Some(ComparedType::TimeNumbers(TimeUnit::TimeDigits)) => "to_timestamp",
            _ => return,
        };
        self.replace(expr, call_of(function, [expr.clone()]));
    }

    /// Divides as numbers with fractions what has some in other rows.
    pub(super) fn divide(&mut self, left: &mut Expr, right: &Expr) {
        let mut has_fractions = false;
        for side in [&*left, right] {
            let _ = visit_expressions(side, |expr| {
                has_fractions |= self.facts(expr).has_some_fractions;
                ControlFlow::<()>::Continue(())
            });
        }
        if has_fractions {
            let one = Expr::value(Value::Number("1.0".to_owned(), false));
            let product = Expr::BinaryOp {
                left: Box::new(one),
                op: BinaryOperator::Multiply,
                right: Box::new(Expr::Nested(Box::new(left.clone()))),
            };
            self.replace(left, Expr::Nested(Box::new(product)));
        }
    }
}
