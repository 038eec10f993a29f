//! Joins by `USING (c)` of columns that SQLite compares otherwise than they are meant.

use std::collections::HashMap;
use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, Expr, Ident, JoinConstraint, JoinOperator, ObjectName, Query, Select, SelectItem,
    TableWithJoins, VisitMut, VisitorMut,
};

use super::super::raw;
use super::super::scopes::alias_of;
use super::Operands;

impl Operands<'_> {
    /// Writes `USING (c)` of columns that SQLite compares otherwise than they are meant as `ON a.c = b.c`, with the table before
    /// each `c`.
    pub(super) fn write_joins(&mut self, select: &mut Select) {
        let mut qualified = HashMap::new();
        let tables = &mut select.from;
        for TableWithJoins { relation, joins } in tables {
            let mut left: Vec<String> = alias_of(relation).into_iter().collect();
            for join in joins {
                let right = alias_of(&join.relation);
                if let (Some(right), Some(JoinConstraint::Using(columns))) =
                    (&right, join_constraint(&mut join.join_operator))
                    && let Some((on, names)) = self.join_condition(&left, right, columns)
                {
                    qualified.extend(names);
                    if let Some(constraint) = join_constraint(&mut join.join_operator) {
                        *constraint = JoinConstraint::On(on);
                    }
                }
                left.extend(right);
            }
        }
        if !qualified.is_empty() {
            self.is_changed = true;
            for item in &mut select.projection {
                if let SelectItem::UnnamedExpr(expr) = item
                    && let Expr::Identifier(name) = &*expr
                    && qualified.contains_key(&name.value.to_lowercase())
                {
                    *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias: name.clone() };
                }
            }
            let _ = VisitMut::visit(select, &mut Qualifier { tables: qualified, depth: 0 });
        }
    }

    /// Returns the condition of a join by columns of one name, and the table before each in lower case; `None` if SQLite compares
    /// all of them as they are meant.
    fn join_condition(
        &mut self,
        left: &[String],
        right: &str,
        columns: &[ObjectName],
    ) -> Option<(Expr, Vec<(String, String)>)> {
        let mut names = Vec::new();
        let (mut on, mut is_needed) = (Vec::new(), false);
        for name in columns {
            let name = name.to_string();
            let has_column = |table: &&String| self.scopes.column_in(table, &name).is_some();
            let table = left.iter().find(has_column)?;
            let sides = [table, right].map(|table| raw(format!("{table}.{name}")));
            for [of, value] in [[0, 1], [1, 0]] {
                let of = self.scopes.type_of(&sides[of]);
                is_needed |= of.and_then(|of| self.written(of, &sides[value])).is_some();
            }
            names.push((name.to_lowercase(), table.clone()));
            let [left, right] = sides.map(Box::new);
            on.push(Expr::BinaryOp { left, op: BinaryOperator::Eq, right });
        }
        let and = |left: Expr, right: Expr| Expr::BinaryOp {
            left: Box::new(left),
            op: BinaryOperator::And,
            right: Box::new(right),
        };
        Some((on.into_iter().reduce(and)?, names)).filter(|_| is_needed)
    }
}

fn join_constraint(operator: &mut JoinOperator) -> Option<&mut JoinConstraint> {
    match operator {
        JoinOperator::Join(constraint)
        | JoinOperator::Inner(constraint)
        | JoinOperator::Left(constraint)
        | JoinOperator::LeftOuter(constraint) => Some(constraint),
        _ => None,
    }
}

/// Writes tables before the names of columns of one statement.
struct Qualifier {
    /// The tables by the names of columns in lower case.
    tables: HashMap<String, String>,
    /// Number of statements around an expression.
    depth: usize,
}

impl VisitorMut for Qualifier {
    type Break = ();

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if self.depth == 0
            && let Expr::Identifier(name) = expr
            && let Some(table) = self.tables.get(&name.value.to_lowercase())
        {
            *expr = Expr::CompoundIdentifier(vec![Ident::new(table), name.clone()]);
        }
        ControlFlow::Continue(())
    }
}
