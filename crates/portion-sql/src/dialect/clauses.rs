//! Clauses that SQLite does not have: `TOP`, `FETCH`, `DISTINCT ON`, `QUALIFY`, `GROUP BY ALL`.

use sqlparser::ast::{
    Distinct, Expr, GroupByExpr, LimitClause, OffsetRows, OrderBy, OrderByKind, Query, Select, SelectItem,
    SetExpr, TableFactor, Top, TopQuantity, Value,
};

use super::{column_name, for_each_expr, is_call_of, is_one_of, parse, raw};
use crate::error::quoted_name;

/// Functions that make a column of SELECT an aggregate.
const AGGREGATES: &str = "count sum avg min max total group_concat string_agg json_group_array json_group_object \
    array_agg list listagg any_value approx_count_distinct approx_distinct approx_percentile approx_quantile arg_max arg_min \
    bool_and bool_or booland_agg boolor_agg corr count_if countif covar_pop covar_samp every first last logical_and \
    logical_or max_by median min_by mode most_common percentile percentile_cont percentile_disc product quantile \
    quantile_cont quantile_disc std stddev stddev_pop stddev_samp stdev stdevp var_pop var_samp variance";

/// Writes the columns of `GROUP BY ALL`.
pub(super) fn rewrite_select(select: &mut Select) {
    if let GroupByExpr::All(_) = &select.group_by {
        let plain = select.projection.iter().enumerate().filter(|(_, item)| !has_aggregate(item));
        let numbers = plain.map(|(at, _)| number(at + 1)).collect();
        select.group_by = GroupByExpr::Expressions(numbers, Vec::new());
    }
}

fn has_aggregate(item: &SelectItem) -> bool {
    let mut found = false;
    for_each_expr(item, |expr| {
        if let Expr::Function(call) = expr {
            found |= call.over.is_none() && is_call_of(call, AGGREGATES);
        }
        // A call that was rewritten is a text.
        if let Some(text) = column_name(expr).filter(|text| text.contains('(')) {
            let name =
                text.trim_start_matches("nullif(array_to_string(").split('(').next().unwrap_or_default();
            found |= is_one_of(AGGREGATES, name);
        }
    });
    found
}

/// Rewrites the clauses of a query around its SELECT.
pub(super) fn rewrite_query(query: &mut Query) {
    // With a percentage or ties, SQLite says that it has no such clause.
    if let Some(quantity) =
        query.fetch.take_if(|fetch| !fetch.percent && !fetch.with_ties).and_then(|fetch| fetch.quantity)
    {
        set_limit(query, quantity);
    }
    // The word of `OFFSET 5 ROWS` goes, and SQLite needs a limit before an offset.
    if let Some(LimitClause::LimitOffset { limit, offset: Some(offset), .. }) = &mut query.limit_clause {
        offset.rows = OffsetRows::None;
        limit.get_or_insert_with(|| raw("-1"));
    }
    let SetExpr::Select(select) = &mut *query.body else { return };
    if let Some(Top { quantity: Some(quantity), .. }) =
        select.top.take_if(|top| !top.percent && !top.with_ties)
    {
        let limit = match quantity {
            TopQuantity::Expr(expr) => expr,
            TopQuantity::Constant(count) => number(usize::try_from(count).unwrap_or(usize::MAX)),
        };
        set_limit(query, limit);
    }
    let SetExpr::Select(select) = &mut *query.body else { return };
    if let Some(Distinct::On(columns)) = &select.distinct {
        let columns: Vec<String> = columns.iter().map(ToString::to_string).collect();
        let order = query.order_by.as_ref().map_or_else(String::new, |order| format!(" {order}"));
        let first = format!("row_number() OVER (PARTITION BY {}{order}) = 1", columns.join(", "));
        select.distinct = None;
        qualify(query, &first, true);
    } else if let Some(condition) = select.qualify.take() {
        let mut has_window = false;
        for_each_expr(&condition, |expr| {
            has_window |= matches!(expr, Expr::Function(call) if call.over.is_some());
        });
        qualify(query, &condition.to_string(), has_window);
    }
}

fn set_limit(query: &mut Query, count: Expr) {
    match &mut query.limit_clause {
        Some(LimitClause::LimitOffset { limit, .. }) => *limit = Some(count),
        _ => {
            query.limit_clause =
                Some(LimitClause::LimitOffset { limit: Some(count), offset: None, limit_by: Vec::new() });
        }
    }
}

/// Puts the SELECT of a query into another one, of which the rows satisfy a condition over windows.
fn qualify(query: &mut Query, condition: &str, has_window: bool) {
    let SetExpr::Select(select) = &mut *query.body else { return };
    let mut names = Vec::new();
    for item in &mut select.projection {
        match item {
            SelectItem::ExprWithAlias { alias, .. } => names.push(alias.to_string()),
            SelectItem::UnnamedExpr(expr) => {
                if let Some(name) = column_name(expr).filter(|name| !name.contains('(')) {
                    names.push(quoted_name(name.rsplit('.').next().unwrap_or(&name)));
                    continue;
                }
                let name = expr.to_string();
                names.push(quoted_name(&name));
                let alias = sqlparser::ast::Ident::with_quote('"', name);
                *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
            }
            _ => names.push("*".to_owned()),
        }
    }
    let table = match select.from.first().map(|from| &from.relation) {
        Some(TableFactor::Table { alias: Some(alias), .. }) => alias.name.to_string(),
        Some(TableFactor::Table { name, .. }) => name.to_string(),
        _ => "qualified_rows".to_owned(),
    };
    let outer_condition = if has_window { "qualified" } else { condition };
    let mut inner = select.clone();
    if has_window {
        inner.projection.push(SelectItem::UnnamedExpr(raw(format!("{condition} AS qualified"))));
    }
    // Outside, only the columns of the result can be sorted by.
    let is_shown = |expr: &Expr| {
        let last = column_name(expr).map(|name| quoted_name(name.rsplit('.').next().unwrap_or(&name)));
        last.is_none_or(|last| {
            names.iter().any(|name| *name == last || *name == "*" || quoted_name(name) == last)
        })
    };
    if let Some(OrderBy { kind: OrderByKind::Expressions(terms), .. }) = &mut query.order_by {
        terms.retain(|term| is_shown(&term.expr));
        if terms.is_empty() {
            query.order_by = None;
        }
    }
    let names = names.join(", ");
    let Some(outer) = parse(&format!("SELECT {names} FROM ({inner}) AS {table} WHERE {outer_condition}"))
    else {
        return;
    };
    query.body = outer.body;
}

fn number(n: usize) -> Expr {
    Expr::value(Value::Number(n.to_string(), false))
}
