//! Literals that no value of the column equals which they are compared with, as SQLite reads them: `ok = 'true'` of booleans,
//! which are 1 and 0, and codes without quotes that lose digits as numbers (`zip = 02139`, or more than 18 digits).

use std::collections::HashMap;
use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, Expr, InTarget, Query, Select, SelectItem, Value, Visit, VisitMut, Visitor, VisitorMut,
};

use super::{arguments, column_name, literal, raw};

/// The type of a column for the literals that are compared with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ComparedType {
    Text,
    Boolean,
    Other,
}

/// Returns the expression in `lower(x)`, `CAST(x AS TEXT)` and the like, in which a boolean stays one.
fn unwrapped(expr: &Expr) -> &Expr {
    match expr {
        Expr::Nested(inner) | Expr::Cast { expr: inner, .. } | Expr::Trim { expr: inner, .. } => inner,
        Expr::Function(call) => match arguments(call)[..] {
            [inner] if ["lower", "upper"].contains(&&*call.name.to_string().to_ascii_lowercase()) => inner,
            _ => expr,
        },
        _ => expr,
    }
}

/// Writes literals in the type of the column that they are compared with; returns true if there are any.
pub(super) fn rewrite(query: &mut Query, column_type: &dyn Fn(&str) -> ComparedType) -> bool {
    let mut aliases = Aliases(HashMap::new());
    let _ = Visit::visit(query, &mut aliases);
    let mut literals = Literals { column_type, aliases: aliases.0, is_changed: false };
    let _ = VisitMut::visit(query, &mut literals);
    literals.is_changed
}

/// Returns true for digits that are no number in canonical form, or more than one holds: `02139`, `1.10`.
fn is_code(digits: &str) -> bool {
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    match digits.split_once('.') {
        Some((whole, fraction)) => is_digits(whole) && is_digits(fraction) && fraction.ends_with('0'),
        None => is_digits(digits) && (digits.len() > 18 || digits.len() > 1 && digits.starts_with('0')),
    }
}

/// Columns by the names that inner statements give them, in lower case.
struct Aliases(HashMap<String, String>);

impl Visitor for Aliases {
    type Break = ();

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        for item in &select.projection {
            if let SelectItem::ExprWithAlias { expr, alias } = item
                && let Some(column) = column_name(expr)
            {
                self.0.insert(alias.value.to_lowercase(), column);
            }
        }
        ControlFlow::Continue(())
    }
}

struct Literals<'a> {
    column_type: &'a dyn Fn(&str) -> ComparedType,
    aliases: HashMap<String, String>,
    is_changed: bool,
}

impl Literals<'_> {
    fn rewrite<'e>(&mut self, column: &mut Expr, values: impl IntoIterator<Item = &'e mut Expr>) {
        let (Some(name), mut is_boolean) = (column_name(unwrapped(column)), false) else { return };
        for value in values {
            let text = literal(value).map(str::to_lowercase);
            let (wanted, written) = match text.as_deref() {
                Some("true") => (ComparedType::Boolean, raw("1")),
                Some("false") => (ComparedType::Boolean, raw("0")),
                Some(_) => continue,
                None => match value.to_string() {
                    name if name.starts_with(':') => {
                        (ComparedType::Boolean, raw(format!("to_boolean({name})")))
                    }
                    digits if is_code(&digits) => {
                        (ComparedType::Text, Expr::value(Value::SingleQuotedString(digits)))
                    }
                    _ => continue,
                },
            };
            if self.type_of(&name) == wanted {
                *value = written;
                is_boolean |= wanted == ComparedType::Boolean;
                self.is_changed = true;
            }
        }
        if is_boolean {
            *column = unwrapped(column).clone();
        }
    }

    fn type_of(&self, name: &str) -> ComparedType {
        match (self.column_type)(name) {
            ComparedType::Other => {
                let tail = name.rsplit('.').next().unwrap_or(name).to_lowercase();
                let column = self.aliases.get(&tail);
                column.map_or(ComparedType::Other, |column| (self.column_type)(column))
            }
            known => known,
        }
    }
}

impl VisitorMut for Literals<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::BinaryOp { left, op, right } if is_comparison(op) => {
                self.rewrite(left, [&mut **right]);
                self.rewrite(right, [&mut **left]);
            }
            Expr::Like { expr: column, pattern, negated, .. }
            | Expr::ILike { expr: column, pattern, negated, .. } => {
                let written = pattern.to_string();
                self.rewrite(column, [&mut **pattern]);
                if pattern.to_string() != written {
                    let op = if *negated { BinaryOperator::NotEq } else { BinaryOperator::Eq };
                    *expr = Expr::BinaryOp { left: column.clone(), op, right: pattern.clone() };
                }
            }
            Expr::IsDistinctFrom(left, right) | Expr::IsNotDistinctFrom(left, right) => {
                self.rewrite(left, [&mut **right]);
            }
            Expr::In { expr, target: InTarget::List(values), .. } => self.rewrite(expr, values),
            Expr::Between { expr, low, high, .. } => self.rewrite(expr, [&mut **low, &mut **high]),
            Expr::Case { operand: Some(operand), conditions, .. } => {
                self.rewrite(operand, conditions.iter_mut().map(|when| &mut when.condition));
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// Returns true for an operator that compares two values.
pub(super) fn is_comparison(op: &BinaryOperator) -> bool {
    matches!(
        op,
        BinaryOperator::Lt
            | BinaryOperator::LtEq
            | BinaryOperator::Gt
            | BinaryOperator::GtEq
            | BinaryOperator::Eq
            | BinaryOperator::NotEq
            | BinaryOperator::Spaceship
    )
}
