//! The types of expressions: those of the columns that their names mean, by the scopes of a statement.

use portion_text::column_form::ColumnForm;
use sqlparser::ast::{
    BinaryOperator, Expr, Function, ObjectName, Query, Select, SelectItem, SelectItemQualifiedWildcardKind,
    SetExpr, TableAlias, TableFactor, TableWithJoins, Value,
};

use super::checks::is_numeric;
use super::compared_type::{ComparedType, Find};
use super::{arguments, column_name, is_call_of};

/// A column of a table of the catalogue: the names of both. That of the table is empty for any.
pub(super) type Origin = (String, String);

/// The meaning of a name: the type of its value, and the column of the catalogue that has the value.
#[derive(Clone)]
struct Meaning {
    of: ComparedType,
    origin: Option<Origin>,
    /// True if the value is computed, and no column itself.
    is_computed: bool,
}

/// A column that a query returns, or all columns of a table of the catalogue or of a function.
#[derive(Clone)]
enum Column {
    Named(String, Meaning),
    AllOf(String),
}

/// A table of a FROM or WITH clause: its alias or name, and its columns.
type Table = (String, Vec<Column>);

/// The tables and the columns that the names in a SELECT mean.
#[derive(Default)]
struct Scope {
    tables: Vec<Table>,
    /// The columns of the result, which names mean that are in no table.
    result: Vec<Column>,
}

/// The scopes around an expression.
pub(super) struct Scopes<'a> {
    type_of: &'a Find<'a, ComparedType>,
    /// Those of SELECTs, the innermost last.
    selects: Vec<Scope>,
    /// The tables of the WITH clauses, and how many there were before each query.
    named: Vec<Table>,
    marks: Vec<usize>,
}

impl<'a> Scopes<'a> {
    pub(super) fn new(type_of: &'a Find<'a, ComparedType>) -> Self {
        Self { type_of, selects: Vec::new(), named: Vec::new(), marks: Vec::new() }
    }

    /// Adds the tables of the WITH clause of a query.
    pub(super) fn enter_query(&mut self, query: &Query) {
        self.marks.push(self.named.len());
        for cte in query.with.iter().flat_map(|with| &with.cte_tables) {
            let name = &cte.alias.name.value;
            // A recursive one reads the rows of its first part.
            if let SetExpr::SetOperation { left, .. } = &*cte.query.body {
                let columns = self.returned(left);
                self.named.push((name.clone(), renamed(columns, Some(&cte.alias))));
            }
            let columns = self.returned_by(&cte.query);
            self.named.push((name.clone(), renamed(columns, Some(&cte.alias))));
        }
    }

    pub(super) fn leave_query(&mut self) {
        self.named.truncate(self.marks.pop().unwrap_or_default());
    }

