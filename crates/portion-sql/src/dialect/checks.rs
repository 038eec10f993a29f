//! Writes a statement that also says which of its comparisons are between a text and a number, and which numbers it sorts
//! as texts.
//!
//! A column is compared in its type. The value of an expression has none, so that a text in it equals no number. Only the
//! values tell: the statement is run a second time for them, and its answer is not used.

use std::collections::HashMap;
use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, Expr, InTarget, OrderBy, OrderByKind, Query, Select, SelectItem, Visit, VisitMut,
    Visitor, VisitorMut,
};

use super::edits::as_given;
use super::{
    Tree, arguments, arguments_mut, column_name, is_call_of, is_comparison, is_one_of, literal, quoted_text,
    raw,
};

/// Functions of numbers, and aggregates of them.
const NUMBERS: &str = "to_number to_integer to_real count sum avg total length len abs round date_part datediff year month day \
    hour rank row_number";

/// Functions whose texts have the order of what they mean.
const ORDERED: &str = "strftime date datetime date_trunc to_date to_timestamp lower upper";

/// Returns the statement with each comparison of values without a type in a call of `compared`; `None` if there are none.
/// `is_typed`: returns true for the name of a column with a type.
pub(crate) fn with_checks(tree: &Tree, is_typed: &dyn Fn(&str) -> bool) -> Option<String> {
    let mut aliases = Aliases(HashMap::new());
    let _ = Visit::visit(&tree.0, &mut aliases);
    let mut query = tree.0.clone();
    let mut checks = Checks { is_typed, aliases: aliases.0, is_changed: false };
    let _ = VisitMut::visit(&mut query, &mut checks);
    checks.is_changed.then(|| query.to_string())
}

/// Names that the statement gives to expressions, in lower case, and true for numbers.
struct Aliases(HashMap<String, bool>);

impl Visitor for Aliases {
    type Break = ();

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        for item in &select.projection {
            if let SelectItem::ExprWithAlias { expr, alias } = item
                && column_name(expr).is_none()
            {
                self.0.insert(alias.value.to_lowercase(), is_numeric(expr));
            }
        }
        ControlFlow::Continue(())
    }
}

struct Checks<'a> {
    is_typed: &'a dyn Fn(&str) -> bool,
    aliases: HashMap<String, bool>,
    is_changed: bool,
}

impl Checks<'_> {
    /// Returns true for a column that is compared in its type. In one that has several, texts are greater than numbers.
    fn is_typed(&self, expr: &Expr, is_order: bool) -> bool {
        column_name(expr).is_some_and(|name| {
            let tail = name.rsplit('.').next().unwrap_or(&name).to_lowercase();
            self.aliases.get(&tail).copied().unwrap_or_else(|| is_order || (self.is_typed)(&name))
        })
    }

    /// Returns the call for a comparison of an expression with values, if its types are not known.
    fn call(&mut self, op: &str, comparison: &Expr, expr: &Expr, values: &[&Expr]) -> Option<Expr> {
        // Neither a text that a number may be written as, nor a boolean.
        let is_name =
            |text: &str| !text.contains(|c: char| c.is_ascii_digit()) && !is_one_of("true false", text);
        let is_word = |side: &&Expr| literal(side).is_some_and(is_name);
        let is_order = op.starts_with(['<', '>']) && op != "<>" || op == "BETWEEN";
        let all = || std::iter::once(expr).chain(values.iter().copied());
        let is_plain = all().any(|side| self.is_typed(side, is_order))
            || all().all(|side| column_name(side).is_some())
            || all().all(is_numeric)
            || values.iter().all(is_word)
            || is_word(&expr);
        if is_plain || values.is_empty() {
            return None;
        }
        self.is_changed = true;
        let operands = all().map(|side| format!("{side}, {}", quoted_text(&as_given(&side.to_string()))));
        let operands = operands.collect::<Vec<_>>().join(", ");
        Some(raw(format!("compared('{op}', {comparison}, {operands})")))
    }

    /// Writes a call around an expression whose order matters.
    fn check_order(&mut self, expr: &mut Expr) {
        let is_known = matches!(&*expr, Expr::Function(call) if is_call_of(call, ORDERED));
        if is_known || self.is_typed(expr, true) || is_numeric(expr) || literal(expr).is_some() {
            return;
        }
        self.is_changed = true;
        *expr = raw(format!("sorted({expr}, {})", quoted_text(&as_given(&expr.to_string()))));
    }
}

/// Returns true for an expression that is a number by its form.
pub(super) fn is_numeric(expr: &Expr) -> bool {
    match expr {
        Expr::Function(call) => is_call_of(call, NUMBERS),
        Expr::BinaryOp { op, .. } => matches!(
            op,
            BinaryOperator::Plus
                | BinaryOperator::Minus
                | BinaryOperator::Multiply
                | BinaryOperator::Divide
                | BinaryOperator::Modulo
        ),
        Expr::Nested(inner) => is_numeric(inner),
        Expr::Cast { data_type, .. } => {
            let name = data_type.to_string().to_ascii_lowercase();
            ["int", "real", "num", "dec", "float", "double"].iter().any(|start| name.starts_with(start))
        }
        Expr::UnaryOp { .. } | Expr::Extract { .. } => true,
        _ => literal(expr).is_none() && expr.to_string().parse::<f64>().is_ok(),
    }
}

impl VisitorMut for Checks<'_> {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let call = match &*expr {
            Expr::BinaryOp { left, op, right } if is_comparison(op) => {
                self.call(&op.to_string(), expr, left, &[right])
            }
            Expr::In { expr: of, target: InTarget::List(values), negated, .. } => {
                let values: Vec<&Expr> = values.iter().take(MAX_VALUES).collect();
                self.call(if *negated { "NOT IN" } else { "IN" }, expr, of, &values)
            }
            Expr::Between { expr: of, low, high, negated: false } => {
                self.call("BETWEEN", expr, of, &[low, high])
            }
            Expr::Case { operand: Some(of), conditions, .. } => {
                let values: Vec<&Expr> =
                    conditions.iter().map(|when| &when.condition).take(MAX_VALUES).collect();
                self.call("CASE", expr, of, &values)
            }
            _ => None,
        };
        if let Some(call) = call {
            *expr = call;
        }
        if let Expr::Function(call) = expr
            && is_call_of(call, "min max")
            && arguments(call).len() == 1
        {
            arguments_mut(call).for_each(|value| self.check_order(value));
        }
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        if let Some(OrderBy { kind: OrderByKind::Expressions(terms), .. }) = &mut query.order_by {
            terms.iter_mut().for_each(|term| self.check_order(&mut term.expr));
        }
        ControlFlow::Continue(())
    }
}

/// Most values of a list that are looked at.
const MAX_VALUES: usize = 40;