    /// Adds the scope of a SELECT.
    pub(super) fn enter_select(&mut self, select: &Select) {
        let mut tables = Vec::new();
        select.from.iter().for_each(|from| self.add_tables(from, &mut tables));
        self.selects.push(Scope { tables, result: Vec::new() });
        let mut result = Vec::new();
        for item in &select.projection {
            match item {
                SelectItem::UnnamedExpr(expr) => {
                    let name = column_name(expr).unwrap_or_default();
                    let name = name.rsplit('.').next().unwrap_or_default();
                    result.push(Column::Named(name.to_owned(), self.meaning(expr)));
                }
                SelectItem::ExprWithAlias { expr, alias } => {
                    result.push(Column::Named(alias.value.clone(), self.meaning(expr)));
                }
                SelectItem::Wildcard(_) => self.add_all("", &mut result),
                SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) => {
                    self.add_all(&unquoted(name), &mut result);
                }
                _ => {}
            }
        }
        if let Some(scope) = self.selects.last_mut() {
            scope.result = result;
        }
    }

    pub(super) fn leave_select(&mut self) {
        self.selects.pop();
    }

    fn add_tables(&mut self, from: &TableWithJoins, tables: &mut Vec<Table>) {
        for table in std::iter::once(&from.relation).chain(from.joins.iter().map(|join| &join.relation)) {
            let columns = match table {
                TableFactor::NestedJoin { table_with_joins, .. } => {
                    self.add_tables(table_with_joins, tables);
                    continue;
                }
                TableFactor::Derived { subquery, alias, .. } => {
                    renamed(self.returned_by(subquery), alias.as_ref())
                }
                TableFactor::Table { name, args: None, .. } => {
                    let name = unquoted(name);
                    let is_named = |(known, _): &&Table| known.eq_ignore_ascii_case(&name);
                    let inner = self.named.iter().rev().find(is_named).map(|(_, columns)| columns.clone());
                    inner.unwrap_or_else(|| vec![Column::AllOf(name)])
                }
                other => vec![Column::AllOf(other.to_string())],
            };
            tables.push((alias_of(table).unwrap_or_default(), columns));
        }
    }

    /// Adds the columns of one of the tables of the innermost scope, or of all if the name is empty; each once.
    fn add_all(&self, alias: &str, result: &mut Vec<Column>) {
        let tables = self.selects.last().into_iter().flat_map(|scope| &scope.tables);
        for column in tables
            .filter(|(of, _)| alias.is_empty() || of.eq_ignore_ascii_case(alias))
            .flat_map(|(_, columns)| columns)
        {
            let is_equal = |other: &Column| match (column, other) {
                (Column::Named(a, _), Column::Named(b, _)) | (Column::AllOf(a), Column::AllOf(b)) => a == b,
                _ => false,
            };
            if !result.iter().any(is_equal) {
                result.push(column.clone());
            }
        }
    }

    /// Returns the types of the columns that a query returns, up to those of which the number is not known.
    pub(super) fn types_of(&mut self, body: &SetExpr) -> Vec<ComparedType> {
        let of = |column: &Column| match column {
            Column::Named(_, meaning) => Some(meaning.of),
            Column::AllOf(_) => None,
        };
        self.returned(body).iter().map_while(of).collect()
    }

    fn returned_by(&mut self, query: &Query) -> Vec<Column> {
        self.enter_query(query);
        let columns = self.returned(&query.body);
        self.leave_query();
        columns
    }

    fn returned(&mut self, body: &SetExpr) -> Vec<Column> {
        match body {
            SetExpr::Select(select) => {
                self.enter_select(select);
                self.selects.pop().map(|scope| scope.result).unwrap_or_default()
            }
            SetExpr::Query(query) => self.returned_by(query),
            SetExpr::SetOperation { left, right, .. } => {
                let (left, right) = (self.returned(left), self.returned(right));
                let mut others = right.into_iter();
                let both = left.into_iter().map(|column| match (column, others.next()) {
                    (Column::Named(name, a), Some(Column::Named(_, b)))
                        if a.of != ComparedType::Other && a.of.computed() == b.of.computed() =>
                    {
                        Column::Named(name, Meaning { of: a.of.computed(), is_computed: true, ..a })
                    }
                    (Column::Named(name, _), _) => Column::Named(name, Meaning::other()),
                    (column, _) => column,
                });
                both.collect()
            }
            SetExpr::Values(values) => {
                let count = values.rows.first().map_or(0, |row| row.content.len());
                let name = |at: usize| Column::Named(format!("column{at}"), Meaning::other());
                (1..=count).map(name).collect()
            }
            _ => Vec::new(),
        }
    }

    fn meaning(&mut self, expr: &Expr) -> Meaning {
        Meaning {
            of: self.type_of(expr).unwrap_or(ComparedType::Other),
            origin: self.origin(expr),
            is_computed: self.is_computed(expr),
        }
    }

    /// Returns true for what is no column, or a column of another SELECT that is computed.
    pub(super) fn is_computed(&self, expr: &Expr) -> bool {
        column_name(expr).is_none_or(|name| self.meant(&name).is_some_and(|meaning| meaning.is_computed))
    }

    /// Returns the column of the catalogue of which an expression is a value.
    pub(super) fn origin(&self, expr: &Expr) -> Option<Origin> {
        match expr {
            Expr::Nested(inner) => self.origin(inner),
            Expr::Function(call) if let Some(values) = kept_values(call) => {
                self.origin(arguments(call).get(*values.first()?)?)
            }
            _ => self.meant(&column_name(expr)?)?.origin,
        }
    }

    /// Returns the type of an expression; `None` for a literal, which has that of what it is compared with.
    pub(super) fn type_of(&mut self, expr: &Expr) -> Option<ComparedType> {
        Some(match expr {
            Expr::Nested(inner) => return self.type_of(inner),
            Expr::Value(value) if !matches!(value.value, Value::Placeholder(_)) => return None,
            Expr::Interval(_) | Expr::TypedString(_) => return None,
            Expr::Function(call) if let Some(values) = kept_values(call) => {
                // The value with which `nullif` compares is never the result.
                let count = if is_call_of(call, "nullif") { 1 } else { values.len() };
                return self.common_type(
                    values.into_iter().take(count).filter_map(|at| arguments(call).get(at).copied()),
                );
            }
            Expr::Case { conditions, else_result, .. } => {
                let results = conditions.iter().map(|when| &when.result);
                return self.common_type(results.chain(else_result.as_deref()));
            }
            Expr::Subquery(query) => {
                self.enter_query(query);
                let of = self.types_of(&query.body).first().copied();
                self.leave_query();
                of.unwrap_or(ComparedType::Other)
            }
            // The functions of numbers whose result means the same as their argument.
            Expr::Function(call) if is_call_of(call, "sum avg total abs round") => {
                match arguments(call).first().and_then(|first| self.type_of(first)) {
                    Some(of @ (ComparedType::Form(_) | ComparedType::TimeNumbers(_))) => of,
                    _ => ComparedType::Form(ColumnForm::Number),
                }
            }
            Expr::BinaryOp { left, op: BinaryOperator::Plus | BinaryOperator::Minus, right } => {
                let number = ComparedType::Form(ColumnForm::Number);
                let mut is_number = |side: &Expr| self.type_of(side).is_none_or(|of| of.computed() == number);
                if is_number(left) && is_number(right) { number } else { ComparedType::Other }
            }
            _ => match column_name(expr) {
                Some(name) => self.column(&name).unwrap_or(ComparedType::Other),
                None if is_numeric(expr) => {
                    let is_literal = expr.to_string().parse::<f64>().is_ok();
                    return (!is_literal).then_some(ComparedType::Form(ColumnForm::Number));
                }
                None => ComparedType::Other,
            },
        })
    }

    /// Returns the type of a value that is one of several.
    fn common_type<'e>(&mut self, values: impl Iterator<Item = &'e Expr>) -> Option<ComparedType> {
        values
            .filter_map(|value| self.type_of(value))
            .map(ComparedType::computed)
            .reduce(|a, b| if a == b { a } else { ComparedType::Other })
    }

    /// Returns the type of the column that a name means; `None` if it means none.
    pub(super) fn column(&self, name: &str) -> Option<ComparedType> {
        self.meant(name).map(|meaning| meaning.of)
    }

    fn meant(&self, name: &str) -> Option<Meaning> {
        let found = self.selects.iter().rev().find_map(|scope| {
            let table = scope.tables.iter().find_map(|(alias, columns)| self.column_of(alias, columns, name));
            table.or_else(|| self.find(&scope.result, name))
        });
        found.or_else(|| self.in_table("", name))
    }

    /// Returns the place of the table of a column in the innermost FROM clause.
    pub(super) fn place(&self, expr: &Expr) -> Option<usize> {
        let name = column_name(expr)?;
        let has_column = |(alias, columns): &Table| self.column_of(alias, columns, &name).is_some();
        self.selects.last()?.tables.iter().position(has_column)
    }

    /// Returns the type of a column of one of the tables of the innermost scope.
    pub(super) fn column_in(&self, table: &str, name: &str) -> Option<ComparedType> {
        let mut tables = self.selects.last()?.tables.iter();
        let (alias, columns) = tables.find(|(alias, _)| alias == table)?;
        self.column_of(alias, columns, name).map(|meaning| meaning.of)
    }

    fn column_of(&self, alias: &str, columns: &[Column], name: &str) -> Option<Meaning> {
        let qualifier = name.get(..alias.len()).filter(|of| of.eq_ignore_ascii_case(alias));
        let tail = qualifier.and_then(|of| name[of.len()..].strip_prefix('.'));
        self.find(columns, tail.unwrap_or(name))
    }

    fn find(&self, columns: &[Column], name: &str) -> Option<Meaning> {
        columns.iter().find_map(|column| match column {
            Column::Named(known, meaning) => known.eq_ignore_ascii_case(name).then(|| meaning.clone()),
            Column::AllOf(table) => self.in_table(table, name),
        })
    }

    fn in_table(&self, table: &str, name: &str) -> Option<Meaning> {
        let of = (self.type_of)(table, name)?;
        Some(Meaning { of, origin: Some((table.to_owned(), name.to_owned())), is_computed: false })
    }
}

impl Meaning {
    /// Returns the meaning of a value of which nothing is known.
    fn other() -> Self {
        Self { of: ComparedType::Other, origin: None, is_computed: true }
    }
}

/// Returns columns with the names in an alias: `d(day, n)`.
fn renamed(mut columns: Vec<Column>, alias: Option<&TableAlias>) -> Vec<Column> {
    for (at, given) in alias.iter().flat_map(|alias| &alias.columns).enumerate() {
        let name = given.name.value.clone();
        match columns.get_mut(at) {
            Some(Column::Named(known, _)) => *known = name,
            Some(column) => *column = Column::Named(name, Meaning::other()),
            None => columns.push(Column::Named(name, Meaning::other())),
        }
    }
    columns
}

/// Returns the name of a table without quotes.
pub(super) fn unquoted(name: &ObjectName) -> String {
    let parts = name.0.iter().filter_map(|part| part.as_ident()).map(|part| part.value.as_str());
    parts.collect::<Vec<_>>().join(".")
}

/// Returns the alias of a table, or its name.
pub(super) fn alias_of(table: &TableFactor) -> Option<String> {
    match table {
        TableFactor::Table { alias: Some(alias), .. }
        | TableFactor::Derived { alias: Some(alias), .. }
        | TableFactor::Function { alias: Some(alias), .. }
        | TableFactor::UNNEST { alias: Some(alias), .. } => Some(alias.name.value.clone()),
        TableFactor::Table { name, .. } => Some(unquoted(name)),
        _ => None,
    }
}

/// Returns the places of the arguments one of which a function returns, or compares with the first; `None` for another function.
pub(super) fn kept_values(call: &Function) -> Option<Vec<usize>> {
    let count = arguments(call).len();
    Some(match () {
        () if is_call_of(call, "min max coalesce ifnull nvl isnull nullif greatest least") => {
            (0..count).collect()
        }
        () if is_call_of(call, "lag lead") => vec![0, 2],
        () if is_call_of(call, "first_value last_value nth_value any_value") => vec![0],
        () if is_call_of(call, "iif if") => vec![1, 2],
        () => return None,
    })
}
